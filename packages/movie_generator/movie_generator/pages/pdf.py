"""A PDF as a page; needs the extra ``pdf``."""

import io
import logging

from mcp_ghost.text import address, one_line
from movie_generator.errors import PageError
from movie_generator.pages.page import Page, heading, line, tidy

MOST_SHEETS = 1_000


def page_from_pdf(pdf: bytes, url: str, limit: int) -> Page:
    """Read a PDF up to about ``limit`` characters.

    Raises:
        PageError: It cannot be read, or pypdf is missing.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        raise PageError(
            f"{address(url)} is a PDF. To read PDFs, install the extra 'pdf': pip install pypdf"
        ) from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of each oddity that it mends
    texts: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(pdf))
        facts = reader.metadata
        title = line(facts.title) if facts else ""
        author = line(facts.author) if facts else ""
        for sheet in reader.pages[:MOST_SHEETS]:
            texts.append(sheet.extract_text())
            if sum(map(len, texts)) > limit:
                break
        left_out = len(reader.pages) - len(texts)
        language = line(reader.root_object.get("/Lang", ""))
    # A damaged PDF breaks a parser in many ways, and some need what is not there.
    except (
        PyPdfError,
        DependencyError,
        NotImplementedError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise PageError(
            f"{address(url)} is a PDF that cannot be read: {one_line(error)}"
        ) from error
    text = tidy("\n\n".join(texts))
    notes = (f"The last {left_out:,} of its pages were not read.",) if left_out else ()
    return Page(
        url,
        title or heading(text) or text.partition("\n")[0][:200],
        "",
        text,
        notes=notes,
        language=language,
        author=author,
    )
