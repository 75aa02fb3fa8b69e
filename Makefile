# Shoal: `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
STAMP  := $(VENV)/.installed
# Compiled kernels are kept inside the checkout, so that a fresh clone starts cold and stays clean.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba

.DEFAULT_GOAL := help
.PHONY: help demo test test-long bench bench-loss lint format docs clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# Users need no more than this.
$(CORE): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMP): $(CORE)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs,bench]'
	@touch $@

demo: $(CORE)  ## anonymise a small table and show what was published
	@$(BIN)/python examples/demo.py

test: $(STAMP)  ## run the tests (a few minutes)
	$(BIN)/python -m pytest -n auto -m "not long"

test-long: $(STAMP)  ## run the long property tests too
	SHOAL_TEST_EXAMPLES=2000 $(BIN)/python -m pytest -n auto

bench: $(STAMP)  ## loss against the published tables, speed, growth and memory
	$(BIN)/python -m benchmarks.loss
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.release
	$(BIN)/python -m benchmarks.model_prices
	$(BIN)/python -m benchmarks.mdav_speedups
	$(BIN)/python -m benchmarks.univariate
	$(BIN)/python -m benchmarks.optimality

bench-loss: $(STAMP)  ## the lowest losses of the search, against print, aims and proven bounds
	$(BIN)/python -m benchmarks.records

lint: $(STAMP)  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## put the code into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## build the documentation into site/
	$(BIN)/python docs/reference.py
	$(BIN)/mkdocs build --strict

clean:  ## remove everything that was built
	rm -rf $(VENV) .cache site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
