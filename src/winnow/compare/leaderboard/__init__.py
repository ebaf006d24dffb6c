"""All recipes ranked: tuned with equal effort, run at equal budgets, and explained by what was measured."""

from winnow.compare.leaderboard.plan import TASKS, Cell, Plan
from winnow.compare.leaderboard.pool import Outcome, run_cells
from winnow.compare.leaderboard.standings import mean_ranks, ranks, standings
from winnow.compare.leaderboard.table import Board, read_board

__all__ = [
    "TASKS",
    "Board",
    "Cell",
    "Outcome",
    "Plan",
    "mean_ranks",
    "ranks",
    "read_board",
    "run_cells",
    "standings",
]
