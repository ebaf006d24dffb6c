"""Settings of other trainers as text to paste: a `GRPOConfig` for TRL, hydra overrides for verl."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.budget import Budget
    from winnow.plan.hosts import HostPlan


def trl_text(plan: HostPlan, name: str, overrides: Mapping[str, Any], budget: Budget | None = None) -> str:
    """Return Python that makes the `GRPOConfig`, the recipe and the budget of a plan.

    Args:
        plan: of `winnow.plan.trl_plan`.
        name: of the recipe.
        overrides: its settings.
        budget: of a step, None for the recipe's own.
    """
    # What TRL has no value for is what it does by default.
    settings = {key: value for key, value in plan.settings.items() if value is not None}
    first = [key for key in (*plan.sizes.settings, *plan.objective) if key in settings]
    rest = [key for key in settings if key not in first]
    options = "".join(f", {key}={_python(value)}" for key, value in overrides.items())
    trainer = "trainer = WinnowGRPOTrainer(..., args=args, recipe=recipe{})"
    spent = []
    if budget is not None:
        unit = "rollouts" if budget.rollouts is not None else "tokens"
        spent = [f"budget = winnow.Budget({unit}={getattr(budget, unit)})"]
    lines = [
        *_comments(plan),
        "import winnow",
        "from trl import GRPOConfig",
        "from winnow.host.trl import WinnowGRPOTrainer",
        "",
        "args = GRPOConfig(",
        *(f"    {key}={_python(settings[key])}," for key in (*first, *rest)),
        ")",
        f"recipe = winnow.recipe({_python(name)}{options})",
        *spent,
        "# " + trainer.format(", budget=budget" if spent else ""),
    ]
    return "\n".join(lines) + "\n"


def verl_text(plan: HostPlan) -> str:
    """Return the shell command that starts verl with the settings of a plan.

    Args:
        plan: of `winnow.plan.verl_plan`.
    """
    lines = ["python3 -m verl.trainer.main_ppo", *(f"    {shlex.quote(line)}" for line in overrides(plan))]
    yours = "# yours to add: data.train_files, data.val_files, actor_rollout_ref.model.path, the reward"
    return "\n".join((*_comments(plan), yours, " \\\n".join(lines))) + "\n"


def overrides(plan: HostPlan) -> list[str]:
    """Return the settings of a plan as hydra overrides, ``key=value``, winnow's own first."""
    settings = plan.recipe | plan.settings
    return [f"{key}={_hydra(value)}" for key, value in settings.items()]


def _comments(plan: HostPlan) -> Iterable[str]:
    return (f"# {line}" for line in (*plan.sizes.changed, *plan.sizes.rules, *plan.limits))


def _python(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _hydra(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_hydra(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_hydra, value)) + "]"
    if isinstance(value, str) and not re.fullmatch(r"[\w+./:-]+|\$\{[\w.]+\}", value):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)
