"""``winnow check``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.train import TrainConfig

EXAMPLES = (
    "winnow check my.jsonl",
    "winnow check my.jsonl --reward rewards.py:score --model ./my-model --no-step",
    "winnow check --recipe pods --n 64 --m 16 --set max_new_tokens=512",
)


def check(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="A data file or folder, or the name of a task; the same as --task.",
            autocompletion=o.task_names,
            show_default=False,
        ),
    ] = None,
    recipe: o.Recipe = None,
    assign: o.Set = None,
    no_step: Annotated[bool, typer.Option("--no-step", metavar=o.FLAG, help="Leave the worst-case step out.")] = False,
    task: o.Task = None,
    model: o.Model = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    unsafe_code: o.UnsafeCode = None,
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

    Reads every row, judges the gold answers with the reward, and shows everything that is wrong at once. If
    the data is sound and there is a model, prints one prompt exactly as the model sees it and takes one
    step of the longest prompts and completions the settings allow. Nothing is saved. The exit code is 2
    if anything found would stop a run.
    """
    from winnow.errors import ConfigError, DataError
    from winnow.train import load_config

    if data is not None and task is not None and data != task:
        raise ConfigError(f"two tasks: {data!r} and --task {task!r}; give one of them")
    given = o.settings(
        [
            ("recipe", recipe), ("task", task if data is None else data), ("model", model),
            ("prompt_column", prompt_column), ("answer_column", answer_column), ("reward", reward),
            ("unsafe_code", unsafe_code),
            ("format", file_format), ("drop_bad_rows", drop_bad_rows), ("n", n), ("m", m),
            ("prompts_per_step", prompts), ("micro_batch", micro_batch),
        ],
        assign,
    )  # fmt: skip
    resolved, _ = load_config(config, given)
    facts = examine(resolved, step=not no_step)
    if as_json:
        print(json.dumps(facts), file=result())
    else:
        from winnow.cli.check_text import show

        show(facts)
    stopping = [
        group["title"] + (f" ({group['count']})" if group["rows"][0]["line"] else "")
        for group in facts["problems"]
        if group["stops"]
    ]
    if stopping:
        raise DataError(f"{facts['task']}: this would stop a run: {', '.join(stopping)}")


def examine(config: TrainConfig, step: bool) -> dict[str, Any]:
    """Check data, settings and, if nothing of these stops a run, the model.

    Args:
        config: the settings of the run to come.
        step: whether to take the worst-case step too.

    Returns:
        What was found, ready for JSON; ``problems`` and ``not_checked`` are always there.

    Raises:
        ConfigError: if there is no such task or reward.
    """
    from winnow.cli.check_data import data_facts, isolation, settings
    from winnow.cli.check_model import model_facts
    from winnow.cli.check_problems import Problems

    problems = Problems()
    facts, task = data_facts(config, problems)
    settings(config, task, problems)
    facts["model"] = config.model or (task.policy if task else None)
    not_checked = ""
    if task is None or problems.stop:
        not_checked = "model, chat template, prompts in tokens, memory: what is found above comes first"
    elif facts["model"] is None:
        not_checked = "chat template, prompts in tokens, memory of a step: they need --model"
    else:
        found = model_facts(config, task, step, problems)
        facts["notes"] += found.pop("model_notes", [])
        facts |= found
    facts["code_isolation"] = isolation()
    return facts | {"ok": not problems.stop, "problems": problems.groups(), "not_checked": not_checked}
