"""What mkdocs needs to make a site of pages that lie where people look for them on a disk.

A README stays in the folder that it describes, and every link is one between files, so that it
works in an editor and on a page of the repository. Here each such file gets its place in the site.
"""

import json
import os.path
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
    "packages/mcp_ghost/README.md": "mcp_ghost.md",
    **{
        f"packages/mcp_ghost/docs/{name}.md": f"mcp_ghost-{name}.md"
        for name in (
            *("servers", "tools", "results", "streaming"),
            *("approval", "models", "goldens", "reference", "cookbook"),
        )
    },
    "packages/movie_generator/README.md": "movie_generator.md",
    "stories/README.md": "stories.md",
    "tests/README.md": "tests.md",
}
"""File outside docs/ -> its page."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401  mkdocs is not installed where types are checked
    """Add the pages that do not lie in docs/."""
    from mkdocs.structure.files import File

    for source, page in ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Point each link between files at its page; what is not a page is named but not linked.

    Raises:
        FileNotFoundError: There is no such file.
    """
    sources = {page: source for source, page in ELSEWHERE.items()}
    here = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return _LINK.sub(lambda link: _moved(link, here), markdown)


def on_post_build(config: Any) -> None:  # noqa: ANN401
    """Let the search find each setting by its name, which is a row of a table and no heading."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))
    section = ""
    for line in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            section = re.sub(r"[^\w -]", "", line[4:].lower()).strip().replace(" ", "-")
        elif row := re.fullmatch(r"\| `(\w+)` \|(.+)\|", line):
            place = {"location": f"settings.html#{section}", "title": row[1]}
            found["docs"].append({**place, "text": row[2].replace("|", " ")})
    index.write_text(json.dumps(found), encoding="utf-8")


def _moved(link: re.Match[str], here: str) -> str:
    image, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if not target:
        return link[0]
    source = os.path.normpath(posixpath.join(posixpath.dirname(here), target))
    if not (ROOT / source).exists():
        raise FileNotFoundError(f"{here} links to {target}, which does not exist")
    if source not in ELSEWHERE and not source.startswith("docs/"):
        return text
    moved, page = (ELSEWHERE.get(it, it.removeprefix("docs/")) for it in (source, here))
    return f"{image}[{text}]({posixpath.relpath(moved, posixpath.dirname(page) or '.')}{anchor})"
