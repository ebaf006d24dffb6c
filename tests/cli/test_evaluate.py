import pytest

from winnow.cli.evaluate import resolve
from winnow.task.mix import POLICY


@pytest.fixture
def run(tmp_path):
    (tmp_path / "checkpoints" / "step-000003").mkdir(parents=True)
    (tmp_path / "checkpoints" / "step-000003" / "state.json").write_text("{}")
    (tmp_path / "config.toml").write_text(
        "prompts_per_step = 8\neval_samples = 2\nbetas = [0.8, 0.9]\n"
        "[task_options]\ntrain_size = 20\n[recipe_options]\nddof = 1\n"
    )
    return tmp_path


def test_a_run_on_other_data_keeps_its_policy_but_not_the_options_of_its_task(run):
    config, checkpoint = resolve(run, None, {"task": "other.jsonl", "task_options.reward": "exact"})
    assert checkpoint.name == "step-000003"
    assert (config.task, config.task_options, config.model) == ("other.jsonl", {"reward": "exact"}, str(POLICY))
    assert (config.eval_samples, config.betas, config.recipe_options) == (2, (0.8, 0.9), {"ddof": 1})


def test_a_run_on_its_own_task_keeps_everything(run):
    config, _ = resolve(run, None, {"task": "mix"})
    assert config.task_options == {"train_size": 20} and config.model is None


def test_an_evaluation_needs_prompts(winnow, run):
    told = winnow("eval", run, "--prompts", 0)
    assert told.code == 2 and "--prompts of at least 1" in told.err
