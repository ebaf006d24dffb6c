"""The command line. `main` is what ``winnow`` runs; every command has a file of its own here."""

from winnow.cli.app import main, run

__all__ = ["main", "run"]
