"""A few rollouts of the policy as it is, to see which groups of the run would carry signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from winnow.train import TrainConfig
    from winnow.train.prepare import Setup

BINS = 10


def measure(config: TrainConfig, prompts: int, n: int) -> dict[str, Any]:
    """Draw n rollouts of the first ``prompts`` training prompts and count what ties.

    Returns:
        ``from``; ``at_n`` and ``by_n``, the shares without signal, estimated without bias for group
        sizes up to n; ``pass_rates``, a histogram; ``prompts`` and ``with_signal``, counts.

    Raises:
        RewardError: no rollout could be scored.
    """
    from winnow.errors import RewardError
    from winnow.plan import no_signal_from_pilot
    from winnow.train.prepare import prepare

    setup = prepare(config)
    passed, drawn = _passed(config, setup, min(prompts, len(setup.train)), n)
    whole = passed[drawn == n]
    if not len(whole):
        raise RewardError("the pilot could not score all rollouts of a single prompt; see `winnow check`")
    sizes = sorted({size for size in (2, 4, 8, 16, 32, 64) if size <= n} | {n})
    shares = {size: float(no_signal_from_pilot(whole, n, size).mean()) for size in sizes}
    counts, edges = np.histogram(whole / n, bins=BINS, range=(0.0, 1.0))
    return {
        "from": f"a pilot of {n} rollouts of each of {len(whole)} prompts",
        "at_n": shares[n],
        "by_n": {str(size): share for size, share in shares.items()},
        "pass_rates": {
            f"{low:.1f} to {high:.1f}": int(count) for low, high, count in zip(edges, edges[1:], counts, strict=False)
        },
        "prompts": len(whole),
        "with_signal": int(((whole > 0) & (whole < n)).sum()),
    }


def _passed(config: TrainConfig, setup: Setup, prompts: int, n: int) -> tuple[Any, Any]:
    """Return per prompt how many rollouts passed (outcome of 1 or more) and how many were scorable."""
    from winnow.reward import Item
    from winnow.train.collect import judged
    from winnow.train.prepare import training_sampler

    chosen = setup.train.pick(range(prompts))
    sampler = training_sampler(config, setup)
    session = sampler.session(chosen.encoded, seed=config.seed)
    session.submit([(prompt, n) for prompt in range(prompts)])
    passed, drawn = np.zeros(prompts, dtype=np.int64), np.zeros(prompts, dtype=np.int64)
    while finished := session.advance():
        items = [Item(chosen.prompts[r.prompt], r.text, f"pilot/{r.prompt}/{r.draw}") for r in finished]
        for rollout, verdict in zip(finished, setup.task.reward.score(items), strict=True):
            outcome = judged(verdict)
            if outcome is not None:
                drawn[rollout.prompt] += 1
                passed[rollout.prompt] += outcome >= 1
    return passed, drawn
