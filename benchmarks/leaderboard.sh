#!/usr/bin/env bash
# docs/leaderboard.md from nothing, or from where an earlier call was stopped; at most three hours on two cores.
#
#   bash benchmarks/leaderboard.sh            everything
#   bash benchmarks/leaderboard.sh --jobs 4   on four cores; other options of `leaderboard.py run` likewise
#
# RUNS names the folder of the records.
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-runs/leaderboard}
PYTHON=${PYTHON:-.venv/bin/python}
"$PYTHON" benchmarks/leaderboard.py run --out "$RUNS" "$@"
"$PYTHON" benchmarks/leaderboard.py page --out "$RUNS"
