"""Recipes on rollouts that already exist: would another recipe, or another n and m, have made more of them?

`read_log` reads a log, `replay` runs each recipe's own code on it and says what it would have spent and trained, and
what to change, if anything.
"""

from winnow.replay.costs import find_cost, fit_cost
from winnow.replay.log import Log
from winnow.replay.read import read_log
from winnow.replay.run import replay

__all__ = ["Log", "find_cost", "fit_cost", "read_log", "replay"]
