"""What tools return: the page's words in it, and what shows that it is something else."""

from __future__ import annotations

import json

import pytest

from movie_generator.pages.results import about_page, fault, mended, page_text

WORDS = 'The old bridge was finished in 1932.\nIt has "seven" arches.'
LONG = "The old bridge carries twelve thousand cars every day, says the mayor. " * 20
URL = "https://pages.example/bridges"
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


@pytest.mark.parametrize(
    "content",
    [
        WORDS,
        {"result": WORDS},
        {"markdown": WORDS, "metadata": {"statusCode": 200}},
        {"success": True, "data": {"markdown": WORDS, "metadata": {"title": "B"}}},
        {"code": 200, "status": 20000, "data": {"title": "B", "url": URL, "content": WORDS}},
        {"success": True, "markdown": {"raw_markdown": WORDS, "fit_markdown": ""}, "html": "<p>"},
        {"results": [{"url": URL, "raw_content": WORDS}], "failed_results": []},
        {"results": [{"url": "https://else.example/", "text": LONG}, {"url": URL, "text": WORDS}]},
        [{"crawl": {"httpStatusCode": 200}, "metadata": {"title": "B"}, "markdown": WORDS}],
        [{"type": "text", "text": WORDS}, IMAGE, {"type": "resource_link", "uri": "x:y"}],
        [IMAGE, {"type": "resource", "uri": "file:///x.md", "text": WORDS}],
        json.dumps({"title": "B", "content": WORDS}),
        {"content": [{"type": "text", "text": WORDS}]},
        json.dumps(json.dumps({"markdown": WORDS})),
        f"```markdown\n{WORDS}\n```",
        {"markdown": WORDS, "warning": "This page is long", "metadata": {"statusCode": 200}},
        {"original_status": "200", "pc_status": 200, "url": URL, "body": WORDS},
    ],
)
def test_the_words_of_a_page_are_found_in_whatever_holds_them(content: object) -> None:
    text = page_text(content, URL)
    assert text == WORDS
    assert fault(content, text, URL) == ""


def test_several_blocks_are_paragraphs_and_what_leads_to_the_page_is_left_out() -> None:
    assert page_text(["# Bridges", 'She said "no".\nThen she left.']).count("\\") == 0
    assert page_text(["# Bridges", WORDS, IMAGE]) == f"# Bridges\n\n{WORDS}"
    assert page_text(["Here it is:", {"title": "Bridges", "content": LONG}]) == LONG


