"""Continuations: prompts added to a session, which share the cache of what they continue."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine.models import build, ragged_prompts
from tests.engine.test_session import LIMIT, STOP, drain
from winnow.engine import Sampler
from winnow.errors import ConfigError
from winnow.objective.logprobs import completion_logprobs


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_a_greedy_continuation_is_the_rest_of_the_rollout(architecture: str) -> None:
    sampler = Sampler(build(architecture), None, max_new_tokens=LIMIT, temperature=0.0, slots=4, stop_ids=())
    session = sampler.session(ragged_prompts(), seed=0, forks=True)
    session.submit([(0, 1), (1, 1), (2, 1)])
    whole = {rollout.prompt: rollout for rollout in drain(session)}
    cuts = {0: 5, 1: 0, 2: LIMIT - 1}
    places = {session.extend(prompt, whole[prompt].ids[:cut].tolist()): prompt for prompt, cut in cuts.items()}
    session.submit([(place, 2) for place in places])
    parts = drain(session)
    assert len(parts) == 6
    for part in parts:
        prompt = places[part.prompt]
        assert part.ids.tolist() == whole[prompt].ids[cuts[prompt] :].tolist()
        assert part.logprobs == pytest.approx(whole[prompt].logprobs[cuts[prompt] :], abs=1e-4)
        assert part.finish == "length"


def test_continuations_have_the_probabilities_of_the_whole_sequence() -> None:
    model = build("llama")
    sampler = Sampler(model, None, max_new_tokens=LIMIT, slots=3, stop_ids=STOP)
    prompts = ragged_prompts()
    session = sampler.session(prompts, seed=3, forks=True)
    session.submit([(prompt, 3) for prompt in range(len(prompts))])
    roots = [rollout for rollout in drain(session) if len(rollout.ids) > 2]
    behind = {session.extend(root.prompt, root.ids[:2].tolist()): root for root in roots}
    again = {}
    session.submit([(place, 4) for place in behind])
    for part in drain(session):
        root = behind[part.prompt]
        before = [*prompts[root.prompt], *root.ids[:2].tolist()]
        assert len(part.ids) <= LIMIT - 2
        exact = completion_logprobs(model, [before], [part.ids.tolist()])[0].detach().numpy()
        assert part.logprobs == pytest.approx(exact, abs=1e-4)
        if len(part.ids) > 1 and part.finish == "stop":
            again[session.extend(part.prompt, part.ids[:1].tolist())] = (before, part)
    session.submit([(place, 1) for place in again])
    for part in drain(session):
        before, above = again[part.prompt]
        exact = completion_logprobs(model, [[*before, int(above.ids[0])]], [part.ids.tolist()])[0].detach().numpy()
        assert part.logprobs == pytest.approx(exact, abs=1e-4)
    assert again


def test_draws_of_a_fork_depend_on_nothing_else_in_the_batch() -> None:
    texts = []
    for others in (0, 5):
        session = Sampler(build("llama"), None, max_new_tokens=LIMIT, slots=4, stop_ids=STOP).session(
            ragged_prompts(), seed=9, forks=True
        )
        place = session.extend(1, [3, 4])
        session.submit([(0, others), (place, 3)])
        texts.append(sorted(r.ids.tolist() for r in drain(session) if r.prompt == place))
    assert texts[0] == texts[1]


def test_what_cannot_be_continued_is_refused() -> None:
    sampler = Sampler(build("llama"), None, max_new_tokens=3, stop_ids=())
    with pytest.raises(ConfigError, match="forks=True"):
        sampler.session([[3, 4]], seed=0).extend(0, [5])
    session = sampler.session([[3, 4]], seed=0, forks=True)
    with pytest.raises(ConfigError, match="leave none of the 3"):
        session.extend(0, [5, 6, 7])
    place = session.extend(0, np.array([5, 6]).tolist())
    session.submit([(place, 2)])
    assert [len(rollout.ids) for rollout in drain(session)] == [1, 1]
    assert torch.is_grad_enabled()
