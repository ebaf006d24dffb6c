"""How many rollouts each prompt gets, decided before or while they are drawn."""

from winnow.allocation.base import RULES, Allocation, Allocator, Branches, Grant
from winnow.allocation.branch import Branch
from winnow.allocation.cero import Cero
from winnow.allocation.knapsack import Knapsack
from winnow.allocation.refill import Refill
from winnow.allocation.trace import Trace
from winnow.allocation.uniform import Uniform
from winnow.allocation.vigor import Vigor
from winnow.allocation.vine import Vine
from winnow.allocation.vip import Vip

__all__ = [
    "RULES",
    "Allocation",
    "Allocator",
    "Branch",
    "Branches",
    "Cero",
    "Grant",
    "Knapsack",
    "Refill",
    "Trace",
    "Uniform",
    "Vigor",
    "Vine",
    "Vip",
]
