"""The built-in code task: short functions to write, judged by running them.

A prompt is a comment that says what a function returns, followed by its head; the completion goes on with
the expression. With ``form="block"`` the prompt asks for the whole function in a fenced block instead, for
models that follow instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from winnow import errors
from winnow.reward.code import Code
from winnow.rollout import Prompt
from winnow.task.code_problems import LEVELS, Problem, problems, values
from winnow.task.record import Task, fingerprint

POLICY = Path(__file__).parent / "code_policy"
"""Folder of the policy shipped for this task."""

OPTIONS: Mapping[str, Any] = {
    "train_size": 1000,
    "test_size": 128,
    "cases": 6,
    "form": "body",
    "timeout": 2.0,
    "unsafe": False,
}
"""The options of the task and their defaults."""

FORMS = ("body", "block")
_SIZES = {"train_size": 100_000, "test_size": 256, "cases": 50}


def load(seed: int, options: Mapping[str, Any]) -> Task:
    """Draw the code task.

    Args:
        seed: decides every problem. No text of test occurs in train; in train texts may repeat.
        options: ``train_size`` and ``test_size`` (numbers of prompts), ``cases`` (tests per problem), ``form``
            (``body`` or ``block``), and ``timeout`` and ``unsafe`` of `winnow.reward.code.Code`.

    Returns:
        The task; each prompt carries ``level``, ``words`` and ``tests`` in its fields, and a solution as answer.

    Raises:
        ConfigError: on an unknown option or a value out of range, or where programs cannot be isolated.
    """
    for name in options:
        if name not in OPTIONS:
            raise errors.unknown("option of the task 'code'", name, OPTIONS)
    chosen = {**OPTIONS, **options}
    for name, limit in _SIZES.items():
        size = chosen[name]
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= limit:
            raise errors.ConfigError(
                f"the option {name} of the task 'code' is {size!r}; it must be a whole number from 1 to {limit}"
            )
    if chosen["form"] not in FORMS:
        raise errors.unknown("value of the option form of the task 'code'", chosen["form"], FORMS)
    extract = "continue" if chosen["form"] == "body" else "block"
    reward = Code(unsafe=chosen["unsafe"], timeout=chosen["timeout"], extract=extract)
    test = _draw("test", chosen["test_size"], seed, chosen, frozenset(), repeat=False)
    words = frozenset(prompt.fields["words"] for prompt in test)
    train = _draw("train", chosen["train_size"], seed, chosen, words, repeat=True)
    return Task(
        name="code",
        train=train,
        test=test,
        reward=reward,
        fingerprint=fingerprint(train, test),
        notes=reward.notes,
        policy=str(POLICY) if POLICY.is_dir() else None,
    )


def _draw(
    split: str, size: int, seed: int, options: Mapping[str, Any], taken: frozenset[str], repeat: bool
) -> list[Prompt]:
    """Draw ``size`` problems, as many of each level, with words not in ``taken``."""
    drawn: list[Problem] = []
    for number, level in enumerate(LEVELS):
        count = size // len(LEVELS) + (number < size % len(LEVELS))
        stream = problems(level, Random(f"code/{seed}/{split}/{level}"))
        drawn.extend(islice(_fresh(stream, set(taken), repeat), count))
    Random(f"code/{seed}/{split}").shuffle(drawn)
    return [prompt_of(f"{split}:{index}", problem, options) for index, problem in enumerate(drawn)]


def _fresh(stream: Iterable[Problem], taken: set[str], repeat: bool) -> Iterator[Problem]:
    for problem in stream:
        if problem.words not in taken:
            if not repeat:
                taken.add(problem.words)
            yield problem


def prompt_of(name: str, problem: Problem, options: Mapping[str, Any] = OPTIONS) -> Prompt:
    """The problem as a prompt with the id ``name``, its tests drawn from its own words."""
    rng = Random(f"code/{problem.words}")
    cases = []
    for _ in range(options["cases"]):
        given = values(problem.names, rng)
        cases.append({"args": [given[key] for key in problem.names], "expected": problem.compute(given)})
    fields = {"level": problem.level, "words": problem.words, "tests": {"function": "f", "cases": cases}}
    return Prompt(id=name, content=_text(problem, options["form"]), answer=problem.code, fields=fields)


def _text(problem: Problem, form: str) -> str:
    head = f"def f({','.join(problem.names)}):"
    if form == "body":
        return f"# {problem.words}\n{head}\n return "
    return (
        f"Write a Python function `{head[4:-1]}` that returns this: {problem.words}.\n"
        "Answer with the whole function in a ```python block."
    )
