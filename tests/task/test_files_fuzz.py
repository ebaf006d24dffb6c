"""Readers against damage: nothing but winnow's own errors comes out, quickly and in little memory."""

import io
import json
import resource
import time
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from winnow import task
from winnow.errors import WinnowError
from winnow.task.read import FORMATS, read

SECONDS, MEGABYTES = 60.0, 500
"""Far above what any of this takes; a hang or an allocation by a damaged length would exceed it."""
ROWS = [
    {"prompt": [{"role": "user", "content": f"{i} plus é"}], "answer": str(i), "x": i * 1.5, "n": None, "d": {"a": [i]}}
    for i in range(20)
]
FLAT = [{"prompt": f'a "{i}", é\nx', "answer": str(i)} for i in range(20)]
QUICK = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def quoted(delimiter):
    lines = [delimiter.join('"' + value.replace('"', '""') + '"' for value in row.values()) for row in FLAT]
    return "\r\n".join([delimiter.join(FLAT[0]), *lines]).encode()


def tables():
    pyarrow = pytest.importorskip("pyarrow")
    ipc, parquet = pytest.importorskip("pyarrow.ipc"), pytest.importorskip("pyarrow.parquet")

    table = pyarrow.Table.from_pylist(ROWS)

    def arrow(new, **options):
        sink = io.BytesIO()
        with new(sink, table.schema, **options) as writer:
            writer.write_table(table)
        return sink.getvalue()

    def packed(**options):
        sink = io.BytesIO()
        parquet.write_table(table, sink, **options)
        return sink.getvalue()

    lz4 = ipc.IpcWriteOptions(compression="lz4")
    return {
        "arrow": [
            arrow(ipc.new_stream),
            arrow(ipc.new_stream, options=lz4),
            arrow(ipc.new_file),
        ],
        "parquet": [packed(), packed(compression="none", use_dictionary=False)],
    }


VALID = {
    "jsonl": ["\r\n".join(map(json.dumps, ROWS)).encode()],
    "json": [json.dumps(ROWS).encode(), json.dumps({"data": ROWS}).encode()],
    "csv": [quoted(",")],
    "tsv": [quoted("\t")],
    **tables(),
}

edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=8), st.sampled_from([b"\xff" * 8, b"\0" * 8, b'"', b"\r", b"\n", b"\xff\xff\xff\x7f"])
        ),
    ),
    min_size=1,
    max_size=6,
)


def damaged(content, changes):
    for place, removed, inserted in changes:
        start = int(place * len(content))
        content = content[:start] + inserted + content[start + removed :]
    return content


def harmless(path, action):
    before, started = peak(), time.monotonic()
    try:
        action(path)
    except WinnowError as error:
        assert error.exit_code == 2 and str(error)
    assert time.monotonic() - started < SECONDS and peak() - before < MEGABYTES


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("format", FORMATS)
@QUICK
@given(data=st.data())
def test_damaged_files(tmp_path, format, data):
    content = data.draw(st.sampled_from(VALID[format]))
    path = tmp_path / "a"
    path.write_bytes(damaged(content, data.draw(edits)))
    harmless(path, lambda path: read(path, format))


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_many_damaged_files(tmp_path, format):
    random = Random(format)
    path = tmp_path / "a"
    for _ in range(3000):
        changes = [
            (
                random.random(),
                random.choice([0, 1, 1, 8, 40]),
                random.choice([b"", b"\xff" * 8, b"\0" * 4, random.randbytes(2)]),
            )
            for _ in range(random.choice([1, 1, 2, 5, 20]))
        ]
        path.write_bytes(damaged(random.choice(VALID[format]), changes))
        harmless(path, lambda path: read(path, format))


@pytest.mark.parametrize("format", FORMATS)
@QUICK
@given(content=st.binary(max_size=200))
def test_random_bytes(tmp_path, format, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    harmless(path, lambda path: read(path, format))


@pytest.mark.parametrize("format", ["jsonl", "csv", "json"])
@QUICK
@given(text=st.text(alphabet='{}[]":,\\\n\r\t 0123456789.eE-+aNInfinityé\ud83d\0#', max_size=120))
def test_text_of_the_characters_that_matter(tmp_path, format, text):
    path = tmp_path / "a"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    harmless(path, lambda path: read(path, format))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "from", "value", "type", "text", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
roles = st.sampled_from(["system", "user", "assistant", "human", "gpt", "robot", None])
messages = st.lists(st.fixed_dictionaries({"role": roles, "content": values | st.just("hi")}), max_size=3)
records = st.dictionaries(
    st.sampled_from(["prompt", "messages", "question", "answer", "solution", "tests", "reward_model"]),
    values | messages | st.just("7"),
    max_size=4,
)


@QUICK
@given(
    rows=st.lists(records, min_size=1, max_size=4),
    last_turn=st.sampled_from(["refuse", "gold", "drop"]),
    drop=st.booleans(),
    more=st.sampled_from([{}, {"system": "s"}, {"template": "Q: {prompt}"}, {"limit": 2}, {"prompt_column": "prompt"}]),
)
def test_rows_of_any_shape(tmp_path, rows, last_turn, drop, more):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    options = {"last_turn": last_turn, "drop_bad_rows": drop, **more}
    harmless(path, lambda path: task.load(str(path), options=options))


@QUICK
@given(state=values | st.fixed_dictionaries({"_data_files": values}), splits=values)
def test_descriptions_of_saved_folders(tmp_path, state, splits):
    for name, content in (("state.json", state), ("dataset_dict.json", {"splits": splits})):
        (tmp_path / name).write_text(json.dumps(content))
        harmless(tmp_path, lambda path: task.load(str(path)))
        (tmp_path / name).unlink()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"prompt": ' + b"[" * 2_000_000),
        ("a.jsonl", b"\n" * 5_000_000),
        ("a.json", b"[" * 2_000_000),
        ("a.csv", b'prompt,answer\n"' + b"x,\n" * 2_000_000),
        ("a.csv", b"," * 100_000 + b"\n" + b"," * 100_000),
        ("a.csv", b'"' * 2_000_001),
        ("a.csv", b"a,b\n" + b'"\n' * 100_001),
    ],
)
def test_inputs_made_to_take_long(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    harmless(path, lambda path: read(path))
