"""winnow's rewards as reward functions of TRL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from winnow.reward import Item, Reward
from winnow.rollout import Prompt

RewardFunction = Callable[..., list[float | None]]

_NOT_COLUMNS = {"completion_ids", "trainer_state", "log_extra", "log_metric", "environments"}


def as_function(reward: Reward, *, answer: str = "answer") -> RewardFunction:
    """Return a reward function for `GRPOTrainer` that judges with one of winnow's rewards.

    The reward gets the text of a completion whether prompts are plain or messages, the gold answer from the column
    ``answer``, and every other column by its name. What it cannot judge is None, which leaves the rollout out of
    every statistic. Outcomes stay behind: give the parts of a sum as reward functions of their own, and name the
    verifier as the trainer's ``outcome``.

    Args:
        reward: such as `winnow.reward.math.Math`, or a `winnow.reward.pool.Pool` around it for scoring that may hang.
        answer: the column of the dataset with the gold answer.
    """

    def score(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        fields = {name: values for name, values in columns.items() if name not in _NOT_COLUMNS}
        golds = fields.pop(answer, [None] * len(prompts))
        items = [
            Item(
                Prompt(
                    id=str(row),
                    content=prompt,
                    answer=None if golds[row] is None else str(golds[row]),
                    fields={name: values[row] for name, values in fields.items() if values[row] is not None},
                ),
                _text(completions[row]),
                str(row),
            )
            for row, prompt in enumerate(prompts)
        ]
        return [verdict.score for verdict in reward.score(items)]

    score.__name__ = reward.name
    return score


def as_functions(given: Any) -> Any:
    """Turn every winnow reward among what `GRPOTrainer` takes as ``reward_funcs`` into a function."""
    if isinstance(given, list):
        return [as_functions(one) for one in given]
    # A classifier of transformers may have a layer called score; unlike a reward of winnow it can be called.
    return as_function(given) if hasattr(given, "score") and not callable(given) else given


def _text(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    return "".join(str(message["content"]) for message in completion)
