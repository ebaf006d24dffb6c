"""Judge one item in a worker, whatever the reward does, in bounded space."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from typing import Any

from winnow import errors
from winnow.reward import guard
from winnow.reward.base import Item, Reward
from winnow.reward.pool import limits
from winnow.rollout import Verdict

# The longest message of an error, in characters.
MESSAGE = 500


class Judge:
    """Calls the reward and puts what came of it in words that JSON can carry.

    Args:
        reward: the reward.
        max_output: the longest reason, message or traceback, and the longest JSON of the parts, in characters.
    """

    def __init__(self, reward: Reward, max_output: int):
        self.reward = reward
        self.max_output = max_output
        self._events: list[guard.Event] = []
        guard.report_to(self._events.append)

    def judge(self, item: Item) -> tuple[str, dict[str, Any]]:
        """Return kind and content of a `Said` about the item."""
        self._events.clear()
        try:
            return self._judged(item)
        except MemoryError:
            limits.lift_memory()
            return "memory", {}
        except errors.WinnowError as error:
            return "raised", {"type": _known(error), "message": brief(str(error))}
        except BaseException as error:
            trace = "".join(traceback.format_exception(error)).rstrip()
            return "failed", {"what": self._cut(f"{type(error).__name__}: {error}"), "trace": self._cut(trace)}

    def compare(self, pair: list[tuple[Item, Verdict]]) -> str:
        """Say how a pair is judged otherwise together than alone; an empty string if it is not.

        Raises:
            WinnowError: if the reward breaks its contract on more than one item, as by returning one score for all.
        """
        together = self.reward.score([item for item, _ in pair])
        for (item, alone), verdict in zip(pair, together, strict=True):
            if (alone.score, alone.outcome) != (verdict.score, verdict.outcome):
                return (
                    f"reward {self.reward.name} gives {verdict.score} to a completion scored with another one and "
                    f"{alone.score} to the same scored alone, on {guard.place(item)}: workers score each alone, so a "
                    "reward must neither look at the rest of the batch nor be random"
                )
        return ""

    def _judged(self, item: Item) -> tuple[str, dict[str, Any]]:
        returned = self.reward.score([item])
        if not (isinstance(returned, list) and len(returned) == 1 and isinstance(returned[0], Verdict)):
            raise errors.RewardError(
                f"reward {self.reward.name}, {guard.place(item)}: expected a list of one Verdict for one item, "
                f"got {self._cut(repr(returned))[:200]}"
            )
        [verdict] = returned
        content: dict[str, Any] = {
            "score": _number(verdict.score),
            "outcome": _number(verdict.outcome),
            "reason": self._cut(verdict.reason),
        }
        if verdict.parts:
            parts = {str(name): _number(part) for name, part in verdict.parts.items()}
            size = len(json.dumps(parts))
            if size > self.max_output:
                return "output limit", {"detail": f"the parts of the verdict take {size} characters"}
            content["parts"] = parts
        content["events"] = [self._plain(event) for event in self._events]
        return "verdict", content

    def _plain(self, event: guard.Event) -> tuple[str, float, str, str]:
        return event.name, event.limit, self._cut(event.message), self._cut(event.trace)

    def _cut(self, text: str) -> str:
        if len(text) <= self.max_output:
            return text
        return f"{text[: self.max_output]}... (cut at max_output = {self.max_output})"


def brief(text: str, limit: int = MESSAGE) -> str:
    """Leave out the middle of a message if it is longer than people read, 200 characters at least."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 200]}... ({len(text) - limit + 50} characters left out) ...{text[-150:]}"


def verdict_of(content: Mapping[str, Any]) -> Verdict:
    """The verdict that `Judge.judge` described."""
    return Verdict(content["score"], content["outcome"], content["reason"], content.get("parts", {}))


def _known(error: errors.WinnowError) -> str:
    """The name of the error's class, or, for a class of the user's own, of the one it refines."""
    return next(str(kind.__name__) for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)


def _number(value: Any) -> float | None:
    # Exact types only: numpy's numbers are subclasses of float, and what reads them back knows none.
    return value if value is None or type(value) in (float, int, bool) else float(value)
