# `make demo` and `make test` set up all they need in .venv, once.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench clean

demo: .venv/demo.stamp
	$(BIN)/softbandit demo

test: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest

bench: .venv/test.stamp
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/arms.py
	$(BIN)/python benchmarks/engines.py

clean:
	rm -rf .venv out

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "softbandit needs Python 3.11 or later: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,plot]'
	@touch $@

.venv/test.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/demo.stamp
