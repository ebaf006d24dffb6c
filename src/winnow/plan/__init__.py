"""The arithmetic of a run before it starts: sizes of a step, steps of a run, groups without signal, other trainers.

Batches are counted in prompts. What TRL and verl call a batch is worked out from that by `trl_settings` and
`verl_settings`; `trl_plan` and `verl_plan` add the objective, and `trl_text` and `verl_text` make text of it to paste.
"""

from winnow.plan.able import check_able, refusal
from winnow.plan.hosts import HOSTS, HostPlan, HostSettings, check_host
from winnow.plan.passes import first_pass, first_pass_note, passes_range, passes_text
from winnow.plan.paste import overrides, trl_text, verl_text
from winnow.plan.rows import most_rows, recalled_rows, recipe_step, rollouts_range, rows_at_most, rows_per_prompt
from winnow.plan.signal import no_signal_from_pilot, no_signal_share
from winnow.plan.sizes import MOST_PASSES, StepPlan, check_passes, kept_rows, optimizer_steps, step_plan
from winnow.plan.trl import objective_settings, trl_plan, trl_settings
from winnow.plan.verl import verl_plan, verl_settings

__all__ = [
    "HOSTS",
    "MOST_PASSES",
    "HostPlan",
    "HostSettings",
    "StepPlan",
    "check_able",
    "check_host",
    "check_passes",
    "first_pass",
    "first_pass_note",
    "kept_rows",
    "most_rows",
    "no_signal_from_pilot",
    "no_signal_share",
    "objective_settings",
    "optimizer_steps",
    "overrides",
    "passes_range",
    "passes_text",
    "recalled_rows",
    "recipe_step",
    "refusal",
    "rollouts_range",
    "rows_at_most",
    "rows_per_prompt",
    "step_plan",
    "trl_plan",
    "trl_settings",
    "trl_text",
    "verl_plan",
    "verl_settings",
    "verl_text",
]
