from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.train.conftest import FirstCharacter, Notes, make_policy, make_task
from winnow.errors import ConfigError, DataError, ResumeError, RewardError, SafetyStop
from winnow.rollout import Verdict
from winnow.train import Trainer


def lines(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in (Path(folder) / name).read_text().splitlines()]


def without_seconds(records):
    return [
        {key: value for key, value in record.items() if not key.startswith("seconds/") and key != "total/seconds"}
        for record in records
    ]


def train(config, *, task=None, policy=None, progress=None, **run):
    trainer = Trainer(config, progress=progress or Notes(), task=task or make_task(), policy=policy or make_policy())
    return trainer.run(**run)


def test_a_run_learns_and_leaves_every_file(settings, tmp_path):
    summary = train(settings(steps=40, n=8, eval_every=20, lr=0.02, log_rollouts="trained"))
    assert summary["accuracy_final"] > summary["accuracy_first"] + 0.2
    out = Path(summary["out"])
    assert json.loads((out / "summary.json").read_text()) == summary
    assert summary["stopped"] == "limit steps" and summary["exit_code"] == 0
    metrics = lines(out)
    assert [record["step"] for record in metrics] == list(range(41))
    assert [record["step"] for record in metrics if "eval/accuracy" in record] == [0, 20, 40]
    assert metrics[-1]["total/rollouts"] == summary["rollouts"] == 40 * 4 * 8
    fates = [record["fate"] for record in lines(out, "rollouts.jsonl")]
    assert metrics[-1]["total/rows"] == summary["rows"] == fates.count("trained")
    ledger = json.loads((out / "ledger.json").read_text())
    assert ledger["rollouts"] == summary["rollouts"] and ledger["trained"] == summary["rows"]
    assert {"numpy", "torch", "winnow", "python"} <= summary["versions"].keys()
    assert summary["peak_memory_mb"] > 10


