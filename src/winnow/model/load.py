"""Load a causal language model and its tokenizer from a Hugging Face folder.

On the dtype: weights are float32 on the CPU, and bfloat16 on a CUDA device that computes in it. The learner keeps a
float32 master of every trained bfloat16 weight, so small steps add up; `winnow.objective.masters` says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow import errors
from winnow.model import lora as adapters
from winnow.model.prompts import encode_prompt
from winnow.model.quiet import without_bars

try:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as error:
    raise errors.MissingExtra("loading a model needs torch and transformers: pip install 'winnow-rl[train]'") from error

__all__ = ["SHIPPED", "LoadedModel", "encode_prompt", "load"]

BUILT_IN = "built-in"
"""Name of the shipped policy, where a model is asked for."""

SHIPPED = Path(__file__).parent.parent / "task" / "policy"
"""Folder of the tiny policy that ships with winnow."""

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")
_LONGEST = 300
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A policy ready to sample from and to train.

    Attributes:
        model: transformers (or peft) causal language model, in evaluation mode: no dropout.
        tokenizer: its tokenizer, with an end-of-sequence and a pad token.
        device: where the weights are.
        dtype: what the weights are stored in.
        name: the folder's name, or the hub name, for logs.
    """

    model: Any
    tokenizer: Any
    device: torch.device
    dtype: torch.dtype
    name: str


def load(
    path_or_name: str | Path | None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    lora: adapters.LoraSettings | None = None,
) -> LoadedModel:
    """Load a policy; nothing is downloaded.

    Args:
        path_or_name: folder in Hugging Face layout, or the name of a model already in the local Hugging Face
            cache; None or ``built-in`` takes the tiny policy that ships with winnow.
        device: ``auto`` (CUDA if there is one), ``cpu``, ``cuda`` or ``cuda:N``.
        dtype: ``auto`` (see the module), ``float32`` or ``bfloat16``.
        lora: train adapters in place of all weights.

    Returns:
        The model and tokenizer. A tokenizer without a pad token gets the end-of-sequence token in its
        place, which is safe because no mask is ever made from token ids.

    Raises:
        ConfigError: if the folder is missing or holds no model, if model and tokenizer do not fit together,
            if there is no end-of-sequence token, or on an unknown device or dtype.
        MissingExtra: if an optional package is not installed.
    """
    source = SHIPPED if path_or_name in (None, BUILT_IN) else _resolve(str(path_or_name))
    place = _device(device)
    kind = _dtype(dtype, place)
    name = source.name if isinstance(source, Path) else source
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
        with without_bars():
            model = AutoModelForCausalLM.from_pretrained(source, dtype=kind, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError) as error:
        raise errors.ConfigError(_unusable(source, error)) from error
    _check_tokens(tokenizer, model, name)
    model = model.to(place).eval()
    if lora is not None:
        model = adapters.attach(model, lora).eval()
    return LoadedModel(model, tokenizer, place, kind, name)


def _unusable(source: Path | str, error: Exception) -> str:
    text = f"cannot load a causal language model from {str(source)!r}"
    reason = " ".join(str(error).split())
    reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]} ..."
    if isinstance(source, str):
        return f"{text}: {reason}"
    if not any((source / name).is_file() for name in _TOKENIZERS):
        reason = f"it has no tokenizer (none of {', '.join(_TOKENIZERS)}): save the tokenizer into it"
    elif isinstance(error, SafetensorError):
        reason = f"its weights are damaged ({reason}): copy them again"
    return f"{text}: {reason} (it holds: {_listing(source)})"


def _listing(folder: Path) -> str:
    held = sorted(entry.name for entry in folder.iterdir())
    return ", ".join(held[:12]) + (", ..." if len(held) > 12 else "") if held else "nothing"


def _resolve(given: str) -> Path | str:
    folder = Path(given).expanduser()
    if folder.is_dir():
        if (folder / "config.json").is_file():
            return folder.resolve()
        hint = ""
        if (folder / "adapter_config.json").is_file():
            hint = "; it is a LoRA adapter: merge it into its base model first"
        raise errors.ConfigError(f"the model folder {given!r} has no config.json{hint} (it holds: {_listing(folder)})")
    if folder.exists():
        raise errors.ConfigError(
            f"the model {given!r} is a file; give the folder that holds config.json and the weights"
        )
    if _HUB_NAME.fullmatch(given) and _cached(given):
        return given
    siblings = [entry.name for entry in folder.parent.iterdir() if entry.is_dir()] if folder.parent.is_dir() else []
    raise errors.ConfigError(
        f"there is no model folder {given!r}{errors.did_you_mean(folder.name, siblings)}, and no model of "
        "that name in the Hugging Face cache. winnow does not download models: fetch one first (`winnow "
        f"model smollm2 DIR`, or `hf download NAME --local-dir DIR`), or give {BUILT_IN!r}, the tiny policy "
        "that ships with winnow"
    )


def _cached(name: str) -> bool:
    from transformers.utils import cached_file

    try:
        return cached_file(name, "config.json", local_files_only=True) is not None
    except OSError:
        return False


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise errors.ConfigError(f"device is {device!r}; it must be auto, cpu, cuda or cuda:N")
    if device.startswith("cuda"):
        count = torch.cuda.device_count()
        if count == 0:
            raise errors.ConfigError(f"device is {device!r}, but torch sees no CUDA device; use device=cpu or auto")
        if int(device.partition(":")[2] or 0) >= count:
            raise errors.ConfigError(f"device is {device!r}, but torch sees {count} CUDA device(s), numbered from 0")
    return torch.device(device)


def _dtype(dtype: str, device: torch.device) -> torch.dtype:
    if dtype == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
    if dtype == "float16":
        raise errors.ConfigError("dtype float16 overflows in training without loss scaling; use bfloat16 or float32")
    if dtype not in _DTYPES:
        raise errors.unknown("dtype", dtype, ("auto", *_DTYPES))
    return _DTYPES[dtype]


def _check_tokens(tokenizer: Any, model: Any, name: str) -> None:
    if tokenizer.eos_token_id is None:
        raise errors.ConfigError(
            f"the tokenizer of {name!r} has no end-of-sequence token, so no rollout could ever stop; "
            "set eos_token in its tokenizer_config.json"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise errors.ConfigError(
            f"the tokenizer of {name!r} has {len(tokenizer)} tokens, but the model embeds {rows}; "
            "they do not belong together"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
