"""The reward as a run uses it: in workers that can be killed where it may hang."""

from __future__ import annotations

from winnow.reward import Pool, Reward
from winnow.train.config import TrainConfig

AUTO_WORKERS = 2


def supervised(reward: Reward, config: TrainConfig) -> Reward:
    """Return the reward, in a `winnow.reward.Pool` where the settings or the reward itself ask for one.

    With ``reward_workers`` unset, rewards that say they may run for long (``may_hang``: functions of the user, math)
    get `AUTO_WORKERS` workers; the others, such as exact match, are scored in this process, where they are fastest.
    """
    workers = config.reward_workers
    if workers is None:
        workers = AUTO_WORKERS if getattr(reward, "may_hang", False) else 0
    if workers == 0 or isinstance(reward, Pool):
        return reward
    return Pool(
        reward,
        workers=workers,
        timeout=config.reward_timeout,
        on_timeout=config.reward_on_timeout,
        memory_mb=config.reward_memory_mb,
    )
