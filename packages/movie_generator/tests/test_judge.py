"""A script whose sentences the model judges, each by words that must stand on the page."""

from __future__ import annotations

import asyncio
import json

import pytest

from mcp_ghost.testing import ModelServer
from movie_generator import VideoScript, generate_script_from_url
from movie_generator.errors import ScriptError
from movie_generator.settings import AppConfig
from tests.support.movie import script_reply, site

TEXT = "Anna Lind built the bridge for Otto Brandt. It never carried a train. It is made of stone."
PAGE: dict[str, tuple[str, bytes] | str] = {"/": ("text/html", f"<p>{TEXT}</p>".encode())}
SENTENCES = ["Otto Brandt built it for Anna Lind.", "It carried a train.", "It is made of stone."]


def verdicts(*said: tuple[str, str]) -> str:
    listed = [{"number": n, "verdict": v, "span": s} for n, (v, s) in enumerate(said, start=1)]
    return "Let me {see}: " + json.dumps({"verdicts": listed})


def made(*replies: str) -> tuple[VideoScript, ModelServer]:
    text = f"{SENTENCES[0]}\n{SENTENCES[1]} {SENTENCES[2]}"
    sections = [{"title": "T", "narrations": [{"text": text, "reading": text}]}]
    with site(PAGE) as served, ModelServer([script_reply(sections=sections), *replies]) as model:
        work = generate_script_from_url(
            served.url,
            base_url=model.base_url,
            allow_private_urls=True,
            config=AppConfig(check="model"),
        )
        return asyncio.run(work), model


def test_what_the_page_contradicts_or_does_not_say_is_left_out_after_one_more_call() -> None:
    script, model = made(
        verdicts(
            ("contradicted", "Anna Lind built the bridge for Otto Brandt"),
            ("absent", ""),
            ("supported", "It is made of stone."),
        )
    )
    assert len(model.requests) == 2
    assert script.sections[0].narrations[0].text == "It is made of stone."
    assert [it.why for it in script.dropped or []] == [
        "the page says otherwise: “Anna Lind built the bridge for Otto Brandt”",
        "the page does not say that",
    ]
    asked = model.requests[1].last["content"]
    assert TEXT in asked
    assert f"1. {SENTENCES[0]}\n2. {SENTENCES[1]}\n3. {SENTENCES[2]}" in asked


@pytest.mark.parametrize("span", ["", "It is", "It is made of gold and stone."])
def test_support_that_does_not_stand_on_the_page_is_none(span: str) -> None:
    fine = ("supported", "It is made of stone.")
    script, _ = made(verdicts(("supported", span), fine, ("no statement", "")))
    assert [it.text for it in script.dropped or []] == [SENTENCES[0]]


def test_verdicts_that_are_missing_are_asked_for_once_more() -> None:
    fine = ("supported", "It is made of stone.")
    script, model = made(verdicts(fine), verdicts(fine, fine, fine))
    assert "for these sentences: 2, 3." in model.requests[2].last["content"]
    assert script.dropped is None
    with pytest.raises(ScriptError, match="did not say of every sentence"):
        made("Fine!", verdicts(fine))
