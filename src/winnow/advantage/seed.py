"""SEED-GRPO: smaller updates for prompts whose answers are scattered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.answers import answer_codes, cluster_sizes
from winnow.advantage.base import PARTS, Centred
from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray, Groups, as_rewards, scorable
from winnow.objective.config import Objective


@dataclass(frozen=True, slots=True)
class Seed:
    """``(r - mean) f(alpha SE / log n)`` inside each group (SEED-GRPO, arXiv 2505.12346).

    SE is the entropy of the answers of a prompt's n scorable rollouts, in clusters C_1..C_K of equal text (column
    ``answers``) with p(C) = |C| / n:

    * ``entropy="mean_log"``, the source's form: ``-(1/K) sum over clusters of log p``.
    * ``entropy="plugin"``: ``-sum over clusters of p log p``, biased low in small groups.

    They differ: 1.31 and 0.90 nats for counts 5, 2, 1. Both divided by log n are in [0, 1]; n is that of the prompt.
    f is ``1 - x`` for ``shape="linear"``, ``exp(-x)`` for ``"exponential"``.

    Ours: frequencies for the source's likelihoods of whole rollouts, equal text for equal meaning, and alpha, which the
    source does not give. Prompts with scattered answers are those that variance-driven allocations give more rollouts:
    the two work against each other.

    Attributes:
        alpha: strength in [0, 1].
        entropy, shape: see above.

    Groups without signal and single rollouts get 0; unscorable rows get 0 and are in no statistic. Raises `ConfigError`
    if a setting is out of range. Complexity: O(N log N).
    """

    alpha: float = 0.5
    entropy: Literal["mean_log", "plugin"] = "mean_log"
    shape: Literal["linear", "exponential"] = "linear"
    needs = ("answers",)

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"Seed(alpha={self.alpha!r}): use a number in [0, 1]")
        if self.entropy not in ("mean_log", "plugin"):
            raise unknown("entropy", self.entropy, ("mean_log", "plugin"))
        if self.shape not in ("linear", "exponential"):
            raise unknown("shape", self.shape, ("linear", "exponential"))

    @property
    def name(self) -> str:
        """``seed``."""
        return "seed"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, answers: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); ``answers`` (N,) texts, None for none."""
        values = as_rewards(rewards)
        centred = Centred.of(values, groups)
        disorder = self.alpha * answer_entropy(answers, groups, self.entropy, rows=scorable(values))
        factor = 1 - disorder if self.shape == "linear" else np.exp(-disorder)
        return centred.rows(centred.deviation) * factor


def answer_entropy(
    answers: npt.ArrayLike,
    groups: npt.ArrayLike,
    form: Literal["mean_log", "plugin"],
    *,
    rows: npt.NDArray[np.int64] | None = None,
) -> FloatArray:
    """Return the entropy of its group's answers over log n for each row (N,), in [0, 1]; see `Seed`.

    Args:
        answers: (N,) texts.
        groups: (N,) labels.
        form: ``"mean_log"`` or ``"plugin"``.
        rows: positions that count, None for all; others get 0.
    """
    labels = np.asarray(groups)
    members = Groups.of(labels, len(labels), rows)
    places = np.arange(len(labels)) if members.rows is None else members.rows
    if not len(places):
        return np.zeros(len(labels))
    sizes = cluster_sizes(answer_codes(answers)[places], labels[places])
    n = members.spread(members.sizes)
    # Every row stands for 1 / |C| of its cluster.
    share = np.log(n / sizes) / (n if form == "plugin" else sizes)
    total = np.add.reduceat(share, members.starts)
    if form == "mean_log":
        total /= np.rint(np.add.reduceat(1 / sizes, members.starts))
    full = np.log(np.maximum(members.sizes, 2))
    return members.scatter(members.spread(np.minimum(total / full, 1.0)), len(labels))


PARTS["seed"] = Seed
declare(
    "seed-grpo",
    About(
        paper="SEED-GRPO, arXiv 2505.12346; clusters of equal answers, frequencies and alpha are ours",
        idea="advantages shrink with the entropy of a prompt's answers",
        saves="nothing; steadier updates on prompts the policy is unsure of",
        costs="slower on the prompts with most to learn; needs normal forms of answers",
        bias="prompts count by their entropy",
        status="decision",
    ),
    lambda: {"advantage": Seed(), "objective": Objective(aggregation="constant")},
)
