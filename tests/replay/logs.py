"""Logs with known pass rates."""

import numpy as np

from winnow.replay import Log


def coins(rates, k, seed=0, *, steps=None, lengths=True):
    """A log of k rollouts of prompts with these pass rates; with ``steps``, every prompt in each of so many steps."""
    rng = np.random.default_rng(seed)
    rates = np.asarray(rates, float)
    times = steps or 1
    owner = np.tile(np.repeat(np.arange(len(rates)), k), times)
    rewards = (rng.random(len(owner)) < rates[owner]).astype(float)
    return Log.of(
        owner,
        rewards,
        rng.integers(5, 50, len(owner)) if lengths else None,
        steps=None if steps is None else np.repeat(np.arange(1, steps + 1), len(rates) * k),
    )
