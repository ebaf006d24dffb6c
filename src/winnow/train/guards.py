"""Limits that protect a run, and the few notes that save a person from a wrong conclusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from winnow.errors import SafetyStop
from winnow.train.collect import Collected
from winnow.train.config import TrainConfig
from winnow.train.constant import ConstantReward
from winnow.train.metrics import pass_rates
from winnow.train.state import Streaks

if TYPE_CHECKING:
    from winnow.objective import UpdateStats

_WARN_AT = 5
_RATIO_TOLERANCE = {"float32": 1e-3, "float64": 1e-3, "bfloat16": 0.05, "float16": 0.02}


class Guards:
    """Watches every step; `check` raises when a limit is reached.

    Args:
        config: holds the limits.
        streaks: counters carried across checkpoints; updated here.
        dtype: type of the weights, by name; it decides how far from 1 the first ratio may be.
        note: shows a line to a person.
    """

    def __init__(self, config: TrainConfig, streaks: Streaks, dtype: str, note: Callable[[str], None]) -> None:
        self._config = config
        self._streaks = streaks
        self._tolerance = _RATIO_TOLERANCE.get(dtype, 0.05)
        self._note = note
        self._loss_noted = False
        self._ratio_checked = False
        self._constant = ConstantReward(note)

    def check(self, collected: Collected, stats: UpdateStats) -> None:
        """Look at a finished step.

        Raises:
            SafetyStop: too many rollouts without a verdict, too many steps in a row without a trainable row, or too
                many updates in a row that are not finite.
        """
        self._unscorable(collected)
        self._constant.look([rollout.verdict for rollout in collected.rollouts])
        self._signal(collected, stats)
        self._finite(stats)
        if not stats.skipped and not stats.nonfinite:
            self._first_update(stats)

    def _unscorable(self, collected: Collected) -> None:
        verdicts = [r.verdict for r in collected.rollouts if r.verdict is None or r.verdict.score is None]
        total, limit = len(collected.rollouts), self._config.max_unscorable_rate
        if not total or len(verdicts) / total <= limit:
            return
        reason = next((verdict.reason for verdict in verdicts if verdict and verdict.reason), "no reason given")
        raise SafetyStop(
            f"{len(verdicts)} of {total} rollouts of a step could not be scored (limit "
            f"max_unscorable_rate={limit:g}); the first reason: {reason}"
        )

    def _signal(self, collected: Collected, stats: UpdateStats) -> None:
        if not stats.skipped:
            self._streaks.learned()
            return
        self._streaks.tied(pass_rates(collected))
        count, limit = self._streaks.no_signal, self._config.max_no_signal_steps
        if count >= limit:
            raise SafetyStop(
                f"{count} steps in a row had no trainable row (limit max_no_signal_steps={limit}): within every "
                f"prompt all rollouts got the same outcome, and the weights did not change.\n"
                f"Prompts of these steps:\n{self._streaks.histogram()}\n{_reasons(collected)}{self._advice()}"
            )
        if count == _WARN_AT:
            self._note(
                f"{count} steps in a row had no trainable row; the run stops at max_no_signal_steps={limit}.\n"
                f"{self._streaks.histogram()}\n{_reasons(collected)}".rstrip()
            )

    def _advice(self) -> str:
        bins = self._streaks.pass_rates
        if not any(bins):
            return "No rollout could be scored: look at the reasons in rollouts.jsonl."
        if sum(bins[: len(bins) // 2]) > sum(bins[len(bins) // 2 :]):
            return (
                "Most prompts are too hard for this policy: use easier prompts, a larger n, a higher temperature, or "
                "warm the policy up on demonstrations. Also check in rollouts.jsonl that right answers are judged "
                "right."
            )
        return "Most prompts are solved: use harder prompts; training longer on these has nothing to teach."

    def _finite(self, stats: UpdateStats) -> None:
        if not stats.nonfinite:
            self._streaks.nonfinite = 0 if not stats.skipped else self._streaks.nonfinite
            return
        self._streaks.nonfinite += 1
        count, limit = self._streaks.nonfinite, self._config.max_nonfinite_steps
        if count >= limit:
            raise SafetyStop(
                f"{count} updates in a row had a loss or gradient that is not finite (limit max_nonfinite_steps="
                f"{limit}); they were not applied. Lower lr (now {self._config.lr:g}) or use dtype=float32; the "
                "rows are in debug/"
            )
        self._note("an update had a loss or gradient that is not finite and was not applied; its rows are in debug/")

    def _first_update(self, stats: UpdateStats) -> None:
        if not self._loss_noted and abs(stats.loss) < 1e-4 and stats.grad_norm > 0:
            self._loss_noted = True
            self._note(
                "the loss is about 0 by design: advantages are centred and the policy that is trained is the one "
                "that sampled. Watch the reward, the gradient norm and held-out accuracy instead."
            )
        on_policy = self._config.epochs == 1 and self._config.minibatches == 1
        if not self._ratio_checked and on_policy:
            self._ratio_checked = True
            if abs(stats.ratio_mean - 1) > self._tolerance:
                self._note(
                    f"the first importance ratio is {stats.ratio_mean:.4f} on average, not 1: the sampler and the "
                    "update compute different probabilities for the same tokens (dropout, a low dtype, or a model "
                    "that treats a cache differently); expect biased updates"
                )


def _reasons(collected: Collected) -> str:
    """Return a line with the commonest reason the reward gave in a step, or an empty string if it gave none."""
    reasons = Counter(rollout.verdict.reason for rollout in collected.rollouts if rollout.verdict)
    reasons.pop("", None)
    if not reasons:
        return ""
    [(reason, count)] = reasons.most_common(1)
    return f"The reward said {reason!r} about {count} of the {len(collected.rollouts)} rollouts of the last step.\n"
