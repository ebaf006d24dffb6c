"""``winnow check``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.reward import Reward
    from winnow.train import TrainConfig
    from winnow.train.prepare import Setup

GOLDS = 500
SHOWN = 5
BARE, BOXED = "{}", r"\boxed{{{}}}"
FORMS = {"strict": BOXED, "lenient": BOXED, "boxed": BOXED, "marker": "#### {}"}
"""Where a verifier looks for the answer, by its ``extract``."""
EXAMPLES = (
    "winnow check --task my.jsonl --model ./my-model",
    "winnow check --task my.jsonl --reward rewards.py:score --no-step",
    "winnow check --recipe pods --n 64 --m 16 --set max_new_tokens=512",
)


def check(
    recipe: o.Recipe = None,
    assign: o.Set = None,
    no_step: Annotated[bool, typer.Option("--no-step", metavar=o.FLAG, help="Leave the worst-case step out.")] = False,
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
    config: o.Config = None,
    as_json: o.Json = False,
) -> None:
    """Find out before a run what would stop it: data, golds, template, memory.

    Reads every row, judges the gold answers with the reward, prints one prompt exactly as the model
    sees it, and takes one step of the longest prompts and completions the settings allow. Nothing is
    saved.
    """
    from winnow.train import load_config
    from winnow.train.prepare import prepare

    given = o.settings(
        [
            ("recipe", recipe), ("task", task), ("model", model), ("prompt_column", prompt_column),
            ("answer_column", answer_column), ("reward", reward), ("format", file_format),
            ("drop_bad_rows", drop_bad_rows), ("n", n), ("m", m), ("prompts_per_step", prompts),
            ("micro_batch", micro_batch),
        ],
        assign,
    )  # fmt: skip
    resolved, _ = load_config(config, given)
    setup = prepare(resolved)
    facts = _data(setup) | {"golds": golds(setup), "prompt": _example(setup)}
    if not no_step:
        from winnow.cli.worst_case import worst_case

        facts["worst_case"] = worst_case(resolved, setup)
    if as_json:
        print(json.dumps(facts), file=result())
    else:
        _show(facts, resolved)


def golds(setup: Setup) -> dict[str, Any]:
    """Judge gold answers as if the policy had written them where the reward looks: each should earn the full reward.

    Returns:
        ``checked`` and ``accepted`` counts over the first rows that have a gold, and examples of the others.
        A reward function that wants a format of its own need not accept any.
    """
    from winnow.reward import Item
    from winnow.train.collect import judged

    rows = [prompt for prompt in (*setup.train.prompts, *setup.test.prompts) if prompt.answer is not None][:GOLDS]
    form = _form(setup.task.reward)
    verdicts = setup.task.reward.score([Item(row, form.format(row.answer), f"gold/{row.id}") for row in rows])
    refused = [
        {"id": row.id, "gold": row.answer, "outcome": judged(verdict), "reason": verdict.reason}
        for row, verdict in zip(rows, verdicts, strict=True)
        if (judged(verdict) or 0.0) < 1.0
    ]
    return {"checked": len(rows), "accepted": len(rows) - len(refused), "refused": refused[:SHOWN]}


def _form(reward: Reward) -> str:
    """Return how a completion has to write the answer, with ``{}`` in its place."""
    from winnow.reward.combined import Combined

    if isinstance(reward, Combined):
        return next((form for form in map(_form, reward.rewards) if form != BARE), BARE)
    return FORMS.get(str(getattr(reward, "extract", "")), BARE)


def _data(setup: Setup) -> dict[str, Any]:
    lengths = [len(ids) for ids in setup.train.encoded]
    return {
        "task": setup.task.name,
        "train": len(setup.train),
        "test": len(setup.test),
        "reward": setup.task.reward.name,
        "model": setup.model_name,
        "notes": list(setup.notes),
        "prompt_tokens": {"mean": sum(lengths) / len(lengths), "max": max(lengths)},
    }


def _example(setup: Setup) -> dict[str, Any]:
    prompt, ids = setup.train.prompts[0], setup.train.encoded[0]
    return {
        "id": prompt.id,
        "text": setup.tokenizer.decode(ids, skip_special_tokens=False),
        "tokens": len(ids),
        "gold": prompt.answer,
    }


def _show(facts: dict[str, Any], config: TrainConfig) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel

    console = Console(highlight=False)
    lengths = facts["prompt_tokens"]
    console.print(
        f"[bold]Data[/bold]    {escape(facts['task'])}: {facts['train']:,} to train on, {facts['test']:,} held out"
    )
    console.print(f"        prompts of {lengths['mean']:.0f} tokens on average, {lengths['max']} at most")
    console.print(f"[bold]Model[/bold]   {escape(facts['model'])}")
    for note in facts["notes"]:
        console.print(f"[yellow]note[/yellow]    {escape(note)}")
    found = facts["golds"]
    colour = "green" if found["accepted"] == found["checked"] else "yellow"
    console.print(
        f"[bold]Golds[/bold]   [{colour}]{found['accepted']} of {found['checked']}[/{colour}] accepted as answers by "
        f"reward {escape(facts['reward'])}"
    )
    for row in found["refused"]:
        console.print(f"        {escape(row['id'])}: {escape(repr(row['gold']))} {escape(row['reason'])}")
    prompt = facts["prompt"]
    title = f"prompt {prompt['id']} as the model sees it, {prompt['tokens']} tokens"
    console.print(Panel(escape(prompt["text"]), title=escape(title), title_align="left", border_style="dim"))
    console.print(f"[dim]gold: {escape(str(prompt['gold']))}[/dim]")
    if "worst_case" in facts:
        worst = facts["worst_case"]
        console.print(
            f"[bold]Step[/bold]    worst case: {worst['rollouts']} rollouts and {worst['rows']} rows of "
            f"{worst['prompt_tokens']} + {worst['completion_tokens']} tokens"
        )
        console.print(
            f"        {worst['generate_seconds']:.1f} s to generate, {worst['update_seconds']:.1f} s to update, "
            f"peak memory [bold]{worst['peak_memory_mb']:,.0f} MB[/bold] ({worst['memory_of']})"
        )
    console.print("[green]Nothing found that would stop a run.[/green]")
