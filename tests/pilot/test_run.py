import json

import pytest

from tests.train.conftest import make_policy, make_task
from winnow.errors import ConfigError, DataError, ResumeError, RewardError
from winnow.pilot import pilot, report
from winnow.reward import Verdict
from winnow.train import TrainConfig


def settings(**changes):
    return TrainConfig(**{"recipe": "grpo", "n": 4, "prompts_per_step": 1, "max_new_tokens": 4, **changes})


def run(folder, **options):
    config = options.pop("config", settings())
    task = options.pop("task", None) or make_task()
    return pilot(config, k=4, out=folder, task=task, policy=make_policy(), **options)


def records(folder):
    return [json.loads(line) for line in (folder / "rollouts.jsonl").read_text().splitlines()]


def comparable(folder):
    return sorted((record["rollout_id"], record["text"], record.get("reward")) for record in records(folder))


def test_every_prompt_gets_k_rollouts_in_the_fields_of_training(tmp_path):
    found = run(tmp_path / "pilot")
    logged = records(tmp_path / "pilot")
    assert len(logged) == 12 * 4 and found.complete and found.drawn == 48
    first = logged[0]
    assert {"step", "prompt_id", "rollout_id", "prompt", "text", "ids", "finish", "reward", "outcome"} <= set(first)
    assert (first["step"], first["selected"], first["fate"]) == (0, False, "pilot")
    assert first["answer"] == next(p.answer for p in make_task().train if p.id == first["prompt_id"])
    assert [prompt.id for prompt in found.prompts] == [f"train:{i}" for i in range(12)]


def test_tallies_are_those_of_the_log(tmp_path):
    found = run(tmp_path / "pilot")
    for tally in found.tallies:
        mine = [record for record in records(tmp_path / "pilot") if record["prompt_id"] == tally.prompt_id]
        assert (tally.drawn, tally.passed) == (4, sum(record["outcome"] >= 1 for record in mine))
        assert tally.tokens == sum(len(record["ids"]) for record in mine)
        assert tally.truncated == sum(record["finish"] == "length" for record in mine)


class Stop:
    """Says stop after some questions."""

    def __init__(self, after):
        self.left = after

    def __call__(self):
        self.left -= 1
        return self.left < 0


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path):
    config = settings(slots=8)
    whole = run(tmp_path / "whole", config=config)
    part = run(tmp_path / "part", config=config, stopped=Stop(6))
    assert 0 < len(part.tallies) < 12 and not part.complete
    before = len(records(tmp_path / "part"))
    rest = run(tmp_path / "part", config=config)
    assert rest.complete and rest.drawn == 48 - before
    assert comparable(tmp_path / "part") == comparable(tmp_path / "whole")
    assert [(t.prompt_id, t.outcomes) for t in rest.tallies] == [(t.prompt_id, t.outcomes) for t in whole.tallies]


@pytest.mark.parametrize("cut", [1, 150, 400])
def test_what_a_killed_process_left_half_is_drawn_again(tmp_path, cut):
    whole = run(tmp_path / "pilot")
    log = tmp_path / "pilot" / "rollouts.jsonl"
    expected = comparable(tmp_path / "pilot")
    log.write_bytes(log.read_bytes()[:-cut])
    again = run(tmp_path / "pilot")
    assert again.drawn == 4 and comparable(tmp_path / "pilot") == expected
    assert [t.outcomes for t in again.tallies] == [t.outcomes for t in whole.tallies]


def test_a_larger_pilot_goes_on_where_the_smaller_one_ended(tmp_path):
    small = run(tmp_path / "pilot", prompts=5)
    assert len(small.tallies) == 5 and small.available == 12
    large = run(tmp_path / "pilot", prompts=9)
    assert large.drawn == 4 * 4 and {p.id for p in small.prompts} < {p.id for p in large.prompts}
    finished = run(tmp_path / "pilot", prompts=5)
    assert finished.drawn == 0 and len(finished.tallies) == 5


def test_the_seed_chooses_the_prompts(tmp_path):
    chosen = {
        seed: {prompt.id for prompt in run(None, log=False, prompts=4, config=settings(seed=seed)).prompts}
        for seed in range(3)
    }
    assert len({frozenset(ids) for ids in chosen.values()}) > 1


def test_other_settings_are_refused_with_a_diff(tmp_path):
    run(tmp_path / "pilot", prompts=2)
    with pytest.raises(ResumeError, match=r"temperature: saved 1.0, now 0.5") as told:
        run(tmp_path / "pilot", prompts=2, config=settings(temperature=0.5))
    assert "--out" in str(told.value)
    with pytest.raises(ResumeError, match="data: saved"):
        run(tmp_path / "pilot", prompts=2, task=make_task(train=11))
    # What decides nothing about the rollouts may differ: the planned size of groups, the slots.
    run(tmp_path / "pilot", prompts=2, config=settings(n=16, slots=3))


def test_a_changed_log_is_refused_with_its_line(tmp_path):
    run(tmp_path / "pilot", prompts=3)
    log = tmp_path / "pilot" / "rollouts.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], b"garbage\n", *lines[3:]]))
    with pytest.raises(DataError, match="line 3"):
        run(tmp_path / "pilot", prompts=3)


def test_a_run_folder_is_no_pilot(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "rollouts.jsonl").write_text("")
    with pytest.raises(ConfigError, match="something else"):
        run(tmp_path / "run")


class Nothing:
    name = "nothing"

    def score(self, items):
        return [Verdict(None, reason="no parser") for _ in items]


def test_a_reward_that_scores_nothing_is_told(tmp_path):
    with pytest.raises(RewardError, match="no parser"):
        run(None, log=False, task=make_task(reward=Nothing()))


class Graded:
    name = "graded"

    def score(self, items):
        return [Verdict(len(item.completion) % 3 / 3) for item in items]


def test_graded_rewards_have_a_report_without_a_model(tmp_path):
    facts, judged = report(run(None, log=False, task=make_task(reward=Graded())))
    assert facts["model_fit"] is None and not facts["binary"]
    assert [each["n"] for each in facts["no_signal"]] == [2, 4]
    assert len(judged.kept) == 12 and any("graded" in sentence for sentence in facts["advice"])


def test_small_numbers_are_refused():
    with pytest.raises(ConfigError, match="at least two"):
        pilot(settings(), k=1)
    with pytest.raises(ConfigError, match="at least one prompt"):
        pilot(settings(), prompts=0)
