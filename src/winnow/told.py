"""What a host tells a step, checked and turned into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray, IntArray, as_rewards

Scores = npt.ArrayLike | Sequence[float | None]
LONGEST = 2**40  # sums of more would leave 64 bits
LARGEST = 1e150  # squares of larger rewards overflow


def whole(values: npt.ArrayLike, name: str) -> IntArray:
    """Return whole numbers as int64 (k,).

    Raises:
        ValueError: for anything else.
    """
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise ValueError(f"tell: {name} must be a list, found shape {array.shape}")
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"tell: {name} must be whole numbers, found {array.dtype} such as {array.flat[0].item()!r}")
    return array.astype(np.int64)


def scores_of(values: Scores, name: str) -> FloatArray:
    """Return scores as float64 (k,), a copy; None and masked entries become NaN.

    Raises:
        ValueError: for texts and complex numbers, or a finite number above `LARGEST` in magnitude.
    """
    given = np.atleast_1d(cast(npt.ArrayLike, values))  # keeps the mask of a masked array
    if given.dtype.kind in "USc":
        raise ValueError(f"tell: {name} must be numbers or None, found {given.flat[0].item()!r}")
    array = as_rewards(given).astype(np.float64)  # a copy: the caller may reuse its array
    large = np.isfinite(array) & (np.abs(array) > LARGEST)
    if large.any():
        raise ValueError(f"tell: {name} of {array[large][0]:g}: more than {LARGEST:g} in magnitude has no variance")
    return array
