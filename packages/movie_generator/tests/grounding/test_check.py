"""A script that says what its page does not: corrected once, and then without those sentences."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_ghost.testing import ModelServer
from movie_generator import VideoScript, generate_script_from_url
from movie_generator.errors import ScriptError
from movie_generator.grounding.check import faults
from movie_generator.grounding.evidence import Evidence
from tests.support.movie import SCRIPT, script_reply, site, written_from

TEXT = (
    "On 3 March 1834 Anna Lind opened the Harlow Bridge, which is 412 metres long. "
    "“We built it <b>for the people</b>,” she said."
)
HTML = f"<title>The bridge</title><main><h1>The bridge</h1><p>{TEXT}</p></main>"
PAGE: dict[str, Any] = {"/": ("text/html; charset=utf-8", HTML.encode())}


def reply(*texts: str, **changes: object) -> str:
    narrations = [{"text": text, "reading": text, **changes} for text in texts]
    return script_reply(sections=[{"title": "The opening", "narrations": narrations}])


def made(*replies: str) -> tuple[VideoScript, ModelServer, list[str]]:
    """The script, the model that was asked, and what was told meanwhile."""
    told: list[str] = []
    with site(PAGE) as served, ModelServer([*replies]) as model:
        work = generate_script_from_url(
            served.url,
            base_url=model.base_url,
            allow_private_urls=True,
            on_progress=lambda _, message: told.append(message),
        )
        script = asyncio.run(work)
        assert model.refusals == []
    return script, model, told


def spoken(script: VideoScript) -> list[str]:
    return [it.text for section in script.sections for it in section.narrations]


def test_what_the_page_says_goes_through_with_one_call() -> None:
    script, model, _ = made(reply("In March 1834, Lind opened a bridge of 412 metres."))
    assert len(model.requests) == 1
    assert script.dropped is None
    assert spoken(script) == ["In March 1834, Lind opened a bridge of 412 metres."]


def test_the_model_is_told_once_what_is_unsupported_and_its_correction_counts() -> None:
    script, model, told = made(reply("It is 421 metres long."), reply("It is 412 metres long."))
    assert len(model.requests) == 2
    said = model.requests[1].last["content"]
    assert "narration 1 of section 1" in said
    assert "number “421 metres”" in said
    assert spoken(script) == ["It is 412 metres long."]
    assert script.dropped is None
    assert any("is being corrected" in it and "421 metres" in it for it in told)
    assert "1 section written" in told


def test_a_sentence_that_stays_unsupported_is_dropped_and_named() -> None:
    wrong = reply("Lind opened it in 1834. Brunel wept.", "It is 412 metres long.")
    script, model, told = made(wrong, wrong)
    assert len(model.requests) == 2
    assert spoken(script) == ["Lind opened it in 1834.", "It is 412 metres long."]
    assert script.sections[0].narrations[0].reading == "Lind opened it in 1834."
    (dropped,) = script.dropped or []
    assert (dropped.section, dropped.text) == ("The opening", "Brunel wept.")
    assert dropped.reasons == ["name “Brunel”"]
    assert any("Left out" in it and "Brunel wept." in it for it in told)


def test_a_sentence_is_not_spoken_either_when_its_reading_cannot_be_told_apart() -> None:
    text = "Lind opened it in 1834. Brunel wept."
    wrong = reply(text, reading="Lind opened it and Brunel wept")
    fine = {"text": "It is 412 metres long.", "reading": "It is four hundred and twelve metres."}
    both = json.loads(wrong)
    both["sections"][0]["narrations"].append(fine)
    script, _, told = made(json.dumps(both), json.dumps(both))
    assert spoken(script) == ["It is 412 metres long."]
    assert [it.text for it in script.dropped or []] == ["Lind opened it in 1834.", "Brunel wept."]
    assert [it for it in told if it.startswith("Left out")] == [
        (
            "Left out, because its reading cannot be separated from that of a sentence left out: "
            "Lind opened it in 1834."
        ),
        "Left out, because the page does not have the name “Brunel”: Brunel wept.",
    ]


def test_a_first_that_the_page_does_not_claim_is_named_as_the_word_it_is() -> None:
    claim = "Lind was the first woman to open a bridge."
    draft = reply("It is 412 metres long.", claim)
    _, model, told = made(draft, draft)
    said = f"the page does not have the word “first” of: {claim}"
    assert said in model.requests[1].last["content"]
    assert f"Left out, because the page does not have the word “first”: {claim}" in told


def test_a_reading_may_not_say_another_number_than_the_text() -> None:
    wrong = reply("It is 412 metres long.", "It opened.", reading="It is 421 metres long.")
    script, model, _ = made(wrong, reply("It opened."))
    assert "spoken number “421 metres”" in model.requests[1].last["content"]
    assert spoken(script) == ["It opened."]


def test_an_unusable_correction_leaves_the_first_script_without_what_is_unsupported() -> None:
    script, _, _ = made(reply("It is 412 metres long. It cost 9 million euros."), "Sorry.")
    assert spoken(script) == ["It is 412 metres long."]


def test_a_script_of_which_nothing_is_supported_is_an_error() -> None:
    wrong = reply("Brunel wept.")
    with pytest.raises(ScriptError, match="The page supports nothing in the script"):
        made(wrong, wrong)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("which is 412 metres long", "which is 412 metres long"),
        ('"We built it for the people," she', "We built it **for the people**,” she"),
        ("On 3 March 1834 ... 412 metres", None),
        ("which is\n  412 METRES long.", "which is 412 metres long"),
    ],
)
def test_a_source_is_found_wherever_the_model_says_it_is(quote: str, stands: str | None) -> None:
    source = {"quote": quote, "start": 7, "end": 9}
    script, _, _ = made(reply("It is 412 metres long.", source=source))
    found = script.sections[0].narrations[0].source
    assert found
    assert script.page
    assert script.page.text
    assert script.page.text[found.start : found.end] == found.quote
    assert stands is None or found.quote == stands


def test_a_source_that_is_not_on_the_page_is_told_and_not_kept() -> None:
    wrong = reply("It is 412 metres long.", source={"quote": "It is long.", "start": 0, "end": 5})
    script, model, _ = made(wrong, wrong)
    assert "its source is not on the page" in model.requests[1].last["content"]
    assert script.sections[0].narrations[0].source is None
    assert script.dropped is None


@pytest.mark.parametrize("source", [None, "a text", 7, {"quote": 7}, {"start": "x"}, {"quote": ""}])
def test_a_source_of_another_shape_is_none(source: object) -> None:
    script, model, _ = made(reply("It is 412 metres long.", source=source))
    assert script.sections[0].narrations[0].source is None
    assert len(model.requests) == 1


def test_the_script_keeps_the_text_that_the_model_was_given_whatever_the_model_sends() -> None:
    own = {"url": "x", "title": "x", "text": "x"}
    script, model, _ = made(script_reply(page=own, dropped=[]))
    assert script.page
    assert script.page.text
    assert script.page.text in written_from(model.requests[0])
    assert "Harlow" in script.page.text
    assert len(script.sections) == len(SCRIPT["sections"])


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("More than 400 metres.", True),
        ("Nearly 400 metres.", False),
        ("Almost 420 metres.", True),
        ("Over 420 metres.", False),
        ("About 420 metres.", True),
        ("More than 1,350 feet.", True),
        ("More than half of them came.", False),
        ("Nearly half of them came.", True),
    ],
)
def test_a_rounded_number_may_not_lie_on_the_wrong_side_of_the_exact_one(
    said: str, stands: bool
) -> None:
    page = Evidence("The bridge is 412 metres long. Of those invited, 46 % came.")
    assert (page.unsupported(said, "en") == []) is stands


@pytest.mark.parametrize(
    ("sentence", "unknown"),
    [
        ("Kilometres of cable hold it.", []),
        ("Licences were not needed.", []),
        ("Vexler opened it.", ["Vexler"]),
        ("Łukasz opened it.", ["Łukasz"]),  # no letter of an English dictionary
        ("Привет, she said.", ["Привет"]),
    ],
)
def test_the_first_word_of_a_sentence_is_a_name_unless_english_has_it(
    sentence: str, unknown: list[str]
) -> None:
    reasons = Evidence(TEXT).unsupported(sentence, "en")
    assert len(reasons) == len(unknown)
    assert all(name in reason for name, reason in zip(unknown, reasons, strict=True))


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("It carries 31,000 vehicles a day.", True),
        ("It carries 31 vehicles a day.", False),  # a comma of English divides thousands
        ("Repairs took 18 months.", True),
        ("Repairs took two months.", False),  # the two are cables
        ("More than a third came by train.", True),
        ("More than two thirds came by train.", False),
    ],
)
def test_a_number_is_read_as_its_language_writes_it_and_with_what_it_counts(
    said: str, stands: bool
) -> None:
    page = Evidence(
        "It carries 31,000 vehicles a day. A storm damaged two of its 14 cables, and the repairs "
        "took 18 months. Of the visitors, 35 % came by train."
    )
    assert (page.unsupported(said, "en") == []) is stands


def test_a_script_of_few_words_is_read_in_the_language_that_was_asked_for() -> None:
    page = Evidence(
        "En dix ans, le pont, qui est une œuvre du maire, a bougé de 870 mètres au nord."
    )
    said = "Le pont a bougé de 870 mètres en dix ans."  # with two small words of Dutch, and one of French
    sections = [{"title": "Pont", "narrations": [{"text": said, "reading": said}]}]
    script = VideoScript.model_validate({"title": "", "description": "", "sections": sections})
    assert [*faults(script, page, "fr")] == []
    assert [*faults(script, page)] != []
