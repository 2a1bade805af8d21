r"""How well pages of other people's corpora are read, which are fetched by hand.

    git clone https://github.com/scrapinghub/article-extraction-benchmark
    git clone https://github.com/adbar/trafilatura
    git clone https://github.com/mozilla/readability
    uv run --group check python -m workshop.benchmarks.page_corpora \
        --scrapinghub article-extraction-benchmark \
        --trafilatura trafilatura --mozilla readability

The first is measured as its own `evaluate.py` measures, without what Markdown adds; of the second,
the phrases of its `evaldata.json` are sought, and authors and dates compared; of the third, words
are counted.
"""

import gzip
import json
import re
import runpy
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean

from lxml.html import document_fromstring

from mcp_ghost.cli.arguments import Parser
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page

_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)")
_seconds: list[float] = []


def read(html: bytes, url: str) -> Page:
    """Read a page, and keep the time that it took."""
    begun = time.process_time()
    page = page_from_html(html, url)
    _seconds.append(time.process_time() - begun)
    return page


def words(text: str) -> str:
    """A text without what Markdown adds to it."""
    return re.sub(r"[*_`|\\#>]", "", _IMAGE.sub("", text))


def scrapinghub(folder: Path) -> Iterator[str]:
    """F1, precision and recall as the corpus has them."""
    theirs = runpy.run_path(str(folder / "evaluate.py"))
    counts = []
    for name, true in json.loads((folder / "ground-truth.json").read_text("utf-8")).items():
        html = gzip.decompress((folder / f"html/{name}.html.gz").read_bytes())
        text = words(read(html, true.get("url") or "https://page.example/page").text)
        counts.append(theirs["string_shingle_matching"](true=true["articleBody"], pred=text))
    for name, value in theirs["metrics_from_tp_fp_fns"](counts).items():
        yield f"{name} {value:.3f}"


def trafilatura(folder: Path) -> Iterator[str]:
    """Shares of wanted and unwanted phrases, and of authors and dates that are right."""
    shares: dict[str, list[bool]] = {
        name: [] for name in ("wanted", "unwanted", "author", "date", "title", "empty")
    }
    for url, true in json.loads((folder / "tests/evaldata.json").read_text("utf-8")).items():
        found = [it for it in ("cache", "eval") if (folder / f"tests/{it}/{true['file']}").exists()]
        if not found:
            continue
        page = read((folder / f"tests/{found[0]}/{true['file']}").read_bytes(), url)
        text = _plain(words(page.text))
        shares["wanted"] += [_plain(words(it)) in text for it in true["with"]]
        shares["unwanted"] += [_plain(words(it)) in text for it in true["without"]]
        shares["empty"].append(not text)
        for name in ("author", "date", "title"):
            if true.get(name):
                said, expected = _plain(getattr(page, name)), _plain(str(true[name]))
                shares[name].append(said == expected or (name == "author" and expected in said))
    for name, right in shares.items():
        yield f"{name} {mean(right):.3f} of {len(right)}"


def mozilla(folder: Path) -> Iterator[str]:
    """The mean F1 of the words of each page, and the pages of which nothing was read."""
    scores = []
    empty = 0
    for case in sorted((folder / "test/test-pages").iterdir()):
        expected = document_fromstring((case / "expected.html").read_text("utf-8"))
        true = Counter(re.findall(r"\w+", expected.text_content()))
        page = read((case / "source.html").read_bytes(), "http://fakehost/test/page.html")
        got = Counter(re.findall(r"\w+", words(page.text)))
        scores.append(2 * (true & got).total() / max(1, true.total() + got.total()))
        empty += not page.text
    yield f"F1 {mean(scores):.3f}"
    yield f"empty {empty}"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def main() -> None:
    """Print a line for each corpus."""
    parser = Parser(prog="python -m workshop.benchmarks.page_corpora", description=__doc__)
    corpora: dict[str, Callable[[Path], Iterator[str]]] = {
        "scrapinghub": scrapinghub,
        "trafilatura": trafilatura,
        "mozilla": mozilla,
    }
    for name in corpora:
        parser.add_argument(f"--{name}", type=Path, help="its folder")
    folders = vars(parser.parse_args())
    for name, measure in corpora.items():
        if folders[name] is not None:
            _seconds.clear()
            print(f"{name:12} {', '.join(measure(folders[name]))}", end="")
            print(f", {mean(_seconds):.3f} s a page, {max(_seconds):.1f} s at most")


if __name__ == "__main__":
    main()
