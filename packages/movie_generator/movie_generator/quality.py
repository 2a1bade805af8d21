"""What makes a script useless although it is well formed: what the prompt demands, checked."""

import re
from collections import Counter
from collections.abc import Iterator

from mcp_ghost.tables import compiled, table
from movie_generator.grounding.language import is_in, language_name
from movie_generator.models import Narration, VideoScript
from movie_generator.settings import AppConfig
from movie_generator.speech import seconds, sentences

_LONGEST_NARRATION = 60.0
"""Seconds; one or two sentences were asked for."""
_MOST_SENTENCES = 8
_MOST_NARRATIONS = 20
"""Of one section; three to six were asked for."""
_SHORTEST_REPEATED = 16
"""Letters; shorter sentences, such as "Why is that?", may come again."""
_OFTEN, _LARGE_SHARE = 3, 3
"""How often a sentence may not come, and which part of all may not be repeated: a third."""
_FORMS = compiled(table("movie_generator", "quality.toml"))
_LEAST_READ = 0.6
"""Characters of katakana for one of a text, which has more of them as a rule."""
_FEWEST_COMPARED = 5


def problems(script: VideoScript, config: AppConfig) -> Iterator[str]:
    """What is wrong with ``script``, for the model that is to put it right."""
    if not script.title.strip():
        yield "the script has no title"
    elif _FORMS["placeholder"].fullmatch(script.title):
        yield f"its title is only a placeholder: {script.title}"
    for title in (script.title, *(it.title for it in script.sections)):
        if found := _FORMS["markup"].search(title):
            yield f"a title has Markdown in it: {found[0].strip()}"
    if not script.sections:
        yield "there are no sections"
    if len(script.sections) > max(2 * config.sections, config.sections + 3):
        yield f"it has {len(script.sections)} sections; {config.sections} were asked for"
    texts = [it.text for *_, it in script.narrations()]
    titles = [script.title, script.description, *(it.title for it in script.sections)]
    for name, said in {"narrations": texts, "titles and the description": titles}.items():
        if not is_in("\n".join(said), config.language):
            yield f"the {name} are not in {language_name(config.language)}"
    takes, minutes = sum(map(seconds, texts)) / 60, config.minutes
    if minutes and not minutes / 2 <= takes <= 2 * minutes:
        yield f"it takes about {takes:.1f} minutes to speak; {minutes:g} were asked for"
    said = [
        it.casefold()
        for text in texts
        for sentence in sentences(text)
        if len(it := re.sub(r"[\W_]", "", sentence)) >= _SHORTEST_REPEATED
    ]
    most, again = Counter(said).most_common(1), len(said) - len({*said})
    if most and (most[0][1] >= _OFTEN or again >= max(2, len(said) / _LARGE_SHARE)):
        yield f"it repeats itself: {again} of its {len(said)} sentences are repetitions"
    known = {persona.id for persona in config.personas} if config.style == "dialogue" else None
    for number, section in enumerate(script.sections, start=1):
        last = ", the last one," if number == len(script.sections) else ""
        if not section.narrations:
            yield f"section {number}{last} has no narrations"
        elif len(section.narrations) > _MOST_NARRATIONS:
            yield f"section {number}{last} has {len(section.narrations)} narrations"
        if _FORMS["placeholder"].fullmatch(section.title) and section.title.strip():
            yield f"the title of section {number}{last} is only a placeholder: {section.title}"
        for place, narration in enumerate(section.narrations, start=1):
            where = f"narration {place} of section {number}{last}"
            yield from (f"{where} {it}" for it in _of_narration(narration, config.language))
            if known is not None and narration.persona_id not in known:
                yield f"{where} names no speaker among {', '.join(sorted(known))}"


def _of_narration(narration: Narration, language: str) -> Iterator[str]:
    text, reading = narration.text.strip(), narration.reading.strip()
    if not text:
        yield "has no text"
    elif not reading:
        yield "has no reading"
    if any(it and _FORMS["placeholder"].fullmatch(it) for it in (text, reading)):
        yield "has only a placeholder for its text or its reading"
    for name, said in {"text": text, "reading": reading}.items():
        if found := _FORMS["markup"].search(said) or _FORMS["address"].search(said):
            yield f"has Markdown, a list or an address in its {name}: {found[0].strip()}"
        if found := _FORMS["not_said"].search(said):
            yield f"has something that nobody would say in its {name}: {found[0].strip()}"
    if _FORMS["refusal"].match(text):
        yield f"is not a narration: {text[:80]}"
    if not is_in(text, language):
        yield f"is not in {language_name(language)}"
    elif language.startswith("ja") and (found := _FORMS["not_spoken"].search(reading)):
        yield f"has {found[0]} in its reading, which is katakana only"
    elif not language.startswith("ja") and not is_in(reading, language):
        yield f"has a reading that is not in {language_name(language)}"
    elif reading and not _is_read(text, reading, language):
        yield "has a reading that does not say what its text says"
    if len(sentences(text)) > _MOST_SENTENCES or seconds(text) > _LONGEST_NARRATION:
        yield "is too long; one or two sentences were asked for"


def _is_read(text: str, reading: str, language: str) -> bool:
    """Whether ``reading`` may be how ``text`` is spoken."""
    if language.startswith("ja"):
        lengths = [sum(map(str.isalnum, it)) for it in (text, reading)]
        return lengths[1] >= _LEAST_READ * lengths[0]
    written, spoken = ({*re.findall(r"[^\W\d_]{3,}", it.casefold())} for it in (text, reading))
    return len(written) < _FEWEST_COMPARED or len(written & spoken) * 3 >= len(written)
