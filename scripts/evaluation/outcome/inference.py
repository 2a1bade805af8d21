"""What the scores of an evaluation say beyond the episodes that were played."""

from collections.abc import Iterator, Mapping, Sequence

from mcp_ghost.text import counted
from scripts.evaluation.figures import Figures, checkpoints
from scripts.evaluation.outcome import samples
from scripts.evaluation.outcome.bootstrap import CONFIDENCE, LEAST_SEEDS, Estimate
from scripts.evaluation.outcome.played import Played
from scripts.evaluation.outcome.samples import Sample
from scripts.evaluation.outcome.tables import estimated, number, told

_LEVEL = f"{CONFIDENCE:.0%} interval"


def means(sample: Sample, turns: int) -> Figures:
    """Turn -> mean score and mean of the highest score so far."""
    return {
        str(turn): {
            "score": _figures(samples.mean(sample, samples.score_at(turn))),
            "best_score": _figures(samples.mean(sample, samples.best_at(turn))),
        }
        for turn in checkpoints(turns)
    }


def differences(sample: Sample, base: Sample, turns: int) -> Figures:
    """Turn -> by how much both are higher than in ``base``, for equal seeds and episodes."""
    return {
        str(turn): {
            "score": _difference(samples.difference(sample, base, samples.score_at(turn))),
            "best_score": _difference(samples.difference(sample, base, samples.best_at(turn))),
        }
        for turn in checkpoints(turns)
    }


def learning(played: Played) -> list[Figures]:
    """Each variant's scores by the number of the episode; empty where there is one of each seed."""
    numbers = range(1, int(played.agreed["episodes"]) + 1)
    return [
        {"variant": variant, "episode": number, **_learned(played, variant, number)}
        for variant in played.variants
        for number in numbers
        if len(numbers) > 1
    ]


def _learned(played: Played, variant: str, number: int) -> Figures:
    score, best = samples.score_at(played.turns), samples.best_at(played.turns)
    first, now = (samples.numbered(played.of(variant), it) for it in (1, number))
    since = None if number == 1 else samples.difference(now, first, score)
    return {
        "score": _figures(samples.mean(now, score)),
        "best_score": _figures(samples.mean(now, best)),
        "since_the_first": _difference(since),
    }


def findings(differences: Mapping[str, Figures | None], base: str, turn: int) -> list[str]:
    """In sentences: what the differences of the final scores from ``base`` say, by name."""
    known = {name: it for name, it in differences.items() if it}
    sentences = [*_of_differences(known, base, turn)]
    several = [it for it in known.values() if it["low"] is not None]
    if len(several) > 1:
        sentences.append(
            f"Each of the {len(several)} intervals misses the true difference with a probability "
            f"of about {1 - CONFIDENCE:.0%}, so that one in twenty leaves out 0 by chance alone."
        )
    return sentences


def _of_differences(known: Mapping[str, Figures], base: str, turn: int) -> Iterator[str]:
    by_told: dict[str, list[str]] = {}
    for name, it in known.items():
        by_told.setdefault(told(it), []).append(name)
    for word in ("higher", "lower"):
        for name in by_told.get(word, []):
            yield (
                f"At turn {turn}, the score of {name} is {word} than that of {base}: "
                f"{estimated(known[name], signed=True)} points ({_LEVEL}, "
                f"{counted(known[name]['seeds'], 'seed')})."
            )
    for name in by_told.get("cannot be told", []):
        yield _not_told(name, known[name], base)
    for name in (*by_told.get("the same with each seed", []), *by_told.get("equal", [])):
        yield (
            f"The score of {name} differs from that of {base} by {number(known[name]['mean'])} "
            "with each seed: how far others would differ, these seeds cannot tell."
        )
    if few := by_told.get("too few seeds"):
        most = max(known[name]["seeds"] for name in few)
        yield (
            f"{counted(most, 'seed').capitalize()} cannot tell whether {_listed(few)} "
            f"{'is' if len(few) == 1 else 'are'} better or worse than {base}: "
            f"an interval takes at least {LEAST_SEEDS}."
        )


def _not_told(name: str, difference: Figures, base: str) -> str:
    needed = difference["seeds_needed"]
    would = (
        f" If the true difference is the one found, about {needed:,} seeds would show it."
        if needed
        else ""
    )
    return (
        f"Whether {name} is better or worse than {base} cannot be told: the difference is "
        f"{estimated(difference, signed=True)} points ({_LEVEL}, "
        f"{counted(difference['seeds'], 'seed')}).{would}"
    )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _figures(estimate: Estimate | None) -> Figures | None:
    return estimate.figures() if estimate else None


def _difference(estimate: Estimate | None) -> Figures | None:
    return {**estimate.figures(), "seeds_needed": estimate.seeds_needed()} if estimate else None
