import json

import numpy as np
import pytest
from rich.console import Console

from winnow.cli.replay_text import folded, table_of

ANSWERS = ("Yes:", "Perhaps:", "Undecided:", "No:")


def write(path, rates, k=8, **more):
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for prompt, rate in enumerate(rates):
            for _ in range(k):
                record = {"prompt": f"q{prompt}", "reward": float(rng.random() < rate), "tokens": 20, **more}
                file.write(json.dumps(record) + "\n")
    return path


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "log.jsonl", np.random.default_rng(0).beta(0.5, 1, 24))


def test_what_recipes_would_have_done(winnow, log):
    told = winnow("replay", log, "--recipe", "vigor", "--recipe", "pods:n=8,m=4", "--recipe", "trace", "--prompts", 12)
    assert told.code == 0, told.err
    assert max(len(line) for line in told.out.splitlines()) <= 80
    assert "192 rollouts, 8 of each of 24 groups" in told.out and "vigor*" in told.out
    assert "trace" in told.out and "from inside" in told.out.replace("\n", " ")
    assert 0 < told.out.index("Undecided:") < told.out.index("Per step")
    assert "Updates are not priced" in told.out
    brief = winnow("replay", log, "--recipe", "grpo", "--quiet")
    assert "Per step" not in brief.out and any(word in brief.out for word in ANSWERS)


def test_json_holds_figures_with_intervals(winnow, log):
    told = winnow("replay", log, "--recipe", "grpo:n=4", "--cost", "0,1,2", "--no-advice", "--json", "--seed", 3)
    assert told.code == 0, told.err
    facts = json.loads(told.out)
    share = facts["recipes"]["grpo n=4"]["no_signal"]
    assert share["next_low"] <= share["low"] < share["value"] < share["high"] <= share["next_high"]
    assert facts["advice"] is None and facts["log"]["prompts"] == 24
    each = facts["recipes"]["grpo n=4"]
    assert each["seconds"]["value"] == pytest.approx(each["rollouts"]["value"] + 2 * each["rows"]["value"])


def test_columns_by_name(winnow, tmp_path):
    path = write(tmp_path / "x.jsonl", [0.5] * 20, points=0.5)
    told = winnow("replay", path, "--column", "reward=reward+points", "--no-advice", "--json", "--recipe", "grpo")
    assert told.code == 0, told.err
    facts = json.loads(told.out)["log"]
    assert 0 < facts["outcome_mean"] < 1 and "outcome: reward" in facts["notes"][0]


def test_what_a_log_is_taken_for_is_said_first(winnow, tmp_path):
    path = write(tmp_path / "x.jsonl", [0.5] * 20, points=0.5)
    told = winnow("replay", path, "--column", "reward=reward+points", "--recipe", "grpo")
    assert told.out.index("outcome: reward") < told.out.index("Per step")


def test_long_names_are_wrapped_and_numbers_whole():
    rows = [("recipe", "rows"), ("reinforce-ada-balanced n=32, m=4", "1 [dim]±2[/dim]")]
    narrow = [*rows[0], *("rows",) * 5], [*rows[1], *("1,000,000 [dim]±100,000[/dim]",) * 5]
    for table in (rows, narrow):
        console = Console(width=80)
        with console.capture() as kept:
            console.print(table_of(table))
        told = kept.get()
        assert "…" not in told and told.count("±") == len(table[1]) - 1
        assert max(map(len, told.splitlines())) <= 80
    assert told.count("1,000,000") == 5 and told.count("±100,000") == 5
    assert folded("reinforce-ada-balanced", 16) == ["reinforce-ada-", "balanced"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recipe", "vigour"], "did you mean 'vigor'"),
        (["--recipe", "vigor:round=2"], "round"),
        (["--column", "reward"], "WHAT=NAME"),
        (["--cost", "pod"], "unknown cost regime"),
        (["--budget", "5", "--budget-unit", "tokens"], "longest rollout"),
    ],
)
def test_mistakes_are_bad_input(winnow, log, arguments, said):
    told = winnow("replay", log, *arguments)
    assert told.code == 2 and said in told.err


def test_no_log(winnow, tmp_path):
    told = winnow("replay", tmp_path / "none.jsonl")
    assert told.code == 2 and "no such file" in told.err
