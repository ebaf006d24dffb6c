import json
import math
import os
from random import Random

import pytest
import torch

from winnow import task
from winnow.model.load import SHIPPED, load
from winnow.reward import Item
from winnow.task import mix
from winnow.task.arithmetic import LEVELS, problems

RECORD = json.loads((SHIPPED / "pass_rates.json").read_text())
PROBLEMS, SAMPLES = 48, 8


@pytest.fixture(scope="module")
def policy():
    return load(None, device="cpu")


@pytest.fixture(scope="module")
def rates(policy):
    """Pass rates per level by `generate` of transformers, which shares no code with our sampler."""
    torch.manual_seed(0)
    tokenizer = policy.tokenizer
    measured = {}
    for level in LEVELS:
        stream = problems(level, Random(f"test/{level}"))
        prompts = [mix.prompt_of(str(index), next(stream)) for index in range(PROBLEMS)]
        batch = tokenizer([p.content for p in prompts], padding=True, return_tensors="pt")
        ids = policy.model.generate(
            batch["input_ids"],
            attention_mask=batch["attention_mask"],
            do_sample=True,
            top_k=0,
            max_new_tokens=16,
            num_return_sequences=SAMPLES,
        )
        texts = tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        items = [Item(prompts[i // SAMPLES], text) for i, text in enumerate(texts)]
        verdicts = [verdict.outcome for verdict in mix.Arithmetic().score(items)]
        measured[level] = torch.tensor(verdicts).reshape(PROBLEMS, SAMPLES)
    return measured


@pytest.mark.parametrize("level", LEVELS)
def test_pass_rate_is_the_one_on_record(rates, level):
    outcomes = rates[level]
    error = max(outcomes.mean(dim=1).std().item() / math.sqrt(PROBLEMS), 0.01)
    assert outcomes.mean().item() == pytest.approx(RECORD[level]["sampled"], abs=4 * error)


@pytest.mark.parametrize(("spread", "share"), [(0, 0.2), (0.5, 0.5), (1, 0.8)])
def test_spread_sets_the_share_of_groups_without_signal(rates, spread, share):
    weights = mix.shares(spread)
    recorded = sum(weight * RECORD[level]["no_signal_at_8"] for level, weight in weights.items())
    assert recorded == pytest.approx(share, abs=0.03)
    tied = {level: (x.amin(dim=1) == x.amax(dim=1)).double().mean().item() for level, x in rates.items()}
    measured = sum(weight * tied[level] for level, weight in weights.items())
    assert measured == pytest.approx(share, abs=0.08)


def test_skill_is_latent():
    weights = mix.shares(0.5)
    sampled, greedy = (sum(w * RECORD[x][how] for x, w in weights.items()) for how in ("sampled", "greedy"))
    assert 0.35 < sampled < 0.5
    assert greedy > sampled + 0.2


def test_size(policy):
    assert 0.9e6 < sum(p.numel() for p in policy.model.parameters()) < 1.1e6
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) < 5e6
    assert (SHIPPED / "model.safetensors").stat().st_size < 2.5e6


def test_loads_with_transformers_alone(monkeypatch):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    tokenizer = AutoTokenizer.from_pretrained(SHIPPED)
    model = AutoModelForCausalLM.from_pretrained(SHIPPED, dtype=torch.float32)
    assert model.config.eos_token_id == tokenizer.eos_token_id
    assert model.config.pad_token_id == tokenizer.pad_token_id
    assert tokenizer.decode([tokenizer.eos_token_id], skip_special_tokens=True) == ""


@pytest.mark.parametrize("spread", [0, 1])
def test_tokenizer_reads_every_text_of_the_task(policy, spread):
    tokenizer = policy.tokenizer
    loaded = task.load("mix", options={"spread": spread, "train_size": 1000})
    for prompt in (*loaded.train, *loaded.test):
        for text in (prompt.text, prompt.answer):
            ids = tokenizer(text)["input_ids"]
            assert tokenizer.unk_token_id not in ids
            assert len(ids) == len(text)
            assert tokenizer.decode(ids) == text


def test_tokenizer_reads_printable_ascii(policy):
    text = "".join(map(chr, range(32, 127))) + "\n"
    ids = policy.tokenizer(text)["input_ids"]
    assert policy.tokenizer.decode(ids) == text
    assert policy.tokenizer("é")["input_ids"] == [policy.tokenizer.unk_token_id]
