r"""How often the grounding check is wrong, on sentences that somebody wrote without knowing it.

    uv run --group check python -m workshop.benchmarks.grounding sentences.tsv
    uv run --group check python -m workshop.benchmarks.grounding sentences.tsv \
        --check model --model openai/gpt-6-luna

Each line of the file has four fields with tabs between them: the file of a page (Markdown, beside
the list or in `pages/` there), a sentence of a script, `true` or `false`, and what kind of sentence
it is. Printed are the false sentences that pass, the true ones that do not, and the shares of both.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_ghost.cli.arguments import Parser
from mcp_ghost.providers.client import ProviderClient
from movie_generator.grounding.check import faults
from movie_generator.grounding.evidence import Evidence
from movie_generator.judge import judged
from movie_generator.llm import model_client
from movie_generator.models import Narration, ScriptSection, VideoScript
from movie_generator.pages.page import Page, heading


@dataclass(frozen=True)
class Sentence:
    """One line of the list."""

    page: str
    text: str
    is_true: bool
    kind: str


def listed(file: Path) -> Iterator[Sentence]:
    """Read the list."""
    for line in file.read_text("utf-8").splitlines():
        page, text, truth, kind = line.split("\t")
        yield Sentence(page, text, truth == "true", kind)


def read(file: Path) -> Page:
    """Read a page as the writer is given it."""
    text = file.read_text("utf-8")
    return Page(file.absolute().as_uri(), heading(text), "", text)


def script_of(texts: list[str]) -> VideoScript:
    """Make a script that says each of these."""
    narrations = [Narration(text=it, reading=it) for it in texts]
    section = ScriptSection(title="", narrations=narrations)
    return VideoScript(title="", description="", sections=[section])


def refused(page: Page, its: list[Sentence], client: ProviderClient | None) -> Iterator[str]:
    """Say of each sentence why it is refused; nothing where it is not.

    They are checked as one script, whose words tell its language; those in another one, alone.
    """
    evidence = Evidence(page.text, page.head)
    foreign = [it for it in its if it.kind == "cross-language"]
    found: dict[Sentence, list[str]] = {it: [] for it in its}
    for group in ([it for it in its if it not in foreign], *([it] for it in foreign)):
        script = script_of([it.text for it in group])
        wrong = [*faults(script, evidence)]
        wrong += asyncio.run(judged(client, script, page, evidence)) if client else []
        for fault in wrong:
            found[group[fault.narration]] += fault.reasons
    return (", ".join(reasons) for reasons in found.values())


def report(sentences: list[Sentence], reasons: list[str]) -> Iterator[str]:
    """List what the check got wrong, and how often it did."""
    wrong: Counter[tuple[bool, str]] = Counter()
    for sentence, reason in sorted(
        zip(sentences, reasons, strict=True), key=lambda it: (it[0].is_true, it[0].kind)
    ):
        if sentence.is_true == bool(reason):
            wrong[sentence.is_true, sentence.kind] += 1
            name = "false alarm" if sentence.is_true else "miss"
            about = f" ({reason})" if reason else ""
            yield f"{name:11}  {sentence.kind:9}  {sentence.page}: {sentence.text}{about}"
    for is_true, name in ((False, "misses"), (True, "false alarms")):
        kinds = Counter(it.kind for it in sentences if it.is_true == is_true)
        count = sum(wrong[is_true, kind] for kind in kinds)
        parts = ", ".join(f"{it} {wrong[is_true, it]} of {kinds[it]}" for it in sorted(kinds))
        yield f"{name}: {count} of {kinds.total()} ({count / max(1, kinds.total()):.1%}): {parts}"


def main() -> None:
    """Measure the check on one list."""
    parser = Parser(prog="python -m workshop.benchmarks.grounding", description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("--check", choices=("rules", "model"), default="rules")
    parser.add_argument("--model", help="its name at the provider")
    parser.add_argument("--base-url", help="where the model is asked")
    flags = parser.parse_args()
    of_page: dict[str, list[Sentence]] = defaultdict(list)
    for sentence in listed(flags.list):
        of_page[sentence.page].append(sentence)
    sentences: list[Sentence] = []
    reasons: list[str] = []
    for name, its in of_page.items():
        file = flags.list.parent / name
        page = read(file if file.exists() else file.parent / "pages" / name)
        with_model = flags.check == "model"
        client = model_client(None, flags.model, flags.base_url) if with_model else None
        sentences += its
        reasons += refused(page, its, client)
    print(*report(sentences, reasons), sep="\n")


if __name__ == "__main__":
    main()
