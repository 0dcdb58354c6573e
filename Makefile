# Two commands do everything: `make run` (the main job) and `make test`.
# Each sets up what it needs in .venv and reuses it while pyproject.toml is unchanged.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run demo pictures test test-long test-fast test-crash test-gpu coverage mutate lint docs bench bench-live bench-attack bench-shop bench-interleaving bench-challengers bench-steering bench-gpu regret components clean

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

# What tests need beyond Python: a browser and a PostgreSQL server. From Debian, where that is allowed.
components:
	@$(call debian,chromium-headless-shell,command -v chromium-headless-shell || command -v chromium)
	@$(call debian,postgresql,command -v initdb || ls /usr/lib/postgresql/*/bin/initdb)

define debian
{ $(2); } >/dev/null 2>&1 || { echo "installing $(1) for the tests (once)"; \
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1); } >/dev/null 2>&1 || \
  echo "$(1) could not be installed (that takes root and apt): the tests that need it will be skipped"; }
endef

test: $(VENV)/.installed-dev components    ## every test but the longest, proofs and documentation included
	@$(BIN)/python -m pytest

test-long: $(VENV)/.installed-dev components  ## the longest: learning for long, compiling anew, a cluster, benchmarks in small
	@$(BIN)/python -m pytest -m long

# No browser, no PostgreSQL, no Ray, no processes of their own, and not the rooms that need a service, a page or a C++ compiler.
OUTER_ROOMS := benchmarks cli client gpu live/crash live/http logs web
test-fast: $(VENV)/.installed-dev      ## most tests within a minute: what to run while working
	@$(BIN)/python -m pytest -m 'not (browser or postgres or ray or process or thorough or slow or long or crash)' \
	  --hypothesis-profile=quick --ignore=docs $(OUTER_ROOMS:%=--ignore=tests/%)

# Machine code cannot be traced, so a kernel's lines count as not run; its module must have been used all the same.
coverage: $(VENV)/.installed-dev components  ## which lines tests run, per module; fails if a module is not tested
	@$(BIN)/python -m pytest -m 'not crash' --cov=rankloop --cov-report=json:.coverage.json --cov-report=term
	@$(BIN)/python -m tests.covered .coverage.json

test-crash: $(VENV)/.installed-dev components  ## a hundred kills of the service per store, and nothing lost
	@$(BIN)/python -m pytest -m crash

test-gpu: $(VENV)/.installed-dev             ## runs on a GPU against runs on the CPU; needs a CUDA device and CuPy
	@$(BIN)/python -m pytest -n0 -m gpu tests/gpu tests/benchmark

mutate: $(VENV)/.installed-dev components      ## mistakes made on purpose: does a test notice each? (takes hours)
	@$(BIN)/python -m tests.mutants $(ARGS)

lint: $(VENV)/.installed-dev       ## ruff, mypy, and who may import whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "installing what the documentation site needs (once)"
	@$(PIP) --editable '.[docs]'
	@touch $@

docs: $(VENV)/.installed-docs      ## the documentation site, in site/: open site/index.html
	@$(BIN)/python -m website.commands
	@PYTHONPATH=. $(BIN)/zensical build --clean --strict

bench: $(VENV)/.installed-dev      ## speed and memory, as ratios measured in one run
	@$(BIN)/rankloop bench --out docs/benchmarks.md --json > benchmarks/figures.new && mv benchmarks/figures.new benchmarks/figures.json

bench-live: $(VENV)/.installed-dev components  ## the live service under load, on a log that grows, and for ten minutes
	@$(BIN)/python -m benchmarks.live --out docs/live-benchmarks.md

bench-attack: $(VENV)/.installed-dev  ## honest traffic beside an attack: two minutes of it, or ARGS='--minutes 60'
	@$(BIN)/python -m benchmarks.attack --json benchmarks/attack/figures.json $(ARGS)

bench-shop: $(VENV)/.installed-dev ## how fast the README's model learns in a simulated shop
	@$(BIN)/python -m benchmarks.shop --json benchmarks/shop/figures.json --out docs/shop.md

bench-interleaving: $(VENV)/.installed-dev ## how many pages tell two orders apart: interleaved, and in two groups
	@$(BIN)/python -m benchmarks.interleaving --json benchmarks/interleaving/figures.json

bench-challengers: $(VENV)/.installed-dev ## what a challenger costs for each closed page
	@$(BIN)/python -m benchmarks.challengers --json benchmarks/challengers/figures.json

bench-steering: $(VENV)/.installed-dev ## how far one client, or a botnet, can steer a model
	@$(BIN)/python -m benchmarks.steering --json benchmarks/steering/figures.json

bench-gpu: $(VENV)/.installed-dev ## runs side by side on a CUDA device, beside one core and reading memory
	@$(BIN)/rankloop bench --on gpu --json > benchmarks/gpu/figures.new && mv benchmarks/gpu/figures.new benchmarks/gpu/figures.json

regret: $(VENV)/.installed-dev     ## what learning costs: the study of regret on all collections at hand
	@$(BIN)/python -m benchmarks.regret --json benchmarks/regret/figures.json --out docs/regret.md --picture docs/images/regret.png

demo: $(VENV)/.installed           ## a search that learns while you click
	@$(BIN)/rankloop demo

pictures: $(VENV)/.installed-dev components  ## the pictures of the documentation: dashboard, study viewer, demo
	@$(BIN)/python -m website.pictures
	@$(BIN)/python -m website.capture

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .cache dist build site
