"""What people changed in the Markdown of a story: pure functions, lenient to the last line.

A line that cannot be understood is never an error: it is kept among the notes.
"""

import codecs
import errno
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from mcp_ghost.files import open_regular
from mcp_ghost.redact import Redactor
from session.knowledge import Claim, ClaimChange, Edits, Evidence
from storage.files.markdown import (
    EDITOR,
    INTRO,
    MARK,
    SECTIONS,
    Section,
    fingerprint,
    normal,
    section_of,
    unescaped,
)

_HEADING = re.compile(r"##\s+(tested|inferred|retired|notes|memories)\s*", re.IGNORECASE)
_TITLE = re.compile(r"# What is known (?:about|of).*")  # "of" in earlier versions
_BULLET = re.compile(r"[-*+](?:\s+(.*))?")
_WITH_ID = re.compile(r"(.*)`(\w+-c\d+)`")
_DETAIL = re.compile(r'\s+[-*+] (?:".*|because: .*|\(written by people\))')
_MORE = re.compile(r"\s+(?![-*+] )\S.*")
_MEMORY = re.compile(r"### .* \(room \d+\)|[-*+] .*`\w+-m\d+`")
_MARK = re.compile(re.escape(MARK) + r"(.*)-->")
_BY_HAND = Evidence(episode=EDITOR, turn=0, quote="")
_MADE_ANEW = {("tested", "inferred"), ("retired", "tested"), ("retired", "inferred")}
"""Sections from and to which no change leads: a claim that was moved so is a new one."""
_NUMBERS = 1_000_000
MOST_BYTES = 2 * 1024 * 1024
"""Of one file."""
MOST_CLAIMS = 5000
"""In one file."""


@dataclass
class Bullet:
    """A claim as it stands in the file."""

    section: Section | None
    """None when headings are missing, so that it is unknown."""
    text: str
    id: str | None


@dataclass
class Document:
    """What a file says."""

    bullets: list[Bullet] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Lines that people wrote beside the claims."""
    odd: list[int] = field(default_factory=list)
    """Numbers of the lines among the notes that stood elsewhere."""
    story: str | None = None
    """SHA-256; None when the file does not tell, which happens when it is damaged."""
    exported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Id -> section and fingerprint of what was written into the file."""


def read_document(path: Path, secrets: Iterable[str] = ()) -> Document:
    """Return the file at ``path`` without any keys; an empty document where there is none.

    Raises:
        OSError: It cannot be read, or is too large.
    """
    return parsed(Redactor(secrets)(_decoded(file_bytes(path))))


def file_bytes(path: Path) -> bytes:
    """Read the file at ``path``; empty where there is none.

    Raises:
        OSError: It cannot be read, or is too large.
    """
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return b""
    if len(data) > MOST_BYTES:
        raise _too_large(f"{MOST_BYTES // 1024**2} MiB")
    return data


def _too_large(limit: str) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {limit}, so none of it is read; shorten it")


