"""Closed forms, and simulations with the recipes' own code that have to reproduce them."""

import numpy as np
import pytest

import winnow
from winnow.errors import ConfigError
from winnow.simulate import Learning, Pool, Settings, simulate
from winnow.simulate import theory as t
from winnow.simulate.pool import quantiles

STILL = Learning(rate=0)

V4 = {
    1.5: (1, 1.0896, 1.194, 1.3156, 1.4567, 1.6206),
    2.0: (1, 1.0648, 1.1374, 1.2188, 1.3101, 1.4122),
    3.0: (1, 1.0416, 1.0865, 1.1349, 1.1872, 1.2437),
    5.0: (1, 1.0242, 1.0495, 1.0761, 1.1038, 1.1329),
}


def one_step(pool, recipe):
    settings = Settings(prompts=len(pool), steps=1, learning=STILL)
    return simulate(pool, {"it": recipe}, settings)["it"]


@pytest.mark.parametrize("tail", V4)
def test_v4_closed_form(tail):
    assert [t.speed_up(rounds, 0.5, 2, tail) for rounds in range(1, 7)] == pytest.approx(V4[tail], abs=5e-5)


def test_v4_other_shapes():
    assert t.speed_up(2, 0.25, 4, 2) == pytest.approx(1.1447, abs=5e-5)
    assert t.speed_up(4, 0.5, 3, 2) == pytest.approx(1.2832, abs=5e-5)
    with pytest.raises(ConfigError, match="tail > 1"):
        t.eta(4, 0.5, 2, 1.0)


@pytest.mark.parametrize("tail", [1.5, 2.0, 3.0])
def test_v4_speed_up_and_its_growth_with_rounds_by_simulation(tail):
    pool = Pool(variance=quantiles(tail, 2**15), known=True)
    for rounds in (2, 4, 6):
        found = one_step(pool, winnow.recipe("vigor", rounds=rounds))["eta"] ** (1 / 3)
        assert found == pytest.approx(V4[tail][rounds - 1], rel=0.01)


@pytest.mark.parametrize(
    ("shape", "speed_up"),
    [({"rounds": 2, "initial": 4, "keep": 0.25, "growth": 4}, 1.1447), ({"growth": 3}, 1.2832)],
)
def test_v4_other_shapes_by_simulation(shape, speed_up):
    pool = Pool(variance=quantiles(2, 2**15), known=True)
    assert one_step(pool, winnow.recipe("vigor", **shape))["eta"] ** (1 / 3) == pytest.approx(speed_up, rel=0.01)


def test_v5_mean_variance_over_rollouts_by_simulation():
    found = one_step(Pool(variance=quantiles(2, 2**17), known=True), "vigor")
    assert t.eta(4, 0.5, 2, 2) == pytest.approx(1.811, abs=5e-4)
    assert found["eta"] == pytest.approx(1.811, abs=0.01)


def test_two_draws_that_may_tie_take_much_of_the_gain():
    pool = {known: Pool(variance=quantiles(2, 2**15), known=known) for known in (True, False)}
    found = {known: one_step(each, "vigor")["eta"] for known, each in pool.items()}
    assert 1.1 < found[False] < found[True] - 0.3


@pytest.mark.parametrize(
    ("n", "shares"),
    [(8, {0.01: 0.0773, 0.05: 0.3366, 0.1: 0.5695, 0.3: 0.9423, 0.5: 0.9922}), (4, {0.1: 0.3438, 0.5: 0.875})],
)
def test_d1_groups_with_signal(n, shares):
    for rate, share in shares.items():
        assert t.signal(rate, n) == pytest.approx(share, abs=5e-5)
        found = one_step(Pool(np.full(20_000, rate)), winnow.recipe("grpo", n=n))
        assert 1 - found["no_signal"] == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(("keep", "prompts"), [(0.4, 1280.0), (0.6, 853.3)])
def test_d3_prompts_that_dynamic_sampling_generates_for_512(keep, prompts):
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t.signal(middle, 8) < keep else (low, middle)
    assert t.dapo_prompts(512, low, 8) == pytest.approx(prompts, abs=0.05)
    settings = Settings(prompts=512, steps=40, learning=STILL)
    found = simulate(Pool(np.full(8192, low)), {"it": winnow.recipe("dapo", pool=8)}, settings)["it"]
    assert found["trained"] == 40 * 512 * 8
    assert found["groups"] / 40 == pytest.approx(prompts, rel=0.02)


def test_g4_visits_until_a_prompt_that_is_solved_comes_back():
    assert [t.greso_visits(streak) for streak in range(1, 9)] == [2, 4, 8, 16, 32, 64, 100, 100]


def test_g1_share_of_solved_prompts_that_greso_takes_falls_by_half_with_each_visit():
    prompts, epochs = 4000, 4
    recipe = winnow.recipe("greso", pace=0.0, oversample=1, pool=1)
    settings = Settings(prompts=prompts, steps=epochs, learning=STILL)
    found = simulate(Pool(np.ones(prompts)), {"it": recipe}, settings)["it"]
    share, taken = {0: 1.0}, []
    for _ in range(epochs):
        after: dict[int, float] = {}
        for streak, weight in share.items():
            chance = 1 / t.greso_visits(streak) if streak else 1.0
            after[streak + 1] = after.get(streak + 1, 0) + weight * chance
            after[streak] = after.get(streak, 0) + weight * (1 - chance)
        taken.append(sum(weight / t.greso_visits(streak) if streak else weight for streak, weight in share.items()))
        share = after
    assert found["groups"] == pytest.approx(prompts * sum(taken), rel=0.02)


R7 = {
    False: (32, 19.164, 13.564, 8.489, 8.031, 8.001, 8, 8, 8),
    True: (32, 27.315, 20.962, 10.279, 8.567, 10.279, 20.962, 27.315, 32),
}
RATES = (0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1)


@pytest.mark.parametrize("balanced", R7)
def test_r7_closed_form(balanced):
    found = [t.ada_rollouts(rate, 8, 4, 4, balanced) for rate in RATES]
    assert found == pytest.approx(R7[balanced], abs=5e-4)


@pytest.mark.parametrize("balanced", R7)
def test_r7_by_simulation(balanced):
    name = "reinforce-ada-balanced" if balanced else "reinforce-ada-pos"
    for rate, rollouts in zip(RATES, R7[balanced], strict=True):
        if rate in (0, 0.05, 0.1, 0.5, 0.95, 1):
            found = one_step(Pool(np.full(6000, float(rate))), name)
            assert found["rollouts"] / 6000 == pytest.approx(rollouts, rel=0.02)
