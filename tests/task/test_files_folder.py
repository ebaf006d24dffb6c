"""Folders: what ``datasets`` saves, and data files named by split."""

import json

import pytest

from winnow import task
from winnow.errors import ConfigError, DataError
from winnow.task.folder import choose

pyarrow = pytest.importorskip("pyarrow")


def rows(count, start=0):
    return [{"question": f"{i} + 1 =", "answer": str(i + 1)} for i in range(start, start + count)]


@pytest.fixture
def write_jsonl(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
        return path

    return write


def save_parquet(path, content):
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(content), path)


def save_to_disk(folder, *shards, split=None, **state):
    """Write what ``Dataset.save_to_disk`` of datasets 5.2 writes: Arrow streams and two descriptions."""
    import pyarrow.ipc

    folder.mkdir(parents=True)
    names = [f"data-{number:05d}-of-{len(shards):05d}.arrow" for number in range(len(shards))]
    for name, shard in zip(names, shards, strict=True):
        table = pyarrow.Table.from_pylist(shard)
        with pyarrow.ipc.new_stream(folder / name, table.schema) as writer:
            writer.write_table(table)
    description = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": "4f80160663d7e67e",
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": split,
        **state,
    }
    (folder / "state.json").write_text(json.dumps(description))
    features = {name: {"dtype": "string", "_type": "Value"} for name in ("question", "answer")}
    (folder / "dataset_info.json").write_text(json.dumps({"citation": "", "features": features}))


def save_dict(folder, **splits):
    for name, content in splits.items():
        save_to_disk(folder / name, content)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": list(splits)}))


def load(path, **options):
    return task.load(str(path), options=options)


def ids(prompts):
    return [prompt.id for prompt in prompts]


class TestSaved:
    def test_shards_in_order(self, tmp_path):
        save_to_disk(tmp_path / "d", rows(3), rows(2, 3), rows(1, 5))
        loaded = load(tmp_path / "d", test_fraction=0.0)
        assert ids(loaded.train) == [f"train:{number}" for number in range(1, 7)]
        assert [prompt.answer for prompt in loaded.train] == ["1", "2", "3", "4", "5", "6"]

    def test_a_bad_row_is_named_by_its_shard(self, tmp_path):
        bad = [{"question": "q", "answer": None}, {"question": "r", "answer": "1"}]
        save_to_disk(tmp_path / "d", rows(3), bad)
        with pytest.raises(DataError, match=r"data-00001-of-00002\.arrow row 1: the answer is null"):
            load(tmp_path / "d")

    def test_splits_of_a_dictionary(self, tmp_path):
        save_dict(tmp_path / "d", train=rows(4), test=rows(2, 10))
        loaded = load(tmp_path / "d")
        assert ids(loaded.train) == ["train:1", "train:2", "train:3", "train:4"]
        assert ids(loaded.test) == ["test:1", "test:2"] and loaded.test[0].content == "10 + 1 ="

    def test_validation_is_held_out_where_there_is_no_test(self, tmp_path):
        save_dict(tmp_path / "d", validation=rows(2, 10), train=rows(4))
        assert len(load(tmp_path / "d").test) == 2

    def test_the_split_to_train_on_is_an_option(self, tmp_path):
        save_dict(tmp_path / "d", easy=rows(4), hard=rows(3, 10), test=rows(2, 20))
        with pytest.raises(DataError, match=r"holds the splits easy, hard, test .*task_options\.split=NAME"):
            load(tmp_path / "d")
        loaded = load(tmp_path / "d", split="hard")
        assert len(loaded.train) == 3 and loaded.test[0].content == "20 + 1 ="
        with pytest.raises(DataError, match="no split 'haard', did you mean 'hard'"):
            load(tmp_path / "d", split="haard")

    def test_one_split_of_any_name_is_the_one(self, tmp_path):
        save_to_disk(tmp_path / "d", rows(10), split="corpus")
        loaded = load(tmp_path / "d")
        assert (len(loaded.train), len(loaded.test)) == (9, 1)

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda d: (d / "state.json").write_text("{"), "state.json: broken JSON"),
            (lambda d: (d / "state.json").write_text("[]"), "state.json: expected an object"),
            (lambda d: (d / "state.json").write_text('{"_data_files": 3}'), "names no data files"),
            (lambda d: (d / "state.json").write_text('{"_data_files": [{"filename": "../x.arrow"}]}'), "not the name"),
            (lambda d: (d / "state.json").write_text('{"_data_files": [{}]}'), "expected a list of names"),
            (lambda d: (d / "state.json").write_text('{"_data_files": []}'), "holds no rows"),
            (lambda d: (d / "data-00000-of-00001.arrow").unlink(), "no such file"),
            (lambda d: (d / "data-00000-of-00001.arrow").write_bytes(b"\xff" * 40), "damaged Arrow file"),
            (lambda d: (d / "dataset_dict.json").write_text('{"splits": ["x"]}'), "x/state.json: missing"),
            (lambda d: (d / "dataset_dict.json").write_text('{"splits": [".."]}'), "not the name"),
        ],
    )
    def test_damage(self, tmp_path, damage, words):
        folder = tmp_path / "d"
        save_to_disk(folder, rows(2))
        damage(folder)
        with pytest.raises(DataError, match=words):
            load(folder)

    def test_a_separate_list_of_indices_is_refused(self, tmp_path):
        save_to_disk(tmp_path / "d", rows(2), _indices_data_files=[{"filename": "indices.arrow"}])
        with pytest.raises(DataError, match="flatten_indices"):
            load(tmp_path / "d")


