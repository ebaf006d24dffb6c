import json

import winnow as library


def test_each_recipe_tells_its_paper_savings_costs_and_bias(winnow):
    told = winnow("recipes")
    assert told.code == 0 and max(len(line) for line in told.out.splitlines()) <= 80
    listed = json.loads(winnow("recipes", "--json").out)
    assert {"grpo", "dr-grpo", "rloo", "pods", "vigor", "vigor+pods"} <= listed.keys()
    for name, facts in listed.items():
        assert name in told.out
        assert all(facts[key] for key in ("paper", "idea", "saves", "costs", "bias"))


def test_one_recipe_shows_its_settings(winnow):
    told = winnow("recipes", "pods")
    assert "max_variance" in told.out and "clip_low" in told.out
    assert json.loads(winnow("recipes", "pods", "--json").out)["settings"] == library.recipe("pods").describe()


def test_an_unknown_name_is_bad_input(winnow):
    told = winnow("recipes", "pds")
    assert told.code == 2 and "did you mean 'pods'" in told.err
