# Two commands: `make demo` runs the main job, `make test` runs the tests. Each sets up what it needs.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test check format bench figures pages screenshot clean
help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dptransfer needs Python 3.11 or later; say which with: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## set up, then play both people on real data
	$(BIN)/dptransfer demo

test: $(VENV)/.dev  ## set up, then run every test
	$(BIN)/python -m pytest

check: $(VENV)/.dev  ## format, lint and types: yes or no
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev  ## put the code in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev  ## measure against the literal transcription; writes benchmarks/results/
	$(BIN)/python -m benchmarks

figures: $(VENV)/.dev  ## the paper's pictures of abstraction, as PNG under figures/
	$(BIN)/dptransfer reproduce figures --out figures

pages: $(VENV)/.dev  ## run what the guide and the README show, and write down what came out
	$(BIN)/python docs/pages.py

screenshot: $(VENV)/.dev  ## the picture of a report in the README, taken by chromium
	$(BIN)/python docs/images/report.py

clean:  ## remove the environment and what was built
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis figures build dist