def test_phases_add_up_to_the_step(settings):
    summary = train(settings(steps=10, eval_every=0))
    unnamed = []
    for record in lines(summary["out"])[2:]:
        phases = sum(record[f"seconds/{name}"] for name in ("generate", "score", "decide", "update", "log"))
        unnamed.append((record["seconds/step"] - phases) / record["seconds/step"])
    # A busy machine may take the processor away between two phases, now and then.
    assert min(unnamed) > -1e-6 and sorted(unnamed)[len(unnamed) // 4] < 0.05


def test_the_rollout_log_says_what_happened_to_each(settings):
    summary = train(settings(recipe="pods", n=8, m=4, steps=3))
    records = lines(summary["out"], "rollouts.jsonl")
    assert len(records) == summary["rollouts"]
    assert len({record["rollout_id"] for record in records}) == len(records)
    for record in records:
        assert record["selected"] == (record["fate"] in ("trained", "no signal"))
        assert ("advantage" in record) == record["selected"]
        assert record["ids"] and record["finish"] in ("stop", "length") and "right" in record["parts"]
    metrics = lines(summary["out"])[1]
    first = [record for record in records if record["step"] == 1]
    assert metrics["reward/all"] == pytest.approx(np.mean([record["reward"] for record in first]))
    chosen = [record["reward"] for record in first if record["selected"]]
    assert metrics["reward/selected"] == pytest.approx(np.mean(chosen)) and len(chosen) == 16


def test_seed_01(settings, tmp_path):
    def run(name, seed):
        summary = train(settings(recipe="pods", n=8, m=4, steps=3, seed=seed, out=str(tmp_path / name)))
        records = lines(summary["out"], "rollouts.jsonl")
        return {
            "prompts": [record["prompt_id"] for record in records],
            "ids": [record["ids"] for record in records],
            "selected": [record["selected"] for record in records],
            "weights": summary["weights_sha256"],
        }

    first, again, other = run("a", 1), run("b", 1), run("c", 2)
    assert first == again
    assert all(first[name] != other[name] for name in first)


def test_evaluation_noise_is_apart_from_training(settings, tmp_path):
    often = train(settings(eval_every=1, out=str(tmp_path / "a")))
    never = train(settings(eval_prompts=0, out=str(tmp_path / "b")))
    assert often["weights_sha256"] == never["weights_sha256"]
    assert never["accuracy_first"] is None and not any("eval/accuracy" in r for r in lines(never["out"]))
    # Without training, every evaluation gives the same number.
    still = train(settings(eval_every=1, lr=0.0, out=str(tmp_path / "c")))
    assert len({record["eval/accuracy"] for record in lines(still["out"]) if "eval/accuracy" in record}) == 1


def test_greedy_evaluation_takes_one_sample(settings):
    summary = train(settings(eval_temperature=0))
    first = lines(summary["out"])[0]
    assert first["eval/samples"] == 8 and not any(key.startswith("eval/pass@") for key in first)


STREAMING = {"recipe": "vigor+pods", "n": 8, "m": 4, "recipe_options": {"barrier": False}, "slots": 6}


def stop_in_step(number, after):
    """A reward that asks the run to stop in the middle of a step."""

    class Stopping(FirstCharacter):
        calls = 0

        def score(self, items):
            if items[0].rollout.startswith(f"{number}/"):
                Stopping.calls += 1
                if Stopping.calls == after:
                    Stopping.trainer.interrupts.stop("SIGTERM")
            return super().score(items)

    return Stopping


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"recipe": "vigor+pods", "n": 8, "m": 4},
        STREAMING,
        {"budget_unit": "tokens", "tokens_per_step": 60, "epochs": 2, "minibatches": 2},
        {"lora_rank": 2, "lr_schedule": "cosine", "warmup_steps": 2},
        {"recipe": "repo", "recipe_options": {"k": 2, "start": 4, "capacity": 4}},
        {"recipe": "greso", "recipe_options": {"pool": 1}},
        {"recipe": "trace", "n": 6},
        {"recipe": "flowrl"},
    ],
    ids=["grpo", "rounds", "streaming", "tokens", "lora", "replay", "memory", "tree", "flow"],
)
def test_interrupted_and_resumed_equals_uninterrupted(settings, tmp_path, changes):
    changes = {"steps": 7, "checkpoint_every": 3, "rollouts_file_mb": 0.004, "rollouts_files": 99, **changes}
    whole = train(settings(out=str(tmp_path / "a"), **changes))
    reward = stop_in_step(5, 1)
    trainer = Trainer(
        settings(out=str(tmp_path / "b"), **changes),
        progress=Notes(),
        task=make_task(reward=reward()),
        policy=make_policy(),
    )
    reward.trainer = trainer
    cut = trainer.run()
    assert cut["exit_code"] == 130 and "SIGTERM" in cut["stopped"] and cut["steps"] in (4, 5)
    assert not (tmp_path / "b" / "summary.json").exists()
    resumed = train(settings(out=str(tmp_path / "b"), **changes), resume=True)
    for key in ("weights_sha256", "steps", "rollouts", "rows", "tokens", "accuracy_first", "accuracy_final"):
        assert resumed[key] == whole[key], key
    assert without_seconds(lines(tmp_path / "a")) == without_seconds(lines(tmp_path / "b"))
    logs = [{p.name: p.read_bytes() for p in (tmp_path / n).glob("rollouts*")} for n in "ab"]
    assert logs[0] == logs[1] and len(logs[0]) > 2


def test_a_step_stopped_while_sampling_is_dropped_and_drawn_again(settings, tmp_path):
    reward = stop_in_step(3, 2)
    changes = {"steps": 5, **STREAMING}
    trainer = Trainer(settings(**changes), progress=Notes(), task=make_task(reward=reward()), policy=make_policy())
    reward.trainer = trainer
    assert trainer.run()["steps"] == 2
    train(settings(**changes), resume=True)
    # RES-02: three steps of four prompts make one epoch of the twelve, none skipped and none twice.
    seen = [record["prompt_id"] for record in lines(tmp_path / "run", "rollouts.jsonl") if record["step"] <= 3]
    assert len(set(seen)) == 12


def test_res_01_resuming_at_the_edge_of_an_epoch_goes_on(settings, tmp_path):
    """12 prompts, 4 per step: an epoch is 3 steps; saved at 3 of 6."""
    train(settings(steps=3, checkpoint_every=3))
    summary = train(settings(steps=6, checkpoint_every=3), resume=True)
    assert summary["steps"] == 6
    records = lines(tmp_path / "run", "rollouts.jsonl")
    epochs = [[], []]
    for record in records:
        if record["prompt_id"] not in epochs[record["step"] > 3]:
            epochs[record["step"] > 3].append(record["prompt_id"])
    assert sorted(epochs[0]) == sorted(epochs[1]) and len(epochs[1]) == 12
    assert epochs[0] != epochs[1]


