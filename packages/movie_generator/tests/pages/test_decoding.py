"""Bytes as text: in their encoding, whether or not that is the one that somebody named."""

from __future__ import annotations

import pytest

from movie_generator.pages.decoding import decoded
from movie_generator.pages.markup import page_from_html
from tests.support.work import growth

GERMAN = "„Guten Tag“, sagte die Brücke für 5 €."
JAPANESE = "①は㈱日立の髙橋さんが2024年に架けた橋である。"
CHINESE = "朱镕基于1998年任总理。"


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        (GERMAN, "cp1252", "ISO-8859-1"),
        (GERMAN, "cp1252", "us-ascii"),
        (GERMAN, "utf-8", "ISO-8859-1"),
        (GERMAN, "utf-8-sig", "ISO-8859-1"),
        (GERMAN, "utf-8", "utf8mb4"),
        (GERMAN, "utf-16", "utf-8"),
        (GERMAN, "utf-16", None),
        (GERMAN, "utf-16-le", "UTF-16LE"),
        (f"<p>{GERMAN}", "utf-16-le", None),
        (f"<p>{GERMAN}", "utf-16-be", "utf-8"),
        (JAPANESE, "cp932", "Shift_JIS"),
        (JAPANESE, "cp932", "x-sjis"),
        ("東京の橋", "iso2022_jp", "ISO-2022-JP"),
        (CHINESE, "gb18030", "GB2312"),
        ("다리는 똠방각하였다.", "cp949", "euc-kr"),
    ],
)
def test_a_name_means_what_it_means_to_browsers_and_no_name_beats_the_bytes(
    text: str, encoding: str, said: str | None
) -> None:
    assert decoded(text.encode(encoding), said, is_html=False) == text


def test_a_page_in_another_encoding_than_the_server_says_is_read_as_it_says_itself() -> None:
    html = f'<meta charset="gb2312"><title>桥</title><p>{CHINESE * 3}'
    page = page_from_html(html.encode("gb18030"), "https://example.com", "utf-8")
    assert (page.title, page.text) == ("桥", CHINESE * 3)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("古い橋は1932年に完成し、毎日多くの車が通ると市長は語った。", "cp932"),
        ("古い橋は1932年に完成し、毎日多くの車が通ると市長は語った。", "euc_jp"),
        ("古い橋は1932年に完成し、毎日多くの車が通ると市長は語った。", "iso2022_jp"),
        ("Старый мост через реку был построен в 1932 году, говорит мэр.", "cp1251"),
        ("古老的大桥于一九三二年竣工,每天有一万两千辆汽车通过。", "gb18030"),
        (GERMAN, "cp1252"),
    ],
)
@pytest.mark.parametrize("said", ["utf-8", None])
def test_bytes_that_are_not_what_the_server_says_are_read_as_what_they_look_like(
    text: str, encoding: str, said: str | None
) -> None:
    assert decoded((text * 4).encode(encoding), said) == text * 4


def test_a_page_that_calls_itself_utf_16_cannot_be_in_it() -> None:
    html = '<meta charset="utf-16"><meta charset="latin-1"><p>Ein Gruß.'.encode("cp1252")
    assert page_from_html(html, "https://example.com").text == "Ein Gruß."


def test_broken_characters_change_no_encoding() -> None:
    half = (GERMAN * 3).encode()[:-1] + "ü".encode()[:1]  # as at the end of a cut page
    assert decoded(half, None) == (GERMAN * 3)[:-1]
    broken = ("Über die größere Brücke " * 3).encode() + b"\xff."
    assert decoded(broken, "ISO-8859-1").startswith("Über die größere Brücke")


def test_a_codec_that_no_page_is_in_is_not_used() -> None:
    assert decoded(b"a-b-\\u0041", "punycode") == "a-b-\\u0041"
    assert decoded(b"\\u0041 \xfc", "unicode_escape") == "\\u0041 ü"


def test_an_image_inside_a_page_without_a_named_encoding_costs_no_more_than_its_length() -> None:
    def read(size: int) -> str:
        image = f'<img src="data:image/png;base64,{"A" * size}">'
        return decoded(f"{image}<p>Мост построен в 1916 году.".encode("cp1251"), None)

    assert "Мост построен" in read(3_000)
    assert growth(read, 3_000) < 12
