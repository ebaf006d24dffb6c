"""Which versions of TRL the adapter was run on, checked before anything of TRL is imported."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from winnow.errors import MissingExtra

LOWEST, BELOW = "1.14.1", "1.17"
"""Range of TRL on whose ends the contract tests run: at least the first, below the second."""

_INSTALL = "pip install 'winnow-rl[trl]'"


def check() -> None:
    """Refuse a TRL that is missing or was never tried.

    The adapter overrides private methods of `GRPOTrainer`, which may change from one minor version to the next; an
    unknown version is refused by name rather than left to fail inside a step.

    Raises:
        MissingExtra: the message names the version found and the range.
    """
    for package in ("torch", "transformers", "accelerate", "datasets", "trl"):
        try:
            found = version(package)
        except PackageNotFoundError as error:
            raise MissingExtra(f"winnow.host.trl needs {package}, which is not installed: {_INSTALL}") from error
    if not _parts(LOWEST) <= _parts(found) < _parts(BELOW):
        raise MissingExtra(
            f"trl {found} is installed; winnow.host.trl works with trl >={LOWEST},<{BELOW}, whose private methods it "
            f"knows: {_INSTALL}"
        )


def _parts(text: str) -> tuple[int, ...]:
    """Return the numbers of a release; what follows them (``.dev0``, ``rc1``) does not count."""
    numbers: list[int] = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