def test_a_run_without_checkpoint_starts_over(settings, tmp_path):
    whole = train(settings(out=str(tmp_path / "a")))

    class Crash(FirstCharacter):
        def score(self, items):
            if items[0].rollout.startswith("2/"):
                raise ZeroDivisionError
            return super().score(items)

    with pytest.raises(ZeroDivisionError):
        train(settings(out=str(tmp_path / "b"), checkpoint_every=0), task=make_task(reward=Crash()))
    resumed = train(settings(out=str(tmp_path / "b"), checkpoint_every=0), resume=True)
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert without_seconds(lines(tmp_path / "a")) == without_seconds(lines(tmp_path / "b"))


def test_resuming_a_finished_run_changes_nothing(settings, tmp_path):
    first = train(settings())
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    again = train(settings(), resume=True)
    assert again["weights_sha256"] == first["weights_sha256"] and again["steps"] == first["steps"]
    assert again["accuracy_final"] == first["accuracy_final"]
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("where", ["4/train", "evaluation/test:7/1"])
def test_a_step_that_fails_is_drawn_again(settings, tmp_path, where):
    """The reward gives up in the middle of step 4, or of the evaluation after it."""
    whole = train(settings(steps=6, out=str(tmp_path / "a")))

    class Failing(FirstCharacter):
        evaluations = 0

        def score(self, items):
            Failing.evaluations += items[0].rollout.startswith("evaluation")
            if items[-1].rollout.startswith(where) and Failing.evaluations in (2, 3):
                raise RewardError("the judge is away")
            return super().score(items)

    with pytest.raises(RewardError, match="judge is away"):
        task = make_task(reward=Failing())
        train(settings(steps=6, checkpoint_every=3, out=str(tmp_path / "b")), task=task)
    summary = json.loads((tmp_path / "b" / "summary.json").read_text())
    assert summary["exit_code"] == 3 and summary["stopped"] == "the judge is away"
    resumed = train(settings(steps=6, checkpoint_every=3, out=str(tmp_path / "b")), resume=True)
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert without_seconds(lines(tmp_path / "a")) == without_seconds(lines(tmp_path / "b"))
    seen = [[r["rollout_id"] for r in lines(tmp_path / name, "rollouts.jsonl")] for name in "ab"]
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("changes", "task", "policy", "words"),
    [
        ({"n": 8}, None, None, ["n: saved 4, now 8"]),
        ({"seed": 3}, None, None, ["seed: saved 0, now 3"]),
        ({"recipe": "rloo"}, None, None, ["recipe: saved 'grpo', now 'rloo'"]),
        ({"lr": 0.5, "epochs": 2}, None, None, ["lr: saved 0.01, now 0.5", "epochs: saved 1, now 2"]),
        ({}, make_task(train=16), None, ["data", "rows of the task"]),
        ({}, None, 1, ["policy", "weights training starts from"]),
    ],
    ids=["n", "seed", "recipe", "lr", "data", "policy"],
)
def test_res_03_another_run_is_refused_with_a_diff(settings, changes, task, policy, words):
    train(settings())
    with pytest.raises(ResumeError) as caught:
        train(settings(steps=6, **changes), task=task, policy=make_policy(policy or 0), resume=True)
    for word in [*words, "allow_change"]:
        assert word in str(caught.value)
    assert caught.value.exit_code == 2


def test_allowed_changes_continue(settings):
    train(settings())
    summary = train(settings(steps=6, lr=0.5), resume=True, allow_change=["lr"])
    assert summary["steps"] == 6 and lines(summary["out"])[-1]["lr"] == 0.5
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        train(settings(steps=7, seed=1), resume=True, allow_change=["sed"])


def test_other_data_may_be_allowed_and_starts_its_order_anew(settings):
    train(settings())
    notes = Notes()
    summary = train(settings(steps=8), task=make_task(train=16), resume=True, allow_change=["data"], progress=notes)
    assert summary["steps"] == 8 and any("start anew" in note for note in notes.notes)
    later = {record["prompt_id"] for record in lines(summary["out"], "rollouts.jsonl") if record["step"] > 4}
    assert len(later) == 16


def test_a_folder_is_not_overwritten(settings, tmp_path):
    train(settings())
    with pytest.raises(ConfigError, match="already holds a run"):
        train(settings())
    with pytest.raises(ConfigError, match="no run to resume"):
        train(settings(out=str(tmp_path / "nothing")), resume=True)
    with pytest.raises(ConfigError, match="needs out"):
        train(settings(out=None), resume=True)


class Constant(FirstCharacter):
    value: float | None = 0.0

    def score(self, items):
        return [Verdict(self.value, outcome=self.value, reason="the judge is away") for _ in items]


