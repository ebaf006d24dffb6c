"""The code of docs/your-own-loop.md runs as it stands; that of docs/frameworks is that of examples/frameworks."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/your-own-loop.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs/frameworks").glob("*.md"))


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_every_block_runs(capsys):
    assert len(blocks(TEXT)) == 2
    for block in blocks(TEXT):
        exec(compile(block, "docs/your-own-loop.md", "exec"), {})
    assert re.match(r"384 rollouts, [1-9]\d* trained\n", capsys.readouterr().out)


def test_every_framework_has_a_page_an_adapter_and_a_link():
    names = [page.stem for page in PAGES]
    adapters = [path.stem for path in (ROOT / "examples/frameworks").glob("*.py")]
    assert sorted(f"{name.replace('-', '_')}_winnow" for name in names) == sorted(adapters)
    assert sorted(re.findall(r"\]\(frameworks/(.*?)\.md\)", TEXT)) == sorted(names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_show_the_code_of_the_adapter(page):
    text = page.read_text(encoding="utf-8")
    adapter = (ROOT / "examples/frameworks" / f"{page.stem.replace('-', '_')}_winnow.py").read_text(encoding="utf-8")
    lines = [line.strip() for line in adapter.splitlines()]
    for block in blocks(text):
        shown = [line.strip() for line in block.splitlines()]
        assert any(lines[i : i + len(shown)] == shown for i in range(len(lines))), f"not in the adapter:\n{block}"
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        path = page.parent / target
        assert path.exists(), target
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M) if anchor else []
        assert not anchor or anchor in [heading.lower().replace(" ", "-") for heading in headings]
