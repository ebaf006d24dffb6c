#!/usr/bin/env bash
# Train Qwen2.5-1.5B on GSM8K with verl and a recipe of winnow, on one node with 8 GPUs.
#
#   pip install 'winnow-rl[verl]' 'verl[vllm]'
#   python examples/verl_gsm8k/prepare.py PATH/TO/gsm8k --out data/gsm8k
#   examples/verl_gsm8k/run.sh [further overrides]
#
# MODEL and DATA name another model and another folder.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=overrides.sh
source "$here/overrides.sh"
exec python -m verl.trainer.main_ppo "${WINNOW[@]}" "${VERL[@]}" "$@"
