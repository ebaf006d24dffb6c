import numpy as np
import pytest

import winnow
from tests.replay.logs import coins
from winnow.compare import cost_model
from winnow.errors import ConfigError, DataError
from winnow.pilot import Tally, no_signal
from winnow.replay import Log, replay
from winnow.replay.measure import COUNTED
from winnow.replay.play import Table, play
from winnow.replay.stream import Shape, as_logged

RATES = np.random.default_rng(0).beta(0.5, 0.9, 400)


def of(sums):
    return dict(zip(COUNTED, sums.tolist(), strict=True))


def run(recipe, log, shape=Shape(None), seed=0):
    table, rng = Table(log), np.random.default_rng(seed)
    return of(
        play(winnow.recipe(recipe) if isinstance(recipe, str) else recipe, table, as_logged(log, rng), shape, rng)
    )


def test_grpo_at_the_size_of_the_log_is_the_log():
    log = coins(RATES, 8)
    groups = log.judged.reshape(-1, 8)
    tied = int((np.ptp(groups, axis=1) == 0).sum())
    found = run("grpo", log)
    assert found["rollouts"] == 3200 and found["groups"] == 400 and found["further"] == 0
    assert found["no_signal"] == tied and found["rows"] == 8 * (400 - tied)
    assert found["tokens"] == log.tokens.sum()
    rewards = winnow.advantage.grpo(log.reward, np.repeat(np.arange(400), 8))
    assert found["advantage"] == pytest.approx(np.abs(rewards).sum())


def test_smaller_groups_tie_as_often_as_their_subsets():
    log = coins(RATES, 8)
    tallies = []
    for prompt, outcomes in enumerate(log.judged.reshape(-1, 8)):
        tally = Tally(str(prompt))
        for outcome in outcomes:
            tally.add(float(outcome), tokens=1, truncated=False)
        tallies.append(tally)
    exact = no_signal(tallies, [4])[0]
    found = replay(log, [winnow.recipe("grpo", n=4)], recommend=False, effort=1e6)["recipes"]
    share = found["grpo n=4"]["no_signal"]
    assert share["value"] == pytest.approx(exact.share, abs=0.02)
    # One pass draws one subset of each prompt, so its interval is wider than that of all subsets, and never narrower.
    width = (share["high"] - share["low"]) / (exact.high - exact.low)
    assert 0.9 < width < 2.2


def test_rewards_that_a_recipe_cannot_take_are_a_reason_to_skip_it():
    log = Log.of(np.repeat(np.arange(20), 8), np.tile([1.0, -1.0], 80))
    found = replay(log, ["nsr", "maxrl"], recommend=False, effort=1e4)
    assert list(found["recipes"]) == ["grpo"]
    assert "nsr needs rewards in [0, 1], found -1" in found["skipped"]["nsr"]
    assert "maxrl needs rewards >= 0, found -1" in found["skipped"]["maxrl"]


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    inside = 0
    rates = np.random.default_rng(1).beta(0.5, 0.9, 100_000)
    truth = np.mean(rates**4 + (1 - rates) ** 4)
    for seed in range(30):
        log = coins(np.random.default_rng(seed + 5).choice(rates, 150), 6, seed)
        found = replay(log, [winnow.recipe("grpo", n=4)], recommend=False, effort=1e5, seed=seed)["recipes"]
        share = found["grpo n=4"]["no_signal"]
        inside += share["low"] <= truth <= share["high"]
        assert share["next_low"] <= share["low"] and share["high"] <= share["next_high"]
    assert inside >= 26


def test_vigor_spends_its_budget_and_finds_variance():
    log = coins(RATES, 32)
    found = run("vigor", log, Shape(100))
    assert found["rollouts"] == 3200 and found["further"] == 0
    plain = run("grpo", log, Shape(100))
    assert found["contrast"] > 1.2 * plain["contrast"]
    assert (found["spread"] / found["judged_rollouts"]) / (found["plain"] / found["judged_groups"]) > 1.2


def test_budgets_in_rollouts_and_tokens_are_kept():
    log = coins(RATES, 8)
    assert run("grpo", log, Shape(100, rollouts=300))["rollouts"] == 1200
    longest = int(log.tokens.max())
    found = run("grpo", log, Shape(100, tokens=4000, longest=longest))
    assert 4 * (4000 - longest) < found["tokens"] <= 4 * 4000
    with pytest.raises(ConfigError, match="no token counts"):
        replay(coins(RATES, 4, lengths=False), ["grpo"], budget=1000, budget_unit="tokens")
    with pytest.raises(ConfigError, match="longest rollout"):
        replay(log, ["grpo"], budget=10, budget_unit="tokens")


def test_recipes_with_memory_learn_over_the_steps_of_the_log():
    rates = np.array([1.0] * 60 + [0.5] * 60)
    log = coins(rates, 8, steps=12)
    found = run(winnow.recipe("greso", pace=0.0), log, Shape(8))
    fresh = run("dapo", log, Shape(8))
    assert found["no_signal"] / found["groups"] < 0.6 * fresh["no_signal"] / fresh["groups"]


