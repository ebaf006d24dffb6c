from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from winnow.train.progress import LiveProgress, PlainProgress, Start, make

START = Start("grpo on toy with tiny", "runs/x", "10 steps")
SUMMARY = {
    "stopped": "limit steps", "steps": 2, "rollouts": 64, "rows": 10, "seconds": 3.0,
    "accuracy_first": 0.25, "accuracy_final": 0.5,
}  # fmt: skip
STEPS = [
    {"step": 0, "eval/accuracy": 0.25},
    {
        "step": 1, "reward/all": 0.3, "signal/no_signal": 0.5, "kept_rows": 8, "rows": 6, "grad_norm": 0.1, "loss": 0.0,
        "total/rollouts": 32, "total/seconds": 1.5, "seconds/generate": 1.0, "seconds/score": 0.1,
        "seconds/update": 0.4,
    },
    {"step": 2, "reward/all": 0.4, "total/seconds": 3.0, "eval/accuracy": 0.5, "skipped": 1},
]  # fmt: skip


def play(progress):
    progress.start(START)
    for index, metrics in enumerate(STEPS):
        progress.step(metrics, index / 2)
    progress.note("look here")
    progress.end(SUMMARY)


def test_plain_lines_are_few_and_put_learning_first():
    err = io.StringIO()
    play(make("plain", err=err))
    text = err.getvalue()
    assert "grpo on toy with tiny; until 10 steps; writing runs/x" in text
    assert "step 2: held-out accuracy 0.500, reward of all 0.400" in text
    assert "note: look here" in text and "0.250 -> 0.500" in text and "loss" not in text


def test_a_step_without_evaluation_is_shown_every_ten_seconds():
    err = io.StringIO()
    progress = PlainProgress(err)
    for step in range(1, 41):
        progress.step({"step": step, "total/seconds": float(step)}, step / 40)
    assert len(err.getvalue().splitlines()) == 4


def test_the_live_table_shows_what_the_issue_asks_for():
    out = io.StringIO()
    progress = LiveProgress(Console(file=out, force_terminal=True, width=120))
    progress.start(START)
    for index, metrics in enumerate(STEPS[:2]):
        progress.step(metrics, index / 2)
    shown = Console(file=io.StringIO(), width=120, record=True)
    shown.print(progress._live.renderable)
    text = shown.export_text()
    progress.end(SUMMARY)
    assert "trained 10 rows in 3.0 s" in out.getvalue() and "kept" in text and "trained" in text
    for words in ("held-out accuracy", "reward of all", "no signal", "generate/score/update", "spent", "50%", "left"):
        assert words in text
    assert "0.250 -> 0.500" in out.getvalue()


def test_the_live_table_does_not_grow_with_the_run():
    progress = LiveProgress(Console(file=io.StringIO()))
    for step in range(500):
        progress.step({"step": step, "eval/accuracy": step / 500}, 0.1)
    assert len(progress._accuracy) == 3


def test_json_prints_one_object_on_its_own_stream():
    out, err = io.StringIO(), io.StringIO()
    play(make("json", out=out, err=err))
    assert json.loads(out.getvalue()) == SUMMARY and err.getvalue() == "note: look here\n"


def test_quiet_shows_notes_only():
    out, err = io.StringIO(), io.StringIO()
    play(make("quiet", out=out, err=err))
    assert out.getvalue() == "" and err.getvalue() == "note: look here\n"


@pytest.mark.parametrize("summary", [{}, {"stopped": "x", "accuracy_first": None, "accuracy_final": None}])
def test_a_run_that_ended_early_still_ends(summary):
    err = io.StringIO()
    make("plain", err=err).end(summary)
    assert "held-out" not in err.getvalue()
