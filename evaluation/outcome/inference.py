"""What the scores of an evaluation say beyond the episodes that were played.

Episodes of one seed count as one. One that failed counts as far as it was played; beside each
mean there is that of the episodes that were played to their end.
"""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from evaluation.bootstrap import CONFIDENCE, LEAST_SEEDS, Estimate
from evaluation.figures import EpisodeFigures, Figures, checkpoints, variant_figures
from evaluation.outcome.stored import StoredEvaluation
from evaluation.outcome.tables import HIGHER, LOWER, TOO_FEW, estimated, listed, named, verdict
from evaluation.plan import Cell
from mcp_ghost.text import counted

Sample: TypeAlias = Mapping[Cell, EpisodeFigures]
Figure: TypeAlias = Callable[[EpisodeFigures, int], float | None]
"""Reads one figure of an episode after a turn; None where it is not known."""
_COMPARED: dict[str, Figure] = {
    "score": EpisodeFigures.score_at,
    "best_score": EpisodeFigures.best_at,
    "progress": EpisodeFigures.progress_at,
}
_OVER_GAMES: dict[str, Figure] = {
    "score": EpisodeFigures.percent_at,
    "best_score": EpisodeFigures.best_percent_at,
    "progress": EpisodeFigures.progress_at,
}
_LEVEL = f"{CONFIDENCE:.0%} interval"


def mean(sample: Sample, figure: Figure, turn: int, base: Sample | None = None) -> Estimate | None:
    """Estimate a figure's mean over the seeds, or over the games of a suite and their seeds.

    With ``base``, that of how much higher it is than there, for equal seeds and episodes.
    """
    known = _known(sample, figure, turn)
    if base is not None:
        before = {key[1:]: value for key, value in _known(base, figure, turn).items()}
        known = {key: it - before[key[1:]] for key, it in known.items() if key[1:] in before}
    if any(key.game for key in known):
        return Estimate.over_games((key.game, key.seed, value) for key, value in known.items())
    return Estimate.over_seeds((key.seed, value) for key, value in known.items())


def mean_figures(
    sample: Sample, figure: Figure, turn: int, base: Sample | None = None
) -> Figures | None:
    """Return the ``mean`` ready for JSON; of a difference, with how many seeds would show it."""
    estimate = mean(sample, figure, turn, base)
    if estimate is None:
        return None
    needed = {} if base is None else {"seeds_needed": estimate.seeds_needed()}
    return {**estimate.figures(), **needed}


def finished(sample: Sample) -> Sample:
    """Leave out what was not played to its end."""
    return {key: it for key, it in sample.items() if it.finished}


def _known(sample: Sample, figure: Figure, turn: int) -> dict[Cell, float]:
    found = {key: figure(it, turn) for key, it in sample.items()}
    return {key: value for key, value in found.items() if value is not None}


def compared(sample: Sample) -> Mapping[str, Figure]:
    """Name -> how it is read, of the figures that are compared."""
    return _OVER_GAMES if any(key.game for key in sample) else _COMPARED


def of_variant(
    played: StoredEvaluation, variant: str, turn: int, base: tuple[str, Sample] | None
) -> Figures:
    """What a variant achieved up to ``turn``, and how much more than the named sample ``base``."""
    sample = played.of(variant)
    figures = {
        **variant_figures(list(sample.values()), turn),
        "mean": means(sample, turn),
        "mean_finished": means(finished(sample), turn),
    }
    if played.agreed.get("stories"):
        figures["games"] = len({key.game for key in sample})
    if base:
        figures |= {"compared_with": base[0], "difference": means(sample, turn, base[1])}
    return figures


def means(sample: Sample, turns: int, base: Sample | None = None) -> Figures:
    """Turn -> mean score, of the highest score so far, and progress, or how much above ``base``."""
    return {
        str(turn): {
            name: found
            for name, figure in compared(sample).items()
            if (found := mean_figures(sample, figure, turn, base)) or name != "progress"
        }
        for turn in checkpoints(turns)
    }


