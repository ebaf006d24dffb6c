"""Which prompts a step is about."""

from winnow.curriculum.uniform import Uniform

__all__ = ["Uniform"]
