import numpy as np
import pytest

import winnow
from winnow.candidates import Candidates, identities
from winnow.errors import ConfigError
from winnow.features import hashed
from winnow.memory import Memory


def test_memory_grows_and_reads_what_was_never_written():
    memory = Memory(wins=1.0, losses=2.0)
    ids = np.arange(100) * 7
    assert memory.get("wins", ids).tolist() == [1.0] * 100 and len(memory) == 0
    memory.add("wins", ids[:60], 0.5)
    memory.set("losses", ids[40:], np.arange(60))
    assert memory.get("wins", ids).tolist() == [1.5] * 60 + [1.0] * 40
    assert memory.get("losses", ids).tolist() == [2.0] * 40 + list(range(60))
    assert memory.known(np.array([0, 1])).tolist() == [True, False] and 7 in memory
    again = Memory(wins=1.0, losses=2.0)
    again.load_state_dict(memory.state_dict())
    assert again.state_dict() == memory.state_dict()
    assert again.ids.tolist() == memory.ids.tolist()
    again.load_state_dict(Memory(wins=1.0, losses=2.0).state_dict())
    again.add("wins", ids, 1.0)
    assert again.column("wins").tolist() == [2.0] * 100
    with pytest.raises(ConfigError, match="this rule"):
        Memory(wins=1.0).load_state_dict(memory.state_dict())


def test_ids_are_numbers_or_texts():
    assert identities([3, -1]).tolist() == [3, -1]
    assert identities(["a", "b"]).tolist() == identities(["a", "b"]).tolist() and len(set(identities("ab"[0:1]))) == 1
    assert (identities(["a", "ü"]) >= 0).all()
    with pytest.raises(ConfigError, match="whole numbers or texts"):
        identities([1.5])
    with pytest.raises(ConfigError, match="comes twice"):
        Candidates.of([1, 2, 1])
    with pytest.raises(ConfigError, match=r"shape \(2, D\)"):
        Candidates.of([1, 2], [[1.0]])
    with pytest.raises(ConfigError, match="NaN"):
        Candidates.of([1], [[np.nan]])


def test_a_recipe_that_remembers_needs_ids():
    recipe = winnow.recipe("greso")
    assert recipe.remembers and not winnow.recipe("vigor").remembers
    with pytest.raises(ConfigError, match="remembers prompts"):
        recipe.begin(4)
    with pytest.raises(ConfigError, match="2 ids for 4 prompts"):
        recipe.begin(4, ids=[1, 2])


def test_a_column_is_asked_for_by_name():
    def by_score(rewards, m, groups=None, *, seed=None, scores):
        keep = np.flatnonzero(scores > 0)
        return winnow.selection.Selection(keep, np.ones(len(keep)))

    by_score.needs = ("scores",)
    recipe = winnow.recipe("pods", selection=by_score, n=2, m=2)
    assert recipe.needs == ("scores",)
    step = recipe.begin(2)
    step.ask()
    with pytest.raises(ConfigError, match=r"needs tell\(..., scores=...\)"):
        step.tell([0, 0], [1, 0])
    with pytest.raises(ConfigError, match="did you mean"):
        step.tell([0, 0], [1, 0], score=[1, 1])
    with pytest.raises(ValueError, match="shape"):
        step.tell([0, 0], [1, 0], scores=[1])
    step.tell([1, 0], [1, 0], scores=[1, 0])
    step.tell([1, 0], [0, 1], scores=[1, 1], answers=["a", "b"])
    assert step.finish().rows.tolist() == [0, 2, 3]


def test_a_recipe_object_is_copied_with_what_it_remembers():
    first = winnow.recipe("greso")
    second = winnow.recipe(first)
    step = second.begin(2, ids=[1, 2])
    step.tell([0] * step.ask().total, [1.0] * 8)
    step.finish()
    assert first.state_dict() != second.state_dict()


def test_prompts_with_common_words_lie_closer():
    near, far, empty = hashed(["What is 12 + 5?", "What is 13 + 5?"]), hashed(["Name a river in Peru"]), hashed([""])
    assert near[0] @ near[1] > 0.6 > far[0] @ near[0] and not empty.any()
