"""What ``winnow check`` finds with a model: the template, prompts in tokens, and what a step takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from winnow.cli.check_data import lengths
from winnow.cli.check_problems import Problems

if TYPE_CHECKING:
    from winnow.task import Task
    from winnow.train import TrainConfig
    from winnow.train.prepare import Setup


def model_facts(config: TrainConfig, task: Task, step: bool, problems: Problems) -> dict[str, Any]:
    """Load the model, encode all prompts and take the worst-case step; what fails goes into ``problems``.

    Returns:
        What was found; ``model_notes`` are the notes that the task does not have.
    """
    from winnow.errors import WinnowError
    from winnow.task.problems import MODEL
    from winnow.train.prepare import prepare

    try:
        setup = prepare(config, task=task)
    except WinnowError as error:
        problems.add(MODEL, str(error))
        return {}
    facts: dict[str, Any] = {
        "model": setup.model_name,
        "model_notes": list(setup.notes[len(task.notes) :]),
        "train": len(setup.train),
        "test": len(setup.test),
        "prompt_tokens": lengths([len(ids) for ids in setup.train.encoded]),
        "prompt": _example(setup),
    }
    if step:
        from winnow.cli.worst_case import worst_case

        facts["worst_case"] = worst_case(config, setup)
    return facts


def _example(setup: Setup) -> dict[str, Any]:
    prompt, ids = setup.train.prompts[0], setup.train.encoded[0]
    return {
        "id": prompt.id,
        "text": setup.tokenizer.decode(ids, skip_special_tokens=False),
        "tokens": len(ids),
        "gold": prompt.answer,
    }
