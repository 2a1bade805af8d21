"""What is read of saved pages of many shapes: their texts, and what they say about themselves."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from movie_generator.pages import markup
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page
from workshop.benchmarks.page_texts import URL, html, is_in, score, truth

TRUTH = truth()


@cache
def read(name: str) -> Page:
    return page_from_html(html(name), URL)


@pytest.mark.parametrize("name", TRUTH)
def test_nothing_is_lost_that_a_reader_came_for(name: str) -> None:
    text = read(name).text
    assert [it for it in TRUTH[name]["wanted"] if not is_in(text, it)] == []


def test_most_of_what_surrounds_the_text_is_left_out() -> None:
    scores = [score(read(name).text, page) for name, page in TRUTH.items()]
    assert sum(scores[1:], scores[0]).precision > 0.85


def test_a_long_discussion_below_an_article_is_not_taken_for_it() -> None:
    assert score(read("busy-comments").text, TRUTH["busy-comments"]).unwanted == 0


def test_a_page_that_is_too_long_to_search_is_kept_but_for_what_it_marks_as_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markup, "MOST_SEARCHED", 1_000)
    text = page_from_html(html("blog"), URL).text
    assert "came back to life" in text
    assert "I cried for a week" in text
    assert "Recipes by flour" not in text


def test_a_text_that_looks_like_a_mark_of_ours_does_no_harm() -> None:
    words = "A sentence, with commas, that is long enough to count as a part of an article. "
    page = page_from_html(f'<div><p>{words * 5} "mark-of-our-own-9999999"</p></div>', URL)
    assert page.text.startswith("A sentence")


def test_a_paragraph_beside_the_part_that_holds_most_is_kept() -> None:
    words = "A sentence of an article, with commas, long enough to count as one of it. "
    inside = f"<div>{f'<p>{words * 3}</p>' * 4}</div>"
    page = page_from_html(f"<div>{inside}<p>Beside it. {words * 3}</p></div>", URL)
    assert "Beside it." in page.text


@pytest.mark.parametrize("name", TRUTH)
def test_the_head_says_what_the_page_says_and_no_more(name: str) -> None:
    page = read(name)
    head = {
        "title": page.title,
        "url": "" if page.url == URL else page.url,
        "language": page.language,
        "author": page.author,
        "date": page.date,
    }
    assert head == {key: str(value) for key, value in TRUTH[name]["head"].items()}


@pytest.mark.parametrize(
    ("head", "author", "date"),
    [
        ('<meta name="author" content="https://example.com/ida">', "", ""),
        ('<meta property="article:published_time" content="last week">', "", ""),
        ('<meta itemprop="datePublished" content="2024-02-29T23:59:59Z">', "", "2024-02-29"),
        (
            '<script type="application/ld+json">{"author": ["A", {"name": "B"}]}</script>',
            "A, B",
            "",
        ),
        ('<script type="application/ld+json">{not json</script>', "", ""),
        ('<script type="application/ld+json">' + "[" * 5000 + "</script>", "", ""),
        ('<script type="application/ld+json">{"author": 7, "datePublished": {}}</script>', "", ""),
    ],
)
def test_what_a_head_says_in_other_ways(head: str, author: str, date: str) -> None:
    page = page_from_html(f"<html><head>{head}</head><body><p>Words.", URL)
    assert (page.author, page.date) == (author, date)


@pytest.mark.parametrize(
    ("content", "moved_to"),
    [
        ("0; url=/new", "https://pages.example/new"),
        ("3;URL='https://other.example/'", "https://other.example/"),
        ("0", ""),
        ("300; url=/new", ""),
        ("0; url=javascript:alert(1)", ""),
    ],
)
def test_a_page_that_sends_its_readers_on_says_where(content: str, moved_to: str) -> None:
    html = f'<meta http-equiv="Refresh" content="{content}"><p>Moved.'
    assert page_from_html(html, URL).moved_to == moved_to


def test_an_image_beside_the_text_is_taken_only_if_there_is_none_in_it() -> None:
    words = "<p>" + "Many words of an article, with commas, and more of them. " * 5 + "</p>"
    beside = '<div><img src="/beside.png"></div>'
    inside = f'<div><div>{words}<img src="/inside.png">{words}</div></div>'
    assert [it.url[-10:] for it in page_from_html(beside + inside, URL).images] == ["inside.png"]
    assert page_from_html(f"{beside}<div>{words}</div>", URL).images[0].url.endswith("beside.png")


TAGS = ["html", "head", "body", "main", "article", "div", "p", "li", "td", "table", "a", "base"]
PIECES = [
    *(f"<{tag}>" for tag in TAGS),
    *(f"</{tag}>" for tag in TAGS),
    *('<html lang="', '<meta name="author" content="', "<meta property='article:published_time'"),
    *('<base href="//[', '<link rel=canonical href="http://[', '<img src="data:', "<img srcset=,>"),
    *(
        '<script type="application/ld+json">',
        "</script>",
        '{"@graph": [',
        '{"author": ',
        "]}",
        "null",
    ),
    *(
        '<meta http-equiv=refresh content="0;url=',
        '">',
        "<!--",
        "<![CDATA[",
        "<?xml encoding='utf-7'?>",
    ),
    *(
        "\x00",
        "\x0b",
        "\ud800",
        "\ufffe",
        "&#0;",
        "&#xd800;",
        '<p id="mark-of-our-own-99">',
        "words, more ",
    ),
]


@pytest.mark.fuzz
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join))
def test_whatever_a_page_holds_it_is_read(html: str) -> None:
    page = page_from_html(html, URL)
    assert page.url.startswith(("http://", "https://"))
    for fact in (page.title, page.description, page.language, page.author, page.date):
        assert "\n" not in fact
        assert len(fact) <= 500
