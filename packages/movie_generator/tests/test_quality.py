"""What the prompt demands of a script, and what happens where it is not so."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from mcp_ghost.testing import ModelServer
from movie_generator import VideoScript, generate_script_from_url
from movie_generator.errors import ScriptError
from movie_generator.prompts import writer
from movie_generator.quality import problems
from movie_generator.settings import AppConfig
from tests.support.movie import PAGE, script_reply, site

FACT = "The old bridge across the river was finished in 1932."
OTHERS = (
    "It carries twelve thousand cars every day, as the mayor says.",
    "Before it was built, people took a ferry to the other side.",
    "Why does that matter to you?",
)
GERMAN = "Die alte Brücke wurde im Jahr 1932 fertig, und jeden Tag fahren viele Autos darüber."
JAPANESE = "古い橋は一九三二年に完成しました。毎日多くの車が通ります。"
KANA = "フルイ ハシワ センキュウヒャクサンジュウニネンニ カンセイシマシタ。"


def script(*texts: str | tuple[str, str], title: str = "B", **changes: Any) -> VideoScript:  # noqa: ANN401
    pairs = [it if isinstance(it, tuple) else (it, it) for it in texts]
    narrations = [{"text": text, "reading": reading} for text, reading in pairs]
    section = {"title": "W", "narrations": narrations, "slide_prompt": "x"}
    whole = {"title": title, "description": "d", "sections": [section], **changes}
    return VideoScript.model_validate(whole)


@pytest.mark.parametrize(
    ("language", "told", "problem"),
    [
        ("en", [GERMAN] * 2, "the narrations are not in English"),
        ("en", [FACT, GERMAN], "narration 2 of section 1, the last one, is not in English"),
        ("en", [JAPANESE], "not in English"),
        ("de", [FACT, *OTHERS], "the narrations are not in German"),
        ("es", [FACT, *OTHERS], "not in Spanish"),
        ("pl", [FACT, *OTHERS], "not in Polish"),
        ("ru", [FACT], "not in Russian"),
        ("zh", [(JAPANESE, JAPANESE)], "not in Chinese"),
        ("ja", [FACT], "not in Japanese"),
        ("ja", [(JAPANESE, JAPANESE)], "has 古 in its reading, which is katakana only"),
        ("ja", [(JAPANESE, KANA + "1932")], "has 1 in its reading"),
        ("ja", [(JAPANESE, KANA + "AI")], "has A in its reading"),
        ("en", [("It is old.", JAPANESE)], "has a reading that is not in English"),
        ("en", ["..."], "only a placeholder"),
        ("en", ["<text>"], "only a placeholder"),
        ("en", ["[Insert a fact]"], "only a placeholder"),
        ("en", ["Text of the narration goes here."], "only a placeholder"),
        ("en", ["The {{name}} bridge is old."], "Markdown, a list or an address in its text: {{"),
        ("en", ["It is \\frac{1}{2} old."], "Markdown, a list or an address"),
        (
            "en",
            [f"The old bridge {'and the river ' * 20}."],
            "something that nobody would say in its text",
        ),
        ("en", ["I'm sorry, but I can't help with that."], "is not a narration"),
        (
            "en",
            [f"[Music fades in] {FACT}"],
            "something that nobody would say in its text: [Music fades in]",
        ),
        ("en", [f"(Upbeat music) {FACT}"], "something that nobody would say"),
        ("en", [f"Narrator: {FACT}"], "something that nobody would say in its text: Narrator:"),
        ("en", [f"{FACT} #bridge #cars"], "something that nobody would say"),
        ("en", [f"\U0001f697\U0001f697 {FACT}"], "something that nobody would say"),
        ("en", ["Write to info@bridge.example today."], "address"),
        ("en", ["See example.org/bridge for more."], "address"),
        ("en", [(FACT, "Something else, about cats and dogs.")], "does not say what its text says"),
        ("ja", [(JAPANESE, "ハシ")], "does not say what its text says"),
        ("en", [("It is old.", "...")], "only a placeholder"),
        ("en", [FACT] * 3, "repeats itself"),
        ("en", [FACT, OTHERS[0], FACT.upper(), OTHERS[0]], "repeats itself"),
        (
            "en",
            [" ".join([FACT, *OTHERS[:2]] * 1 + [f"It has {n} arches." for n in range(9)])],
            "is too long",
        ),
        ("en", ["word " * 200], "is too long"),
        ("ja", [("橋" * 350, "ハシ")], "is too long"),
        ("en", ["**The bridge** is old."], "Markdown, a list or an address in its text: **"),
        ("en", ["# The bridge\nIt is old."], "Markdown"),
        ("en", ["It is old.\n- one\n- two"], "Markdown"),
        ("en", ["First:\n1. one"], "Markdown"),
        ("en", ["See [the page](https://x.example/)."], "Markdown"),
        ("en", ["It is *very* old."], "Markdown"),
        ("en", ["It is `old`."], "Markdown"),
        ("en", ["It is <b>old</b>."], "Markdown"),
        ("en", ["It is _very_ old."], "Markdown"),
        ("en", ["It is old &amp; long."], "Markdown"),
        ("en", ["It is old [1]."], "Markdown"),
        ("en", ["It is\\nold."], "Markdown"),
        ("en", ["Scene 1: It is old."], "has something that nobody would say"),
        ("en", ["[00:15] It is old."], "has something that nobody would say"),
        ("en", ["old old old old old old"], "has something that nobody would say"),
        ("en", ["I am unable to access the page."], "is not a narration"),
        ("en", ["Your text here"], "placeholder"),
        ("en", ["Go to www.example.org today."], "address"),
        ("en", [("It is old.", "It is old: https://x.example")], "address in its reading"),
    ],
)
def test_what_the_prompt_demands_is_checked(
    language: str, told: list[str | tuple[str, str]], problem: str
) -> None:
    found = "\n".join(problems(script(*told), AppConfig(language=language)))
    assert problem in found


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", [FACT, *OTHERS]),
        ("en", [(FACT, FACT.replace("1932", "nineteen thirty-two"))]),
        ("en", ["The sign says (in red): stop. I can say no more, and/or less."]),
        ("en", ["Why is that?", FACT, "Why is that?", OTHERS[1], "Why is that?"]),
        (
            "en",
            [
                "In C# and F#, 3 * 4 * 5 is 60, and 2 < 3 > 1 holds; see section_two or __init__."[
                    :60
                ]
            ],
        ),
        ("en", ["He said that it [the bridge] is old. At 10:30 it opens; AT&T; N.A."]),
        ("en", ["Amazon.com was number 1 - and still is.", "It costs $5 | or so."]),
        ("en", ["Rio Grande do Sul, São Paulo e Belém: three names of a land."]),
        ("de", [GERMAN, "Sie ist aus Stein und trägt die Straße über den Fluss."]),
        ("ja", [(JAPANESE, KANA)]),
        (
            "ja",
            [
                (
                    "OpenAIのGPTは二千二十三年に公開されました。",
                    "オープンエーアイノ ジーピーティーワ。",
                )
            ],
        ),
        ("zh", ["这座老桥于一九三二年建成,每天有一万二千辆汽车通过这座桥梁。"]),
        ("pl", ["Stary most na rzece został ukończony w roku 1932, a dziś jeździ nim wiele aut."]),
        ("sv", ["Den gamla bron över floden blev klar 1932, och det är en av de äldsta i landet."]),
        ("gl", ["A vella ponte sobre o río rematouse en 1932 e é unha das máis vellas do país."]),
        ("ru", ["Старый мост через реку был построен в 1932 году, сказал мэр города."]),
        ("ko", ["오래된 다리는 1932년에 완공되었고 매일 많은 차가 지나갑니다."]),
    ],
)
def test_what_may_well_be_right_is_let_through(language: str, told: list[Any]) -> None:
    assert [*problems(script(*told), AppConfig(language=language))] == []


def test_many_more_sections_than_were_asked_for_are_too_many() -> None:
    sections = [{"title": f"S{n}", "narrations": []} for n in range(13)]
    found = [*problems(script(sections=sections), AppConfig(sections=6))]
    assert "it has 13 sections; 6 were asked for" in found


def test_titles_are_in_the_language_of_the_script_and_no_placeholders() -> None:
    found = [*problems(script(FACT, title="..."), AppConfig())]
    assert "its title is only a placeholder: ..." in found
    found = [*problems(script(FACT, title=JAPANESE), AppConfig())]
    assert "the titles and the description are not in English" in found


def test_a_length_in_minutes_is_asked_for_and_checked() -> None:
    config = AppConfig(minutes=3)
    assert "takes about 3 minutes: 450 words" in writer(config)
    assert "takes about 3 minutes: 900 characters" in writer(AppConfig(minutes=3, language="ja"))
    (found,) = problems(script(FACT, *OTHERS), config)
    assert found == "it takes about 0.3 minutes to speak; 3 were asked for"
    assert not [
        *problems(
            script(*(f"{FACT} {n} " + "So it is. " * 5 for n in "a"), FACT), AppConfig(minutes=0.2)
        )
    ]


def test_any_language_is_asked_for_by_its_name() -> None:
    assert "narrations in German, whatever" in writer(AppConfig(language="de"))
    assert "narrations in Portuguese (Brazil), whatever" in writer(AppConfig(language="pt-BR"))


def written(*replies: str, **config: Any) -> tuple[VideoScript, ModelServer]:  # noqa: ANN401
    with site(PAGE) as served, ModelServer([*replies]) as model:
        work = generate_script_from_url(
            f"{served.url}/bridges",
            base_url=model.base_url,
            allow_private_urls=True,
            config=AppConfig.model_validate(config),
        )
        return asyncio.run(work), model


def test_a_useless_script_is_repaired_once_and_then_a_clear_error() -> None:
    bad = json.dumps(script("**Rivers** part us.").model_dump())
    _, model = written(bad, script_reply())
    assert "Markdown, a list or an address in its text: **" in model.requests[1].last["content"]
    with pytest.raises(ScriptError, match=r"did not write a usable script: .*Markdown"):
        written(bad, bad)


@pytest.mark.parametrize(
    "around",
    [
        "Here is {the script}, as {asked}:\n\n%s\n\nI hope {this} helps.",
        "```json\n%s\n```",
        '<think>{"title": "draft"}</think>%s',
        '{"script": %s}',
        '{"title": "draft", "sections": []}\n%s',
        '// Here it is:\n{"script": %s, /* as asked */}',
    ],
)
def test_json_among_words_with_braces_is_found(around: str) -> None:
    _, model = written(around % script_reply())
    assert len(model.requests) == 1


@pytest.mark.parametrize("mark", ["'", ""])
def test_what_is_nearly_json_is_read(mark: str) -> None:
    written_so = re.sub(r'"(\w+)":', rf"{mark}\1{mark}:\t", script_reply())
    _, model = written(f"So: {written_so} # that is all")
    assert len(model.requests) == 1


def test_curly_quotation_marks_and_further_commas_are_read() -> None:
    said = '“Stone,, yes” she said, and "iron" alone.'
    reply = script_reply(description=said).replace('\\"', "~")
    curly = re.sub(r'"([^"]*)"', r"“\1”", reply).replace("~", '"').replace(", “", ",, “")
    made, model = written(curly)
    assert len(model.requests) == 1
    assert made.description == said


def test_json_inside_of_a_text_of_json_is_found() -> None:
    _, model = written(json.dumps(script_reply()))
    assert len(model.requests) == 1


def test_hiragana_in_a_reading_becomes_katakana() -> None:
    spoken = {"text": "川は人を分けます。", "reading": "かわワ ヒトヲ わけます。"}
    section = {"title": "川", "narrations": [spoken], "slide_prompt": "x"}
    reply = script_reply(title="橋", description="", sections=[section])
    made, _ = written(reply, language="ja")
    assert made.sections[0].narrations[0].reading == "カワワ ヒトヲ ワケマス。"


def test_titles_are_plain_text() -> None:
    assert [*problems(script(FACT, *OTHERS, title="**B**"), AppConfig())] == [
        "a title has Markdown in it: **"
    ]
    assert [*problems(script(FACT, *OTHERS, title="C# & bridges"), AppConfig())] == []
