"""Test remarks next to a formula: they are read, and unclear ones need manual review."""

from __future__ import annotations

import pytest

from autograder.core.records import Status
from autograder.formulas.lenient_parser import remove_float_noise
from autograder.questions.base.values.literal import Literal, find_answer_literal
from autograder.questions.formula import FormulaCheck
from autograder.rubric import parse_rubric
from tests.questions.general.form_exam import HEAD, result_of

MORE = "n_layers = {}\nd_ff = {}\nx = { domain = 'real' }\n"


def check_of(accept: str, form: str = "formula", more: str = "") -> FormulaCheck:
    """Return the check of an item with this right answer."""
    head = HEAD.replace("[assignment.assume]", MORE + "[assignment.assume]")
    rubric = parse_rubric(f"{head}form = '{form}'\naccept = ['{accept}']\n{more}".encode())
    return FormulaCheck(rubric.questions[0], rubric)


FOUR = check_of("4*d^2")
TWENTY = check_of("20*n_layers*d^2")
TWELVE = check_of("12*d^2", more="assume = ['heads']")
WIDTH = check_of("d = n_heads*d_head", "relation")
COST = check_of("max(n_heads*n^2, 4*d*n, d_ff*n)")
HALF = check_of("n*(n+1)/2")
TENTH = check_of("n/10")
ROOTS = check_of("[x, -x]", "set")
PAIR = check_of("(n, d)", "tuple")
LARGE = check_of("11111*d")
TANGENT = check_of("sin(x)/cos(x)")
NOISE = check_of("3*n/10")

RIGHT = [
    *((FOUR, text) for text in (
        "4d^2 (4 matrices)", "4*d_model^2 (four matrices)", "4d^2, because there are 4 matrices",
        "4d^2, i.e. four matrices", "4d^2; vier Matrizen", "4 d^2 [4 Matrizen]", "4d^2 # four matrices",
        "4d² (W_q, W_k, W_v, W_o)",
        "4d^2 (one matrix per projection)", "4d^2 (= 2d*2d)", "4*d^2 (i.e. d^2 + 3*d^2)", "4d^2, also 2d*2d",
    )),
    *((TWENTY, text) for text in (
        "20 n_layers d_model^2 (attention 4, MLP 16)", "20*n_layers*d^2, attention 4 and MLP 16",
        "20*n_layers*d^2 (4 attention + 16 MLP)",
    )),
    *((TWELVE, text) for text in (
        "12*d_model^2 (= 12*n_heads^2*d_head^2)", "12 d^2 (=12*d*n_heads*d_head)",
    )),
    *((WIDTH, text) for text in (
        "d_model = n_heads*d_head, so d_head = d_model/n_heads",
        "d_model = n_heads*d_head; d_head = d_model/n_heads",
        "d_model = n_heads*d_head, also d_head = d_model/n_heads",
        "d_head = d_model/n_heads (so d_model = n_heads*d_head)",
        "d_model = n_heads*d_head (e.g. 768 = 12*64)",
        "d_head*n_heads = d_model (concatenation has the width of the model)",
    )),
    (COST, "max(h*n^2,4*d*n,d_ff*n)"),
    *((HALF, text) for text in (
        r"{n+1 \choose 2}", r"{n(n+1) \over 2}", r"n(n+1) \over 2", r"\binom{n+1}{2}",
    )),
    *((TENTH, text) for text in ("10% n", r"10\% n", "n*10%", "n * 10%", "n/10")),
    *((ROOTS, text) for text in (r"\pm x", "±x", "{±x}", r"\mp x", "-x, x")),
    *((PAIR, text) for text in ("torch.Size([n, d])", "shape(n, d)", "(n, d) (rows, columns)")),
    *((LARGE, text) for text in (
        r"11,\!111*d", "11\u2003111 d", "11\u205f111*d", "11\u3000111*d", "11\u2002111 d", "1_1111*d",
    )),
    *((FOUR, text) for text in ("4 times d^2", "4 mal d mal d", "2 times (d^2 plus d^2)")),
    *((TANGENT, text) for text in (r"\tan(x)", "tan(x)", r"\tan x", "\tan x", "np.tan(x)")),
]  # fmt: skip
OPEN = [
    *((FOUR, text) for text in (
        "4d^2 (3 matrices)", "4d^2 (three matrices)", "4d^2 (2 matrices)", "4*d^2 (= 3*d^2)",
        "4d^2 (plus 4d biases)", "4d^2 (or 8d^2)", "4d^2 (times two)", "4d^2 (d^2 each)", "4d^2, times n",
        "4d^2, with biases 4d^2 + 4d", "4d^2 - four matrices", "4d^2, not 8d^2", "4d^2 (per layer, times 2)",
        "d^2 each, so 4d^2", "8d^2 (4 matrices)", "4d^2 (if tied)", "4d^2, so 8d^2",
        "4d^2, doubled", "4d^2 (multiplied by the heads)", "4d^2, where d = n",
    )),
    (TWENTY, "20*n_layers*d^2 (attention 4, MLP 8)"),
    (TWENTY, "20*n_layers*d^2 (attention 4*d^2, MLP 16*d^2)"),
    (TWELVE, "12*d_model^2 (= 12*n_heads^2*d_head)"),
    (WIDTH, "d_model = n_heads*d_head, so d_head = d_model*n_heads"),
    (WIDTH, "d_model = n_heads*d_head (e.g. 768 = 12*60)"),
    (WIDTH, "d_model = n_heads*d_head, d_head = 64"),
    (COST, "max(h*n^2,4*d*n)"),
    (HALF, r"\sum_{i=1}^{n} i + 1"), (HALF, "sum(range(n+1))"), (HALF, r"\prod_{i=1}^{n} 2i"),
    (HALF, r"\pm n(n+1)/2"),
    (TENTH, "10 % n"), (TENTH, "10%n"),
    (LARGE, "11 111*d"),
    *((FOUR, text) for text in ("4 times 4 times d^2", "4d^2 plus 4d", "d^2 mal", "four times d^2")),
]  # fmt: skip


