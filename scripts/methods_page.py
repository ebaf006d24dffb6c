"""Write the tables of docs/methods.md from the registry: python scripts/methods_page.py.

The last column, what is ours, is written by hand in the page and kept, except that a dash becomes a question mark
where the docstring of a rule says that something is. `tests/docs/test_methods.py` fails where page and registry differ,
and at question marks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import winnow
from winnow import advantage, gating, selection
from winnow.cli.recipe_groups import GROUPS, grouped
from winnow.recipe import Recipe
from winnow.registry import names

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
BEGIN, END = "<!-- tables: scripts/methods_page.py -->", "<!-- end of the tables -->"
NOTHING = "–"
ROLES: dict[str, Mapping[str, object]] = {
    "curriculum": {},
    "allocation": {},
    "gate": gating.RULES,
    "selection": selection.RULES,
    "advantage": advantage.RULES,
    "recall": {},
}
HEAD = "| recipe | paper | idea | status | what is ours |\n| --- | --- | --- | --- | --- |"


def ours_in(page: str) -> dict[str, str]:
    """Return the last column of the page, by recipe."""
    rows = re.findall(r"^\| `([^`]+)` \|.*\| ([^|]*) \|$", page, re.M)
    return {name: text.strip() for name, text in rows}


def rules(recipe: Recipe) -> Iterator[object]:
    """Yield the rules of a recipe: functions, and parts with settings of their own."""
    for role, known in ROLES.items():
        part = getattr(recipe, role)
        rule = getattr(part, "rule", part)
        yield known.get(rule, rule) if isinstance(rule, str) else rule


def says_ours(recipe: Recipe) -> bool:
    """Return whether the docstring of a rule of the recipe says that something is ours."""
    return any(re.search(r"\bours\b", inspect.getdoc(rule) or "", re.IGNORECASE) for rule in rules(recipe) if rule)


def last_column(recipe: Recipe, ours: dict[str, str]) -> str:
    """Return what the page says is ours in a recipe, "?" where nobody has written it yet."""
    found = ours.get(recipe.name, "?")
    return "?" if found == NOTHING and says_ours(recipe) else found


def linked(paper: str) -> str:
    """Return a source with a link behind every arXiv number."""
    return re.sub(r"arXiv (\d{4}\.\d{5})", r"[arXiv \1](https://arxiv.org/abs/\1)", paper)


def tables(ours: dict[str, str]) -> str:
    """Return the tables, a group of recipes each; see `last_column` for ``ours``."""
    parts = []
    for group, members in grouped(map(winnow.recipe, names())).items():
        parts += [f"## {group.capitalize()}: {GROUPS[group]}", "", HEAD]
        for recipe in members:
            about = recipe.about
            facts = [linked(about.paper), about.idea, about.status, last_column(recipe, ours)]
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
