"""Two verifiers on the same rollouts: where they disagree, and whether either says the same twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from winnow.audit.findings import Finding
from winnow.audit.golds import Golds
from winnow.audit.log import Entry
from winnow.audit.stats import wilson
from winnow.reward import Reward, Verdict

VERDICTS = ("pass", "fail", "unscorable")
BATCH = 256
TWICE = 256
"""Rollouts, the first ones it can score, that every reward scores twice."""
TAIL = 120
COMMON, MANY_UNSCORABLE = 0.02, 0.01
LOGGED = "the log"


class Judge:
    """One side of the comparison: a reward that scores anew, or the log when there is none."""

    def __init__(self, reward: Reward | None, golds: Golds) -> None:
        self._reward, self._golds = reward, golds
        self.name = LOGGED if reward is None else reward.name
        self.twice = self.differing = 0
        self.judged = self.unscorable = 0
        self.reason = ""
        self.example: dict[str, Any] | None = None
        if reward is not None:
            golds.check(reward)

    @property
    def scores(self) -> bool:
        """Whether it scores anew."""
        return self._reward is not None

    def verdicts(self, entries: Sequence[Entry]) -> list[Verdict]:
        """Judge the entries; the first `TWICE` it can score twice, to see whether both verdicts agree.

        Raises:
            DataError: a gold is missing, or the task is not that of the log.
            RewardError: the reward broke its contract.
        """
        if self._reward is None:
            return [Verdict(entry.reward, entry.outcome, entry.reason) for entry in entries]
        items = [self._golds.item(entry, self._reward) for entry in entries]
        found = self._reward.score(items)
        self._count(found)
        # What cannot be scored may have taken all the time it was given, so it is not tried again.
        places = [place for place, verdict in enumerate(found) if verdict.score is not None][: TWICE - self.twice]
        again = self._reward.score([items[place] for place in places]) if places else []
        for place, second in zip(places, again, strict=True):
            entry, first = entries[place], found[place]
            self.twice += 1
            if (first.score, first.outcome) != (second.score, second.outcome):
                self.differing += 1
                self.example = self.example or {
                    "prompt_id": entry.prompt_id,
                    "completion": entry.text[-TAIL:],
                    "scores": [first.score, second.score],
                }
        return found

    def _count(self, verdicts: Sequence[Verdict]) -> None:
        self.judged += len(verdicts)
        for verdict in verdicts:
            if verdict.score is None:
                self.unscorable += 1
                self.reason = self.reason or verdict.reason

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        return {"name": self.name, "scored_twice": self.twice, "differing": self.differing, "example": self.example}


class Verifiers:
    """Counts and shows disagreements. Memory: one batch of `BATCH` entries and the examples.

    Args:
        first: the reference.
        second: the verifier held against it.
        examples: disagreements kept, the first one of each prompt.
    """

    def __init__(self, first: Judge, second: Judge, examples: int) -> None:
        self._sides = (first, second)
        self._most = examples
        self._batch: list[Entry] = []
        self.table = {one: dict.fromkeys(VERDICTS, 0) for one in VERDICTS}
        self.examples: list[dict[str, Any]] = []
        self._shown: set[str] = set()

    def entry(self, entry: Entry) -> None:
        """Take a rollout in."""
        self._batch.append(entry)
        if len(self._batch) >= BATCH:
            self.finish()

    def finish(self) -> None:
        """Judge what is waiting."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        first, second = (side.verdicts(batch) for side in self._sides)
        for entry, one, two in zip(batch, first, second, strict=True):
            left, right = verdict_of(one), verdict_of(two)
            self.table[left][right] += 1
            if left != right and len(self.examples) < self._most and entry.prompt_id not in self._shown:
                self._shown.add(entry.prompt_id)
                self.examples.append(
                    {
                        "prompt_id": entry.prompt_id,
                        "place": entry.place,
                        "gold": entry.answer,
                        "completion": entry.text[-TAIL:],
                        "verdicts": [left, right],
                        "reasons": [one.reason, two.reason],
                    }
                )

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON.

        The rate is over rollouts that both could score; its interval takes rollouts as independent.
        """
        both, differing = self._both()
        low, high = wilson(differing, both)
        return {
            "first": self._sides[0].as_dict(),
            "second": self._sides[1].as_dict(),
            "table": self.table,
            "scored_by_both": both,
            "disagreements": differing,
            "rate": differing / both if both else None,
            "low": low,
            "high": high,
            "examples": self.examples,
        }

    def _both(self) -> tuple[int, int]:
        scored = [(one, two) for one in ("pass", "fail") for two in ("pass", "fail")]
        counts = {pair: self.table[pair[0]][pair[1]] for pair in scored}
        return sum(counts.values()), counts["pass", "fail"] + counts["fail", "pass"]

    def findings(self) -> Iterator[Finding]:
        """Yield what these numbers say."""
        both, differing = self._both()
        low, high = wilson(differing, both)
        first, second = (side.name for side in self._sides)
        if differing:
            only = self.table["pass"]["fail"], self.table["fail"]["pass"]
            yield Finding(
                "high" if low > COMMON else "medium",
                "verifiers",
                f"{first} and {second} disagree on {differing:,} of {both:,} rollouts ({differing / both:.1%}, "
                f"{low:.1%} to {high:.1%}): {only[0]:,} pass by {first} alone, {only[1]:,} by {second} alone",
                "read the examples: each is an error of one of the two; errors that both make are not seen",
            )
        for side in self._sides:
            if side.unscorable and side.unscorable / side.judged >= MANY_UNSCORABLE:
                yield Finding(
                    "medium",
                    "verifiers",
                    f"{side.name} could not score {side.unscorable:,} of {side.judged:,} rollouts; the first: "
                    f"{side.reason or 'no reason given'}",
                    "these are not compared: see whether its golds, its columns or its time limit are to blame",
                )
            if side.differing:
                yield Finding(
                    "high",
                    "not deterministic",
                    f"{side.name} gave {side.differing:,} of {side.twice:,} rollouts another verdict the second time",
                    "make the reward depend on the completion alone: groups learn its noise",
                )


def verdict_of(verdict: Verdict) -> str:
    """Return ``pass`` (judged at 1 or more), ``fail`` or ``unscorable`` (no score, whatever the outcome)."""
    judged = verdict.score if verdict.score is None or verdict.outcome is None else verdict.outcome
    return "unscorable" if judged is None else "pass" if judged >= 1 else "fail"
