"""What each rollout is worth: advantages inside a group, and the weight of a group against others."""

from winnow.advantage.base import PARTS, RULES, Advantage, Part, signal
from winnow.advantage.centred import centred
from winnow.advantage.grpo import grpo
from winnow.advantage.nsr import Nsr
from winnow.advantage.reinforce_pp import reinforce_pp
from winnow.advantage.returns import returns_to_go
from winnow.advantage.rloo import rloo
from winnow.advantage.segments import Segments
from winnow.advantage.weights import WEIGHT_RULES, group_weights

__all__ = [
    "PARTS",
    "RULES",
    "WEIGHT_RULES",
    "Advantage",
    "Nsr",
    "Part",
    "Segments",
    "centred",
    "group_weights",
    "grpo",
    "reinforce_pp",
    "returns_to_go",
    "rloo",
    "signal",
]
