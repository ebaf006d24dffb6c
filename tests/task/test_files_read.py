import json

import pytest

from winnow.errors import ConfigError, DataError
from winnow.task.golds import gold_text
from winnow.task.read import read

LINES = ['{"prompt": "a", "answer": 1}', '{"prompt": "b", "answer": 2}', '{"prompt": "c", "answer": 3}']


def test_byte_order_mark_carriage_returns_and_blank_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([LINES[0], "", LINES[1], "  ", LINES[2], ""]).encode())
    rows = read(path)
    assert [(row.number, row.values["prompt"]) for row in rows.rows] == [(1, "a"), (3, "b"), (5, "c")]
    assert rows.problems == []


def test_broken_line_is_named_without_the_content_of_others(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join([*LINES[:2], '{"prompt":"p","answer":"2"']))
    rows = read(path)
    assert rows.describe(rows.problems).strip().startswith("train.jsonl line 3: broken JSON")
    assert '"b"' not in rows.describe(rows.problems)
    assert len(rows.rows) == 2


def test_broken_line_stops_a_task_with_exit_code_two(tmp_path):
    from winnow import task

    path = tmp_path / "train.jsonl"
    path.write_text("\n".join([*LINES[:2], '{"prompt":"p","answer":"2"']))
    with pytest.raises(DataError, match=r"train\.jsonl line 3") as caught:
        task.load(str(path))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "expected an object with named columns, found a list"),
        (b'"x"', "found a string"),
        (b"7", "found a number"),
        (b"null", "found null"),
        (b'{"prompt": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "unreadable JSON"),
        (b'{"answer": ' + b"9" * 5000 + b"}", "unreadable JSON"),
    ],
)
def test_other_bad_lines(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES[0].encode() + b"\n" + line)
    [problem] = read(path).problems
    assert problem.number == 2 and message in problem.text


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet"])
@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf\r\n\n"])
def test_empty_files(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(b"" if name.endswith("parquet") else content)
    with pytest.raises(DataError, match="holds no rows"):
        read(path)


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"version": "1", "data": rows}])
def test_json_lists(tmp_path, wrap):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(wrap([json.loads(line) for line in LINES])))
    assert [(row.number, row.values["answer"]) for row in read(path).rows] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "\n".join(LINES), "line 2: broken JSON: Extra data; one object per line needs --format jsonl"),
        ("a.json", "{\n'x'", "a.json line 2: broken JSON"),
        ("a.json", '{"a": [], "b": []}', r"found an object with 2 lists \(a, b\)"),
        ("a.json", "7", "found int"),
        ("a.jsonl", "[\n" + LINES[0] + "]", "use --format json"),
        ("a.jsonl", "PAR1...", "use --format parquet"),
        ("a.json", "PAR1...", "use --format parquet"),
        ("a.parquet", LINES[0], r"not a Parquet file \(first bytes .*--format jsonl"),
        ("a.parquet", "[" + LINES[0] + "]", "--format json if"),
    ],
)
def test_wrong_formats(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert caught.value.exit_code == 2


def test_format_by_option(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n".join(LINES))
    assert len(read(path, "jsonl").rows) == 3
    with pytest.raises(ConfigError, match=r"suffix '\.txt' does not tell the format"):
        read(path)
    with pytest.raises(ConfigError, match="did you mean 'jsonl'"):
        read(path, "jsnl")
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none.jsonl")


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    records = [
        {"prompt": [{"role": "user", "content": "2 + 2"}], "reward_model": {"ground_truth": "4"}},
        {"prompt": [{"role": "user", "content": "3 + 3"}], "reward_model": {"ground_truth": "6"}},
    ]
    parquet.write_table(pyarrow.Table.from_pylist(records), path)
    rows = read(path)
    assert [row.values for row in rows.rows] == records
    assert rows.columns == ["prompt", "reward_model", "reward_model.ground_truth"]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="damaged Parquet file"):
        read(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (-0.0, "0"),
        (2.50, "2.5"),
        (145.0, "145"),
        (1e22, "10000000000000000000000"),
        (1e-7, "0.0000001"),
        (10**30, "1" + "0" * 30),
        (" 7/2 ", "7/2"),
        ("4+5=9\n#### 9", "9"),
        ("#### 1,200\nnote", "1,200"),
        ("2.50", "2.50"),
    ],
)
def test_golds_become_text(value, text):
    assert gold_text(value) == text
