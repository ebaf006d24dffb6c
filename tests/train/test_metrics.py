from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from winnow.objective import Outlier, UpdateStats
from winnow.rollout import Prompt, Rollout, Verdict
from winnow.train.collect import Collected
from winnow.train.metrics import kl_outliers, mean, pass_rates, step_metrics
from winnow.train.state import Streaks

CASES = {case["id"]: case for case in json.loads((Path(__file__).parents[1] / "cases/cases.json").read_text())}

STATS = UpdateStats(
    loss=0.0, grad_norm=0.5, lr=0.1, clip_fraction=0.0, ratio_mean=1.0, ratio_max=1.0, kl=None, kl_clamped=0,
    kl_outliers=(),
    drift=0.0, rows=1, tokens=2, skipped=False, nonfinite=False, optimizer_steps=1, seconds=0.1,
)  # fmt: skip


def collected(groups, kept=()):
    """Build a step from verdicts per prompt; ``kept`` are the rows that train."""
    rollouts = [
        Rollout(prompt, draw, np.arange(3), np.zeros(3, np.float32), "stop", "", verdict)
        for prompt, verdicts in enumerate(groups)
        for draw, verdict in enumerate(verdicts)
    ]
    judged = [[v.outcome for v in verdicts if v.outcome is not None] for verdicts in groups]
    batch = SimpleNamespace(
        rows=np.array(kept, dtype=np.int64),
        counts=np.array([len(verdicts) for verdicts in groups]),
        signal=np.array([len(set(values)) > 1 for values in judged]),
        kept_rows=len(kept),
        reason="",
        recalled=None,
        ledger=SimpleNamespace(waves=1, trained=len(kept), trained_tokens=3 * len(kept)),
    )
    return Collected(rollouts, batch, {})


def test_log_01():
    case = CASES["LOG-01"]
    values = [float(value) for value in case["input"]["values"]]
    assert mean(values) == (case["expected"]["mean"], case["expected"]["count"])
    assert mean([None, float("nan")]) == (None, 0)


def test_adv_14_a_component_that_varies_over_the_batch_but_not_within_groups():
    case = CASES["ADV-14"]
    groups = [
        [
            Verdict(sum(group[name][i] for name in group), parts={name: float(group[name][i]) for name in group})
            for i in range(2)
        ]
        for group in case["input"]["groups"]
    ]
    found = step_metrics(collected(groups), STATS)
    for name in ("accuracy", "format"):
        assert found[f"parts/{name}/mean"] == 0.5
        assert found[f"parts/{name}/std"] > 0
        assert found[f"parts/{name}/tied"] == 1.0
    assert found["signal/no_signal"] == case["expected"]["frac_groups_no_signal"]


def test_log_02_the_reward_of_all_is_apart_from_the_selected_one():
    groups = [[Verdict(0.0, 0.0), Verdict(0.0, 0.0), Verdict(1.0, 1.0), Verdict(None)]]
    found = step_metrics(collected(groups, kept=[1, 2]), STATS)
    assert found["reward/all"] == pytest.approx(1 / 3) and found["reward/count"] == 3
    assert found["reward/selected"] == 0.5 and found["unscorable"] == 1


def test_groups_without_signal_are_told_apart():
    def group(*outcomes):
        return [Verdict(outcome, outcome) for outcome in outcomes]

    groups = [group(1.0, 1.0), group(0.0, 0.0), group(0.5, 0.5), group(0.0, 1.0), group(None, None)]
    found = step_metrics(collected(groups), STATS)
    shares = {name: found[f"signal/{name}"] for name in ("no_signal", "all_pass", "all_fail", "other_tie")}
    assert shares == {"no_signal": 0.8, "all_pass": 0.2, "all_fail": 0.2, "other_tie": 0.4}


def test_signal_is_judged_on_the_outcome():
    """R7: a length bonus makes the rewards of a failed group differ; it still has failed."""
    groups = [[Verdict(0.1, 0.0), Verdict(0.3, 0.0)]]
    found = step_metrics(collected(groups), STATS)
    assert found["signal/all_fail"] == 1.0 and found["reward/all"] == pytest.approx(0.2)
    assert pass_rates(collected(groups)) == [0.0]


def test_a_component_nobody_reported_is_absent():
    groups = [[Verdict(1.0, parts={"format": None, "right": 1.0}), Verdict(1.0)]]
    found = step_metrics(collected(groups), STATS)
    assert found["parts/right/mean"] == 1.0 and "parts/format/mean" not in found


def test_the_histogram_counts_prompts_by_pass_rate():
    streaks = Streaks()
    streaks.tied([0.0, 0.0, 1.0])
    streaks.tied([0.31])
    text = streaks.histogram()
    assert "pass rate 0.0" in text and "2 prompts" in text and "pass rate 0.3" in text
    assert Streaks.restored(streaks.as_dict()) == streaks and streaks.no_signal == 2
    streaks.learned()
    assert streaks == Streaks()


def test_loss_09_the_log_names_step_prompt_and_token():
    step = collected([[Verdict(1.0, 1.0), Verdict(0.0, 0.0)], [Verdict(1.0, 1.0)]], kept=[0, 1])
    prompts = [Prompt("train:4", "a"), Prompt("train:9", "b")]
    stats = replace(STATS, kl=0.1, kl_clamped=1, kl_outliers=(Outlier(1, 2, 20.0),))
    [event] = kl_outliers(step, prompts, 7, stats)
    assert event == {"prompt_id": "train:4", "rollout_id": "7/train:4/1", "token": 2, "log_ratio": 20.0}
