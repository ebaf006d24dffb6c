"""The example runs as written, and is three lines away from plain TRL."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

EXAMPLE = Path("examples/trl_math.py")


def plain() -> str:
    """The example as a user of plain TRL would have it, made from its own comments."""
    lines = []
    for line in EXAMPLE.read_text().splitlines():
        if "# 1: " in line:
            line = line.partition("# 1: ")[2]
        elif "# 2: " in line:
            line = line.partition("=")[0] + "= " + line.partition("# 2: ")[2]
        elif "# 3: " in line:
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def test_three_lines_differ():
    ours, theirs = EXAMPLE.read_text().splitlines(), plain().splitlines()
    assert [line for line in ours if line not in theirs] == [
        line for line in ours if "# 1:" in line or "# 2:" in line or "# 3:" in line
    ]
    assert len(ours) == len(theirs) + 1
    assert "from trl import GRPOTrainer" in theirs and "trainer = GRPOTrainer(" in theirs
    compile(plain(), "plain", "exec")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["winnow", "plain"])
def test_both_run(tmp_path, kind):
    script = EXAMPLE
    if kind == "plain":
        script = tmp_path / "plain.py"
        script.write_text(plain())
    command = [sys.executable, str(script), "--steps", "2", "--out", str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, env=environment)
    assert done.returncode == 0, done.stderr
    assert ("step 2: 64 of 256 rollouts trained" in done.stdout) == (kind == "winnow")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_runs_under_accelerate_launch(tmp_path):
    command = [
        sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes", "2",
        "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0",
        str(EXAMPLE), "--steps", "2", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": "src", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("step 2: 128 of 512 rollouts trained") == 2
