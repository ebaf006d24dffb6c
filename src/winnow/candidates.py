"""The prompts put before a step: what they are called from step to step, and what is known of them beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Candidates:
    """Prompts in the order in which they are offered.

    Attributes:
        ids: int64 (P,) the name under which rules remember a prompt; the same prompt has the same id in every step.
        features: float64 (P, D), one vector per prompt for rules that compare prompts, or None.
    """

    ids: IntArray
    features: FloatArray | None = None

    @classmethod
    def of(cls, ids: Sequence[int | str] | npt.ArrayLike, features: npt.ArrayLike | None = None) -> Candidates:
        """Check and convert.

        Args:
            ids: (P,) whole numbers, or texts, which are hashed to 63 bits.
            features: (P, D) finite numbers, or None.

        Raises:
            ConfigError: if ids repeat or have another type, or features have another length or are not finite.
        """
        names = identities(ids)
        if len(np.unique(names)) < len(names):
            values, counts = np.unique(names, return_counts=True)
            raise ConfigError(f"prompt id {values[counts > 1][0]} comes twice in one step: every prompt needs its own")
        if features is None:
            return cls(names)
        if np.iscomplexobj(features):
            raise ConfigError("features are complex numbers: give real ones")
        vectors = np.asarray(features, np.float64)
        if vectors.ndim != 2 or len(vectors) != len(names):
            raise ConfigError(f"features must have shape ({len(names)}, D), found {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ConfigError("features hold NaN or infinite values")
        return cls(names, vectors)

    def __len__(self) -> int:
        """Return the number of prompts."""
        return len(self.ids)

    def pick(self, places: IntArray) -> Candidates:
        """Return the prompts at these positions."""
        return Candidates(self.ids[places], None if self.features is None else self.features[places])


def identities(ids: Sequence[int | str] | npt.ArrayLike) -> IntArray:
    """Return ids as int64; texts are hashed, so that the same text has the same id in every run and process.

    Raises:
        ConfigError: for anything but whole numbers and texts.

    Complexity: O(P).
    """
    array = np.asarray(ids)
    if array.dtype.kind == "U" and any(not isinstance(name, str) for name in np.asarray(ids, object).ravel()):
        raise ConfigError("ids mix texts and numbers: use one kind, since 1 and '1' would be one prompt")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise ConfigError(f"id {array.max()} does not fit into 63 bits: give texts, which are hashed")
    if array.dtype.kind == "U":
        return np.array([_hash(text) for text in array.tolist()], np.int64)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        found = array.dtype if array.ndim == 1 else f"shape {array.shape}"
        raise ConfigError(f"ids must be a list of whole numbers or texts, found {found}")
    return array.astype(np.int64)


def named_by(texts: Sequence[str]) -> IntArray:
    """Return ids of prompts known by their text alone; of equal texts the k-th is another prompt than the first.

    Complexity: O(characters).
    """
    met: Counter[str] = Counter()
    names = []
    for text in texts:
        names.append(_hash(f"{met[text]}\n{text}"))
        met[text] += 1
    return np.array(names, np.int64)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1
