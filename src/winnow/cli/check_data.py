"""What ``winnow check`` finds without a model: data, golds, reward, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from winnow.cli.check_golds import gold_facts
from winnow.cli.check_problems import Problems

if TYPE_CHECKING:
    from winnow.reward import Reward
    from winnow.rollout import Prompt
    from winnow.task import Task
    from winnow.task.survey import Survey
    from winnow.train import TrainConfig

SHORTEST = 32
"""Longest prompt of the first range of lengths."""


def data_facts(config: TrainConfig, problems: Problems) -> tuple[dict[str, Any], Task | None]:
    """Read the task; problems of its rows go into ``problems``.

    Returns:
        What was read, and the task; None if its data cannot be used.

    Raises:
        ConfigError: if there is no such task, reward or option.
    """
    from winnow import task as tasks
    from winnow.task.golds import kinds

    path = tasks.data_path(config.task)
    task: Task | None
    reward: Reward | None
    if path is None:
        task = tasks.load(config.task, seed=config.task_seed, options=config.task_options)
        reward, train, test, facts = task.reward, task.train, task.test, {}
        notes: Sequence[str] = task.notes
    else:
        from winnow.task.options import FileOptions
        from winnow.task.survey import survey

        options = FileOptions.of(config.task_options)
        found = survey(path, options)
        _collect(found, options.drop_bad_rows, problems)
        task = None if found.failure else found.task()
        train, test, facts = found.train, found.test, _files(found, options.last_turn == "gold")
        reward, notes = found.reward, found.notes
    prompts = [*train, *test]
    facts |= {
        "task": config.task,
        "train": len(train),
        "test": len(test),
        "reward": reward.name if reward else None,
        "tests_column": getattr(reward, "tests_column", None),
        "fingerprint": task.fingerprint if task else None,
        "notes": list(notes),
        "gold_kinds": dict(kinds(prompt.answer for prompt in prompts if prompt.answer is not None)),
        "golds": gold_facts(config, reward, prompts, problems) if reward else None,
    }
    if prompts:
        facts["prompt_characters"] = lengths([len(prompt.text) for prompt in prompts])
        facts["prompt"] = {"id": prompts[0].id, "text": as_text(prompts[0]), "gold": prompts[0].answer}
    return facts, task


def settings(config: TrainConfig, task: Task | None, problems: Problems) -> None:
    """Check the sizes of the recipe, and that the data fills a step."""
    from winnow.errors import WinnowError
    from winnow.task.problems import SETTINGS, SIZE
    from winnow.train.prepare import check_recipe, check_size

    try:
        check_recipe(config)
    except WinnowError as error:
        problems.add(SETTINGS, str(error))
    if task is not None:
        try:
            check_size(len(task.train), config.prompts_per_step, task.name)
        except WinnowError as error:
            problems.add(SIZE, str(error))


def lengths(values: Sequence[int]) -> dict[str, Any]:
    """Mean, median, maximum, and how many are in each range; every range is twice as wide as the one before."""
    ordered = sorted(values)
    limit, start, ranges = SHORTEST, 0, []
    while start < len(ordered):
        end = next((place for place in range(start, len(ordered)) if ordered[place] > limit), len(ordered))
        ranges.append({"at_most": limit, "count": end - start})
        start, limit = end, 2 * limit
    first = next(place for place, entry in enumerate(ranges) if entry["count"])
    return {
        "mean": sum(ordered) / len(ordered),
        "median": ordered[len(ordered) // 2],
        "max": ordered[-1],
        "ranges": ranges[first:],
    }


def as_text(prompt: Prompt) -> str:
    """A prompt as text, with the roles of its messages."""
    if isinstance(prompt.content, str):
        return prompt.content
    return "\n".join(f"{message['role']}: {message['content']}" for message in prompt.content)


def isolation() -> str:
    """What the operating system offers to run the code of a policy in."""
    from winnow.reward import code

    return code.isolation().describe()


def _collect(found: Survey, drop: bool, problems: Problems) -> None:
    for part, problem in found.problems:
        dropped = drop and problem.kind.stops == "unless dropped"
        where = part.rows.where(problem.number)
        problems.add(problem.kind, problem.text, where, problem.number, problem.column, dropped)


def _files(found: Survey, gold_is_last_turn: bool) -> dict[str, Any]:
    train = found.parts[0]
    gold = train.prompt_column if gold_is_last_turn else train.columns.answer if train.columns else None
    return {
        "files": [str(path) for part in found.parts for path in part.files.files],
        "rows": sum(len(part.rows.rows) for part in found.parts),
        "columns": {
            "found": train.available,
            "prompt": list(train.columns.prompt) if train.columns else None,
            "gold": gold or None,
        },
    }
