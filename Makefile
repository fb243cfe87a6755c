# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP_FLAGS ?= --quiet --disable-pip-version-check
DEMO_ARGS ?=
SERVE_ARGS ?=
PYTEST_ARGS ?=
FUZZ_ARGS ?=
REDTEAM_ARGS ?=
CROWD_ARGS ?=
SABOTAGE_ARGS ?=
SURVIVAL_ARGS ?= --kills 200
AGAIN_ARGS ?= --times 20
EXACT_SUBSETS ?= 2000
EXACT_DRAWS ?= 3
DRAWS ?= 10
PEERS ?= build/peers
OTTER ?= build/otter
BENCH_ARGS ?= --plot build/peers.svg
# One thread for each worker: more would only wait for each other.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

.PHONY: demo serve test test-all messages fuzz exact draws bench redteam campaign crowd sabotage survival again format docs clean
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
test-all: $(STAMP) $(OTTER)/.installed
	OTTER=$(abspath $(OTTER))/bin/otter $(PYTEST) -o faulthandler_timeout=2400 \
	    -m '(apart or slow)$(if $(MARKS), and ($(MARKS)))' $(PYTEST_ARGS)

# Other languages follow the English tables; what is to be translated is told.
messages: $(STAMP)
	$(BIN)/python -m autograder.messages

# Two hundred thousand pairs of formulas and a million hostile inputs; about half an hour.
fuzz: $(STAMP)
	$(BIN)/python -m tests.algebra.fuzz $(FUZZ_ARGS)

# Every pair of the decoder's faults and two thousand random subsets, each told exactly; some minutes. By the general
# way all 256 sets of the exam's faults and every answer of the catalogue, with several secrets.
exact: $(STAMP)
	REPAIR_SUBSETS=$(EXACT_SUBSETS) REPAIR_DRAWS=$(EXACT_DRAWS) $(BIN)/pytest \
	    tests/kinds/transformers/test_repair_catalogue.py tests/kinds/general/test_debugging_decoder.py

# Every planted answer of every assignment with many secrets: what is drawn must not decide about marks.
draws: $(STAMP)
	VERIFY_DRAWS=$(DRAWS) OMP_NUM_THREADS=1 $(BIN)/pytest tests/verify/test_shipped.py

# The same class graded by this program, nbgrader and otter, in turns, on a machine that does nothing else; about half an
# hour. The other two live in an environment of their own.
bench: $(STAMP) $(PEERS)/.installed
	$(BIN)/python benchmarks/peers.py --peers $(abspath $(PEERS)) $(BENCH_ARGS)

$(PEERS)/.installed:
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install $(PIP_FLAGS) nbgrader==0.9.6 otter-grader==7.0.0 torch==2.13.0 ipykernel
	@touch $@

# otter alone, for the test that has it grade beside this program; nbgrader is here already.
$(OTTER)/.installed: | $(STAMP)
	$(BIN)/python -m venv $(OTTER)
	$(OTTER)/bin/python -m pip install $(PIP_FLAGS) otter-grader==7.0.0 ipykernel
	@touch $@

# Every attack and every honest control, handed in and graded; nothing may be stolen, touched or left.
redteam: $(STAMP)
	$(BIN)/python -m tests.redteam $(REDTEAM_ARGS)

# The red team's run alone, line by line, with every attack.
campaign: export THOROUGH = 1
campaign: $(STAMP)
	$(BIN)/pytest -o faulthandler_timeout=2400 tests/redteam/test_campaign.py $(PYTEST_ARGS)

# Forty honest students alone, and with twenty attackers between them: the same marks, and no time but the attackers' own.
crowd: $(STAMP)
	$(BIN)/python -m tests.redteam.crowd $(CROWD_ARGS)

# One layer after another is taken away in a copy of the program; the self-test, the red team or the suite must notice.
sabotage: $(STAMP)
	$(BIN)/python -m tests.sabotage $(SABOTAGE_ARGS)

# The grader and its sandboxes are killed at random points of a run; nothing may be lost, and nothing left.
survival: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.survival.run $(SURVIVAL_ARGS)

# The demo's class graded twenty times, with other numbers of workers: every mark and sentence must be the same.
again: $(STAMP)
	$(BIN)/python -m tests.survival.again $(AGAIN_ARGS)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python -m autograder.cli.reference > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md
	$(BIN)/python -m autograder.cli.reference grades > docs/grades.schema.json.new
	mv docs/grades.schema.json.new docs/grades.schema.json
	$(BIN)/python -m autograder.authoring.grammar > docs/formulas.md.new
	mv docs/formulas.md.new docs/formulas.md
	$(BIN)/python -m autograder.authoring.pages docs

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