def test_steps_without_signal_change_nothing_warn_and_stop(settings, tmp_path):
    """B23 and ALLOC-01."""
    notes = Notes()
    with pytest.raises(SafetyStop) as caught:
        train(
            settings(steps=50, max_no_signal_steps=8, weight_decay=0.1),
            task=make_task(reward=Constant()),
            progress=notes,
        )
    for word in ("8 steps", "max_no_signal_steps=8", "pass rate 0.0", "32 prompts", "too hard"):
        assert word in str(caught.value)
    assert caught.value.exit_code == 3
    assert len([note for note in notes.notes if note.startswith("5 steps")]) == 1
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["skipped_steps"] == summary["steps"] == 8 and summary["no_signal_mean"] == 1.0
    assert summary["exit_code"] == 3 and summary["rows"] == 0
    untouched = train(settings(steps=1, lr=0.0, out=str(tmp_path / "still")))
    assert summary["weights_sha256"] == untouched["weights_sha256"]
    record = lines(tmp_path / "run")[1]
    assert record["skipped"] == 1 and "loss" not in record and "grad_norm" not in record
    assert (record["signal/all_fail"], record["signal/all_pass"], record["signal/other_tie"]) == (1.0, 0.0, 0.0)


def test_a_stopped_run_can_be_resumed_and_stops_again_at_once(settings):
    config = settings(steps=50, max_no_signal_steps=3)
    with pytest.raises(SafetyStop):
        train(config, task=make_task(reward=Constant()))
    with pytest.raises(SafetyStop, match="4 steps"):
        train(config, task=make_task(reward=Constant()), resume=True)


def test_too_many_unscorable_rollouts_stop_the_run_with_the_reason(settings):
    class Away(Constant):
        value = None

    with pytest.raises(SafetyStop, match=r"16 of 16 .*\n?.*judge is away"):
        train(settings(eval_prompts=0), task=make_task(reward=Away()))


def test_unscorable_rollouts_are_left_out_and_counted(settings):
    class Sometimes(FirstCharacter):
        def score(self, items):
            verdicts = super().score(items)
            return [Verdict(None) if i.rollout.endswith("/0") else v for i, v in zip(items, verdicts, strict=True)]

    summary = train(settings(), task=make_task(reward=Sometimes()))
    record = lines(summary["out"])[1]
    assert record["unscorable"] == 4 and record["reward/count"] == 12
    first = [r for r in lines(summary["out"], "rollouts.jsonl") if r["step"] == 1]
    scored = [r["reward"] for r in first if "reward" in r]
    assert len(scored) == 12 and record["reward/all"] == pytest.approx(np.mean(scored))
    assert all(r["fate"] == "unscorable" and not r["selected"] for r in first if "reward" not in r)


def test_updates_that_are_not_finite_are_not_applied_and_stop_the_run(settings, tmp_path, monkeypatch):
    from winnow.objective import Learner

    real = Learner._gradient
    monkeypatch.setattr(Learner, "_gradient", lambda *given: (float("nan"), real(*given)[1]))
    with pytest.raises(SafetyStop, match="max_nonfinite_steps=2"):
        train(settings(steps=20, n=8, max_nonfinite_steps=2))
    assert len(list((tmp_path / "run" / "debug").glob("step-*.json"))) == 2


