"""Pages that are PDFs."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from movie_generator.errors import PageError
from movie_generator.pages.fetch import fetch_page, page_from_pdf
from movie_generator.pages.page import Page
from movie_generator.pages.robots import Robots
from movie_generator.pages.urls import UrlPolicy
from movie_generator.settings import Limits
from tests.support.movie import site

PRIVATE = UrlPolicy(allow_private=True)


def pdf(*sheets: str) -> bytes:
    """A document with a line of text on each sheet."""
    fonts = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(sheets)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /Lang (en-GB) >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(sheets)} >>",
        "<< /Title (On bridges) /Author (Ida Marlow) >>",
    ]
    for number, text in enumerate(sheets):
        drawn = f"BT /F 12 Tf 72 700 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Resources {fonts} /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    document, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(f"{len(document):010} 00000 n \n")
        document += f"{number} 0 obj\n{text}\nendobj\n"
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{''.join(places)}"
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info 3 0 R >>\n"
    return f"{document}{table}{trailer}startxref\n{len(document)}\n%%EOF\n".encode()


def fetched(document: bytes, kind: str = "application/pdf", **limits: int) -> Page:
    with site({"/paper": (kind, document)}) as served:
        robots = Robots(PRIVATE, timeout=30)
        work = fetch_page(f"{served.url}/paper", Limits(**limits), robots)
        return asyncio.run(work)


@pytest.mark.parametrize("kind", ["text/html", "text/plain; charset=utf-8", ""])
def test_a_pdf_that_its_server_calls_a_text_is_one(kind: str) -> None:
    assert fetched(pdf("Bridges cross rivers."), kind).text == "Bridges cross rivers."


def test_text_title_author_and_language_of_a_pdf_are_read() -> None:
    page = fetched(pdf("Bridges cross rivers.", "Ferries do, too."))
    assert page.text == "Bridges cross rivers.\n\nFerries do, too."
    assert (page.title, page.author, page.language) == ("On bridges", "Ida Marlow", "en-GB")
    assert page.notes == ()


def test_a_long_pdf_is_read_as_far_as_the_writer_sees_it() -> None:
    page = fetched(pdf(*("Words " * 100 for _ in range(5))), page_characters=1000)
    assert page.text.count("Words") == 200
    assert page.notes == ("The last 3 of its pages were not read.",)


@pytest.mark.parametrize("damaged", [b"", b"%PDF-1.7", b"no PDF at all", pdf("x")[:200]])
def test_a_damaged_pdf_is_a_clear_error(damaged: bytes) -> None:
    with pytest.raises(PageError, match="is a PDF that cannot be read"):
        fetched(damaged)


@pytest.mark.parametrize("unknown", ["Unheard", "BrotliDecode"])
def test_a_pdf_packed_in_a_way_that_cannot_be_unpacked_is_a_clear_error(unknown: str) -> None:
    packed = pdf("x").replace(b"<< /Length", b"<< /Filter /%s /Length" % unknown.encode())
    with pytest.raises(PageError, match=f"is a PDF that cannot be read.*{unknown}"):
        fetched(packed)


def test_a_pdf_that_is_too_long_is_not_read_in_part() -> None:
    with pytest.raises(PageError, match=r"more than 1,000 bytes.*page_bytes"):
        fetched(pdf(*("x" for _ in range(20))), page_bytes=1000)


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(PageError, match=r"is a PDF.*pip install pypdf$"):
        fetched(pdf("x"))


@pytest.mark.fuzz
@given(st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=6)), min_size=1, max_size=8))
def test_whatever_is_wrong_with_a_pdf_it_is_read_or_refused(
    damage: list[tuple[int, bytes]],
) -> None:
    document = bytearray(pdf("Bridges cross rivers.", "Ferries do, too."))
    for place, put in damage:
        document[place : place + len(put)] = put
    with suppress(PageError):
        page = page_from_pdf(bytes(document), "https://pages.example/paper", 1000)
        assert page.url == "https://pages.example/paper"
