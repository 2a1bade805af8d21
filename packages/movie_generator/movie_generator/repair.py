"""A repaired script: of what the model wrote again, only what was wrong is taken."""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from movie_generator.grounding.check import Fault, readings_of
from movie_generator.models import Narration, VideoScript
from movie_generator.speech import sentences


def merged(script: VideoScript, again: VideoScript, faults: Iterable[Fault]) -> VideoScript:
    """``script`` with its faults as they are in ``again``, which may leave them out."""
    wrong: dict[tuple[int, int], set[int | None]] = {}
    for fault in faults:
        wrong.setdefault((fault.section, fault.narration), set()).add(fault.sentence)
    old = [*script.narrations()]
    new = [it for *_, it in again.narrations()]
    faulty = {index for index, (number, place, _) in enumerate(old) if (number, place) in wrong}
    partners = dict(_pairs([it.text for *_, it in old], [it.text for it in new], faulty))
    left: dict[tuple[int, int], list[Narration]] = {}
    for index, (number, place, narration) in enumerate(old):
        where = number, place
        if index not in faulty:
            left[where] = [narration]
        elif index in partners:
            left[where] = _mended(narration, new[partners[index]], wrong[where])
        else:  # left out; what only lacks its source stays
            left[where] = [] if wrong[where] - {None} else [narration]
    return script.replaced(lambda number, place, _: left[number, place])


def _pairs(old: list[str], new: list[str], wrong: set[int]) -> Iterator[tuple[int, int]]:
    """Which of ``new`` stands for which of ``old``."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, its_start, its_end in matcher.get_opcodes():
        if tag == "equal" or end - start == its_end - its_start:
            yield from zip(range(start, end), range(its_start, its_end), strict=True)
            continue
        free = [*range(its_start, its_end)]
        for index in (it for it in range(start, end) if it in wrong and free):
            best = max(free, key=lambda it: SequenceMatcher(None, old[index], new[it]).ratio())
            free.remove(best)
            yield index, best


def _mended(old: Narration, new: Narration, wrong: set[int | None]) -> list[Narration]:
    """``old`` with its wrong sentences, and its source, from ``new``."""
    texts, its_texts = sentences(old.text), sentences(new.text)
    readings, its_readings = readings_of(old, texts), readings_of(new, its_texts)
    whole = {*range(len(texts))} <= wrong
    if whole or not (readings and its_readings):
        said = {"text": new.text, "reading": new.reading} if wrong - {None} else {}
        return [old.model_copy(update={**said, "source": new.source})]
    partners = dict(_pairs(texts, its_texts, {it for it in wrong if it is not None}))
    kept = [it for it in range(len(texts)) if it not in wrong or it in partners]
    taken = {it: partners[it] for it in kept if it in wrong}
    text, reading = (
        "".join(_spaced(theirs[taken[it]]) if it in taken else _spaced(ours[it]) for it in kept)
        for ours, theirs in ((texts, its_texts), (readings, its_readings))
    )
    joined = old.model_copy(
        update={"text": text.strip(), "reading": reading.strip(), "source": new.source}
    )
    return [joined] if text.strip() else []


def _spaced(sentence: str) -> str:
    """A sentence that another one may follow."""
    ends = sentence.rstrip('\u300d\u300f\uff09\u201d"')[-1:] in "\u3002\uff01\uff1f"
    ends = ends or sentence[-1:].isspace()
    return sentence if ends else f"{sentence} "
