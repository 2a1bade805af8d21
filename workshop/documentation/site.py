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
            *("servers", "signing-in", "tools", "results", "streaming"),
            *("approval", "models", "goldens", "reference", "cookbook"),
        )
    },
    "packages/movie_generator/README.md": "movie_generator.md",
    "stories/README.md": "stories.md",
    "tests/README.md": "tests.md",
}
"""File outside docs/ -> its page."""
_LOOKS = {
    "viewer/static/icon.svg": "site/icon.svg",
    **{
        f"viewer/static/vendor/{font}.woff2": f"site/{font}.woff2"
        for font in ("literata-latin-wght-normal", "ibm-plex-mono-latin-400-normal")
    },
}
"""What the page of the viewer has, too."""
_settings: list[dict[str, str]] = []
"""Each setting, as the search's index has its entries."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401  mkdocs is not installed where types are checked
    """Add the pages that do not lie in docs/."""
    from mkdocs.structure.files import File

    for source, page in {**ELSEWHERE, **_LOOKS}.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Point each link between files at its page; what is not a page is named but not linked.

    Raises:
        FileNotFoundError: There is no such file.
    """
    sources = {page: source for source, page in ELSEWHERE.items()}
    here = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    if page.file.src_uri == "settings.md":
        markdown = _with_anchors(markdown)
    return _LINK.sub(lambda link: _moved(link, here), markdown)


def on_post_build(config: Any) -> None:  # noqa: ANN401
    """Let the search find each setting by its name, which is a row of a table and no heading."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))
    found["docs"] += _settings
    index.write_text(json.dumps(found), encoding="utf-8")


def _with_anchors(markdown: str) -> str:
    """Give each row of a setting a place that the search can lead to, and note it for that."""
    section, lines = "", []
    for line in markdown.splitlines():
        if heading := re.match(r"### `\[tool\.zorkgpt\.(\w+)\]`", line):
            section = heading[1]
        if row := re.match(r"\| `(\w+)` \|", line):
            place, text = f"{section}-{row[1]}", re.sub(r"[`|]", " ", line[row.end() :])
            entry = {"location": f"settings.html#{place}", "title": f"{row[1]} [{section}]"}
            _settings.append({**entry, "text": text})
            line = f'| <a id="{place}"></a>{line[2:]}'
        lines.append(line)
    return "\n".join(lines)


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
