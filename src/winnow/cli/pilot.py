"""``winnow pilot``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.pilot import Pilot, Worth

KEEPING = "What to keep"
INTERRUPTED = 130
EXAMPLES = (
    "winnow pilot",
    "winnow pilot --task my.jsonl --model ./my-model --k 16 --keep kept.jsonl",
    "winnow pilot --task my.jsonl --model ./my-model --prompts 5000",
    "winnow pilot --recipe pods --n 32 --k 32 --prompts 200",
)


def pilot(
    recipe: o.Recipe = None,
    seed: o.Seed = None,
    assign: o.Set = None,
    task: o.Task = None,
    model: o.Model = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    unsafe_code: o.UnsafeCode = None,
    file_format: o.Format = None,
    drop_bad_rows: o.DropBadRows = None,
    k: Annotated[int, typer.Option("--k", min=2, help="Rollouts per prompt.", rich_help_panel=o.SIZES)] = 8,
    prompts: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Prompts measured, at random by the seed  [dim]default: all, 1,000 at most[/dim]",
            rich_help_panel=o.SIZES,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n", help="Rollouts per prompt of the run  [dim]default: the recipe's[/dim]", rich_help_panel=o.SIZES
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Write the rows worth keeping, as they are in the data.",
            autocompletion=o.paths,
            rich_help_panel=KEEPING,
        ),
    ] = None,
    min_signal: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="CHANCE",
            help="Keep a prompt whose group of n has signal with this chance.",
            rich_help_panel=KEEPING,
        ),
    ] = 0.5,
    config: o.Config = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the log; a pilot in it goes on  [dim]default: a new one under runs/[/dim]",
            autocompletion=o.paths,
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Measure with a few rollouts which prompts a run would learn from.

    Draws k rollouts of each prompt with the policy as it is: how often prompts pass, how many groups would
    tie at other sizes, which prompts are worth keeping. Every rollout goes to rollouts.jsonl in the folder, for
    winnow audit. Interrupted, it keeps what it has; the same command with --out goes on.
    """
    from winnow.cli.pilot_progress import make
    from winnow.pilot.keep import check_target
    from winnow.train import load_config
    from winnow.train.signals import Interrupts

    given = o.settings(
        [
            ("recipe", recipe), ("seed", seed), ("task", task), ("model", model), ("prompt_column", prompt_column),
            ("answer_column", answer_column), ("reward", reward), ("unsafe_code", unsafe_code), ("format", file_format),
            ("drop_bad_rows", drop_bad_rows), ("n", n),
        ],
        assign,
    )  # fmt: skip
    # A pilot takes no steps, so the data need not fill one.
    resolved, _ = load_config(config, {**given, "prompts_per_step": 1})
    source = Path(resolved.task).expanduser()
    data = source if source.exists() else None
    if keep is not None:
        check_target(keep, data)
    from winnow.pilot import pilot as measure
    from winnow.pilot import report

    with Interrupts() as interrupts, make(quiet or as_json) as shown:
        found = measure(
            resolved, k=k, prompts=prompts, out=out, on_start=shown.start, on_progress=shown.step, stopped=interrupts
        )
    facts: dict[str, Any] = {}
    if found.tallies:
        facts, judged = report(found, threshold=min_signal)
        if found.complete:
            facts["keep"]["file"] = _keep(keep, found, judged, data)
            _save(found, facts)
        _print(facts, as_json, quiet)
    if not found.complete:
        shown.note(
            f"interrupted after {len(found.tallies):,} of {found.asked:,} prompts"
            + ("; --keep writes nothing before all are measured" if keep is not None else "")
            + f"; the same command with --out {found.folder} goes on"
        )
        raise typer.Exit(INTERRUPTED)


def _keep(target: Path | None, found: Pilot, judged: Worth, source: Path | None) -> str | None:
    if target is None:
        return None
    from winnow.pilot import write_kept

    chosen = [prompt for prompt, keep in zip(found.prompts, judged.kept, strict=True) if keep]
    write_kept(target, chosen, source)
    return str(target)


def _save(found: Pilot, facts: dict[str, Any]) -> None:
    from winnow.pilot.folder import write_result

    if found.folder is not None:
        write_result(found.folder, facts)


def _print(facts: dict[str, Any], as_json: bool, quiet: bool) -> None:
    if as_json:
        print(json.dumps(facts), file=result())
    elif not quiet:
        from winnow.cli.pilot_text import show

        show(facts)
