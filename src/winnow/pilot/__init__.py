"""A pilot: some rollouts of each prompt with the policy as it is, to see what a run would learn from.

`pilot` draws and counts, `report` says what follows for group sizes and prompts, `write_kept` writes the rows that are
worth keeping. The statistics (`no_signal`, `fit_prior`, `worth`) take tallies from anywhere.
"""

from winnow.pilot.estimate import NoSignal, fit_prior, no_signal
from winnow.pilot.keep import write_kept
from winnow.pilot.prior import Prior
from winnow.pilot.report import report
from winnow.pilot.run import Pilot, pilot
from winnow.pilot.tally import Tally
from winnow.pilot.worth import Worth, worth

__all__ = [
    "NoSignal",
    "Pilot",
    "Prior",
    "Tally",
    "Worth",
    "fit_prior",
    "no_signal",
    "pilot",
    "report",
    "worth",
    "write_kept",
]
