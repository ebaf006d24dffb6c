"""Recipes side by side: the same model, data and seeds at the same budget, with intervals over seeds."""

from winnow.compare.arms import Arm, Experiment
from winnow.compare.costs import CostModel, cost_model
from winnow.compare.result import Comparison, compare_runs
from winnow.compare.runner import Job, run_jobs
from winnow.compare.statistics import Estimate, to_target

__all__ = [
    "Arm",
    "Comparison",
    "CostModel",
    "Estimate",
    "Experiment",
    "Job",
    "compare_runs",
    "cost_model",
    "run_jobs",
    "to_target",
]
