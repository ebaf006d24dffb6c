#!/usr/bin/env bash
# Section by section, everything docs/results.md says: when do the methods help, and when not?
#
#   bash benchmarks/study.sh tune      learning rate and shape per recipe, on seeds that the result does not use
#   bash benchmarks/study.sh final     the comparison: five seeds at three spreads of difficulty
#   bash benchmarks/study.sh noise     the same with four times the rollouts in a step
#   bash benchmarks/study.sh report    tables and figures of docs/results.md from the runs
#
# Runs are kept and reused, so each stage can be interrupted and called again. Two runs at a time on two cores: their
# seconds are only compared with each other. RUNS names the folder they are written to.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOMP_SPINCOUNT=0
RUNS=${RUNS:-runs/study}
WINNOW=${WINNOW:-.venv/bin/winnow}

# Shapes: every step generates 128 rollouts, so that equal rollouts are equal steps; PODS also at four times that.
GRPO_PAPERS="grpo:n=8,prompts=16"
SHAPES=("$GRPO_PAPERS" "grpo:n=4,prompts=32" "grpo:n=2,prompts=64" "pods:n=32,m=8,prompts=4" "pods:n=16,m=4,prompts=8"
        "vigor:prompts=16" "vigor+pods:prompts=16,m=8")

tune() {
  local arms=()
  for shape in "${SHAPES[@]}"; do
    for lr in 7.5e-5 1.5e-4 3e-4; do arms+=("$shape,lr=$lr"); done
  done
  "$WINNOW" compare "${arms[@]}" --seeds 2 --first-seed 100 --budget 7680 --jobs 2 --out "$RUNS/tune" \
    --set task_options.spread=0.5 --set eval_every=20 --set eval_samples=4 --set log_rollouts=none
}

final() {
  local arms
  mapfile -t arms < benchmarks/results/tuned.txt
  for spread in 0.5 1 0; do
    "$WINNOW" compare "${arms[@]}" --seeds 5 --budget 7680 --jobs 2 --out "$RUNS/final-$spread" \
      --set task_options.spread=$spread --set eval_every=10 --set eval_samples=2 --set log_rollouts=none
  done
}

# Less noise per step: 512 rollouts instead of 128, at twice the rate (the square root of the batch), which is not tuned.
noise() {
  "$WINNOW" compare grpo:n=8,prompts=64 grpo:n=2,prompts=256 pods:n=16,m=4,prompts=32 vigor:prompts=64 \
    --lr 3e-4 --seeds 3 --budget 15360 --jobs 2 --out "$RUNS/noise" \
    --set task_options.spread=0.5 --set eval_every=5 --set eval_samples=2 --set log_rollouts=none
}

report() { .venv/bin/python benchmarks/study.py "$RUNS"; }

"${1:?tune, final, noise or report}"
