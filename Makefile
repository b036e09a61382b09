# Everything a fresh machine needs beyond Python 3.11 and make is set up by the first call.
#
#   make demo     a hundred queries over a generated market, on a live board
#   make test     the tests
#   make slow     the tests that these leave out: more seeds of random programs, more places to be killed at (long)
#   make check    what CI runs: format, lint, types, tests
#   make bench    the benchmarks (long; benchmarks/README.md says what each one measures)
#   make chaos    the long chaos test: kill -9 again and again, same answers
#   make clean    remove what the others made
#
# PYTHON=python3.12 picks the Python; ARGS="..." is passed on: make test ARGS="-k windows"

PYTHON ?=
ARGS ?=

.PHONY: help demo test slow check lint format bench chaos setup clean
.DEFAULT_GOAL := help

STAMP := .venv/.ready
BIN := .venv/bin
# Looking for Java takes a few milliseconds, so it is done anew each time: it may have gone or moved.
RUN = JAVA_HOME="$$(scripts/ensure-java.sh)" && export JAVA_HOME && $(BIN)

help:
	@sed -n 's/^#   make/  make/p' Makefile

$(STAMP): pyproject.toml constraints.txt scripts/ensure-venv.sh scripts/ensure-java.sh scripts/packages.sh
	@scripts/ensure-java.sh >/dev/null
	@GOAL="$(MAKECMDGOALS)" PYTHON="$(PYTHON)" scripts/ensure-venv.sh
	@touch $@

setup: $(STAMP)

demo: $(STAMP)
	@$(RUN)/weft demo $(ARGS)

test: $(STAMP)
	@$(RUN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

slow: $(STAMP)
	@$(RUN)/python -m pytest -m slow -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(STAMP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy benchmarks

format: $(STAMP)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

check: lint test

bench: $(STAMP)
	@$(RUN)/python -m benchmarks $(ARGS)

chaos: $(STAMP)
	@$(RUN)/python -m tests.chaos $(ARGS)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist benchmarks/data spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
