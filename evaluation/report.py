"""The outcome of an evaluation: as JSON, as tables for people, and what was measured in words."""

import platform
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.agreement import short
from evaluation.bootstrap import CONFIDENCE, METHOD, OVER_GAMES
from evaluation.figures import EpisodeFigures, Figures, variant_figures
from evaluation.outcome import inference, tables
from evaluation.outcome.stored import StoredEvaluation
from evaluation.outcome.tables import NONE, Table
from evaluation.plan import TOOLS, Cell
from evaluation.provenance import said_of
from mcp_ghost.text import counted
from session.game_state import ENDINGS, EndReason

QUARTILES = "statistics.quantiles(n=4, method='inclusive') of Python's standard library"


def results_of(played: StoredEvaluation, jobs: int | None = None) -> dict[str, Any]:
    """Settings and figures, as they are written to ``results.json``."""
    episodes = played.episodes
    provenance = played.provenance()
    variants = [_variant(played, name) for name in played.variants]
    games = [_game(played, name, of) for name in played.games for of in played.variants]
    games = [it for it in games if it["game"] and it["episodes"]]
    return {
        "statement": statement(played, provenance),
        "findings": [
            *unfinished(played.episodes),
            *inference.findings(variants, played.turns),
            *inference.correlations(games),
        ],
        "date": max((figures.last_time for figures in episodes.values()), default=""),
        "versions": {
            "zorkgpt": provenance["versions"],
            "engine": provenance["engines"],
            "python": platform.python_version(),
        },
        "provenance": provenance,
        "settings": {**played.agreed, "jobs": jobs},
        "quartiles": QUARTILES,
        "intervals": OVER_GAMES if games else METHOD,
        "games": games,
        "achievements": {
            game: {"sha256": it.sha256, "names": [each.name for each in it.all]}
            for game, it in played.achievements.items()
        },
        "max_score": played.max_score,
        "variants": variants,
        "learning": inference.learning(played),
        "episodes": [
            {
                **({"game": key.game} if key.game else {}),
                "variant": key.variant,
                "seed": key.seed,
                "episode": key.number,
                **it.summary(),
            }
            for key, it in episodes.items()
        ],
    }


def _variant(played: StoredEvaluation, name: str) -> Figures:
    first = played.variants[0]
    starts = [it.start for it in played.of(name).values() if it.start]
    parts_off = {part for start in starts for part in start.parts_off}
    if played.agreed["tools"] and not all(start.mcp for start in starts):
        parts_off.add(TOOLS)
    base = (first, played.of(first)) if name != first else None
    measured = inference.of_variant(played, name, played.turns, base)
    return {"variant": name, "parts_off": sorted(parts_off), **measured}


def _game(played: StoredEvaluation, game: str, variant: str) -> Figures:
    of_game = {key: it for key, it in played.of(variant).items() if key.game == game}
    sample = {key._replace(game=""): it for key, it in of_game.items()}
    figures = inference.compared(of_game)
    return {
        "game": game,
        **played.games[game],
        "variant": variant,
        "max_score": played.most_of(game),
        **variant_figures(list(sample.values()), played.turns),
        "mean": {
            name: inference.mean_figures(sample, figure, played.turns)
            for name, figure in figures.items()
        },
    }


