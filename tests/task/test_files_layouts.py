"""Rows as published data sets have them, and conversations in particular."""

import json

import pytest

from winnow import task
from winnow.errors import ConfigError, DataError
from winnow.reward.base import Item
from winnow.rollout import Verdict
from winnow.task.folder import Split
from winnow.task.options import FileOptions
from winnow.task.part import check_golds, read_part

USER = {"role": "user", "content": "2 + 2"}
ASSISTANT = {"role": "assistant", "content": "It is #### 4"}
SYSTEM = {"role": "system", "content": "Be brief."}
HUMAN, GPT = {"from": "human", "value": "2 + 2"}, {"from": "gpt", "value": "4"}


@pytest.fixture
def write(tmp_path):
    def build(*rows):
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        return path

    return build


@pytest.fixture
def load(write):
    return lambda *rows, **options: task.load(str(write(*rows)), options=options)


@pytest.mark.parametrize(
    ("row", "prompt", "gold"),
    [
        ({"problem": "P", "solution": "long", "answer": "9", "messages": [USER, ASSISTANT]}, "P", "9"),
        ({"question": "P", "final_answer": "9", "r1_solution_1": "long"}, "P", "9"),
        ({"problem": "P", "expected_answer": "9", "generated_solution": "long"}, "P", "9"),
        ({"prompt": "P", "ground_truth": 9}, "P", "9"),
        ({"query": "P", "answer": "9"}, "P", "9"),
        ({"ID": "1", "Problem": "P", "Solution": "long", "Answer": 9}, "P", "9"),
        ({"prompt": [USER], "reward_model": {"ground_truth": "4"}, "solution": "long"}, [USER], "4"),
        ({"messages": [USER], "ground_truth": "4"}, [USER], "4"),
        ({"messages": [SYSTEM, USER], "answer": "4"}, [SYSTEM, USER], "4"),
        ({"conversations": [HUMAN], "answer": "4"}, [USER], "4"),
        ({"prompt": {"role": ["user"], "content": ["2 + 2"]}, "answer": "4"}, [USER], "4"),
        ({"prompt": [{"role": "user", "content": [{"type": "text", "text": "2 + 2"}]}], "answer": "4"}, [USER], "4"),
    ],
)
def test_layouts(load, row, prompt, gold):
    [found] = load(row).train
    assert (found.content, found.answer) == (prompt, gold)


@pytest.mark.parametrize(
    ("row", "options", "prompt", "gold"),
    [
        ({"messages": [USER, ASSISTANT]}, {"last_turn": "gold"}, [USER], "4"),
        ({"conversations": [HUMAN, GPT]}, {"last_turn": "gold"}, [USER], "4"),
        ({"messages": [USER, ASSISTANT], "answer": "5"}, {"last_turn": "drop"}, [USER], "5"),
        ({"messages": [USER], "answer": "5"}, {"last_turn": "drop"}, [USER], "5"),
        ({"messages": [SYSTEM, USER, ASSISTANT, USER, ASSISTANT]}, {"last_turn": "gold"},
         [SYSTEM, USER, ASSISTANT, USER], "4"),
    ],
)  # fmt: skip
def test_the_last_turn_by_option(load, row, options, prompt, gold):
    [found] = load(row, **options).train
    assert (found.content, found.answer) == (prompt, gold)


