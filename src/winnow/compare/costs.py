"""What a step costs: seconds as measured, or recomputed from its counts under a named regime.

Recomputing lets one set of runs answer for other hardware: the counts of prompts, rollouts and
trained rows stay as they were, only their price changes. Evaluation is never charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winnow.errors import ConfigError, unknown
from winnow.report.run import Floats, Record, number


@dataclass(frozen=True)
class CostModel:
    """Seconds of a step as a linear function of its counts.

    Attributes:
        name: what the command line calls it.
        per_prompt: seconds for every prompt of the step.
        per_rollout: seconds for every generated rollout.
        per_row: seconds for every trained row.
        per_step: seconds for the step itself.
        per_wave: seconds for every wave of requests of the step.
        note: where the numbers come from.
    """

    name: str
    per_prompt: float = 0.0
    per_rollout: float = 0.0
    per_row: float = 0.0
    per_step: float = 0.0
    per_wave: float = 0.0
    note: str = ""

    @property
    def measured(self) -> bool:
        """Whether the clock of the run is used instead of the coefficients."""
        return self.name == "measured"

    def cumulative(self, steps: Sequence[Record]) -> Floats:
        """Return the seconds spent by the end of each step, shape (S,); NaN where not measured.

        A record without rollouts (the evaluation before training) costs nothing.
        """
        if self.measured:
            return np.array([_or_nan(step.get("total/seconds")) for step in steps], dtype=np.float64)
        spent = [self._step(step) for step in steps]
        return np.cumsum(np.array(spent, dtype=np.float64))

    def _step(self, step: Record) -> float:
        rollouts = number(step.get("rollouts")) or 0.0
        if not rollouts:
            return 0.0
        prompts = _or_nan(step.get("prompts"))
        rows = _or_nan(step.get("rows"))
        waves = _or_nan(step.get("waves")) if self.per_wave else 0.0
        fixed = self.per_step + self.per_wave * waves
        return fixed + self.per_prompt * prompts + self.per_rollout * rollouts + self.per_row * rows


# Fitted to the eight single-GPU settings published with PODS (1 prompt per step, 3B model, LoRA, one
# L40S; largest error 0.36 s), which leaves open whether the constant is per step or per prompt.
PODS = (4.41, 0.0584, 0.1227)

REGIMES = {
    model.name: model
    for model in (
        CostModel("measured", note="seconds of these runs, evaluation left out"),
        CostModel("pods", *PODS, note="4.41 + 0.058 n + 0.123 m seconds per step and prompt, fitted to one GPU"),
        CostModel("pods-step", 0.0, *PODS[1:], PODS[0], note="as pods, the constant once per step, not per prompt"),
        CostModel("update-bound", *PODS[:2], 5 * PODS[2], note="as pods, the update term times 5"),
    )
}
"""The named prices; three coefficients ``"a,b,c"`` name any other (`cost_model`)."""


def cost_model(text: str) -> CostModel:
    """Return the regime named ``text``, or the one of three coefficients ``"a,b,c"``.

    The coefficients are seconds per step and prompt: a + b n + c m, with n rollouts and m trained
    rows per prompt.

    Raises:
        ConfigError: neither a known name nor three numbers of at least 0.
    """
    if text in REGIMES:
        return REGIMES[text]
    if "," not in text:
        raise unknown("cost regime", text, [*REGIMES, "a,b,c"])
    try:
        a, b, c = (float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--cost {text!r}: give three numbers a,b,c for a + b n + c m seconds") from None
    if not all(np.isfinite(value) and value >= 0 for value in (a, b, c)):
        raise ConfigError(f"--cost {text!r}: the coefficients must be finite and at least 0")
    return CostModel(text, a, b, c, note=f"{a:g} + {b:g} n + {c:g} m seconds per step and prompt")


def _or_nan(value: object) -> float:
    found = number(value)
    return float("nan") if found is None else found
