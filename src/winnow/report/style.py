"""One look for every figure: colour-blind safe hues, light grid, labels at the ends of lines."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from winnow.errors import MissingExtra

# Okabe and Ito's palette without its yellow, ordered so that neighbours differ in lightness too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B5B5B")
DASHES = ("-", "-", "-", "-", "--", "--", "--")
LEGEND_CHARACTERS = 120
INK = "#1F2933"
MUTED = "#6B7785"
GRID = "#E3E7EC"
FAINT = "#C3CAD3"

SETTINGS: dict[str, object] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 180,
}


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def styled(make: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function that draws: it runs under the settings of this module and leaves no trace.

    The decorated function raises `MissingExtra` where matplotlib is not installed.
    """

    @functools.wraps(make)
    def drawn(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _matplotlib().rc_context(SETTINGS):
            return make(*args, **kwargs)

    return drawn


def legend_above(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put one legend above all axes, in as many columns as the width of a figure holds."""
    columns = max(1, min(len(labels), LEGEND_CHARACTERS // (max(map(len, labels), default=1) + 8)))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, fontsize=10)


def canvas(rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (7.2, 4.0), **options: Any) -> Any:
    """Return ``(figure, axes)`` drawn by Agg, without pyplot's global state; ``size`` in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **options)


@styled
def save(figure: Any, path: Path) -> Path:
    """Write ``figure`` as PNG without a date or version inside, so equal data gives equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", metadata={"Software": None})
    return path


def counts(axis: Any) -> None:
    """Print the ticks of ``axis`` (``axes.xaxis`` or ``.yaxis``) as 0, 500, 10k, 2.5M."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))


def percent(axis: Any) -> None:
    """Print the ticks of ``axis``, a share between 0 and 1, in percent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))


def end_labels(
    axes: Any, labels: Sequence[tuple[str, float, str]], x: float, *, gap: float = 0.055, size: float = 9.0
) -> None:
    """Write each ``(text, y, colour)`` to the right of ``x``, moved apart where they would collide.

    ``gap`` is the least distance between two labels as a share of the height of the axes. Call it
    after the limits of the axes are final.
    """
    low, high = axes.get_ylim()
    spread = [(y - low) / (high - low) for _, y, _ in labels]
    order = sorted(range(len(labels)), key=lambda index: spread[index])
    placed = {place: max(share, gap / 2) for place, share in enumerate(spread)}
    for below, above in itertools.pairwise(order):
        placed[above] = max(placed[above], placed[below] + gap)
    ceiling = 1.0 - gap / 2
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    for index, (text, _, colour) in enumerate(labels):
        axes.annotate(
            text,
            (x, low + placed[index] * (high - low)),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            color=colour,
            fontsize=size,
            fontweight="bold",
            annotation_clip=False,
        )


def compact(value: float) -> str:
    """Return a number in at most five characters: 950, 12k, 2.5k, 3.1M."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".rstrip("0").rstrip(".") + suffix
    return f"{value:.3g}"


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("figures need matplotlib: pip install 'winnow-rl[report]'") from None
    return matplotlib
