# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP_FLAGS ?= --quiet --disable-pip-version-check

.PHONY: demo test lint format clean
demo: $(STAMP)
	$(BIN)/autograder demo

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest $(PYTEST_ARGS)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --constraint constraints.txt --editable '.[course,dev]'
	touch $@

clean:
	rm -rf $(VENV) demo-course build .mypy_cache .pytest_cache .ruff_cache *.egg-info
