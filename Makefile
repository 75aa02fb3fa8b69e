# Shoal: `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
STAMP  := $(VENV)/.installed
# Compiled kernels are kept inside the checkout, so that a fresh clone starts cold and stays clean.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba

.DEFAULT_GOAL := help
.PHONY: help demo test test-spark test-long long mutants fuzz bench bench-loss bench-scale lint format docs dist clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# Users need no more than this.
$(CORE): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMP): $(CORE)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs,bench,dist]'
	@touch $@

demo: $(CORE)  ## anonymise a small table and show what was published
	@$(BIN)/python examples/demo.py

# Each worker has tests that stand together, so that servers, browsers and Spark are started once.
test: $(STAMP)  ## run the tests (ten minutes)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not long"

test-spark: $(STAMP)  ## run the long tests of Spark, which `make test` leaves out
	$(BIN)/python -m pytest -m long tests/engines/test_spark.py tests/engines/test_spark_files.py

test-long: $(STAMP)  ## run the long property tests too
	SHOAL_TEST_EXAMPLES=2000 $(BIN)/python -m pytest -n auto --dist worksteal

long: test-long mutants  ## every long check: the long property tests, then the mutants

# How many mutants, for how many minutes, and which.
SAMPLE  ?= 400
MINUTES ?= 60
SEED    ?= 0
$(VENV)/.mutants: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	@touch $@

mutants: $(VENV)/.mutants  ## write the page that says which changes to the source no test notices (an hour)
	$(BIN)/python -m benchmarks.mutants --sample $(SAMPLE) --minutes $(MINUTES) --seed $(SEED)

# For how long, and in how many processes. Without SEED, the inputs are new ones each time.
SECONDS ?= 60
JOBS    ?= 2
fuzz: $(STAMP)  ## try random tables and plans, and check what comes out (SECONDS=600 JOBS=2 SEED=1)
	$(BIN)/python -m fuzz --seconds $(SECONDS) --jobs $(JOBS) \
	  $(if $(filter command environment,$(firstword $(origin SEED))),--seed $(SEED)) $(if $(SKIP),--skip "$(SKIP)")

bench: $(STAMP)  ## write every page of measurements (about an hour on two quiet cores)
	$(BIN)/python -m benchmarks

bench-loss: $(STAMP)  ## the lowest losses at full length: searches of a minute, bounds of five (two hours and more)
	$(BIN)/python -m benchmarks.records

bench-scale: $(STAMP)  ## tables larger than memory: 10 to 100 million rows in 2 GB (hours, and 60 GB of disk)
	$(BIN)/python -m benchmarks.scale

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

dist: $(STAMP)  ## build a source archive and a wheel into dist/
	$(BIN)/python -m build --no-isolation

clean:  ## remove everything that was built
	rm -rf $(VENV) .cache site build dist fuzz-findings .pytest_cache .mypy_cache .ruff_cache .hypothesis
