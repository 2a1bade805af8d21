"""Saved pages, of each of which `tests/data/pages/truth.yaml` lists what a reader came for."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PAGES = Path(__file__).parents[1] / "data/pages"
URL = "https://pages.example/page"


@dataclass(frozen=True)
class Score:
    """What of a page was kept."""

    wanted: int
    of_wanted: int
    unwanted: int
    of_unwanted: int

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.wanted + other.wanted,
            self.of_wanted + other.of_wanted,
            self.unwanted + other.unwanted,
            self.of_unwanted + other.of_unwanted,
        )

    @property
    def precision(self) -> float:
        """The share of what was kept that is wanted."""
        return self.wanted / max(1, self.wanted + self.unwanted)


def truth() -> dict[str, dict[str, Any]]:
    """Of each page what it holds."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(
        (PAGES / "truth.yaml").read_text(encoding="utf-8")
    )
    return found


def html(name: str) -> bytes:
    """A saved page; two are too long to be saved."""
    if name == "long":
        return _long()
    if name == "busy-comments":
        page = (PAGES / "blog.html").read_text(encoding="utf-8")
        comment = page[page.index('<li class="comment">') : page.index('</ol><div id="respond')]
        return page.replace(comment, comment * 40).encode()
    return (PAGES / f"{name}.html").read_bytes()


def _long() -> bytes:
    entries = "".join(
        f"<h2>Entry {day} of the log</h2><p>Wind from the north, force {day % 9}. A ship of "
        f"{day * 37} tonnes passed to the west of us in the afternoon and answered our signal "
        f"after {day % 7 + 1} minutes. The lamp used {day % 5 + 3} litres of oil.</p>"
        for day in range(1, 501)
    )
    return (
        '<!doctype html><html lang="en"><head><title>The log of a lightship</title></head><body>'
        '<nav><a href="/charts">Charts and pilot books</a></nav><main><h1>The log of a lightship'
        f"</h1>{entries}</main><footer>Contact the harbour office</footer></body></html>"
    ).encode()


def score(text: str, page: dict[str, Any]) -> Score:
    """How much of ``page`` is in ``text``."""
    wanted, unwanted = page["wanted"], page["unwanted"]
    return Score(
        sum(is_in(text, each) for each in wanted),
        len(wanted),
        sum(is_in(text, each) for each in unwanted),
        len(unwanted),
    )


def is_in(text: str, words: object) -> bool:
    """Whether Markdown holds ``words``, however they are set; a line of code only as it is."""
    sought = str(words)
    return sought in text if sought.startswith("    ") else _plain(sought) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`|\\#>]", "", text).split())


def url_of(name: str) -> str:
    """The address at which a saved page was read."""
    return str(truth()[name]["head"]["url"]) or URL
