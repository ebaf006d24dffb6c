"""Passes over the data, and the warning where a recipe with a memory makes less than one."""

import pytest

import winnow
from winnow.plan import first_pass_note, passes_range


def test_spare_prompts_count_as_up_to():
    assert passes_range(winnow.recipe("grpo"), 16, 150, 4000) == (0.6, 0.6)
    assert passes_range(winnow.recipe("sara"), 16, 150, 4000) == pytest.approx((0.6, 1.8))
    assert passes_range(winnow.recipe("sara"), 16, 10, 20) == (8, 10)  # no more prompts at hand than there are


@pytest.mark.parametrize(
    ("name", "steps", "told"),
    [
        ("repo", 150, "recipe repo learns from a prompt's earlier visits; this run makes 0.6 passes over the data"),
        ("repo", 250, "makes 1 passes"),
        ("repo", 251, None),
        ("repo", None, None),
        ("greso", 150, "makes 0.6 to 2.4 passes"),
        ("grpo", 150, None),
        ("dapo", 150, None),
    ],
)
def test_a_memory_that_no_prompt_comes_back_to_is_told(name, steps, told):
    note = first_pass_note(winnow.recipe(name), 16, steps, 4000)
    assert (note is None) if told is None else (told in note and "in 250 steps" in note)
