"""A script as text, subtitles and scenes."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from movie_generator.models import Narration, ScriptSection, VideoScript
from movie_generator.show.export import exported
from movie_generator.speech import seconds

LONG = (
    "The old bridge across the river was finished in 1932 and carries twelve thousand cars a day."
)


def script(*texts: str, persona: str | None = None) -> VideoScript:
    narrations = [Narration(text=it, reading=it, persona_id=persona) for it in texts]
    section = ScriptSection(
        title="Why", narrations=narrations, slide_prompt="A wide river with the old stone bridge"
    )
    return VideoScript(title="Bridges", description="On <bridges>", sections=[section])


def test_text_has_titles_and_speakers() -> None:
    assert (
        exported(script("One.", "Two."), "text") == "Bridges\n\nOn <bridges>\n\nWhy\n\nOne.\nTwo.\n"
    )
    assert "host: One.\n" in exported(script("One.", persona="host"), "text")


def test_subtitles_follow_each_other_in_short_lines() -> None:
    srt = exported(script(f"It is old. {LONG}", "Look & see."), "srt")
    cues = srt.strip().split("\n\n")
    assert cues[0] == "1\n00:00:00,000 --> 00:00:01,200\nIt is old."
    assert [it.split("\n")[0] for it in cues] == ["1", "2", "3", "4"]
    times = [re.findall(r"[\d:,]{12}", it) for it in cues]
    assert all(end == start for (_, end), (start, _) in pairwise(times))
    assert all(len(line) <= 42 for it in cues for line in it.split("\n")[2:])
    assert all(len(it.split("\n")) <= 4 for it in cues)
    assert " ".join(" ".join(it.split("\n")[2:]) for it in cues) == f"It is old. {LONG} Look & see."


def test_subtitles_of_the_web_name_the_voice_and_escape_what_they_say() -> None:
    vtt = exported(script("Look & see <that>.", persona="host"), "vtt")
    assert vtt.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:01.200\n")
    assert "<v host>Look &amp; see &lt;that&gt;.\n" in vtt


def test_scenes_have_texts_times_search_terms_and_images() -> None:
    made = json.loads(exported(script("It is old.", LONG), "scenes"))
    first, second = made["scenes"]
    assert (first["text"], first["start"], first["seconds"]) == ("It is old.", 0.0, 1.2)
    assert second["start"] == 1.2
    assert first["searchTerms"] == ["wide", "river", "old", "stone"]
    assert first["image"] is None
    assert first["imagePrompt"].startswith("A wide river")


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("word " * 150, 60),
        ("橋" * 300, 60),
        ("다리" * 150, 60),
        ("สะพานเก่าข้ามแม่น้ำสร้างเสร็จแล้ว", 1.3),
        ("No.", 0.5),
        ("", 0),
    ],
)
def test_how_long_a_text_takes_is_estimated_in_every_script(text: str, about: float) -> None:
    assert seconds(text) == pytest.approx(about, rel=0.3)
