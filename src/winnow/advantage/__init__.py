"""What each rollout is worth: advantages inside a group, and the weight of a group against others."""

from winnow.advantage.base import PARTS, RULES, Advantage, Part, signal
from winnow.advantage.centred import centred
from winnow.advantage.contrast import Contrast
from winnow.advantage.cue import Cue
from winnow.advantage.gcpo import Gcpo
from winnow.advantage.grpo import grpo
from winnow.advantage.maxrl import maxrl
from winnow.advantage.nsr import Nsr
from winnow.advantage.opo import opo
from winnow.advantage.overlong import Overlong, overlong_penalty
from winnow.advantage.prime import Prime
from winnow.advantage.raft import raft, reinforce_rej
from winnow.advantage.reinforce_pp import reinforce_pp
from winnow.advantage.returns import returns_to_go
from winnow.advantage.rloo import rloo
from winnow.advantage.seed import Seed
from winnow.advantage.segments import Segments
from winnow.advantage.weights import WEIGHT_RULES, group_weights
from winnow.advantage.whitened import Whitened
from winnow.advantage.ws_grpo import WsGrpo

__all__ = [
    "PARTS",
    "RULES",
    "WEIGHT_RULES",
    "Advantage",
    "Contrast",
    "Cue",
    "Gcpo",
    "Nsr",
    "Overlong",
    "Part",
    "Prime",
    "Seed",
    "Segments",
    "Whitened",
    "WsGrpo",
    "centred",
    "group_weights",
    "grpo",
    "maxrl",
    "opo",
    "overlong_penalty",
    "raft",
    "reinforce_pp",
    "reinforce_rej",
    "returns_to_go",
    "rloo",
    "signal",
]
