"""``python -m winnow.cli``: the same as ``winnow``."""

from winnow.cli.app import main

main()
