import json
import os
from pathlib import Path

import pytest

from winnow import task
from winnow.errors import ConfigError, DataError
from winnow.reward import Exact, Item

CASES = {c["id"]: c for c in json.loads((Path(__file__).parents[1] / "cases" / "cases.json").read_text())}


@pytest.fixture
def case(request):
    return CASES[request.param]


@pytest.fixture
def write(tmp_path):
    def build(name, *lines, prefix=b"", newline="\n"):
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path = tmp_path / name
        path.write_bytes(prefix + newline.join(texts).encode())
        return path

    return build


def rows(count, **more):
    return [{"prompt": f"{i} + 1 =", "answer": i + 1, **more} for i in range(count)]


def load(path, **options):
    return task.load(str(path), options=options)


def everything(loaded):
    return sorted([*loaded.train, *loaded.test], key=lambda p: int(p.id.split(":")[1]))


def test_a_plain_file(write):
    loaded = load(write("train.jsonl", *rows(20, level=3)))
    prompts = everything(loaded)
    assert [p.content for p in prompts] == [f"{i} + 1 =" for i in range(20)]
    assert [p.answer for p in prompts] == [str(i + 1) for i in range(20)]
    assert prompts[0].fields == {"prompt": "0 + 1 =", "answer": 1, "level": 3}
    assert (len(loaded.train), len(loaded.test)) == (18, 2)
    assert {p.id.split(":")[0] for p in loaded.train} == {"train"}
    assert {p.id.split(":")[0] for p in loaded.test} == {"test"}
    assert loaded.reward == Exact("last_number")
    assert any("all golds are numbers" in note for note in loaded.notes)


def test_default_reward_scores_whole_text_when_golds_are_words(write):
    loaded = load(write("a.jsonl", {"prompt": "p", "answer": "Paris"}, {"prompt": "q", "answer": 3}))
    assert loaded.reward == Exact("whole")
    [verdict] = loaded.reward.score([Item(everything(loaded)[0], " paris\n")])
    assert verdict.score == 1.0


@pytest.mark.parametrize("case", ["DATA-01", "DATA-02", "DATA-03"], indirect=True)
def test_rows_as_people_have_them(case, write):
    row = case["input"]["row"]
    options = {"prompt_column": case["input"]["prompt_key"]} if "prompt_key" in case["input"] else {}
    [prompt] = load(write("a.jsonl", row), **options).train
    assert prompt.content == "Add 4 and 5."
    assert prompt.answer == case["expected"].get("gold", "9")


@pytest.mark.parametrize("case", ["DATA-04"], indirect=True)
def test_golds_are_text(case, write):
    loaded = load(write("a.jsonl", *case["input"]["lines"]), test_fraction=0.0)
    assert [p.answer for p in loaded.train] == case["expected"]["answers"]
    assert loaded.test == []


def test_raw_gsm8k_and_svamp(data):
    gsm8k = load(data / "gsm8k" / "train.jsonl", test_path=str(data / "gsm8k" / "test.jsonl"), test_limit=100)
    assert len(gsm8k.train) == 7473 and len(gsm8k.test) == 100
    assert gsm8k.train[0].answer == "72" and gsm8k.train[0].content.startswith("Natalia")
    svamp = load(data / "svamp" / "SVAMP.json", test_fraction=0.3)
    assert len(svamp.train) == 700 and len(svamp.test) == 300
    first = next(p for p in everything(svamp) if p.id.endswith(":1"))
    assert first.answer == "51" and first.content.endswith("each pack\nHow much do you have to pay to buy each pack?")


@pytest.fixture
def data():
    folder = Path(os.environ.get("WINNOW_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("needs GSM8K and SVAMP in ../shared/data or in the folder WINNOW_DATA names")
    return folder


def test_unknown_pair_of_columns_shows_the_flags(write):
    path = write("train.jsonl", {"question": "Add 4 and 5.", "solution": "9"})
    with pytest.raises(DataError) as caught:
        load(path)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    for part in ("'prompt'", "'answer'", "found: question, solution"):
        assert part in message
    assert "--prompt-column question --answer-column solution" in message
    [prompt] = load(path, prompt_column="question", answer_column="solution").train
    assert (prompt.content, prompt.answer) == ("Add 4 and 5.", "9")


@pytest.mark.parametrize(
    ("row", "options", "prompt", "answer"),
    [
        ({"instruction": "Add.", "input": "4, 5", "output": "9"}, {}, "Add.\n4, 5", "9"),
        ({"Body": "One.", "Question": "Two?", "Answer": 145.0}, {}, "One.\nTwo?", "145"),
        ({"problem": "P", "answer": "9", "solution": "long"}, {}, "P", "9"),
        ({"prompt": "P", "solution": "9"}, {}, "P", "9"),
        ({"prompt": "P", "reward_model": {"ground_truth": "9", "style": "rule"}}, {}, "P", "9"),
        ({"q": "P", "meta": {"gold": 9}}, {"prompt_column": "q", "answer_column": "meta.gold"}, "P", "9"),
        ({"a": "One", "b": "Two", "gold": 9}, {"prompt_column": "a, b"}, "One\nTwo", "9"),
        ({"question": "P", "solution": "9"}, {"answer_column": "solution"}, "P", "9"),
    ],
)
def test_layouts(write, row, options, prompt, answer):
    [loaded] = load(write("a.jsonl", row), **options).train
    assert (loaded.content, loaded.answer) == (prompt, answer)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"prompt": "a", "question": "b", "answer": 1}, {}, "say which is which"),
        ({"story": "a", "y": 1}, {}, "--prompt-column NAME --answer-column NAME"),
        ({"text": "a", "y": 1}, {}, "--prompt-column text --answer-column NAME"),
        ({"prompt": "a", "answer": 1}, {"prompt_column": "promt"}, "'promt' is not in the file, did you mean 'prompt'"),
        ({"prompt": "a", "answer": 1}, {"answer_column": "gold"}, r"'gold' is not in the file \(found: prompt, answer"),
    ],
)
def test_columns_that_cannot_be_settled(write, row, options, message):
    with pytest.raises(DataError, match=message):
        load(write("a.jsonl", row), **options)


