"""What a group of rollouts teaches, and what more of them can be expected to add.

The model is derived in docs/winnow-recipe.md. A group with r right and w wrong rollouts contrasts the mean score of the
right ones with that of the wrong ones. That difference estimates the gradient of the prompt's log-odds; its noise has a
part within the prompt, ``1/r + 1/w``, and a part between prompts, which no further rollout of this one removes. With
``noise`` the ratio of the first to the second, the weight of least noise, and what the group then adds to the
signal-to-noise ratio of the step, is ``I / (I + noise)`` with ``I = r w / (r + w)``. Times the failure rate it is the
group's part in the gradient of mean log pass rate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray


def effect(right: npt.ArrayLike, wrong: npt.ArrayLike, failing: npt.ArrayLike, noise: float) -> FloatArray:
    """Return what groups teach: ``failing * I / (I + noise)``, ``I = right wrong / (right + wrong)``.

    Args:
        right: successes of each group.
        wrong: its failures.
        failing: the failure rate of its prompt.
        noise: noise within a prompt over noise between prompts, above 0.

    Returns:
        float64 in [0, 1); 0 where one side is missing.
    """
    r, w = np.asarray(right, np.float64), np.asarray(wrong, np.float64)
    return effect_of(r * w / np.maximum(r + w, 1.0), failing, noise)


def effect_of(information: FloatArray, failing: npt.ArrayLike, noise: float) -> FloatArray:
    """Return ``failing * I / (I + noise)`` for groups whose information I is known, as that of graded rewards."""
    found: FloatArray = np.asarray(failing, np.float64) * information / (information + noise)
    return found
