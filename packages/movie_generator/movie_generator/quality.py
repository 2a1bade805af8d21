"""What makes a script useless although it is well formed: what the prompt demands, checked."""

import re
from collections import Counter
from collections.abc import Iterator

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
_MARKUP = re.compile(
    r"\*\*|(?<!\w)__\w|(?<![\w*])\*[^\s*][^*\n]*\*(?![\w*])|`|!?\[[^\]\n]*\]\([^)\n]*\)"
    r"|^[ ]{0,3}(?:#{1,6}|[-+*•>])[ ]+\S|\n[ ]{0,3}\d{1,2}[.)][ ]|\|[^|\n]*\|"
    r"|</?[a-z][^>\n]{0,80}>|~~|(?<!\w)_[^\W_][^_\n]*_(?!\w)|&(?:[a-z]{2,8}|#\d{2,5});|\\[nrtu\"]"
    r"|\[(?:\^?\d{1,3}|(?:source|citation|quelle)[^\]\n]*)\]|【\d[^】\n]*】|\$[^$\s][^$\n]*\^[^$\n]*\$"
    r"|\{\{[^{}\n]*\}\}|\\[a-z]+\{",
    re.MULTILINE,
)
_ADDRESS = re.compile(
    r"\bhttps?://|\bwww\.\w|[\w.+-]+@[\w-]+\.\w|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,10}/\w",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\W*(?:string|(?:(?:section|your) )?title|section|(?:your )?text(?: here)?|narration(?: text)?"
    r"|reading|description|to ?do|n/?a|none|null|tbd"
    r"|[\w ]{0,30}\b(?:text|narration|title|content)\b[\w ]{0,20} here|lorem ipsum.*)?"
    r"\W*\d{0,2}\W*|\[[^\]]*\]|<[^>]*>|\{[^}]*\}",
    re.IGNORECASE,
)
_NOT_SAID = re.compile(
    r"^(?:\([^)]{3,60}\)|\uff08[^\uff09]{2,30}\uff09|\[[^\]]{3,60}\])\s*(?=\S)"
    r"|^(?:narrator|narration|host|speaker|voice ?over|sprecher(?:in)?|erzähler(?:in)?|narrateur"
    r"|narratrice|narrador(?:a)?|ナレーター|ナレーション|話者)(?: \w{1,2})?\s?"
    r"[:\N{FULLWIDTH COLON}]"
    r"|^(?:(?:scene|szene|scène|slide|folie|shot) ?\d{0,2}|image|sfx|music|cut to|fade \w{2,3})\s?:"
    r"|^(?:\[\d?\d:\d\d(?::\d\d)?\]|00:\d\d\b)|\b(\w+(?:\W+\w+){0,5}?)(?:\W+\1\b){5}"
    r"|(?:(?:^|\s)#\w+){2,}\s*$|(?:[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?\s*){2,}",
    re.IGNORECASE,
)
"""Stage directions, who speaks and when, hashtags, pictures, words again and again."""
_REFUSAL = re.compile(
    r"(?:i\W?m sorry|i apologi[sz]e|sorry)[,.]? (?:but )?i (?:can|am un)|as an ai\b"
    r"|i(?: can| could|(?: a|\W)m (?:un|not )able to)(?:not|n\Wt)? (?:access|help|assist|provide)",
    re.IGNORECASE,
)
_LEAST_READ = 0.6
"""Characters of katakana for one of a text, which has more of them as a rule."""
_FEWEST_COMPARED = 5
_NOT_SPOKEN = re.compile(r"[^\W_\u30a1-\u30ff\uff66-\uff9f]|[\u3005\u3007]")
"""In a Japanese reading: whatever is a letter or a digit, but not katakana."""


def problems(script: VideoScript, config: AppConfig) -> Iterator[str]:
    """What is wrong with ``script``, for the model that is to put it right."""
    if not script.title.strip():
        yield "the script has no title"
    elif _PLACEHOLDER.fullmatch(script.title):
        yield f"its title is only a placeholder: {script.title}"
    for title in (script.title, *(it.title for it in script.sections)):
        if found := _MARKUP.search(title):
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
        if _PLACEHOLDER.fullmatch(section.title) and section.title.strip():
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
    if any(it and _PLACEHOLDER.fullmatch(it) for it in (text, reading)):
        yield "has only a placeholder for its text or its reading"
    for name, said in {"text": text, "reading": reading}.items():
        if found := _MARKUP.search(said) or _ADDRESS.search(said):
            yield f"has Markdown, a list or an address in its {name}: {found[0].strip()}"
        if found := _NOT_SAID.search(said):
            yield f"has something that nobody would say in its {name}: {found[0].strip()}"
    if _REFUSAL.match(text):
        yield f"is not a narration: {text[:80]}"
    if not is_in(text, language):
        yield f"is not in {language_name(language)}"
    elif language.startswith("ja") and (found := _NOT_SPOKEN.search(reading)):
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