def test_bad_golds_are_reported_by_line_or_dropped(write):
    golds = [7, "7/2", 2.50, True, None, float("nan"), "", [1], "#### "]
    path = write("train.jsonl", *[{"prompt": f"p{i}", "answer": gold} for i, gold in enumerate(golds)])
    with pytest.raises(DataError) as caught:
        load(path)
    message = str(caught.value)
    assert "6 of 9 rows cannot be used" in message and "--drop-bad-rows" in message
    assert "train.jsonl line 4: the answer is the boolean true" in message
    assert "train.jsonl line 5: the answer is null" in message
    assert "line 6: the answer is the number nan" in message
    loaded = load(path, drop_bad_rows=True)
    assert [p.answer for p in everything(loaded)] == ["7", "7/2", "2.5"]
    assert any("dropped 6 of 9 rows" in note for note in loaded.notes)


def test_long_lists_of_problems_are_cut(write):
    path = write("a.jsonl", *[{"prompt": "p", "answer": None}] * 30)
    with pytest.raises(DataError, match="and 20 more") as caught:
        load(path)
    assert "line 10" in str(caught.value) and "line 11" not in str(caught.value)


def test_no_row_left_is_an_error_even_when_dropping(write):
    with pytest.raises(DataError, match="none of 1 rows can be used"):
        load(write("a.jsonl", {"prompt": "p", "answer": None}), drop_bad_rows=True)


def test_unreadable_math_golds_are_refused_or_dropped(write):
    pytest.importorskip("math_verify")
    path = write("a.jsonl", {"prompt": "p", "answer": r"2\sqrt{3}"}, {"prompt": "q", "answer": "see figure"})
    with pytest.raises(DataError, match=r"line 2: the gold 'see figure' reads as"):
        load(path, reward="math")
    assert [p.answer for p in load(path, reward="math", drop_bad_rows=True).train] == [r"2\sqrt{3}"]


def test_same_prompt_with_two_golds_stays_two_prompts(write):
    loaded = load(write("a.jsonl", {"prompt": "p", "answer": 4}, "", {"prompt": "p", "answer": 5}))
    assert [(p.id, p.answer) for p in loaded.train] == [("train:1", "4"), ("train:3", "5")]
    [note] = [note for note in loaded.notes if "different golds" in note]
    assert "a.jsonl line 3: gold '5', but '4' for the same prompt in a.jsonl line 1" in note


CHAT = [{"role": "user", "content": "2 + 2"}]


def test_message_prompts(write):
    options = {"system": "Be brief.", "template": "{prompt} Answer with just the number."}
    path = write("a.jsonl", {"prompt": CHAT, "answer": 4}, {"prompt": "3 + 3", "answer": 6})
    first, second = load(path, test_fraction=0.0, **options).train
    for prompt, question in ((first, "2 + 2"), (second, "3 + 3")):
        assert prompt.content == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"{question} Answer with just the number."},
        ]
    [plain] = load(write("b.jsonl", {"prompt": r"\frac{1}{2}", "answer": 1}), template="Q: {prompt}\nA:").train
    assert plain.content == "Q: \\frac{1}{2}\nA:"


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([*CHAT, {"role": "assistant", "content": "4"}], "ends with a turn of 'assistant'"),
        ([{"role": "robot", "content": "4"}], "message 1 has the role 'robot' .allowed: system, user"),
        ([{"role": "user"}], "not an object with 'role' and 'content'"),
        ([{"role": "user", "content": ["4"]}], "content of type list"),
        ([*CHAT, {"role": "system", "content": "x"}], "message 2 is a system message"),
        ([], "empty list"),
        ("", "prompt is empty"),
        (7, "prompt is of type int"),
    ],
)
def test_prompts_that_cannot_be_used(write, messages, message):
    with pytest.raises(DataError, match=f"a.jsonl line 1: .*{message}"):
        load(write("a.jsonl", {"prompt": messages, "answer": 4}))


