"""A long run does not grow."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from pathlib import Path
from tests.train.conftest import Notes, make_policy, make_settings, make_task
from winnow.train import Trainer

page = resource.getpagesize()

class Watch(Notes):
    def step(self, metrics, fraction):
        if metrics["step"] in (60, 200):
            print(int(Path("/proc/self/statm").read_text().split()[1]) * page)

sizes = {{"recipe": "vigor+pods", "n": 8, "m": 4}}
settings = make_settings(Path({out!r}), steps=200, eval_every=20, checkpoint_every=20, lr=1e-5, **sizes)
Trainer(settings, progress=Watch(), task=make_task(), policy=make_policy()).run()
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads resident memory from /proc")
def test_memory_does_not_grow_over_200_steps(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(out=str(tmp_path / "run"))],
        capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    early, late = map(int, done.stdout.split())
    assert late - early < 16e6, f"{(late - early) / 1e6:.1f} MB between steps 60 and 200"
