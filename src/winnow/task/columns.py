"""Which columns hold the prompt and the gold answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow import errors

ABSENT = object()
MOST_NAMES, LONGEST_NAME = 20, 60
"""How much of the columns a message names."""

# Columns that go together in published data sets; a pair not listed here is not guessed, since
# "solution" beside "question" may be a worked text as well as a gold answer.
_LAYOUTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("prompt",), "answer"),
    (("question",), "answer"),
    (("problem",), "answer"),
    (("query",), "answer"),
    (("messages",), "answer"),
    (("conversations",), "answer"),
    (("prompt",), "reward_model.ground_truth"),
    (("prompt",), "ground_truth"),
    (("messages",), "ground_truth"),
    (("prompt",), "solution"),
    (("question",), "final_answer"),
    (("problem",), "expected_answer"),
    (("instruction", "input"), "output"),
    (("instruction",), "output"),
    (("Body", "Question"), "Answer"),
    (("Problem",), "Answer"),
    (("Question",), "Answer"),
)

_PROMPTS = tuple(dict.fromkeys(parts for parts, _ in _LAYOUTS))
# Says too little to be taken where another name is there.
_LAST_PROMPT = ("text",)
_ANSWER_NAMES = (
    "answer",
    "gold",
    "solution",
    "output",
    "target",
    "final_answer",
    "expected_answer",
    "ground_truth",
    "reward_model.ground_truth",
    "label",
)
_CONVERSATIONS = ("messages", "conversations")
_TESTS = ("tests", "test_list", "test")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file that winnow reads.

    Attributes:
        prompt: column of the prompt; several are joined by new lines, empty ones left out.
        answer: column of the gold answer; None if there is none.
        guessed: whether any of them was recognised by its name rather than given.
    """

    prompt: tuple[str, ...]
    answer: str | None
    guessed: bool


def lookup(values: Mapping[str, Any], name: str) -> Any:
    """Get a column by name, or by a dotted path into nested objects; `ABSENT` if it is not there."""
    if name in values:
        return values[name]
    found: Any = values
    for key in name.split("."):
        if not isinstance(found, Mapping) or key not in found:
            return ABSENT
        found = found[key]
    return found


def choose(
    source: str,
    available: Sequence[str],
    prompt: str | None,
    answer: str | None,
    needs_answer: bool,
) -> Columns:
    """Settle the columns from the settings and, for those not set, from well-known layouts.

    Args:
        source: the file's name for messages.
        available: the columns found, nested ones as dotted paths too.
        prompt: the setting ``prompt_column``: a column, or several separated by commas.
        answer: the setting ``answer_column``.
        needs_answer: whether the reward judges against a gold answer that has to be in a column.

    Raises:
        DataError: if a column is missing, or the names do not tell which is which; the message lists what
            was found and the flags to set.
    """
    prompts = _given(available, prompt) if prompt is not None else ()
    for setting, given, column in (("prompt", prompt, prompts), ("answer", answer, answer in available)):
        if given is not None and not column:
            raise errors.DataError(_missing(source, available, setting, given))
    if prompt is None and answer is None:
        found = [
            Columns(parts, gold, guessed=True)
            for parts, gold in _LAYOUTS
            if gold in available and all(part in available for part in parts)
        ]
        wanted = _one_prompt([columns.prompt for columns in found])
        if wanted:
            # The order above puts answers before worked solutions.
            return next(columns for columns in found if columns.prompt == wanted)
    prompts = prompts or _only_prompt(available, exclude=answer)
    gold = answer or _only_answer(available, exclude=prompts)
    if prompts and gold and (prompt is not None or answer is not None):
        return Columns(prompts, gold, guessed=prompt is None or answer is None)
    if prompts and answer is None and not needs_answer:
        return Columns(prompts, None, guessed=prompt is None)
    raise errors.DataError(_ambiguous(source, available, prompts, gold))


def _given(available: Sequence[str], prompt: str) -> tuple[str, ...]:
    if prompt in available:
        return (prompt,)
    parts = tuple(part.strip() for part in prompt.split(","))
    return parts if all(part in available for part in parts) else ()


def _only_prompt(available: Sequence[str], exclude: str | None) -> tuple[str, ...]:
    names = set(available) - {exclude}
    found = [parts for parts in _PROMPTS if all(part in names for part in parts)]
    if not found and set(_LAST_PROMPT) <= names:
        return _LAST_PROMPT
    return _one_prompt(found)


def _one_prompt(found: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the prompt columns that take in all the others, ``()`` if none do.

    A conversation beside a question says the same again, often with the answer.
    """
    plain = [parts for parts in found if parts[0] not in _CONVERSATIONS] or found
    return next((parts for parts in plain if all(set(other) <= set(parts) for other in plain)), ())


def _only_answer(available: Sequence[str], exclude: Sequence[str]) -> str | None:
    found = [name for name in _ANSWER_NAMES if name in available and name not in exclude]
    # A file with "answer" and "solution" has the worked text in the latter.
    return found[0] if len(found) == 1 or "answer" in found else None


def _missing(source: str, available: Sequence[str], setting: str, given: str) -> str:
    return (
        f"{source}: --{setting}-column {given!r} is not in the file{errors.did_you_mean(given, available)} "
        f"(found: {_named(available)})"
    )


def _ambiguous(source: str, available: Sequence[str], prompts: Sequence[str], gold: str | None) -> str:
    needs = f"{source}: needs a column 'prompt' and a column 'answer', found: {_named(available) or 'none at all'}"
    likely = [parts for parts in _PROMPTS if all(part in available for part in parts)]
    prompt = ",".join(prompts or (likely[0] if likely else ("NAME",)))
    answers = [name for name in _ANSWER_NAMES if name in available and name not in prompt.split(",")]
    if prompt in _CONVERSATIONS and not answers:
        return f"{needs}; where the last turn is the answer, say so with --set task_options.last_turn=gold"
    if not answers and not gold and any(name in available for name in _TESTS):
        return f"{needs}; where programs are judged by tests, use --reward code"
    return (
        f"{needs}; say which is which, for example with --prompt-column {prompt} "
        f"--answer-column {gold or (answers[0] if answers else 'NAME')}"
    )


def _named(columns: Sequence[str]) -> str:
    shown = [name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..." for name in columns[:MOST_NAMES]]
    more = f" and {len(columns) - MOST_NAMES:,} more" if len(columns) > MOST_NAMES else ""
    return ", ".join(shown) + more