@pytest.mark.parametrize(("check", "text"), RIGHT, ids=[text for _, text in RIGHT])
def test_what_a_person_reads_at_a_glance_is_right(check: FormulaCheck, text: str) -> None:
    """A remark that agrees with the formula costs nothing."""
    assert Status.PASSED is result_of(check, text).status


@pytest.mark.parametrize(("check", "text"), OPEN, ids=[text for _, text in OPEN])
def test_what_contradicts_or_stays_open_needs_manual_review(check: FormulaCheck, text: str) -> None:
    """A contradictory or unclear remark needs manual review, never zero or full points."""
    assert Status.NEEDS_REVIEW is result_of(check, text).status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("0.30000000000000004*n", Status.PASSED),
        ("0.29999999999999999*n", Status.PASSED),
        ("0.3000000001*n", Status.FAILED),
        ("0.30000000000000004*n + 1", Status.FAILED),
        ("0.3333333333333333*n", Status.FAILED),
    ],
)
def test_noise_of_floats_is_forgiven_and_told(text: str, status: Status) -> None:
    """Rounding errors of floats are tolerated, and the message shows the number that was read."""
    result = result_of(NOISE, text)
    assert (status, status is Status.PASSED) == (result.status, result.code == "formula.float-noise")


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("7.999999999999999*d", "8*d"),
        ("1234567.1000000001", "1234567.1"),
        ("3.141592653589793", "3.141592653589793"),
        ("0.5*d_1.5", "0.5*d_1.5"),
    ],
)
def test_numbers_are_freed_from_noise_only(text: str, exact: str) -> None:
    """Only rounding errors are removed; a number with many digits stays unchanged."""
    assert exact == remove_float_noise(text)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('a = "4*d\nb = "8*d"', Literal("8*d")),
        ("a = 'x\nb = (2, 3)  # a pair", Literal((2, 3))),
        ('a = "4*d\nb = "8*d"\nb = b * 2', None),
        ('a = """4*d\nb = "8*d"', None),
        ("def f(:\n    b = 3", None),
        ("a = f(\nfrom x import *\nb = 3", None),
        ("%time a = f()\nb = 3\nb = b + a", None),
    ],
)
def test_a_missing_quote_in_one_line_does_not_lose_the_others(source: str, value: Literal | None) -> None:
    """A missing quote in one line does not affect other lines, unless it may change their meaning."""
    assert value == find_answer_literal(source, "b")
