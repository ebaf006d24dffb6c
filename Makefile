# Two commands do everything on a fresh machine: `make train` and `make test`.
# Each sets up .venv from pinned constraints when it is missing or older than its inputs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# uv does not read pip's settings, so a local folder of wheels given to pip is passed on.
INSTALL := UV_COMPILE_BYTECODE=1 UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" $(BIN)/uv pip install -q --python $(BIN)/python -c constraints/cpu.txt
# torch's threads spin while they wait; with two test workers on two cores that costs most of the time.
QUIET := OMP_NUM_THREADS=1 GOMP_SPINCOUNT=0

.PHONY: venv train test test-verl test-all lint format docs results clean

venv: $(READY)

$(READY): pyproject.toml constraints/cpu.txt
	@echo "setting up $(VENV): a minute or more the first time"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	$(INSTALL) -e '.[dev]'
	@touch $(READY)

train: $(READY)
	GOMP_SPINCOUNT=0 $(BIN)/winnow train --out runs/$$(date +%Y%m%d-%H%M%S)

test: $(READY)
	$(QUIET) $(BIN)/python -m pytest -n 2 -m "not slow and not gpu"

# verl and what it pins do not fit beside the rest: an environment of its own. Tens of minutes, most of it Ray starting.
VERL := .venv-verl
test-verl: $(READY)
	$(PYTHON) -m venv $(VERL)
	UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" $(BIN)/uv pip install -q --python $(VERL)/bin/python -c constraints/verl.txt -e '.[verl]' pytest pytest-timeout hypothesis
	$(QUIET) $(VERL)/bin/python -m pytest tests/host/verl tests/plan/test_verl.py

test-all: $(READY)
	$(QUIET) $(BIN)/python -m pytest -n 2 -m "not gpu"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	$(BIN)/pdoc -d google -o site winnow

clean:
	rm -rf $(VENV) $(VERL) .pytest_cache .mypy_cache .ruff_cache .hypothesis site
