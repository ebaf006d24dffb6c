"""Which prompts a step is about: `Epochs` offers them in shuffled epochs, rules pick among those offered."""

from winnow.curriculum.base import RULES, Choice, Curriculum, Uniform
from winnow.curriculum.dppo_prompts import DppoPrompts
from winnow.curriculum.dps import Dps
from winnow.curriculum.epochs import Epochs
from winnow.curriculum.evict import Evict
from winnow.curriculum.gps import Gps
from winnow.curriculum.greso import Greso
from winnow.curriculum.hive import Hive
from winnow.curriculum.mopps import Mopps
from winnow.curriculum.pcl import Pcl
from winnow.curriculum.recycle import Recycle
from winnow.curriculum.srpo import Srpo

__all__ = [
    "RULES",
    "Choice",
    "Curriculum",
    "DppoPrompts",
    "Dps",
    "Epochs",
    "Evict",
    "Gps",
    "Greso",
    "Hive",
    "Mopps",
    "Pcl",
    "Recycle",
    "Srpo",
    "Uniform",
]
