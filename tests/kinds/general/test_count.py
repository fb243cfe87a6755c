"""Whole numbers: how they are read, compared and explained."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.values.arrays import NotWhole, Whole, whole
from autograder.errors import RubricError
from autograder.records import Ending, Opaque, Status, Tensor
from autograder.student.report import PROBLEM, READY, examine
from tests.checks.asking import DRAW, answer, check_of, ended, error, judge, value

TOTAL = """
[[question]]
id = "q"
kind = "count"
points = 2
answer = "total"
[[question.item]]
id = "number"
points = 2
text = { en = "The number" }
value = 124_439_808
accept = [124_441_344]
[[question.item.mistake]]
code = "untied"
when = 163_040_256
points = 0.5
text = { en = "The head shares its weights." }
"""

REFERENCE = TOTAL.replace('answer = "total"', 'answer = "total"\nreference = "parameters:total"').replace(
    "value = 124_439_808\n", ""
)


@pytest.mark.parametrize(
    "written",
    [
        124_439_808,
        124_439_808.0,
        "124,439,808",
        "124.439.808",
        "124 439 808",
        "124\u202f439\u202f808",
        "124_439_808",
        "124'439'808",
        "$124{,}439{,}808$",
        r"124\,439\,808",
        " 124439808 ",
        "+124439808",
        "1.24439808e8",
        "124439808.0",
        "= 124439808",
        "≈ 124439808",
        "N = 124,439,808",
        "number of parameters = 124439808",
        "124439808 parameters",
        "124,439,808 params.",
        "124.439.808 Parameter insgesamt",
        "124439808 (weights)",
        "= 124439808 bytes",
        "50257*768 + 1024*768 + 85056000",
        "50,257 · 768 + 1,024 · 768 + 85,056,000",
        "50257×768 + 1024×768 + 85056000",
        "2^3*15554976",
        "2**3 * 15554976",
        r"2^{3} \cdot 15554976",
        "2³·15554976",
        r"$2^3 \cdot 15554976$",
        "248879616/2",
        np.array(124_439_808),
        np.array([124_439_808]),
        Tensor(np.array(124_439_808), "int64"),
        Opaque("Integer", "124439808"),
    ],
    ids=repr,
)
def test_notations_of_one_number(written: object) -> None:
    """Every usual notation of a whole number reads as the same integer."""
    assert Whole(124_439_808) == whole(written)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (True, "count.bool"),
        (np.array(True), "count.bool"),
        (12.5, "count.fraction"),
        (float("nan"), "count.fraction"),
        (float("inf"), "count.fraction"),
        ("12.5", "count.fraction"),
        ("1e-3", "count.fraction"),
        ("1e999", "count.huge"),
        (1 << 5000, "count.huge"),
        ("", "count.text"),
        ("12,34", "count.text"),
        ("1,234.567,890", "count.text"),
        ("1,2345", "count.text"),
        ("about 12", "count.text"),
        ("12 millions", "count.text"),
        ("9" * 200, "count.text"),
        ("2^", "count.text"),
        ("2^10 million", "count.text"),
        ("n*12", "count.text"),
        ("124M", "count.text"),
        ("12 MB", "count.text"),
        ("3/2", "count.fraction"),
        ("2^-1", "count.fraction"),
        ("9^9^9", "count.huge"),
        ("10^100", "count.huge"),
        ("1.024*1000", "count.ambiguous"),
        ("1,024*1000", "count.ambiguous"),
        ("1/0", "count.text"),
        ("١٢٣", "count.text"),
        ([12], "count.form"),
        (np.array([1, 2]), "count.form"),
        (Opaque("Module"), "count.form"),
        (None, "count.form"),
    ],
    ids=repr,
)
def test_what_is_no_whole_number_is_named(written: object, code: str) -> None:
    """Everything else is refused with the sentence that fits."""
    read = whole(written)
    assert isinstance(read, NotWhole)
    assert code == read.code


@pytest.mark.parametrize(
    "text", ["2^10", "= 1024", "1024 parameters", "1,024", "2^", "12.5", "1.024*1000", "MB"]
)
def test_students_are_told_the_same(text: str) -> None:
    """What runs in the notebook reads a text as the grader does."""
    entry = {"kind": "count", "names": {"x": ""}, "answer": "x", "symbols": {}, "visible": []}
    report = examine("q", entry, {"x": text}, "en")
    read = whole(text)
    assert (READY if isinstance(read, Whole) else PROBLEM) == report.state
    if isinstance(read, Whole):
        assert str(read.number) == report.lines[0].text.rpartition(" ")[2]


@given(st.integers(0, 10**18), st.sampled_from([",", ".", " ", "_", "'"]))
def test_separators_do_not_change_a_number(number: int, separator: str) -> None:
    """A number written with thousands separators reads as itself."""
    assert Whole(number) == whole(f"{number:,}".replace(",", separator))


@pytest.mark.parametrize(
    ("source", "points", "status"),
    [
        ('total = "124,439,808"', "2", Status.PASSED),
        ("total = 124441344", "2", Status.PASSED),
        ("total = 163_040_256", "0.5", Status.FAILED),
        ("total = 1", "0", Status.FAILED),
        ("total = True", "0", Status.NEEDS_REVIEW),
        ("total = None", "0", Status.NO_ANSWER),
    ],
)
def test_a_literal_needs_no_run(source: str, points: str, status: Status) -> None:
    """A plain literal is judged from the source, without a scenario."""
    check = check_of(TOTAL)
    (item,) = judge(check, source)
    assert () == check.plan(answer(source), DRAW)
    assert (Decimal(points), status) == (item.points, item.status)


def test_a_named_mistake_is_told_by_its_code() -> None:
    """The first mistake that fits gives its code and its text."""
    (item,) = judge(check_of(TOTAL), "total = 163040256")
    assert ("untied", {"en": "The head shares its weights."}) == (item.code, item.student.text)


def test_a_computed_value_comes_from_the_box() -> None:
    """What is no literal is read in the box by one call."""
    check = check_of(TOTAL)
    source = "total = 12 * size"
    (scenario,) = check.plan(answer(source), DRAW)
    assert ("total", True) == (scenario.calls[0].target, scenario.calls[0].read)
    assert Status.PASSED == judge(check, source, [value(124_439_808)])[0].status


@pytest.mark.parametrize(
    ("observed", "status", "code"),
    [
        ([error("NameError", "name 'total' is not defined")], Status.NO_ANSWER, "name.missing"),
        ([error("NotImplementedError")], Status.NO_ANSWER, "not-implemented"),
        ([error("ZeroDivisionError", "division by zero")], Status.FAILED, "raised"),
        ([ended(Ending.CALL_TIME)], Status.FAILED, "ending.call-time"),
        ([error("Skipped")], Status.NEEDS_REVIEW, "review.fault"),
        ([], Status.NEEDS_REVIEW, "review.fault"),
        ([()], Status.NEEDS_REVIEW, "review.fault"),
        ([value(Opaque("Number"))], Status.NEEDS_REVIEW, "count.form"),
    ],
)
def test_whose_fault_it_is(observed: list[tuple[object, ...]], status: Status, code: str) -> None:
    """Student code that fails is FAILED or NO_ANSWER; a missing observation needs manual review."""
    (item,) = judge(check_of(TOTAL), "total = f()", observed)  # type: ignore[arg-type]
    assert (status, code, Decimal(0)) == (item.status, item.code, item.points)


def test_the_right_number_is_not_told() -> None:
    """The student reads what was written, staff also what is right."""
    (item,) = judge(check_of(TOTAL), "total = 5")
    assert {"what": "total", "value": "5"} == item.student.params
    assert "124,439,808" in item.staff


@pytest.mark.parametrize("expected", [[], [error("ImportError")], [value("not a number")]])
def test_a_missing_reference_is_our_fault(expected: list[tuple[object, ...]]) -> None:
    """Without the reference's number a person decides, whatever the student gave."""
    (item,) = judge(check_of(REFERENCE), "total = 7", (), expected)  # type: ignore[arg-type]
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (item.status, item.points)


