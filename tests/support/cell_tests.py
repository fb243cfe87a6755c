"""Run test cells on a notebook as the kind ``tests`` does."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from autograder.core.records import Cell, CellOutcome, CellTest, Limits
from autograder.questions.base.judging.judgeable import list_imports
from autograder.sandbox.base import Sandbox
from autograder.sandbox.judge_session import CellTester, ItemKey, create_visit
from autograder.sandbox.session import Session
from autograder.sandbox.timeouts import Timeouts


def run_cell_tests(
    sandbox: Sandbox,
    cells: Sequence[str],
    *tests: Mapping[str, CellTest],
    limits: Limits | None = None,
    imports: Sequence[str] = (),
) -> dict[str, CellOutcome]:
    """Return the outcome of each test.

    Args:
        sandbox: of the student's box and of the tests'.
        cells: of the notebook.
        tests: by name, those that run after each of the last cells.
        limits: of both boxes; default: the usual ones.
        imports: of the release.
    """
    limits, found = limits or Limits(), dict[ItemKey, CellOutcome]()
    tester = CellTester(functools.partial(sandbox.open, limits, seed=1), list_imports(imports))
    visits = {
        position: create_visit(
            tester,
            {("inside" if test.inside else "outside", name): test for name, test in named.items()},
            found,
            Timeouts(),
        )
        for position, named in enumerate(tests, start=len(cells) - len(tests) + 1)
    }
    with Session(sandbox, [Cell(source) for source in cells], limits, visits=visits) as session:
        session.run()
    tester.close()
    return {name: outcome for (_, name), outcome in found.items()}


def list_earned(outcomes: Mapping[str, CellOutcome]) -> list[str]:
    """Return the tests that give points without manual review."""
    return [name for name, one in outcomes.items() if one.passed and not one.doubt and one.value is None]
