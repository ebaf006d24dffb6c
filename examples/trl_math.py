"""Train a policy on sums with TRL and a recipe of winnow; the difference to plain TRL is the three lines marked below.

    python examples/trl_math.py --steps 20

It runs on a CPU with the small policy that ships with winnow. For a model and data of your own replace ``MODEL`` and
the dataset, and drop the settings that are there for the CPU; everything else stays.
"""

import argparse

from datasets import Dataset
from trl import GRPOConfig

from winnow.host.trl import WinnowGRPOTrainer  # 1: from trl import GRPOTrainer
from winnow.model.load import SHIPPED as MODEL
from winnow.task import load


def correct(completions, answer, **columns):
    """1.0 for the right number, 0.0 for anything else."""
    return [float(text.strip() == gold) for text, gold in zip(completions, answer, strict=True)]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--out", default="runs/trl-math")
options = parser.parse_args()

sums = [prompt for prompt in load("mix", seed=0, options={}).train if "numbers" not in prompt.fields]
dataset = Dataset.from_list([{"prompt": prompt.content, "answer": prompt.answer} for prompt in sums])

args = GRPOConfig(
    output_dir=options.out,
    max_steps=options.steps,
    per_device_train_batch_size=64,  # 8 prompts a step
    num_generations=8,  # rollouts per prompt that train
    max_completion_length=16,
    learning_rate=2e-4,
    logging_steps=1,
    report_to=[],
    model_init_kwargs={"dtype": "float32"},
    use_cpu=True,
    bf16=False,
    gradient_checkpointing=False,
)

trainer = WinnowGRPOTrainer(  # 2: GRPOTrainer(
    model=str(MODEL),
    reward_funcs=correct,
    args=args,
    train_dataset=dataset,
    recipe="pods",  # 3: generate 32 rollouts per prompt, train on the 8 whose rewards vary most
)
trainer.train()

for line in trainer.state.log_history:
    if "winnow/rollouts" in line:
        kept = f"{line['winnow/kept_rows']:.0f} of {line['winnow/rollouts']:.0f} rollouts trained"
        print(f"step {line['step']}: {kept}, reward {line['reward']:.3f}, gradient {line['grad_norm']:.3f}")
