"""What the scores of an evaluation say beyond the episodes that were played."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluation.bootstrap import CONFIDENCE, LEAST_SEEDS, Estimate
from evaluation.figures import Figures, checkpoints
from evaluation.outcome import samples
from evaluation.outcome.played import Played
from evaluation.outcome.samples import Sample
from evaluation.outcome.tables import HIGHER, LOWER, TOO_FEW, estimated, named, told
from mcp_ghost.text import counted

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
    sample = played.of(variant)
    first, now = (samples.numbered(sample, it) for it in (1, number))
    since = None if number == 1 else samples.difference(now, first, score)
    # What a hint led to is carried over like all that is learned.
    helpful = range(1, number + 1) if played.agreed["knowledge_carried_over"] else (number,)
    hinted = {key.seed for key, it in sample.items() if it.hints and key.number in helpful}
    return {
        "episodes": len(now),
        "hinted": len(hinted),
        "score": _figures(samples.mean(now, score)),
        "best_score": _figures(samples.mean(now, best)),
        "since_the_first": _difference(since),
    }


def findings(variants: Sequence[Figures], turn: int) -> list[str]:
    """In sentences: what the differences of the scores after ``turn`` say.

    Of the ``variants``, those that have a ``difference`` say in ``compared_with`` from which one.
    """
    names = {it["variant"]: named(it) for it in variants}
    known = [
        _Difference(named(it), names[it["compared_with"]], score)
        for it in variants
        if (score := it.get("difference", {}).get(str(turn), {}).get("score"))
    ]
    sentences = [*(_said(it, turn) for it in known if told(it.score) != TOO_FEW), *_too_few(known)]
    several = [it for it in known if it.score["low"] is not None]
    if len(several) > 1:
        sentences.append(
            f"Each of the {len(several)} intervals has a chance of about {1 - CONFIDENCE:.0%} of "
            "missing the true difference: even if nothing differs, about one interval in twenty "
            "excludes 0."
        )
    return sentences


class _Difference(NamedTuple):
    name: str
    base: str
    score: Figures


def _said(difference: _Difference, turn: int) -> str:
    name, base, score = difference
    by, word = estimated(score, signed=True), told(score)
    over = f"{_LEVEL}, {counted(score['seeds'], 'seed')}"
    if word in {HIGHER, LOWER}:
        return f"At turn {turn}, the score of {name} is {word} than that of {base}: {by} ({over})."
    if score["low"] is None:
        same = f"differs from {base} by {by}" if score["mean"] else f"scores the same as {base}"
        return (
            f"{name} {same} with every seed, so these seeds do not show how much others would "
            "differ."
        )
    needed = score["seeds_needed"]
    would = (
        f" If the true difference is as large as this one, about {needed:,} seeds would show it "
        "four times in five."
    )
    return (
        f"It is unclear whether {name} is better or worse than {base}: the difference is {by} "
        f"({over}).{would if needed else ''}"
    )


def _too_few(known: Sequence[_Difference]) -> Iterator[str]:
    for base in dict.fromkeys(it.base for it in known):
        few = [it for it in known if it.base == base and told(it.score) == TOO_FEW]
        if few:
            most = max(it.score["seeds"] for it in few)
            yield (
                f"{counted(most, 'seed').capitalize()} {'is' if most == 1 else 'are'} too few to "
                f"tell whether {_listed([it.name for it in few])} "
                f"{'is' if len(few) == 1 else 'are'} better or worse than {base}: an interval "
                f"needs at least {LEAST_SEEDS}."
            )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _figures(estimate: Estimate | None) -> Figures | None:
    return estimate.figures() if estimate else None


def _difference(estimate: Estimate | None) -> Figures | None:
    return {**estimate.figures(), "seeds_needed": estimate.seeds_needed()} if estimate else None
