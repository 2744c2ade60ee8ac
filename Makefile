# `make reproduce` and `make test` set up all they need in .venv, once.

PYTHON ?= python3
BIN := .venv/bin

# Threads of the linear algebra library slow down the many small matrices of the tests.
check test faults: export OPENBLAS_NUM_THREADS = 1

.PHONY: reproduce demo check test faults bench docs dev lock clean

# All that a contributor needs, in the versions of requirements-dev.lock; check and test then use these.
dev: | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.lock --editable .
	@touch .venv/test.stamp .venv/demo.stamp .venv/reproduce.stamp

# The newest versions that fit together, on every supported Python and platform.
lock: .venv/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --no-annotate --upgrade \
		--custom-compile-command "make lock" --output-file requirements-dev.lock pyproject.toml

# The paper's experiments, figures and claims: out/reproduce/index.html. OPTIONS=--quick for a short run.
reproduce: .venv/reproduce.stamp
	$(BIN)/softbandit reproduce $(OPTIONS)

demo: .venv/demo.stamp
	$(BIN)/softbandit demo

# What to run while working: lint, types, import layers, and the fast tests, which need only the core install.
check: .venv/test.stamp lint
	$(BIN)/python -m pytest -q -m "not extra and not slow" tests

# The whole check: also slow tests, optional packages, doctests, the Python in the docs, and every example.
test: .venv/test.stamp lint
	$(BIN)/python -m pytest

# Odd arguments, damaged files, kills, threads and long runs, in large numbers: about an hour. SHARE=0.01 for a minute.
faults: .venv/test.stamp
	PYTHONPATH=tests $(BIN)/python -m softbandit_tests.faults $(SHARE)

.PHONY: lint
lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Prints what is quick to measure; docs/performance.md says how its own figures are made.
bench: .venv/test.stamp
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/arms.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/grid.py --policies ckb-ucb ckb-ts --arms 100 1000 10000 --trials 1 50 --out out/grid.csv
	$(BIN)/python benchmarks/bandwidth.py --arms 100 10000 1000000 --trials 1 50 --out out/bandwidth.csv
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/continuous.py timing budget longer

# The documentation site: out/site/index.html. A broken link or a public name that cannot be shown is an error. Browsers
# search it only through a server: python -m http.server --directory out/site
docs: .venv/docs.stamp
	$(BIN)/python docs/gather_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv out

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "softbandit needs Python 3.11 or later: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,plot]'
	@touch $@

.venv/reproduce.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,plot,data,jax]'
	@touch $@ .venv/demo.stamp

.venv/docs.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

.venv/test.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/demo.stamp .venv/reproduce.stamp .venv/docs.stamp
