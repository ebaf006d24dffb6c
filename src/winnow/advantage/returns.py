"""Token returns with the divergence in the reward: the base form of REINFORCE++."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray


def returns_to_go(reward: float, log_ratios: npt.ArrayLike, beta: float) -> FloatArray:
    """Return ``R_t = r - beta * sum over s >= t of log(pi_old / pi_ref)_s`` (REINFORCE++, arXiv 2501.03262).

    The reward comes with the last token, every token pays its k1 divergence to the reference, and nothing is
    discounted. Whiten the result over the batch for advantages; see `winnow.advantage.reinforce_pp` for what hosts
    count as the batch.

    Args:
        reward: of the rollout.
        log_ratios: (T,) log-probability when sampled minus that of the reference, per token.
        beta: price of the divergence.

    Returns:
        float64 (T,); NaN and infinities spread to every earlier token.

    Complexity: O(T).
    """
    paid = np.asarray(log_ratios, np.float64)
    return reward - beta * paid[::-1].cumsum()[::-1]
