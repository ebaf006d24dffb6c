"""Many programs at once, a quarter of them hostile: the others get their verdicts, and nothing stays."""

import random
from pathlib import Path

import pytest
from tests.reward.code.processes import children, launcher

from winnow.reward import Item
from winnow.reward.code import Code
from winnow.rollout import Prompt

TESTS = {"function": "f", "cases": [{"args": [1], "expected": 2}, {"args": [5], "expected": 6}]}
HONEST = {"def f(x): return x + 1": 1.0, "def f(x): return 2": 0.5, "def f(x): return 0": 0.0}
HOSTILE = (
    "while True: pass",
    "x = []\nwhile True: x.append(bytearray(10**7))",
    "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    "import os\nos._exit(0)",
    "import os\nwhile True: os.write(3, b'x' * 65536)",
)


@pytest.mark.slow
@pytest.mark.usefixtures("isolated", "no_leftovers")
def test_torture():
    rng = random.Random(0)
    programs = rng.choices(list(HONEST), k=300) + rng.choices(HOSTILE, k=100)
    rng.shuffle(programs)
    items = [Item(Prompt(str(index), "p", fields={"tests": TESTS}), text) for index, text in enumerate(programs)]
    launcher()
    before = resident_mb()
    verdicts = Code(timeout=1.0, jobs=4).score(items)
    expected = [HONEST.get(program, 0.0) for program in programs]
    # On a busy machine an honest program may not get a turn in time, and says so.
    late = [v.reason.startswith("timeout") and p in HONEST for v, p in zip(verdicts, programs, strict=True)]
    assert sum(late) <= 3
    assert [v.score for v, x in zip(verdicts, late, strict=True) if not x] == [
        score for score, x in zip(expected, late, strict=True) if not x
    ]
    assert children(launcher()) == []
    assert resident_mb() - before < 50


def resident_mb() -> float:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
