"""A script held against its page: sources are found, and what the page does not have is named."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from movie_generator.grounding.evidence import Evidence
from movie_generator.grounding.language import language_of
from movie_generator.models import INSEPARABLE, Dropped, Narration, Source, VideoScript
from movie_generator.speech import sentences

LONGEST_SOURCE = 2_000
"""Characters of a quotation on which a narration rests."""


@dataclass(frozen=True)
class Fault:
    """What of a narration the page does not support."""

    section: int
    narration: int
    """Its place in the section, from 0."""
    sentence: int | None
    """Its place in the narration, from 0; None: it is the source."""
    text: str
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"narration {self.narration + 1} of section {self.section + 1}"
        if self.sentence is None:
            return f"{where}: its source is not on the page: {self.text[:120]}"
        why = Dropped(section="", text="", reasons=[*self.reasons]).why
        return f"{where}: {why} of: {self.text}"


def with_sources(script: VideoScript, evidence: Evidence) -> VideoScript:
    """The script with each source where it stands on the page, and none that does not."""
    return script.replaced(
        lambda _, __, it: it.model_copy(update={"source": _found(it.source, evidence)})
    )


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


def faults(script: VideoScript, evidence: Evidence, language: str = "") -> list[Fault]:
    """What the page does not support; where nobody names the ``language``, the words tell it."""
    language = language or language_of("\n".join(it.text for *_, it in script.narrations()))
    found: list[Fault] = []
    for number, place, narration in script.narrations():
        source = narration.source
        if source and source.quote.strip() and _found(source, evidence) is None:
            found.append(Fault(number, place, None, source.quote))
        texts, readings = sentences_of(narration)
        for sentence, (text, spoken) in enumerate(zip(texts, readings or texts, strict=True)):
            reasons = evidence.unsupported(text, language)
            if not reasons and spoken.strip() != text.strip() and language_of(spoken) == "en":
                # Numbers and dates that are spoken, but neither written nor on the page.
                unwritten = Evidence(text).unsupported(spoken)
                absent = [it for it in evidence.unsupported(spoken) if it in unwritten]
                reasons = [f"spoken {it}" for it in absent if it.startswith(("number", "date"))]
            if reasons:
                found.append(Fault(number, place, sentence, text.strip(), tuple(reasons)))
    return found


def sentences_of(narration: Narration) -> tuple[list[str], list[str]]:
    """Its text and its reading by sentences; nothing of the latter if they do not correspond."""
    texts, readings = sentences(narration.text), sentences(narration.reading)
    return texts, readings if len(readings) == len(texts) else []


def without(script: VideoScript, found: Iterable[Fault]) -> VideoScript:
    """The script without the sentences at fault, which it lists instead."""
    reasons: dict[tuple[int, int], dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for fault in found:
        if fault.sentence is not None:
            reasons[fault.section, fault.narration][fault.sentence] += fault.reasons
    dropped: list[Dropped] = []

    def left(number: int, place: int, narration: Narration) -> Narration | None:
        """What is left of a narration: itself, a part of it, or nothing."""
        why = reasons.get((number, place))
        if why is None:
            return narration
        texts, readings = sentences_of(narration)
        # Without its own part of the reading, a sentence would be spoken all the same.
        lost = [*why] if readings else [*range(len(texts))]
        title = script.sections[number].title
        dropped.extend(
            Dropped(section=title, text=texts[it].strip(), reasons=why.get(it) or [INSEPARABLE])
            for it in lost
        )
        pairs = [*zip(texts, readings or texts, strict=True)]
        kept = [it for index, it in enumerate(pairs) if index not in lost]
        text, reading = ("".join(it[side] for it in kept).strip() for side in (0, 1))
        return narration.model_copy(update={"text": text, "reading": reading}) if text else None

    return script.replaced(left).model_copy(update={"dropped": dropped or None})