def test_held_out_prompts_depend_on_content_alone(write):
    content = rows(40) + rows(10)
    one = load(write("a.jsonl", *content), test_fraction=0.25)
    two = load(write("b.jsonl", *content[::-1]), test_fraction=0.25)
    texts = {p.text for p in one.test}
    assert texts == {p.text for p in two.test} and len(texts) == 10
    assert not texts & {p.text for p in one.train}
    assert len(one.train) + len(one.test) == 50
    assert len(load(write("c.jsonl", *rows(40)), test_fraction=0.5, test_limit=3).test) == 3


def test_test_file_and_what_it_shares_with_training(write):
    path, test_path = write("a.jsonl", *rows(5)), write("t.jsonl", *rows(3))
    loaded = load(path, test_path=str(test_path))
    assert [p.id for p in loaded.test] == ["test:1", "test:2", "test:3"] and len(loaded.train) == 5
    assert any("3 prompts of a.jsonl are also in t.jsonl" in note for note in loaded.notes)


def test_limit_and_fingerprint(write):
    path = write("a.jsonl", *rows(20))
    short = load(path, limit=10)
    assert len(everything(short)) == 10 and "a.jsonl: the first 10 of 20 rows (limit)" in short.notes
    whole = load(path).fingerprint
    assert whole == load(path).fingerprint != load(path, limit=19).fingerprint
    assert whole != load(path, template="{prompt}?").fingerprint
    assert len(whole) == 64


def test_rewards_from_functions_need_no_answers(write, tmp_path):
    (tmp_path / "r.py").write_text(
        "def brief(completion, level):\n    return level - len(completion)\n"
        "def gold(completion, answer):\n    return 1\n"
    )
    path = write("a.jsonl", {"prompt": "p", "level": 3})
    loaded = load(path, reward=f"{tmp_path}/r.py:brief")
    assert loaded.train[0].answer is None
    assert loaded.reward.score([Item(loaded.train[0], "ab")])[0].score == 1.0
    with pytest.raises(ConfigError, match=r"gold asks for 'answer'.*--answer-column"):
        load(path, reward=f"{tmp_path}/r.py:gold")
    with pytest.raises(ConfigError, match="brief asks for 'level'"):
        load(write("b.jsonl", {"prompt": "p", "answer": 3}), reward=f"{tmp_path}/r.py:brief")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt_colum": "x"}, "unknown option of a data file 'prompt_colum', did you mean 'prompt_column'"),
        ({"test_fraction": 1.0}, "test_fraction must be at least 0 and below 1"),
        ({"test_fraction": True}, "test_fraction must be of type float, got bool True"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"limit": "7"}, "limit must be of type int, got str '7'"),
        ({"template": "no slot"}, "has no {prompt}"),
        ({"reward": "exct"}, "did you mean 'exact'"),
        ({"reward_options": {"extract": "box"}}, "unknown value of extract 'box'"),
    ],
)
def test_bad_options(write, options, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(write("a.jsonl", *rows(3)), **options)
    assert caught.value.exit_code == 2


def test_reward_options_reach_the_reward(write):
    path = write("a.jsonl", *rows(3))
    assert load(path, reward="exact", reward_options={"extract": "boxed"}).reward == Exact("boxed")
    assert load(path, reward_options={"extract": "marker"}).reward == Exact("marker")


def test_words_that_are_no_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.jsonl").write_text("{}")
    for spec, message in {
        "mixx": "unknown task 'mixx', did you mean 'mix'.*reasoning-gym:NAME",
        "trian.jsonl": "no such file, did you mean 'train.jsonl'.*built-in tasks: mix",
        "a\0b": "unknown task",
        "~nobody-has-this-name/x.jsonl": "no such file",
    }.items():
        with pytest.raises(ConfigError, match=message):
            task.load(spec)


def test_half_a_surrogate_pair_is_a_bad_row(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = [
        '{"prompt": "a", "answer": "1"}',
        '{"prompt": "b \\ud83d", "answer": "2"}',
        '{"prompt": "c", "answer": "\\udc00"}',
    ]
    path.write_text("\n".join([*rows, '{"prompt": "d \\ud83d\\ude00", "answer": "4"}']))
    with pytest.raises(DataError, match=r"(?s)line 2: the prompt holds the lone surrogate '\\ud83d'.*line 3: the gold"):
        task.load(str(path))
    kept = task.load(str(path), options={"drop_bad_rows": True})
    assert len(kept.train) + len(kept.test) == 2


def test_what_is_no_file_is_called_so(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "lost.jsonl").symlink_to(tmp_path / "nothing")
    for name in ("pipe.jsonl", "lost.jsonl"):
        with pytest.raises(ConfigError, match="is a pipe, a device or a broken link"):
            load(str(tmp_path / name))


def test_a_message_names_the_first_of_many_columns(tmp_path):
    path = tmp_path / "wide.jsonl"
    path.write_text(json.dumps({f"c{i}": "x" for i in range(500)}))
    with pytest.raises(DataError, match=r"c19 and 480 more") as caught:
        load(str(path))
    assert len(str(caught.value)) < 1000
