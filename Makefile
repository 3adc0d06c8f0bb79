# Everything a person or a CI machine runs. Each target makes the environment that it needs; a stamp file in an
# environment says that it is complete, and changing pyproject.toml makes it again.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

WORKERS ?= auto
PYTEST_ARGS ?=
BENCH_ARGS ?=
PIP := -m pip --disable-pip-version-check --quiet install
PYTEST := -m pytest -n $(WORKERS) --maxprocesses=8 $(PYTEST_ARGS)

# Shell functions for the recipes. `find_python 3.11 3.13` prints the first of these versions that works and can make
# a virtual environment, looking at PATH and at pyenv's versions (a pyenv shim exists whether or not its Python is
# selected, so each candidate is run). `make_venv FOLDER VERSION...` makes a virtual environment unless it is there.
define tools
find_python() {
  local version python
  for version in "$$@"; do
    for python in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/"$$version"[.-]*/bin/python python3; do
      if "$$python" -c 'import ensurepip, sys, venv; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' \
          "$$version" 2> /dev/null; then
        command -v "$$python"
        return
      fi
    done
  done
  return 1
}
make_venv() {
  local folder=$$1 python
  shift
  if "$$folder/bin/python" -c '' 2> /dev/null; then return; fi
  if [ -n "$${PYTHON:-}" ] && [ "$$folder" = .venv ]; then python=$$PYTHON; else python=$$(find_python "$$@") || {
    echo "No working Python of $$* with venv and ensurepip on PATH or in pyenv; name one: make PYTHON=/path/to/python" >&2
    return 1
  }; fi
  echo "Making $$folder with $$("$$python" --version) and installing into it; this takes a minute or two."
  "$$python" -m venv --clear "$$folder"
}
endef

export PYTHON

.PHONY: help
help: ## List the targets
	@echo "make TARGET, where TARGET is one of"
	grep -hE '^[a-z0-9.-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9.-]+):.*## (.*)/\1\t\2/' \
	  | while IFS=$$'\t' read -r target text; do printf '  %-12s %s\n' "$$target" "$$text"; done
	echo "Variables: WORKERS=n, PYTEST_ARGS='-k add', BENCH_ARGS=--quick, PYTHON=/path/to/python (for .venv)"

# ---- environments ---------------------------------------------------------------------------------------------------

.venv/.stamp: pyproject.toml
	@$(tools)
	make_venv .venv 3.11 3.12 3.13 3.14
	.venv/bin/python $(PIP) --editable '.[dev]'
	touch $@

.venv-3.11/.stamp: pyproject.toml
	@$(tools)
	make_venv .venv-3.11 3.11
	.venv-3.11/bin/python $(PIP) --editable '.[dev]' 'jax>=0.10,<0.11'
	touch $@

.venv-3.13/.stamp: pyproject.toml
	@$(tools)
	make_venv .venv-3.13 3.13
	.venv-3.13/bin/python $(PIP) --editable '.[dev]' 'jax>=0.12,<0.13'
	touch $@

# MindSpore needs an older NumPy than tracejit; nothing of tracejit is installed beside it.
.venv-mindspore/.stamp: Makefile
	@$(tools)
	make_venv .venv-mindspore 3.11
	.venv-mindspore/bin/python $(PIP) 'mindspore==2.10.0' 'numpy<2'
	touch $@

.PHONY: env
env: .venv/.stamp ## Make the development environment .venv

# ---- work -----------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: .venv/.stamp ## Train the digits example and print its typed Graph and step time
	@.venv/bin/python examples/digits.py

.PHONY: test
test: .venv/.stamp ## Run the tests, with a seeded sample of the long sweeps
	@.venv/bin/python $(PYTEST)

.PHONY: test-full
test-full: .venv/.stamp ## Run the tests with every case of the long sweeps
	@.venv/bin/python $(PYTEST) --full

.PHONY: test-all
test-all: .venv/.stamp ## Run the tests on Python 3.11 with JAX 0.10 and on Python 3.13 with JAX 0.12
	@$(tools)
	suite() {  # VERSION JAX FOLDER: the folder may be there already, and then needs no interpreter
	  if [ ! -x "$$3/bin/python" ] && ! find_python "$$1" > /dev/null; then
	    echo "== Python $$1 is not on PATH or in pyenv: skipping its run"
	    skipped+=("$$1")
	    return
	  fi
	  $(MAKE) --no-print-directory "$$3/.stamp"
	  "$$3/bin/python" -c 'import sys, jax; print("== Python %d.%d with JAX" % sys.version_info[:2], jax.__version__)'
	  "$$3/bin/python" $(PYTEST) || failed+=("$$1")
	}
	skipped=() failed=() default=.venv-3.11
	if .venv/bin/python -c 'import sys, jax; sys.exit((sys.version_info[:2], jax.__version__[:5]) != ((3, 11), "0.10."))'
	then default=.venv; fi
	suite 3.11 0.10 "$$default"
	suite 3.13 0.12 .venv-3.13
	echo "== failed: $${failed[*]:-none}; skipped: $${skipped[*]:-none}"
	[ "$${#failed[@]}" = 0 ]

.PHONY: lint
lint: .venv/.stamp ## Check style and formatting (ruff)
	@.venv/bin/ruff check .
	.venv/bin/ruff format --check .

.PHONY: format
format: .venv/.stamp ## Format, and fix what ruff can fix
	@.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

.PHONY: types
types: .venv/.stamp ## Check types (pyright)
	@.venv/bin/pyright --pythonpath .venv/bin/python

.PHONY: docs
docs: .venv/.stamp ## Build the documentation into docs/_build, warnings as errors
	@.venv/bin/python -m sphinx -W --keep-going --quiet --builder html docs docs/_build
	echo "docs/_build/index.html"

.PHONY: bench
bench: .venv/.stamp ## Run the benchmarks; results as a table and as JSON in benchmarks/results
	@.venv/bin/python -m benchmarks $(BENCH_ARGS)

.PHONY: bench-peers
bench-peers: .venv/.stamp .venv-mindspore/.stamp ## Make .venv-mindspore and measure against MindSpore 2.10
	@.venv/bin/python -m benchmarks mindspore_peer models_peer $(BENCH_ARGS)

.PHONY: clean
clean: ## Remove what the tools have built (not the environments)
	@rm -rf build dist *.egg-info docs/_build .pytest_cache .ruff_cache .hypothesis
	find tracejit lowering tests benchmarks examples docs -type d -name __pycache__ -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## Remove the environments as well
	@rm -rf .venv .venv-3.11 .venv-3.13 .venv-mindspore
