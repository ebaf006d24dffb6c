"""Mean group sizes as bars, one for each bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from winnow.report import style


def size_bars(axes: Any, sizes: Mapping[str, Sequence[int]], colours: Any) -> None:
    """Draw the mean size of groups as a bar for each bin, with the number of groups below it."""
    means = [float(np.mean(found)) for found in sizes.values()]
    bars = axes.bar(range(len(means)), means, color=colours, width=0.72)
    axes.bar_label(bars, [f"{mean:.1f}" for mean in means], padding=2, fontsize=8.5, fontweight="bold")
    ticks = [f"{name}\n{style.compact(len(found))}" for name, found in sizes.items()]
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_ylim(0, 1.12 * max([*means, 1.0]))
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("mean rollouts of a prompt")
