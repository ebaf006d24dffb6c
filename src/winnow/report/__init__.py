"""Pictures and one self-contained page of a run, made from its folder alone."""

from winnow.report.page import write_report
from winnow.report.run import Run, load_run

__all__ = ["Run", "load_run", "write_report"]
