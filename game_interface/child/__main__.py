"""The process of an engine: `python -m game_interface.child SOCKET FOLDER`.

It answers requests until nobody can ask any more, and then removes the folder, which is all that
it writes to. However the program ends, the system closes its end of the socket, and this process
ends at once, within a turn, too. Were it too busy even for that, it would end when the processor
time of the turn is used up.
"""

import os
import pickle
import select
import shutil
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import IO, NoReturn, TypeVar

from game_interface.child.limits import OUT_OF_MEMORY, START_SECONDS, limit_process, limit_time
from game_interface.child.messages import Failure, Opening, encode
from game_interface.child.play import Play
from game_interface.errors import EngineError, GameError
from game_interface.machine.memory import StoryImage

T = TypeVar("T")


def main(number: int, folder: str) -> NoReturn:
    """Serve whoever holds the other end of the socket."""
    limit_process()
    link = socket.socket(fileno=number)
    threading.Thread(target=_end_with_program, args=(link, folder), daemon=True).start()
    try:
        # The game is closed, or the program gone, perhaps in the middle of a request.
        with suppress(EOFError, ConnectionError, pickle.UnpicklingError):
            _serve(link, link.makefile("rb"))
    except MemoryError:
        _end(folder, OUT_OF_MEMORY)  # what else there is to be done cannot be trusted any more
    _end(folder)


def _end_with_program(link: socket.socket, folder: str) -> None:
    closed = select.poll()
    closed.register(link, 0)  # for nothing but that the other end is closed
    closed.poll()
    _end(folder)


def _end(folder: str, code: int = 0) -> NoReturn:
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(code)


def _serve(link: socket.socket, requests: IO[bytes]) -> None:
    opening: Opening = pickle.load(requests)  # noqa: S301  who sends it has started us
    limit_time(START_SECONDS)
    play = _attempt(lambda: _open(opening))
    if isinstance(play, Failure):
        link.sendall(encode(play))
        return
    link.sendall(encode(play.opened))
    while True:
        method, *arguments = pickle.load(requests)  # noqa: S301
        limit_time(opening.turn_seconds)
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
    main(int(sys.argv[1]), sys.argv[2])
