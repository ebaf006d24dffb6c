"""Whether prompts ask for the marks that strict extraction of an answer looks for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from winnow.reward import Reward
from winnow.reward.combined import Combined
from winnow.rollout import Prompt

_ASKED = re.compile(r"boxed|fbox|<answer>|final answer|####", re.IGNORECASE)
_TEMPLATE = r"--set 'task_options.template={prompt} Put the final answer in \boxed{}.'"
_LENIENT = """--set 'task_options.reward_options={extract="lenient"}'"""


def unmarked(judge: Reward, prompts: Sequence[Prompt]) -> str:
    """Say that the math reward wants its answers marked and no prompt tells the model so; else an empty string.

    What a chat template adds is not seen here. Linear in the text up to the first prompt that asks.
    """
    parts = judge.rewards if isinstance(judge, Combined) else [judge]
    if not any(part.name == "math" and getattr(part, "extract", "") == "strict" for part in parts):
        return ""
    if not prompts or any(_ASKED.search(prompt.text) for prompt in prompts):
        return ""
    # In a sum the option goes to every part that has it, and the others know no lenient extraction.
    alone = sum(hasattr(part, "extract") for part in parts) == 1
    return (
        r"strict extraction reads the answer from \boxed{}, <answer>, 'Final Answer:' or ####, and no prompt asks for "
        "one; completions without it score 0. Put the instruction into the prompts, as with "
        f"{_TEMPLATE}" + (f", or use {_LENIENT}" if alone else "")
    )
