"""The engine against a plain loop that runs the whole sequence through the model for every token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import CASES
from tests.engine.models import build, ragged_prompts
from winnow.engine import Sampler, Session
from winnow.engine.decoder import CopyingDecoder
from winnow.engine.noise import uniforms
from winnow.engine.sampling import SamplingRule, draw
from winnow.engine.shared import ARCHITECTURES, SharedPromptDecoder
from winnow.errors import ConfigError, SafetyStop
from winnow.rollout import Rollout

LIMIT = 12
STOP = (2, 7, 8)
SEED = (5, 11)


def reference(
    model: Any, prompt: list[int], rule: SamplingRule, index: int, number: int
) -> tuple[list[int], list[float]]:
    ids, logprobs = list(prompt), []
    noise = torch.from_numpy(uniforms(SEED, index, number, LIMIT))
    for step in range(LIMIT):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[:, -1]
        token, logprob = draw(logits, noise[step : step + 1], rule)
        ids.append(int(token))
        logprobs.append(float(logprob))
        if ids[-1] in STOP:
            break
    return ids[len(prompt) :], logprobs


def drain(session: Session) -> list[Rollout]:
    out: list[Rollout] = []
    while batch := session.advance():
        out += batch
    return out


def run(model: Any, *, slots: int = 5, late: bool = True, stop: tuple[int, ...] = STOP, **rule: Any) -> list[Rollout]:
    """Joins and leaves: fewer slots than rollouts, and requests that come while others are in flight."""
    sampler = Sampler(model, None, max_new_tokens=LIMIT, slots=slots, stop_ids=stop, **rule)
    session = sampler.session(ragged_prompts(), seed=SEED)
    if not late:
        session.submit([(0, 5), (1, 4), (2, 5), (3, 2)])
        return drain(session)
    session.submit([(0, 3), (1, 4)])
    out = session.advance()
    session.submit([(2, 5), (3, 2), (0, 2)])
    return out + drain(session)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [(kind, {}) for kind in (*sorted(ARCHITECTURES), "gemma")]
    + [("llama", {"temperature": 0.0}), ("llama", {"temperature": 0.7, "top_k": 10, "top_p": 0.8})],
)
def test_tokens_and_logprobs_are_those_of_a_full_forward(kind: str, rule: dict[str, Any]) -> None:
    model = build(kind)
    rollouts = run(model, **rule)
    assert sorted((r.prompt, r.draw) for r in rollouts) == [
        (prompt, number) for prompt, count in enumerate((5, 4, 5, 2)) for number in range(count)
    ]
    sampling = SamplingRule(**rule)
    for rollout in sorted(rollouts, key=lambda r: (r.draw, r.prompt))[:9]:
        ids, logprobs = reference(model, ragged_prompts()[rollout.prompt], sampling, rollout.prompt, rollout.draw)
        assert rollout.ids.tolist() == ids
        np.testing.assert_allclose(rollout.logprobs, logprobs, atol=1e-4)
        assert rollout.finish == ("stop" if ids[-1] in STOP else "length")
    assert len({len(r.ids) for r in rollouts}) > 1 or rule, "no rollout left early: the test shows nothing"


def test_the_architectures_pick_their_decoder() -> None:
    assert SharedPromptDecoder.fits(build("llama"))
    assert not SharedPromptDecoder.fits(build("gemma"))


def test_both_decoders_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("llama")
    shared = by_name(run(model))
    monkeypatch.setattr(SharedPromptDecoder, "fits", staticmethod(lambda model: False))
    copied = by_name(run(model))
    assert shared.keys() == copied.keys()
    for name in shared:
        np.testing.assert_array_equal(shared[name].ids, copied[name].ids)
        np.testing.assert_allclose(shared[name].logprobs, copied[name].logprobs, atol=1e-4)


def by_name(rollouts: list[Rollout]) -> dict[tuple[int, int], Rollout]:
    return {(rollout.prompt, rollout.draw): rollout for rollout in rollouts}


@pytest.mark.parametrize("slots", [1, 3, 64])
@pytest.mark.parametrize("late", [True, False])
def test_a_rollout_does_not_depend_on_what_shares_its_batch(slots: int, late: bool) -> None:
    model = build("llama")
    usual, other = by_name(run(model)), by_name(run(model, slots=slots, late=late))
    for name, rollout in usual.items():
        np.testing.assert_array_equal(rollout.ids, other[name].ids)
        np.testing.assert_allclose(rollout.logprobs, other[name].logprobs, atol=1e-4)


def test_draws_and_seeds_and_prompts_differ() -> None:
    model = build("llama")
    sampler = Sampler(model, None, max_new_tokens=LIMIT, stop_ids=())
    prompt = [3, 4, 5]
    seen = set()
    for seed in (0, 1, (0, 1), (1, 0)):
        session = sampler.session([prompt, prompt], seed=seed)
        session.submit([(0, 4), (1, 4)])
        seen |= {tuple(rollout.ids.tolist()) for rollout in drain(session)}
    assert len(seen) == 32


@pytest.mark.parametrize("decoder", [SharedPromptDecoder, CopyingDecoder])
def test_columns_are_shifted_when_a_long_session_reaches_their_end(
    decoder: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build("llama")
    monkeypatch.setattr(SharedPromptDecoder, "fits", staticmethod(lambda m: decoder is SharedPromptDecoder))
    shifts = []
    kept = decoder._shift
    monkeypatch.setattr(decoder, "_shift", lambda self, first: shifts.append(first) or kept(self, first))
    sampler = Sampler(model, None, max_new_tokens=LIMIT, slots=3, stop_ids=(2,))
    session = sampler.session(ragged_prompts(), seed=SEED)
    session.submit([(0, 12), (1, 12), (2, 12), (3, 12)])
    rollouts = drain(session)
    assert len(shifts) > 1
    wide = Sampler(model, None, max_new_tokens=LIMIT, slots=64, stop_ids=(2,)).session(ragged_prompts(), seed=SEED)
    wide.submit([(0, 12), (1, 12), (2, 12), (3, 12)])
    expected = by_name(drain(wide))
    for name, rollout in by_name(rollouts).items():
        np.testing.assert_array_equal(rollout.ids, expected[name].ids)
        np.testing.assert_allclose(rollout.logprobs, expected[name].logprobs, atol=1e-4)


def test_lopsided_groups_use_several_blocks_per_prompt() -> None:
    model = build("llama")
    prompts = ragged_prompts((3, 9, 5, 1, 4, 4, 2, 6, 7, 3))
    counts = [40, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    sampler = Sampler(model, None, max_new_tokens=LIMIT, slots=64, stop_ids=STOP)
    session = sampler.session(prompts, seed=SEED)
    session.submit(list(enumerate(counts)))
    for rollout in drain(session)[::4]:
        ids, logprobs = reference(model, prompts[rollout.prompt], SamplingRule(), rollout.prompt, rollout.draw)
        assert rollout.ids.tolist() == ids
        np.testing.assert_allclose(rollout.logprobs, logprobs, atol=1e-4)


def test_each_prompt_is_prefilled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("llama")
    seen: list[int] = []
    kept = SharedPromptDecoder.prefill
    monkeypatch.setattr(SharedPromptDecoder, "prefill", lambda self, e, p: seen.extend(map(len, p)) or kept(self, e, p))
    run(model, slots=5)
    assert sorted(seen) == [1, 3, 5, 9]


def test_more_prompts_than_slots() -> None:
    model = build("llama")
    prompts = ragged_prompts(tuple(range(1, 11)))
    sampler = Sampler(model, None, max_new_tokens=LIMIT, slots=3, stop_ids=STOP)
    session = sampler.session(prompts, seed=SEED)
    session.submit([(index, 1) for index in range(10)] + [(index, 1) for index in range(10)])
    assert (session.queued, session.in_flight, session.free) == (20, 0, 0)
    rollouts = drain(session)
    assert len(rollouts) == 20
    assert (session.queued, session.in_flight, session.free) == (0, 0, 3)
    assert session.tokens == sum(len(rollout.ids) for rollout in rollouts)
    for rollout in rollouts[::3]:
        assert (
            rollout.ids.tolist()
            == reference(model, prompts[rollout.prompt], SamplingRule(), rollout.prompt, rollout.draw)[0]
        )


def test_one_token_completions_never_take_a_slot() -> None:
    sampler = Sampler(build("llama"), None, max_new_tokens=1, slots=2, stop_ids=())
    session = sampler.session([[3, 4]], seed=0)
    session.submit([(0, 5)])
    rollouts = drain(session)
    assert [(len(r.ids), r.finish) for r in rollouts] == [(1, "length")] * 5


def test_nothing_submitted_gives_nothing() -> None:
    session = Sampler(build("llama"), None, max_new_tokens=4).session([[3]], seed=0)
    assert session.advance() == []
    session.submit([(0, 0)])
    assert session.advance() == []


def test_the_model_is_left_as_it_was() -> None:
    model = build("llama").train()
    model.lm_head.eval()
    usual = model.config._attn_implementation
    run(model)
    assert model.training and model.model.layers[0].training and not model.lm_head.training
    assert model.config._attn_implementation == usual
    assert not any(parameter.grad is not None for parameter in model.parameters())


def test_dropout_is_off_while_sampling() -> None:
    model = build("gpt2", resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)
    evaluated, trained = by_name(run(model)), by_name(run(model.train()))
    for name, rollout in evaluated.items():
        np.testing.assert_array_equal(rollout.ids, trained[name].ids)


def test_tok_01_ids_are_those_sampled_and_text_is_never_encoded() -> None:
    assert CASES["TOK-01"]["expected"]["reencode_called"] is False

    class OneWay:
        """Decodes every completion to the same text, so that encoding it again could not give the ids."""

        eos_token_id = 2

        def decode(self, ids: np.ndarray, *, skip_special_tokens: bool) -> str:
            assert skip_special_tokens
            return CASES["TOK-01"]["input"]["text"]

        def __call__(self, *args: Any, **kwargs: Any) -> None:
            raise AssertionError("the text was encoded")

        encode = __call__

    model = build("llama")
    session = Sampler(model, OneWay(), max_new_tokens=LIMIT).session(ragged_prompts(), seed=SEED)
    session.submit([(0, 2), (1, 2)])
    for rollout in drain(session):
        ids, _ = reference(model, ragged_prompts()[rollout.prompt], SamplingRule(), rollout.prompt, rollout.draw)
        assert rollout.text == "cannot"
        assert rollout.ids.tolist()[: len(ids)] == ids  # the reference stops at more ids


def test_default_stop_ids_are_the_tokenizers_and_the_generation_configs() -> None:
    class Words:
        eos_token_id = 4

    model = build("llama")
    model.generation_config.eos_token_id = [2, 9]
    assert Sampler(model, Words(), max_new_tokens=1).stop_ids == (2, 4, 9)
    assert Sampler(model, None, max_new_tokens=1).stop_ids == (2, 9)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"slots": 0}, "slots"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -1}, "top_k"),
    ],
)
def test_bad_settings(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        Sampler(build("llama"), None, **({"max_new_tokens": 4} | settings))


@pytest.mark.parametrize(
    ("prompts", "word"),
    [
        ([], "at least one prompt"),
        ([[3], []], "prompt 1 has no tokens"),
        ([[3, 40]], "vocabulary"),
        ([[3] * 120], "max_position_embeddings"),
    ],
)
def test_bad_prompts(prompts: list[list[int]], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        Sampler(build("llama"), None, max_new_tokens=LIMIT).session(prompts, seed=0)


def test_bad_requests_queue_nothing() -> None:
    session = Sampler(build("llama"), None, max_new_tokens=4).session([[3]], seed=0)
    for requests in ([(0, 2), (1, 1)], [(0, 2), (0, -1)], [(-1, 1)]):
        with pytest.raises(ConfigError):
            session.submit(requests)
        assert session.queued == 0


def test_broken_weights_stop_the_run() -> None:
    model = build("llama")
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(SafetyStop, match="not finite"):
        run(model)


def test_flash_attention_is_refused_by_name() -> None:
    model = build("llama")
    model.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ConfigError, match="attn_implementation='sdpa'"):
        Sampler(model, None, max_new_tokens=4)


def test_a_peft_model_samples_its_adapter() -> None:
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(build("llama"), peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"])).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    for rollout in run(model)[::3]:
        ids, _ = reference(model, ragged_prompts()[rollout.prompt], SamplingRule(), rollout.prompt, rollout.draw)
        assert rollout.ids.tolist() == ids
