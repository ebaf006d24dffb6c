#!/usr/bin/env bash
# Reinforcement learning of a real language model on a CPU: SmolLM2-135M-Instruct, sums or SVAMP word problems.
#
#   bash benchmarks/smollm2.sh MODEL sums|svamp [SVAMP.json]
#
# Trains with grpo and with vigor+pods at equal rollouts (30 steps of 64), evaluates held-out accuracy before and after,
# and keeps the metrics of both runs in benchmarks/results/. MODEL is the folder that `winnow model smollm2 MODEL` wrote.
# About seven minutes a run on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
MODEL=$1 TASK=$2 SVAMP=${3:-../shared/data/svamp/SVAMP.json}
WINNOW=${WINNOW:-.venv/bin/winnow}
RUNS=${RUNS:-runs/smollm2}
mkdir -p "$RUNS" benchmarks/results

if [ "$TASK" = sums ]; then
  DATA="$RUNS/sums.jsonl"
  .venv/bin/python - "$DATA" <<'PY'
import json, random, sys

rng = random.Random(0)
pairs = [(a, b) for a in range(1, 25) for b in range(1, 25)]
rng.shuffle(pairs)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for a, b in pairs:
        file.write(json.dumps({"prompt": f"What is {a} + {b}?", "answer": str(a + b)}) + "\n")
PY
  NEW=16
else
  DATA=$SVAMP NEW=32
fi

for recipe in grpo vigor+pods; do
  out="$RUNS/$TASK-$recipe"
  extra=()
  [ "$recipe" = vigor+pods ] && extra=(--m 8)
  "$WINNOW" train --model "$MODEL" --task "$DATA" --recipe "$recipe" --prompts 8 --n 8 "${extra[@]}" --steps 30 --lr 1e-5 \
    --set chat=true --set max_new_tokens=$NEW \
    --set eval_prompts=96 --set eval_samples=4 --set eval_every=10 --set slots=64 --set checkpoint_every=0 --out "$out"
  cp "$out/metrics.jsonl" "benchmarks/results/smollm2-$TASK-$recipe.metrics.jsonl"
  cp "$out/summary.json" "benchmarks/results/smollm2-$TASK-$recipe.summary.json"
done
