"""A script and its page as one HTML file that needs no network and runs nothing of the page.

Everything foreign is escaped, and a policy in the file itself forbids whatever is not its own. An
image is named by its address and not fetched: whoever looks at a script need not tell its site so.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from movie_generator.models import VideoScript
from movie_generator.show.lines import passages

_HERE = Path(__file__).parent


def document(script: VideoScript) -> str:
    """The file."""
    style = (_HERE / "document.css").read_text(encoding="utf-8")
    code = (_HERE / "document.js").read_text(encoding="utf-8")
    allowed = f"style-src {_hash(style)}; script-src {_hash(code)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'"
    head = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{escape(script.title)}</title><style>{style}</style></head>",
    ]
    body = ["<body><main>", *_script(script), "</main>", *_page(script), f"<script>{code}</script>"]
    return "\n".join([*head, *body, "</body></html>", ""])


def _script(script: VideoScript) -> Iterator[str]:
    yield f'<h1 dir="auto">{escape(script.title)}</h1>'
    yield f'<p dir="auto">{escape(script.description)}</p>'
    marked = {number for _, numbers in passages(script) for number in numbers}
    without = len([*script.narrations()]) - len(marked)
    dashed = f"{without} without a source {'is' if without == 1 else 'are'} dashed."
    sources = dashed if without else "Each has its source."
    yield f"<p class=hint>↑ and ↓ go from narration to narration. {sources}</p>"
    number = 0
    for section in script.sections:
        yield f'<section><h2 dir="auto">{escape(section.title)}</h2><ol>'
        for narration in section.narrations:
            spoken = narration.reading.strip() != narration.text.strip()
            reading = f'<small dir="auto">{escape(narration.reading)}</small>' if spoken else ""
            who = f"<b>{escape(narration.persona_id)}</b> " if narration.persona_id else ""
            text = f'<span dir="auto">{who}{escape(narration.text)}</span>{reading}'
            target = f' href="#p{number}"' if number in marked else ' tabindex="0"'
            yield f"<li><a class=narration data-number={number}{target}>{text}</a></li>"
            number += 1
        yield "</ol>"
        if section.slide_prompt:
            yield f'<p class=picture dir="auto">Picture: {escape(section.slide_prompt)}</p>'
        if section.source_image_url:
            yield f"<p class=picture>Image of the page: {_link(section.source_image_url)}</p>"
        yield "</section>"
    if script.dropped:
        yield "<section class=dropped><h2>Left out</h2><ul>"
        for lost in script.dropped:
            yield f'<li dir="auto"><s>{escape(lost.text)}</s><small>{escape(lost.why)}</small></li>'
        yield "</ul></section>"


def _link(url: str) -> str:
    """A link for what browsers fetch; anything else is text."""
    shown = escape(url)
    link = f'<a href="{shown}" rel="noreferrer noopener" target="_blank">{shown}</a>'
    return link if re.match("https?://", url, re.IGNORECASE) else shown


def _page(script: VideoScript) -> Iterator[str]:
    page = script.page
    if page is None or not page.text:
        yield "<aside><p>The script does not contain the text of its page.</p></aside>"
        return
    yield f'<aside><h2 dir="auto">{escape(page.title or "The page")}</h2><p>{_link(page.url)}</p>'
    pieces: list[str] = []
    begun: set[int] = set()
    for text, numbers in passages(script):
        piece = escape(text)
        if numbers:
            ids = "".join(f'<i id="p{it}"></i>' for it in numbers if it not in begun)
            begun |= {*numbers}
            resting = " ".join(map(str, numbers))
            piece = f'{ids}<mark data-narrations="{resting}">{piece}</mark>'
        pieces.append(piece)
    yield f'<div class=text dir="auto">{"".join(pieces)}</div></aside>'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