def test_an_entry_of_a_dictionary() -> None:
    """An item with a key judges that entry; a missing entry is named."""
    check = check_of(TOTAL.replace("value = 124_439_808", 'value = 124_439_808\nkey = "all"'))
    assert Status.PASSED == judge(check, "total = f()", [value({"all": 124_439_808})])[0].status
    assert "value.entry" == judge(check, "total = f()", [value({"some": 1})])[0].code
    (item,) = judge(check, "total = f()", [value(Opaque("pandas.Series"))])
    assert ("value.entries", "pandas.Series") == (item.code, item.student.params["form"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("value = 124_439_808\n", ""), "nothing says what is right"),
        (("value = 124_439_808", 'value = "many"'), "value: expected a whole number or nothing, got 'many'"),
        (("accept", "acept"), "did you mean 'accept'"),
        (('answer = "total"\n', ""), "answer: the name the student assigns is missing"),
        (("when = 163_040_256", 'when = "lots"'), "mistake 'untied': when"),
        (("points = 0.5", "points = 2.5"), "expected from 0 to below 2"),
        (("shares its weights.", "shares {its} weights."), "write braces twice"),
    ],
)
def test_errors_in_a_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """A rubric that cannot be right is refused when it is read, with question and reason."""
    with pytest.raises(RubricError, match=message):
        check_of(TOTAL.replace(*change))
