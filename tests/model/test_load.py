import json
import shutil

import pytest
import torch

from winnow import errors
from winnow.model import LoraSettings
from winnow.model.load import SHIPPED, load


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(SHIPPED, tmp_path / "policy")


def test_shipped_policy_is_the_default():
    loaded = load(None, device="cpu")
    assert loaded.dtype == torch.float32
    assert {p.dtype for p in loaded.model.parameters()} == {torch.float32}
    assert not loaded.model.training
    assert loaded.name == "policy"
    assert loaded.tokenizer.eos_token_id != loaded.tokenizer.pad_token_id


def test_folder_by_path(folder):
    assert load(str(folder), device="cpu", dtype="bfloat16").model.dtype == torch.bfloat16


def test_missing_pad_token_becomes_the_end_token(folder):
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "pad_token"}))
    tokenizer = load(folder, device="cpu").tokenizer
    assert tokenizer.pad_token_id == tokenizer.eos_token_id


def test_missing_end_token_is_refused(folder):
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "eos_token"}))
    with pytest.raises(errors.ConfigError, match="no end-of-sequence token"):
        load(folder, device="cpu")


def test_tokenizer_of_another_model_is_refused(folder):
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {chr(0x4E00 + i): len(vocabulary) + i for i in range(50)}
    file.write_text(json.dumps(tokenizer))
    with pytest.raises(errors.ConfigError, match="do not belong together"):
        load(folder, device="cpu")


def test_missing_folder_suggests_its_neighbour(folder):
    with pytest.raises(errors.ConfigError, match=r"did you mean 'policy'.*winnow model smollm2"):
        load(folder.parent / "polcy")


def test_unknown_hub_name_downloads_nothing():
    with pytest.raises(errors.ConfigError, match="does not download"):
        load("nobody/nothing-like-this")


def test_folder_without_config_lists_what_it_holds(tmp_path):
    with pytest.raises(errors.ConfigError, match="it holds: nothing"):
        load(tmp_path)
    (tmp_path / "model.gguf").touch()
    (tmp_path / "adapter_config.json").touch()
    with pytest.raises(errors.ConfigError, match=r"LoRA adapter.*adapter_config.json, model.gguf"):
        load(tmp_path)


def test_file_and_broken_folder_are_refused(folder):
    with pytest.raises(errors.ConfigError, match="is a file"):
        load(folder / "config.json")
    (folder / "model.safetensors").unlink()
    with pytest.raises(errors.ConfigError, match="cannot load a causal language model"):
        load(folder, device="cpu")


@pytest.mark.parametrize("content", [b"", b"junk", b"\x10\x00\x00\x00\x00\x00\x00\x00{}"])
def test_damaged_weights_are_told_with_the_folder(folder, content):
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(errors.ConfigError, match=r"weights are damaged.*it holds: .*config\.json") as caught:
        load(folder, device="cpu")
    assert str(folder) in str(caught.value)


def test_a_folder_without_tokenizer_says_so(folder):
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(errors.ConfigError, match=r"no tokenizer \(none of tokenizer\.json.*it holds: .*config\.json"):
        load(folder, device="cpu")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"device": "gpu"}, "auto, cpu, cuda"),
        ({"device": "cuda:99"}, "CUDA device"),
        ({"dtype": "float16"}, "overflows"),
        ({"dtype": "bfloat"}, "did you mean 'bfloat16'"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(errors.ConfigError, match=words):
        load(None, **{"device": "cpu", **settings})


def test_lora_trains_adapters_alone():
    lora = LoraSettings(rank=2, targets=("q_proj", "v_proj"))
    model = load(None, device="cpu", dtype="bfloat16", lora=lora).model
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    assert trained
    assert all("lora_" in name for name in trained)
    assert {p.dtype for p in trained.values()} == {torch.float32}
    assert not model.training


def test_lora_starts_at_the_base_model():
    ids = torch.tensor([[10, 20, 30]])
    plain = load(None, device="cpu").model(ids).logits
    adapted = load(None, device="cpu", lora=LoraSettings(rank=4)).model(ids).logits
    torch.testing.assert_close(plain, adapted)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rank": 0}, "rank"),
        ({"rank": 4, "alpha": 0.0}, "alpha"),
        ({"rank": 4, "targets": ()}, "targets"),
        ({"rank": 4, "targets": ("q_prj",)}, "did you mean 'q_proj'"),
        ({"rank": 4, "targets": "q_proj"}, "list of module names"),
    ],
)
def test_bad_lora_settings(settings, words):
    with pytest.raises(errors.ConfigError, match=words):
        load(None, device="cpu", lora=LoraSettings(**settings))


def test_the_shipped_policy_has_a_name():
    named = load("built-in")
    assert named.name == load(None).name
    with pytest.raises(errors.ConfigError, match="or give 'built-in'"):
        load("no-such-model")
