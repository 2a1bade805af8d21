r"""How well pages of other people's corpora are read, which are fetched by hand.

    git clone https://github.com/scrapinghub/article-extraction-benchmark
    git clone https://github.com/adbar/trafilatura
    git clone https://github.com/mozilla/readability
    uv run --group check python -m workshop.benchmarks.page_corpora \
        --scrapinghub article-extraction-benchmark \
        --trafilatura trafilatura --mozilla readability

For each corpus there is a line for our reader and one for trafilatura by itself, as Markdown with
images. The first corpus is measured as its own `evaluate.py` measures, without what Markdown adds;
of the second, the phrases of its `evaldata.json` are sought, and authors and dates compared; of the
third, words are counted.
"""

import gzip
import json
import re
import runpy
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TypeAlias

from lxml.html import document_fromstring
from trafilatura import bare_extraction

from mcp_ghost.cli.arguments import Parser
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page

_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)")
Read: TypeAlias = Callable[[bytes, str], Page]


def by_trafilatura(html: bytes, url: str) -> Page:
    """Read a page as trafilatura does by itself."""
    found = bare_extraction(
        html,
        url=url,
        include_comments=False,
        include_formatting=True,
        include_images=True,
        with_metadata=True,
    )
    said = {name: getattr(found, name, None) or "" for name in ("title", "author", "date")}
    text = getattr(found, "text", None) or ""
    return Page(url, said["title"], "", text, author=said["author"], date=said["date"])


def words(text: str) -> str:
    """A text without what Markdown adds to it."""
    return re.sub(r"[*_`|\\#>]", "", _IMAGE.sub("", text))


def scrapinghub(folder: Path, read: Read) -> Iterator[str]:
    """F1, precision and recall as the corpus has them."""
    theirs = runpy.run_path(str(folder / "evaluate.py"))
    counts = []
    for name, true in json.loads((folder / "ground-truth.json").read_text("utf-8")).items():
        html = gzip.decompress((folder / f"html/{name}.html.gz").read_bytes())
        text = words(read(html, true.get("url") or "https://page.example/page").text)
        counts.append(theirs["string_shingle_matching"](true=true["articleBody"], pred=text))
    for name, value in theirs["metrics_from_tp_fp_fns"](counts).items():
        yield f"{name} {value:.3f}"


def trafilatura(folder: Path, read: Read) -> Iterator[str]:
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


def mozilla(folder: Path, read: Read) -> Iterator[str]:
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
    corpora: dict[str, Callable[[Path, Read], Iterator[str]]] = {
        "scrapinghub": scrapinghub,
        "trafilatura": trafilatura,
        "mozilla": mozilla,
    }
    for name in corpora:
        parser.add_argument(f"--{name}", type=Path, help="its folder")
    folders = vars(parser.parse_args())
    readers: dict[str, Read] = {"ours": page_from_html, "trafilatura": by_trafilatura}
    for name, measure in corpora.items():
        for reader, read in readers.items() if folders[name] else ():
            seconds: list[float] = []
            said = ", ".join(measure(folders[name], partial(timed, read, seconds)))
            print(f"{name:12} {reader:12} {said}", end="")
            print(f", {mean(seconds):.3f} s a page, {max(seconds):.1f} s at most", flush=True)


def timed(read: Read, seconds: list[float], html: bytes, url: str) -> Page:
    """Read a page, and keep the time of the processor that it took."""
    begun = time.process_time()
    page = read(html, url)
    seconds.append(time.process_time() - begun)
    return page


if __name__ == "__main__":
    main()
