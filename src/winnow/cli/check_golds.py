"""Golds as answers: does the reward of a task accept them?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from winnow.cli.check_problems import Problems

if TYPE_CHECKING:
    from winnow.reward import Reward
    from winnow.rollout import Prompt
    from winnow.train import TrainConfig

GOLDS = 500
FIRST = 8
"""Golds judged before the others; a reward that can score none of them is not asked again. A guard needs as many."""
REFUSED = 5
RAISED, TRACEBACK = " raised ", "Traceback (most recent call last):"
BARE, BOXED = "{}", r"\boxed{{{}}}"
FORMS = {"strict": BOXED, "lenient": BOXED, "boxed": BOXED, "marker": "#### {}"}
"""Where a verifier looks for the answer, by its ``extract``."""


def gold_facts(config: TrainConfig, reward: Reward, prompts: Sequence[Prompt], problems: Problems) -> dict[str, Any]:
    """Judge golds as a run judges completions, so that a reward that hangs does not hang the check; see `golds`."""
    from winnow.train.scoring import supervised

    judge = supervised(reward, config)
    try:
        return golds(judge, prompts, problems, form_of(reward))
    finally:
        if judge is not reward:
            getattr(judge, "close", lambda: None)()


def golds(reward: Reward, prompts: Sequence[Prompt], problems: Problems, form: str) -> dict[str, Any]:
    """Judge gold answers as if the policy had written them where the reward looks: each should earn the full reward.

    Args:
        reward: the reward of the task.
        prompts: the prompts, of which the first `GOLDS` with a gold are judged.
        problems: takes the error if the reward cannot score anything.
        form: how a completion has to write the answer, see `form_of`.

    Returns:
        ``checked`` and ``accepted`` counts over the first rows that have a gold, and examples of the others.
        A reward function that wants a format of its own need not accept any.
    """
    from winnow.errors import WinnowError
    from winnow.reward import Item
    from winnow.task.problems import RAISES, REWARD
    from winnow.train.collect import judged

    rows = [prompt for prompt in prompts if prompt.answer is not None][:GOLDS]
    items = [Item(row, form.format(row.answer), f"gold/{row.id}") for row in rows]
    try:
        # With fewer than FIRST the guard of a function would keep the traceback to itself.
        verdicts = reward.score((items[:FIRST] * FIRST)[:FIRST])[: len(items)]
        if verdicts and all(verdict.score is None for verdict in verdicts):
            reason = verdicts[0].reason
            kind = RAISES if RAISED in reason else REWARD
            problems.add(kind, f"reward {reward.name} could score none of {len(verdicts)} golds as answers: {reason}")
        else:
            verdicts += reward.score(items[FIRST:])
    except WinnowError as error:
        what, trace = without_trace(str(error))
        problems.add(RAISES if trace or RAISED in what else REWARD, what, trace=trace)
        verdicts = []
    refused = [
        {"id": row.id, "gold": row.answer, "outcome": judged(verdict), "reason": verdict.reason}
        for row, verdict in zip(rows, verdicts, strict=False)
        if (judged(verdict) or 0.0) < 1.0
    ]
    return {"checked": len(verdicts), "accepted": len(verdicts) - len(refused), "refused": refused[:REFUSED]}


def without_trace(message: str) -> tuple[str, str]:
    """Split the message of an error into a short text, which ends with the exception, and the traceback in it."""
    head, found, rest = message.partition(TRACEBACK)
    if not found:
        return message, ""
    head = head.strip().removesuffix("the first time:").rstrip("; ")
    return f"{head}: {rest.rstrip().splitlines()[-1]}", found + rest


def form_of(reward: Reward) -> str:
    """Return how a completion has to write the answer, with ``{}`` in its place."""
    from winnow.reward.combined import Combined

    if isinstance(reward, Combined):
        return next((form for form in map(form_of, reward.rewards) if form != BARE), BARE)
    return FORMS.get(str(getattr(reward, "extract", "")), BARE)
