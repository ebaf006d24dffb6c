"""GCPO, a reconstruction: a rollout is worth what it adds to the volume that right rollouts span."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import PARTS
from winnow.advantage.centred import centred
from winnow.advantage.grpo import grpo
from winnow.advantage.ranges import check_range
from winnow.errors import ConfigError
from winnow.groups import FloatArray, Groups, as_rewards, scorable

EXACT = 12
"""Up to so many rollouts with a reward other than 0 all subsets are gone through."""

DIGITS = 12


@dataclass(frozen=True, slots=True)
class Gcpo:
    """Shapley values of ``V(S) = log det(I + D_S K_S D_S)``, centred by group (after GCPO, arXiv 2605.11461).

    K holds the cosines of the rollouts' embeddings and D their rewards: a wrong rollout adds nothing, copies share what
    one of them adds, and the values phi of a group sum to V of all. Advantages are phi minus the group's mean, or,
    with ``scaled``, GRPO's z-scores of phi. Scaling blows tiny differences up, and either way a right but redundant
    rollout can fall below the mean and be pushed down; a group that is all right has signal where it is diverse.

    A reconstruction: the source says a determinant volume over reward-weighted embeddings and Shapley credit; the
    logarithm, the identity (which keeps copies finite), the centring and all numbers here are ours.

    Up to 12 rollouts of reward other than 0 in a group are exact. Above, phi is a mean over random orders from
    ``shuffle_seed``, each of which sums to V exactly; copies share their mean, and the order of rows does not matter.

    Attributes:
        orders: random orders for large groups, at least 1.
        shuffle_seed: of these orders, the same for each group and step.
        scaled: z-scores in place of differences.

    Unscorable rows get 0 and are in no statistic; phi is compared to 12 digits. Raises `ConfigError` if a setting is
    out of range. Complexity: O(2^n n^3) per group up to 12, else O(orders n^3).
    """

    orders: int = 256
    shuffle_seed: int = 0
    scaled: bool = False
    needs = ("embeddings",)
    own_signal = True

    def __post_init__(self) -> None:
        if self.orders < 1 or self.shuffle_seed < 0:
            raise ConfigError(
                f"Gcpo(orders={self.orders!r}, shuffle_seed={self.shuffle_seed!r}): use orders >= 1 and a seed >= 0"
            )

    @property
    def name(self) -> str:
        """``gcpo``."""
        return "gcpo"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, embeddings: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); ``embeddings`` (N, D), of any length; one of zeros adds nothing.

        Raises:
            ConfigError: if a finite reward is negative, or the embedding of a scorable rollout is not finite.
        """
        self.check_told(rewards, embeddings=embeddings)
        values = as_rewards(rewards).astype(np.float64)
        members = Groups.of(groups, len(values), scorable(values))
        places = np.arange(len(values)) if members.rows is None else members.rows
        vectors = np.asarray(embeddings, np.float64)
        credit = np.full(len(values), np.nan)
        for rows in np.split(places, members.starts[1:]) if len(places) else ():
            credit[rows] = self._credit(values[rows], vectors[rows])
        return grpo(credit, groups) if self.scaled else centred(credit, groups)

    def check_told(self, rewards: npt.ArrayLike, *, embeddings: npt.ArrayLike) -> None:
        """Refuse a finite reward below 0, and an embedding that is not finite where the reward is."""
        check_range(rewards, self.name)
        scored = np.asarray(embeddings, np.float64)[np.isfinite(as_rewards(rewards))]
        if not np.isfinite(scored).all():
            raise ConfigError(
                f"advantage gcpo needs finite embeddings, found {scored[~np.isfinite(scored)][0]}: repair the embedding"
            )

    def _credit(self, rewards: FloatArray, vectors: FloatArray) -> FloatArray:
        live = np.flatnonzero(rewards)
        length = np.linalg.norm(vectors[live], axis=1, keepdims=True)
        weighted = rewards[live, None] * vectors[live] / np.where(length > 0, length, 1.0)
        # Copies get one number, and rows an order of their own, so that neither sampling nor position tells them apart.
        kinds = np.unique(np.round(weighted, DIGITS), axis=0, return_inverse=True)[1].reshape(-1)
        order = np.argsort(kinds, kind="stable")
        gram = weighted[order] @ weighted[order].T
        phi = exact_shapley(gram) if len(live) <= EXACT else sampled_shapley(gram, self.orders, self.shuffle_seed)
        shared = np.bincount(kinds[order], phi) / np.maximum(np.bincount(kinds[order]), 1)
        scale = float(np.abs(shared).max(initial=0.0)) or 1.0
        credit = np.zeros(len(rewards))
        credit[live] = (np.round(shared / scale, DIGITS) * scale)[kinds]
        return credit


def exact_shapley(gram: FloatArray) -> FloatArray:
    """Return the Shapley values (n,) of ``S -> log det(I + gram[S, S])``; sums to the value of all.

    Complexity: O(2^n n^3) time, O(2^n n^2) memory.
    """
    n = len(gram)
    inside = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    value = np.linalg.slogdet(np.eye(n) + gram * inside[:, :, None] * inside[:, None, :])[1]
    size = inside.sum(axis=1)
    weight = np.array([math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n) for k in range(n)])
    phi = np.zeros(n)
    for i in range(n):
        without = np.flatnonzero(~inside[:, i])
        phi[i] = weight[size[without]] @ (value[without + 2**i] - value[without])
    return phi


def sampled_shapley(gram: FloatArray, orders: int, seed: int) -> FloatArray:
    """Return the mean over random orders of what each element adds to those before it; unbiased for the Shapley value.

    What the k-th element adds is twice the logarithm of the k-th diagonal entry of the Cholesky factor.

    Complexity: O(orders n^3) time, O(orders n^2) memory.
    """
    n = len(gram)
    places = np.argsort(np.random.default_rng(seed).random((orders, n)), axis=1)
    permuted = np.eye(n) + gram[places[:, :, None], places[:, None, :]]
    added = 2 * np.log(np.diagonal(np.linalg.cholesky(permuted), axis1=1, axis2=2))
    return np.bincount(places.ravel(), added.ravel(), n) / orders


PARTS["gcpo"] = Gcpo
declare(
    "gcpo",
    About(
        paper="after GCPO, arXiv 2605.11461: a reconstruction from its first pages",
        idea="a rollout is worth what it adds to the volume spanned by the right ones",
        saves="nothing; groups that are all right train where they are diverse",
        costs="an embedding of every rollout",
        bias="redundant right rollouts are pushed down",
        status="experimental",
    ),
    lambda: {"advantage": Gcpo()},
)
