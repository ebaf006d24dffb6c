"""Writes the page, its figures and the numbers behind them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winnow.compare.leaderboard import findings, page, pictures, pricing
from winnow.compare.leaderboard.table import Board, Line, read_board
from winnow.compare.statistics import bootstrap, mean


def publish(folder: Path, page_path: Path, json_path: Path, environment: Mapping[str, Any] | None = None) -> Board:
    """Write ``page_path``, its figures in ``figures/`` beside it and ``json_path``; return what they show.

    Raises:
        DataError: ``folder`` is no leaderboard.
        MissingExtra: matplotlib is not installed.
    """
    from winnow.report import style

    board = read_board(folder)
    figures = {}
    if pictures.order(board):
        for name, draw in (("ranks", pictures.mean_ranks), ("explained", pictures.explained)):
            path = style.save(draw(board), page_path.parent / "figures" / f"{page_path.stem}-{name}.png")
            figures[name] = path.relative_to(page_path.parent).as_posix()
    written = {"environment": dict(environment or {}), **as_dict(board)}
    for path, text in (
        (json_path, json.dumps(written, allow_nan=False) + "\n"),
        (page_path, page.render(board, figures)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(path.name + ".part")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    return board


def as_dict(board: Board) -> dict[str, Any]:
    """Return everything the page shows, for JSON: None in place of what is missing."""
    tasks = board.plan.tasks
    ranks = {timed: board.places(timed=timed) for timed in (False, True)}
    by_task = {
        task: {
            "rank": board.places(task),
            "rank_timed": board.places(task, timed=True),
            "gain": board.gains(task),
            "gain_timed": board.gains(task, timed=True),
        }
        for task in tasks
    }
    return {
        "plan": board.plan.as_dict(),
        "price": None
        if board.price is None
        else {
            **{term: getattr(board.price.model, term) for term in pricing.TERMS},
            "error": board.price.error,
            "runs": board.price.runs,
        },
        "seconds": dict(board.budget),
        "cpu_seconds": board.cpu_seconds,
        "findings": list(findings.sentences(board)),
        "correlations": {
            task: {name: estimate.as_dict() for name, estimate in findings.correlations(board, task).items()}
            for task in tasks
        },
        "recipes": [
            {
                "recipe": line.recipe,
                "family": line.family,
                "lr": line.lr,
                "cost_factor": board.factors.get(line.recipe),
                "tuned": {f"{lr:g}": value for lr, value in line.tuned.items()},
                "errors": dict(line.errors),
                "mean_rank": ranks[False][place].as_dict(),
                "mean_rank_timed": ranks[True][place].as_dict(),
                "tasks": {
                    task: {
                        **{name: found[place].as_dict() for name, found in by_task[task].items()},
                        **_cell(board, line, task),
                    }
                    for task in tasks
                },
            }
            for place, line in enumerate(board.lines)
        ],
    }


def _cell(board: Board, line: Line, task: str) -> dict[str, Any]:
    runs = {seed: record for (name, seed), record in sorted(line.runs.items()) if name == task}
    final = bootstrap([record["curve"]["accuracy"][-1] for record in runs.values()], mean)
    return {
        "seeds": list(runs),
        "final_accuracy": final.as_dict(),
        "curves": {seed: record["curve"] for seed, record in runs.items()},
        "seconds": line.mean(task, board.spent),
        "cpu_seconds": line.mean(task, pricing.measured),
        **{name.removeprefix("the "): read(line, task) for name, read in findings.QUANTITIES.items()},
    }
