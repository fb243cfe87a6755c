"""Test items that require a form, or symbols that must or must not occur."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Status
from autograder.messages import render_message
from tests.questions.general.form_exam import check_of, outcome, result_of

LAYER = 'accept = ["4*n*d*n_heads + 8*d^2"]\n'


@pytest.mark.parametrize(
    ("options", "text", "code"),
    [
        ('must = ["collected"]', "4 n d h + 8 d^2", ""),
        ('must = ["collected"]', "3 n d h + d h n + 8 d^2", "form.like-terms"),
        ('must = ["expanded"]', "4 d (n h + 2 d)", "form.product-of-sums"),
        ('must = ["factored"]', "4 d (n h + 2 d)", ""),
        ('must = ["factored"]', "4 (n h d + 2 d^2)", "form.common-factor"),
        ('must = ["simplified"]', "2*2 n d h + 8 d^2", "form.arithmetic"),
        ('must = ["simplified", "sum"]', "4 d (n h + 2 d)", "form.no-sum"),
        ('without = ["sqrt"]', "sqrt(16) n d h + 8 d^2", "form.without"),
        ('with = ["d_model", "N"]', "4 n d h + 8 d^2", ""),
        ('with = ["d_head"]', "4 n d h + 8 d^2", "form.with"),
    ],
)
def test_forms_cost_what_the_rubric_says(options: str, text: str, code: str) -> None:
    """A right answer in another form earns ``form_points`` with a message."""
    check = check_of(f"{LAYER}{options}\nform_points = 2.5\n")
    assert (code, Decimal("2.5") if code else Decimal(6)) == outcome(check, text)


def test_without_form_points_the_form_is_everything() -> None:
    """Without ``form_points``, a right answer in a wrong form earns nothing."""
    check = check_of(f'{LAYER}must = ["expanded"]\n')
    assert ("form.product-of-sums", Decimal(0)) == outcome(check, "4 d (n h + 2 d)")


def test_wrong_answers_are_not_asked_for_their_form() -> None:
    """A wrong formula is diagnosed without remarks about its form."""
    check = check_of(f'{LAYER}must = ["expanded"]\nform_points = 2\n')
    assert Decimal(0) == result_of(check, "5 d (n h + 2 d)").points
    assert not outcome(check, "5 d (n h + 2 d)")[0].startswith("form.")


def test_the_sentence_quotes_the_answer() -> None:
    """The message quotes only parts of the student's answer."""
    check = check_of(f'{LAYER}must = ["collected"]\n')
    sentence = render_message(result_of(check, "3 n d h + d h n + 8 d^2").student, "en")
    assert "3*n*d*n_heads and d*n_heads*n can still be collected" in sentence


def test_assumptions_and_forms_go_together() -> None:
    """The simplest form may need a granted relation, without the replaced symbol."""
    check = check_of(
        'accept = ["12*d^2"]\nassume = ["heads"]\n'
        'must = ["simplified"]\nwithout = ["d_head"]\nform_points = 3\n'
    )
    assert ("", Decimal(6)) == outcome(check, "12 d^2")
    assert ("form.without", Decimal(3)) == outcome(check, "12 d h d_k")
    assert ("form.like-terms", Decimal(3)) == outcome(check, "4 d^2 + 8 d^2")


def test_relations_tuples_and_growth_have_forms_as_well() -> None:
    """Forms are checked for each side of a relation, each element and each growth expression."""
    relation = check_of('form = "relation"\naccept = ["d = n*n_heads + n"]\nmust = ["expanded"]\n')
    shape = check_of('form = "tuple"\naccept = ["(3*d, 4*d)"]\nmust = ["simplified"]\n')
    growth = check_of('form = "asymptotic"\naccept = ["O(n^2 + n*d)"]\nmust = ["expanded"]\n')
    assert ["", "form.product-of-sums"] == [
        outcome(relation, text)[0] for text in ("d - n = n h", "d = n (h + 1)")
    ]
    assert ["", "form.like-terms"] == [outcome(shape, text)[0] for text in ("(3d, 4d)", "(d + 2d, 4d)")]
    assert ["", "form.product-of-sums"] == [
        outcome(growth, text)[0] for text in ("O(n d + n^2)", "O(n (n + d))")
    ]


def test_what_is_too_large_to_factor_goes_to_a_person() -> None:
    """A form that is too expensive to decide needs manual review."""
    check = check_of('accept = ["(n + d)^30 + d"]\nmust = ["factored"]\n')
    result = result_of(check, "d + (n + d)^30")
    assert (Status.NEEDS_REVIEW, "formula.undecided") == (result.status, result.code)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('must = ["expand"]', "must: unknown name 'expand'; did you mean 'expanded'"),
        ('must = ["sum", "product"]', "exclude each other"),
        ('without = ["d_heads"]', "did you mean 'd_head'"),
        ('with = ["sqr"]', "did you mean 'sqrt'"),
        ('with = ["N"]\nwithout = ["n"]', "both name n"),
        ("form_points = 1", "nothing is asked of the form"),
        ('must = ["sum"]\nform_points = 6', "expected from 0 to below 6, got 6"),
        ('must = ["sum"]\nform_points = -1', "expected from 0 to below 6, got -1"),
        (
            'credit = "each"',
            "credit: belongs to sets and tuples, not to 'formula'",
        ),
    ],
)
def test_errors_in_the_rubric(options: str, message: str) -> None:
    """Invalid options are rejected by name."""
    with pytest.raises(RubricError, match=message):
        check_of(f"{LAYER}{options}\n")
