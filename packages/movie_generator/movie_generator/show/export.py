"""A script for other programs: plain text, subtitles, or scenes for a maker of short videos.

When a sentence is said is an estimate, as no voice has said it yet.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from html import escape

from movie_generator.models import Narration, ScriptSection, VideoScript
from movie_generator.speech import is_dense, seconds, sentences

_LINE, _DENSE_LINE = 42, 20
"""Characters of one line of a subtitle, two of which are shown (bbc.co.uk/accessibility)."""
_MOST_TERMS = 4
_WORD = re.compile(r"[^\W\d_][\w'-]{2,}")
_COMMON = frozenset(
    {"the", "and", "with", "for", "from", "that", "this", "are", "was", "were", "its", "into"}
    | {"over", "under", "about", "picture", "image", "shows", "showing", "show", "view", "one"}
)


def exported(script: VideoScript, form: str) -> str:
    """``script`` as ``text``, ``srt``, ``vtt`` or ``scenes``."""
    if form == "text":
        parts = [script.title, script.description]
        for section in script.sections:
            said = [
                f"{it.persona_id}: {it.text}" if it.persona_id else it.text
                for it in section.narrations
            ]
            parts += [section.title, "\n".join(said)]
        return "\n\n".join(filter(None, parts)) + "\n"
    if form == "scenes":
        scenes = {"title": script.title, "scenes": [*_scenes(script)]}
        return json.dumps(scenes, ensure_ascii=False, indent=2) + "\n"
    blocks, mark = (["WEBVTT"], ".") if form == "vtt" else ([], ",")
    for number, (start, end, persona, text) in enumerate(_cues(script), start=1):
        time = f"{_clock(start, mark)} --> {_clock(end, mark)}"
        if form == "vtt":
            who = f"<v {escape(persona)}>" if persona else ""
            blocks.append(f"{time}\n{who}{escape(text, quote=False)}")
        else:
            who = f"{persona}: " if persona else ""
            blocks.append(f"{number}\n{time}\n{who}{text}")
    return "\n\n".join([*blocks, ""])


def _narrations(script: VideoScript) -> Iterator[tuple[ScriptSection, Narration, float, float]]:
    """Each narration with its section, and when it begins and ends."""
    start = 0.0
    for section in script.sections:
        for narration in section.narrations:
            end = start + seconds(narration.text)
            yield section, narration, start, end
            start = end


def _cues(script: VideoScript) -> Iterator[tuple[float, float, str | None, str]]:
    """Each text that is shown at once: from when and until when, whose it is, and the text."""
    for _, narration, start, _ in _narrations(script):
        for sentence in sentences(narration.text):
            wrapped = textwrap.wrap(sentence, _DENSE_LINE if is_dense(sentence) else _LINE)
            for first in range(0, len(wrapped), 2):
                text = "\n".join(wrapped[first : first + 2])
                end = start + seconds(text)
                yield start, end, narration.persona_id, text
                start = end


def _scenes(script: VideoScript) -> Iterator[dict[str, object]]:
    for section, narration, start, end in _narrations(script):
        # Words by which a picture is found are best taken from its prompt, which is English.
        words = _WORD.findall(section.slide_prompt or "") or _WORD.findall(section.title)
        terms = dict.fromkeys(it.lower() for it in words if it.lower() not in _COMMON)
        yield {
            "section": section.title,
            "text": narration.text,
            "reading": narration.reading,
            "persona": narration.persona_id,
            "start": round(start, 1),
            "seconds": round(end - start, 1),
            "searchTerms": [*terms][:_MOST_TERMS],
            "image": section.source_image_url,
            "imagePrompt": section.slide_prompt,
        }


def _clock(time: float, mark: str) -> str:
    thousandths = round(time * 1000)
    minutes, left = divmod(thousandths, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{left // 1000:02}{mark}{left % 1000:03}"
