"""An audit of rollouts that a run or a pilot logged: can their rewards be trusted?

`audit` reads a log once and returns what it found, worst first: verifiers that disagree, rewards that are constant,
not deterministic or tied to length, truncated and unscorable rollouts, duplicates, and passes that look too cheap.
"""

from winnow.audit.findings import Finding
from winnow.audit.log import Entry, Log, open_log
from winnow.audit.run import audit

__all__ = ["Entry", "Finding", "Log", "audit", "open_log"]
