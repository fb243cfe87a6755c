"""The table of a graded class."""

from __future__ import annotations

import io

from msgspec.structs import replace
from rich.console import Console

from autograder.app.classes import Outcome
from autograder.cli.report import make_grading_table
from tests.feedback.examples import good


def shown(remark: str) -> str:
    """The table of one student, all of whose items have this remark."""
    score = good().score
    items = tuple(replace(one, remark=remark) for one in score.items)
    graded = replace(good(), score=replace(score, items=items, notes=()))
    out = io.StringIO()
    Console(file=out, width=120).print(make_grading_table([Outcome(score.student, graded, None, True)], "x"))
    return out.getvalue()


def test_a_remark_beside_verdicts_is_named_once() -> None:
    """Its words stand on the staff's page of the run."""
    assert 1 == shown("computes what no listing computes").replace("remarks for staff", "").count("remark")
    assert "remark" not in shown("").replace("remarks for staff", "")
