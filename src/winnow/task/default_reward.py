"""The reward of a data file that names none: exact match, on a number or on the whole completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winnow.reward import Exact, Reward
from winnow.reward import load as load_reward
from winnow.rollout import Prompt
from winnow.task.golds import NUMBERS, kinds

MOST = 0.9
"""Share of golds that are numbers from which on a gold that is none is taken for a mistake."""


def default_reward(prompts: Sequence[Prompt], options: Mapping[str, Any]) -> tuple[Reward, str]:
    """Choose a reward by what the golds look like.

    Args:
        prompts: the prompts read, with their golds.
        options: options of exact match; ``extract`` overrules the choice.

    Returns:
        The reward, and a note that says why it was chosen.
    """
    counts = kinds(prompt.answer or "" for prompt in prompts)
    numbers = sum(counts.get(name, 0) for name in NUMBERS)
    numeric = numbers >= MOST * len(prompts)
    extract = "last_number" if numeric else "whole"
    judge = load_reward("exact", **{"extract": extract, **options})
    where = {"last_number": "the last number of the completion", "whole": "the whole completion"}
    chosen = judge.extract if isinstance(judge, Exact) else extract
    which = "all" if numbers == len(prompts) else "nearly all" if numeric else "some"
    why = f"{which} golds are {'numbers' if numeric else 'not numbers'}"
    other = "--reward math judges LaTeX as mathematics" if "LaTeX" in counts else "--reward chooses another"
    return judge, f"reward: exact match on {where.get(chosen, chosen)}, since {why}; {other}"
