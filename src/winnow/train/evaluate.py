"""Held-out accuracy: pass@1 as a mean over samples, pass@k without bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from winnow.errors import RewardError
from winnow.reward import Item, Reward
from winnow.rollout import Prompt
from winnow.train.collect import Interrupted

if TYPE_CHECKING:
    from winnow.engine import Sampler


@dataclass(frozen=True)
class Evaluation:
    """Held-out result.

    Attributes:
        accuracy: pass@1: the mean over prompts of the mean outcome of their scorable samples.
        pass_at: pass@k by k, over the prompts with at least k scorable samples; a k no prompt reaches is absent.
        samples: completions scored.
        unscorable: completions without a verdict.
        length: mean completion length in tokens.
    """

    accuracy: float
    pass_at: dict[int, float]
    samples: int
    unscorable: int
    length: float

    def metrics(self) -> dict[str, float]:
        """Return the numbers under their names in ``metrics.jsonl``."""
        found: dict[str, float] = {"eval/accuracy": self.accuracy, "eval/samples": self.samples}
        found.update({f"eval/pass@{k}": value for k, value in self.pass_at.items()})
        return {**found, "eval/unscorable": self.unscorable, "eval/length": self.length}


def pass_at_k(
    n: npt.NDArray[np.int64] | Sequence[int] | int, c: npt.NDArray[np.int64] | Sequence[int] | int, k: int
) -> npt.NDArray[np.float64]:
    """Return the unbiased estimate of pass@k, ``1 - C(n - c, k) / C(n, k)``, for each prompt.

    Drawing k of the n samples without replacement; with replacement it would be biased low.

    Args:
        n: samples per prompt, int (P,) or a number.
        c: correct ones among them, int (P,) or a number.
        k: at most the smallest n.

    Raises:
        ValueError: k is below 1 or above some n.
    """
    total = np.atleast_1d(np.asarray(n, dtype=np.float64))
    wrong = total - np.atleast_1d(np.asarray(c, dtype=np.float64))
    if k < 1 or np.any(k > total):
        raise ValueError(f"k={k} needs 1 <= k <= n, smallest n is {int(total.min())}")
    # C(n-c, k) / C(n, k) as a product of k ratios, each in [0, 1]: no factorial can overflow.
    drawn = np.arange(k, dtype=np.float64)
    ratios = np.clip(wrong[:, None] - drawn, 0.0, None) / (total[:, None] - drawn)
    return np.asarray(1.0 - ratios.prod(axis=1), dtype=np.float64)


def evaluate(
    sampler: Sampler,
    reward: Reward,
    prompts: Sequence[Prompt],
    encoded: Sequence[Sequence[int]],
    *,
    samples: int,
    seed: int,
    ks: Sequence[int] = (),
    stopped: Callable[[], bool] = lambda: False,
) -> Evaluation:
    """Sample every held-out prompt and judge the completions with the training reward.

    Args:
        sampler: carries the evaluation's own temperature and length.
        reward: a sample passes when its outcome (its score where there is no outcome) is 1 or more; accuracy
            is the mean of the outcomes clipped to [0, 1], so graded verdicts count in part.
        prompts: held-out prompts (P,), at least one.
        encoded: their token ids.
        samples: completions per prompt.
        seed: the noise of this evaluation. It touches no other generator, and is the same each time, so two
            evaluations differ only by what was learned between them.
        ks: values of k for pass@k, each at most ``samples``.
        stopped: asked between decoding steps.

    Raises:
        Interrupted: ``stopped`` said so.
        RewardError: not one completion could be scored.
    """
    session = sampler.session(encoded, seed=seed)
    session.submit([(prompt, samples) for prompt in range(len(prompts))])
    rollouts = []
    while finished := session.advance():
        rollouts += finished
        if stopped():
            raise Interrupted
    rollouts.sort(key=lambda rollout: (rollout.prompt, rollout.draw))
    verdicts = reward.score(
        [Item(prompts[r.prompt], r.text, f"evaluation/{prompts[r.prompt].id}/{r.draw}") for r in rollouts]
    )
    outcomes = np.full((len(prompts), samples), np.nan)
    for rollout, verdict in zip(rollouts, verdicts, strict=True):
        judged = verdict.score if verdict.outcome is None else verdict.outcome
        if judged is not None:
            outcomes[rollout.prompt, rollout.draw] = judged
    scorable = np.isfinite(outcomes)
    counts = scorable.sum(axis=1)
    if not counts.any():
        reason = next((verdict.reason for verdict in verdicts if verdict.reason), "no reason given")
        raise RewardError(f"reward {reward.name!r} could not score a single held-out completion: {reason}")
    correct = (np.where(scorable, outcomes, 0.0) >= 1.0).sum(axis=1)
    graded = np.where(scorable, outcomes.clip(0.0, 1.0), 0.0).sum(axis=1)
    judged_prompts = counts > 0
    pass_at = {}
    for k in ks:
        enough = counts >= k
        if enough.any():
            pass_at[k] = float(pass_at_k(counts[enough], correct[enough], k).mean())
    return Evaluation(
        accuracy=float((graded[judged_prompts] / counts[judged_prompts]).mean()),
        pass_at=pass_at,
        samples=int(counts.sum()),
        unscorable=int(outcomes.size - counts.sum()),
        length=float(np.mean([len(rollout.ids) for rollout in rollouts])),
    )
