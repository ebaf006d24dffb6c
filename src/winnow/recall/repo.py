"""RePO: a few stored rollouts of each prompt train beside the fresh ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed
from winnow.recall.store import Store

Strategy = Literal["recent", "random", "reward", "variance", "success"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """Stored rollouts that train in this step. All arrays are (K,).

    Attributes:
        prompts: position of the prompt in the step.
        handles: what the host kept each rollout under.
        rewards: float64, as they were told.
        advantages: float64; filled in by the step.
        strength: multiplier of their loss.
        joint: whether fresh and stored rollouts share one mean, or these have one of their own.
    """

    prompts: IntArray
    handles: IntArray
    rewards: FloatArray
    advantages: FloatArray
    strength: float
    joint: bool


def _recent(rewards: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    return np.arange(len(rewards))[-k:]


def _random(rewards: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    return np.sort(rng.permutation(len(rewards))[:k])


def _reward(rewards: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    return np.sort(np.lexsort((-np.arange(len(rewards)), -rewards))[:k])


def _variance(rewards: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """Return k highest and lowest rewards of the largest variance; of equal variances the one with the larger sum."""
    order, size = np.argsort(rewards, kind="stable"), len(rewards)
    k = min(k, size)
    splits = [np.concatenate((order[: k - top], order[size - top :])) for top in range(k + 1)]
    spread = np.array([rewards[split].var() for split in splits])
    return np.sort(splits[int(np.flatnonzero(spread >= spread.max() * (1 - 1e-12))[-1])])


def _success(rewards: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    return np.flatnonzero(rewards > 0.5)[-k:]


STRATEGIES: dict[str, Callable[[FloatArray, int, np.random.Generator], IntArray]] = {
    "recent": _recent,
    "random": _random,
    "reward": _reward,
    "variance": _variance,
    "success": _success,
}


@dataclass(frozen=True, slots=True)
class Repo:
    """Replay ``k`` stored rollouts of each prompt whose store is filled (RePO, arXiv 2506.09340).

    The loss is ``J_on + strength * J_off``. J_off is the same clipped loss over the replayed rollouts, with ratios to
    the log-probabilities they were sampled with; each of the two is a mean over its own rows or tokens. Every prompt
    keeps its last ``capacity`` scorable rollouts; replay begins once ``start`` are stored. What is drawn now is stored
    afterwards.

    ``mixing="split"`` computes the advantages of stored rollouts among themselves, so a group that is all wrong now
    still gets a signal; ``"mixed"`` pools both, which pushes a fresh all-wrong group down where a stored one was right.

    With ``joint=True`` (ours, for AR3PO) there is one mean over fresh and replayed rows alike, and ``strength``
    multiplies each replayed row in it.

    Strategies: ``recent``; ``random``; ``reward``: the highest, newer ones first among equals; ``variance``: the
    largest variance, of equal ones the larger sum; ``success`` (ours, for AR3PO): the newest with a reward above 0.5,
    perhaps none. ``when="no_success"`` replays only for prompts of which no fresh rollout has an outcome above 0.5.

    Known bias: off-policy by as many steps as lie between two visits of a prompt; the clip bounds it.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(capacity log capacity) per prompt of a step.
    """

    k: int = 8
    capacity: int = 16
    start: int = 16
    strategy: Strategy = "recent"
    mixing: Literal["split", "mixed"] = "split"
    when: Literal["always", "no_success"] = "always"
    strength: float = 1.0
    joint: bool = False
    _store: Store = field(default_factory=Store, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.capacity or not 1 <= self.start <= self.capacity:
            raise ConfigError(
                f"Repo(k={self.k}, start={self.start}, capacity={self.capacity}): use 1 <= k, start <= capacity"
            )
        for name, allowed in (
            ("strategy", get_args(Strategy)),
            ("mixing", ("split", "mixed")),
            ("when", ("always", "no_success")),
        ):
            if getattr(self, name) not in allowed:
                raise unknown(name, getattr(self, name), allowed)
        if not 0 < self.strength < math.inf:
            raise ConfigError(f"Repo(strength={self.strength!r}): use a factor above 0")

    def recall(self, ids: IntArray, seen: Observed, rng: np.random.Generator) -> Recalled:
        """Return what to replay, without advantages.

        Args:
            ids: (P,) prompts of the step.
            seen: what was drawn of them; prompts that got nothing replay nothing.
            rng: for ``random``.
        """
        found: list[tuple[IntArray, IntArray, FloatArray]] = []
        for place, prompt in enumerate(ids.tolist()):
            handles, rewards = self._store.of(prompt)
            solved = self.when == "no_success" and seen.successes[place] > 0
            if seen.told[place] and len(handles) >= self.start and not solved:
                chosen = STRATEGIES[self.strategy](rewards, self.k, rng)
                found.append((np.full(len(chosen), place), handles[chosen], rewards[chosen]))
        if not found:
            found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        prompts, numbers, worth = (np.concatenate(column) for column in zip(*found, strict=True))
        return Recalled(prompts, numbers, worth, np.zeros(len(worth)), self.strength, self.joint)

    def keep(self, ids: IntArray, owners: IntArray, rewards: FloatArray) -> tuple[IntArray, IntArray]:
        """Store the scorable rollouts of a step.

        Args:
            ids: (P,) prompts.
            owners: (N,) position in ``ids`` of each rollout, in the order told.
            rewards: (N,); NaN where unscorable.

        Returns:
            The handle of each rollout (N,), -1 where it is not stored; and the handles that nothing will ask for again.
        """
        return self._store.keep(ids, owners, rewards, self.capacity)

    def state_dict(self) -> dict[str, Any]:
        """Return handles and rewards by prompt; the rollouts themselves are the host's to save."""
        return self._store.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._store.load_state_dict(state)


def pooled(
    advantage: Callable[..., FloatArray],
    fresh: tuple[npt.ArrayLike, npt.ArrayLike],
    stored: tuple[npt.ArrayLike, npt.ArrayLike],
    mixing: str,
) -> tuple[FloatArray | None, FloatArray]:
    """Return the advantages of fresh and of stored rollouts; None for fresh ones that the stored do not touch.

    Args:
        advantage: from rewards (N,) and groups (N,) to advantages (N,).
        fresh: rewards and groups of the rows that train.
        stored: rewards and groups of those replayed.
        mixing: ``split`` or ``mixed``.
    """
    if mixing == "split":
        return None, advantage(*stored)
    both = advantage(*(np.concatenate((np.asarray(a), np.asarray(b))) for a, b in zip(fresh, stored, strict=True)))
    return both[: len(np.asarray(fresh[0]))], both[len(np.asarray(fresh[0])) :]


declare(
    "repo",
    About(
        paper="RePO, arXiv 2506.09340",
        idea="stored rollouts of a prompt train again beside the fresh ones",
        saves="generation, per row that trains",
        costs="updates: k more rows per prompt; memory for the stored rollouts",
        bias="off-policy by the steps between two visits; the clip bounds it",
    ),
    lambda: {"recall": Repo()},
)
