"""How many rollouts each prompt gets, decided before or while they are drawn."""

from winnow.allocation.base import RULES, Allocation, Allocator, Grant
from winnow.allocation.refill import Refill
from winnow.allocation.uniform import Uniform
from winnow.allocation.vigor import Vigor

__all__ = ["RULES", "Allocation", "Allocator", "Grant", "Refill", "Uniform", "Vigor"]
