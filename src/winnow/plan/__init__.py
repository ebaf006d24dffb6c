"""The arithmetic of a run before it starts: sizes of a step, steps of a run, groups without signal.

Batches are counted in prompts. What other trainers call a batch is worked out from that by
`trl_settings` and `verl_settings`.
"""

from winnow.plan.hosts import HostSettings, trl_settings, verl_settings
from winnow.plan.signal import no_signal_from_pilot, no_signal_share
from winnow.plan.sizes import MOST_PASSES, StepPlan, kept_rows, optimizer_steps, step_plan

__all__ = [
    "MOST_PASSES",
    "HostSettings",
    "StepPlan",
    "kept_rows",
    "no_signal_from_pilot",
    "no_signal_share",
    "optimizer_steps",
    "step_plan",
    "trl_settings",
    "verl_settings",
]
