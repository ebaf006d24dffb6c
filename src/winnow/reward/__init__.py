"""Rewards: what judges a completion.

`load` builds one from a word: ``exact``, ``math``, ``code``, ``think``, ``path/to/file.py:function``,
``package.module:function``, or several joined by ``+``. A reward scores a batch of items and gives one
`Verdict` each; an item it cannot judge has score None, which is never the same as 0.
"""

from winnow.reward.base import ChecksColumns, ChecksFields, ChecksGolds, Counts, Item, Reward
from winnow.reward.combined import Combined
from winnow.reward.exact import Exact
from winnow.reward.function import Function
from winnow.reward.loading import load
from winnow.reward.pool import Pool
from winnow.rollout import Verdict

__all__ = [
    "ChecksColumns",
    "ChecksFields",
    "ChecksGolds",
    "Combined",
    "Counts",
    "Exact",
    "Function",
    "Item",
    "Pool",
    "Reward",
    "Verdict",
    "load",
]