def test_what_a_log_cannot_tell_is_left_out_with_the_reason():
    log = coins(RATES[:60], 4)
    found = replay(log, ["pods", "greso", "trace", "dapo-overlong"], recommend=False, effort=1e4)
    assert "needs longest" in found["skipped"]["dapo-overlong"]
    assert set(found["recipes"]) == {"grpo"}
    assert "not in the log" in found["skipped"]["pods"] and "--k 32" in found["skipped"]["pods"]
    assert "comes up twice" in found["skipped"]["greso"] or "comes up" in found["skipped"]["greso"]
    assert "from inside" in found["skipped"]["trace"]
    allowed = replay(log, ["pods"], recommend=False, effort=1e4, most_further=1.0)
    assert allowed["recipes"]["pods"]["marked"]
    assert any("grpo, pods: more than 5% of their rollouts are drawn from a model" in note for note in allowed["notes"])
    alone = replay(coins(RATES[:60], 8), ["pods"], recommend=False, effort=1e4, most_further=1.0)
    assert any("pods: more than 5% of its rollouts are drawn from a model" in note for note in alone["notes"])

    needy = winnow.recipe("grpo").override(advantage=Needy())
    assert "entropy" in replay(log, [needy], recommend=False, effort=1e4)["skipped"]["grpo n=8 #2"]


class Needy:
    name = "needy"
    needs = ("entropy",)

    def __call__(self, rewards, groups, entropy):
        return np.asarray(rewards)


def test_columns_of_the_log_reach_the_recipe():
    log = coins(RATES[:60], 4)
    told = []

    class Listens(Needy):
        def __call__(self, rewards, groups, entropy):
            told.append((rewards, entropy))
            return np.asarray(rewards)

    columns = {"entropy": log.reward + 10}
    with_entropy = Log.of(np.repeat(np.arange(60), 4), log.reward, columns=columns)
    run(winnow.recipe("grpo", n=4).override(advantage=Listens()), with_entropy)
    for rewards, entropy in told:
        np.testing.assert_array_equal(entropy, np.asarray(rewards) + 10)


def test_unscorable_rollouts_stay_so():
    log = coins(RATES, 8)
    rewards = log.reward.copy()
    rewards[::8] = np.nan
    found = run("grpo", Log.of(np.repeat(np.arange(400), 8), rewards, log.tokens))
    assert found["unscorable"] == 400 and found["rollouts"] == 3200


def test_it_says_no_when_nothing_is_better_and_yes_when_something_is():
    easy = replay(coins(np.full(60, 0.5), 16), ["vigor"], prompts=30, budget=480, effort=1e5)["advice"]
    assert easy["answer"] == "no" and easy["text"].startswith("No") and "little to win" in easy["text"]
    rates = np.where(np.arange(120) < 90, 0.002, 0.5)
    hard = replay(coins(rates, 16), ["vigor"], prompts=32, budget=512, effort=1e5)["advice"]
    assert hard["answer"] != "no" and hard["best"]["recipe"] == "vigor"
    assert hard["best"]["prompts"] * hard["best"]["n"] <= 1024


def test_dear_updates_speak_for_fewer_rows():
    log = coins(np.random.default_rng(0).beta(0.4, 2.5, 100), 32)
    by = {}
    for cost in ("0,1,0", "0,0.01,1"):
        advice = replay(log, ["pods"], prompts=32, budget=512, cost=cost_model(cost), effort=1e5)["advice"]
        by[cost] = advice["best"]
        assert advice["by"] == "per_second"
    assert by["0,1,0"]["recipe"] == "grpo" and by["0,0.01,1"]["recipe"] == "pods"


def test_the_same_seed_gives_the_same_answer():
    log = coins(RATES[:100], 8)
    first, again = (replay(log, ["vigor"], recommend=False, effort=1e4, seed=3) for _ in range(2))
    assert first == again


def test_all_alike_leaves_room_for_what_was_not_seen():
    found = replay(coins(np.ones(40), 4), [winnow.recipe("grpo", n=4)], recommend=False, effort=1e4)
    share = found["recipes"]["grpo n=4"]["no_signal"]
    assert share["value"] == 1 and share["low"] == pytest.approx(0.025 ** (1 / 40))


def test_one_rollout_per_prompt_is_refused():
    with pytest.raises(DataError, match="needs >= 2 rollouts of a prompt"):
        replay(coins(RATES[:20], 1), ["grpo"])


def test_a_log_of_unequal_groups_is_doubted():
    owner = np.repeat(np.arange(40), np.where(np.arange(40) < 30, 2, 30))
    log = Log.of(owner, np.random.default_rng(0).integers(0, 2, len(owner)).astype(float))
    found = replay(log, [winnow.recipe("grpo", n=2)], recommend=False, effort=1e4)
    assert any("a log of equal groups tells more" in note for note in found["notes"])


@pytest.mark.parametrize("wrong", [{"budget": 1}, {"prompts": 0}, {"budget": 9, "budget_unit": "seconds"}])
def test_bad_sizes(wrong):
    with pytest.raises(ConfigError):
        replay(coins(RATES[:20], 4), ["grpo"], **wrong)
