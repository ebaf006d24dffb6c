"""``winnow simulate``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result
from winnow.cli.replay import recipe

if TYPE_CHECKING:
    from winnow.recipe import Recipe
    from winnow.simulate import Pool, Settings

POOL, ENGINE, LEARNING = "The prompts", "The sampler", "The toy of learning"
DEFAULT = ("grpo", "dapo", "pods", "vigor", "vigor:barrier=false")
EXAMPLES = (
    "winnow simulate --slots 64",
    "winnow simulate grpo greso --pool pareto:1.2 --size 20000 --steps 400",
    "winnow simulate vigor --pool variance:2 --known --learn 0 --prompts 4096 --size 4096",
    "winnow simulate vigor vigor:rounds=2,initial=4,keep=0.25,growth=4 --pool beta:0.3,1 --budget 512",
)


def simulate(
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECIPE]...",
            help=f"NAME or NAME:key=value,...  [dim]default: {' '.join(DEFAULT)}[/dim]",
            autocompletion=o.recipe_names,
            show_default=False,
        ),
    ] = None,
    pool: Annotated[
        str,
        typer.Option(
            metavar="POOL",
            help="Pass rates: beta:A,B, pareto:K, 0.1,0.5,... or a file of them; or variance:K, VIGOR's theory.",
            rich_help_panel=POOL,
        ),
    ] = "beta:0.5,1.5",
    size: Annotated[int, typer.Option(min=1, help="Prompts of the pool.", rich_help_panel=POOL)] = 4000,
    known: Annotated[
        bool,
        typer.Option(
            "--known", metavar=o.FLAG, help="variance:K whose draws show the variance exactly.", rich_help_panel=POOL
        ),
    ] = False,
    prompts: Annotated[int, typer.Option("--prompts", min=1, help="Prompts per step.", rich_help_panel=o.SIZES)] = 64,
    steps: Annotated[int, typer.Option(min=1, help="Steps.", rich_help_panel=o.SIZES)] = 50,
    budget: Annotated[
        int | None,
        typer.Option(
            min=2, help="Rollouts per step  [dim]default: the recipe's n per prompt[/dim]", rich_help_panel=o.SIZES
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1, help="Rollouts at a time  [dim]default: no clock, which is faster[/dim]", rich_help_panel=ENGINE
        ),
    ] = None,
    length: Annotated[float, typer.Option(min=1, help="Mean tokens of a rollout.", rich_help_panel=ENGINE)] = 200.0,
    tail: Annotated[
        float, typer.Option(min=0, max=5, help="Deviation of log length; 0: all equal.", rich_help_panel=ENGINE)
    ] = 1.0,
    longest: Annotated[int, typer.Option(min=1, help="Most tokens of a rollout.", rich_help_panel=ENGINE)] = 2048,
    learn: Annotated[
        float,
        typer.Option(min=0, help="Log-odds per unit of signal; 0: nothing is learned.", rich_help_panel=LEARNING),
    ] = 0.1,
    shared: Annotated[
        float, typer.Option(min=0, max=1, help="Part of it that goes to all prompts.", rich_help_panel=LEARNING)
    ] = 0.1,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """See what recipes do to imaginary prompts with known pass rates.

    Counts what they generate, train and leave of their budget, how long slots of a sampler stand idle when rollouts
    have long tails, and what deciding costs. Learning is a toy: compare counts with it, not accuracies. Losses are not
    simulated; recipes that a pool cannot show are listed with the reason.
    """
    from winnow import simulate as core

    chosen = {text: recipe(text) for text in recipes or DEFAULT}
    made = core.make_pool(pool, size, seed or 0, known=known)
    settings = core.Settings(
        prompts=prompts,
        steps=steps,
        budget=budget,
        lengths=core.Lengths(length, tail, longest),
        slots=slots,
        learning=core.Learning(learn, shared),
        seed=seed or 0,
    )
    progress = _progress(quiet or as_json)
    found, skipped = _each(made, chosen, settings, progress)
    progress("", 0)
    facts = {
        "pool": pool,
        "size": len(made),
        "prompts": prompts,
        "steps": steps,
        "slots": slots,
        "theory": core.predictions(pool, {label: chosen[label] for label in found}),
        "recipes": found,
        "skipped": skipped,
        "notes": _notes(made, {label: chosen[label] for label in found}, prompts),
    }
    if as_json:
        print(json.dumps(facts), file=result())
    else:
        from winnow.cli.simulate_text import show

        show(facts)


def _each(
    pool: Pool, chosen: Mapping[str, Recipe], settings: Settings, progress: Callable[[str, int], None]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Simulate one recipe after the other; return what was found, and why the others were not simulated.

    Raises:
        ConfigError: none of them can be, or the pool is too small for a step.
    """
    from winnow.errors import BudgetError, ConfigError
    from winnow.simulate import simulate as run
    from winnow.simulate import unsuited

    settings.check(pool)
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for label, each in chosen.items():
        reason = unsuited(each)
        try:
            if not reason:
                found |= run(pool, {label: each}, settings, progress)
        except (ConfigError, BudgetError) as error:
            reason = str(error)
        if reason:
            skipped[label] = reason
    if not found:
        progress("", 0)
        reasons = dict.fromkeys(skipped.values())
        alike = {reason: ", ".join(label for label in skipped if skipped[label] == reason) for reason in reasons}
        raise ConfigError("nothing to simulate. " + "; ".join(f"{who}: {reason}" for reason, who in alike.items()))
    return found, skipped


def _notes(pool: Pool, simulated: Mapping[str, Recipe], prompts: int) -> list[str]:
    """Say what the figures leave out."""
    import winnow

    notes, plain = [], winnow.recipe("grpo").objective
    if losses := [label for label, each in simulated.items() if each.objective != plain]:
        whose = "its" if len(losses) == 1 else "their"
        notes.append(f"{', '.join(losses)}: {whose} loss is another than grpo's, and losses are not simulated")
    if short := [label for label, each in simulated.items() if prompts * each.pool > len(pool)]:
        asks = "asks" if len(short) == 1 else "ask"
        notes.append(f"{', '.join(short)} {asks} for more spare prompts than the pool of {len(pool):,} has")
    return notes


def _progress(quiet: bool) -> Callable[[str, int], None]:
    """Return what shows the step at work: a line that is overwritten on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        return lambda label, step: None
    return lambda label, step: print(f"\r\033[K{label} {step or ''}", end="", file=sys.stderr, flush=True)
