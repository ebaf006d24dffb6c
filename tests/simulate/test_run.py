import numpy as np
import pytest

import winnow
from winnow.errors import ConfigError
from winnow.simulate import Learning, Lengths, Pool, Settings, make_pool, simulate


def counts(found):
    return {name: value for name, value in found.items() if name != "decide_us"}


def test_the_same_seed_is_the_same_run():
    pool = make_pool("beta:0.5,1.5", 300)
    first, again = (simulate(pool, {"it": "vigor"}, Settings(16, 5, slots=8))["it"] for _ in range(2))
    assert counts(first) == counts(again)


def test_recipes_start_from_the_same_pool_which_stays_as_it_was():
    pool = make_pool("beta:0.5,1.5", 300)
    before = pool.rates()
    found = simulate(pool, {"a": "grpo", "b": "grpo"}, Settings(16, 20))
    assert counts(found["a"]) == counts(found["b"])
    np.testing.assert_array_equal(pool.rates(), before)
    assert found["a"]["pass_rate"]["after"] > found["a"]["pass_rate"]["before"] + 0.01
    assert [point["step"] for point in found["a"]["curve"]] == [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]


def test_an_epoch_shows_every_prompt_once():
    found = simulate(Pool(np.full(60, 0.5)), {"it": "greso"}, Settings(5, 3, learning=Learning(0)))["it"]
    assert found["seen"] <= 60 and found["groups"] <= found["seen"]
    plain = simulate(Pool(np.ones(60)), {"it": "grpo"}, Settings(20, 3))["it"]
    assert plain["seen"] == 60 and plain["no_signal"] == 1 and plain["trained"] == 0


@pytest.mark.parametrize("recipe", ["grpo", "vigor"])
def test_budgets_are_spent(recipe):
    found = simulate(make_pool("beta:1,1", 100), {"it": recipe}, Settings(10, 4, budget=70))["it"]
    assert found["rollouts"] == found["budget"] == 280 and found["used"] == 1


def test_streaming_vigor_leaves_fewer_slots_idle_than_rounds_and_draws_as_many():
    pool = make_pool("beta:0.5,1.5", 400)
    arms = {"rounds": "vigor", "streaming": winnow.recipe("vigor", barrier=False)}
    found = simulate(pool, arms, Settings(32, 6, slots=32, lengths=Lengths(200, 1.0, 4096)))
    assert found["rounds"]["rollouts"] == found["streaming"]["rollouts"]
    assert found["streaming"]["idle"] < found["rounds"]["idle"] - 0.1
    assert found["streaming"]["time"] < found["rounds"]["time"]


def test_equal_lengths_and_as_many_slots_as_rollouts_leave_nothing_idle():
    settings = Settings(8, 2, slots=64, lengths=Lengths(50, 0.0, 100))
    found = simulate(make_pool("beta:1,1", 100), {"it": "grpo"}, settings)["it"]
    assert found["idle"] == 0 and found["time"] == 100


def test_a_million_prompts():
    pool = make_pool("beta:0.5,1.5", 1_000_000)
    found = simulate(pool, {"it": "vigor"}, Settings(20_000, 2))["it"]
    assert found["rollouts"] == 2 * 20_000 * 8


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"prompts": 0}, "prompts=0"), ({"steps": 0}, "steps=0"), ({"budget": 1}, "budget=1"), ({"slots": 0}, "slots=0")],
)
def test_bad_settings(wrong, said):
    with pytest.raises(ConfigError, match=said):
        Settings(**wrong)


def test_what_imaginary_rollouts_cannot_show_is_refused():
    with pytest.raises(ConfigError, match="from inside"):
        simulate(make_pool("beta:1,1", 100), {"it": "vineppo"}, Settings(4, 1))
