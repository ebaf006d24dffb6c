"""The random numbers of a rollout: a function of (seed, prompt index, draw) and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def uniforms(seed: int | Sequence[int], prompt: int, draw: int, count: int) -> npt.NDArray[np.float32]:
    """Return the ``count`` uniforms in [0, 1) that decide the tokens of one rollout.

    Args:
        seed: entropy of the step, one non-negative integer or several.
        prompt: index of the prompt in the session.
        draw: number of the rollout among those of its prompt.
        count: how many tokens the rollout can have at most.

    Returns:
        float32 (count,); a longer request starts with the same numbers.
    """
    words = [seed] if isinstance(seed, int) else list(seed)
    # The length keeps (1,) + prompt 2 and (1, 2) + prompt 0 apart.
    source = np.random.default_rng([len(words), *words, prompt, draw])
    return source.random(count, dtype=np.float32)
