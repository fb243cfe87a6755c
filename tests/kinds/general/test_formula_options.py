"""The kind ``formula``: rubrics with an error."""

from __future__ import annotations

import pytest

from autograder.core.errors import RubricError
from autograder.questions.formula import FormulaCheck
from tests.kinds.general.formula_exam import altered


@pytest.mark.parametrize(
    ("question", "old", "new", "message"),
    [
        ("b", 'accept = ["8*d_model^2 +', 'acept = ["8*d_model^2 +', "did you mean 'accept'"),
        ("b", '"8*d_model^2 + 5*d_model"', '"8*dmodell^2"', "not readable"),
        (
            "b",
            'when = "4*d_model^2", points = 0.5',
            'when = "4*", points = 0.5',
            "'one-matrix'.*not readable",
        ),
        ("b", "points = 0.5", "points = 2", "expected from 0 to below 2"),
        ("b", "points = 0.5", "points = 0.333", "at most two decimals, got 0.333"),
        ("b", "points = 0.5", "points = nan", "expected from 0 to below 2, got"),
        (
            "b",
            'accept = ["8',
            'must = ["sum"]\nform_points = 0.125\naccept = ["8',
            "form_points: at most two",
        ),
        ("b", '{ en = "One.", de = "Eine." }', '{ de = "Eine." }', "English"),
        ("b", 'en = "One."', 'en = "{One}"', "braces twice"),
        ("b", 'answer = "mlp"\n', "", "name of a variable"),
        ("c", 'accept = ["n_heads*d_head*d_model"]\n', "", "at least one right answer"),
        ("c", 'assume = ["heads"]', 'assume = ["head"]', "no relation 'head'"),
        (
            "e",
            'accept = ["d_model = n_heads*d_head"]',
            'accept = ["d_model"]',
            "one equation or inequality with exactly one relation sign",
        ),
        ("b", 'heads = "d_model = n_heads*d_head"', 'heads = "d_model"', "assume. heads"),
        (
            "c",
            'heads = "d_model = n_heads*d_head"',
            'heads = "d_model*n = n_heads*d_head"',
            "symbol = formula",
        ),
        ("b", 'n_heads = { aliases = ["h", "H"] }', 'n_heads = { aliases = ["d"] }', "already stands for"),
        ("d", 'when = "12*d_model^2", assume', 'when = "own", assume', "not readable"),
    ],
)
def test_bad_options_are_refused(question: str, old: str, new: str, message: str) -> None:
    """A rubric with an error is refused with the question's name and the reason."""
    rubric = altered(old, new)
    with pytest.raises(RubricError, match=message):
        FormulaCheck(rubric.get_question(question), rubric)