def test_a_full_disk_is_a_clear_stop(settings, tmp_path):
    """Files may not grow beyond 20 kB once step 3 is drawn: weights do not fit, lines of the logs do."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Filling(FirstCharacter):
        def score(self, items):
            if items[0].rollout.startswith("3/"):
                resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
            return super().score(items)

    try:
        with pytest.raises(SafetyStop, match="cannot save a checkpoint"):
            train(settings(steps=6), task=make_task(reward=Filling()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000002"]
    whole = train(settings(steps=6, out=str(tmp_path / "whole")))
    assert train(settings(steps=6), resume=True)["weights_sha256"] == whole["weights_sha256"]


@pytest.mark.parametrize(
    ("changes", "counter", "limit"),
    [
        ({"steps": 50, "rollouts": 70}, "rollouts", 70),
        ({"tokens": 400}, "tokens", 400),
        ({"tokens": 400, "budget_unit": "tokens", "tokens_per_step": 90}, "tokens", 400),
        ({"rollouts": 77, "recipe": "vigor+pods", "n": 8, "m": 4}, "rollouts", 77),
    ],
)
def test_the_last_step_never_exceeds_a_limit(settings, changes, counter, limit):
    summary = train(settings(**{"steps": None, **changes}))
    assert summary["stopped"] == f"limit {counter}"
    assert limit - 2 * 4 * 4 < summary[counter] <= limit
    assert "eval/accuracy" in lines(summary["out"])[-1]


def test_the_clock_ends_a_run_after_a_step(settings):
    summary = train(settings(steps=None, seconds=0.2))
    assert summary["stopped"] == "limit seconds" and 0.2 <= summary["seconds"] < 2
    assert summary["seconds"] == pytest.approx(lines(summary["out"])[-1]["total/seconds"])


def test_plan_03_fewer_rows_than_a_step(settings):
    with pytest.raises(DataError) as caught:
        train(settings(prompts_per_step=8), task=make_task(train=3))
    assert "3 training rows" in str(caught.value) and "prompts_per_step=8" in str(caught.value)
    assert caught.value.exit_code == 2


def test_b10_long_prompts_are_dropped_with_their_ids(settings):
    from dataclasses import replace

    task = make_task()
    rows = [replace(task.train[0], id="train:long", content="0" * 30), *task.train]
    notes = Notes()
    summary = train(settings(max_prompt_tokens=10), task=replace(task, train=rows), progress=notes)
    assert any("1 training prompts are longer than 10 tokens" in note and "train:long" in note for note in notes.notes)
    assert all(r["prompt_id"] != "train:long" for r in lines(summary["out"], "rollouts.jsonl"))
    notes = Notes()
    config = settings(max_new_tokens=60, out=summary["out"] + "2")  # 64 positions leave 4 for a prompt
    train(config, task=replace(task, train=rows), progress=notes)
    assert any("64 positions" in note for note in notes.notes)


def test_b13_sizes_are_checked_before_the_model_is_touched(settings, monkeypatch):
    import winnow.train.prepare as module

    monkeypatch.setattr(module, "_policy", lambda *_: pytest.fail("the model was loaded"))
    monkeypatch.setattr(module, "load_task", lambda *_: pytest.fail("the data was loaded"))
    for changes in (
        {"recipe": "pods", "n": 4, "m": None, "recipe_options": {"m": 16}},
        {"recipe": "pods", "n": 8, "recipe_options": {"m": 16}},
        {"recipe": "grpoo"},
        {"recipe_options": {"gaet": "none"}},
        {"rollouts_per_step": 6},
        {"rollouts": 7},
    ):
        with pytest.raises(ConfigError):
            Trainer(settings(**changes), progress=Notes()).run()


def test_the_loss_note_is_shown_once(settings):
    notes = Notes()
    train(settings(steps=6), progress=notes)
    assert len([note for note in notes.notes if "about 0 by design" in note]) == 1
    assert not any("importance ratio" in note for note in notes.notes)


def test_a_wrong_first_ratio_is_noted(settings, monkeypatch):
    from winnow.engine import Session

    real = Session.advance

    def biased(self):
        found = real(self)
        for rollout in found:
            rollout.logprobs = rollout.logprobs - 0.7
        return found

    monkeypatch.setattr(Session, "advance", biased)
    notes = Notes()
    train(settings(), progress=notes)
    assert len([note for note in notes.notes if "first importance ratio is 2.01" in note]) == 1


def test_only_the_adapters_are_saved_with_lora(settings, tmp_path):
    train(settings(lora_rank=2))
    folder = tmp_path / "run" / "checkpoints" / "step-000004" / "model"
    assert (folder / "adapter_model.safetensors").exists() and not (folder / "model.safetensors").exists()


def test_a_checkpoint_is_a_model_folder(settings, tmp_path):
    from transformers import AutoModelForCausalLM

    from winnow.train.weights import weights_sha256

    summary = train(settings())
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "checkpoints" / "step-000004" / "model")
    assert weights_sha256(model) == summary["weights_sha256"]


def test_kl_to_a_reference_runs_and_is_logged(settings):
    summary = train(settings(recipe_options={"kl_beta": 0.1}, steps=6))
    kl = [record["kl"] for record in lines(summary["out"])[1:] if "kl" in record]
    assert kl[0] == pytest.approx(0.0, abs=1e-6) and kl[-1] > 0


def test_dr_grpo_takes_the_longest_completion_as_its_constant(settings):
    summary = train(settings(recipe="dr-grpo"))
    assert summary["steps"] == 4


def test_a_run_that_failed_before_its_first_line_does_not_block_its_folder(settings):
    class Broken(FirstCharacter):
        def score(self, items):
            raise RewardError("not yet")

    with pytest.raises(RewardError):
        train(settings(), task=make_task(reward=Broken()))
    assert train(settings())["steps"] == 4