def _decoded(data: bytes) -> str:
    """Decode what any editor saved; a line that is not UTF-8 does not spoil the others."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return re.sub(r"\r\n?", "\n", data.decode("utf-16", errors="replace"))
    lines: list[str] = []
    for line in re.split(rb"\r\n?|\n", data.removeprefix(codecs.BOM_UTF8)):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            lines.append(line.decode("latin-1"))
    return "\n".join(lines)


def parsed(text: str) -> Document:
    """Return the document in ``text``.

    Raises:
        OSError: It is too large.
    """
    document, heading, headings = Document(), "", set[str]()
    claims: list[tuple[str, list[str]]] = []  # the heading and the lines of each
    claim: list[str] | None = None  # the lines to which an indented one belongs
    for number, line in enumerate(map(str.rstrip, text.split("\n")), 1):
        bullet = _BULLET.fullmatch(line) if heading != "memories" else None
        if found := _HEADING.fullmatch(line):
            heading, claim = found[1].lower(), None
            headings.add(heading)
        elif line.startswith(MARK):
            with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                if found := _MARK.fullmatch(line):
                    mark = json.loads(found[1])
                    exported = {str(it): (str(a), str(b)) for it, (a, b) in mark["claims"].items()}
                    document.story, document.exported = str(mark["story"]), exported
        elif heading == "notes":
            if line or document.notes:
                document.notes.append(line)
        elif bullet and (heading in {"tested", "inferred"} or _WITH_ID.fullmatch(bullet[1] or "")):
            if len(claims) == MOST_CLAIMS:
                raise _too_large(f"{MOST_CLAIMS:,} claims")
            claim = [bullet[1] or ""]
            claims.append((heading, claim))
        elif heading != "memories" and _DETAIL.fullmatch(line):
            claim = None
        elif claim is not None and heading != "retired" and _MORE.fullmatch(line):
            claim.append(line)
        else:  # under Retired, what follows the id of a claim is not of it
            claim = None
            if heading == "memories":
                ours = bool(_MEMORY.fullmatch(line))
            else:
                ours = line in INTRO or bool(_TITLE.fullmatch(line) and not heading)
            if line and not ours:
                document.notes.append(line)
                document.odd.append(number)
    # Where a heading is missing, what stood under it was not moved.
    is_whole = headings.issuperset(SECTIONS)
    document.bullets = [_bullet(*it, is_whole=is_whole) for it in claims]
    while document.notes and not document.notes[-1]:
        document.notes.pop()
    return document


def _bullet(heading: str, lines: Sequence[str], *, is_whole: bool) -> Bullet:
    markdown = " ".join(line.strip() for line in lines).strip()
    named = _WITH_ID.fullmatch(markdown)
    sure = not named or is_whole
    section = next((name for name in SECTIONS if sure and name == heading), None)
    text = unescaped(named[1] if named else markdown)
    return Bullet(section, text, named[2] if named else None)


def edits_of(document: Document, known: Iterable[Claim]) -> Edits:
    """Find where ``document`` differs from what was exported and from what is ``known``."""
    claims = {claim.id: claim for claim in known}
    at_hand, others = _assigned(document, claims)
    changes: list[ClaimChange] = []
    for claim in claims.values():
        bullet, exported = at_hand.get(claim.id), document.exported.get(claim.id)
        before = exported[0] if exported else section_of(claim)
        changes += _changes(claim, bullet, exported)
        if bullet and (before, bullet.section) in _MADE_ANEW:
            others.append(bullet)
    gone = {change.id for change in changes if change.kind == "removed"}
    held = {_flat(it.text) for it in claims.values() if it.status == "active" and it.id not in gone}
    new: dict[str, Claim] = {}
    for bullet in others:
        if not bullet.text or bullet.section == "retired" or _flat(bullet.text) in held:
            continue
        # The same for everybody who reads the same, so that reading it twice makes no second one.
        number = int(hashlib.sha256(bullet.text.encode()).hexdigest(), 16) % _NUMBERS
        while (claim_id := f"{EDITOR}-c{number}") in claims or claim_id in new:
            number += 1
        held.add(_flat(bullet.text))
        basis = bullet.section or "inferred"
        new[claim_id] = Claim(id=claim_id, text=bullet.text, basis=basis, evidence=(_BY_HAND,))
    return Edits(claims=tuple(new.values()), changes=tuple(changes))


def _assigned(
    document: Document, claims: Mapping[str, Claim]
) -> tuple[dict[str, Bullet], list[Bullet]]:
    """Return id -> the bullet of a known claim, and the bullets of none."""
    at_hand: dict[str, Bullet] = {}
    others: list[Bullet] = []
    # Of several with one id, the one that was left as it was is the claim; the others are copies.
    unchanged_first = sorted(document.bullets, key=lambda it: not _is_as_exported(it, document))
    for bullet in unchanged_first:
        if bullet.id and bullet.id in claims and bullet.id not in at_hand:
            at_hand[bullet.id] = bullet
        elif bullet.id in claims or not _is_as_exported(bullet, document):
            others.append(bullet)
    missing: dict[str, deque[Claim]] = {}
    for claim in claims.values():
        if claim.id not in at_hand:
            missing.setdefault(normal(claim.text), deque()).append(claim)
    new: list[Bullet] = []
    for bullet in others:  # somebody may have lost the id
        same = missing.get(bullet.text)
        if same and same[0].status == "active":
            at_hand[same.popleft().id] = bullet
        else:
            new.append(bullet)
    return at_hand, new


def _is_as_exported(bullet: Bullet, document: Document) -> bool:
    exported = document.exported.get(bullet.id or "")
    return exported is not None and fingerprint(bullet.text) == exported[1]


def _changes(
    claim: Claim, bullet: Bullet | None, exported: tuple[str, str] | None
) -> Iterator[ClaimChange]:
    before, print_before = exported or (section_of(claim), fingerprint(claim.text))
    active = claim.status == "active"
    if bullet is None:
        if exported and active and before != "retired":
            yield ClaimChange(id=claim.id, kind="removed", reason="deleted by hand")
        return
    prints = {print_before, fingerprint(claim.text)}
    changed = bullet.text and fingerprint(bullet.text) not in prints
    moved = (before, bullet.section)
    if active and moved in {("tested", "inferred"), ("tested", "retired"), ("inferred", "retired")}:
        yield ClaimChange(id=claim.id, kind="removed", reason="moved by hand")
        return
    if changed and moved not in _MADE_ANEW:
        yield ClaimChange(id=claim.id, kind="edited", text=bullet.text)
    if active and moved == ("inferred", "tested") and claim.basis == "inferred":
        yield ClaimChange(id=claim.id, kind="confirmed", evidence=_BY_HAND)


def _flat(text: str) -> str:
    return normal(text).casefold()
