"""Results of calls: read at once where that is quick, else by a thread, so that nobody waits."""

import threading
from typing import Any

import pytest

from mcp_ghost.redact import MASK, Redactor
from mcp_ghost.servers.protocol.lenient import SMALL_CHARACTERS, SMALL_VALUES, is_small, read_result


class Witness(Redactor):
    """Notes who cleans."""

    def __init__(self) -> None:
        super().__init__(["hunter2-hunter2"])
        self.threads: set[threading.Thread] = set()

    def each(self, value: Any) -> Any:  # noqa: ANN401 - as its base
        self.threads.add(threading.current_thread())
        return super().each(value)


@pytest.mark.parametrize(
    ("text", "here"),
    [("short", True), ("x" * (SMALL_CHARACTERS + 1), False)],
    ids=["short", "long"],
)
async def test_a_long_result_is_read_by_a_thread_and_a_short_one_at_once(
    text: str, here: bool
) -> None:
    witness = Witness()
    sent = {"content": [{"type": "text", "text": f"{text} hunter2-hunter2"}]}
    result = await read_result(sent, witness, 10 * SMALL_CHARACTERS)
    assert result.content == f"{text} {MASK}"
    assert (witness.threads == {threading.current_thread()}) is here


@pytest.mark.parametrize(
    "large",
    [
        "x" * (SMALL_CHARACTERS + 1),
        ["x" * 1000] * (SMALL_CHARACTERS // 1000 + 1),
        {"x" * (SMALL_CHARACTERS + 1): 1},
        [0] * SMALL_VALUES,
        [[0] * (SMALL_VALUES // 2)] * 2,
        {str(number): 0 for number in range(SMALL_VALUES // 2)},
    ],
)
def test_many_values_or_much_text_are_not_small_however_they_are_nested(large: object) -> None:
    assert not is_small(large)
    assert not is_small({"structuredContent": {"a": [large]}})
    assert is_small({"structuredContent": {"a": [None, 1, True, "short"]}})
