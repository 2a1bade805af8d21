"""A script held against its page: sources are found, and what the page does not have is named."""

import re
from collections.abc import Iterator

from movie_generator.grounding.evidence import Evidence
from movie_generator.grounding.language import language_of
from movie_generator.models import (
    INSEPARABLE,
    Dropped,
    Narration,
    ScriptSection,
    Source,
    VideoScript,
)

LONGEST_SOURCE = 2_000
"""Characters of a quotation on which a narration rests."""
_SHOWN = 120
_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st sr jr sen rep gov gen col capt lt sgt rev hon no nr vol fig ca approx vs "
    "inc ltd co corp dept est etc e.g i.e cf al bzw z.b usw "
    "mio mrd tel str ing m mme mlle sra".split()
)
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*(?=\s+\S)|[。！？!?]+[」』）\"”]*|\n+")
_LAST_WORD = re.compile(r"([\w.]+)\.$")
_SPACE = re.compile(r"\s*")
_NEAR = 20
"""Characters before an end that tell of an abbreviation."""


def with_sources(script: VideoScript, evidence: Evidence) -> VideoScript:
    """The script with each source where it stands on the page, and none that does not."""
    sections = [
        section.model_copy(
            update={
                "narrations": [
                    narration.model_copy(update={"source": _found(narration.source, evidence)})
                    for narration in section.narrations
                ]
            }
        )
        for section in script.sections
    ]
    return script.model_copy(update={"sections": sections})


def _found(source: Source | None, evidence: Evidence) -> Source | None:
    """``source`` as the page has it: where it is said to be, else where its words first stand."""
    if source is None or not source.quote.strip():
        return None
    quote = source.quote[:LONGEST_SOURCE]
    if evidence.text[source.start : source.end] == quote:
        return source
    place = evidence.folded.find(quote)
    if place is None:
        return None
    start, end = place
    return Source(start=start, end=end, quote=evidence.text[start:end])


def problems(script: VideoScript, evidence: Evidence) -> Iterator[str]:
    """What the page does not support, for the model that is to put it right."""
    language = _language(script)
    for number, section in enumerate(script.sections, start=1):
        for place, narration in enumerate(section.narrations, start=1):
            where = f"narration {place} of section {number}"
            source = narration.source
            if source and source.quote.strip() and _found(source, evidence) is None:
                yield f"{where}: its source is not on the page: {source.quote[:_SHOWN]}"
            for sentence, reasons in _unsupported(narration, evidence, language):
                listed = ", ".join(reasons)
                yield f"{where}: the page does not have the {listed} of: {sentence.strip()}"


def _language(script: VideoScript) -> str:
    texts = (it.text for section in script.sections for it in section.narrations)
    return language_of("\n".join(texts))


def _unsupported(
    narration: Narration, evidence: Evidence, language: str
) -> Iterator[tuple[str, list[str]]]:
    """Each sentence that the page does not support, and why."""
    texts = sentences(narration.text)
    readings = _readings(narration, texts)
    for place, text in enumerate(texts):
        reasons = evidence.unsupported(text, language)
        if readings and not reasons:
            reasons = [f"spoken {it}" for it in _misread(readings[place], text, evidence)]
        if reasons:
            yield text, reasons


def _readings(narration: Narration, texts: list[str]) -> list[str]:
    """The reading sentence by sentence; nothing if the sentences do not correspond."""
    readings = sentences(narration.reading)
    return readings if len(readings) == len(texts) else []


def _misread(reading: str, text: str, evidence: Evidence) -> list[str]:
    """The numbers and dates that are spoken, but neither written nor on the page."""
    if reading.strip() == text.strip() or language_of(reading) != "en":
        return []
    written = Evidence(text).unsupported(reading)
    spoken = [it for it in evidence.unsupported(reading) if it in written]
    return [it for it in spoken if it.startswith(("number", "date"))]


def without_unsupported(script: VideoScript, evidence: Evidence) -> VideoScript:
    """The script without the sentences that the page does not support, which it lists instead."""
    dropped: list[Dropped] = []
    language = _language(script)
    sections = [_kept(section, evidence, language, dropped) for section in script.sections]
    kept = [section for section in sections if section.narrations]
    return script.model_copy(update={"sections": kept, "dropped": dropped or None})


def _kept(
    section: ScriptSection, evidence: Evidence, language: str, dropped: list[Dropped]
) -> ScriptSection:
    narrations: list[Narration] = []
    for narration in section.narrations:
        unsupported = dict(_unsupported(narration, evidence, language))
        if not unsupported:
            narrations.append(narration)
            continue
        texts = sentences(narration.text)
        readings = _readings(narration, texts)
        # Without its own part of the reading, a sentence would be spoken all the same.
        lost = texts if not readings else [it for it in texts if it in unsupported]
        for text in lost:
            reasons = unsupported.get(text) or [INSEPARABLE]
            dropped.append(Dropped(section=section.title, text=text.strip(), reasons=reasons))
        if len(lost) < len(texts):
            pairs = [(t, r) for t, r in zip(texts, readings, strict=True) if t not in unsupported]
            text, reading = ("".join(it).strip() for it in zip(*pairs, strict=True))
            narrations.append(narration.model_copy(update={"text": text, "reading": reading}))
    return section.model_copy(update={"narrations": narrations})


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, each with the white space behind it."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        space = _SPACE.match(text, end.end())
        stop = space.end() if space else end.end()
        if _goes_on(text[max(start, end.end() - _NEAR) : end.end()], text[stop : stop + 1]):
            continue
        found.append(text[start:stop])
        start = stop
    return [*found, text[start:]] if text[start:].strip() else found


def _goes_on(before: str, follows: str) -> bool:
    """Whether what looks like an end is inside a sentence: ``Dr. Lind``, ``the 3. of May``."""
    word = _LAST_WORD.search(before)
    if follows.islower():
        return not before.endswith("\n")
    if word is None:
        return False
    last = word[1].casefold()
    one_letter = len(last) == 1 and last.isalpha()
    return last in _ABBREVIATIONS or one_letter or (len(last) <= 2 and last.isdigit())