def unfinished(episodes: Mapping[Cell, EpisodeFigures]) -> Iterator[str]:
    """Name what did not come to an end, and what fell silent: no figure hides them."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for key, it in episodes.items():
        if it.end_reason in _SILENT or not it.finished:
            ends[it.end_reason or ("interrupted" if it.start else "not played")].append(
                str(key).replace(",", "")
            )
    for reason, names in ends.items():
        how = ENDINGS.get(reason, reason)
        yield f"{how} in {counted(len(names), 'episode')}: {tables.listed(names)}."


_SILENT = (EndReason.STALLED, EndReason.ENGINE_REFUSED)
_SEEDS = {
    "dice": "A seed fixes the game's dice; it does not make a sampling model repeatable.",
    "player": "Seeds are those of the model or the player; all games have the same dice.",
}


def statement(played: StoredEvaluation, provenance: dict[str, Any]) -> str:
    """What was measured, in sentences that belong beside the tables."""
    agreed = played.agreed
    endpoint = agreed["endpoint"]
    seeds = ", ".join(map(str, agreed["seeds"]))
    knowledge = (
        "Knowledge was carried over: the episodes of one variant and seed ran one after another; "
        "the first began with nothing learned, and each later one with what came before it."
        if agreed["knowledge_carried_over"]
        else "Knowledge was not carried over: each episode began with nothing learned."
    )
    where = "on" if endpoint == "this machine" else "at"
    models, begun = provenance["models_asked"], provenance["players"]
    model = ", ".join(models) or ("" if begun or agreed["model"] == "none" else agreed["model"])
    served = ", ".join(provenance["models_served"])
    if served and served != model:  # what played is what counts
        model = f"{served} (asked for as {model})"
    ours = " of ours" if agreed.get("guests") else ""
    by = f"with {model} {where} {endpoint}" if model else f"without a model{ours}"
    protocol = agreed.get("protocol") or {}
    named = f"Protocol {protocol['name']} (SHA-256 {protocol['sha256'][:12]}). " if protocol else ""
    unknown = sum(None in it.curve for it in played.episodes.values())
    warning = (
        f" THE SCORE IS UNKNOWN in {counted(unknown, 'episode')}, "
        "which no figure about scores includes."
    )
    told = agreed.get("hints")
    hints = f"HINTS WERE GIVEN BEFOREHAND, for {tables.listed(list(told))}. " if told else ""
    return (
        f"{named}{hints}{subject(agreed)}, played {by}, "
        f"up to {counted(played.turns, 'turn')} per episode, "
        f"{counted(agreed['episodes'], 'episode')} per variant and seed (seeds: {seeds}). "
        f"{knowledge} MCP tools were {'on' if agreed['tools'] else 'off'}. "
        f"{said_of(provenance)} "
        f"{_SEEDS[protocol.get('seeds_are', 'dice')]} "
        "An episode that ended early, or failed, counts with the score that it had reached. "
        "Medians have quartiles in brackets if they differ. Means are taken over "
        f"{'games, and over the seeds of each' if agreed.get('stories') else 'seeds'}, each "
        f"counting once, with {CONFIDENCE:.0%} bootstrap intervals in brackets if there are enough."
        f"{warning if unknown else ''}"
    )


def subject(agreed: Mapping[str, Any]) -> str:
    """What was played, with its hash."""
    if suite := agreed.get("suite"):
        games, shard = counted(len(agreed["stories"]), "game"), agreed.get("shard")
        part = " (shard {}/{})".format(*shard) if shard else ""
        return f"{games} of the suite {suite['name']} (SHA-256 {suite['sha256'][:12]}){part}"
    return f"{agreed['story']['title']} (SHA-256 {agreed['story']['sha256'][:12]})"


def tables_of(results: dict[str, Any], turns: int) -> list[Table]:
    """Scores, the play they come from, and what it cost."""
    variants: list[Figures] = results["variants"]
    most = results.get("max_score")
    than = variants[0]["variant"] if len(variants) > 1 else ""
    games = results.get("games")
    first = tables.games(games, variants, turns) if games else tables.scores(variants, turns)
    shown = [first, *tables.means(variants, turns, most, than)]
    shown += [tables.learning(results["learning"], most)] if results.get("learning") else []
    return [*shown, tables.play(variants), tables.cost(variants, seconds=not games)]


def markdown_of(results: dict[str, Any], turns: int) -> str:
    """Statement and tables, to be pasted into a page."""
    shown = "\n".join(table.markdown() for table in tables_of(results, turns))
    versions = results["versions"]
    program = ", ".join(versions["zorkgpt"]) or NONE
    engine = ", ".join(versions["engine"]) or NONE
    code = ", ".join(map(short, results["provenance"]["code"])) or NONE
    prompts = "; ".join(
        f"{name} {', '.join(map(short, digests))}"
        for name, digests in results["provenance"]["prompts"].items()
    )
    made = (
        f"ZorkGPT {program} (code {code}), engine {engine}, prompts {prompts or NONE}, "
        f"last turn on {results['date'][:10] or NONE}."
    )
    found = "".join(f"- {sentence}\n" for sentence in results["findings"])
    return "\n\n".join(filter(None, [f"{results['statement']} {made}", found.rstrip(), shown]))
