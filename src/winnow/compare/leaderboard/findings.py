"""What explains the ranking, in sentences made of measured numbers; what was not measured is not mentioned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from winnow.compare.leaderboard.plan import BASELINE
from winnow.compare.leaderboard.standings import ranks
from winnow.compare.leaderboard.table import Board, Line, Record
from winnow.compare.statistics import LEVEL, Estimate, resample
from winnow.report.run import Floats

ENOUGH = 6
"""Recipes below which no correlation is told."""
RESAMPLES = 2000


def _rollouts(record: Record) -> float:
    return float(np.mean(record["steps"]["rollouts"]))


def no_signal(record: Record) -> float | None:
    """Return the mean share of a step's groups whose rewards are all equal."""
    share: float | None = record["means"]["signal/no_signal"]
    return share


def contrasts(record: Record) -> float:
    """Return the groups with signal for every 128 rollouts generated."""
    return float(record["means"]["contrasts"] or 0.0) * 128 / _rollouts(record)


def rows(record: Record) -> float:
    """Return trained rows, recalled ones too, for every rollout generated."""
    steps = record["steps"]
    return float((np.sum(steps["rows"]) + np.sum(steps["recalled_rows"])) / np.sum(steps["rollouts"]))


def waves(record: Record) -> float:
    """Return the mean number of waves a step was generated in."""
    return float(np.mean(record["steps"]["waves"]))


def per_step(record: Record) -> float:
    """Return the mean number of rollouts of a step."""
    return _rollouts(record)


QUANTITIES: Mapping[str, Callable[[Line, str], float | None]] = {
    "the share of groups without signal": lambda line, task: line.mean(task, no_signal),
    "prompts with a contrast per 128 rollouts": lambda line, task: line.mean(task, contrasts),
    "trained rows per rollout": lambda line, task: line.mean(task, rows),
    "rollouts per step": lambda line, task: line.mean(task, per_step),
    "waves per step": lambda line, task: line.mean(task, waves),
    "the gradient noise scale": lambda line, task: line.scale(task),
}
"""What was measured of every recipe on every task, by what the page calls it."""


@dataclass(frozen=True)
class Family:
    """A family of recipes: how many, and its mean gain over the baseline by task, at equal rollouts and seconds."""

    name: str
    recipes: tuple[str, ...]
    gains: Mapping[str, float]
    timed: Mapping[str, float]


def families(board: Board) -> list[Family]:
    """Return the families that have a finished run on every task, best mean gain first."""
    found = []
    gains = {(task, timed): board.gains(task, timed=timed) for task in board.plan.tasks for timed in (False, True)}
    for name in dict.fromkeys(line.family for line in board.lines if line.recipe != BASELINE):
        places = [place for place, line in enumerate(board.lines) if line.family == name]
        means = {key: _mean([estimates[place].value for place in places]) for key, estimates in gains.items()}
        ours = tuple(board.lines[place].recipe for place in places)
        plain = {task: means[task, False] for task in board.plan.tasks}
        if all(np.isfinite(value) for value in plain.values()):
            found.append(Family(name, ours, plain, {task: means[task, True] for task in board.plan.tasks}))
    return sorted(found, key=lambda family: -_mean(list(family.gains.values())))


