"""Seconds of a step from counts: a model fitted to the timings of a run, or given by its coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from winnow.compare.costs import CostModel, cost_model
from winnow.errors import ConfigError, DataError
from winnow.replay.read import records
from winnow.report.run import number

METRICS = "metrics.jsonl"
NAMES: dict[str, tuple[str, ...]] = {
    "rollouts": ("rollouts",),
    "rows": ("rows",),
    "generate": ("seconds/generate", "timing_s/gen", "generate"),
    "score": ("seconds/score", "timing_s/reward", "score"),
    "update": ("seconds/update", "timing_s/update_actor", "update"),
    "step": ("seconds/step", "timing_s/step", "seconds"),
}
"""What timings are called, one record per step: winnow's ``metrics.jsonl``, verl's metrics, or plain names."""


def find_cost(text: str | None, paths: Sequence[Path]) -> CostModel | None:
    """Return the model of the user's seconds.

    Args:
        text: a file or run folder of timings, a regime or ``a,b,c`` of `winnow.compare.cost_model`, or None: the
            timings beside the log, where there are any.
        paths: where the log is.

    Raises:
        ConfigError: no such regime, or coefficients that are none.
        DataError: the timings cannot be read, or do not tell generation and update apart.
    """
    if text is None:
        beside = [path / METRICS for path in paths if (path / METRICS).is_file()]
        return fit_cost(_read(beside), ", ".join(map(str, beside))) if beside else None
    path = Path(text)
    if path.is_dir():
        path = path / METRICS
    if path.is_file():
        return fit_cost(_read([path]), str(path))
    found = cost_model(text)
    if found.measured:
        raise ConfigError("--cost measured: a replay has no clock of its own; name a run folder or a file of timings")
    return found


def fit_cost(steps: Sequence[Mapping[str, float | None]], source: str) -> CostModel:
    """Fit ``seconds = a + b rollouts + c rows`` to the steps of a run.

    Where generation and update were timed apart, b is the time to generate and score by rollout and c the time of
    updates by row, each a ratio of sums, and a what is left of a step. Where only whole steps were timed, a, b and c
    are the least squares with no coefficient below 0, which needs steps of different sizes.

    Args:
        steps: one mapping per step with the keys of `NAMES`, None for what was not measured.
        source: where they come from, for messages and the note of the model.

    Raises:
        DataError: too little was timed.
    """
    used = [step for step in steps if step["rollouts"]]
    if not used:
        raise DataError(f"{source}: no step with timings and its number of rollouts ({', '.join(NAMES)})")
    table = {name: np.array([_nan(step[name]) for step in used], np.float64) for name in NAMES}
    rollouts, rows = table["rollouts"], np.nan_to_num(table["rows"])
    apart = np.isfinite(table["generate"]) & np.isfinite(table["update"])
    if apart.any() and rows[apart].sum() > 0:
        generate = table["generate"][apart] + np.nan_to_num(table["score"][apart])
        update = table["update"][apart]
        whole = np.where(np.isfinite(table["step"][apart]), table["step"][apart], generate + update)
        b, c = generate.sum() / rollouts[apart].sum(), update.sum() / rows[apart].sum()
        a = max(0.0, float(np.mean(whole - generate - update)))
        return _model(a, float(b), float(c), f"generation and update timed in {int(apart.sum())} steps of {source}")
    whole = table["step"]
    timed = np.isfinite(whole)
    design = np.stack([np.ones(int(timed.sum())), rollouts[timed], rows[timed]], axis=1)
    if timed.sum() < 3 or np.linalg.matrix_rank(design) < 3:
        raise DataError(
            f"{source}: seconds of whole steps tell generation and update apart only if steps differ in rollouts and "
            "rows; log the seconds of both, or give --cost a,b,c"
        )
    from scipy.optimize import nnls

    a, b, c = nnls(design, whole[timed])[0].tolist()
    return _model(a, b, c, f"least squares over {int(timed.sum())} steps of {source}")


def _model(a: float, b: float, c: float, how: str) -> CostModel:
    note = f"{a:.3g} + {b:.3g} per rollout + {c:.3g} per trained row, in seconds per step; {how}"
    return CostModel("fitted", per_step=a, per_rollout=b, per_row=c, note=note)


def _read(paths: Sequence[Path]) -> list[Mapping[str, float | None]]:
    return [_named(record) for path in paths for record in _metrics(path)]


def _metrics(path: Path) -> Iterator[Mapping[str, Any]]:
    for _, record in records(path, []):
        # verl's file logger puts the metrics of a step under "data".
        data = record.get("data")
        yield data if isinstance(data, Mapping) else record


def _named(record: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        role: next((found for name in names if (found := number(record.get(name))) is not None), None)
        for role, names in NAMES.items()
    }


def _nan(value: float | None) -> float:
    return np.nan if value is None else value
