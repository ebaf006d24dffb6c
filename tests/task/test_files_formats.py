"""What each format can hold, and what is wrong with files that are broken."""

import codecs
import csv
import gzip
import json
import pickle
import sys
from fractions import Fraction

import pytest

from winnow import task
from winnow.errors import DataError, MissingExtra
from winnow.task.formats.values import Parser, Written, repeated
from winnow.task.golds import gold_text, kinds
from winnow.task.read import read


@pytest.fixture
def write(tmp_path):
    def build(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return build


def values(rows):
    return [(row.number, dict(row.values)) for row in rows.rows]


def problems(rows):
    return [(problem.number, problem.text) for problem in rows.problems]


class TestNumbers:
    DIGITS = "1234567890" * 4
    DECIMAL = "0.123456789012345678901234567890123456789"

    @pytest.mark.parametrize(
        ("written", "gold"),
        [
            (DIGITS, DIGITS),
            (f"-{DIGITS}", f"-{DIGITS}"),
            (DECIMAL, DECIMAL),
            (f"{DIGITS}.5", f"{DIGITS}.5"),
            ("2.50", "2.5"),
            ("145.0", "145"),
            ("-0.0", "0"),
            ("1e3", "1000"),
            ("1.5e-7", "0.00000015"),
            ("0.1", "0.1"),
            ("123456789.123456789012", "123456789.123456789012"),
        ],
    )
    def test_no_digit_of_a_gold_is_lost(self, write, written, gold):
        path = write("a.jsonl", f'{{"prompt": "p", "answer": {written}}}')
        [prompt] = task.load(str(path)).train
        assert prompt.answer == gold
        assert Fraction(prompt.answer) == Fraction(written)

    @pytest.mark.parametrize("written", ["1e999", "-1e999", "1e-999999999", "1e-99999999999999999999"])
    def test_exponents_that_would_not_fit_in_memory_are_refused(self, write, written):
        path = write("a.jsonl", f'{{"prompt": "p", "answer": {written}}}')
        with pytest.raises(DataError, match=r"line 1: the answer is the number .*(exponent|finite)"):
            task.load(str(path))

    def test_other_columns_stay_floats(self):
        found = Parser().parse(f"[{self.DECIMAL}, 0.5]")
        assert [type(value) for value in found] == [Written, float]
        assert found[0] + 0.5 == float(self.DECIMAL) + 0.5
        assert json.dumps(found[0]) == json.dumps(float(self.DECIMAL))
        again = pickle.loads(pickle.dumps(found[0]))
        assert (again, again.text) == (float(self.DECIMAL), self.DECIMAL)

    def test_kinds_of_golds(self):
        golds = ["7", "-7", "1,200", "2.5", "7/2", "B", "(C)", r"2\sqrt{3}", "x^2", "see figure", "9" * 2000]
        assert kinds(golds) == {"integers": 3, "decimals": 1, "fractions": 1, "letters": 2, "LaTeX": 2, "text": 2}

    def test_the_last_box_of_a_worked_solution_is_the_gold(self):
        assert gold_text(r"First \boxed{1}, so $\boxed{\frac{1}{2}}$.") == r"\frac{1}{2}"
        assert gold_text(r"\boxed{1} #### 2") == "2"
        assert gold_text("boxed in") == "boxed in"


class TestJsonl:
    def test_a_key_that_occurs_twice(self, write):
        rows = read(
            write("a.jsonl", '{"prompt": "p", "answer": 1, "answer": 2}\n{"a": {"b": [{"c": 1, "c": 2}]}}\n{"a": 1}')
        )
        assert problems(rows) == [
            (1, "the key 'answer' occurs twice in one object"),
            (2, "the key 'c' occurs twice in one object"),
        ]
        assert values(rows) == [(3, {"a": 1})]

    def test_a_key_that_occurs_twice_in_a_list(self, write):
        rows = read(write("a.json", '[{"a": 1}, {"a": 1, "a": 2}]'))
        assert problems(rows) == [(2, "the key 'a' occurs twice in one object")]

    def test_the_parser_marks_only_what_repeats(self):
        assert repeated(Parser().parse('{"a": {"a": 1}, "b": [{"a": 2}]}')) == ""

    @pytest.mark.parametrize(
        ("lines", "number", "words"),
        [
            ('{"a": 1}\n{"a": "x', 2, "the file ends in the middle of this row"),
            ('{"a": 1}\n{"a": 1', 2, "the file ends in the middle of this row"),
            ('{"a": 1}\n\0\0\0\0', 2, "NUL bytes"),
            ('{"a": "\0"}\n', 1, "NUL bytes"),
            ('{\n"a": 1}\n', 1, "an object has to stand on one line"),
            ('{"a": ' + "9" * 5000 + "}", 1, "more than 4300 digits"),
            ('{"a": ' + "[" * 100_000, 1, "nested too deeply"),
            ("{'a': 1}", 1, "broken JSON"),
        ],
    )
    def test_damage(self, write, lines, number, words):
        found = problems(read(write("a.jsonl", lines)))
        assert found[0][0] == number and words in found[0][1]

    def test_nan_and_infinity_are_numbers_but_no_golds(self, write):
        path = write("a.jsonl", "\n".join(f'{{"prompt": "p", "answer": {word}}}' for word in ("NaN", "-Infinity")))
        with pytest.raises(DataError, match=r"(?s)line 1: the answer is the number nan.*line 2: .* -inf"):
            task.load(str(path))

    def test_a_nul_in_a_prompt_is_a_bad_row(self, write):
        path = write("a.jsonl", r'{"prompt": "a\u0000b", "answer": 1}')
        with pytest.raises(DataError, match="line 1: the prompt holds a NUL character"):
            task.load(str(path))

    def test_byte_order_marks_of_joined_files(self, write):
        assert len(read(write("a.jsonl", codecs.BOM_UTF8 + b'{"a": 1}\r\n' + codecs.BOM_UTF8 + b'{"a": 2}')).rows) == 2


@pytest.mark.parametrize("format", ["jsonl", "json", "csv", "tsv"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(b'{"a": 1}', mtime=0), "compressed with gzip; unpack it first"),
        (b"PK\x03\x04....", "compressed with zip"),
        ('{"a": 1}'.encode("utf-16"), "text in UTF-16; save it as UTF-8"),
        ('{"a": 1}'.encode("utf-16-le"), "text in UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "text in UTF-16"),
        ('{"a": 1}'.encode("utf-32"), "text in UTF-32"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "run git lfs pull"),
        (b"PAR1....", "use --format parquet"),
        (b"ARROW1\0\0....", "use --format arrow"),
    ],
)
def test_files_that_are_something_else(write, format, content, words):
    with pytest.raises(DataError, match=words) as caught:
        read(write("a", content), format)
    assert f"read as {format}" in str(caught.value)


class TestCsv:
    def test_quotes_line_breaks_and_the_line_on_which_a_record_starts(self, write):
        rows = read(
            write("a.csv", codecs.BOM_UTF8 + b'prompt, answer\r\n"a, ""b""\r\nc",1\r\n\r\n,,\r\n"d\n\ne",2\r\nf,"3"')
        )
        assert values(rows) == [
            (2, {"prompt": 'a, "b"\r\nc', "answer": "1"}),
            (6, {"prompt": "d\n\ne", "answer": "2"}),
            (9, {"prompt": "f", "answer": "3"}),
        ]
        assert problems(rows) == []

    def test_wrong_counts_bad_quotes_and_bytes_cost_their_own_row_only(self, write):
        rows = read(write("a.csv", b'p,a\n1,2,3\n4\n"x"y,5\n\xff,6\n7,8\n'))
        assert values(rows) == [(6, {"p": "7", "a": "8"})]
        found = problems(rows)
        assert [number for number, _ in found] == [2, 3, 4, 5]
        assert found[0][1].startswith("3 fields where the header has 2")
        assert found[1][1].startswith("1 field where the header has 2")
        assert found[2][1].startswith("broken CSV") and found[3][1] == "not UTF-8"

    def test_a_quote_that_is_never_closed(self, write):
        rows = read(write("a.csv", 'p,a\n1,2\n"3,4\n5,6\n'))
        assert len(rows.rows) == 1
        [(number, text)] = problems(rows)
        assert number == 3 and "never closed" in text

    @pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
    def test_line_endings(self, write, ending):
        assert values(read(write("a.csv", ending.join(["p,a", "1,2", "", "3,4"])))) == [
            (2, {"p": "1", "a": "2"}),
            (4, {"p": "3", "a": "4"}),
        ]

    @pytest.mark.parametrize(("delimiter", "noted"), [(";", True), ("\t", True), (",", False)])
    def test_the_header_tells_the_delimiter(self, write, delimiter, noted):
        rows = read(write("a.csv", f"prompt{delimiter}answer\n1{delimiter}2"))
        assert values(rows) == [(2, {"prompt": "1", "answer": "2"})]
        assert rows.notes == ([f"a.csv: columns divided by {delimiter!r}"] if noted else [])

    def test_tabs(self, write):
        assert values(read(write("a.tsv", "prompt\tanswer\na, b\t2\n"))) == [(2, {"prompt": "a, b", "answer": "2"})]

    def test_headers_without_names_and_with_names_twice(self, write):
        rows = read(write("a.csv", ",prompt,answer\n0,p,1"))
        assert values(rows) == [(2, {"prompt": "p", "answer": "1"})]
        assert rows.notes == ["a.csv: columns without a name are left out: 1"]
        with pytest.raises(DataError, match="line 1: the columns 1 and 3 are both called 'a'"):
            read(write("b.csv", "a,b,a\n1,2,3"))
        with pytest.raises(DataError, match="header is not UTF-8"):
            read(write("c.csv", b"a,\xff\n1,2"))
        with pytest.raises(DataError, match="line 1: the header cannot be read: broken CSV"):
            read(write("d.csv", '"a"b,c\n1,2'))

    @pytest.mark.parametrize("content", ["", "prompt,answer\n", "\n\n"])
    def test_no_rows(self, write, content):
        with pytest.raises(DataError, match="holds no rows"):
            read(write("a.csv", content))

    def test_long_fields_are_read_and_the_limit_of_the_process_is_put_back(self, write):
        before = csv.field_size_limit()
        [row] = read(write("a.csv", "p,a\n" + "x" * 300_000 + ",1")).rows
        assert len(row.values["p"]) == 300_000 and csv.field_size_limit() == before

    def test_a_task(self, write):
        path = write("a.csv", 'question,answer\n"One, two?",3\nFour?,\n')
        with pytest.raises(DataError, match=r"a\.csv line 3: the answer is empty"):
            task.load(str(path))
        [prompt] = task.load(str(path), options={"drop_bad_rows": True}).train
        assert (prompt.id, prompt.content, prompt.answer) == ("train:2", "One, two?", "3")


class TestTables:
    ROWS = ({"prompt": "a", "answer": 1}, {"prompt": "b", "answer": 2})

    @pytest.fixture
    def table(self):
        return pytest.importorskip("pyarrow").Table.from_pylist(list(self.ROWS))

    @pytest.mark.parametrize("footer", [True, False])
    def test_arrow(self, tmp_path, table, footer):
        import pyarrow.ipc

        path = tmp_path / "a.arrow"
        new = pyarrow.ipc.new_file if footer else pyarrow.ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table)
        assert values(read(path)) == [(1, self.ROWS[0]), (2, self.ROWS[1])]
        path.write_bytes(path.read_bytes()[:-300])
        with pytest.raises(DataError, match=r"damaged Arrow file|holds no rows"):
            read(path)

    def test_not_arrow(self, write):
        with pytest.raises(DataError, match="not an Arrow file"):
            read(write("a.arrow", '{"a": 1}'))

    def test_two_columns_with_one_name(self, tmp_path, table):
        import pyarrow
        import pyarrow.parquet

        path = tmp_path / "a.parquet"
        pyarrow.parquet.write_table(pyarrow.table([[1], [2]], names=["a", "a"]), path)
        with pytest.raises(DataError, match="two columns are called 'a'"):
            read(path)

    def test_a_column_without_values_in_python_is_left_out(self, tmp_path):
        import pyarrow
        import pyarrow.parquet

        path = tmp_path / "a.parquet"
        dates = pyarrow.array([2**61], pyarrow.timestamp("ms"))
        pyarrow.parquet.write_table(pyarrow.table({"prompt": ["p"], "date": dates, "answer": [1]}), path)
        rows = read(path)
        assert values(rows) == [(1, {"prompt": "p", "answer": 1})]
        assert rows.notes[0].startswith("a.parquet: column date is left out")

    def test_a_small_file_that_claims_many_rows(self, tmp_path, table):
        import pyarrow.ipc

        path = tmp_path / "a.arrow"
        batch = pyarrow.record_batch([pyarrow.nulls(200_000)], names=["a"])
        with pyarrow.ipc.new_stream(path, batch.schema) as writer:
            writer.write_batch(batch)
        with pytest.raises(DataError, match="claims 200000 rows in"):
            read(path)

    @pytest.mark.parametrize(("name", "head"), [("a.parquet", b"PAR1"), ("a.arrow", b"ARROW1\0\0")])
    def test_without_pyarrow(self, write, monkeypatch, name, head):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtra, match=r"winnow-rl\[parquet\]"):
            read(write(name, head + b"...."))
