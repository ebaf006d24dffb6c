from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tests.train.conftest import Notes, make_policy, make_task
from winnow.errors import ConfigError, MissingExtra
from winnow.train import Trainer
from winnow.train.trackers import open_trackers


def test_an_unknown_tracker_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="mlflow"):
        open_trackers(["mlflow"], tmp_path, {})


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "trackio"])
def test_a_missing_tracker_names_its_extra(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"winnow-rl\[trackers\]"):
        open_trackers([name], tmp_path, {})


def test_a_tracker_gets_the_numbers_of_every_step(settings, monkeypatch):
    calls = []
    fake = SimpleNamespace(
        init=lambda **given: calls.append(("init", given["config"]["recipe"])),
        log=lambda metrics, step: calls.append((step, metrics)),
        finish=lambda: calls.append(("finish",)),
    )
    monkeypatch.setitem(sys.modules, "trackio", fake)
    config = settings(steps=2, trackers=["trackio"])
    Trainer(config, progress=Notes(), task=make_task(), policy=make_policy()).run()
    assert calls[0] == ("init", "grpo") and calls[-1] == ("finish",)
    assert [call[0] for call in calls[1:-1]] == [0, 1, 2]
    assert "reward/all" in calls[2][1] and all(isinstance(v, int | float) for v in calls[2][1].values())
