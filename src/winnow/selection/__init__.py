"""Which rollouts train: rules that keep m of the n rollouts of every group."""

from winnow.selection.all_rows import all_rows
from winnow.selection.balanced import balanced
from winnow.selection.base import PARTS, RULES, Part, Select, Selection
from winnow.selection.cppo import Cppo
from winnow.selection.dppo import Dppo
from winnow.selection.gfpo import Gfpo
from winnow.selection.marginal import Marginal
from winnow.selection.max_reward import max_reward
from winnow.selection.max_variance import max_variance
from winnow.selection.packing import pack_groups
from winnow.selection.percentile import percentile
from winnow.selection.pilots import Pilots
from winnow.selection.prof import Prof
from winnow.selection.random import random
from winnow.selection.roots import Roots
from winnow.selection.top_advantage import TopAdvantage

__all__ = [
    "PARTS",
    "RULES",
    "Cppo",
    "Dppo",
    "Gfpo",
    "Marginal",
    "Part",
    "Pilots",
    "Prof",
    "Roots",
    "Select",
    "Selection",
    "TopAdvantage",
    "all_rows",
    "balanced",
    "max_reward",
    "max_variance",
    "pack_groups",
    "percentile",
    "random",
]
