"""The process of an engine: `python -m game_interface.child SOCKET`.

It answers requests until nobody can ask any more. However the program ends, the system closes its
end of the socket, and this process ends, too: at once between two turns, and within a turn that
would never end when its processor time is used up.
"""

import os
import pickle
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from typing import IO, TypeVar

from game_interface.child.limits import OUT_OF_MEMORY, limit_process, limit_turn
from game_interface.child.messages import Failure, Opening, encode
from game_interface.child.play import Play
from game_interface.errors import EngineError, GameError
from game_interface.machine.memory import StoryImage

T = TypeVar("T")


def main(number: int) -> None:
    """Serve whoever holds the other end of the socket."""
    limit_process()
    with socket.socket(fileno=number) as link, link.makefile("rb") as requests:
        try:
            _serve(link, requests)
        except (EOFError, ConnectionError):
            pass  # the program has closed the game, or is gone
        except MemoryError:
            os._exit(OUT_OF_MEMORY)  # what else there was to be done cannot be trusted any more


def _serve(link: socket.socket, requests: IO[bytes]) -> None:
    opening: Opening = pickle.load(requests)  # noqa: S301  who sends it has started us
    play = _attempt(lambda: _open(opening))
    if isinstance(play, Failure):
        link.sendall(encode(play))
        return
    with closing(play):
        link.sendall(encode(play.opened))
        while True:
            method, *arguments = pickle.load(requests)  # noqa: S301
            limit_turn(opening.turn_seconds)
            answer = _attempt(lambda: getattr(play, method)(*arguments))  # noqa: B023  used at once
            link.sendall(encode(answer))


def _open(opening: Opening) -> Play:
    return Play(StoryImage(opening.story), opening.profile, opening.engine, opening.seed)


def _attempt(work: Callable[[], T]) -> T | Failure:
    try:
        return work()
    except GameError as error:
        return Failure(type(error).__name__, str(error))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  the edge of the process: the program must hear it
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Failure(EngineError.__name__, f"{error!r} ({place.filename}, line {place.lineno})")


if __name__ == "__main__":
    main(int(sys.argv[1]))
