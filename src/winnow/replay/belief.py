"""What the rollouts of a visit say about those it does not hold: spread of outcomes, and a model to draw more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray, IntArray
from winnow.replay.log import Log


@dataclass(frozen=True)
class Model:
    """Pass rates under a fitted prior (`winnow.pilot.prior`), one row per kind of visit (passed, scorable).

    Attributes:
        cell: int64 (V,) the row of each visit.
        weights, a, b: float64 (C, J) posterior mixture of Beta distributions.
    """

    cell: IntArray
    weights: FloatArray
    a: FloatArray
    b: FloatArray

    def draw(self, visits: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw a pass rate for each of these visits (k,) from its posterior. Complexity: O(k J)."""
        cell = self.cell[visits]
        part = (rng.random(len(cell))[:, None] > np.cumsum(self.weights[cell], axis=1)[:, :-1]).sum(axis=1)
        rates: FloatArray = rng.beta(self.a[cell, part], self.b[cell, part])
        return rates


@dataclass(frozen=True)
class Belief:
    """The outcomes of every visit, scaled so that the lowest of the log is 0 and the highest 1.

    Attributes:
        low, high: the extremes of the log.
        spread: float64 (V,), expected ``4 Var`` of an outcome, ``4p(1-p)`` for pass and fail (VIP's and VIGOR's sigma^2
            for rewards of -1 and 1); NaN where fewer than two rollouts could be scored and no model helps.
        sigma: float64 (V,), expected square root of it.
        model: what further rollouts are drawn from; None for graded outcomes, or where all are equal.
    """

    low: float
    high: float
    spread: FloatArray
    sigma: FloatArray
    model: Model | None

    @classmethod
    def of(cls, log: Log) -> Belief:
        """Judge a log.

        With two kinds of outcomes both are means over the posterior of the visit under a prior fitted to the whole log,
        so that ranking visits by what they happened to show does not flatter a recipe. With graded outcomes they are
        the sample's: the variance without bias, its root with the small bias that a root has.

        Complexity: O(N), plus milliseconds for the fit.
        """
        low, high = float(np.nanmin(log.judged)), float(np.nanmax(log.judged))
        # Sums over visits leave out what is not finite; the scratch column is the only one of the log's length.
        valid = _per_visit(log, np.isfinite(log.judged))
        binary = bool(high > low) and not _between(log.judged, low, high)
        if binary and valid.max() > 1:
            passed = _per_visit(log, log.judged == high)
            return cls(low, high, *_modelled(passed, valid))
        return cls(low, high, *_sampled(log, valid, low, high), None)

    def scaled(self, judged: FloatArray) -> FloatArray:
        """Return outcomes between 0 and 1."""
        return (judged - self.low) / (self.high - self.low) if self.high > self.low else judged - self.low


def _per_visit(log: Log, mask: npt.NDArray[np.bool_]) -> IntArray:
    return np.add.reduceat(mask, log.start, dtype=np.int64)


def _between(judged: FloatArray, low: float, high: float) -> bool:
    return bool(np.any((judged > low) & (judged < high)))


def _modelled(passed: IntArray, valid: IntArray) -> tuple[FloatArray, FloatArray, Model]:
    from scipy.special import betaln

    from winnow.pilot.prior import fit

    keys, cell, counts = np.unique(passed * (int(valid.max()) + 1) + valid, return_inverse=True, return_counts=True)
    cells = np.stack(np.divmod(keys, int(valid.max()) + 1), axis=1)
    prior = fit(cells[:, 0], cells[:, 1], counts)
    found = [prior.posterior(int(c), int(n)) for c, n in cells]
    weights, a, b = (np.stack([getattr(each, name) for each in found]) for name in ("weights", "a", "b"))
    spread = (weights * 4 * a * b / ((a + b) * (a + b + 1))).sum(axis=1)
    sigma = (weights * 2 * np.exp(betaln(a + 0.5, b + 0.5) - betaln(a, b))).sum(axis=1)
    place = cell.astype(np.int64, copy=False).reshape(-1)
    return spread[place], sigma[place], Model(place, weights, a, b)


def _sampled(log: Log, valid: IntArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    width = high - low or 1.0
    centred = np.where(np.isfinite(log.judged), (log.judged - low) / width, 0.0)
    total = np.add.reduceat(centred, log.start)
    squares = np.add.reduceat(np.square(centred, out=centred), log.start)
    with np.errstate(invalid="ignore", divide="ignore"):
        around = np.maximum(squares - total * total / valid, 0.0)
        return np.where(valid > 1, 4 * around / (valid - 1), np.nan), 2 * np.sqrt(around / valid)
