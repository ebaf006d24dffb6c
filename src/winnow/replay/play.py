"""A recipe on recorded rollouts: its own code, asked and told as in training."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow.advantage.ranges import check_told
from winnow.columns import ALWAYS
from winnow.errors import BudgetError, ConfigError
from winnow.features import hashed
from winnow.groups import FloatArray, IntArray
from winnow.recipe import Recipe
from winnow.replay.belief import Belief
from winnow.replay.draws import Donors, Draws
from winnow.replay.log import Log
from winnow.replay.measure import COUNTED, count
from winnow.replay.stream import Shape, Stream, Visits
from winnow.step import Step

LARGEST_SEED = 2**31
STEPS = COUNTED.index("steps")


class Table:
    """A log with what is worked out of it once, for all replays.

    Args:
        log: the log.

    Attributes:
        log: the log.
        belief: see `Belief`.
        usual: prompts of a step: the median of the logged ones, `PILOT` at most where there is one step.
    """

    PILOT = 64

    def __init__(self, log: Log) -> None:
        self.log, self.belief = log, Belief.of(log)
        self.donors = Donors(log, self.belief) if self.belief.model is not None else None
        sizes = np.diff(log.ends, prepend=0)
        self.usual = int(np.median(sizes)) if len(sizes) > 1 else min(self.PILOT, log.visits)
        self._vectors: Any = None

    @property
    def one_step(self) -> bool:
        """Whether the log is that of one policy, as a pilot's."""
        return bool(self.log.step[0] == self.log.step[-1])

    def features(self, visits: IntArray) -> Any:
        """Return the vectors of the prompts of these visits, None where the log has no texts."""
        if self.log.texts is None:
            return None
        if self._vectors is None:
            self._vectors = hashed(list(self.log.texts))
        return self._vectors[self.log.prompt[visits]]


def lacking(recipe: Recipe, log: Log) -> str:
    """Say why a log cannot tell about a recipe; an empty string where it can."""
    if recipe.branches:
        return "continues rollouts from inside, which a log of whole ones cannot answer"
    if recipe.recall is not None:
        return "trains rollouts of earlier steps again, which is not counted here"
    missing = [name for name in recipe.needs if name not in log.columns and name not in ALWAYS]
    if missing:
        return f"needs {', '.join(missing)}, which the log does not hold"
    if recipe.remembers and log.prompts == log.visits:
        return "learns from a prompt's earlier visits, and no prompt of the log comes up twice"
    try:
        check_told(recipe.advantage, log.reward, {**log.columns, "lengths": log.tokens, "outcomes": log.judged})
    except ConfigError as refusal:
        return str(refusal)
    return ""


def play(recipe: Recipe, table: Table, visits: Visits, shape: Shape, rng: np.random.Generator) -> FloatArray:
    """Replay a recipe from the first step to the last; it remembers what it learns on the way.

    Args:
        recipe: its memory is changed: give a fresh one.
        table: the log.
        visits: the prompts that come up, in order.
        shape: the size of a step.
        rng: of everything random.

    Returns:
        float64, the sums of `winnow.replay.measure.COUNTED`.

    Raises:
        BudgetError: the recipe waits for results while it has all of them.
    """
    prompts = shape.prompts or (table.usual if table.one_step else None)
    stream = Stream(visits, recipe, prompts, table.usual)
    sums = np.zeros(len(COUNTED))
    while (window := stream.next()) is not None:
        chosen = visits.visit[window]
        step = recipe.begin(
            len(chosen),
            budget=shape.budget(len(chosen), stream.wanted),
            seed=int(rng.integers(LARGEST_SEED)),
            ids=visits.name[window],
            features=table.features(chosen) if recipe.compares else None,
        )
        counted, visited = _step(step, table, chosen, rng)
        sums += counted
        sums[STEPS] += stream.share(len(chosen))
        stream.visited(window, visited)
    return sums


def _step(step: Step, table: Table, visits: IntArray, rng: np.random.Generator) -> tuple[FloatArray, int]:
    log, belief = table.log, table.belief
    draws = Draws(log, visits, belief, table.donors, rng)
    owners, rows = [], []
    further = [name for name in (*step.recipe.needs, *step.recipe.wants) if name in log.columns]
    while not step.done:
        wanted = np.zeros(len(visits), np.int64)
        requests = step.ask()
        np.add.at(wanted, requests.prompts, requests.counts)
        if not requests.total:
            raise BudgetError(f"recipe {step.recipe.name!r} asks for nothing and waits, but every result is told")
        owner, row = draws.take(wanted)
        step.tell(
            owner,
            log.reward[row],
            outcomes=None if log.judged is log.reward else log.judged[row],
            tokens=log.tokens[row],
            **{name: log.columns[name][row] for name in further},
        )
        owners.append(owner)
        rows.append(row)
    batch = step.finish()
    owner, row = np.concatenate(owners), np.concatenate(rows)
    outcome = belief.scaled(log.judged[row])
    counted = count(batch, owner, outcome, belief.spread[visits], belief.sigma[visits], draws.further)
    return counted, batch.visited
