"""Vectors for texts without a model: hashed character trigrams (ours), a stand-in for sentence embeddings."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from winnow.groups import FloatArray

SIZE = 256


def hashed(texts: Sequence[str], size: int = SIZE) -> FloatArray:
    """Return one unit vector per text: counts of character trigrams, hashed into ``size`` places with a random sign.

    Texts that share wording lie close (their inner product is near 1), whatever they mean. An empty text is the zero
    vector. The same text gives the same vector on every machine.

    Args:
        texts: (P,).
        size: length of the vectors.

    Returns:
        float64 (P, size).

    Complexity: O(characters).
    """
    vectors = np.zeros((len(texts), size))
    for row, text in enumerate(texts):
        data = f"  {text} ".encode("utf-8", "surrogatepass")
        codes = np.array([zlib.crc32(data[at : at + 3]) for at in range(len(data) - 2)] if text else [], np.int64)
        np.add.at(vectors[row], codes % size, 1.0 - 2.0 * (codes >> 31))
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)
