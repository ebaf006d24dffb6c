"""The DATA cases: what people met with other trainers on their first own data set."""

import json
from pathlib import Path

import pytest

from winnow import task
from winnow.errors import DataError
from winnow.reward import Exact, Item
from winnow.rollout import Prompt
from winnow.train.config import TrainConfig
from winnow.train.encoding import encode

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "cases" / "cases.json").read_text())
    if case["id"].startswith("DATA-")
}


@pytest.fixture
def load(tmp_path):
    def build(*lines, **options):
        path = tmp_path / "data.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return task.load(str(path), options={"test_fraction": 0.0, **options})

    return build


def test_every_case_is_here():
    assert sorted(CASES) == ["DATA-01", "DATA-02", "DATA-03", "DATA-04", "DATA-06", "DATA-07"]


def test_data_01_instruction_rows_keep_their_gold(load):
    case = CASES["DATA-01"]
    [prompt] = load(case["input"]["row"]).train
    assert {"prompt": prompt.content, "answer": prompt.answer} == case["expected"]["accepted_as"]


def test_data_01_what_is_not_recognised_names_what_was_found(load):
    with pytest.raises(DataError) as caught:
        load({"task": "Add 4 and 5.", "input": "", "output": "9"})
    for words in ("'prompt'", "'answer'", "found: task, input, output"):
        assert words in str(caught.value)


def test_data_02_raw_gsm8k_rows_load(load):
    case = CASES["DATA-02"]
    [prompt] = load(case["input"]["row"], prompt_column=case["input"]["prompt_key"]).train
    assert prompt.answer == case["expected"]["gold"]


def test_data_03_an_empty_routing_field_decides_nothing(load):
    row = CASES["DATA-03"]["input"]["row"]
    loaded = load(row)
    assert loaded.reward == Exact("last_number") and loaded.train[0].fields == row
    assert load(row, reward="exact").reward == Exact("whole")


def test_data_04_golds_are_text(load):
    case = CASES["DATA-04"]
    assert [prompt.answer for prompt in load(*case["input"]["lines"]).train] == case["expected"]["answers"]


def test_data_06_what_follows_the_answer_does_not_hide_it(load):
    case = CASES["DATA-06"]
    gold, completion = case["input"]["gold"], case["input"]["completion_tail"]
    loaded = load({"prompt": "p", "answer": gold}, reward="exact", reward_options={"extract": "marker"})
    [verdict] = loaded.reward.score([Item(loaded.train[0], completion)])
    assert verdict.score == case["expected"]["reward"]


def test_data_07_an_over_long_prompt_is_dropped_by_name_and_never_cut():
    case = CASES["DATA-07"]
    limit, tokens = case["input"]["max_prompt_tokens"], case["input"]["prompt_tokens"]

    class Tokenizer:
        eos_token, eos_token_id = "</s>", 0

        def __call__(self, text, return_attention_mask):
            return {"input_ids": [1] * len(text)}

    prompts = [Prompt("train:1", "x" * 10), Prompt("train:2", "x" * tokens), Prompt("train:3", "x" * limit)]
    kept, dropped = encode(prompts, Tokenizer(), limit, TrainConfig())
    assert dropped == ["train:2"]
    assert [(p.id, len(ids)) for p, ids in zip(kept.prompts, kept.encoded, strict=True)] == [
        ("train:1", 10),
        ("train:3", limit),
    ]