def learning(played: StoredEvaluation) -> list[Figures]:
    """Each variant's scores by the number of the episode; empty where there is one of each seed."""
    numbers, turns = range(1, int(played.agreed["episodes"]) + 1), played.turns
    points = []
    for variant, number in itertools.product(played.variants, numbers if len(numbers) > 1 else ()):
        sample = played.of(variant)
        first, now = (
            {key._replace(number=1): it for key, it in sample.items() if key.number == wanted}
            for wanted in (1, number)
        )
        figures = compared(sample)
        since = None if number == 1 else mean_figures(now, figures["score"], turns, first)
        # What a hint led to is carried over like all that is learned.
        helpful = range(1, number + 1) if played.agreed["knowledge_carried_over"] else (number,)
        hinted = {key.seed for key, it in sample.items() if it.hints and key.number in helpful}
        points.append(
            {
                "variant": variant,
                "episode": number,
                "episodes": len(now),
                "hinted": len(hinted),
                **{name: mean_figures(now, figure, turns) for name, figure in figures.items()},
                "since_the_first": since,
            }
        )
    return points


def findings(variants: Sequence[Figures], turn: int) -> list[str]:
    """In sentences: what the differences of the scores after ``turn`` say.

    Of the ``variants``, those that have a ``difference`` say in ``compared_with`` from which one.
    """
    names = {it["variant"]: named(it) for it in variants}
    known = [
        (named(it), names[it["compared_with"]], score)
        for it in variants
        if (score := it.get("difference", {}).get(str(turn), {}).get("score"))
    ]
    sentences = [_sentence(*it, turn) for it in known if verdict(it[-1]) not in TOO_FEW]
    for base in dict.fromkeys(base for _, base, _ in known):
        few = [(name, it) for name, of, it in known if of == base and verdict(it) in TOO_FEW]
        if few:
            units = "game" if "games" in few[0][1] else "seed"
            most = max(_size(it) for _, it in few)
            sentences.append(
                f"{counted(most, units).capitalize()} {'is' if most == 1 else 'are'} too few to "
                f"tell whether {listed([name for name, _ in few])} "
                f"{'is' if len(few) == 1 else 'are'} better or worse than {base}: an interval "
                f"needs at least {LEAST_SEEDS}."
            )
    several = [it for _, _, it in known if it["low"] is not None]
    if len(several) > 1:
        sentences.append(
            f"Each of the {len(several)} intervals has a chance of about {1 - CONFIDENCE:.0%} of "
            "missing the true difference: even if nothing differs, about one interval in twenty "
            "excludes 0."
        )
    return sentences


def correlations(games: Sequence[Figures]) -> Iterator[str]:
    """Say how score and progress go together over the games of a suite."""
    by_variant: dict[str, list[tuple[float, float]]] = {}
    for it in games:
        score, progress = it["mean"]["best_score"], it["mean"]["progress"]
        if score and progress:
            by_variant.setdefault(it["variant"], []).append((score["mean"], progress["mean"]))
    for variant, pairs in by_variant.items():
        scores, progresses = zip(*pairs, strict=True)
        if len(pairs) >= LEAST_SEEDS and len(set(scores)) > 1 and len(set(progresses)) > 1:
            rank = statistics.correlation(_ranks(scores), _ranks(progresses))
            yield (
                f"{variant}: over {len(pairs)} games, the maximum so far and progress have a rank "
                f"correlation (Spearman) of {rank:.2f}."
            )


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank each value, equal ones by the mean of their places."""
    places: defaultdict[float, list[int]] = defaultdict(list)
    for place, value in enumerate(sorted(values)):
        places[value].append(place)
    return [statistics.fmean(places[value]) for value in values]


def _size(score: Figures) -> int:
    """Of how many games, or seeds, a figure is the mean."""
    return int(score["games"] if "games" in score else score["seeds"])


def _sentence(name: str, base: str, score: Figures, turn: int) -> str:
    by, word = estimated(score, signed=True), verdict(score)
    units = "game" if "games" in score else "seed"
    over = f"{_LEVEL}, {counted(_size(score), units)}"
    if word in {HIGHER, LOWER}:
        return f"At turn {turn}, the score of {name} is {word} than that of {base}: {by} ({over})."
    if score["low"] is None:
        same = f"differs from {base} by {by}" if score["mean"] else f"scores the same as {base}"
        return (
            f"{name} {same} with every {units}, so these {units}s do not show how much others "
            "would differ."
        )
    needed = score["seeds_needed"]
    would = (
        f" If the true difference is as large as this one, about {needed:,} {units}s would show "
        "it four times in five."
    )
    return (
        f"It is unclear whether {name} is better or worse than {base}: the difference is {by} "
        f"({over}).{would if needed else ''}"
    )
