"""Which prompts a step is about: `Epochs` offers them in shuffled epochs, rules pick among those offered."""

from winnow.curriculum.base import RULES, Choice, Curriculum, Uniform
from winnow.curriculum.epochs import Epochs
from winnow.curriculum.greso import Greso

__all__ = ["RULES", "Choice", "Curriculum", "Epochs", "Greso", "Uniform"]
