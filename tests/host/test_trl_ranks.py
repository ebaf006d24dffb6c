"""Runs over two processes with gloo: nothing hangs, nothing depends on who sampled what, a lost rank is named."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("trl")

from tests.conftest import CASES

CASE = CASES["DIST-01"]
STARTED = 400
"""Seconds that importing torch and TRL may take on a busy machine; runs themselves are short."""

pytestmark = pytest.mark.timeout(3 * STARTED)


def start(what, steps, world=2):
    """Start the ranks; their output goes to pipes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        **os.environ, "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([".", "src"]),
        "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip
    if world == 1:
        common.pop("WORLD_SIZE")
    command = [sys.executable, "-m", "tests.host.worker", what, str(steps)]
    return [
        subprocess.Popen(
            command,
            env=common | ({"RANK": str(rank), "LOCAL_RANK": str(rank)} if world > 1 else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]


def finish(processes, limit):
    """Return exit codes, the JSON lines and the error output."""
    outputs = []
    try:
        for process in processes:
            outputs.append(process.communicate(timeout=limit))
    finally:
        for process in processes:
            process.kill()
    found = [
        json.loads(out.splitlines()[-1]) if out.strip().startswith("{") or "{" in out else None for out, _ in outputs
    ]
    return [process.returncode for process in processes], found, [err for _, err in outputs]


def test_all_rows_on_one_rank():
    """DIST-01: rank 0 sampled the 6 rows that are kept, rank 1 none of them."""
    codes, found, errors = finish(start("six", 1), limit=STARTED)
    assert codes == [0, 0], errors
    assert sum(CASE["input"]["rows_after_selection"]) == 6
    assert [rank["kept"] for rank in found] == [[6], [6]]
    micro_steps = CASE["expected"]["micro_steps_per_rank"]
    assert [rank["forward_passes"] for rank in found] == micro_steps
    assert [sum(rank["rows"]) for rank in found] == [3, 3]


@pytest.mark.slow
def test_fifty_ragged_plans_end():
    codes, found, errors = finish(start("ragged", 50), limit=STARTED)
    assert codes == [0, 0], errors
    first, second = found
    assert first["steps"] == second["steps"] == 50
    assert first["forward_passes"] == second["forward_passes"]
    assert first["kept"] == second["kept"]
    assert min(first["kept"]) == 0 and len(set(first["kept"])) > 5
    assert first["surplus"] > 0
    assert first["weights"] == second["weights"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["same", "same-rows"])
def test_two_ranks_make_the_step_of_one(what):
    """The same rollouts give the same gradient however many ranks sample and train them (R52, DIST-02)."""
    _, [alone], errors = finish(start(what, 6, world=1), limit=STARTED)
    codes, both, errors = finish(start(what, 6), limit=STARTED)
    assert codes == [0, 0], errors
    assert max(alone["norms"]) > 0.01
    for rank in both:
        assert rank["norms"] == pytest.approx(alone["norms"], rel=1e-4)
        assert rank["weights"] == pytest.approx(alone["weights"], rel=1e-6)
    logged = [{k: v for k, v in line.items() if "seconds" not in k and "padding" not in k and "surplus" not in k}
              for line in alone["lines"]]  # fmt: skip
    for mine, theirs in zip(both[0]["lines"], logged, strict=True):
        assert {name: mine[name] for name in theirs} == pytest.approx(theirs, nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "raise"])
def test_a_lost_rank_ends_the_other(how):
    ranks = start(how, 50)
    ranks[1].wait(timeout=STARTED)
    lost = time.monotonic()
    codes, _, errors = finish(ranks, limit=60)
    assert time.monotonic() - lost < 60
    assert codes[1] == (-9 if how == "kill" else 1)
    assert codes[0] == 1
    assert "RankLost: rank 0 of 2 lost contact with another rank in phase" in errors[0]
    assert "of step 2" in errors[0]


@pytest.mark.slow
def test_a_rule_that_differs_between_ranks_is_an_error_and_no_hang():
    codes, _, errors = finish(start("undecided", 50), limit=STARTED)
    assert codes == [1, 1]
    for error in errors:
        assert "ConfigError: the ranks decided differently about which rows train in step" in error
