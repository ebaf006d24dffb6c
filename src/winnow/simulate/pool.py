"""Imaginary prompts with known pass rates, and a toy of how training moves them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from winnow.batch import TrainBatch
from winnow.errors import ConfigError, DataError
from winnow.groups import FloatArray, IntArray

MOST = 1_000_000
LEAST_RATE = 0.02
FURTHEST = 30.0
KINDS = "beta:A,B, pareto:K, variance:K, rates such as 0.1,0.5,0.9, or a file of rates"


@dataclass(frozen=True, slots=True)
class Learning:
    """How a step moves pass rates. A toy, ours: it has the shape of learning and none of its causes.

    The signal of a prompt is ``s = P / kept * sum |advantage x weight|`` over its rows, with P prompts in the step and
    ``kept`` rows in the loss denominator: about the mean |advantage| where groups are equal. Then

        logit(pass rate) += rate * ((1 - shared) * s  of the prompt itself  +  shared * mean s  of the step)

    so a group without signal teaches its prompt nothing, every prompt gains from the others, and easy and hard prompts
    move slowly in pass rate. Nothing is forgotten and no step does harm: do not read learning rates off it.

    Attributes:
        rate: step in log-odds per unit of signal; 0 freezes the pool.
        shared: part of a step that goes to all prompts, in [0, 1].
    """

    rate: float = 0.1
    shared: float = 0.1

    def __post_init__(self) -> None:
        if not (self.rate >= 0 and np.isfinite(self.rate)):
            raise ConfigError(f"Learning(rate={self.rate!r}): use a finite number >= 0")
        if not 0 <= self.shared <= 1:
            raise ConfigError(f"Learning(shared={self.shared!r}): use a share from 0 to 1")


class Pool:
    """Prompts that draw rewards.

    Args:
        rates: float64 (P,) pass rates, of rewards 0 and 1.
        variance: float64 (P,) variances of graded rewards ``+-sqrt(variance)`` in place of rates, as VIGOR's theory has
            them; such prompts do not learn.
        known: with ``variance``: draws alternate between the two rewards, so that every even number of them shows the
            variance exactly, as the theory assumes.
    """

    def __init__(
        self, rates: npt.ArrayLike | None = None, *, variance: npt.ArrayLike | None = None, known: bool = False
    ) -> None:
        self._known = known
        self._deviation = None if variance is None else np.sqrt(np.asarray(variance, np.float64))
        p = np.full(len(np.asarray(variance)), 0.5) if rates is None else np.asarray(rates, np.float64)
        if not 1 <= len(p) <= MOST or p.ndim != 1:
            raise ConfigError(f"a pool of shape {p.shape}: use 1 to {MOST:,} prompts")
        if not bool(((p >= 0) & (p <= 1)).all()):
            raise ConfigError("pass rates have to be from 0 to 1")
        with np.errstate(divide="ignore"):
            self._logit = np.clip(np.log(p) - np.log1p(-p), -FURTHEST, FURTHEST)
        # A prompt that never or always passes is no matter of log-odds: it stays as it is.
        self._fixed = np.where((p == 0) | (p == 1), p, np.nan)
        self._shift = 0.0

    def __len__(self) -> int:
        """Return the number of prompts."""
        return len(self._logit)

    def rates(self, prompts: IntArray | slice = slice(None)) -> FloatArray:
        """Return pass rates as they are now. Complexity: O(len(prompts))."""
        p = 1.0 / (1.0 + np.exp(-np.clip(self._logit[prompts] + self._shift, -FURTHEST, FURTHEST)))
        return np.where(np.isnan(self._fixed[prompts]), p, self._fixed[prompts])

    def variance(self, prompts: IntArray | slice = slice(None)) -> FloatArray:
        """Return the variance of rewards of these prompts, times four for pass and fail (``4p(1-p)``)."""
        if self._deviation is not None:
            return np.asarray(self._deviation[prompts] ** 2)
        p = self.rates(prompts)
        return 4 * p * (1 - p)

    def draw(self, prompts: IntArray, order: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rewards (k,).

        Args:
            prompts: int64 (k,) whose.
            order: int64 (k,) 0, 1, 2, ... among the draws of the prompt in this step.
            rng: of the draws.
        """
        if self._deviation is None:
            return (rng.random(len(prompts)) < self.rates(prompts)).astype(np.float64)
        up = order % 2 == 0 if self._known else rng.random(len(prompts)) < 0.5
        return np.where(up, self._deviation[prompts], -self._deviation[prompts])

    def learn(self, learning: Learning, prompts: IntArray, batch: TrainBatch) -> None:
        """Move pass rates after a step over ``prompts`` (P,)."""
        if not learning.rate or self._deviation is not None or not batch.kept_rows:
            return
        opened = max(1, int(np.count_nonzero(batch.counts)))
        taught = np.abs(batch.advantages * batch.weights)
        s = np.bincount(batch.prompts, weights=taught, minlength=len(prompts)) * opened / batch.kept_rows
        self._logit[prompts] += learning.rate * (1 - learning.shared) * s
        self._shift += learning.rate * learning.shared * float(s.sum()) / opened


