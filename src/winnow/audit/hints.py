"""Signs of a reward that can be had without the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from winnow.audit.findings import Finding
from winnow.audit.log import Entry

SHOWN, EXCERPT = 3, 80
MANY_WITHOUT_GOLD = 0.05


class Hints:
    """Passes that look too cheap. Memory: constant."""

    def __init__(self) -> None:
        self.passed = 0
        self.with_gold = 0
        self.counts = dict.fromkeys(("empty", "repeats_prompt", "without_gold", "cut"), 0)
        self.examples: dict[str, list[dict[str, Any]]] = {name: [] for name in self.counts}

    def entry(self, entry: Entry) -> None:
        """Take a rollout in."""
        if not entry.passed:
            return
        self.passed += 1
        self.with_gold += entry.answer is not None
        text = entry.text.strip()
        for name, found in (
            ("empty", not text),
            ("repeats_prompt", bool(text) and text == entry.prompt.strip()),
            ("without_gold", entry.answer is not None and entry.answer.strip() not in entry.text),
            ("cut", entry.truncated),
        ):
            if found:
                self.counts[name] += 1
                if len(self.examples[name]) < SHOWN:
                    self.examples[name].append(
                        {"prompt_id": entry.prompt_id, "gold": entry.answer, "text": entry.text[-EXCERPT:]}
                    )

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON: how many passes are of each kind, and the first of them."""
        return {
            "passed": self.passed,
            "passed_with_gold_known": self.with_gold,
            **self.counts,
            "examples": self.examples,
        }

    def findings(self) -> Iterator[Finding]:
        """Yield what these numbers say."""
        for name, what, do in (
            (
                "empty",
                "empty completions passed",
                "the reward pays for nothing: correct its treatment of missing answers",
            ),
            (
                "repeats_prompt",
                "completions that repeat the prompt passed",
                "the answer stands in the prompt: see the golds",
            ),
        ):
            if self.counts[name]:
                yield Finding("high", name.replace("_", " "), f"{self.counts[name]:,} {what}", do)
        if self.counts["cut"]:
            yield Finding(
                "low",
                "cut",
                f"{self.counts['cut']:,} completions passed although they were cut at the limit of tokens",
                "the answer may have been taken from the middle of a thought: see the examples",
            )
        without = self.counts["without_gold"]
        if self.with_gold and without / self.with_gold >= MANY_WITHOUT_GOLD:
            yield Finding(
                "low",
                "without gold",
                f"{without:,} of {self.with_gold:,} passes ({without / self.with_gold:.0%}) lack the text of the gold",
                "fine where answers have many spellings; else compare with a second verifier: --against",
            )
