"""How many groups of a run would carry no signal: from pass rates, or from rollouts of a pilot."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray


def no_signal_share(pass_rate: npt.ArrayLike, n: int) -> FloatArray:
    """Return the probability that all of ``n`` independent rollouts pass or all fail, ``p^n + (1-p)^n``.

    Args:
        pass_rate: probabilities of any shape; the result has that shape.
        n: rollouts of the group, at least 1.

    Raises:
        ConfigError: a pass rate is outside [0, 1], or n below 1.
    """
    p = np.asarray(pass_rate, dtype=np.float64)
    if not np.all((p >= 0) & (p <= 1)):
        raise ConfigError(f"pass rate {p.tolist()}: must be between 0 and 1")
    if n < 1:
        raise ConfigError(f"n={n}: must be at least 1")
    share: FloatArray = p**n + (1 - p) ** n
    return share


def no_signal_from_pilot(passed: npt.ArrayLike, drawn: int, n: int) -> FloatArray:
    """Estimate `no_signal_share` of each prompt from a pilot, without bias.

    The share of subsets of n of the ``drawn`` rollouts that tie; plugging an observed pass rate into
    ``p^n + (1-p)^n`` would be biased.

    Args:
        passed: (P,) rollouts that passed, of each prompt.
        drawn: rollouts of each prompt in the pilot, at least n.
        n: rollouts of a group in the run.

    Raises:
        ConfigError: ``drawn`` is below n.
    """
    if drawn < n:
        raise ConfigError(f"a pilot of {drawn} rollouts per prompt cannot tell about groups of {n}; draw {n}")
    total = math.comb(drawn, n)
    counts = [int(count) for count in np.asarray(passed)]
    ties = [(math.comb(count, n) + math.comb(drawn - count, n)) / total for count in counts]
    return np.array(ties, dtype=np.float64)
