"""The code of docs/your-own-loop.md runs as it stands."""

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs/your-own-loop.md").read_text(encoding="utf-8")


def test_every_block_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/your-own-loop.md", "exec"), {})
    assert re.match(r"384 rollouts, [1-9]\d* trained\n", capsys.readouterr().out)
