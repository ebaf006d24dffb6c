"""Which groups enter the update at all."""

from winnow.gating.band import Band
from winnow.gating.continued import Continued
from winnow.gating.zero_signal import RULES, Gate, everything, zero_signal

__all__ = ["RULES", "Band", "Continued", "Gate", "everything", "zero_signal"]
