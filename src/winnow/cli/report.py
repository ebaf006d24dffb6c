"""``winnow report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli import options as o
from winnow.cli.output import result

EXAMPLES = (
    "winnow report runs/mix-pods-seed0",
    "winnow report runs/a runs/b",
)


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, finished or not.", autocompletion=o.paths)
    ],
    as_json: o.Json = False,
) -> None:
    """Draw the figures of a run and write its report.html.

    The page is one file: figures and numbers are inside, nothing is fetched when it is opened.
    """
    from winnow.report import write_report

    pages = []
    for run in runs:
        page = write_report(run)
        pages.append({"run": str(run), "report": str(page), "figures": str(run / "figures")})
        if not as_json:
            print(page)
    if as_json:
        print(json.dumps({"reports": pages}), file=result())
