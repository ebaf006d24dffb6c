"""Recipes on imaginary prompts: pass rates that are known, a toy of learning, and a sampler of slots and long tails.

`Pool` holds the prompts, `simulate` runs recipes on it, `theory` has the closed forms that a simulation should
reproduce.
"""

from winnow.simulate.engine import Lengths
from winnow.simulate.pool import Learning, Pool, make_pool
from winnow.simulate.run import Settings, simulate, unsuited
from winnow.simulate.theory import predictions

__all__ = ["Learning", "Lengths", "Pool", "Settings", "make_pool", "predictions", "simulate", "unsuited"]
