"""The bytes of a page as text: in the encoding that they are in, which is not always the one named.

What reads as UTF-8 is UTF-8, whatever is said of it, because no other encoding looks like it. Of
all others the server tells first, and then the page. Names mean what they mean to browsers
(https://encoding.spec.whatwg.org/#names-and-labels), which is more than the standards say: pages in
"ISO-8859-1" have the quotation marks of Windows, and those in "GB2312" have any Chinese character.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

_UTF_16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
"""How texts in it begin."""
_WINDOWS = "cp1252"
_LABELS = {
    _WINDOWS: "ascii iso8859-1",
    "cp1254": "iso8859-9",
    "cp874": "iso8859-11 tis-620 windows-874",
    "cp932": "shift_jis x-sjis windows-31j",
    "gb18030": "gb2312 gbk x-gbk",
    "cp949": "euc_kr",
    "big5hkscs": "big5",
}
_MEANT = {label: name for name, labels in _LABELS.items() for label in labels.split()}
_OF_PAGES = re.compile(
    r"utf-(?:8|16|16-[lb]e)|iso8859-\d+|cp(?:125\d|866|874|932|949)|koi8-[ru]|gb18030|big5hkscs"
    r"|euc_jp|iso2022_jp|mac-(?:roman|cyrillic)"
)
"""As Python names them. It has more, some of which take forever to read a long text."""
_DECLARED = re.compile(
    rb"<(?:meta\s[^>]{0,500}?charset|\?xml\s[^>]{0,500}?encoding)\s*=\s*[\"']?\s*([\w.:-]+)",
    re.IGNORECASE | re.ASCII,
)


def decoded(body: bytes, said: str | None, *, is_html: bool = True) -> str:
    """The text in ``body``, which may end in the middle of a character.

    ``said`` is the encoding that the server named; a text that is HTML may name one, too.
    """
    for start, name in {codecs.BOM_UTF8: "utf-8-sig", **_UTF_16}.items():
        if body.startswith(start):
            return body.decode(name, "replace")
    inside = _DECLARED.search(body, 0, max(2048, len(body) // 20)) if is_html else None
    within = _meant(inside[1].decode("ascii")) if inside else None
    if within and within.startswith("utf-16"):  # or it could not be read
        within = None
    named = [it for it in (_meant(said), within) if it]
    # Zeros are UTF-16, and escapes are Japanese, but both would be UTF-8, too.
    first = ["iso2022_jp"] if b"\x1b$" in body else ["utf-8"] if b"\0" not in body else []
    for name in first + named:
        text = codecs.getincrementaldecoder(name)("replace").decode(body)
        if _is_right(text):
            return text
    guess = body.decode(_guess(body), "replace")
    return guess if not named or _is_right(guess) else body.decode(named[0], "replace")


def is_utf_16(body: bytes, said: str | None) -> bool:
    """Say whether ``body`` may hold zeros and be a text."""
    return body.startswith((*_UTF_16,)) or (_meant(said) or "").startswith("utf-16")


def _is_right(text: str) -> bool:
    """Whether hardly any of its characters beyond ASCII could not be read."""
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return text.count("\N{REPLACEMENT CHARACTER}") * 10 <= beyond


def _meant(label: str | None) -> str | None:
    """Python's name of the encoding that browsers read for ``label``."""
    name = (label or "").strip().lower()
    with suppress(LookupError, ValueError):
        name = codecs.lookup(name).name
    name = _MEANT.get(name, name)
    return name if _OF_PAGES.fullmatch(name) else None


def _guess(body: bytes) -> str:
    from charset_normalizer import from_bytes

    # On long words, such as an image inside the page, a guess would take minutes.
    sample = re.sub(rb"[!-~]{200,}", b"", body[:100_000])
    if len(sample.translate(None, bytes(range(128)))) < 4:  # too few bytes beyond ASCII
        return _WINDOWS
    for name in ("euc_jp", "cp932"):  # which others read as rare Chinese characters
        text = codecs.getincrementaldecoder(name)("replace").decode(sample)
        beyond = len(re.findall(r"[^\0-\x7f]", text))
        if _is_right(text) and len(re.findall("[\u3041-\u3096]", text)) * 5 > beyond:
            return name
    guesses = (_meant(it.encoding) for it in from_bytes(sample))
    return next((name for name in guesses if name and not name.startswith("utf-16")), _WINDOWS)
