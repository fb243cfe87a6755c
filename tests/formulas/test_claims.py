"""What is said of wrong answers is true, and most of them are named."""

from __future__ import annotations

import pytest

from autograder.core.records import Message
from autograder.messages import list_languages, load_sentences, render_message
from tests.formulas.claims import Oracle
from tests.formulas.mutants import FORMULAS
from tests.formulas.test_diagnose import Case as Formulas
from tests.formulas.test_diagnose import relations
from tests.formulas.wrong import Case, cases

LEAST_NAMED = 0.9
IDS = [f"{case.right} <- {case.wrong}" for case in cases()]


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=IDS)
def test_what_is_said_is_true(case: Case) -> None:
    """The claim is recomputed from the sentence and what it names alone, with other numbers."""
    difference = case.difference()
    if difference is None:
        return
    oracles = [
        Oracle(case.question.right, case.domains, reading.assumptions) for reading in case.question.readings
    ]
    assert not any(oracle.same(case.tree, case.question.right) for oracle in oracles)
    assert any(oracle.true(difference.sentence, difference.params, case.tree) for oracle in oracles)
    message = Message(difference.sentence, difference.params)
    assert all(render_message(message, language) for language in list_languages())


def test_most_are_named() -> None:
    """At least nine of ten wrong answers with one misconception are told what it is."""
    unnamed = [(case.right, case.wrong) for case in cases() if case.difference() is None]
    assert len(cases()) > 300
    assert len(unnamed) <= (1 - LEAST_NAMED) * len(cases()), unnamed


@pytest.mark.slow
def test_every_sentence_is_shown_true() -> None:
    """Each sentence about a wrong formula is said of some answer for which it is recomputed."""
    told = {difference.sentence for case in cases() if (difference := case.difference()) is not None}
    for formula in FORMULAS:
        for granted in (True, False) if formula.assume else (True,):
            wrong = Formulas(formula, granted=granted).wrong
            told |= {difference.sentence for _, _, difference in wrong if difference is not None}
    told |= {difference.sentence for _, _, difference in relations() if difference is not None}
    assert {key for key in load_sentences() if key.startswith("diagnosis.")} == told
