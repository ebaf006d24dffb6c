"""The script prepared for a GPU runs from end to end on a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("parts", [["sampler", "update"], pytest.param(["learning"], marks=pytest.mark.slow)])
def test_it_runs_tiny(parts: list[str], tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    command = [sys.executable, str(ROOT / "benchmarks/gpu.py"), "--tiny", "--out", str(out), "--parts", *parts]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run(command, check=True, env=environment, timeout=200, capture_output=True)
    found = json.loads(out.read_text())
    assert found["tiny"] is True
    if "sampler" in parts:
        assert found["sampler"]["ratio"] > 0
        assert [(row["n"], row["m"]) for row in found["update"]] == [(2, 2), (4, 2)]
    else:
        assert found["learning"]["rollouts"] > 0