def make_pool(text: str, size: int, seed: int = 0, *, known: bool = False) -> Pool:
    """Make a pool from words.

    ``beta:A,B`` draws pass rates from a Beta distribution. ``pareto:K`` draws them from a Pareto distribution above
    0.02, cut at 1: many hard prompts and few easy ones. ``variance:K`` is the pool of VIGOR's theory, graded rewards
    whose variances are the quantiles of a Pareto distribution above 1. Numbers, or a file of them (JSON list, or one
    per line), are pass rates, repeated until there are ``size``.

    Args:
        text: the words.
        size: prompts.
        seed: of the draws.
        known: see `Pool`; for ``variance`` only.

    Raises:
        ConfigError: the words, or a number, cannot be used.
        DataError: the file cannot.
    """
    if not 1 <= size <= MOST:
        raise ConfigError(f"size={size}: a pool has 1 to {MOST:,} prompts")
    rng = np.random.default_rng((seed, 0))
    kind, colon, rest = text.partition(":")
    if known and kind != "variance":
        raise ConfigError(f"--known with --pool {text}: only the draws of variance:K can show their variance exactly")
    makers: dict[str, tuple[int, Callable[..., Pool]]] = {
        "beta": (2, lambda a, b: Pool(rng.beta(a, b, size))),
        "pareto": (1, lambda k: Pool(np.minimum(1.0, LEAST_RATE * (1 - rng.random(size)) ** (-1 / k)))),
        "variance": (1, lambda k: Pool(variance=quantiles(k, size)[rng.permutation(size)], known=known)),
    }
    if colon and kind in makers:
        count, make = makers[kind]
        numbers = _numbers(rest.split(","), text)
        if len(numbers) != count or min(numbers) <= 0:
            raise ConfigError(f"--pool {text!r}: {kind} takes {count} number{'s' * (count > 1)} above 0")
        return make(*numbers)
    given = _file(Path(text)) if Path(text).is_file() else _numbers(text.split(","), text)
    return Pool(np.resize(np.array(given, np.float64), size))


def quantiles(tail: float, size: int) -> FloatArray:
    """Return the ``size`` mid-quantiles of a Pareto distribution above 1, in falling order."""
    return ((np.arange(size) + 0.5) / size) ** (-1 / tail)


def _numbers(texts: list[str], whole: str) -> list[float]:
    try:
        return [float(text) for text in texts]
    except ValueError:
        raise ConfigError(f"--pool {whole!r}: use {KINDS}") from None


def _file(path: Path) -> list[float]:
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if text.lstrip().startswith("[") else [float(line) for line in text.split()]
        rates = [float(value) for value in found]
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} is no list of pass rates: {error}") from None
    if not rates:
        raise DataError(f"{path} holds no pass rates: write at least one, from 0 to 1, or use {KINDS}")
    return rates
