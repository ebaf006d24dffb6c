import json
from random import Random

import pytest
import torch

from winnow.model.load import load
from winnow.reward import Item
from winnow.reward.code import Code, isolation
from winnow.task import code
from winnow.task.code_problems import LEVELS, problems

RECORD = json.loads((code.POLICY / "pass_rates.json").read_text())
PROBLEMS, SAMPLES = 24, 4


@pytest.fixture(scope="module")
def policy():
    return load(code.POLICY, device="cpu")


def test_size(policy):
    assert 0.9e6 < sum(p.numel() for p in policy.model.parameters()) < 1.1e6
    assert sum(file.stat().st_size for file in code.POLICY.iterdir()) < 5e6


def test_skill_is_latent():
    sampled, greedy = (sum(RECORD[level][how] for level in LEVELS) / len(LEVELS) for how in ("sampled", "greedy"))
    assert 0.25 < sampled < 0.6
    assert greedy > sampled + 0.1


def test_tokenizer_reads_every_text_of_the_task(policy):
    for level in LEVELS:
        stream = problems(level, Random(f"tokens/{level}"))
        for _ in range(100):
            prompt = code.prompt_of("p", next(stream))
            text = prompt.text + prompt.answer
            ids = policy.tokenizer(text)["input_ids"]
            assert policy.tokenizer.unk_token_id not in ids
            assert policy.tokenizer.decode(ids) == text


@pytest.mark.slow
@pytest.mark.skipif(not isolation().available, reason="isolation is not available")
def test_pass_rate_is_the_one_on_record(policy):
    torch.manual_seed(0)
    items = []
    for level in LEVELS:
        stream = problems(level, Random(f"test/{level}"))
        prompts = [code.prompt_of(f"{level}:{index}", next(stream)) for index in range(PROBLEMS)]
        batch = policy.tokenizer([prompt.content for prompt in prompts], padding=True, return_tensors="pt")
        ids = policy.model.generate(
            batch["input_ids"],
            attention_mask=batch["attention_mask"],
            do_sample=True,
            top_k=0,
            max_new_tokens=64,
            num_return_sequences=SAMPLES,
        )
        texts = policy.tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        items += [Item(prompts[index // SAMPLES], text) for index, text in enumerate(texts)]
    outcomes = [verdict.outcome for verdict in Code(extract="continue").score(items)]
    recorded = sum(RECORD[level]["sampled"] for level in LEVELS) / len(LEVELS)
    assert sum(outcomes) / len(outcomes) == pytest.approx(recorded, abs=0.09)
