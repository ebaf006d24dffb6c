"""Recipes: presets, overrides, and the errors that name what is allowed."""

import subprocess
import sys

import numpy as np
import pytest

import winnow
from winnow import registry
from winnow.allocation import Uniform, Vigor
from winnow.errors import ConfigError


def test_presets_are_the_named_combinations():
    grpo, pods, both = (winnow.recipe(name) for name in ("grpo", "pods", "vigor+pods"))
    assert (grpo.allocation, grpo.selection.name, grpo.advantage.name) == (Uniform(8), "all_rows", "grpo")
    assert (pods.allocation, pods.selection.name, pods.selection.m) == (Uniform(32), "max_variance", 8)
    assert (both.allocation, both.selection.name, both.stats) == (Vigor(), "max_variance", "kept")
    assert winnow.recipe("dr-grpo").advantage.name == "centred"
    assert winnow.recipe("rloo").advantage.name == "rloo"
    for name in ("grpo", "dr-grpo", "rloo", "pods", "vigor", "vigor+pods"):
        about = winnow.recipe(name).about
        assert about.paper
        assert about.bias


def test_overrides_reach_the_part_they_belong_to():
    recipe = winnow.recipe("vigor+pods", m=0.5, rounds=3, eps=1e-6, clip_high=0.28, weight="prompt", gate="zero_signal")
    assert (recipe.selection.m, recipe.allocation.rounds, recipe.advantage.eps) == (0.5, 3, 1e-6)
    assert (recipe.objective.clip_high, recipe.weight, recipe.gate) == (0.28, "prompt", "zero_signal")
    assert winnow.recipe("vigor", n=16).allocation == Vigor(initial=4)
    assert winnow.recipe("pods", n=16, m=4).allocation == Uniform(16)
    assert winnow.recipe("grpo", allocation="vigor", rounds=2).allocation == Vigor(rounds=2)
    assert winnow.recipe("grpo", selection="random", m=4).selection.name == "random"
    assert winnow.recipe(winnow.recipe("pods"), m=2).selection.m == 2


def test_a_rule_may_be_a_function():
    def first_rows(rewards, m, groups=None, *, seed=None):
        return winnow.selection.Selection(np.arange(2), np.ones(2))

    recipe = winnow.recipe(
        "grpo", n=4, selection=first_rows, m=2, advantage=lambda rewards, groups: np.asarray(rewards)
    )
    step = recipe.begin(1)
    step.ask()
    step.tell([0] * 4, [5, 6, 7, 8])
    assert step.finish().advantages.tolist() == [5, 6]
    assert recipe.describe()["selection"]["rule"] == "first_rows"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("pods", {"n": 8, "m": 16}, "m=16 > n=8"),
        ("vigor+pods", {"m": 31}, "m=31 > n=8: no prompt has more than 30"),
        ("grpo", {"n": 1}, "n=1"),
        ("pods", {"m": 1}, "m=1"),
        ("grpo", {"max_varience": True}, "unknown setting of recipe 'grpo' 'max_varience'"),
        ("grpo", {"wieght": "prompt"}, "did you mean 'weight'"),
        ("grpo", {"selection": "max_varience"}, "did you mean 'max_variance'"),
        ("grpo", {"advantage": "rlo"}, "did you mean 'rloo'"),
        ("grpo", {"gate": "zero-signal"}, "did you mean 'zero_signal'"),
        ("grpo", {"allocation": "vigour"}, "did you mean 'vigor'"),
        ("grpo", {"weight": "token"}, "unknown weight 'token'"),
        ("grpo", {"rounds": 3}, "unknown setting of recipe 'grpo' 'rounds'"),
        ("vigor", {"n": 9}, "nearest are 8, 12"),
        ("vigr", {}, "did you mean 'vigor'"),
    ],
)
def test_wrong_settings_say_what_is_allowed(name, changes, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        winnow.recipe(name, **changes)


def test_a_new_recipe_is_one_registration(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))  # nothing stays for other tests
    winnow.register("mine", lambda: winnow.recipe("grpo", n=4, weight="prompt").override(name="mine"))
    assert winnow.recipe("mine", n=6).allocation.n == 6
    assert winnow.recipe("mine").name == "mine"


def test_state_is_kept_by_part():
    class Counting(Uniform):
        def state_dict(self):
            return {"calls": 3}

        def load_state_dict(self, state):
            object.__setattr__(self, "n", state["calls"])

    recipe = winnow.recipe("grpo", allocation=Counting(4))
    assert recipe.state_dict() == {"allocation": {"calls": 3}}
    recipe.load_state_dict({"allocation": {"calls": 5}})
    assert recipe.allocation.n == 5
    with pytest.raises(ConfigError, match="keeps state for"):
        winnow.recipe("grpo").load_state_dict({"allocation": {}})
    assert winnow.recipe("vigor").state_dict() == {}


def test_importing_winnow_is_light():
    program = (
        "import sys, winnow; heavy = {'torch', 'scipy', 'transformers', 'pydantic', 'matplotlib'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
