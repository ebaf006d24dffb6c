import pytest

import winnow
from winnow.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "changes", "first", "second"),
    [
        ("cppo", {"stats": "kept"}, "selection cppo", "stats='kept'"),
        ("nsr", {"gate": "zero_signal"}, "advantage nsr", "gate zero_signal"),
        ("raft", {"gate": "zero_signal"}, "advantage raft", "gate zero_signal"),
        ("gcpo", {"gate": "zero_signal"}, "advantage gcpo", "gate zero_signal"),
        ("flowrl", {"gate": "zero_signal"}, "objective flow_beta", "gate zero_signal"),
        ("w-reinforce", {"gate": "zero_signal"}, "advantage w_reinforce", "gate zero_signal"),
    ],
)
def test_parts_that_exclude_each_other_are_both_named(name, changes, first, second):
    with pytest.raises(ConfigError, match=f"{first}.*{second}"):
        winnow.recipe(name, **changes)


def test_a_part_may_say_what_it_does_not_go_with():
    class Alone(winnow.curriculum.Uniform):
        def check_with(self, recipe):
            if recipe.allocation != winnow.allocation.Uniform():
                raise ConfigError("curriculum alone goes with uniform groups only")

    winnow.recipe("grpo", curriculum=Alone())
    with pytest.raises(ConfigError, match="uniform groups only"):
        winnow.recipe("vigor", curriculum=Alone())


@pytest.mark.parametrize("selection", ["max_variance", "random", "percentile", "max_reward", "cppo"])
@pytest.mark.parametrize("base", ["grpo", "vigor", "dapo", "greso"])
def test_any_selection_goes_with_any_allocation(base, selection):
    recipe = winnow.recipe(base, selection=selection, stats="full")
    step = recipe.begin(12, ids=range(12), budget=winnow.Budget(rollouts=60))
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [float((prompt + draw) % 3 == 0) for draw in range(count)])
    batch = step.finish()
    assert batch.ledger.rollouts == 60 or batch.reason


def test_marginal_takes_the_contrast_of_the_whole_group_only():
    with pytest.raises(ConfigError, match="stats='full'"):
        winnow.recipe("grpo", selection="marginal", advantage="contrast")
    with pytest.raises(ConfigError, match="advantage='contrast'"):
        winnow.recipe("grpo", selection="marginal", stats="full")
    with pytest.raises(ConfigError, match="the same noise"):
        winnow.recipe("winnow", advantage=winnow.advantage.Contrast(noise_right=0.5))
    assert winnow.recipe("winnow", noise_right=0.5).selection.noise_right == 0.5
    assert winnow.recipe("winnow", advantage="grpo", selection="all_rows").advantage.name == "grpo"
