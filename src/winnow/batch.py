"""From everything a step was told to the rows that train: gate, selection, advantage, weight, in this order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from winnow.advantage import Segments, group_weights
from winnow.allocation.base import Explains
from winnow.budget import Ledger
from winnow.columns import needed
from winnow.decisions import Decisions
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed
from winnow.recall.repo import Recalled, pooled
from winnow.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from winnow.recipe import Recipe

Stretches = tuple[IntArray, FloatArray]
FATES = ("unscorable", "gated", "not selected", "no signal", "trained")
UNSCORABLE, GATED, NOT_SELECTED, NO_SIGNAL, TRAINED = range(5)


@dataclass(frozen=True, slots=True)
class TrainBatch:
    """What a step leaves for the update.

    "Row" is the position of a rollout in the order told: 0, 1, 2, ...

    Attributes:
        rows: sorted int64 (R,) rows kept.
        prompts: int64 (R,) prompt index of each kept row; it is also its group.
        advantages: float64 (R,); 0 marks a kept row that teaches nothing.
        weights: float64 (R,) multipliers of each row's loss: group weight times selection weight.
        fates: for every row told, one of ``trained``, ``no signal``, ``not selected``, ``gated``, ``unscorable``.
        kept_rows, kept_tokens: the loss denominator over kept rows (``no signal`` ones included).
        full_rows, full_tokens: the same over all scorable rows.
        counts: int64 (P,) rollouts each prompt got; 0 where a curriculum passed it over.
        stretches: for each kept row of a recipe that branches, where its stretches end in its own tokens, int64 (S,),
            and their advantages, float64 (S,); `advantages` then are means over tokens. Else None.
        recalled: rollouts of earlier steps that train too, or None.
        handles: int64 (N,), of a recipe that recalls: the number to keep each told rollout under, -1 for none.
        dropped: int64, numbers of earlier rollouts that are not asked for again.
        decisions: why prompts got the rollouts they got, of an allocation that explains itself; else None.
        visited: candidates that count as seen; those after them come again first in the next step.
        signal: bool (P,) its outcomes differ.
        reason: why budget is left over, or an empty string.
        ledger: the account of the step.
    """

    rows: IntArray
    prompts: IntArray
    advantages: FloatArray
    weights: FloatArray
    fates: tuple[str, ...]
    kept_rows: int
    kept_tokens: int
    full_rows: int
    full_tokens: int
    counts: IntArray
    signal: npt.NDArray[np.bool_]
    reason: str
    ledger: Ledger
    visited: int
    stretches: list[Stretches] | None = None
    recalled: Recalled | None = None
    handles: IntArray | None = None
    dropped: IntArray | None = None
    decisions: Decisions | None = None

    def per_token(self, row: int) -> FloatArray | float:
        """Return the advantage of kept row number ``row``: one number, or one per own token where it branched."""
        if self.stretches is None:
            return float(self.advantages[row])
        ends, values = self.stretches[row]
        return np.repeat(values, np.diff(ends, prepend=0))


def funnel(
    recipe: Recipe,
    seen: Observed,
    told: Sequence[npt.NDArray[np.generic]] | None,
    rng: np.random.Generator,
    *,
    columns: Mapping[str, npt.NDArray[Any]] | None = None,
    prompt_weights: FloatArray | None = None,
    allocator: object = None,
    tree: Tree | None = None,
    recalled: Recalled | None = None,
    waves: int = 1,
    reason: str = "",
) -> TrainBatch:
    """Turn rollouts into a batch.

    Args:
        recipe: names the gate, the selection, the advantage and the weights.
        seen: statistics per prompt of the same rollouts.
        told: prompts, rewards, outcomes and tokens, each (N,); None if nothing was drawn.
        rng: for random selections and ties.
        columns: further columns by name, each (N, ...), for rules that need them.
        prompt_weights: float64 (P,) multipliers of the rows of each prompt, or None.
        allocator: what decided who got rollouts; it may `explain` itself.
        tree: which rollouts continue which, or None where none does.
        recalled: rollouts of earlier steps that train too, without their advantages; or None.
        waves: copied into the ledger.
        reason: copied into the batch.

    The advantage is computed over the kept rows (``stats="kept"``, PODS) or over all admitted rows
    (``stats="full"``). Rows are removed in a fixed order: unscorable, gate, selection.

    Complexity: O(N log N).
    """
    prompts: IntArray = np.zeros(0, np.int64)
    rewards, outcomes = np.zeros(0), np.zeros(0)
    tokens: IntArray = np.zeros(0, np.int64)
    if told is not None:
        prompts, rewards, outcomes, tokens = told  # type: ignore[assignment]
    depth = np.array([leaf.depth for leaf in tree.leaves] if tree else np.zeros(len(prompts)), np.int64)
    facts = {**(columns or {}), "lengths": tokens, "outcomes": outcomes, "depth": depth}
    fate = np.full(len(prompts), UNSCORABLE)
    open_groups = np.asarray(recipe.admit(seen))
    if open_groups.shape != (len(seen),) or open_groups.dtype != bool:
        raise ConfigError(
            f"the gate of recipe {recipe.name!r} returned {open_groups.dtype} {open_groups.shape}: a gate returns bool "
            f"({len(seen)},), one per prompt"
        )
    scorable = np.isfinite(rewards)
    fate[scorable] = GATED
    admitted = np.flatnonzero(scorable & open_groups[prompts])
    fate[admitted] = NOT_SELECTED
    whole: FloatArray = np.zeros(0)
    if recipe.stats == "full" or "advantages" in needed(recipe.selection):
        whole = recipe.advantage(rewards[admitted], prompts[admitted], **_take(facts, recipe.advantage, admitted))
        facts["advantages"] = np.zeros(len(prompts))
        facts["advantages"][admitted] = whole
    selection = recipe.selection(rewards[admitted], prompts[admitted], rng, **_take(facts, recipe.selection, admitted))
    rows = admitted[selection.rows]
    if recipe.stats == "full":
        advantages = whole[selection.rows]
    else:
        advantages = recipe.advantage(rewards[rows], prompts[rows], **_take(facts, recipe.advantage, rows))
    if recalled is not None and recipe.recall is not None:
        fresh = (rewards[rows], prompts[rows])
        shared, theirs = pooled(recipe.advantage, fresh, (recalled.rewards, recalled.prompts), recipe.recall.mixing)
        advantages = advantages if shared is None else shared
        recalled = replace(recalled, advantages=theirs)
    weights = group_weights(prompts[rows], recipe.weight) * selection.weights
    if prompt_weights is not None:
        weights = weights * prompt_weights[prompts[rows]]
    advantages = _checked(recipe, advantages, len(rows))
    stretches = segments_of(recipe, tree, rows)
    if stretches is not None:
        advantages = np.array([value @ np.diff(end, prepend=0) / end[-1] for end, value in stretches])
    taught = advantages != 0 if stretches is None else np.array([value.any() for _, value in stretches], bool)
    trained = (taught | (recipe.objective.flow_beta > 0)) & (weights != 0)
    fate[rows] = np.where(trained, TRAINED, NO_SIGNAL)
    numbers = np.bincount(fate, minlength=len(FATES))
    ledger = Ledger(
        rollouts=len(prompts),
        tokens=int(tokens.sum()),
        scored=int(np.count_nonzero(scorable)),
        unscorable=int(numbers[UNSCORABLE]),
        gated=int(numbers[GATED]),
        discarded=int(numbers[NOT_SELECTED]),
        selected=len(rows),
        no_signal=int(numbers[NO_SIGNAL]),
        trained=int(numbers[TRAINED]),
        trained_tokens=int(tokens[rows[trained]].sum()),
        groups=int(np.count_nonzero(seen.told)),
        no_signal_groups=int(np.count_nonzero((seen.told > 0) & ~seen.signal())),
        waves=waves,
    )
    return TrainBatch(
        rows=rows,
        prompts=prompts[rows],
        advantages=advantages,
        weights=weights,
        fates=tuple(map(FATES.__getitem__, fate.tolist())),
        kept_rows=len(rows),
        kept_tokens=int(tokens[rows].sum()),
        full_rows=ledger.scored,
        full_tokens=int(tokens[scorable].sum()),
        counts=seen.told.copy(),
        signal=seen.signal(),
        reason=reason,
        ledger=ledger,
        visited=len(seen),
        stretches=stretches,
        recalled=recalled,
        decisions=allocator.explain(seen) if isinstance(allocator, Explains) else None,
    )


def segments_of(recipe: Recipe, tree: Tree | None, rows: IntArray) -> list[Stretches] | None:
    """Return the stretches of rows of a tree with their advantages; None where each row has one advantage."""
    if tree is None or not isinstance(recipe.advantage, Segments):
        return None
    ends, steps = tree.ends(), recipe.advantage.steps(tree)
    return [(ends[row], steps[row]) for row in rows.tolist()]


def _checked(recipe: Recipe, advantages: FloatArray, rows: int) -> FloatArray:
    found = np.asarray(advantages, np.float64)
    if found.shape != (rows,) or not np.isfinite(found).all():
        raise ConfigError(
            f"advantage {recipe.advantage.name} of recipe {recipe.name!r} gave shape {found.shape} for {rows} rows, "
            f"{int((~np.isfinite(found)).sum())} of them not finite: it returns one finite number per row"
        )
    return found


def _take(facts: Mapping[str, npt.NDArray[Any]], part: object, rows: IntArray) -> dict[str, npt.NDArray[Any]]:
    return {name: facts[name][rows] for name in needed(part)}
