"""The comparison of `benchmarks/final.py`: what its page computes from records, by hand."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from winnow.compare.leaderboard.child import write_record
from winnow.compare.statistics import resample, to_target

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def modules():
    """The scripts, imported as they import one another."""
    sys.path.insert(0, str(FOLDER))
    try:
        import final_costs
        import final_plan
        import final_table
    finally:
        sys.path.remove(str(FOLDER))
    return final_costs, final_plan, final_table


@pytest.fixture
def costs(modules):
    return modules[0]


def record(accuracy, *, at=(0, 2, 4), cpu=(1.0, None, 3.0, None), rows=40, seed=0, **steps):
    count = len(cpu)
    return {
        "seed": seed,
        "error": None,
        "curve": {"step": list(at), "rollouts": [100 * step for step in at], "accuracy": list(accuracy)},
        "steps": {
            "prompts": [10] * count,
            "rollouts": [100] * count,
            "rows": [rows] * count,
            "recalled_rows": [5] * count,
            "waves": [1] * count,
            "tokens": [700] * count,
            "cpu": list(cpu),
            **steps,
        },
    }


def spent(costs, records, target, resamples=500):
    runs = costs.aligned(records)
    return costs.spent(runs, target, resample(len(records), resamples, 0))


def test_steps_with_an_evaluation_take_the_mean_of_the_others(costs):
    assert costs.filled([1.0, None, 3.0, None]).tolist() == [1.0, 2.0, 3.0, 2.0]
    assert np.isnan(costs.filled([None, None])).all()


def test_what_a_run_had_spent_by_each_evaluation(costs):
    found = {unit: values.tolist() for unit, values in costs.spending(record([0.2, 0.4, 0.6])).items()}
    assert found["rollouts"] == [0, 200, 400]
    assert found["rows"] == [0, 90, 180]
    assert found["tokens"] == [0, 1400, 2800]
    assert found["measured"] == [0, 3, 8]
    step = 10 * 4.41 + 100 * 0.0584 + 45 * 0.1227
    assert found["pods"] == pytest.approx([0, 2 * step, 4 * step])
    assert found["update-bound"] == pytest.approx([0, 2 * step + 90 * 4 * 0.1227, 4 * step + 180 * 4 * 0.1227])


def test_the_target_is_nine_tenths_of_the_gain_of_the_mean_curve(costs):
    runs = costs.aligned([record([0.1, 0.4, 0.5]), record([0.3, 0.4, 0.7])])
    assert costs.target_of(runs) == pytest.approx(0.2 + 0.9 * 0.4)
    assert np.isnan(costs.target_of(costs.aligned([record([0.5, 0.6, 0.5])])))


def test_crossing_and_ratio_by_hand(costs):
    base = [record([0.2, 0.3, 0.5], seed=0), record([0.2, 0.3, 0.7], seed=1)]
    ours = [record([0.2, 0.6, 0.7], rows=15, cpu=(1.0, None, 1.0, None)), record([0.2, 0.4, 0.7], rows=15)]
    target = costs.target_of(costs.aligned(base))
    assert target == pytest.approx(0.56)
    first, second = spent(costs, ours, target), spent(costs, base, target)
    # base: mean curve 0.2, 0.3, 0.6, so 13/15 of the way from the second evaluation to the third
    assert second.cost["rollouts"] == pytest.approx(200 + 200 * 0.26 / 0.3)
    assert second.cost["measured"] == pytest.approx(3 + 5 * 0.26 / 0.3)
    # ours: mean curve 0.2, 0.5, 0.7; seconds 0, 2, 4 and 0, 3, 8
    assert first.cost["rollouts"] == pytest.approx(200 + 200 * 0.3)
    assert first.cost["measured"] == pytest.approx(2.5 + 3.5 * 0.3)
    assert first.budget["rows"] == 80
    found = costs.ratio(first, second, "rows")
    assert found.value == pytest.approx((40 + 40 * 0.3) / (90 + 90 * 0.26 / 0.3))
    assert found.bound == pytest.approx(80 / (90 + 90 * 0.26 / 0.3))
    assert found.low <= found.value <= found.high


def test_all_crossings_at_once_are_those_of_to_target(costs):
    rng = np.random.default_rng(0)
    accuracy = rng.uniform(0.2, 0.6, (200, 7)).round(1)
    cost = np.cumsum(rng.uniform(0, 3, (200, 7)), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = costs.crossings(cost, accuracy, 0.5)
    assert found.tolist() == pytest.approx([to_target(c, a, 0.5) for c, a in zip(cost, accuracy, strict=True)])
    assert np.isinf(costs.crossings(cost, accuracy, 0.61)).all()


def test_a_contender_against_its_double_is_exactly_one_in_every_resample(costs):
    rng = np.random.default_rng(1)
    runs = [record([0.2, 0.4 + rng.normal(0, 0.05), 0.6 + rng.normal(0, 0.05)]) for _ in range(4)]
    each = spent(costs, runs, costs.target_of(costs.aligned(runs)))
    assert 0 < each.missed < 1
    for unit in costs.UNITS:
        found = costs.ratio(each, each, unit)
        assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_a_contender_that_misses_the_target_is_above_its_whole_budget(costs):
    base = [record([0.2, 0.4, 0.6])] * 3
    ours = [record([0.2, 0.3, 0.4])] * 3
    never, reached = spent(costs, ours, 0.56), spent(costs, base, 0.56)
    found = costs.ratio(never, reached, "rollouts")
    assert np.isinf([found.value, found.low, found.high]).all() and never.missed == 1
    assert found.bound == pytest.approx(400 / 360)
    sometimes = spent(costs, [record([0.2, 0.3, 0.4]), record([0.2, 0.5, 0.9]), record([0.2, 0.5, 0.9])], 0.56)
    found = costs.ratio(sometimes, reached, "rollouts")
    assert np.isfinite([found.value, found.low]).all() and np.isinf(found.high)


def test_where_only_the_baseline_misses_its_budget_stands_for_its_cost(costs):
    never, reached = (
        spent(costs, [record([0.2, 0.3, 0.4])] * 2, 0.56),
        spent(costs, [record([0.2, 0.4, 0.6])] * 2, 0.56),
    )
    found = costs.ratio(reached, never, "rollouts")
    assert (found.low, found.high) == pytest.approx((0.9, 0.9))
    quotient = costs.quotient({"winnow": reached, "maxrl": never}, "winnow", "maxrl", "rollouts")
    assert (quotient.value, quotient.sign) == (pytest.approx(0.9), "<")


def test_runs_evaluated_at_other_steps_are_read_at_equal_shares(costs):
    runs = costs.aligned([record([0.0, 0.4, 0.8]), record([0.0, 0.1, 0.3, 0.4], at=(0, 1, 3, 4))])
    assert runs.accuracy.tolist() == [pytest.approx([0, 0.4, 0.8]), pytest.approx([0, 0.2, 0.4])]
    assert runs.cost["rollouts"].tolist() == [[0, 200, 400]] * 2


def test_a_count_that_was_not_kept_is_unknown_not_infinite(costs):
    old = record([0.2, 0.4, 0.6])
    del old["steps"]["tokens"]
    each = spent(costs, [old, old], 0.56)
    assert np.isnan(each.cost["tokens"]) and each.cost["rows"] == pytest.approx(162)
    assert np.isnan(costs.ratio(each, each, "tokens").value)


def test_means_over_tasks_name_the_worst_and_count_the_tasks(costs):
    def task(**at):
        shapes = {name: record([0.2, end, end]) for name, end in at.items()}
        return {name: spent(costs, [each] * 2, 0.56) for name, each in shapes.items()}

    tasks = {
        "a": task(grpo=0.6, winnow=0.92, maxrl=0.56, pods=0.7),  # costs 180, 100, 200, 144
        "b": task(grpo=0.6, winnow=0.74, maxrl=0.4),  # 180, 400 / 3, never
        "c": task(grpo=0.6, winnow=0.4, maxrl=0.6),  # 180, never, 180
        "d": task(grpo=0.6),
    }
    found = costs.over_tasks(tasks, "winnow", "grpo", "rollouts")
    assert found["mean"] == pytest.approx((100 / 180 * 400 / 540) ** 0.5)
    assert (found["tasks"], found["of"]) == (2, 3)
    assert found["worst"] == ["c", pytest.approx(400 / 180), ">"]
    best = costs.over_tasks(tasks, "winnow", costs.BEST, "rollouts")["by_task"]
    assert best["a"] == [pytest.approx(100 / 144), "", "pods"]
    assert best["b"] == [pytest.approx(1 / 3), "<", "maxrl"]
    assert costs.over_tasks(tasks, "winnow", costs.FIXED, "rollouts")["worst"] is None


@pytest.fixture
def finished(modules, tmp_path):
    """A folder with two contenders of one task: three seeds of the one, two of the other, one of which failed."""
    _, plan, _ = modules
    bench = plan.Bench({"task": "mix", "model": "/somewhere/else/tiny"}, seeds=3)
    chosen = {"grpo": ({"n": 8}, 3e-4), "winnow": ({}, 3e-4), "pods": ({"n": 8, "m": 4}, 3e-4)}
    for label, (size, rate) in chosen.items():
        path = tmp_path / "out" / "tuned" / "kept" / f"{label}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"size": size, "rate": rate, "accuracy": 0.5, "tried": []}), encoding="utf-8")
    for cell in plan.finals(chosen, "kept", bench):
        made = {
            ("grpo", 0): record([0.2, 0.3, 0.6]), ("grpo", 1): record([0.2, 0.4, 0.6], seed=1),
            ("grpo", 2): record([0.2, 0.3, 0.6], seed=2), ("winnow", 0): record([0.2, 0.3, 0.4]),
            ("winnow", 1): record([0.2, 0.4, 0.4], seed=1), ("winnow", 2): {"error": "SafetyStop: a\nb"},
        }.get((cell.recipe, cell.seed))  # fmt: skip
        if made is not None:
            write_record(tmp_path / "out" / cell.name, made)
    return tmp_path, {"kept": bench, "never": bench}


def test_only_seeds_of_all_contenders_count_and_the_rest_is_named(modules, finished):
    folder, found = finished
    _, runs, notes = modules[2].collected(folder / "out", "kept", found["kept"])
    assert {label: [each["seed"] for each in records] for label, records in runs.items()} == {
        "grpo": [0, 1],
        "winnow": [0, 1],
    }
    said = "; ".join(notes)
    assert "`winnow`, seed 2: SafetyStop: a b" in said and "`pods` has no finished seed" in said
    assert "`maxrl` is not tuned" in said and "seed 2 is not used, missing: `winnow`" in said


def test_page_and_numbers(modules, finished, monkeypatch):
    pytest.importorskip("matplotlib")
    folder, found = finished
    monkeypatch.setattr(sys, "argv", [str(FOLDER / "final.py"), "table", f"--out={folder}/out", "--json", "a/b.json"])
    page = folder / "docs" / "final.md"
    modules[2].write(folder / "out", found, folder / "final.json", page)
    text = (folder / "final.json").read_text(encoding="utf-8")
    result = json.loads(text)
    task = result["tasks"]["kept"]
    ours = task["contenders"]["winnow"]
    assert task["seeds"] == [0, 1] and not task["design"] and task["target"] == pytest.approx(0.56)
    assert task["settings"]["model"] == "tiny"
    assert ours["ratio"]["rollouts"] == [None, None, None] and ours["cost"]["rollouts"] is None
    assert ours["bound"]["rollouts"] == pytest.approx(400 / (200 + 200 * 0.21 / 0.25))
    assert ours["difference"]["value"] == pytest.approx(-0.2)
    assert set(ours["curve"]) == {"rollouts", "accuracy", "rows", "seconds"}
    assert task["contenders"]["grpo"]["ratio"]["pods"] == [1, 1, 1]
    assert result["summary"]["kept"] == result["summary"]["all"]
    assert result["environment"]["command"] == "python final.py table --out=out --json a/b.json"
    assert str(folder) not in text and "/somewhere" not in text
    written = page.read_text(encoding="utf-8")
    assert ">1.09 [>1.09, >1.09]" in written.split("## `kept`")[1]
    assert "none (0 of 1) | >1.09 (`kept`)" in written and "`never`: not tuned" in written
    assert "nan" not in written and "None" not in written
    assert (folder / "docs" / "figures" / "final.png").is_file()


def test_nothing_finished_is_said(modules, tmp_path):
    _, plan, table = modules
    table.write(tmp_path, {"never": plan.Bench({"task": "mix"})}, tmp_path / "a.json", tmp_path / "a.md")
    assert "No task has" in (tmp_path / "a.md").read_text(encoding="utf-8")
