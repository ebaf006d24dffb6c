"""The problems that ``winnow check`` finds, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.task.problems import Kind

LISTED = 100
"""Rows of one kind of problem that are listed in JSON; all are counted."""


class Problems:
    """Everything found, by kind."""

    def __init__(self) -> None:
        self._found: dict[Kind, list[dict[str, Any]]] = {}
        self._dropped: set[Kind] = set()

    def add(
        self,
        kind: Kind,
        what: str,
        where: str = "",
        line: int = 0,
        column: str = "",
        dropped: bool = False,
        trace: str = "",
    ) -> None:
        """Take one problem; a row that was ``dropped`` does not stop a run, and ``trace`` is a traceback."""
        row = {"where": where, "line": line, "column": column, "what": what}
        self._found.setdefault(kind, []).append(row | ({"trace": trace} if trace else {}))
        if dropped:
            self._dropped.add(kind)

    @property
    def stop(self) -> bool:
        """Whether anything found stops a run."""
        return any(self._stops(kind) for kind in self._found)

    def groups(self) -> list[dict[str, Any]]:
        """Return one entry per kind, those that stop a run first."""
        groups = [
            {
                "kind": kind.name,
                "title": kind.title,
                "advice": "left out" if kind in self._dropped else kind.advice,
                "stops": self._stops(kind),
                "count": len(rows),
                "rows": rows[:LISTED],
            }
            for kind, rows in self._found.items()
        ]
        return sorted(groups, key=lambda group: not group["stops"])

    def _stops(self, kind: Kind) -> bool:
        return kind.stops == "always" or (kind.stops == "unless dropped" and kind not in self._dropped)
