"""Which groups enter the update at all."""

from winnow.gating.zero_signal import RULES, Gate, everything, zero_signal

__all__ = ["RULES", "Gate", "everything", "zero_signal"]
