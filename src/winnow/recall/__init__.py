"""Rollouts of earlier steps that train again, beside those of this one."""

from winnow.recall.repo import STRATEGIES, Recalled, Repo

__all__ = ["STRATEGIES", "Recalled", "Repo"]
