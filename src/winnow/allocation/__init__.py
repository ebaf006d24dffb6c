"""How many rollouts each prompt gets, decided before or while they are drawn."""

from winnow.allocation.ar3po import Ar3po
from winnow.allocation.base import RULES, Allocation, Allocator, Branches, Grant
from winnow.allocation.branch import Branch
from winnow.allocation.cero import Cero
from winnow.allocation.knapsack import Knapsack
from winnow.allocation.pilot_commit import PilotCommit
from winnow.allocation.refill import Refill
from winnow.allocation.reinforce_ada import ReinforceAda
from winnow.allocation.sara import CarriedSara, Sara
from winnow.allocation.speed import Speed
from winnow.allocation.trace import Trace
from winnow.allocation.uniform import Uniform
from winnow.allocation.vigor import Vigor
from winnow.allocation.vine import Vine
from winnow.allocation.vip import Vip
from winnow.allocation.winnow import Winnow
from winnow.allocation.xrpo import Xrpo

__all__ = [
    "RULES",
    "Allocation",
    "Allocator",
    "Ar3po",
    "Branch",
    "Branches",
    "CarriedSara",
    "Cero",
    "Grant",
    "Knapsack",
    "PilotCommit",
    "Refill",
    "ReinforceAda",
    "Sara",
    "Speed",
    "Trace",
    "Uniform",
    "Vigor",
    "Vine",
    "Vip",
    "Winnow",
    "Xrpo",
]
