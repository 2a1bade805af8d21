"""Events: what surrounds them is theirs alone."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

from session.events import current_turn, event_context


def test_a_request_that_is_given_up_is_closed_without_an_error() -> None:
    """As at the end of the program, which closes it outside the context in which it began."""

    async def asks() -> None:
        with event_context(turn=3):
            await asyncio.sleep(0)

    request = asks()
    with event_context(turn=2):
        copy_context().run(request.send, None)
        request.close()
        assert current_turn() == 2
