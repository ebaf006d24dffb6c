"""Weights and generators: their hash, their files, and their way back into a running model."""

from __future__ import annotations

import hashlib
import pickle
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from winnow.errors import ResumeError, WinnowError

_SAMPLED = 4096
_FORMAT = {"format": "pt"}
_DAMAGED = (
    *(OSError, EOFError, RuntimeError, SafetensorError, pickle.UnpicklingError, struct.error),
    *(AttributeError, LookupError, TypeError, ValueError),
)


def _bytes(tensor: Tensor) -> bytes:
    flat = tensor.detach().cpu().contiguous().flatten()
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def weights_sha256(model: nn.Module) -> str:
    """Return the hash over every entry of the state dict, sorted by name: names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}|{tensor.dtype}|{tuple(tensor.shape)}|".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def fingerprint(model: nn.Module) -> str:
    """Return a quick hash that tells models apart: names, shapes, and up to 4096 evenly spread values of each."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().flatten()
        digest.update(f"{name}|{tuple(tensor.shape)}|".encode())
        digest.update(_bytes(flat[:: max(1, flat.numel() // _SAMPLED)]))
    return digest.hexdigest()[:16]


def save(folder: Path, model: Any, tokenizer: Any, optimiser: dict[str, Any]) -> None:
    """Write ``model/`` (a Hugging Face folder; only the adapters for LoRA), optimiser and generators.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    with _disk_errors():
        target = folder / "model"
        target.mkdir()
        whole = {name: tensor.contiguous() for name, tensor in _saved(model).items()}
        save_file(whole, target / _file(model), _FORMAT)
        if _adapted(model):
            model.peft_config[model.active_adapter].save_pretrained(target)
        else:
            model.config.save_pretrained(target)
            if getattr(model, "generation_config", None) is not None:
                model.generation_config.save_pretrained(target)
        if tokenizer is not None:
            tokenizer.save_pretrained(target)
        torch.save(optimiser, folder / "optimiser.pt")
        torch.save(_generators(), folder / "generators.pt")


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Both writers report a full disk in errors of their own."""
    try:
        yield
    except (SafetensorError, RuntimeError) as error:
        raise OSError(f"writing failed: {error}") from error


@contextmanager
def reading(path: Path) -> Iterator[Path]:
    """Turn what readers and what they feed raise on a damaged file into a `ResumeError` that names it."""
    try:
        yield path
    except WinnowError:
        raise
    except FileNotFoundError:
        raise ResumeError(f"{path} is missing") from None
    except _DAMAGED as error:
        first = str(error).strip().partition("\n")[0][:200]
        raise ResumeError(f"{path} is damaged: {first or type(error).__name__}") from error


def _adapted(model: nn.Module) -> bool:
    return hasattr(model, "peft_config")


def _file(model: nn.Module) -> str:
    return "adapter_model.safetensors" if _adapted(model) else "model.safetensors"


def _saved(model: nn.Module) -> dict[str, Tensor]:
    """Return what a checkpoint holds: the adapters, or each weight once, a tied one under its first name."""
    if _adapted(model):
        from peft import get_peft_model_state_dict  # takes seconds to import, and few runs need it

        return dict(get_peft_model_state_dict(model))
    seen: set[int] = set()
    kept = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor.detach()
    return kept


def restore(folder: Path, model: Any) -> dict[str, Any]:
    """Load weights and generators of a checkpoint; return the optimiser's state.

    Raises:
        ResumeError: a file is missing or damaged, or a weight is missing, unknown or of another shape.
    """
    expected = _saved(model)
    with reading(folder / "model" / _file(model)) as path:
        tensors = load_file(path)
    wrong = sorted(
        name
        for name in expected.keys() | tensors.keys()
        if name not in tensors or name not in expected or expected[name].shape != tensors[name].shape
    )
    if wrong:
        raise ResumeError(f"{folder}: the saved weights do not fit the model: {', '.join(wrong[:5])}")
    if _adapted(model):
        from peft import set_peft_model_state_dict

        set_peft_model_state_dict(model, tensors)
    else:
        with torch.no_grad():
            for name, tensor in expected.items():
                tensor.copy_(tensors[name])
    with reading(folder / "optimiser.pt") as path:
        optimiser = dict(torch.load(path, weights_only=True))
    with reading(folder / "generators.pt") as path:
        _set_generators(torch.load(path, weights_only=True))
    return optimiser


def _generators() -> dict[str, Any]:
    version, words, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "python": [version, list(words), gauss],
        "numpy": [kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, cached],
    }


def _set_generators(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, cached))


def seed_generators(seed: int) -> None:
    """Seed the global generators, for dropout and for reward functions that use them."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