def test_an_object_of_an_unknown_form_becomes_lines_with_names() -> None:
    given = {"name": "The old bridge", "year": 1932, "arches": [{"of": "stone"}, {"of": "brick"}]}
    lines = "name: The old bridge\nyear: 1932\nof: stone\nof: brick"
    assert page_text(given) == lines


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"markdown": "# Oh", "metadata": {"statusCode": 404, "error": "Not Found"}}, "404 (Not F"),
        ({"markdown": "# Oh", "metadata": {"pageStatusCode": 404}}, "404"),
        ({"content": "gone", "status": "410 Gone"}, "410"),
        ({"isError": True, "content": "boom"}, "failed"),
        ({"detail": "Not authenticated"}, "Not authenticated"),
        ({"success": True, "id": "abc", "url": "https://api.site.example/crawl/abc"}, "failed"),
        ({"jobId": "abc", "status": "queued"}, "failed"),
        (["Screenshot taken", {"type": "image", "data": "AAAA", "mimeType": "image/png"}], "image"),
        ("### Result\nError: page.goto: net::ERR_CONNECTION_REFUSED", "notice"),
        ("curl: (6) Could not resolve host: x.example", "notice"),
        ("HTTPSConnectionPool(host='x.example', port=443): Max retries exceeded", "notice"),
        ("Press & Hold to confirm you are a human (and not a bot).", "notice"),
        ("Please enable JS and disable any ad blocker", "notice"),
        ("404\n\nThis page could not be found.", "notice"),
        ("Diese Seite wurde nicht gefunden.", "notice"),
        ("La página que buscas no existe.", "notice"),
        ("Deze pagina bestaat niet", "notice"),
        ("Invalid API key provided", "notice"),
        ("Crawl job started with ID: abc.", "notice"),
        ("This website requires Javascript to function properly.", "notice"),
        ("Bitte aktivieren Sie JavaScript, um diese Seite anzuzeigen.", "notice"),
        ("Veuillez activer JavaScript pour continuer.", "notice"),
        ("JavaScriptを有効にしてください。", "notice"),
        ("読み込み中...", "notice"),
        ({"success": False, "error": "blocked by the site"}, "blocked by the site"),
        ({"success": False, "status_code": 403, "error_message": "x", "html": LONG}, "403"),
        ({"status": "error", "message": "no such page"}, "no such page"),
        ({"results": [], "failed_results": [{"url": URL, "error": "Failed to fetch"}]}, "Failed"),
        (
            {"results": [], "statuses": [{"id": URL, "error": {"httpStatusCode": 403}}]},
            "answered 403",
        ),
        ([{"crawl": {"httpStatusCode": 500}, "text": "Oh no"}], "answered 500"),
        ({"data": {"content": LONG, "httpStatusCode": "503"}}, "answered 503"),
        (f"Title: x\n\nWarning: Target URL returned error 404: Not Found\n\n{LONG}", "404: Not F"),
        (IMAGE, "an image"),
        ([IMAGE, {"type": "resource_link", "uri": "https://x.example/b.jpg"}], "an image"),
        ("Output too large (137,963 characters). Saved to: /tmp/.s/results/page-1.json", "a file"),
        ("Result exceeds the maximum. Full output: C:\\\\temp\\page.md", "a file"),
        ("### Snapshot\n- [Snapshot](.playwright-mcp/page-2026.yml)", "a file"),
        ("The text was written to file:///var/out/page.txt", "a file"),
        ("Error: HTTP 403 Forbidden. Failed to fetch the page.", "notice"),
        ("HTTP error 500", "notice"),
        ("Error 500: Internal Server Error\n\nWe work on it. Come back soon. Thank you.", "notice"),
        ("Error 1020: Access denied\n\nThis website is protected. Ray ID: 1. Bye.", "notice"),
        ("Oops! Error 404: nothing here to see.", "notice"),
        (
            "Error 404: You took a wrong turn\n\nOh no. It is gone. Go back to our homepage.",
            "notice",
        ),
        ("HTTP/1.1 429 Too Many Requests", "notice"),
        ("# 404 Page not found\n\nSorry, this page does not exist any more.", "notice"),
        ("Request failed with status code 403", "notice"),
        ("\u274c Failed to scrape https://x.example/: timeout", "notice"),
        ("Navigation timeout of 30000 ms exceeded", "notice"),
        ("net::ERR_NAME_NOT_RESOLVED at https://x.example/", "notice"),
        ("Unable to retrieve content", "notice"),
        ("Just a moment...\n\nVerify you are human", "notice"),
        ("Access Denied\n\nYou don't have permission to access this.", "notice"),
        ("Oops! That page can\u2019t be found.", "notice"),
        ("Sorry, the page you are looking for could not be found.", "notice"),
        ("Erreur 404 - Page non trouvée", "notice"),
        ("Pagina niet gevonden", "notice"),
        ("Страница не найдена", "notice"),
        ("404 页面未找到", "notice"),
        ("お探しのページは見つかりませんでした。", "notice"),
        ("page.goto: net::ERR_NAME_NOT_RESOLVED at https://x.example/", "notice"),
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool(host=x)", "notice"),
        ("The site's robots.txt specifies that fetching of this page is not allowed", "notice"),
        ("Please complete the captcha to continue", "notice"),
        ("This site requires JavaScript. Please turn it on.", "notice"),
        ("Loading...", "notice"),
        ("undefined", "notice"),
        ("iVBORw0KGgoAAAANSUhEUg" * 20, "a file's data"),
        ({"error": {"message": "blocked", "code": "BLOCKED"}}, "blocked"),
        ({"errors": [{"message": "Not allowed"}], "data": None}, "Not allowed"),
        ("Старый мост через реку ".encode("koi8_r").decode("cp1251") * 3, "encoding"),
        ("\ufffd\ufffd\u4e00 \ufffd\ufffd" * 30, "encoding"),
        ("古い橋は川の上にある。".encode("cp932").decode("latin-1") * 5, "encoding"),
        ("Старый мост через реку построен".encode("cp1251").decode("cp1252"), "encoding"),
        ("Die Brücke über der Größe: schön".encode().decode("cp1252") + " ąę", "encoding"),
    ],
)
def test_what_is_not_the_page_is_known_by_what_the_tool_says(content: object, reason: str) -> None:
    assert reason in fault(content, page_text(content, URL), URL)


