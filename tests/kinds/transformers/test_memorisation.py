"""The kind ``memorisation`` on answers of every form, and on rubrics with misconceptions."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.base import Evidence
from autograder.errors import RubricError
from autograder.records import Ending, Status
from reference.memorisation_questions import REPORT, SOURCE
from tests.checks.asking import DRAW, answer, check_of, ended, error, value
from tests.kinds.transformers.test_memorisation_trials import sit

TOML = """
[[question]]
id = "q"
kind = "memorisation"
points = 2
answer = "memorisation"
reference = "memorisation_questions:memorisation"
rounds = 2
[[question.item]]
id = "longest"
points = 2
text = { en = "Longest" }
measure = "longest"
"""
ORACLE = [value({"mistakes": []})] * 2


def judged(*observed: object) -> tuple[Status, str]:
    """Status and code of an answer that gave these values in the two rounds."""
    check = check_of(TOML)
    (result,) = check.judge(Evidence(answer("x"), [value(one) for one in observed], ORACLE, draw=DRAW))
    return result.status, result.code


@pytest.mark.parametrize(
    ("told", "status", "code"),
    [
        (None, Status.NO_ANSWER, "value.none"),
        ([], Status.FAILED, "memorisation.entry"),
        ({}, Status.FAILED, "memorisation.entry"),
        ({"longest": "5"}, Status.FAILED, "memorisation.entry"),
        ({"longest": True}, Status.FAILED, "memorisation.entry"),
        ({"longest": 10**5000}, Status.FAILED, "memorisation.entry"),
        ({"longest": np.zeros(3)}, Status.FAILED, "memorisation.entry"),
        ({"longest": float("nan")}, Status.FAILED, "memorisation.longest"),
        ({"longest": float("inf")}, Status.FAILED, "memorisation.longest"),
        ({"longest": -1}, Status.FAILED, "memorisation.longest"),
    ],
)
def test_what_is_no_measure_earns_nothing(told: object, status: Status, code: str) -> None:
    """Whatever is returned ends as a clear result."""
    assert (status, code) == judged(told, told)


def test_what_went_wrong_is_told() -> None:
    """The student's exceptions and endings are theirs; what was not asked is ours."""
    check = check_of(TOML)
    for observed, status in (
        ([error("KeyError", "x")] * 2, Status.FAILED),
        ([ended(Ending.CALL_TIME)] * 2, Status.FAILED),
        ([], Status.NEEDS_REVIEW),
    ):
        (result,) = check.judge(Evidence(answer("x"), observed, ORACLE, draw=DRAW))
        assert status is result.status


def test_an_oracle_that_fails_only_costs_the_names_of_mistakes() -> None:
    """The right numbers are computed here, so they are judged without the reference."""
    check = check_of(TOML)
    asked = [check.round(number, DRAW) for number in range(2)]
    right = [value({"longest": _longest(one.generated, one.corpus)}) for one in asked]
    failed = [error("ValueError", "broken")] * 2
    (result,) = check.judge(Evidence(answer("x"), right, failed, draw=DRAW))
    assert Status.PASSED is result.status


def _longest(generated: list[int], corpus: list[list[int]]) -> int:
    pieces = [generated[a:b] for b in range(len(generated) + 1) for a in range(b)]
    found = [p for p in pieces if any(p == t[at : at + len(p)] for t in corpus for at in range(len(t)))]
    return max(map(len, found), default=0)


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ("report = 3\n", "memorisation.report"),
        ("report = {'tokens': 'the owl', **report}; report['tokens'] = 'the owl'\n", "memorisation.report"),
        ("report['tokens'] = list(range(5000))\n", "memorisation.report-length"),
        ("report['longest'] += 1\n", "memorisation.report-numbers"),
        ("report['tokens'] = [10 ** 300] * 12\n", "memorisation.report"),
        ("report = None\n", "memorisation.report"),
        ("import torch; report['tokens'] = torch.tensor(report['tokens'])\n", ""),
    ],
)
def test_reports_of_every_form(report: str, code: str) -> None:
    """A report is measured again; what cannot be measured is told."""
    assert code in {"", sit(SOURCE + REPORT + report, b"first")["report"].code}
    assert (code == "") == (sit(SOURCE + REPORT + report, b"first")["report"].status is Status.PASSED)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("rounds = 2", "rounds = 0", "rounds: expected a whole number >= 1"),
        ("rounds = 2", "rounds = 2\ncopied = 11", "copied: expected at most"),
        ("rounds = 2", "rounds = 2\nn = []", "n: at least one size"),
        ('measure = "longest"', 'measure = "report"', "the question names no report"),
        ('reference = "memorisation_questions:memorisation"', "", "an oracle is needed"),
        ('measure = "longest"', 'measure = "longest"\nmistake = [{ code = "x" }]', "not known; known are"),
    ],
)
def test_errors_in_a_rubric_are_named(old: str, new: str, told: str) -> None:
    """A wrong option stops with the question's name and what to do."""
    with pytest.raises(RubricError, match=told) as caught:
        check_of(TOML.replace(old, new))
    assert "question 'q'" in str(caught.value)
