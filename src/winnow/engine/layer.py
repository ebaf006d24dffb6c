"""What winnow's cache layers share, whatever version of ``transformers`` asks."""

from __future__ import annotations

from transformers.cache_utils import CacheLayerMixin


class Layer(CacheLayerMixin):  # type: ignore[misc]
    """A cache layer that is neither compiled nor sliding and, unless it says otherwise, has no limit."""

    is_compileable = False
    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        # transformers 4.56 does not set it.
        self.is_initialized = False

    def get_max_length(self) -> int:
        """Return the most columns, -1 for no limit."""
        return -1

    def get_max_cache_shape(self) -> int:
        """Return `get_max_length`, under the name it has in transformers before 5.20."""
        return self.get_max_length()
