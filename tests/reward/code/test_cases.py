# ruff: noqa: E501
"""The cases of the shared list, and the kinds of verdicts a program can get."""

import json
import os
import time
from pathlib import Path

import pytest
from tests.reward.code.processes import children, launcher

from winnow.reward.code import Case, Tests, sandbox, verify

CASES = {c["id"]: c for c in json.loads((Path(__file__).parents[2] / "cases" / "cases.json").read_text())}
SCRIPT = Tests([Case(stdin="", stdout="right")])

pytestmark = pytest.mark.usefixtures("isolated", "no_leftovers")


def status(verdict) -> str:
    return verdict.reason.partition(":")[0].replace(" ", "_")


def test_CODE_01():
    case = CASES["CODE-01"]
    began = time.monotonic()
    verdict = verify(case["input"]["program"], SCRIPT, timeout=case["input"]["timeout_s"])
    assert time.monotonic() - began < case["expected"]["returns_within_s"]
    assert status(verdict) == case["expected"]["status"]
    assert verdict.score == case["expected"]["reward"]
    assert len(children(launcher())) == case["expected"]["zombies"]


def test_CODE_02():
    case = CASES["CODE-02"]
    began = time.monotonic()
    verdict = verify(case["input"]["program"], SCRIPT, timeout=case["input"]["timeout_s"])
    assert time.monotonic() - began < case["expected"]["returns_within_s"]
    assert len(children(launcher())) == case["expected"]["descendants_alive_after"]
    assert verdict.score == 0.0
    assert status(verdict) == "timeout"


def test_CODE_03():
    hostname = Path("/etc/hostname").read_text()
    verdict = verify(CASES["CODE-03"]["input"]["program"], Tests([Case(stdout=hostname)]))
    assert verdict.score == 0.0
    assert "No such file" in verdict.reason


@pytest.mark.parametrize("program", [CASES["CODE-06"]["input"]["program"], "while True: print('x' * 10**6)"])
def test_CODE_06(program):
    case = CASES["CODE-06"]
    launcher()
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mb()
    verdict = verify(program, SCRIPT, max_output=case["input"]["max_output_bytes"])
    assert status(verdict) == case["expected"]["status"]
    assert verdict.score == case["expected"]["reward"]
    assert peak_mb() - before < case["expected"]["parent_rss_growth_mb_below"]


def peak_mb() -> float:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


ADD = Tests(
    [Case(args=[1, 2], expected=3), Case(args=[4, 4], expected=8), Case(args=["a", 1], raises="TypeError")],
    function="add",
)


@pytest.mark.parametrize(
    ("program", "score", "reason"),
    [
        ("def add(a, b): return a + b", 1.0, ""),
        ("add = lambda a, b: a + b", 1.0, ""),
        ("def add(a, b): return 3", 1 / 3, "1 of 3 passed: case 2 got 3, expected 8"),
        ("def add(a, b): return int(a) + b", 2 / 3, "2 of 3 passed: case 3 crash: ValueError: invalid literal for int()"),
        ("def add(a, b): return a + b if a < 4 else 1 / 0", 2 / 3, "2 of 3 passed: case 2 crash: ZeroDivisionError"),
        ("def add(a, b):\n  if a == 4: raise SystemExit\n  return a + b", 2 / 3, "2 of 3 passed: case 2 crash: SystemExit"),
        ("import os\ndef add(a, b):\n  if a == 4: os._exit(0)\n  return a + b", 2 / 3, "2 of 3 passed: case 2 crash: ended"),
        ("import os\ndef add(a, b):\n  if a == 4: os.kill(1, 11)\n  return a + b", 1.0, ""),
        ("import ctypes\ndef add(a, b):\n  if a == 4: ctypes.string_at(1)\n  return a + b", 2 / 3, "2 of 3 passed: case 2 crash: killed by SIGSEGV"),
        ("def add(a, b) return a", 0.0, "syntax error: "),
        ("def add(a, b):\nreturn a", 0.0, "syntax error: expected an indented block"),
        ("def plus(a, b): return a + b", 0.0, "crash: no function 'add' (defined: plus)"),
        ("import numpy\ndef add(a, b): return a + b", 0.0, "crash: ModuleNotFoundError: No module named 'numpy' (line 1)"),
        ("raise TypeError('x')", 0.0, "crash: TypeError: x (line 1)"),
        ("def add(a): return a", 1 / 3, "1 of 3 passed: case 1 crash: TypeError"),
        ("def add(a, b): return [0] * 10**9", 0.0, "memory: no memory left (line 1)"),
        ("def add(a, b): return 'x' * 10**6", 0.0, "output limit: "),
        ("def add(a, b): return add", 0.0, "0 of 3 passed: case 1 got a value of type function"),
        ("def add(a, b):\n  while a == 4: pass\n  return a + b", 1 / 3, "1 of 3 passed: case 2 timeout: more than 0.7 s"),
        ("def add(a, b):\n  print('noise')\n  return a + b", 1.0, ""),
        ("", 0.0, "crash: no function 'add' (defined: none)"),
        ("\0", 0.0, "syntax error: "),
        ("def add(a, b): return '\ud800'", 0.0, "syntax error: 'utf-8' codec"),
        ("if __name__ == '__main__': raise SystemExit\ndef add(a, b): return a + b", 1.0, ""),
        ("import functools, random, math, collections, typing, dataclasses, threading, asyncio\n@functools.cache\ndef add(a, b): return a + b", 1.0, ""),
    ],
)  # fmt: skip
def test_function(program, score, reason):
    verdict = verify(program, ADD, timeout=0.7)
    assert verdict.score == pytest.approx(score)
    assert verdict.outcome == float(score == 1.0)
    assert verdict.reason.startswith(reason)
    assert bool(verdict.reason) == bool(reason)


