"""Which versions of verl the adapter was run on, checked before anything of verl is imported."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from winnow.errors import MissingExtra

LOWEST, BELOW = "0.9.1", "0.10"
"""Range of verl whose private methods are known: at least the first, below the second."""

NEEDED = ("torch", "tensordict", "ray", "TransferQueue", "cachetools", "uvicorn", "fastapi", "verl")
"""verl last. Its own metadata leaves TransferQueue, cachetools, uvicorn and fastapi out, though the V1 trainer imports
them."""

_INSTALL = "pip install 'winnow-rl[verl]'"


def check() -> None:
    """Refuse a verl that is missing, incomplete, or was never tried.

    Raises:
        MissingExtra: the message names the package and the version found.
    """
    for package in NEEDED:
        try:
            found = version(package)
        except PackageNotFoundError as error:
            raise MissingExtra(f"winnow.host.verl needs {package}, which is not installed: {_INSTALL}") from error
    from packaging.version import Version

    if not Version(LOWEST) <= Version(found) < Version(BELOW):
        raise MissingExtra(
            f"verl {found} is installed; winnow.host.verl works with verl >={LOWEST},<{BELOW}, whose private methods "
            f"it knows: {_INSTALL}"
        )
