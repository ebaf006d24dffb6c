"""winnow in a tinker-style loop: sample, forward_backward, optim_step (tinker 0.38.0)."""

import tinker
from tinker import types

import winnow


def train_step(recipe, sampling_client, training_client, prompts, score, sampling_params, adam, seed, budget=None):
    """Draw one step's rollouts, train on those the recipe keeps, and return its batch.

    Args:
        recipe: from `winnow.recipe`; groups may end up of any size.
        sampling_client: `tinker.SamplingClient` with the current weights.
        training_client: `tinker.TrainingClient`.
        prompts: `tinker.ModelInput` of each prompt.
        score: (prompt index, completion tokens) -> reward, or None when it cannot tell.
        sampling_params: `tinker.SamplingParams`.
        adam: `tinker.AdamParams`.
        seed: of the step.
        budget: `winnow.Budget`; n rollouts per prompt if None.
    """
    step, told = recipe.begin(len(prompts), budget=budget, seed=seed), []
    while not step.done:
        futures = [
            (index, sampling_client.sample(prompts[index], num_samples=count, sampling_params=sampling_params))
            for index, count in step.ask()
        ]
        for index, future in futures:
            drawn = list(future.result().sequences)
            rewards = [score(index, sequence.tokens) for sequence in drawn]
            step.tell([index] * len(drawn), rewards, tokens=[len(sequence.tokens) for sequence in drawn])
            told += [(index, sequence) for sequence in drawn]
    batch = step.finish()
    data = []
    for row, advantage, weight in zip(batch.rows, batch.advantages, batch.weights, strict=True):
        if advantage != 0:
            index, sequence = told[row]
            data.append(datum(prompts[index], sequence, float(advantage * weight)))
    if data:  # a step without signal leaves the weights alone
        done = training_client.forward_backward(data, loss_fn="importance_sampling")
        moved = training_client.optim_step(adam)
        done.result()
        moved.result()
    return batch


def datum(prompt: tinker.ModelInput, sequence: types.SampledSequence, advantage: float) -> types.Datum:
    """Return prompt and completion shifted by one; the advantage on completion tokens only."""
    tokens, before = sequence.tokens, prompt.length - 1
    columns = {
        "target_tokens": [0] * before + tokens,
        "logprobs": [0.0] * before + sequence.logprobs,
        "advantages": [0.0] * before + [advantage] * len(tokens),
    }
    return types.Datum(
        model_input=prompt.append(types.EncodedTextChunk(tokens=tokens[:-1])),
        loss_fn_inputs=columns,
    )


def main():
    """Show where the pieces come from; needs a tinker service and its key."""
    service = tinker.ServiceClient()
    training = service.create_lora_training_client(base_model="Qwen/Qwen3.5-9B-Base", rank=32).result()
    tokenizer = training.get_tokenizer()
    questions = [f"{a} + {b} =" for a in range(10) for b in range(10)]
    prompts = [types.ModelInput.from_ints(tokenizer.encode(question)) for question in questions]

    def score(index, tokens):
        return float(tokenizer.decode(tokens).strip().startswith(str(sum(divmod(index, 10)))))

    for number in range(10):
        sampling = training.save_weights_and_get_sampling_client().result()
        limits, adam = types.SamplingParams(max_tokens=8), types.AdamParams(learning_rate=4e-5)
        batch = train_step(winnow.recipe("vigor"), sampling, training, prompts, score, limits, adam, seed=number)
        print(batch.ledger.rollouts, "rollouts,", batch.ledger.trained, "trained")


if __name__ == "__main__":
    main()
