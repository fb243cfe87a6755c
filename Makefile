# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP_FLAGS ?= --quiet --disable-pip-version-check
DEMO_ARGS ?=
SERVE_ARGS ?=
PYTEST_ARGS ?=
PEERS ?= build/peers
BENCH_ARGS ?= --plot build/peers.svg
# One thread for each worker: more would only wait for each other.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

.PHONY: demo serve test test-all security bench docs format clean
demo: $(STAMP)
	$(BIN)/autograder demo $(DEMO_ARGS)

# The pages of the service, with an invented class and accounts to try them; Ctrl-C ends it.
serve: $(STAMP)
	$(BIN)/autograder serve demo-course --demo $(SERVE_ARGS)

# Some machines forbid Python to keep what it compiled; a score of programs would then compile all tests anew.
test test-all: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -m 'not apart and not slow$(if $(MARKS), and ($(MARKS)))' $(PYTEST_ARGS)

# What continuous integration runs besides: tests that take seconds each, and those that take minutes. Of the
# adversarial suites it is a part, another one every day; THOROUGH=1 runs all of every list.
test-all: $(STAMP)
	$(PYTEST) -o faulthandler_timeout=2400 -m '(apart or slow)$(if $(MARKS), and ($(MARKS)))' $(PYTEST_ARGS)

# The long form of the adversarial suites: every attack handed in and graded, honest students between attackers, one
# layer of protection after another taken away in a copy, graders and sandboxes killed at random points, and a class
# graded twenty times. Each program takes options of its own: --help.
security: $(STAMP)
	$(BIN)/python -m tests.redteam
	$(BIN)/python -m tests.redteam.crowd
	$(BIN)/python -m tests.sabotage
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.survival.run --kills 200
	$(BIN)/python -m tests.survival.again --times 20

# The same class graded by this program, nbgrader and otter, in turns, on a machine that does nothing else; about half an
# hour. The other two live in an environment of their own.
bench: $(STAMP) $(PEERS)/.installed
	$(BIN)/python benchmarks/peers.py --peers $(abspath $(PEERS)) $(BENCH_ARGS)

$(PEERS)/.installed:
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install $(PIP_FLAGS) nbgrader==0.9.6 otter-grader==7.0.0 torch==2.13.0 ipykernel
	@touch $@

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Generated pages of the documentation, the tables of messages for each language, and the site in build/docs. The build
# checks links and anchors, needs no network, and takes every warning for an error.
docs: $(STAMP)
	$(BIN)/python -m autograder.messages
	$(BIN)/python -m autograder.cli.reference > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md
	$(BIN)/python -m autograder.authoring.doc_pages docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --nitpicky -d build/doctrees docs build/docs

# Debian's python3 has pip, but cannot put it into a new environment without a further package: the second way does.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed; name one: make PYTHON=python3.12")'
	@echo "installing into $(VENV); this takes some minutes, once"
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); \
	    $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install $(PIP_FLAGS) pip; }
	$(BIN)/python -m pip install $(PIP_FLAGS) --constraint constraints.txt --editable '.[course,service,dev]'
	@touch $@

clean:
	rm -rf $(VENV) demo-course build .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