SUM = Tests([Case(stdin="1 2\n", stdout="3\n"), Case(stdin="5 6", stdout="11"), Case(stdin="0 -1\n", stdout="-1")])


@pytest.mark.parametrize(
    ("program", "score", "reason"),
    [
        ("print(sum(map(int, input().split())))", 1.0, ""),
        ("import sys\nprint(sum(map(int, sys.stdin.read().split())), end='')", 1.0, ""),
        ("import sys\na, b = map(int, open(0).read().split())\nsys.stdout.write(f'  {a + b} \\n\\n')", 1.0, ""),
        ("import os\nos.write(1, str(sum(map(int, os.read(0, 99).split()))).encode())", 1.0, ""),
        ("import threading\ndef main(): print(sum(map(int, input().split())))\nthreading.Thread(target=main).start()", 1.0, ""),
        ("import atexit\natexit.register(lambda: print(sum(map(int, input().split()))))", 1.0, ""),
        ("def main():\n  print(sum(map(int, input().split())))\nif __name__ == '__main__': main()", 1.0, ""),
        ("print(sum(map(int, input().split())))\nexit()", 1.0, ""),
        ("print(sum(map(int, input().split())))\nraise SystemExit(0)", 1.0, ""),
        ("print(sum(map(int, input().split())))\nraise SystemExit(2)", 0.0, "crash: exit status 2"),
        ("print(sum(map(int, input().split())))\n1 / 0", 0.0, "crash: ZeroDivisionError: division by zero (line 2)"),
        ("print(3)", 1 / 3, "1 of 3 passed: case 2 printed '3\\n', expected '11'"),
        ("print(3", 0.0, "syntax error: '(' was never closed"),
        ("input(); input()", 0.0, "crash: EOFError"),
        ("x = [0] * 10**9", 0.0, "memory: no memory left (line 1)"),
        ("import sys\nsys.exit('message')", 0.0, "crash: exit status 1"),
        ("a = input().split()\nwhile a[0] == '5': pass\nprint(sum(map(int, a)))", 1 / 3, "1 of 3 passed: case 2 timeout"),
        ("a = input().split()\nif a[0] == '5': print('x' * 10**5)\nprint(sum(map(int, a)))", 1 / 3, "1 of 3 passed: case 2 output limit"),
    ],
)  # fmt: skip
def test_script(program, score, reason):
    verdict = verify(program, SUM, timeout=0.7)
    assert verdict.score == pytest.approx(score)
    assert verdict.outcome == float(score == 1.0)
    assert verdict.reason.startswith(reason)
    assert bool(verdict.reason) == bool(reason)


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1, 2**53, -(2**70), 10**5000, 0.1, -0.0, float("inf"), 1e308, 3 + 4j, "", "é\0\n", b"\xff\0",
     [], [[1], (2, [3])], (), (1,), {1, 2}, frozenset({("a", 1)}), {"a": {1: None}, (1, 2): [True]}, {0: 1, 1: False}],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_plain_data_survives_the_way_in_and_out(value):
    tests = Tests([Case(args=[value], kwargs={"k": value}, expected=(value, value))], function="f")
    verdict = verify("def f(x, k): return (x, k)", tests)
    assert verdict.outcome == 1.0, verdict.reason


def test_subclasses_of_dict_in_collections_are_dicts():
    tests = Tests([Case(args=["abca"], expected={"a": 2, "b": 1, "c": 1})], function="f")
    assert verify("from collections import Counter\ndef f(s): return Counter(s)", tests).outcome == 1.0


def test_order_of_sets_does_not_depend_on_the_run():
    program = "def f(): return [list({'a', 'b', 'c', 'd', 'e', 'f'})]"
    reasons = set()
    for _ in range(2):
        reasons.add(verify(program, Tests([Case(expected=0)], function="f")).reason)
        sandbox.close()
    assert len(reasons) == 1


def test_nothing_of_the_host_reaches_the_program():
    program = "import os, sys\nprint(sorted(os.environ), os.getcwd(), os.listdir('.'), sys.argv, os.getpid())"
    verdict = verify(program, Tests([Case(stdout="[] /tmp [] ['main.py'] 1")]))
    assert verdict.outcome == 1.0, verdict.reason
    assert os.environ
