"""What is known about a story as Markdown to read and edit; `storage.files.edits` reads it back.

What games and models said is data: it cannot end a line, begin a heading or hide in a comment. The
last line says what was exported, which tells a deleted line from a claim learned since then.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from mcp_ghost.text import harmless
from session.knowledge import Claim, Memory

EDITOR = "editor"
"""The episode of what people wrote."""
MARK = "<!-- zorkgpt:"
INTRO = (
    "Change a claim's text, delete its line, move it to another section, or add a line `- text`",
    "under Tested or Inferred: the next episode begins with what you wrote. Keep the ids in",
    "backticks. Write anything else under Notes. The rest is rewritten after each episode.",
)
Section: TypeAlias = Literal["tested", "inferred", "retired"]
SECTIONS: tuple[Section, ...] = ("tested", "inferred", "retired")
_SPECIAL = re.compile(r"[\\`*\[<]|^[#\->+~=|]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def rendered(
    story: str,
    story_sha256: str,
    claims: Sequence[Claim],
    memories: Iterable[Memory],
    notes: Sequence[str] = (),
) -> str:
    """Return the whole file; ``notes`` are lines that people wrote."""
    lines = [f"# What is known about {escaped(story)}", "", *INTRO]
    for section in SECTIONS:
        lines += ["", f"## {section.capitalize()}"]
        chosen = [claim for claim in claims if section_of(claim) == section]
        lines += ["", *(line for claim in chosen for line in _claim_lines(claim))] if chosen else []
    lines += ["", "## Notes", *(["", *notes] if notes else []), "", "## Memories"]
    by_room = sorted(memories, key=lambda memory: memory.room.id)
    for _, group in itertools.groupby(by_room, key=lambda memory: memory.room.id):
        lines += _room_lines(list(group))
    exported = {claim.id: [section_of(claim), fingerprint(claim.text)] for claim in claims}
    mark = json.dumps({"story": story_sha256, "claims": exported}).replace("-->", "")
    return "\n".join([*lines, "", f"{MARK} {mark} -->", ""])


def section_of(claim: Claim) -> Section:
    """Return the section of a claim."""
    return "retired" if claim.status == "retired" else claim.basis


def normal(text: str) -> str:
    """Put ``text`` on one line, without control characters, as it is shown and compared."""
    return " ".join(harmless(text).split())


def fingerprint(text: str) -> str:
    """Return a short hash, equal for texts that are shown alike."""
    return hashlib.sha256(normal(text).encode()).hexdigest()[:12]


def escaped(text: str) -> str:
    """Escape ``text`` to one line of Markdown that shows it letter by letter."""
    return _SPECIAL.sub(r"\\\g<0>", normal(text))


def unescaped(markdown: str) -> str:
    """Return the text that ``markdown`` shows."""
    return normal(_ESCAPED.sub(r"\1", markdown))


def _claim_lines(claim: Claim) -> Iterator[str]:
    yield f"- {escaped(claim.text)} `{claim.id}`"
    if claim.status == "retired":
        yield f"  - because: {escaped(claim.reason or '') or 'it does not hold'}"
    for it in claim.evidence:
        where = f"(episode {escaped(it.episode)}, turn {it.turn})"
        seen = f'"{escaped(it.quote)}" {where}'
        yield f"  - {'(written by people)' if it.episode == EDITOR else seen}"


def _room_lines(memories: Sequence[Memory]) -> Iterator[str]:
    room = memories[0].room
    yield from ("", f"### {escaped(room.name)} (room {room.id})", "")
    for memory in memories:
        kind = f"{memory.category}, {memory.persistence}"
        doubt = ", tentative" if memory.status == "tentative" else ""
        where = f"turn {memory.evidence.turn}"
        title, text = escaped(memory.title), escaped(memory.text)
        yield f"- **{title}** ({kind}{doubt}, {where}): {text} `{memory.id}`"
