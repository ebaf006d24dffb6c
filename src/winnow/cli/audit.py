"""``winnow audit``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.reward import Reward
    from winnow.task import Task

JUDGES = "Second verifier"
TASK = "task"
EXAMPLES = (
    "winnow audit runs/mix-pods-seed0",
    "winnow audit runs/pilot/rollouts.jsonl --against math",
    "winnow audit runs/pilot --with exact --against rewards.py:score",
    "winnow audit runs/pilot --with task --task my.jsonl --reward math",
)


def judges(incomplete: str) -> Iterator[str]:
    """Complete a reward by name, or the path of its file."""
    yield from (name for name in (TASK, "exact", "math") if name.startswith(incomplete))
    yield from o.paths(incomplete)


def audit(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="Files of rollouts, or folders of runs and pilots.", autocompletion=o.paths
        ),
    ],
    first: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="REWARD",
            help="Judge anew with it, in place of the log's verdicts; task: the task's own.",
            autocompletion=judges,
            rich_help_panel=JUDGES,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REWARD",
            help="Hold it against the log, or --with.",
            autocompletion=judges,
            rich_help_panel=JUDGES,
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Disagreements shown.", rich_help_panel=JUDGES)] = 5,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Where golds and columns come from  [dim]default: golds of the log[/dim]",
            autocompletion=o.task_names,
            rich_help_panel=o.DATA,
        ),
    ] = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    file_format: o.Format = None,
    drop_bad_rows: o.DropBadRows = None,
    assign: o.Set = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Look through logged rollouts for rewards that cannot be trusted.

    Reads rollouts.jsonl once and tells, worst first: verifiers that disagree, rewards that are constant, not
    deterministic or tied to length, what was cut or not scored, duplicates, passes that look too cheap. Findings are no
    failure: the exit code is 0.
    """  # fmt: skip
    from winnow.audit import audit as look
    from winnow.errors import ConfigError

    given = o.settings(
        [
            ("task", task), ("prompt_column", prompt_column), ("answer_column", answer_column), ("reward", reward),
            ("format", file_format), ("drop_bad_rows", drop_bad_rows),
        ],
        assign,
    )  # fmt: skip
    if task is None and given:
        raise ConfigError(f"{', '.join(given)}: settings of the data need --task, the file they are about")
    with ExitStack() as stack:
        data = _task(given) if given else None
        one, two = (_reward(spec, data, stack) for spec in (first, against))
        facts = look(logs, reward=one, against=two, task=data, examples=examples,
                     on_progress=_progress(quiet or as_json))  # fmt: skip
    if as_json:
        print(json.dumps(facts), file=result())
        return
    from winnow.cli.audit_text import show

    show(facts, findings_only=quiet)


def _task(given: dict[str, object]) -> Task:
    from winnow import task
    from winnow.train import load_config

    config, _ = load_config(None, given)
    return task.load(config.task, seed=config.task_seed, options=config.task_options)


def _reward(spec: str | None, task: Task | None, stack: ExitStack) -> Reward | None:
    """Load a reward, in workers where it may hang."""
    from winnow import reward
    from winnow.errors import ConfigError

    if spec is None:
        return None
    if spec == TASK:
        if task is None:
            raise ConfigError("--with task, --against task: the reward of which task? name it with --task")
        found = task.reward
    else:
        found = reward.load(spec)
    if getattr(found, "may_hang", False):
        from winnow.reward.pool import Pool

        return stack.enter_context(Pool(found))
    return found


def _progress(quiet: bool) -> Any:
    """Return what shows the rollouts read: a line that is overwritten on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        return lambda rollouts: None
    return lambda rollouts: print(f"\r{rollouts:,} rollouts", end="\r", file=sys.stderr, flush=True)
