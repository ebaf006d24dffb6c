import json
import subprocess
import sys

import pytest

from winnow import reward
from winnow.cli.check_data import lengths
from winnow.cli.check_golds import BARE, form_of, golds
from winnow.cli.check_problems import Problems
from winnow.reward.exact import Exact
from winnow.rollout import Prompt, Verdict


@pytest.fixture
def check(winnow, tmp_path, monkeypatch):
    """Write a file, check it; return what a user gets. Lines that are no text are written as JSON."""
    monkeypatch.setenv("COLUMNS", "300")

    def call(lines, *arguments, name="train.jsonl", prompts=1):
        path = tmp_path / name
        if isinstance(lines, bytes):
            path.write_bytes(lines)
        else:
            path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        told = winnow("check", path, "--prompts-per-step", prompts, *arguments)
        assert "Traceback" not in told.out + told.err
        return told

    return call


def rows(count):
    return [{"prompt": f"{i} + 1 =", "answer": i + 1} for i in range(count)]


def flat(text):
    """The words of a table."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture(scope="session")
def base_model(tmp_path_factory):
    """A tiny model folder whose tokenizer has no chat template and one token per character."""
    torch = pytest.importorskip("torch")
    from transformers import LlamaConfig, LlamaForCausalLM

    from tests.train.conftest import make_tokenizer

    folder = tmp_path_factory.mktemp("model")
    shape = LlamaConfig(vocab_size=7, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
                        num_key_value_heads=1, max_position_embeddings=4096, bos_token_id=None, eos_token_id=0,
                        pad_token_id=0)  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(shape).save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return folder


class TestBadInputs:
    def test_b1_columns_that_are_not_recognised(self, check):
        told = check([{"question": "Add 4 and 5.", "solution": "9"}], "--json")
        [problem] = json.loads(told.out)["problems"]
        what = problem["rows"][0]["what"]
        assert told.code == 2 and problem["kind"] == "columns"
        for words in (
            "'prompt'",
            "'answer'",
            "question, solution",
            "--prompt-column question --answer-column solution",
        ):
            assert words in what
        assert "columns not settled" in told.err
        mapped = check(
            [{"question": "Add 4 and 5.", "solution": "9"}],
            "--prompt-column",
            "question",
            "--answer-column",
            "solution",
        )
        assert mapped.code == 0, mapped.err

    def test_b2_a_broken_line(self, check):
        told = check([*rows(2), '{"prompt":"p","answer":"2"'], "--json")
        [problem] = json.loads(told.out)["problems"]
        assert told.code == 2
        assert problem["rows"][0]["where"] == "train.jsonl line 3" and "broken JSON" in problem["rows"][0]["what"]
        assert "1 + 1" not in problem["rows"][0]["what"]

    def test_b3_byte_order_mark_crlf_and_blank_lines(self, check):
        first, second = (json.dumps(row).encode() for row in rows(2))
        told = check(b"\xef\xbb\xbf" + first + b"\r\n\r\n  \r\n" + second + b"\r\n", "--json")
        found = json.loads(told.out)
        assert told.code == 0 and found["rows"] == 2 and found["train"] + found["test"] == 2 and not found["problems"]

    def test_b4_golds_of_every_type(self, check):
        lines = [{"prompt": f"p{i}", "answer": gold} for i, gold in enumerate([7, "7/2", 2.50, True, None])]
        told = check(lines, "--json")
        found = json.loads(told.out)
        [problem] = found["problems"]
        assert told.code == 2 and problem["count"] == 2 and problem["advice"].endswith("--drop-bad-rows")
        assert [(row["line"], row["column"]) for row in problem["rows"]] == [(4, "answer"), (5, "answer")]
        assert found["gold_kinds"] == {"integers": 1, "decimals": 1, "fractions": 1}
        dropped = json.loads(check(lines, "--json", "--drop-bad-rows").out)
        assert dropped["ok"] and dropped["train"] + dropped["test"] == 3
        assert [(p["count"], p["stops"]) for p in dropped["problems"]] == [(2, False)]
        text = check(lines, "--drop-bad-rows")
        assert text.code == 0 and "2 rows" in text.out and "left out" in text.out

    def test_b5_latex_golds_without_dollar_signs(self, check):
        pytest.importorskip("math_verify")
        lines = [{"prompt": "p", "answer": r"2\sqrt{3}"}, {"prompt": "q", "answer": "(2,3)"}]
        told = check(lines, "--reward", "math", "--json")
        found = json.loads(told.out)
        assert told.code == 0 and found["golds"] == {"checked": 2, "accepted": 2, "refused": []}

    @pytest.mark.parametrize("judge", [[], ["--reward", "math"]])
    def test_b6_a_gold_that_cannot_be_checked(self, check, judge):
        if judge:
            pytest.importorskip("math_verify")
        lines = [*rows(20), {"prompt": "p", "answer": "see figure"}]
        told = check(lines, *judge, "--json")
        problem = json.loads(told.out)["problems"][0]
        assert told.code == 2 and problem["kind"] == "unreadable"
        assert problem["rows"][0]["line"] == 21 and "see figure" in problem["rows"][0]["what"]
        dropped = json.loads(check(lines, *judge, "--json", "--drop-bad-rows").out)
        assert dropped["ok"] and dropped["train"] + dropped["test"] == 20

    def test_b7_nothing_to_train_on(self, check):
        told = check(b"", "--json")
        assert told.code == 2 and "holds no rows" in told.out
        told = check(rows(3), prompts=8)
        assert told.code == 2 and "no step would run" in flat(told.out) and "too few rows" in told.err

    def test_b8_one_prompt_with_two_golds(self, check):
        told = check([{"prompt": "p", "answer": 4}, *rows(1), {"prompt": "p", "answer": 5}], "--json")
        found = json.loads(told.out)
        [problem] = found["problems"]
        assert told.code == 0 and (problem["kind"], problem["stops"]) == ("conflict", False)
        [row] = problem["rows"]
        assert row["line"] == 3 and row["what"].endswith("'4' for the same prompt in train.jsonl line 1")
        assert found["train"] + found["test"] == 3

    def test_b9_json_that_is_called_parquet(self, check):
        told = check(rows(2), "--json", name="a.parquet")
        [problem] = json.loads(told.out)["problems"]
        assert told.code == 2
        for words in ("not a Parquet file", "first bytes b'{\"pr'", "--format jsonl"):
            assert words in problem["rows"][0]["what"]

    def test_b10_a_prompt_of_1800_tokens(self, check, base_model):
        lines = [{"prompt": "1+1=", "answer": 2}, {"prompt": "1" * 1800, "answer": 2}, {"prompt": "2+1=", "answer": 3}]
        told = check(
            lines, "--model", base_model, "--no-step", "--json", "--set", "max_prompt_tokens=1024", "--set",
            "task_options.test_fraction=0.0",
        )  # fmt: skip
        found = json.loads(told.out)
        assert told.code == 0, told.err
        assert found["train"] == 2 and found["prompt_tokens"]["max"] == 4
        [note] = [note for note in found["notes"] if "longer than 1024 tokens" in note]
        assert "1 training prompts" in note and "train:2" in note

    def test_b11_a_prompt_that_ends_with_an_assistant_turn(self, check):
        turns = [{"role": "user", "content": "2 + 2"}, {"role": "assistant", "content": "4"}]
        told = check([{"prompt": turns, "answer": "4"}])
        assert told.code == 2
        for words in ("ends with a turn of 'assistant'", "task_options.last_turn=gold", "=drop"):
            assert words in flat(told.out)
        for lines, mode in (([{"messages": turns}], "gold"), ([{"prompt": turns, "answer": "4"}], "drop")):
            found = json.loads(check(lines, "--set", f"task_options.last_turn={mode}", "--json").out)
            assert found["ok"] and found["prompt"] == {"id": "train:1", "text": "user: 2 + 2", "gold": "4"}

    def test_b12_message_prompts_without_a_chat_template(self, check, base_model):
        lines = [{"prompt": [{"role": "user", "content": f"{i}+1="}], "answer": i + 1} for i in range(3)]
        told = check(lines, "--model", base_model, "--no-step")
        assert told.code == 2
        for words in ("Three ways out", "instruction-tuned model", "--set chat_template=", "prompts plain text"):
            assert words in flat(told.out)
        plain = check([{"prompt": "1+1=", "answer": 2}] * 3, "--model", base_model, "--no-step", "--json")
        assert plain.code == 0 and json.loads(plain.out)["prompt"]["text"] == "1+1="
        template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
        given = check(lines, "--model", base_model, "--no-step", "--json", "--set", f"chat_template={template}")
        assert given.code == 0 and json.loads(given.out)["prompt"]["tokens"] == 4


@pytest.mark.parametrize(
    ("name", "lines", "words"),
    [
        ("b1.jsonl", [{"question": "q", "solution": "9"}], "--prompt-column question --answer-column solution"),
        ("b2.jsonl", [*rows(2), "{"], "b2.jsonl line 3: broken JSON"),
        ("b4.jsonl", [*rows(2), {"prompt": "p", "answer": True}], "line 3: the answer is the boolean true"),
        ("b6.jsonl", [*rows(20), {"prompt": "p", "answer": "see figure"}], "line 21: the gold 'see figure'"),
        ("b7.jsonl", [], "holds no rows"),
        ("b7.jsonl", rows(3), "no step would run"),
        ("b9.parquet", rows(2), "not a Parquet file"),
        ("b11.jsonl", [{"prompt": [{"role": "assistant", "content": "4"}], "answer": 4}], "last_turn=gold"),
    ],
)
def test_training_refuses_the_same_data(winnow, tmp_path, name, lines, words):
    pytest.importorskip("torch")
    (tmp_path / name).write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    told = winnow("train", "--task", tmp_path / name, "--prompts-per-step", 8, "--out", tmp_path / "run", "--quiet")
    assert told.code == 2 and words in told.err and "Traceback" not in told.err
    assert not list((tmp_path / "run").glob("*.jsonl"))


def test_text_of_the_data_gives_the_terminal_no_commands(check):
    told = check([{"prompt": "\x1b[31m[bold]red", "answer": 1}])
    assert told.code == 0 and "\x1b" not in told.out and "␛[31m[bold]red" in told.out


def test_everything_is_shown_at_once_and_grouped(check):
    bad = [{"prompt": f"bad {i}", "answer": None} for i in range(5)]
    told = check([*rows(3), *bad, {"prompt": [], "answer": 1}, "{", *rows(1)])
    assert told.code == 2
    for words in (
        "5 rows", "gold is no answer", "train.jsonl line 4", "and 2 more", "prompt cannot be used", "line 9",
        "row cannot be read", "line 10", "row occurs again", "line 11", "fingerprint",
    ):  # fmt: skip
        assert (words in flat(told.out)) == (words != "fingerprint"), words
    assert "train.jsonl line 7" not in told.out
    assert "gold is no answer (5), prompt cannot be used (1), row cannot be read (1)" in told.err


def test_a_sound_file_shows_what_was_read(check):
    told = check([*rows(20), {"prompt": "x" * 300, "answer": 2.5}])
    assert told.code == 0 and told.err == ""
    for words in (
        "21 rows with the columns prompt, answer", "prompt from prompt, gold from answer", "integers 20, decimals 1",
        "exact accepts 21 of 21 golds", "characters: 21 on average, median 8, 300 at most", "up to 32 20",
        "up to 512 1", "fingerprint", "exact match on the last number", "before any chat template",
        "Not checked: chat template", "Nothing found that would stop a run.",
    ):  # fmt: skip
        assert words in flat(told.out), words


def test_what_the_system_offers_for_code_is_shown(check):
    from winnow.reward.code import isolation

    assert json.loads(check(rows(2), "--json").out)["code_isolation"] == isolation().describe()


def test_settings_and_data_are_told_together(check):
    told = check([{"prompt": "p", "answer": None}], "--recipe", "pods", "--n", 8, "--m", 16, "--json")
    assert told.code == 2
    assert [problem["kind"] for problem in json.loads(told.out)["problems"]] == ["empty", "gold", "settings"]


def test_a_narrow_terminal_loses_nothing(winnow, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"prompt": "p", "answer": None}))
    told = winnow("check", path, "--prompts", 1)
    assert max(map(len, told.out.splitlines())) <= 80 and "…" not in told.out
    for words in ("the answer is null", "--drop-bad-rows"):
        assert words in flat(told.out)


def test_the_path_may_stand_alone_or_behind_task(winnow, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows(2))))
    assert winnow("check", "--task", path, "--prompts", 1).code == 0
    told = winnow("check", path, "--task", "mix")
    assert told.code == 2 and "two tasks" in told.err
    told = winnow("check", tmp_path / "b.jsonl")
    assert told.code == 2 and "did you mean 'a.jsonl'" in told.err
    told = winnow("check", "")
    assert told.code == 2 and "unknown task ''" in told.err


def test_a_folder_is_checked_split_by_split(winnow, tmp_path):
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows(4))))
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, [*rows(1), {"prompt": "p", "answer": None}])))
    told = winnow("check", tmp_path, "--prompts", 1, "--json")
    problems = {p["kind"]: p["rows"][0]["where"] for p in json.loads(told.out)["problems"]}
    assert told.code == 2 and problems == {"gold": "test.jsonl line 2", "overlap": "train.jsonl line 1"}


def test_data_alone_needs_no_torch(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows(2))))
    script = (
        "import sys; from winnow.cli import run; code = run(['check', sys.argv[1], '--prompts', '1']); "
        "print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("exact", {}),
        ("exact", {"extract": "boxed"}),
        ("exact", {"extract": "marker"}),
        ("math", {}),
        ("math", {"extract": "lenient"}),
        ("math+exact", {}),
    ],
)
def test_golds_are_written_where_the_reward_looks(spec, options):
    if "math" in spec:
        pytest.importorskip("math_verify")
    judge = reward.load(spec, **options)
    if spec == "math+exact":
        judge.rewards[1] = Exact(extract="boxed")
    prompts = [Prompt(f"train:{i}", "?", answer) for i, answer in enumerate(["12", "-3.5", "1/2"])]
    assert golds(judge, prompts, Problems(), form_of(judge)) == {"checked": 3, "accepted": 3, "refused": []}


def test_golds_that_the_reward_refuses_are_named():
    class Never:
        name = "never"

        def score(self, items):
            return [Verdict(0.0, reason="no") for _ in items]

    found = golds(Never(), [Prompt("train:1", "?", "7"), Prompt("train:2", "?")], Problems(), BARE)
    assert found == {
        "checked": 1,
        "accepted": 0,
        "refused": [{"id": "train:1", "gold": "7", "outcome": 0.0, "reason": "no"}],
    }


@pytest.mark.slow
def test_a_reward_that_hangs_does_not_hang_the_check(check, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ndef score(completion):\n    time.sleep(3600)\n")
    told = check(rows(20), "--reward", f"{tmp_path}/slow.py:score", "--set", "reward_timeout=0.3", "--json")
    found = json.loads(told.out)
    assert told.code == 2 and found["golds"]["checked"] == 8
    [problem] = found["problems"]
    assert (
        problem["kind"] == "reward" and "could score none of 8 golds as answers: timeout" in problem["rows"][0]["what"]
    )


def test_a_reward_that_raises_is_a_problem(winnow, tmp_path):
    (tmp_path / "broken.py").write_text("def score(completion):\n    raise KeyError('level')\n")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows(3))))
    told = winnow("check", tmp_path / "a.jsonl", "--prompts", 1, "--reward", f"{tmp_path}/broken.py:score", "--set",
                  "reward_workers=0", "--json")  # fmt: skip
    [problem] = json.loads(told.out)["problems"]
    [row] = problem["rows"]
    assert told.code == 2 and problem["kind"] == "raises" and row["what"].endswith("KeyError: 'level'")
    assert "Traceback" not in row["what"] and "raise KeyError('level')" in row["trace"]


def test_the_traceback_of_a_reward_stands_below_the_table(winnow, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "broken.py").write_text("def score(completion):\n    raise KeyError('level')\n")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows(20))))
    told = winnow("check", tmp_path / "a.jsonl", "--prompts", 1, "--reward", f"{tmp_path}/broken.py:score", "--set",
                  "reward_workers=0")  # fmt: skip
    table, _, below = told.out.partition("Traceback (most recent call last):\n")
    assert "stops the run: reward raises" in flat(table)
    assert f'  File "{tmp_path}/broken.py", line 2, in score\n' in below
    assert "score raised when it judged golds as answers" in flat(below) and "no golds" not in told.out


@pytest.mark.skipif(sys.platform != "linux", reason="isolation is that of Linux")
class TestCode:
    """Data whose programs are judged by tests has tests, and no golds."""

    def test_rows_without_tests(self, check):
        lines = [{"prompt": f"write f{i}", "tests": [f"assert f({i}) == 1"]} for i in range(3)]
        told = check([*lines, {"prompt": "p", "tests": None}, {"prompt": "q", "tests": 5}], "--reward", "code")
        out = flat(told.out)
        assert told.code == 2 and "tests cannot be used (2)" in told.err
        for words in (
            "correct the tests",
            "there are no tests in column 'tests'",
            "prompt from prompt, tests from tests",
        ):
            assert words in out
        assert "gold" not in out and "no column" not in out

    def test_isolation_is_told_where_programs_run(self, check):
        line = {"prompt": "write f", "answer": "def f(x): return 1", "tests": ["assert f(1) == 1"]}
        assert "namespace" in check([line], "--reward", "code+exact").out
        assert "namespace" not in check([line]).out


STRICT = "no prompt says where the answer goes"


@pytest.mark.parametrize(
    ("judge", "arguments", "warned"),
    [
        ("math", [], True),
        ("math+think", [], True),
        ("exact", [], False),
        ("math", ["--set", r"task_options.template={prompt} Put the final answer in \boxed{}."], False),
        ("math", ["--set", 'task_options.reward_options={extract="lenient"}'], False),
        ("math", ["--set", "task_options.system=End with Final Answer: and the number."], False),
    ],
)
def test_strict_extraction_wants_prompts_that_ask_for_marks(check, judge, arguments, warned):
    pytest.importorskip("math_verify")
    told = check(rows(3), "--reward", judge, *arguments, "--set", "reward_workers=0")
    assert told.code == 0, told.err
    assert (f"warning: {STRICT}" in flat(told.out)) == warned
    # What the warning advises is what the cases above set.
    assert not warned or r"--set 'task_options.template={prompt} Put the final answer in \boxed{}.'" in flat(told.out)
    assert not warned or """--set 'task_options.reward_options={extract="lenient"}'""" in flat(told.out)


def test_what_stops_a_run_comes_before_warnings(check):
    told = check([*rows(2), *rows(1), {"prompt": "p", "answer": None}])
    out = flat(told.out)
    assert out.index("stops the run: gold is no answer") < out.index("warning: row occurs again")


def test_lengths_are_counted_in_ranges_that_double():
    found = lengths([100, 10, 64, 65, 32])
    assert (found["mean"], found["median"], found["max"]) == (54.2, 64, 100)
    assert found["ranges"] == [
        {"at_most": 32, "count": 2},
        {"at_most": 64, "count": 1},
        {"at_most": 128, "count": 2},
    ]
    assert lengths([300])["ranges"] == [{"at_most": 512, "count": 1}]
