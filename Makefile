# Two commands do everything: `make run` (the main job) and `make test`.
# Each sets up what it needs in .venv and reuses it while pyproject.toml is unchanged.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test lint bench browser clean

help:            ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 20

$(VENV)/.installed: pyproject.toml
	@echo "setting up $(VENV) (once)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing what the tests and linters need (once)"
	@$(PIP) --editable '.[test,lint]'
	@touch $@

run: $(VENV)/.installed            ## the main job: six learners, two users, a table and a picture
	@$(BIN)/rankloop run

browser:
	@command -v chromium >/dev/null || { \
	  echo "installing chromium for the browser tests (once)"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 || \
	  echo "chromium could not be installed (that takes root and apt): the browser tests will be skipped"; }

test: $(VENV)/.installed-dev browser       ## every test, proofs and documentation included
	@$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev       ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.installed-dev      ## speed and memory, as ratios measured in one run
	@$(BIN)/rankloop bench --out docs/benchmarks.md

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build