@pytest.mark.parametrize(
    ("row", "options", "words"),
    [
        (
            {"messages": [USER, ASSISTANT], "answer": "4"},
            {},
            "line 1: the prompt ends with a turn of 'assistant'.*gold",
        ),
        ({"messages": [USER, ASSISTANT]}, {}, r"found: messages; .*task_options\.last_turn=gold"),
        ({"messages": [USER]}, {"last_turn": "gold"}, "line 1: the conversation does not end in a turn of 'assistant'"),
        ({"messages": [ASSISTANT]}, {"last_turn": "gold"}, "line 1: the prompt is an empty list"),
        ({"messages": [{**USER, "content": " "}], "answer": 4}, {}, "line 1: the prompt is empty"),
        ({"prompt": {"role": ["user"], "content": []}, "answer": 4}, {}, "1 roles for 0 contents"),
        ({"prompt": ["2 + 2"], "answer": 4}, {}, "message 1 is not an object"),
        ({"prompt": [USER, {"role": "tool", "content": "x"}], "answer": 4}, {}, "ends with a turn of 'tool'"),
        ({"prompt": [{"role": "user", "content": [{"type": "image"}]}], "answer": 4}, {}, "content of type list"),
        ({"prompt": {"text": "2 + 2"}, "answer": 4}, {}, "the prompt is of type dict"),
        ({"prompt": "p", "tests": ["assert f(1) == 2"]}, {}, "use --reward code"),
    ],
)
def test_what_cannot_be_used_says_how_it_could(load, row, options, words):
    with pytest.raises(DataError, match=words):
        load(row, **options)


def test_options_that_contradict_each_other(load):
    with pytest.raises(ConfigError, match="both say where the gold is"):
        load({"messages": [USER]}, last_turn="gold", answer_column="answer")
    with pytest.raises(ConfigError, match="unknown value of last_turn 'golds', did you mean 'gold'"):
        load({"messages": [USER]}, last_turn="golds")


class Tests:
    """Stands in for the code reward: it judges by a column of tests."""

    name, needs_gold, tests_column = "code", False, "tests"

    def unreadable(self, answer):
        return ""

    def check_columns(self, columns, has_answers):
        if self.tests_column not in columns:
            raise ConfigError("needs the column 'tests'")

    def unreadable_fields(self, fields):
        return "" if fields.get("tests") else "tests: there are none"

    def score(self, items: list[Item]):
        return [Verdict(1.0) for _ in items]


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        ({"prompt": "Add.", "tests": ["assert f(1) == 2"]}, "Add."),
        ({"task_id": 11, "text": "Add.", "code": "def f", "test_list": ["assert f(1) == 2"]}, "Add."),
        ({"question": "Add.", "tests": '{"cases": []}', "solution": "print()"}, "Add."),
    ],
)
def test_programs_with_tests(write, row, prompt):
    column = "tests" if "tests" in row else "test_list"
    path = write(row, {**row, column: []})
    part = read_part(Split("a.jsonl", path, (path,)), "train", FileOptions(), Tests(), None)
    check_golds(part, Tests())
    [found] = part.prompts
    assert found.content == prompt and found.fields["tests"]
    assert [(problem.number, problem.text) for problem in part.problems] == [(2, "tests: there are none")]


def test_a_reward_that_needs_a_column_says_so(write):
    path = write({"prompt": "Add."})
    part = read_part(Split("a.jsonl", path, (path,)), "train", FileOptions(), Tests(), None)
    assert isinstance(part.failure, ConfigError) and part.prompts == []


def test_one_gold_among_numbers_that_is_none_is_a_mistake(load):
    rows = [{"prompt": f"p{number}", "answer": number} for number in range(20)]
    with pytest.raises(DataError, match="line 21: the gold 'see figure' is not a number"):
        load(*rows, {"prompt": "q", "answer": "see figure"})
    some = load(*rows[:3], {"prompt": "q", "answer": r"\frac{1}{2}"})
    assert any("some golds are not numbers; --reward math" in note for note in some.notes)


def test_rows_that_occur_again_are_counted_and_long_golds_are_cut(load):
    again = {"prompt": "p", "answer": "Paris"}
    loaded = load(again, again, {"prompt": "q", "answer": "x" * 500}, {"prompt": "q", "answer": "y"}, again)
    assert len(loaded.train) + len(loaded.test) == 5
    notes = "\n".join(loaded.notes)
    assert "rows that repeat the prompt and gold of an earlier one: 2 (the first is a.jsonl line 2)" in notes
    assert "line 4: gold 'y', but 'xxx" in notes and "... (500 characters) for the same prompt" in notes


def test_an_unknown_format_is_named_for_folders_too(tmp_path):
    with pytest.raises(ConfigError, match="unknown data format 'jsnl', did you mean 'jsonl'"):
        task.load(str(tmp_path), options={"format": "jsnl"})
