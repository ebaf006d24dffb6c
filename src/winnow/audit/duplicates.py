"""Completions that are the same, within a prompt and across prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from winnow.audit.findings import Finding
from winnow.audit.groups import Group
from winnow.audit.log import Entry
from winnow.audit.stats import Moments

MOST_TEXTS = 50_000
"""Different completions kept to be found again across prompts (about 20 MB)."""
SHOWN, EXCERPT = 5, 80
FEW_DISTINCT = 0.5
FEWEST_GOLDS = 2


@dataclass(slots=True)
class _Text:
    excerpt: str
    prompt_id: str
    rollouts: int = 0
    prompts: int = 1
    passed: int = 0
    gold: str | None = None
    golds: int = 0


class Duplicates:
    """Counts identical completions.

    Across prompts, different completions are kept, chosen by their hash: beyond `MOST_TEXTS` the share chosen is
    halved, so memory is bounded and shares stay estimates of those of the whole log. Prompts and golds of a text are
    counted as changes from one to the next while the log goes by: whether there are two is exact, more may be too many
    where prompts come back.
    """

    def __init__(self) -> None:
        self.entropy = Moments()
        self.rollouts = self.repeated = 0
        self.contradicting = 0
        self._bits = 0
        self._texts: dict[int, _Text] = {}

    def entry(self, entry: Entry, digest: int) -> None:
        """Take a rollout in."""
        if digest & ((1 << self._bits) - 1):
            return
        seen = self._texts.get(digest)
        if seen is None:
            seen = self._texts[digest] = _Text(entry.text[:EXCERPT], entry.prompt_id)
        seen.rollouts += 1
        if seen.prompt_id != entry.prompt_id:
            seen.prompt_id, seen.prompts = entry.prompt_id, seen.prompts + 1
        if entry.passed:
            seen.passed += 1
            if entry.answer is not None and entry.answer != seen.gold:
                seen.gold, seen.golds = entry.answer, seen.golds + 1
        while len(self._texts) > MOST_TEXTS:
            self._bits += 1
            mask = (1 << self._bits) - 1
            self._texts = {key: text for key, text in self._texts.items() if not key & mask}

    def group(self, group: Group) -> None:
        """Take a group in."""
        size = len(group.digests)
        counts = Counter(group.digests)
        self.rollouts += size
        self.repeated += size - len(counts)
        if size > 1:
            bits = -sum(count / size * math.log2(count / size) for count in counts.values())
            self.entropy.add(bits / math.log2(size))
        verdicts: dict[int, float] = {}
        self.contradicting += any(
            verdicts.setdefault(key, value) != value
            for key, value in zip(group.digests, group.judged, strict=True)
            if not math.isnan(value)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        shared = [text for text in self._texts.values() if text.prompts > 1]
        kept = sum(text.rollouts for text in self._texts.values())
        common = sorted(shared, key=lambda text: -text.rollouts)[:SHOWN]
        return {
            "within_prompt": self.repeated / self.rollouts if self.rollouts else None,
            "entropy": self.entropy.as_dict(),
            "contradicting_groups": self.contradicting,
            "across_prompts": sum(text.rollouts for text in shared) / kept if kept else None,
            "share_of_texts_looked_at": 0.5**self._bits,
            "common": [
                {"text": text.excerpt, "rollouts": text.rollouts, "prompts": text.prompts, "passed": text.passed}
                for text in common
            ],
            "passing_for_many_golds": [
                {"text": text.excerpt, "passed": text.passed, "golds": text.golds} for text in self._for_many_golds()
            ],
        }

    def _for_many_golds(self) -> list[_Text]:
        found = [text for text in self._texts.values() if text.golds >= FEWEST_GOLDS]
        return sorted(found, key=lambda text: -text.passed)[:SHOWN]

    def findings(self) -> Iterator[Finding]:
        """Yield what these numbers say."""
        if self.contradicting:
            yield Finding(
                "high",
                "contradiction",
                f"in {self.contradicting:,} groups the same completion of the same prompt got different verdicts",
                "the reward is not deterministic: groups learn its noise; rescore the log with --with to find out more",
            )
        for text in self._for_many_golds()[:1]:
            yield Finding(
                "medium",
                "one answer for all",
                f"the completion {text.excerpt!r} passed {text.passed:,} times, for different golds",
                "see whether the golds are equivalent; if not, the verifier can be fooled",
            )
        mean = self.entropy.mean
        if self.entropy.count and mean < FEW_DISTINCT:
            yield Finding(
                "low",
                "duplicates",
                f"completions of a prompt hardly differ: entropy {mean:.2f} of 1, and "
                f"{self.repeated / self.rollouts:.0%} repeat another one of their group",
                "short answers repeat by nature; long ones mean that the policy has collapsed: raise the temperature",
            )
