"""Write the tables of docs/methods.md from the registry: python scripts/methods_page.py.

The last column, what is ours, is written by hand in the page and kept. `tests/docs/test_methods.py` fails where page
and registry differ.
"""

from __future__ import annotations

import re
from pathlib import Path

import winnow
from winnow.cli.recipe_groups import GROUPS, grouped
from winnow.registry import names

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
BEGIN, END = "<!-- tables: scripts/methods_page.py -->", "<!-- end of the tables -->"
HEAD = "| recipe | paper | idea | status | what is ours |\n| --- | --- | --- | --- | --- |"


def ours_in(page: str) -> dict[str, str]:
    """Return the last column of the page, by recipe."""
    rows = re.findall(r"^\| `([^`]+)` \|.*\| ([^|]*) \|$", page, re.M)
    return {name: text.strip() for name, text in rows}


def linked(paper: str) -> str:
    """Return a source with a link behind every arXiv number."""
    return re.sub(r"arXiv (\d{4}\.\d{5})", r"[arXiv \1](https://arxiv.org/abs/\1)", paper)


def tables(ours: dict[str, str]) -> str:
    """Return the tables, a group of recipes each; a recipe that ``ours`` does not know gets a question mark."""
    parts = []
    for group, members in grouped(map(winnow.recipe, names())).items():
        parts += [f"## {group.capitalize()}: {GROUPS[group]}", "", HEAD]
        for recipe in members:
            about = recipe.about
            facts = [linked(about.paper), about.idea, about.status, ours.get(recipe.name, "?")]
            parts.append(f"| `{recipe.name}` | " + " | ".join(fact.replace("|", "\\|") for fact in facts[:3])
                         + f" | {facts[3]} |")  # fmt: skip
        parts.append("")
    return "\n".join(parts)


def written(page: str) -> str:
    """Return the page with fresh tables."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{tables(ours_in(page))}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