@pytest.mark.parametrize(
    "text",
    [
        "500 people came to see the bridge when it was opened.",
        "500 errors in one summer: how the town lost its archive.",
        "Timeout: coaches call for a new rule.",
        "An active JavaScript community meets in the town each May.",
        "Failed states are the topic of this book.",
        "Unable to walk since birth, Ada Lind built the bridge.",
        "Forbidden Planet is a film of 1956.",
        "Loading bays are open until nine.",
        "The lost page was not found until a book of 1932 was opened.",
        "The site needs JavaScript programmers, and pays them well.",
        "Nothing is as old as the bridge.",
        "The results are available at https://x.example/full/results.html and in print.",
        f"Error: a short history. {LONG}",
        "HTTP status 418: How a joke became a standard\n\nIt was in April. It stays. Pots use it.",
        "# Error 404: How a bridge got its name\n\nNobody knew. For years. Ida Lind did, in 1932.",
        "Naïve café, déjà vu: à l'été, l'élève a été gêné.",
        "Старый мост через реку построен в 1932 году.",
        "古い橋は川の上にある。",
        "Þetta er íslenskur texti með mörgum sérstöfum, ýmsum.",
    ],
)
def test_a_short_page_is_not_taken_for_a_failure(text: str) -> None:
    assert fault(text, page_text(text)) == ""


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp1251", "cp932"])
def test_utf_8_that_was_taken_for_something_else_is_mended(encoding: str) -> None:
    texts = ("Zoë, «schön» und groß", "Brücke, Größe", "вот пример", "例えば橋は古いです")
    taken = {it: it.encode().decode(encoding, "replace") for it in texts}
    whole = {it: other for it, other in taken.items() if "\ufffd" not in other}
    assert whole
    assert [mended(it) for it in whole.values()] == [*whole]
    assert [mended(it) for it in texts] == [*texts]


def test_what_a_scraper_says_of_the_page_is_kept() -> None:
    about = about_page({"data": {"markdown": "x", "metadata": {"title": "B", "ogImage": "i"}}})
    assert (about["title"], about["ogImage"]) == ("B", "i")


@pytest.mark.parametrize(
    "content",
    [
        "Error executing tool scrape: Timeout 30000ms exceeded.",
        "/var/folders/x/y/result.html",
        "file:///tmp/scrape/page-1.md",
        {"path": "/srv/a.md", "bytes": 12345},
    ],
)
def test_a_failed_call_and_a_bare_path_are_no_page(content: object) -> None:
    assert fault(content, page_text(content))


@pytest.mark.parametrize(
    "content",
    [
        "The program saves its work to /tmp/a.json each day. " + LONG[:500],
        "Stone bridges are old. ![An arch](/arch.png)",
        json.dumps(WORDS),
    ],
)
def test_a_page_may_name_a_path_or_come_as_a_string_of_json(content: str) -> None:
    text = page_text(content)
    assert fault(content, text) == ""
    assert "\\" not in text
