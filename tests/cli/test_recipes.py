import json

import pytest

import winnow as library
from winnow.cli.recipe_groups import GROUPS, STATUS, group_of, grouped
from winnow.registry import names


def test_the_list_has_a_line_for_each_recipe_by_what_it_changes(winnow):
    told = winnow("recipes")
    lines = told.out.splitlines()
    assert told.code == 0 and max(map(len, lines)) <= 80
    recipes = [library.recipe(name) for name in names()]
    for recipe in recipes:
        mark = STATUS[recipe.about.status][0]
        found = [line for line in lines if line.split()[:2] == [recipe.name, mark]]
        assert len(found) == 1 and recipe.about.idea[:20] in found[0]
    headings = [line.split()[0] for line in lines if line and line[0] != " " and line.split()[0] in GROUPS]
    assert headings == list(grouped(recipes)) and headings[0] == "baseline" and headings[-1] == "combination"
    assert all(meaning in told.out for _, meaning in STATUS.values())


def test_a_wide_terminal_shows_every_idea_whole(winnow, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    told = winnow("recipes").out
    assert all(library.recipe(name).about.idea in told for name in names())


def test_a_file_gets_whole_lines(winnow, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    told = winnow("recipes").out
    assert all(library.recipe(name).about.idea in told for name in names())


def test_json_tells_paper_savings_costs_bias_and_status(winnow):
    listed = json.loads(winnow("recipes", "--json").out)
    assert list(listed) == names()
    for facts in listed.values():
        assert all(facts[key] for key in ("paper", "idea", "saves", "costs", "bias"))
        assert facts["status"] in STATUS and facts["changes"] in GROUPS
    assert listed["grpo"]["runs_in"] == ["train", "trl", "verl"]
    assert listed["gmpo"]["runs_in"] == listed["branch"]["runs_in"] == ["train"]
    assert listed["cue-grpo"]["needs"] == ["answers"]


def test_one_recipe_shows_everything_about_it(winnow):
    told = winnow("recipes", "pods").out
    assert "max_variance" in told and "clip_low" in told and "the published rule" in told
    assert json.loads(winnow("recipes", "pods", "--json").out)["settings"] == library.recipe("pods").describe()
    assert "oversample" in winnow("recipes", "mopps").out and "capacity" in winnow("recipes", "repo").out


@pytest.mark.parametrize("name", ["grpo", "repo", "nsr", "cppo", "pilot-commit"])
def test_every_key_shown_can_be_set(winnow, name):
    recipe = library.recipe(name)
    rows = [line.split() for line in winnow("recipes", name).out.split("Settings")[1].splitlines()[1:] if line.strip()]
    keys = {row[-2] for row in rows if len(row) > 1}
    assert {"selection", "advantage"} <= keys and "rule" not in keys
    assert keys <= recipe.settings() | set(recipe.describe())


@pytest.mark.parametrize("name", ["reinforce++-baseline", "vip", "repo", "pilot-commit"])
def test_a_recipe_can_be_shown_on_a_narrow_terminal(winnow, name):
    told = winnow("recipes", name)
    assert told.code == 0 and told.out.startswith(name) and max(map(len, told.out.splitlines())) <= 80


def test_groups_follow_the_file_or_the_parts():
    for name, group in (
        ("grpo", "baseline"), ("pods", "selection"), ("vigor", "allocation"), ("dapo", "allocation"),
        ("rloo", "advantage"), ("gmpo", "objective"), ("repo", "replay"), ("mopps", "curriculum"),
        ("difficulty-band", "gate"), ("vigor+pods", "combination"),
    ):  # fmt: skip
        assert group_of(library.recipe(name)) == group
    assert group_of(library.Recipe("mine")) == "baseline"
    assert group_of(library.Recipe("mine", gate="zero_signal")) == "gate"


def test_an_unknown_name_is_bad_input(winnow):
    told = winnow("recipes", "pds")
    assert told.code == 2 and "did you mean 'pods'" in told.err