def correlation(x: Floats, y: Floats, *, seed: int = 0) -> Estimate:
    """Return Spearman's rank correlation of two (R,) with its bootstrap interval over recipes; pairs with NaN are out.

    NaN where one of them does not vary.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    drawn = [_spearman(x[at], y[at]) for at in resample(len(x), RESAMPLES, seed)] if len(x) else []
    usable = np.array([value for value in drawn if np.isfinite(value)])
    value = _spearman(x, y)
    if not np.isfinite(value) or not len(usable):
        return Estimate(float("nan"), float("nan"), float("nan"), len(x))
    low, high = np.quantile(usable, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high), len(x))


def correlations(board: Board, task: str) -> dict[str, Estimate]:
    """Return the correlation of final accuracy with each of `QUANTITIES` over the recipes of a task."""
    accuracy = _column(board, lambda line: line.mean(task, lambda record: record["curve"]["accuracy"][-1]))
    found = {}
    for name, read in QUANTITIES.items():
        values = _column(board, lambda line, read=read: read(line, task))  # type: ignore[misc]
        estimate = correlation(values, accuracy)
        if estimate.seeds >= ENOUGH and np.isfinite(estimate.value):
            found[name] = estimate
    return found


def sentences(board: Board) -> Iterator[str]:
    """Yield the explanation, one sentence or two for each finding."""
    base = board.lines[board.plan.recipes.index(BASELINE)]
    regimes = [(share, task) for task in board.plan.tasks if (share := base.mean(task, no_signal)) is not None]
    for share, task in sorted(regimes):
        yield _task(board, base, task, share)
    yield from _by_regime(board, sorted(regimes))
    for _, task in sorted(regimes):
        yield from _correlates(board, task)
    yield from _timed(board)


def _task(board: Board, base: Line, task: str, share: float) -> str:
    gains = board.gains(task)
    others = [(g, line) for g, line in zip(gains, board.lines, strict=True) if line.recipe != BASELINE and g.seeds]
    scale = base.scale(task)
    text = f"**`{task}`**: {share:.0%} of the groups of `{BASELINE}` carry no signal over the run"
    text += f"; the noise scale of its gradient at the start is {scale:.1f} steps." if scale is not None else "."
    sure = [(g, line) for g, line in others if g.seeds > 1]
    if sure:
        above, below = sum(g.low > 0 for g, _ in sure), sum(g.high < 0 for g, _ in sure)
        best, line = max(sure, key=lambda pair: pair[0].value)
        text += (
            f" Of {len(sure)} other recipes {above} end above it and {below} below it with an interval that excludes 0 "
            f"({len(sure) * (1 - LEVEL) / 2:.1f} each way would by chance if the intervals were exact, and those of "
            f"{board.plan.seeds} seeds are too narrow); the largest gain is that of `{line.recipe}`, {points(best)}."
        )
    return text


def _by_regime(board: Board, regimes: list[tuple[float, str]]) -> Iterator[str]:
    found = families(board)
    if not found or not regimes:
        return
    for share, task in regimes if len(found) > 1 else []:
        first = max(found, key=lambda family: family.gains[task])
        last = min(reversed(found), key=lambda family: family.gains[task])
        yield (
            f"With {share:.0%} of groups without signal (`{task}`) the best family is *{first.name}* "
            f"({100 * first.gains[task]:+.1f} points over `{BASELINE}`, mean of {_count(first)}), the last one "
            f"*{last.name}* ({100 * last.gains[task]:+.1f}, {_count(last)})."
        )
    (low, easy), (high, hard) = regimes[0], regimes[-1]
    if easy == hard or len(found) < 2:
        return
    moves = sorted(((f.gains[hard] - f.gains[easy], f) for f in found), key=lambda pair: pair[0])
    (fall, loser), (rise, winner) = moves[0], moves[-1]
    yield (
        f"From {low:.0%} to {high:.0%} without signal *{winner.name}* moves most in its favour against `{BASELINE}` "
        f"({100 * rise:+.1f} points) and *{loser.name}* least ({100 * fall:+.1f})."
    )


def _correlates(board: Board, task: str) -> Iterator[str]:
    found = correlations(board, task)
    if not found:
        return
    sure = sorted(((n, e) for n, e in found.items() if e.low > 0 or e.high < 0), key=lambda pair: -abs(pair[1].value))
    if not sure:
        yield f"On `{task}` none of the measured quantities orders the recipes: every interval holds 0."
        return
    told = "; ".join(f"{name} (ρ = {e.value:+.2f} [{e.low:+.2f}, {e.high:+.2f}])" for name, e in sure)
    yield f"On `{task}` final accuracy goes over the {sure[0][1].seeds} recipes with {told}."


def _timed(board: Board) -> Iterator[str]:
    if board.price is None:
        return
    moved = [
        (plain.value - timed.value, line)
        for plain, timed, line in zip(board.places(), board.places(timed=True), board.lines, strict=True)
        if np.isfinite(plain.value) and np.isfinite(timed.value)
    ]
    if len(moved) < 2:
        return
    (loss, loser), (gain, winner) = min(moved, key=lambda p: p[0]), max(moved, key=lambda p: p[0])
    yield (
        f"At equal seconds in place of equal rollouts `{winner.recipe}` gains most, {gain:.1f} places in the mean "
        f"({_price(board, winner)}), and `{loser.recipe}` loses most, {-loss:.1f} ({_price(board, loser)})."
    )


def _price(board: Board, line: Line) -> str:
    base = board.lines[board.plan.recipes.index(BASELINE)]
    ours = _mean([line.mean(task, board.spent) or np.nan for task in board.plan.tasks])
    theirs = _mean([base.mean(task, board.spent) or np.nan for task in board.plan.tasks])
    return f"its rollouts cost {ours / theirs:.2f} times those of `{BASELINE}`"


def points(estimate: Estimate) -> str:
    """Return a difference of accuracies in points, with its interval."""
    return f"{100 * estimate.value:+.1f} [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"


def _count(family: Family) -> str:
    return f"{len(family.recipes)} recipe{'s' if len(family.recipes) != 1 else ''}"


def _column(board: Board, read: Callable[[Line], float | None]) -> Floats:
    return np.array([np.nan if (value := read(line)) is None else value for line in board.lines], dtype=np.float64)


def _spearman(x: Floats, y: Floats) -> float:
    if len(x) < 2:
        return float("nan")
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else float("nan")


def _mean(values: list[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
