"""The distribution tokens are drawn from."""

from __future__ import annotations

import numpy as np
import torch

from winnow.engine.noise import uniforms
from winnow.engine.sampling import SamplingRule, draw, log_distribution


def test_top_k_and_top_p_are_renormalised() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    np.testing.assert_allclose(
        log_distribution(logits, SamplingRule(top_k=2)).exp()[0], [0.625, 0.375, 0, 0], atol=1e-6
    )
    np.testing.assert_allclose(
        log_distribution(logits, SamplingRule(top_p=0.79)).exp()[0], [0.625, 0.375, 0, 0], atol=1e-6
    )
    kept = log_distribution(logits, SamplingRule(top_p=0.81)).exp()[0]
    np.testing.assert_allclose(kept, np.array([0.5, 0.3, 0.15, 0]) / 0.95, atol=1e-6)
    np.testing.assert_allclose(log_distribution(logits, SamplingRule(top_p=0.1)).exp()[0], [1, 0, 0, 0])


def test_top_k_above_the_vocabulary_keeps_everything() -> None:
    logits = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        log_distribution(logits, SamplingRule(top_k=9)), log_distribution(logits, SamplingRule())
    )


def test_ties_at_the_edge_keep_the_lower_id() -> None:
    kept = log_distribution(torch.zeros(1, 4), SamplingRule(top_k=2)).exp()[0]
    np.testing.assert_allclose(kept, [0.5, 0.5, 0, 0])


def test_temperature_of_the_logprob_is_that_of_the_sampler() -> None:
    ids, logprobs = draw(torch.tensor([[2.0, 0.0]]), torch.tensor([0.5]), SamplingRule(temperature=0.5))
    assert ids.tolist() == [0]
    np.testing.assert_allclose(logprobs, [-0.01815], atol=1e-5)


def test_the_inverse_cdf_gives_the_probabilities() -> None:
    probs = torch.tensor([0.1, 0.0, 0.6, 0.3])
    noise = torch.from_numpy(uniforms(0, 0, 0, 40_000))
    ids, _ = draw(probs.log().expand(len(noise), 4), noise, SamplingRule())
    shares = torch.bincount(ids, minlength=4) / len(noise)
    np.testing.assert_allclose(shares, probs, atol=0.01)


def test_removed_tokens_are_never_drawn_at_either_end() -> None:
    logits = torch.tensor([[-torch.inf, 1.0, 1.0, -torch.inf]])
    for noise, expected in ((0.0, 1), (1.0 - 2**-24, 2)):
        ids, logprobs = draw(logits, torch.tensor([noise]), SamplingRule())
        assert ids.tolist() == [expected]
        assert torch.isfinite(logprobs).all()


def test_noise_is_a_function_of_seed_prompt_and_draw() -> None:
    base = uniforms((1, 2), 3, 4, 8)
    np.testing.assert_array_equal(base, uniforms([1, 2], 3, 4, 8))
    np.testing.assert_array_equal(base[:5], uniforms((1, 2), 3, 4, 5))
    for other in (((1, 2), 3, 5), ((1, 2), 4, 4), ((1, 3), 3, 4), ((1,), 2, 4), (1, 3, 4)):
        assert not np.array_equal(base, uniforms(*other, 8))  # type: ignore[arg-type]
    assert ((base >= 0) & (base < 1)).all()
