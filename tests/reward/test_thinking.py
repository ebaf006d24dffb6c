import pytest

from winnow.errors import ConfigError
from winnow.reward import Item
from winnow.reward.thinking import Thinking, thinks
from winnow.rollout import Prompt


@pytest.mark.parametrize("case", ["RWD-08"], indirect=True)
@pytest.mark.parametrize("messages", [False, True], ids=["text", "messages"])
def test_case(case, messages):
    tail = f"Half of ten?\n{case['input']['prompt_tail']}"
    content = (
        [{"role": "user", "content": "Half of ten?"}, {"role": "assistant", "content": tail}] if messages else tail
    )
    (verdict,) = Thinking().score([Item(Prompt("train:1", content), case["input"]["completion"])])
    assert verdict.score == case["expected"]["think_format_reward"]
    assert verdict.outcome is None


@pytest.mark.parametrize(
    ("prompt", "completion", "problem"),
    [
        ("q", "<think>a</think> 5", ""),
        ("q", "\n<think>\na\n</think>\n\n5", ""),
        ("q <think>\n", "<think>a</think> 5", ""),
        ("q <think>", "a</think> 5", ""),
        ("q", "a</think> 5", "0 <think>"),
        ("q", "<think>a 5", "0 </think>"),
        ("q", "5", "0 <think>"),
        ("q", "", "0 <think>"),
        ("q", "<think>a</think><think>b</think> 5", "2 <think>"),
        ("q", "</think>a<think> 5", "before"),
        ("q", "Well, <think>a</think> 5", "text before"),
        ("q", "<think> </think> 5", "empty"),
        ("q", "<think>a</think> \n", "no answer"),
        ("q <think> is a tag", "a</think> 5", "0 <think>"),
        ("q <think>", "", "0 </think>"),
    ],
)
def test_the_form_is_judged_with_the_end_of_the_prompt(prompt, completion, problem):
    found = thinks(prompt, completion)
    assert problem in found and bool(problem) == bool(found)


def test_another_tag_and_a_wrong_one():
    assert Thinking("reason").score([Item(Prompt("train:1", "q"), "<reason>a</reason> 5")])[0].score == 1.0
    with pytest.raises(ConfigError, match="without angle brackets"):
        Thinking("<think>")
