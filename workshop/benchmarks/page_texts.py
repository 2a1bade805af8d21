"""How well the text of a page is found: ours beside other people's, on saved pages.

    uv run --group check python -m workshop.benchmarks.page_texts

Of each page of `tests/data/pages`, `truth.yaml` lists what a reader came for and what surrounds
it. A cell shows how much of the first was kept, and how much of the second.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from trafilatura import extract, html2txt

from mcp_ghost.cli.arguments import Parser
from movie_generator.pages.markup import page_from_html

PAGES = Path(__file__).parents[2] / "tests/data/pages"
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

    def __str__(self) -> str:
        return f"{self.wanted}/{self.of_wanted} {self.unwanted}/{self.of_unwanted}"

    @property
    def recall(self) -> float:
        """The share of what is wanted that was kept."""
        return self.wanted / self.of_wanted

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


def ours(page: bytes) -> str:
    """What the movie generator reads."""
    return page_from_html(page, URL).text


def trafilatura(page: bytes) -> str:
    """Trafilatura by itself."""
    text = extract(page, output_format="markdown", include_comments=False, include_images=True)
    return text or ""


def everything(page: bytes) -> str:
    """All that is in the page's body."""
    return html2txt(page, clean=False)


def main() -> None:
    """Print the table."""
    columns = {"everything": everything, "trafilatura": trafilatura, "ours": ours}
    totals = dict.fromkeys(columns, Score(0, 0, 0, 0))
    print(f"{'':16}" + "".join(f"{name:14}" for name in columns))
    for name, page in truth().items():
        scores = {column: score(read(html(name)), page) for column, read in columns.items()}
        print(f"{name:16}" + "".join(f"{each!s:14}" for each in scores.values()))
        totals = {column: totals[column] + each for column, each in scores.items()}
    for label in ("recall", "precision"):
        print(f"{label:16}" + "".join(f"{getattr(it, label):<14.3f}" for it in totals.values()))


if __name__ == "__main__":
    Parser(prog="python -m workshop.benchmarks.page_texts", description=__doc__).parse_args()
    main()
