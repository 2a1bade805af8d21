"""A branch: an episode that begins like another one, up to a turn, and then goes its own way."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_ghost.files import PRIVATE, open_regular, write_whole
from session.configuration_file import ConfigurationError
from session.record.event_log import EVENTS_FILE, damaged
from session.record.folder import NOTES_FILE
from session.record.schema import fields_of, uid_of

_ENDINGS = ("episode_end", "episode_resumed")
_BRANCH_NAME_CHARACTERS = 80


def branch_off(trunk: Path, turn: int, branch: Path) -> None:
    """Begin the log of ``branch`` with what ``trunk`` has up to and including ``turn``.

    The branch can then be resumed. The trunk is only read. Turn 0 is the game's beginning.

    Raises:
        ConfigurationError: The trunk has no such turn, or its game is over by then.
        EpisodeDamagedError: The log of the trunk cannot be read.
    """
    lines = list(shared_lines(trunk, turn, branch.name))
    branch.mkdir(parents=True, exist_ok=True)
    if (notes := trunk / NOTES_FILE).is_file() and not notes.is_symlink():
        shutil.copy(notes, branch / NOTES_FILE)  # later ones are taken back when it is resumed
    write_whole(branch / EVENTS_FILE, b"".join(lines), mode=PRIVATE)  # last: whole, or no branch


def branch_name(trunk: str, turn: int) -> str:
    """Return what a branch is called, unless that is taken."""
    return f"{trunk[:_BRANCH_NAME_CHARACTERS]}-at-{turn}"


def shared_lines(trunk: Path, turn: int, name: str) -> Iterator[bytes]:
    """Yield what the log of the branch ``name`` begins with; raises what ``branch_off`` does."""
    reached = -1
    with os.fdopen(open_regular(trunk / EVENTS_FILE), "rb") as file:
        for number, line in enumerate(file, 1):
            fields: dict[str, Any] = {}
            if line.endswith(b"\n"):  # else cut off by a crash, or still being written
                try:
                    fields = fields_of(line)
                except ValueError as error:
                    raise damaged(trunk, number) from error
            kind = fields.get("event_type")
            if reached == turn and (kind in _ENDINGS or (fields.get("turn") or 0) > turn):
                return
            if kind == "episode_start":
                # What was learned in the trunk keeps the ids that it has.
                uid = fields.get("uid") or uid_of(str(fields["episode_id"]))
                own = {"episode_id": name, "uid": uid, "trunk": trunk.name, "forked_at": turn}
                text = json.dumps({**fields, **own}, ensure_ascii=False) + "\n"
                line, reached = text.encode(errors="backslashreplace"), 0
            elif kind == "turn":
                reached = int(fields["turn"])
                if reached == turn and fields.get("over"):
                    raise ConfigurationError(
                        f"The game of {trunk.name} is over after turn {turn}: choose one before."
                    )
            yield line
    if reached != turn:
        raise ConfigurationError(
            f"{trunk.name} has no turn {turn}: its last one is {max(reached, 0)}."
        )
