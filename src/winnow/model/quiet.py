"""Loading and saving without the library's own progress bars, which would break winnow's display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging


@contextmanager
def without_bars() -> Iterator[None]:
    """Switch transformers' progress bars off for a while."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
