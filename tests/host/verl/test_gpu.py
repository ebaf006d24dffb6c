"""The example as a user runs it, on one GPU with vLLM. Never run where the rest of these tests were written."""

import os
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
EXAMPLE = Path(__file__).parents[3] / "examples/verl_gsm8k"


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.skipif("GSM8K" not in os.environ, reason="GSM8K names no folder with GSM8K's train.jsonl and test.jsonl")
def test_three_steps_of_the_example(tmp_path):
    prepare = ["python", str(EXAMPLE / "prepare.py"), os.environ["GSM8K"], "--out", str(tmp_path / "data")]
    subprocess.run(prepare, check=True, timeout=600)
    environment = {**os.environ, "DATA": str(tmp_path / "data"), "MODEL": "Qwen/Qwen2.5-0.5B-Instruct"}
    settings = ["trainer.n_gpus_per_node=1", "trainer.total_training_steps=3"]
    done = subprocess.run(
        ["bash", str(EXAMPLE / "run.sh"), *settings], env=environment, capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "winnow/rollouts" in done.stdout
