"""``winnow plan``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result
from winnow.cli.plan_hosts import asked_for, budget_of, check_host, host_names, hosts_facts

if TYPE_CHECKING:
    from winnow.recipe import Recipe
    from winnow.train import TrainConfig

HOST = "Other trainers"
SHOWN = ("recipe", "task", "model", "prompts_per_step", "n", "m", "micro_batch", "lr", "epochs", "minibatches")
"""Settings that are told with where they came from."""
SIZES = (2, 4, 8, 16, 32, 64)
EXAMPLES = (
    "winnow plan",
    "winnow plan --recipe pods --n 32 --m 8 --prompts 6 --micro-batch 4 --pass-rate 0.2",
    "winnow plan --task my.jsonl --model ./my-model --pilot 64",
    "winnow plan --recipe pods --n 16 --m 4 --host trl --gpus 4",
)


def plan(
    recipe: o.Recipe = None,
    assign: o.Set = None,
    task: o.Task = None,
    model: o.Model = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    file_format: o.Format = None,
    drop_bad_rows: o.DropBadRows = None,
    n: o.N = None,
    m: o.M = None,
    prompts: o.Prompts = None,
    micro_batch: o.MicroBatch = None,
    steps: Annotated[int | None, typer.Option(help="Steps of the run.", rich_help_panel=o.SIZES)] = None,
    passes: Annotated[
        float | None, typer.Option(help="Passes over the data instead of --steps.", rich_help_panel=o.SIZES)
    ] = None,
    pass_rate: Annotated[
        list[float] | None,
        typer.Option(metavar="SHARE", help="Guessed pass rate of a prompt; may be repeated."),
    ] = None,
    pilot: Annotated[
        int | None, typer.Option(min=1, metavar="PROMPTS", help="Measure pass rates on so many prompts instead.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="trl|verl",
            help="Print the settings of this trainer only, ready to paste.",
            autocompletion=host_names,
            rich_help_panel=HOST,
        ),
    ] = None,
    processes: Annotated[
        int,
        typer.Option(
            "--gpus", "--processes", min=1, help="GPUs of that trainer, or its processes.", rich_help_panel=HOST
        ),
    ] = 1,
    config: o.Config = None,
    as_json: o.Json = False,
) -> None:
    """Work out a run before it starts: sizes, steps, groups without signal, TRL and verl settings.

    Everything is counted in prompts; each value says where it came from.
    """
    from winnow.plan import check_passes
    from winnow.train import load_config

    check_host(host, pass_rate, pilot)
    if passes is not None:
        check_passes(passes)
    given = o.settings(
        [
            ("recipe", recipe), ("task", task), ("model", model), ("prompt_column", prompt_column),
            ("answer_column", answer_column), ("reward", reward), ("format", file_format),
            ("drop_bad_rows", drop_bad_rows), ("n", n), ("m", m), ("prompts_per_step", prompts),
            ("micro_batch", micro_batch), ("steps", steps),
        ],
        assign,
    )  # fmt: skip
    resolved, provenance = load_config(config, given)
    # Without a task of the user's, the settings of another trainer are for data that only that trainer sees.
    own_data = host is None or provenance["task"] != "default"
    facts = work_out(resolved, provenance, passes, with_data=own_data)
    if host is None:
        facts["signal"] = _signal(resolved, _group_size(facts["step"]), pass_rate, pilot)
    asked = asked_for(resolved, provenance, facts["run"]["steps"], passes)
    facts["hosts"] = hosts_facts(resolved, processes, asked, host)
    if as_json:
        print(json.dumps(facts), file=result())
    elif host is not None:
        print(facts["hosts"][host]["text"], end="", file=result())
    else:
        from winnow.cli.plan_text import show

        show(facts)


def work_out(
    config: TrainConfig, provenance: dict[str, Any], passes: float | None, *, with_data: bool = True
) -> dict[str, Any]:
    """Return the sizes of the run, and for each setting they rest on its value and source.

    Args:
        config: the settings.
        provenance: where each came from.
        passes: passes over the data, which set the number of steps; None takes the limits of the settings.
        with_data: load the task, to know how many prompts there are.

    Raises:
        ConfigError: sizes contradict each other.
        DataError: the data does not fill a step.
    """
    from winnow.plan import first_pass_note, optimizer_steps, passes_range
    from winnow.train.prepare import check_recipe, load_task

    recipe = check_recipe(config)
    step = _step(config, recipe)
    rows = len(load_task(config).train) if with_data else None
    per_step = step["updates"]
    if passes is not None and rows is not None:
        updates = optimizer_steps(rows, config.prompts_per_step, passes, updates_per_step=per_step)
        steps: int | None = updates // per_step
        fewest = steps
    else:
        steps, fewest = (_steps(config, step[f"rollouts_at_{end}"]) for end in ("least", "most"))
    run: dict[str, float | None] = {"prompts_in_data": rows, "steps": steps}
    notes = _budget_notes(config, recipe, step)
    if steps is not None and fewest is not None:
        limit = None if passes is not None else config.limits.get("rollouts")
        run |= {
            "steps_at_least": fewest,
            "optimizer_steps": steps * per_step,
            "rollouts": _within(limit, steps * step["rollouts_at_least"]),
            "rollouts_at_most": _within(limit, steps * step["rollouts_at_most"]),
            "rows_at_most": steps * step["rows_at_most"],
        }
        least, most = passes_range(recipe, config.prompts_per_step, steps, rows) if rows else (None, None)
        run |= {"passes_over_the_data": least, "passes_at_most": most}
        if rows and (note := first_pass_note(recipe, config.prompts_per_step, steps, rows)):
            notes.append(note)
    sources = {name: {"value": getattr(config, name), "from": _source(name, config, provenance)} for name in SHOWN}
    if config.rollouts_per_step is not None:
        sources["rollouts_per_step"] = {
            "value": config.rollouts_per_step, "from": _source("rollouts_per_step", config, provenance)
        }  # fmt: skip
    sources["n"]["value"], sources["m"]["value"] = recipe.allocation.n, recipe.selection.m
    return {"settings": sources, "step": step, "run": run, "notes": notes}


def _step(config: TrainConfig, recipe: Recipe) -> dict[str, Any]:
    from dataclasses import asdict

    from winnow.plan import recalled_rows, recipe_step, rollouts_range, rows_at_most

    budget = budget_of(config)
    step = recipe_step(
        recipe,
        config.prompts_per_step,
        micro_batch=config.micro_batch,
        epochs=config.epochs,
        minibatches=config.minibatches,
        budget=budget,
    )
    least, most = rollouts_range(recipe, config.prompts_per_step, budget)
    return asdict(step) | {
        "rollouts_at_least": least,
        "rollouts_at_most": most,
        "recalled_at_most": recalled_rows(recipe, config.prompts_per_step),
        "rows_at_most": rows_at_most(recipe, step, budget),
    }


def _budget_notes(config: TrainConfig, recipe: Recipe, step: dict[str, Any]) -> list[str]:
    """Say where sizes are not those of the budget of a step."""
    rollouts, tokens = config.rollouts_per_step, config.tokens_per_step
    if tokens is not None:
        return [
            f"a step spends up to {tokens:,} tokens, and lengths decide how many rollouts that is; the sizes above are "
            f"those of n={recipe.allocation.n} for every prompt"
        ]
    if rollouts is not None and rollouts > step["rollouts_at_most"]:
        return [
            f"rollouts_per_step={rollouts:,} is more than recipe {recipe.name} draws, at most "
            f"{step['rollouts_at_most']:,}: the rest is left over; raise n, or lower rollouts_per_step"
        ]
    return []


def _group_size(step: dict[str, Any]) -> int:
    """Return the mean rollouts of a group: n, unless a budget gives every prompt more or less."""
    if step["rollouts_at_least"] < step["rollouts_at_most"]:
        return int(step["n"])  # a recipe with spare prompts begins fewer of them and completes each
    return int(step["rollouts"]) // int(step["prompts"])


def _steps(config: TrainConfig, rollouts: int) -> int | None:
    limits = config.limits
    counted = [int(limits["steps"])] if "steps" in limits else []
    if "rollouts" in limits:
        counted.append(-(-int(limits["rollouts"]) // rollouts))
    return min(counted) if counted else None


def _within(limit: float | None, rollouts: int) -> int:
    return rollouts if limit is None else min(int(limit), rollouts)


def _source(name: str, config: TrainConfig, provenance: dict[str, Any]) -> str:
    source = str(provenance.get(name, "default"))
    return "recipe" if source == "default" and name in ("n", "m") else source


def _signal(config: TrainConfig, n: int, rates: list[float] | None, pilot: int | None) -> dict[str, Any]:
    from winnow.plan import no_signal_share

    sizes = sorted({*SIZES, n})
    if pilot is not None:
        from winnow.pilot.planned import planned

        return planned(config, pilot, n)
    guesses = rates or [0.1, 0.3, 0.5, 0.7, 0.9]
    shares = [float(no_signal_share(guesses, size).mean()) for size in sizes]
    return {
        "from": f"pass rate {', '.join(f'{rate:g}' for rate in guesses)}"
        + ("" if rates else " (a guess: no --pass-rate)"),
        "at_n": shares[sizes.index(n)],
        "by_n": dict(zip(map(str, sizes), shares, strict=True)),
    }
