"""Clusters of equal answers inside groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray, IntArray


def answer_codes(answers: npt.ArrayLike) -> IntArray:
    """Return one number per distinct answer (N,); None and NaN, "no answer", are one answer.

    Complexity: O(N).
    """
    codes: dict[Any, int] = {}
    texts = np.asarray(answers, object).tolist()
    known = (None if text != text else text for text in texts)
    return np.fromiter((codes.setdefault(text, len(codes)) for text in known), np.int64, len(texts))


def cluster_sizes(codes: IntArray, groups: npt.NDArray[np.generic]) -> FloatArray:
    """Return for each row how many rows of its group have its code (N,). Complexity: O(N log N)."""
    if not len(codes):
        return np.zeros(0)
    order = np.lexsort((codes, groups))
    new = np.ones(len(order), bool)
    new[1:] = (codes[order[1:]] != codes[order[:-1]]) | (groups[order[1:]] != groups[order[:-1]])
    sizes = np.empty(len(order))
    sizes[order] = np.bincount(np.cumsum(new) - 1)[np.cumsum(new) - 1]
    return sizes
