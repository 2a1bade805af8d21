"""Whether files of the working directory may name what runs, where data goes, and what is guarded.

Nobody vouches for a folder by standing in it. Files of this program's own checkout are used as they
are. Elsewhere somebody is asked once for each content of a file, on a terminal; for scripts there
is ``--trust``, which is the variable ``MCP_GHOST_TRUST`` for one run. What a flag names, or a
variable of the environment, needs no question.
"""

import json
import os
import re
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from mcp_ghost.files import PRIVATE, data_folder, open_regular, write_whole
from mcp_ghost.text import plain

VARIABLE: Final = "MCP_GHOST_TRUST"
"""Folders whose files are used as they are, with ``:`` between them."""
_HOUSE = Path(__file__).resolve().parents[2]
_CHECKOUT: Final = _HOUSE.parent if _HOUSE.name == "packages" else None
_KNOWN: Final = "trusted.json"
_MOST_SHOWN = 4_000
"""Characters of what a file names: a question whose beginning scrolls away is none."""
_OURS = re.compile(
    r"(?:ZORKGPT|MOVIE)_(?!\w*(?:PATH|WORKDIR|DATABASE_URL|ALLOW_PRIVATE_URLS)$)\w+|MCP_CONFIG_PATH"
    r"|(?:OPENROUTER|OPENAI|ANTHROPIC|GOOGLE|GEMINI)_API_KEY"
    r"|(?:OPENROUTER|OPENAI|ANTHROPIC|GOOGLE_GEMINI)_BASE_URL"
)
"""Our variables, but for those that name programs, folders or databases, or switch a guard off.
Files of servers are asked about when they are used, and addresses of models when a key would go
there (``providers.hosted.check_key``)."""


_answers: dict[str, dict[str, bool]] = {}
"""By the digest of a file: what it names, and whether it may."""


def trust_folder() -> None:
    """Use the files of the working directory as they are, here and in processes started later."""
    known = os.environ.get(VARIABLE, "")
    os.environ[VARIABLE] = os.pathsep.join(filter(None, [known, str(Path.cwd())]))


def is_plain(name: str, value: str) -> bool:
    """Whether a variable is one that any file may set: it neither runs nor opens anything."""
    names_a_module = name.upper() == "ZORKGPT_STORY" and ":" in value  # gym:MODULE:ID, an address
    return bool(_OURS.fullmatch(name.upper())) and "${" not in value and not names_a_module


def may_use(file: Path, named: Mapping[str, str], *, fails: bool = False) -> bool:
    """Whether ``file`` may name what is ``named``; standard error says what was decided.

    Args:
        file: A file of the working directory.
        named: What it names, and what only somebody who is asked is shown of that.
        fails: Whether the caller ends with an error of its own where nobody can be asked.

    Raises:
        OSError: The file cannot be read.
    """
    place = file.resolve()
    trusted = os.environ.get(VARIABLE, "").split(os.pathsep)
    if not named or place.parent in (_CHECKOUT, *(Path(it).resolve() for it in trusted if it)):
        return True
    with os.fdopen(open_regular(place), "rb") as opened:
        digest = sha256(os.fsencode(place) + b"\0" + opened.read()).hexdigest()
    if digest not in _answers:
        _answers[digest] = dict.fromkeys(_remembered().get(digest, ()), True)
        if allowed := ", ".join(_answers[digest]):
            _say(f"Using {place}, as you once allowed: {allowed}")
    answers = _answers[digest]
    if new := {name: it for name, it in named.items() if name not in answers}:
        is_asked = bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())
        if fails and not is_asked:
            return False
        answers |= dict.fromkeys(new, is_asked and _is_allowed(place, new))
        if answers[next(iter(new))]:
            allowed_now = [name for name, is_allowed in answers.items() if is_allowed]
            known = json.dumps({**_remembered(), digest: allowed_now}, indent=1)
            with suppress(OSError):  # then it is asked again
                write_whole(data_folder() / _KNOWN, known, mode=PRIVATE)
        elif not is_asked:
            _say(
                f"{place} is not used for {', '.join(new)}: give --trust if you know who wrote it."
            )
    return all(answers[name] for name in named)


def _remembered() -> dict[str, list[str]]:
    with suppress(OSError, ValueError):
        return dict(json.loads((data_folder() / _KNOWN).read_text(encoding="utf-8")))
    return {}


def _is_allowed(place: Path, named: Mapping[str, str]) -> bool:
    rows = [" ".join(it).rstrip() for it in named.items()]
    if sum(map(len, rows)) > _MOST_SHOWN:
        _say(f"{place} is not used: it names more than can be shown here. Give --trust to use it.")
        return False
    _say("\n   ".join([f"{place} did not come with this program. It names:", *rows]))
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before the question
    sys.stderr.write("Use it, until it changes? y = yes, n = no: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(text: str) -> None:
    print(plain(text), file=sys.stderr, flush=True)
