"""Log-probabilities of completions against the model's own logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import CASES
from tests.engine.models import build, ragged_prompts
from winnow.engine import Sampler
from winnow.objective import completion_logprobs
from winnow.objective import logprobs as logprobs_module
from winnow.objective.head import split

PROMPTS = [ragged_prompts()[index] for index in (0, 0, 1, 1, 1, 2, 3, 3)]
COMPLETIONS = [[3] * length for length in (4, 1, 7, 0, 3, 2, 5, 6)]


def expected(model: Any, temperature: float) -> torch.Tensor:
    out = torch.zeros(len(PROMPTS), 7, dtype=next(model.parameters()).dtype)
    for row, (prompt, completion) in enumerate(zip(PROMPTS, COMPLETIONS, strict=True)):
        logits = model(input_ids=torch.tensor([prompt + completion])).logits[0] / temperature
        logp = logits.log_softmax(-1)
        for t, token in enumerate(completion):
            out[row, t] = logp[len(prompt) + t - 1, token]
    return out


def gradients(model: Any, value: torch.Tensor) -> list[torch.Tensor]:
    weights = torch.linspace(-1, 1, value.numel(), dtype=value.dtype).view_as(value)
    return list(torch.autograd.grad((value * weights).sum(), list(model.parameters())))


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2", "gemma"])
@pytest.mark.parametrize("share", [True, False])
def test_values_and_gradients_are_those_of_the_full_logits(kind: str, share: bool) -> None:
    model = build(kind).double()
    got = completion_logprobs(model, PROMPTS, COMPLETIONS, temperature=0.7, chunk=5, share_prompts=share)
    want = expected(model, 0.7)
    torch.testing.assert_close(got, want, atol=1e-6, rtol=1e-6)
    for a, b in zip(gradients(model, got), gradients(model, want), strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_recomputing_the_head_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("llama")
    plain = completion_logprobs(model, PROMPTS, COMPLETIONS, chunk=4)
    expected_gradients = gradients(model, plain)
    monkeypatch.setattr(logprobs_module, "RECOMPUTE_LOGITS", 0)
    again = completion_logprobs(model, PROMPTS, COMPLETIONS, chunk=4)
    torch.testing.assert_close(again, plain)
    for a, b in zip(gradients(model, again), expected_gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_a_model_that_changes_its_logits_after_the_head_is_not_split() -> None:
    import transformers

    config = transformers.Gemma2Config(
        vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, final_logit_softcapping=0.5, sliding_window=64,
        attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.Gemma2ForCausalLM(config).eval()
    assert split(model) is None
    torch.testing.assert_close(
        completion_logprobs(model, PROMPTS, COMPLETIONS), expected(model, 1.0), atol=1e-5, rtol=1e-5
    )
    assert split(build("llama")) is not None


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.6}, {"temperature": 1.5}])
def test_they_are_the_samplers_so_the_first_ratio_is_one(settings: dict[str, float]) -> None:
    model = build("llama")
    session = Sampler(model, None, max_new_tokens=10, stop_ids=(2,), **settings).session(ragged_prompts(), seed=3)  # type: ignore[arg-type]
    session.submit([(0, 4), (1, 4), (3, 4)])
    while batch := session.advance():
        prompts = [ragged_prompts()[rollout.prompt] for rollout in batch]
        got = completion_logprobs(model, prompts, [r.ids.tolist() for r in batch], **settings)
        for row, rollout in enumerate(batch):
            ratio = np.exp(got[row, : len(rollout.ids)].detach().numpy() - rollout.logprobs)
            np.testing.assert_allclose(ratio, 1.0, atol=1e-4)


def test_loss_06_the_temperature_of_the_sampler() -> None:
    case = CASES["LOSS-06"]
    logits = torch.tensor([case["input"]["logits"]])
    got = logprobs_module._token_logprobs(
        logits, torch.tensor([case["input"]["sampled"]]), case["input"]["temperature"]
    )
    assert float(got[0]) == pytest.approx(case["expected"]["logprob"], abs=1e-5)


def test_no_completion_tokens_at_all() -> None:
    assert completion_logprobs(build("llama"), [[3], [4]], [[], []]).shape == (2, 0)


def test_bad_input() -> None:
    model = build("llama")
    with pytest.raises(ValueError, match="prompt has no tokens"):
        completion_logprobs(model, [[]], [[3]])
    with pytest.raises(ValueError, match="temperature"):
        completion_logprobs(model, [[3]], [[3]], temperature=0.0)


def test_a_peft_model_is_split_and_keeps_its_adapter() -> None:
    peft = pytest.importorskip("peft")
    bare = completion_logprobs(build("llama"), PROMPTS, COMPLETIONS)
    model = peft.get_peft_model(build("llama"), peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"])).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    assert split(model) is not None
    got = completion_logprobs(model, PROMPTS, COMPLETIONS)
    torch.testing.assert_close(got, expected(model, 1.0), atol=1e-4, rtol=1e-4)
    assert not torch.allclose(got, bare, atol=1e-3)