class TestNamedFiles:
    def test_parquet_as_on_the_hub(self, tmp_path):
        for number in range(2):
            save_parquet(tmp_path / "data" / f"train-0000{number}-of-00002.parquet", rows(3, 3 * number))
        save_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", rows(2, 50))
        (tmp_path / "README.md").write_text("---\n---")
        loaded = load(tmp_path)
        assert [prompt.answer for prompt in loaded.train] == ["1", "2", "3", "4", "5", "6"]
        assert ids(loaded.train)[-1] == "train:6" and len(loaded.test) == 2

    def test_a_missing_shard_is_an_error(self, tmp_path):
        save_parquet(tmp_path / "data" / "train-00001-of-00002.parquet", rows(3))
        with pytest.raises(DataError, match="1 files where their names speak of 2"):
            load(tmp_path)

    def test_line_numbers_of_shards(self, tmp_path, write_jsonl):
        write_jsonl("train-1.jsonl", rows(3))
        write_jsonl("train-10.jsonl", [{"question": "q", "answer": None}])
        write_jsonl("train-2.jsonl", [*rows(2, 5), {"question": "q", "answer": True}])
        with pytest.raises(DataError) as caught:
            load(tmp_path)
        message = str(caught.value)
        assert message.index("train-2.jsonl line 3: the answer is the boolean") < message.index(
            "train-10.jsonl line 1: the answer is null"
        )

    @pytest.mark.parametrize(
        ("train", "test"),
        [
            ("train.jsonl", "test.jsonl"),
            ("train/part.jsonl", "test/part.jsonl"),
            ("my_train.jsonl", "my-dev.jsonl"),
            ("main/train.jsonl", "main/validation.jsonl"),
            ("data/gsm8k-training.jsonl", "data/gsm8k-test.jsonl"),
        ],
    )
    def test_names_and_folders_tell_the_split(self, tmp_path, write_jsonl, train, test):
        write_jsonl(train, rows(3))
        write_jsonl(test, rows(2, 10))
        write_jsonl(".cache/train.jsonl", rows(9))
        loaded = load(tmp_path)
        assert (len(loaded.train), len(loaded.test)) == (3, 2)

    def test_one_file_needs_no_name(self, tmp_path, write_jsonl):
        write_jsonl("questions.jsonl", rows(10))
        assert len(load(tmp_path).train) == 9

    def test_what_does_not_tell_is_refused_with_names(self, tmp_path, write_jsonl):
        write_jsonl("a.jsonl", rows(3))
        write_jsonl("b.jsonl", rows(3))
        with pytest.raises(DataError, match=r"no name tells which is for training .*name one of a.jsonl, b.jsonl"):
            load(tmp_path)

    def test_several_data_sets(self, tmp_path, write_jsonl):
        write_jsonl("main/train.jsonl", rows(3))
        write_jsonl("socratic/train.jsonl", rows(4))
        with pytest.raises(DataError, match=r"several data sets; name one of the folders .*main, .*socratic"):
            load(tmp_path)
        assert len(load(tmp_path / "socratic", test_fraction=0.0).train) == 4

    def test_two_formats_of_the_same(self, tmp_path, write_jsonl):
        write_jsonl("train.jsonl", rows(3))
        save_parquet(tmp_path / "train.parquet", rows(5))
        with pytest.raises(DataError, match=r"several formats \(\.jsonl, \.parquet\); choose by --format"):
            load(tmp_path)
        assert len(load(tmp_path, format="parquet", test_fraction=0.0).train) == 5

    def test_a_folder_without_data(self, tmp_path):
        (tmp_path / "config.toml").write_text("")
        with pytest.raises(DataError, match="holds no data files"):
            load(tmp_path)

    def test_a_folder_to_test_on(self, tmp_path, write_jsonl):
        path = write_jsonl("mine/train.jsonl", rows(3))
        write_jsonl("other/test.jsonl", rows(2, 10))
        assert len(load(path, test_path=str(tmp_path / "other")).test) == 2

    def test_split_needs_a_folder(self, write_jsonl):
        with pytest.raises(ConfigError, match="is a file"):
            load(write_jsonl("a.jsonl", rows(3)), split="train")


def test_choose_names_the_files(tmp_path, write_jsonl):
    train, test = write_jsonl("train.jsonl", rows(1)), write_jsonl("test.jsonl", rows(1))
    chosen, held_out = choose(tmp_path)
    assert (chosen.files, held_out.files) == ((train,), (test,))
    assert choose(tmp_path, "test")[1] is None
