"""Logs made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def line(name: str = "train:1", reward: float | None = 1.0, **changes: Any) -> dict[str, Any]:
    """A rollout; what is None is left out, as training does."""
    text = changes.pop("text", "7")
    made = {
        "step": 1, "prompt_id": name, "rollout_id": f"1/{name}/0", "prompt": f"what is {name}?", "answer": "7",
        "text": text, "ids": list(range(len(text))), "finish": "stop", "reward": reward, "outcome": reward,
        "selected": False, "fate": "trained", **changes,
    }  # fmt: skip
    return {key: value for key, value in made.items() if value is not None}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path
