"""Without isolation: limits and killing still work, on any POSIX system."""

import re
import sys
import time
from pathlib import Path

import pytest
from tests.reward.code.processes import children, launcher

from winnow.reward.code import Case, Tests, judge
from winnow.reward.code.sandbox import Limits

SCRIPT = Tests([Case(stdout="right")])
LIMITS = Limits(seconds=0.8, memory_mb=256, output=1 << 14)


def run(program, tests=SCRIPT):
    return judge.judge(program, tests, LIMITS, isolated=False)


@pytest.mark.parametrize(
    ("program", "outcome", "reason"),
    [
        ("print('right')", 1.0, ""),
        ("while True: pass", 0.0, "timeout"),
        ("import time; time.sleep(60)", 0.0, "timeout"),
        ("print('x' * 10**5)", 0.0, "output limit"),
        ("x = [0] * 10**9", 0.0, "memory"),
        ("1 / 0", 0.0, "crash: ZeroDivisionError"),
    ],
)
def test_limits(program, outcome, reason):
    verdict = run(program)
    assert verdict.outcome == outcome
    assert verdict.reason.startswith(reason)


def test_functions():
    tests = Tests([Case(args=[2], expected=4)], function="f")
    assert run("def f(x): return x * x", tests).outcome == 1.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds orphans by /proc and a subreaper")
@pytest.mark.parametrize("last", ["print('right')", "time.sleep(60)"])
def test_daemons_are_found_and_killed(last):
    program = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
time.sleep(0.1)
{last}
"""
    run(program)
    until = time.monotonic() + 3
    while children(launcher(isolated=False)) and time.monotonic() < until:
        time.sleep(0.02)
    assert children(launcher(isolated=False)) == []


def test_environment_is_empty_and_the_folder_goes():
    program = "import os\nopen('x', 'w').close()\ndef f(): return [sorted(os.environ), os.listdir('.'), os.getcwd()]"
    reason = run(program, Tests([Case(expected=0)], function="f")).reason
    found = re.search(r"got \[\[\], \['x'\], '(.*)'\]", reason)
    assert found, reason
    until = time.monotonic() + 5
    while Path(found[1]).exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(found[1]).exists()
