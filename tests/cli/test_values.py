import pytest

from winnow.cli.options import paths, settings, task_names
from winnow.cli.values import arm, assignment, literal
from winnow.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8), ("0.5", 0.5), ("1e-3", 1e-3), ("true", True), ("[1, 2]", [1, 2]), ('"8"', "8"),
        ("token", "token"), ("a=b", "a=b"), ("rewards.py:score", "rewards.py:score"), ("", ""),
        ("1\nx = 2", "1\nx = 2"),
    ],
)  # fmt: skip
def test_text_is_read_as_the_value_it_looks_like(text, value):
    got = literal(text)
    assert got == value and type(got) is type(value)


def test_assignments():
    assert assignment("lr = 2e-3", "--set") == ("lr", 2e-3)
    assert assignment("prompts=64", "--set") == ("prompts_per_step", 64)
    assert assignment("task_options.template=a=b", "--set") == ("task_options.template", "a=b")
    for text in ("lr", "=3", " =3"):
        with pytest.raises(ConfigError, match="expected key=value"):
            assignment(text, "--set")


def test_an_arm_tells_settings_from_options_of_its_recipe():
    got = arm("pods:n=32,m=0.25,lr=2e-3,prompts=4,gate=zero_signal,recipe_options.eps=0")
    assert got.label == "pods:n=32,m=0.25,lr=2e-3,prompts=4,gate=zero_signal,recipe_options.eps=0"
    assert got.settings == {
        "recipe": "pods", "n": 32, "m": 0.25, "lr": 2e-3, "prompts_per_step": 4,
        "recipe_options.gate": "zero_signal", "recipe_options.eps": 0,
    }  # fmt: skip
    assert arm("vigor+pods").settings == {"recipe": "vigor+pods"}
    assert arm("grpo:betas=[0.8, 0.9],n=2").settings["betas"] == [0.8, 0.9]


@pytest.mark.parametrize("text", ["pods:", "pods:n", "pods:n=2,,m=2"])
def test_a_torn_arm_is_refused(text):
    with pytest.raises(ConfigError):
        arm(text)


def test_options_not_given_stay_out_and_task_options_get_their_table():
    given = settings([("lr", None), ("m", "0.5"), ("prompt_column", "question"), ("seed", 0)], ["lr=1"])
    assert given == {"m": 0.5, "task_options.prompt_column": "question", "seed": 0, "lr": 1}


def test_paths_complete(tmp_path):
    (tmp_path / "data.jsonl").write_text("")
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").write_text("")
    assert list(paths(f"{tmp_path}/")) == [f"{tmp_path}/data.jsonl", f"{tmp_path}/deep/"]
    assert list(paths(f"{tmp_path}/da")) == [f"{tmp_path}/data.jsonl"]
    assert list(paths(f"{tmp_path}/no/such")) == []
    assert "mix" in list(task_names("m"))
