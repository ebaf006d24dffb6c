"""The answer of a completion in a normal form, so that equal answers are equal texts."""

from __future__ import annotations

from winnow.reward.extract import lenient_answer
from winnow.reward.rationals import rational


def normal_form(completion: str) -> str:
    """Return what a completion answers, as text: the default partition of rollouts by answer (ours).

    The marked answer or the likeliest place (`winnow.reward.extract.lenient_answer`); numbers as reduced fractions,
    other text without regard to case and white space. A completion without an answer stands for itself.

    Complexity: linear in the completion.
    """
    answer, _ = lenient_answer(completion)
    text = completion if answer is None else answer
    value = rational(text)
    return str(value) if value is not None else " ".join(text.split()).casefold()
