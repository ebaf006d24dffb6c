"""What an audit found, worst first, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Severity = Literal["high", "medium", "low"]
RANKS: tuple[Severity, ...] = ("high", "medium", "low")


@dataclass(frozen=True)
class Finding:
    """One thing a person should know.

    Attributes:
        severity: ``high``: the rewards of this log cannot be trusted or teach nothing; ``medium``: part of them;
            ``low``: worth a look.
        check: which check found it.
        what: what was measured.
        do: what to do.
    """

    severity: Severity
    check: str
    what: str
    do: str

    def as_dict(self) -> dict[str, str]:
        """Return plain values for JSON."""
        return asdict(self)


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity; those of one severity stay in order."""
    return sorted(findings, key=lambda finding: RANKS.index(finding.severity))
