"""What the scores of an evaluation say beyond the episodes that were played.

Only episodes that were played to their end count; those of one seed count as one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from evaluation.bootstrap import CONFIDENCE, LEAST_SEEDS, Estimate
from evaluation.figures import EpisodeFigures, Figures, checkpoints
from evaluation.outcome.stored import StoredEvaluation
from evaluation.outcome.tables import HIGHER, LOWER, TOO_FEW, estimated, named, verdict
from evaluation.plan import Key
from mcp_ghost.text import counted

Sample: TypeAlias = Mapping[Key, EpisodeFigures]
Figure: TypeAlias = Callable[[EpisodeFigures, int], float | None]
"""Reads one figure of an episode after a turn; None where it is not known."""
_COMPARED: dict[str, Figure] = {
    "score": EpisodeFigures.score_at,
    "best_score": EpisodeFigures.best_at,
}
_LEVEL = f"{CONFIDENCE:.0%} interval"


def mean(sample: Sample, figure: Figure, turn: int) -> Estimate | None:
    """Estimate a figure's mean over the seeds."""
    known = _known(sample, figure, turn)
    return Estimate.over_seeds((key.seed, value) for key, value in known.items())


def difference(sample: Sample, base: Sample, figure: Figure, turn: int) -> Estimate | None:
    """Estimate by how much a figure is higher than in ``base``, for equal seeds and episodes."""
    before = {key[1:]: value for key, value in _known(base, figure, turn).items()}
    return Estimate.over_seeds(
        (key.seed, value - before[key[1:]])
        for key, value in _known(sample, figure, turn).items()
        if key[1:] in before
    )


def _known(sample: Sample, figure: Figure, turn: int) -> dict[Key, float]:
    found = {key: figure(it, turn) for key, it in sample.items() if it.finished}
    return {key: value for key, value in found.items() if value is not None}


def means(sample: Sample, turns: int) -> Figures:
    """Turn -> mean score and mean of the highest score so far."""
    return {
        str(turn): {
            name: _figures(mean(sample, figure, turn)) for name, figure in _COMPARED.items()
        }
        for turn in checkpoints(turns)
    }


def differences(sample: Sample, base: Sample, turns: int) -> Figures:
    """Turn -> by how much both are higher than in ``base``."""
    return {
        str(turn): {
            name: _difference(difference(sample, base, figure, turn))
            for name, figure in _COMPARED.items()
        }
        for turn in checkpoints(turns)
    }


def learning(played: StoredEvaluation) -> list[Figures]:
    """Each variant's scores by the number of the episode; empty where there is one of each seed."""
    numbers = range(1, int(played.agreed["episodes"]) + 1)
    return [
        {"variant": variant, "episode": number, **_learned(played, variant, number)}
        for variant in played.variants
        for number in numbers
        if len(numbers) > 1
    ]


def _learned(played: StoredEvaluation, variant: str, number: int) -> Figures:
    sample, turns = played.of(variant), played.turns
    first, now = (
        {key._replace(number=1): it for key, it in sample.items() if key.number == wanted}
        for wanted in (1, number)
    )
    since = None if number == 1 else difference(now, first, EpisodeFigures.score_at, turns)
    # What a hint led to is carried over like all that is learned.
    helpful = range(1, number + 1) if played.agreed["knowledge_carried_over"] else (number,)
    hinted = {key.seed for key, it in sample.items() if it.hints and key.number in helpful}
    return {
        "episodes": len(now),
        "hinted": len(hinted),
        **{name: _figures(mean(now, figure, turns)) for name, figure in _COMPARED.items()},
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
    sentences = [
        *(_sentence(it, turn) for it in known if verdict(it.score) != TOO_FEW),
        *_too_few(known),
    ]
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


def _sentence(difference: _Difference, turn: int) -> str:
    name, base, score = difference
    by, word = estimated(score, signed=True), verdict(score)
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
        few = [it for it in known if it.base == base and verdict(it.score) == TOO_FEW]
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
