"""What is read of saved pages of many shapes: their texts, and what they say about themselves."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from movie_generator.pages import markup
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page
from tests.support.page_texts import URL, html, is_in, score, truth, url_of

TRUTH = truth()


@cache
def read(name: str) -> Page:
    return page_from_html(html(name), url_of(name))


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


REFERRING = (
    '<script type="application/ld+json">{"@graph": [{"@type": "Article", "author": {"@id": "#ida"}}'
    ', {"@type": "Person", "@id": "#ida", "name": "Ida Marlow"}]}</script>'
)
INSIDE = (
    '<script type="application/ld+json">{"@type": "WebPage", "mainEntity": {"@type": "Article", '
    '"datePublished": "2024-03-08"}}</script>'
)


LINKED = '<script type="application/ld+json">%s</script>'


WRITTEN_BY = (
    '<meta name="twitter:label1" content="%s"><meta name="twitter:data1" content="Ida Marlow">'
)


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
        ('<meta name="byl" content="By Ida Marlow">', "Ida Marlow", ""),
        ('<meta name="parsely-author" content="Ida Marlow">', "Ida Marlow", ""),
        ('<meta name="date" content="Fri, 08 Mar 2024 10:00:00 GMT">', "", "2024-03-08"),
        ('<meta name="citation_publication_date" content="2024/03/08">', "", "2024-03-08"),
        ('<meta property="article:published_time" content="1709891940">', "", "2024-03-08"),
        ('<meta name="pubdate" content="1709891940000">', "", "2024-03-08"),
        ('<meta name="date" content="2024年3月8日 10:00">', "", "2024-03-08"),
        ('<meta itemprop="datePublished" content="2024년 3월 8일">', "", "2024-03-08"),
        ('<meta property="article:modified_time" content="1709891940">', "", ""),
        ('<meta name="citation_date" content="1709891940.5">', "", "2024-03-08"),
        ('<meta name="date" content="0000000000">', "", ""),
        ('<meta name="date" content="令和6年3月8日">', "", "2024-03-08"),
        (LINKED % '{"datePublished": 1709891940}', "", "2024-03-08"),
        (LINKED % '{"datePublished": "2024年3月8日"}', "", "2024-03-08"),
        (LINKED % '/* plug-in */{"author": "Ida Marlow",}', "Ida Marlow", ""),
        (REFERRING, "Ida Marlow", ""),
        (INSIDE, "", "2024-03-08"),
        (LINKED % '{"author": {"givenName": "Ida", "familyName": "Marlow"}}', "Ida Marlow", ""),
        (LINKED % '{"author": {"name": ["Ida Marlow", "Ole Berg"]}}', "Ida Marlow, Ole Berg", ""),
        (LINKED % '//<![CDATA[\n{"creator": "Ida Marlow"}\n//]]>', "Ida Marlow", ""),
        (LINKED % '{"author": "Ida O&#039;Marlow", "x": "a\nb"}', "Ida O'Marlow", ""),
        ('<meta name="author" content="admin">', "", ""),
        ('<meta name="author" content="Ida Marlow (ida@x.example)">', "Ida Marlow", ""),
        ('<meta name="author" content="ida@x.example (Ida Marlow)">', "Ida Marlow", ""),
        ('<meta name="author" content="著者: 山田太郎">', "山田太郎", ""),
        (WRITTEN_BY % "Written by", "Ida Marlow", ""),
        (WRITTEN_BY % "Est. reading time", "", ""),
        ('<body><p class="published">2024年3月8日', "", "2024-03-08"),
        ('<body><p class="byline">By <b>Ida Marlow</b> | 8 March', "Ida Marlow", ""),
        ('<body><span class="date">2024年3月8日</span>', "", "2024-03-08"),
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
        ('0; url=/new"></noscript><meta name="x', ""),
        ("0; url=javascript:alert(1)", ""),
    ],
)
def test_a_page_that_sends_its_readers_on_says_where(content: str, moved_to: str) -> None:
    spare = "<noscript>" if "noscript" in content else ""
    html = f'{spare}<meta http-equiv="Refresh" content="{content}"><p>Moved.'
    assert page_from_html(html, URL).moved_to == moved_to


@pytest.mark.parametrize(
    ("html", "language", "title"),
    [
        ('<html xml:lang="de"><title>Brücken</title>', "de", "Brücken"),
        ('<html lang="en_US"><h1>The <em>bridge</em></h1>', "en-US", "The bridge"),
        ('<html><meta property="og:locale" content="fr_FR">', "fr-FR", ""),
        ('<html lang="{{it}}"><svg><title>logo</title></svg><h1>The bridge</h1>', "", "The bridge"),
    ],
)
def test_language_and_title_stand_in_several_places(html: str, language: str, title: str) -> None:
    page = page_from_html(f"{html}<p>Words.", URL)
    assert (page.language, page.title) == (language, title)


def test_an_image_beside_the_text_is_taken_only_if_there_is_none_in_it() -> None:
    words = "<p>" + "Many words of an article, with commas, and more of them. " * 5 + "</p>"
    beside = '<div><img src="/beside.png"></div>'
    inside = f'<div><div>{words}<img src="/inside.png">{words}</div></div>'
    assert [it.url[-10:] for it in page_from_html(beside + inside, URL).images] == ["inside.png"]
    assert page_from_html(f"{beside}<div>{words}</div>", URL).images[0].url.endswith("beside.png")


SENTENCE = (
    "The old bridge across the river was finished in 1932, says the mayor, who crosses it {}. "
)
ARTICLE = "".join(f"<p>{SENTENCE.format(f'on day {day}')}</p>" for day in range(8))


@pytest.mark.parametrize("name", ["form", "nav", "aside", "noscript", "footer", "dialog", "menu"])
def test_a_container_that_holds_the_text_is_kept_whatever_its_name_is(name: str) -> None:
    page = page_from_html(f"<body><div>Menu</div><{name}>{ARTICLE}</{name}></body>", URL)
    assert "on day 7" in page.text


def test_a_question_on_a_button_stands_above_its_answer() -> None:
    faq = f"<h3><button>When was it built?</button></h3>{ARTICLE}<button>Subscribe</button>"
    text = page_from_html(f"<body><main>{faq}</main></body>", URL).text
    assert text.startswith("### When was it built?\n\nThe old bridge")
    plain = f"<div><button>When was it built?</button><div>{ARTICLE}</div></div>"
    assert "When was it" in page_from_html(f"<body><main>{plain}</main></body>", URL).text
    assert "Subscribe" not in text


def test_an_answer_that_a_button_shows_is_no_hidden_text() -> None:
    button = '<button aria-controls="a1" aria-expanded="false">When was it built?</button>'
    html = f'<main>{button}<div id="a1" hidden>{ARTICLE}</div></main>'
    assert "on day 7" in page_from_html(html, URL).text
    assert "on day 7" not in page_from_html(html.replace("<button", "<p"), URL).text


@pytest.mark.parametrize(
    "question",
    [
        "<h3>When was it built?</h3>",
        "<dt>When was it built?</dt>",
        "<button>When was it built?</button>",
        "<h3><button>When was it built?</button></h3>",
        "<div role=button>When was it built?</div>",
        "<div class=faq-question><span>When was it built?</span></div>",
    ],
)
@pytest.mark.parametrize(
    "hidden", ["hidden", "style='display:none'", "style='max-height:0; overflow:hidden'", "class=a"]
)
def test_an_answer_right_below_its_question_is_no_hidden_text(question: str, hidden: str) -> None:
    style = "<style>.a {display:none}</style>"
    html = f"{style}<main>{ARTICLE}{question}<div {hidden}><p>It was in 1777.</p></div></main>"
    assert "1777" in page_from_html(html, URL).text
    assert "1777" not in page_from_html(html.replace("?", ""), URL).text


@pytest.mark.parametrize(
    "marked",
    [
        '<a role="button" aria-controls="a1">More</a><div id="a1" %s>',
        '<div role="tabpanel" %s>',
        '<h3>Its arches</h3><div itemprop="acceptedAnswer" %s>',
    ],
)
@pytest.mark.parametrize("hidden", ["hidden", 'style="display:none"'])
def test_what_a_reader_can_open_is_no_hidden_text(marked: str, hidden: str) -> None:
    html = f"<main>{ARTICLE}{marked % hidden}<p>It has 77 arches.</p></div></main>"
    assert "77 arches" in page_from_html(html, URL).text


def test_the_text_of_a_component_is_read() -> None:
    html = f'<body><my-story><template shadowrootmode="open">{ARTICLE}</template></my-story></body>'
    assert "on day 7" in page_from_html(html, URL).text


@pytest.mark.parametrize("teaser", ["<article><h1>The bridge</h1><p>A photo.</p></article>", ""])
def test_a_lone_article_is_not_the_page_if_the_text_stands_elsewhere(teaser: str) -> None:
    page = page_from_html(f"<body>{teaser}<main></main><div>{ARTICLE}</div></body>", URL)
    assert "on day 7" in page.text


def test_what_stands_around_an_article_is_left_out_also_inside_of_it() -> None:
    around = (
        '<div class="newsletter-signup"><p>Sign up for our daily news.</p></div>{}'
        '<ul class="share"><li><a href="x">Share this</a></li></ul>'
        '<div class="related-articles"><h3>Read next</h3><p>The harbour will be closed.</p></div>'
        '<section id="comments"><div class="comment"><p>I think it is ugly.</p></div></section>'
    )
    text = page_from_html(f"<article>{ARTICLE}{around.format(ARTICLE)}</article>", URL).text
    assert "on day 7" in text
    for words in ("Sign up", "Share this", "harbour", "ugly"):
        assert words not in text


@pytest.mark.parametrize(
    "noise",
    [
        "<p>© Ida Marlow</p>",
        "<span>(Foto: Ida Marlow / Agency)</span>",
        "<figure><img src='/a.jpg'><figcaption>Photo credit: <b>Ida Marlow</b></figcaption>",
        "<p>Read more: <a href='/x'>Ida Marlow tells about the bridges of the town</a></p>",
        "<p><strong>Lea también: <a href='/x'>Marlow y los puentes de la ciudad</a></strong></p>",
    ],
)
def test_credits_of_pictures_and_links_to_other_articles_are_no_part_of_one(noise: str) -> None:
    text = page_from_html(f"<article>{ARTICLE}{noise}{ARTICLE}</article>", URL).text
    assert "Marlow" not in text
    assert text.count("on day 7") == 2
    assert "Marlow" in page_from_html(noise, URL).text  # a page that says nothing else


@pytest.mark.parametrize(
    "kept",
    [
        f"<p>Photo: the mayor, and Ida Marlow. {SENTENCE * 2}</p>",
        "<p>The architect: <a href='/m'>Ida Marlow</a></p>",
        "<p>She said: <a href='/m'>Ida Marlow built most of it</a>, and left.</p>",
    ],
)
def test_what_only_looks_like_a_credit_or_a_link_to_another_article_is_kept(kept: str) -> None:
    assert "Marlow" in page_from_html(f"<article>{ARTICLE}{kept}{ARTICLE}</article>", URL).text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("built in 1932<sup>1</sup>.", "built in 1932."),
        ("built in 1932\N{SUPERSCRIPT ONE}.", "built in 1932."),
        ('built in 1932<sup><a href="#1">[1]</a></sup>.', "built in 1932."),
        ("the bridge<sup>12</sup> of", "the bridge of"),
        ('45 million<a href="#1"><sup>1</sup></a> kronor', "45 million kronor"),
        ('in 1932<a href="#fn:1" class="footnote">1</a>.', "in 1932."),
        ('in 1932<span class="footnote-ref">[12]</span>.', "in 1932."),
        ('in chapter <a href="#3">3</a>.', "in chapter 3."),
        ("45<sup>2</sup> million", "45 million"),
        ("10<sup>6</sup> kilograms", "10^6 kilograms"),
        ("10<sup>-3</sup> m", "10^-3 m"),
        ("300 m<sup>2</sup>", "300 m\N{SUPERSCRIPT TWO}"),
        ("the 45<sup>th</sup> day", "the 45th day"),
        ("3<sup>1</sup>/<sub>2</sub> miles", "3 1/2 miles"),
        ("only $19<sup>99</sup> today", "only $19.99 today"),
        ("H<sub>2</sub>O", "H2O"),
        ("7<sub>8</sub> in octal", r"7\_8 in octal"),
    ],
)
def test_a_raised_number_joins_no_other(html: str, text: str) -> None:
    assert text in page_from_html(f"<article>{ARTICLE}<p>It is {html}</p></article>", URL).text


@pytest.mark.parametrize(
    "hidden",
    [
        "hidden",
        'style="color:red; display: none"',
        'style="visibility:hidden"',
        'style="position:absolute; left:-9999px"',
        'style="position:absolute; clip:rect(0,0,0,0)"',
        'style="height:0; overflow:hidden"',
        'style="overflow: hidden; position:absolute; width:1px"',
        'style="visibility: collapse"',
        'style="color: transparent"',
    ],
)
def test_hidden_text_is_neither_page_nor_evidence(hidden: str) -> None:
    secret = f"<div {hidden}><p>It has 77 arches, says the sign on its southern end.</p></div>"
    for around in (ARTICLE, "<p>Short.</p>"):
        page = page_from_html(f"<body {hidden}><main>{around}{secret}</main></body>", URL)
        assert page.text
        assert "77" not in page.text


@pytest.mark.parametrize(
    "hidden",
    [
        'style="opacity:0"',
        'style="font-size:0px;color:red"',
        'style="transform: scale(0) !important"',
        'style="max-height: 0"',
        'style="color:#FFF; background-color: white"',
        'bgcolor="#ffffff" style="color: rgb(255, 255, 255)"',
        'class="text d-none"',
        'class="text hidden"',
        'style="filter: opacity(0%)"',
        'style="clip-path: circle(0)"',
        'style="color: black; background: #000"',
        'class="a secret b"',
        'id="secret"',
        'class="screen-reader-text"',
    ],
)
def test_what_a_style_hides_is_left_out_unless_it_is_much_of_the_page(hidden: str) -> None:
    rules = "@media print {.text {display:none}} .secret {display:none} #secret {display: none}"
    style = f"<style>{rules}</style>"
    secret = f"<div {hidden}><p>It has 77 arches, says the sign on its southern end.</p></div>"
    secret += '<span style="background:#fff"><font color=white>All 77 of them.</font></span>'
    page = page_from_html(f"{style}<main class=text>{ARTICLE}{secret}</main>", URL)
    assert "on day 7" in page.text
    assert "77" not in page.text
    page = page_from_html(f"{style}<main {hidden}>{ARTICLE}</main>", URL)  # until a script shows it
    assert "on day 7" in page.text


@pytest.mark.parametrize(
    ("canonical", "url"),
    [
        ("https://www.pages.example/own", "https://www.pages.example/own"),
        ("/own", "https://pages.example/own"),
        ("/own#top", "https://pages.example/own"),
        ("https://other.example/page", URL),
        ("https://pages.example/", URL),
        ("https://pages.example:8443/own", URL),
    ],
)
def test_only_a_page_of_the_same_site_is_the_pages_own_address(canonical: str, url: str) -> None:
    link = f'<link rel="canonical" href="{canonical}">'
    assert page_from_html(f"<head>{link}</head><body>{ARTICLE}</body>", URL).url == url
    assert page_from_html(f"<head></head><body>{ARTICLE}{link}</body>", URL).url == URL


@pytest.mark.parametrize(
    "shown",
    [
        'class="hidden md:block"',
        'class="d-none d-md-block"',
        'style="color:#fff; background:#333"',
        'style="color:#fff"',
        'background="night.png" bgcolor="" color="white"',
    ],
)
def test_what_is_shown_to_some_or_in_white_on_a_picture_is_kept(shown: str) -> None:
    html = f"<main>{ARTICLE}<div {shown}><p>It has 77 arches, says the sign.</p></div></main>"
    assert "77 arches" in page_from_html(html, URL).text


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
        "![a](picture-99.png)",
        "<noscript>",
        "<sup>1</sup>",
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
