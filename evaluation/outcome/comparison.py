"""Several evaluations beside each other, the others compared with the first."""

import json
from collections.abc import Mapping
from typing import Any

from evaluation.agreement import flat, short
from evaluation.bootstrap import METHOD
from evaluation.figures import Figures
from evaluation.outcome import inference, tables
from evaluation.outcome.stored import StoredEvaluation, stories_of
from evaluation.outcome.tables import NONE, Table, listed
from evaluation.provenance import SERVED, hints_told
from evaluation.report import subject
from mcp_ghost.text import counted
from session.configuration_file import ConfigurationError

_OF_THE_MATRIX = {"name", "variants", "seeds", "episodes", "stories", "shard", "walkthroughs"}
"""What the tables show anyway."""
_LOGGED = {"model": "models_asked", SERVED: "models_served", "engine": "engines"}
"""What only the logs say, or say better."""


def check_comparable(
    evaluations: Mapping[str, StoredEvaluation],
    turns: int | None,
    *,
    across_protocols: bool = False,
) -> int:
    """Find the turn at which scores are compared; ``turns`` if it is one that all have played.

    Raises:
        ConfigurationError: They cannot be compared; the message says why.
    """
    first, *others = evaluations
    for other in others:
        one, two = (evaluations[name].agreed for name in (first, other))
        here, there = (
            {name: it["sha256"] for name, it in stories_of(agreed).items()} for agreed in (one, two)
        )
        if here != there:
            names = sorted(here.keys() | there.keys())
            differ = [name for name in names if name and here.get(name) != there.get(name)]
            which = f" ({listed(differ)})" if differ else ""
            raise ConfigurationError(
                f"{first} played {subject(one)}, and {other} played {subject(two)}: scores of "
                f"different stories cannot be compared{which}."
            )
        protocols = [it.get("protocol") for it in (one, two)]
        if protocols[0] != protocols[1] and not across_protocols:
            raise ConfigurationError(
                f"{first} was played by the protocol {_said(protocols[0])}, and {other} by "
                f"{_said(protocols[1])}, so more than the players differs. To compare them "
                "anyway, add --across-protocols."
            )
    played = {name: it.turns for name, it in evaluations.items()}
    least = min(played.values())
    if turns is None and len(set(played.values())) > 1:
        numbers = ", ".join(f"{count} in {name}" for name, count in played.items())
        raise ConfigurationError(
            f"The episodes have different numbers of turns: {numbers}. To compare the scores at a "
            f"turn that all could reach, add --turns {least}."
        )
    if turns is not None and turns > least:
        raise ConfigurationError(
            f"--turns {turns} is more than they all have: use {least} or fewer."
        )
    return least if turns is None else turns


def comparison_of(evaluations: Mapping[str, StoredEvaluation], turn: int) -> dict[str, Any]:
    """Compare the others with the first, ready for JSON."""
    first = next(iter(evaluations))
    provenance = {name: it.provenance() for name, it in evaluations.items()}
    variants = [
        _variant(evaluations, name, variant, turn)
        for name, played in evaluations.items()
        for variant in played.variants
    ]
    findings = inference.findings(variants, turn)
    if not any("difference" in it for it in variants):
        findings.append(f"No other evaluation has a variant of {first}, so nothing is paired.")
    findings += [
        f"{name}: {sentence}" for name, it in provenance.items() for sentence in hints_told(it)
    ]
    findings += [
        f"No score of {it['variant']} is known."
        for it in variants
        if not it["mean"][str(turn)]["score"]
    ]
    return {
        "evaluations": list(evaluations),
        "subject": subject(evaluations[first].agreed),
        "story": dict(evaluations[first].agreed.get("story") or {}),
        "turn": turn,
        "differing": _differing(evaluations, provenance),
        "findings": findings,
        "intervals": METHOD,
        "max_score": next((it.max_score for it in evaluations.values() if it.max_score), None),
        "variants": variants,
        "provenance": provenance,
    }


def tables_of(comparison: dict[str, Any]) -> list[Table]:
    """What differs, scores and their differences, the play they come from, and what it cost."""
    names, variants = comparison["evaluations"], comparison["variants"]
    rows = [
        [what, *(_said(value) for value in values.values())]
        for what, values in comparison["differing"].items()
    ]
    turn, most = comparison["turn"], comparison["max_score"]
    return [
        *([Table("What differs", ["", *names], rows)] if rows else []),
        *tables.means(variants, turn, most, names[0]),
        tables.play(variants),
        tables.cost(variants),
    ]


def markdown_of(comparison: dict[str, Any]) -> str:
    """Write a comparison as Markdown, to be pasted into a page."""
    names = comparison["evaluations"]
    head = (
        f"{comparison['subject']}: {', '.join(names[1:])} compared with "
        f"{names[0]}, after up to {counted(comparison['turn'], 'turn')}."
    )
    found = "\n".join(f"- {sentence}" for sentence in comparison["findings"])
    shown = "\n".join(table.markdown() for table in tables_of(comparison))
    return f"{head}\n\n{found}\n\n{shown}"


def _variant(
    evaluations: Mapping[str, StoredEvaluation], name: str, variant: str, turn: int
) -> Figures:
    def label(name: str, variant: str) -> str:
        return f"{name}: {variant}" if len(evaluations[name].variants) > 1 else name

    played, (first_name, first) = evaluations[name], next(iter(evaluations.items()))
    base = variant
    if len(played.variants) == len(first.variants) == 1:
        base = first.variants[0]  # there is no other to compare it with
    is_compared = base in first.variants and name != first_name
    with_what = (label(first_name, base), first.of(base)) if is_compared else None
    named = {"variant": label(name, variant), "evaluation": name, "of_evaluation": variant}
    return {**named, **inference.of_variant(played, variant, turn, with_what)}


def _differing(
    evaluations: Mapping[str, StoredEvaluation], provenance: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Name of a setting or fact -> evaluation -> its value, where not all have the same."""
    known = {name: flat(it.agreed) for name, it in evaluations.items()}
    for name, logged in provenance.items():
        known[name] |= {what: logged[key] for what, key in _LOGGED.items() if logged[key]}
    everything = sorted({what for it in known.values() for what in it} - _OF_THE_MATRIX)
    values = {what: {name: known[name].get(what) for name in known} for what in everything}
    first = next(iter(known))
    return {
        what: it for what, it in values.items() if any(value != it[first] for value in it.values())
    }


def _said(value: Any) -> str:  # noqa: ANN401  of every type that JSON has
    if value is None or value == []:
        return NONE
    if isinstance(value, str):
        return short(value)
    if isinstance(value, list):
        return ", ".join(_said(each) for each in value)
    if isinstance(value, dict) and "name" in value:
        return " ".join(_said(value[key]) for key in ("name", "sha256") if value.get(key))
    return json.dumps(value)
