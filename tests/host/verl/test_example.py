"""The GSM8K example: its data script, and its settings composed by hydra and checked as the trainer checks them."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "verl_gsm8k"
QUESTION = {"question": "Two and two? ", "answer": "2 + 2 = <<2+2=4>>4\n#### 1,004"}


def prepare():
    found = importlib.util.spec_from_file_location("prepare", FOLDER / "prepare.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_rows_have_the_columns_of_verl(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "test.jsonl").write_text(json.dumps(QUESTION) + "\n\n" + json.dumps(QUESTION) + "\n")
    assert prepare().convert(tmp_path, tmp_path / "out", "test") == 2
    rows = parquet.read_table(tmp_path / "out" / "test.parquet").to_pylist()
    assert rows[1]["data_source"] == "openai/gsm8k"
    assert rows[1]["reward_model"] == {"ground_truth": "1004", "style": "rule"}
    assert rows[1]["extra_info"] == {"index": 1, "split": "test"}
    (message,) = rows[1]["prompt"]
    assert message["role"] == "user" and message["content"].startswith("Two and two?\n")


def settings():
    """The lines of ``overrides.sh``, as bash gives them to verl."""
    script = f'source {FOLDER / "overrides.sh"}; printf "%s\\n" "${{WINNOW[@]}}" "${{VERL[@]}}"'
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_scorer_of_verl_reads_the_gold_answer():
    gsm8k = pytest.importorskip("verl.utils.reward_score.gsm8k")
    row = prepare().row(**QUESTION, split="test", index=0)
    assert gsm8k.compute_score("so it is\n#### 1004", row["reward_model"]["ground_truth"]) == 1.0
    assert gsm8k.compute_score("so it is\n#### 1005", row["reward_model"]["ground_truth"]) == 0.0


def test_the_settings_compose_and_pass_the_checks():
    pytest.importorskip("verl")
    from tests.host.verl.rig import compose
    from winnow.host.verl.setup import Setup

    config = compose(*settings())
    setup = Setup.read(config)
    assert setup.recipe.name == "vigor+pods" and setup.prompts == 128 and setup.mini_batch == 512
    config.winnow.recipe = "grpo"
    config.winnow.settings = None
    with pytest.raises(ValueError, match="trains all n=8"):
        Setup.read(config)
