import json

import pytest


def test_a_line_per_recipe(winnow):
    told = winnow("simulate", "--steps", 3, "--slots", 32, "--prompts", 16, "--size", 300)
    assert told.code == 0, told.err
    assert max(len(line) for line in told.out.splitlines()) <= 80
    assert "vigor:barrier=false" in told.out and "idle" in told.out and "…" not in told.out


def test_theory_beside_what_was_counted(winnow):
    told = winnow(
        "simulate", "vigor", "--pool", "variance:2", "--known", "--steps", 1, "--prompts", 4096, "--size", 4096
    )
    assert told.code == 0, told.err
    assert "eta 1.80" in told.out and "in closed form 1.811" in told.out


def test_what_is_not_simulated_is_listed_and_stops_nothing(winnow):
    told = winnow("simulate", "grpo", "gmpo", "dapo-overlong", "repo", "trace", "seed-grpo", "--steps", 2)
    assert told.code == 0, told.err
    out = " ".join(told.out.split())
    assert "Not simulated dapo-overlong the overlong penalty needs longest" in out
    assert "repo trains rollouts of earlier steps" in out and "trace continues" in out and "seed-grpo needs" in out
    assert "gmpo: its loss is another than grpo's" in out


def test_json(winnow):
    told = winnow("simulate", "grpo", "grpo:n=4", "--pool", "0.5", "--steps", 2, "--size", 100, "--learn", 0, "--json")
    facts = json.loads(told.out)
    assert facts["recipes"]["grpo"]["rollouts"] == 2 * facts["recipes"]["grpo:n=4"]["rollouts"]
    assert facts["recipes"]["grpo"]["idle"] is None and facts["theory"] == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grpoo"], "did you mean 'grpo'"),
        (["--pool", "normal:1"], "beta:A,B"),
        (["--pool", "beta:1,1", "--known"], "variance:K"),
        (["vineppo"], "from inside"),
        (["--size", "2000000"], "1,000,000"),
        (["--prompts", "4096"], "--size 4096"),
        (["repo", "ar3po"], "repo, ar3po: trains rollouts of earlier steps"),
    ],
)
def test_mistakes_are_bad_input(winnow, arguments, said):
    told = winnow("simulate", *arguments)
    assert told.code == 2 and said in told.err
