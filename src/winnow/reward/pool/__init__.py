"""Scoring in worker processes that can be killed.

`Pool` is what to use. The processes behind it, and the module that is each one's main idea:

```
user's process           nursery (fresh interpreter)      worker (forked from it, or another fresh one)
front   shift    crew -> nursery  loads the reward   ->   worker   judging
settings, one    all     once, makes workers in           one item after the other, under limits,
policies  batch  workers milliseconds, buries them        writes on the clock when it begins each
```

The parent reads that clock and decides; it never waits for a worker, and nothing a worker does can reach it except
bounded JSON.
"""

from winnow.reward.pool.front import Pool

__all__ = ["Pool"]
