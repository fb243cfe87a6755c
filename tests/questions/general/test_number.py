"""Test number questions: points, explanations, ambiguous answers, and errors in rubrics."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.errors import RubricError
from autograder.core.records import ItemResult, OpaqueValue, Status, Tensor
from autograder.messages import list_languages, render_message
from autograder.notebook.student.report import PROBLEM, READY, examine
from tests.questions.base.asking import answer, check_of, error, judge, value

MEMORY = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "memory"
unit = "MB"
[[question.item]]
id = "weights"
points = 2
text = { en = "Memory of the weights" }
value = 497.759232
[[question.item.mistake]]
code = "one-byte"
when = 124.439808
points = 0.5
text = { en = "A float32 has more bytes than that." }
[[question.item.mistake]]
code = "prefix"
when = "diagnosis:binary-prefix"
points = 1
text = { en = "MB is not MiB." }
"""
THREE_DIGITS = MEMORY.replace("value =", "tolerance = { digits = 3 }\nvalue =")
REFERENCE = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "cache_size"
reference = "sizes:cache"
unit = "bytes"
[[question.item]]
id = "size"
points = 2
text = { en = "The size of the cache" }
"""

WHOLE = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "memory"
[[question.item]]
id = "number"
points = 2
text = { en = "Parameters of the output layer" }
value = 2307
[[question.item.mistake]]
code = "no-biases"
when = 2304
points = 1
text = { en = "The layer has biases, too." }
"""
RIGHT = (
    2307, 2307.0, (2307,), [2307], "2307", "2,307", "2.307", "2 307", "2'307", "2_307", "23_07", "2307.0",
    "2307,0", "2\u00a0307", "2\u2009307", "2\u202f307", "2\u2007307", "2\u200a307", r"2\,307", r"2\;307",
    r"2,\!307", "2{,}307", "$2307$", "**2307**", "`2307`", " 2307 ", "2307.", "[2307]", "+2307",
    "2.307e3", "2.307k", "= 2307", "≈ 2307", "about 2307", "etwa 2307", "ca. 2307", "N = 2307",
    "Anzahl: 2.307", "parameters = 2307", "2307 parameters", "2.307 Parameter",
    "2307 Parameter insgesamt", "2307 trainable parameters", "2307 weights", "2307 Gewichte",
    "2307 (weights)", "2307 Werte", "2307 bytes", "2307 in total", "230700 %", "768*3+3", "768 * 3 + 3",
    "768·3+3", "768×3+3", "768 x 3 + 3", r"$768 \cdot 3 + 3$", "3*(768+1)", "3·769", "3 (768 + 1)",
    "2304+3", "2310-3", "2310 − 3", "4614/2", "2^11 + 259", "2¹¹+259", "2,304 + 3", "2.304 + 3",
    "768*3+3=2307", "768*3 + 3 = 2304 + 3 = 2307", "2307 = 768*3+3", r"768 \times 3 + 3 = 2{,}307",
    "N = 3*769 = 2.307", "(768 + 1) · 3 = 2307 Parameter", "769*3 ≈ 2300", "≈ 2300 (2307)",
    "2307 (≈ 2300)", "2307 (768*3+3)", "2307 (= 768*3 + 3)", "2307, 768*3+3", "2307; 3 * 769",
    "2307: 768*3+3", "2307 (2.3k)", "2307 (with biases)", "2307 (mit Biases)",
    "2307, including the biases", "2307, mit Biases", "2307 – with biases", "2.307 (mit Biases)",
    "2307 parameters (with biases)", "2307 - mit Biases", "2307. The layer has biases.",
    "2307 (as for BERT-2 in float32)", "with biases: 2307",
)  # fmt: skip
NAMED = (
    2304, "2,304", "2.304", "768*3", "768*3 = 2304", "2304 (768*3)", "2304 (no biases)",
    "2304 (ohne Biases)", "2304 parameters", "2304, keine Biases", "2310-6",
)  # fmt: skip
WRONG = (
    (2308, "wrong"), ("2,308", "wrong"), (768, "wrong"), ("23070", "wrong"), ("2.307 million", "wrong"),
    ("2307 million", "wrong"), (-2307, "sign"), ("2300", "digits"),
    ("2.3k", "digits"), (2307.5, "whole"), ("2307.5", "whole"), ("2307,5", "whole"), ("1/3", "whole"),
    ("2307/2304", "whole"), ("2308 (with biases)", "wrong"), ("769*4 = 3076", "wrong"),
    ("2307^2", "wrong"), ("771 MB", "dimension"),
)  # fmt: skip
IN_DOUBT = (
    ("2307 (2304)", "contradiction"), ("2304 (2307)", "contradiction"), ("2304 = 2307", "contradiction"),
    ("768*3+3 = 2306", "contradiction"), ("768*3+4=2307", "contradiction"),
    ("2307, 2304", "contradiction"), ("2307 (2310)", "contradiction"), ("2, 307", "contradiction"),
    ("2307 (2306.7)", "contradiction"), ("768 * 3 = 2304 + 3 = 2307", "contradiction"),
    ("3 (769 + 1)", "contradiction"), ("2307 or 2304", "not-a-number"),
    ("2307 (or 2304)", "not-a-number"), ("2307 (oder mehr)", "not-a-number"),
    ("2307, times two", "not-a-number"),
    ("2307 (3 classes)", "unknown-unit"), ("768*3 = 2304, + 3 biases", "unknown-unit"),
    ("2300-2310", "not-a-number"), ("2300 – 2310", "not-a-number"), ("2307 ± 1", "not-a-number"),
    ("2307 neurons", "unknown-unit"), ("2307 Neuronen", "unknown-unit"), ("2307x", "unknown-unit"),
    ("2307?", "unknown-unit"), ("2307 MB", "dimension"), ("2307 s", "dimension"), ("2307 %", "dimension"),
    ("3*d_model + 3", "not-a-number"), ("keine Ahnung", "no-number"), ("?", "no-number"),
    ("zwölf", "no-number"), ("1,234.567,890", "not-a-number"), ("12 34", "not-a-number"),
    ("1/0", "not-a-number"), ("١٢٣", "no-number"), ("torch.Size([2307])", "not-a-number"),
    ((768, 3), "comma"), ([768, 3], "form"), (True, "bool"), ("between 2300 and 2310", "not-a-number"),
    ("9^9^9", "too-large"), ("2307!", "too-large"), ("2307" * 100, "too-long"),
)  # fmt: skip

UNREAD = {
    *("no-number", "not-a-number", "unknown-unit", "unknown-unit-near", "too-large", "too-long"),
    *("comma", "form", "bool"),
}
"""Codes of unreadable answers, which need manual review."""


def one(question: str, written: object) -> ItemResult:
    """Return the result of an answer given as a literal."""
    (item,) = judge(check_of(question), f"memory = {written!r}")
    return item


def returned(question: str, returned_value: object) -> ItemResult:
    """Return the result of an answer whose value comes from the sandbox."""
    (item,) = judge(check_of(question), "memory = f()", [value(returned_value)])
    return item


@pytest.mark.parametrize("written", RIGHT, ids=repr)
def test_notations_of_one_whole_number(written: object) -> None:
    """Thousands separators, calculations, chains of equations and remarks are accepted."""
    assert Status.PASSED == one(WHOLE, written).status


@pytest.mark.parametrize("written", NAMED, ids=repr)
def test_a_named_mistake_is_found_in_any_notation(written: object) -> None:
    """A named mistake earns its points in any notation and with any remark."""
    item = one(WHOLE, written)
    assert (Status.FAILED, "no-biases", Decimal(1)) == (item.status, item.code, item.points)


@pytest.mark.parametrize(("written", "code"), WRONG, ids=repr)
def test_a_wrong_whole_number_earns_nothing(written: object, code: str) -> None:
    """A wrong whole number earns nothing, and the explanation suits whole numbers."""
    item = one(WHOLE, written)
    assert (Status.FAILED, f"number.{code}", Decimal(0)) == (item.status, item.code, item.points)


@pytest.mark.parametrize(("written", "code"), IN_DOUBT, ids=repr)
def test_what_is_in_doubt_needs_manual_review(written: object, code: str) -> None:
    """Contradictions, ranges, alternatives, unknown words and other texts need manual review."""
    item = one(WHOLE, written)
    assert (Status.NEEDS_REVIEW, f"number.{code}", Decimal(0)) == (item.status, item.code, item.points)
    zero = one(WHOLE.replace('answer = "memory"', 'answer = "memory"\nunreadable = "zero"'), written)
    assert (Status.FAILED, Decimal(0)) == (zero.status, zero.points)


@pytest.mark.parametrize(
    ("right", "written", "status"),
    [
        (0, "0 (tied)", Status.PASSED),
        (0, "0, weil die Gewichte geteilt sind", Status.PASSED),
        (0, "7 (0 if tied)", Status.NEEDS_REVIEW),
        (0, False, Status.NEEDS_REVIEW),
        (12, "12 (768/64)", Status.PASSED),
        (12, "12 (768/32)", Status.NEEDS_REVIEW),
        (12, "768/64 = 12 heads", Status.NEEDS_REVIEW),
        (24, "4!", Status.PASSED),
        (1024, "1.024", Status.PASSED),
        (1, "1.024", Status.FAILED),
        (2307, "2,307 · 10^3", Status.NEEDS_REVIEW),
        (10**30 + 1, f"{10**30 + 1:,}", Status.PASSED),
        (10**30 + 1, 10**30, Status.FAILED),
    ],
)
def test_other_whole_numbers(right: int, written: object, status: Status) -> None:
    """Zero, small and huge numbers are read correctly."""
    assert status is one(WHOLE.replace("2307", str(right)), written).status


@given(st.integers(0, 10**18), st.sampled_from([",", ".", " ", "_", "'"]))
def test_separators_do_not_change_a_number(number: int, separator: str) -> None:
    """A number with thousands separators equals the number without them."""
    check = check_of(WHOLE.replace("2307", str(number)).partition("[[question.item.mistake]]")[0])
    (item,) = judge(check, f"memory = {f'{number:,}'.replace(',', separator)!r}")
    assert Status.PASSED is item.status


@pytest.mark.parametrize(
    ("answer_value", "code"),
    [
        (np.int64(2307), ""),
        (np.array(2307), ""),
        (np.array([2307.0]), ""),
        (Tensor(np.array(2307), "int64"), ""),
        (OpaqueValue("Integer", "2307"), ""),
        (OpaqueValue("Fraction", "2307"), ""),
        (OpaqueValue("Decimal", "2307.0"), ""),
        (OpaqueValue("Fraction", "4615/2"), "number.whole"),
        (np.array([2307, 1]), "number.form"),
        (np.array(True), "number.form"),
        (float("nan"), "number.not-finite"),
        (1 << 5000, "number.too-large"),
        (OpaqueValue("Module"), "number.form"),
    ],
)
def test_whole_numbers_of_libraries(answer_value: object, code: str) -> None:
    """Scalars of NumPy and torch, and exact numbers of Python and SymPy, count as numbers."""
    assert code == returned(WHOLE, answer_value).code


def test_a_reference_of_whole_numbers_leaves_no_decimals() -> None:
    """If a reference gives a whole number, a mark between digits still separates thousands."""
    rubric_text = WHOLE.replace('answer = "memory"', 'answer = "memory"\nreference = "sizes:layer"')
    check = check_of(rubric_text.replace("value = 2307\n", ""))
    for written in ("2.307", "2,307", 2307):
        (item,) = judge(check, f"memory = {written!r}", (), [value(2307)])
        assert Status.PASSED is item.status
    assert Status.NEEDS_REVIEW is judge(check, "memory = 7", (), [error("ImportError")])[0].status


@pytest.mark.parametrize(
    "text", [*(one for one in RIGHT if isinstance(one, str)), "2307.5", "12 heads", "2304 (2307)"]
)
def test_students_are_told_how_a_whole_number_is_read(text: str) -> None:
    """The check in the notebook reads a text in the same way as the grader."""
    entry = {"kind": "number", "names": {"x": "whole"}, "answer": "x", "symbols": {}, "visible": []}
    report = examine("q", entry, {"x": text}, "en")
    is_read = text in RIGHT and text not in ("3 (768 + 1)", "2310-3", "2310 − 3")  # also right if in doubt
    assert (READY if is_read else PROBLEM) == report.state
    if is_read:
        assert "x is read as 2307" == report.lines[0].text


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("497.759232 MB = 0.497759232 GB", ""),
        ("124439808*4 = 497759232 bytes", ""),
        ("124439808 * 4 bytes", ""),
        ("497,759232 MB (vier Bytes je Parameter)", ""),
        ("497.759232 MB (475 MiB)", ""),
        ("497.8 MB (475 MiB)", ""),
        ("475 MiB (498 MB)", ""),
        ("124439808*4 = 497759232 bytes ≈ 498 MB", ""),
        ("497.8 (MB)", ""),
        ("(498 MB)", ""),
        ("498 MB (not MiB)", ""),
        ("498 MB, i.e. 0.498 GB", ""),
        ("497.8 MB (475.5 MiB)", "number.contradiction"),
        ("249 MB (498 MB)", "number.contradiction"),
        ("498 MB (or 249 MB)", "number.not-a-number"),
        ("249 MB (float16)", "number.wrong"),
    ],
)
def test_remarks_beside_a_quantity_are_read(written: str, code: str) -> None:
    """Agreeing units and rounded values are accepted; two different amounts need manual review."""
    item = one(THREE_DIGITS, written)
    assert code == item.code
    is_open = code in ("number.contradiction", "number.not-a-number")
    assert item.status is (Status.NEEDS_REVIEW if is_open else Status.FAILED if code else Status.PASSED)


@pytest.mark.parametrize(
    "written",
    [
        497.759232, "497.759232", "497.759232 MB", "497,759232 MB", "497759232 B", "497,759,232 bytes",
        "0.497759232 GB", (497.759232,),
        "497759.232 kB", "3982.073856 Mbit", (497.759232, "MB"), ("497,759232", "MB"), (497759232, "bytes"),
    ],
)  # fmt: skip
def test_notations_of_one_quantity(written: object) -> None:
    """Numbers, texts and pairs in any unit of information are compared exactly."""
    assert (Status.PASSED, Decimal(2)) == (one(MEMORY, written).status, one(MEMORY, written).points)


@pytest.mark.parametrize(
    ("written", "code", "points"),
    [
        ("497.76 MB", "number.digits", "0"),
        (124.439808, "one-byte", "0.5"),
        ("124439808 B", "one-byte", "0.5"),
        ("497.759232 MiB", "prefix", "1"),
        ("497.759232 Mb", "number.bits-for-bytes", "0"),
        ("497.759232 GB", "number.thousand", "0"),
        (497759232, "number.thousand", "0"),
        (4.97759232, "number.power-of-ten", "0"),
        (-497.759232, "number.sign", "0"),
        ("497.759232 s", "number.dimension", "0"),
        ("497.759232 M parameters", "number.dimension", "0"),
        ("300 MB", "number.wrong", "0"),
        ("a lot", "number.no-number", "0"),
        ("4-5 MB", "number.not-a-number", "0"),
        ("5 quux", "number.unknown-unit", "0"),
        ("5 megabites", "number.unknown-unit-near", "0"),
        ("1e999999 MB", "number.too-large", "0"),
        ("9" * 10_000, "number.too-long", "0"),
        (True, "number.bool", "0"),
        ((1, 2), "number.comma", "0"),
        ([1, 2], "number.form", "0"),
        ([300], "number.wrong", "0"),
        ((True, "MB"), "number.form", "0"),
    ],
)
def test_a_wrong_quantity_is_explained(written: object, code: str, points: str) -> None:
    """Named mistakes are reported first, then the kind of misconception, but never the right number."""
    item = one(MEMORY, written)
    assert (code, Decimal(points)) == (item.code, item.points)
    is_open = code.removeprefix("number.") in UNREAD
    assert item.status is (Status.NEEDS_REVIEW if is_open else Status.FAILED)
    if "497" not in str(written):
        assert not any(
            re.search("497|3982", render_message(item.student, language)) for language in list_languages()
        )


@pytest.mark.parametrize("written", ["497,759 MB", "498 mb", "1,244 MB"])
def test_two_readings_are_asked_back(written: str) -> None:
    """A text with two readings is ambiguous. It needs manual review if one of the readings is right."""
    right = {"497,759 MB": "497.759", "498 mb": "498", "1,244 MB": "7"}[written]
    item = one(re.sub(r"497\.759232", right, MEMORY), written)
    status = Status.FAILED if right == "7" else Status.NEEDS_REVIEW
    assert (status, "number.ambiguous", "", Decimal(0)) == (
        item.status,
        item.code,
        item.reading,
        item.points,
    )
    assert re.search(r"is “.*” .* or .*\?", render_message(item.student, "en"))


def test_a_point_before_a_prefix_is_taken_for_decimals() -> None:
    """A point before a unit prefix marks decimals; if thousands would be right, the answer needs review."""
    assert Status.PASSED == one(MEMORY.replace("497.759232", "1.244"), "1.244 MB").status
    assert Status.NEEDS_REVIEW == one(MEMORY.replace("497.759232", "1244"), "1.244 MB").status
    assert Status.FAILED == one(MEMORY.replace("497.759232", "7"), "1.244 MB").status


def test_a_question_may_state_the_decimal_mark() -> None:
    """If the rubric states the decimal mark, no answer is ambiguous."""
    rubric_text = MEMORY.replace('unit = "MB"', 'unit = "MB"\ndecimal = "comma"')
    assert Status.PASSED == one(rubric_text.replace("497.759232", "1.244"), "1,244 MB").status
    assert "number.thousand" == one(rubric_text.replace("497.759232", "1.244"), "1.244 MB").code


@pytest.mark.parametrize(
    ("units", "written", "code"),
    [
        ("required", "498 MB", ""),
        ("required", "498", "number.unit-missing"),
        ("required", 497759232, "number.unit-missing"),
        ("required", "0.498 G", "number.unit-missing"),
        ("required", 300, "number.wrong"),
        ("optional", "498 MB", ""),
        ("optional", 498, ""),
        ("forbidden", 498, ""),
        ("forbidden", "498", ""),
        ("forbidden", "498 MB", "number.unit-forbidden"),
        ("forbidden", "300 MB", "number.wrong"),
    ],
)
def test_units_may_be_required_or_forbidden(units: str, written: object, code: str) -> None:
    """A missing or forbidden unit matters only if the number is right."""
    item = one(THREE_DIGITS.replace('unit = "MB"', f'unit = "MB"\nunits = "{units}"'), written)
    assert code == item.code


def test_a_missing_unit_may_earn_something() -> None:
    """A mistake in the rubric can give points for a missing unit."""
    rubric = THREE_DIGITS.replace('unit = "MB"', 'unit = "MB"\nunits = "required"')
    item = one(rubric.replace("diagnosis:binary-prefix", "diagnosis:unit-missing"), "498")
    assert ("prefix", Decimal(1)) == (item.code, item.points)


@pytest.mark.parametrize(
    ("tolerance", "right", "wrong"),
    [
        ('{ relative = "1%" }', ["500 MB", "493 MB", 502.7], ["503 MB", 492]),
        ("{ relative = 0.01 }", ["500 MB"], ["503 MB"]),
        ('{ absolute = "0.5 MB" }', ["498.2 MB", "497.259232 MB"], ["498.3 MB"]),
        ("{ absolute = 1 }", ["498.7 MB"], ["498.8 MB"]),
        ("{ digits = 2 }", ["500 MB", "0.50 GB", "475 MiB"], ["510 MB", "490 MB"]),
        ('"exact"', [497.759232], [497.7592320001, "497.7592320000000001 MB"]),
    ],
)
def test_tolerances(tolerance: str, right: list[object], wrong: list[object]) -> None:
    """Test the limits of each form of tolerance."""
    rubric = MEMORY.replace("value =", f"tolerance = {tolerance}\nvalue =")
    assert [Status.PASSED] * len(right) == [one(rubric, written).status for written in right]
    assert [Status.FAILED] * len(wrong) == [one(rubric, written).status for written in wrong]


@pytest.mark.parametrize(
    ("answer_value", "code"),
    [
        (497.759232, ""),
        (np.float64(497.759232), ""),
        (np.array(497.759232), ""),
        (np.array([497.759232]), ""),
        (Tensor(np.array(497.759232), "float64"), ""),
        (OpaqueValue("Float", "497.759232"), ""),
        (OpaqueValue("Rational", "62219904/125000"), ""),
        (np.array([1.0, 2.0]), "number.form"),
        (np.array([True]), "number.form"),
        (np.array([1 + 2j]), "number.form"),
        (OpaqueValue("Quantity"), "number.form"),
        (OpaqueValue("int"), "number.too-large"),
        (1 << 5000, "number.too-large"),
        (float("inf"), "number.not-finite"),
        (float("nan"), "number.not-finite"),
        ({"MB": 1}, "number.form"),
        (1j, "number.form"),
    ],
)
def test_values_out_of_the_sandbox(answer_value: object, code: str) -> None:
    """Numbers of any library are accepted; other values are rejected by type."""
    assert code == returned(MEMORY, answer_value).code


def test_whole_numbers_are_compared_exactly() -> None:
    """A count of a hundred billion that is off by one is wrong, as an integer and as a text."""
    rubric = (
        MEMORY.replace('"MB"', '"parameters"')
        .replace("497.759232", "175_000_000_001")
        .replace("124.439808", "7")
    )
    rubric = rubric.replace("diagnosis:binary-prefix", "diagnosis:digits")
    assert Status.PASSED == one(rubric, 175_000_000_001).status
    assert Status.PASSED == one(rubric, "175,000,000,001 parameters").status
    assert ["number.wrong", "number.wrong", "prefix"] == [
        one(rubric, written).code for written in (175_000_000_002, "175.000000003 B", "175B")
    ]


def test_the_reading_is_kept() -> None:
    """The result records how the answer was read."""
    assert "497,759,232 B" == one(MEMORY, "497.759.232 bytes").reading
    assert "497.759232 MB" == one(MEMORY, 497.759232).reading
    assert "" == one(WHOLE, "2307 (2304)").reading


def test_a_text_cell_holds_a_quantity() -> None:
    """A quantity in a markdown cell is read like a text."""
    for source in (
        "497.759232 MB",
        r"$497.759232\,\text{MB}$",
        "**497,759,232 bytes**",
        "memory = 497.759232 MB.",
    ):
        (item,) = judge(check_of(MEMORY), answer(source, cell_type="markdown"))
        assert Status.PASSED == item.status, source


@pytest.mark.parametrize(
    "reference_value",
    [26214400, 26214400.0, "26214400", "52428800/2", "25 MiB", OpaqueValue("Integer", "26214400")],
)
def test_references_of_any_form(reference_value: object) -> None:
    """The reference may return an integer, a float, a text with a fraction or a unit, or an expression."""
    (item,) = judge(check_of(REFERENCE), "cache_size = 26214400", (), [value(reference_value)])
    assert Status.PASSED == item.status


@pytest.mark.parametrize(
    "reference_value", [OpaqueValue("Fraction"), None, "many", float("nan"), [1, 2], "5 mb"]
)
def test_a_reference_that_is_no_quantity_is_our_fault(reference_value: object) -> None:
    """If the reference does not return a quantity, the answer needs manual review."""
    (item,) = judge(check_of(REFERENCE), "cache_size = 1", (), [value(reference_value)])
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (item.status, item.points)


def test_further_answers_and_the_most_telling_explanation() -> None:
    """Each accepted value is right, and the closest one explains a wrong answer."""
    rubric = MEMORY.replace("value =", 'accept = ["510 MB"]\nvalue =')
    assert Status.PASSED == one(rubric, "0.51 GB").status
    assert "number.thousand" == one(rubric, "510 GB").code


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("value = 497.759232\n", ""), "nothing says what is right"),
        (('unit = "MB"', 'unit = "MBit/s/s"'), "unit: no unit"),
        (('unit = "MB"', 'unit = "tokns"'), "unit: no unit 'tokns'; did you mean 'tokens'"),
        (('unit = "MB"', 'unit = "mb"'), "'mb' may be MB or Mbit; write one of these"),
        (('unit = "MB"', 'unti = "MB"'), "unknown key 'unti'; did you mean 'unit'"),
        (('unit = "MB"', 'unit = ""\nunits = "required"'), "a unit is required, but none is named"),
        (('unit = "MB"', 'unit = "s"'), "mistake 'prefix': when: no diagnosis 'binary-prefix'"),
        (("value =", 'accept = ["5 s"]\nvalue ='), "'5 s' is no answer of kind number: number.dimension"),
        (
            ("when = 124.439808", 'when = "5 s"'),
            "when: '5 s' is no answer of kind number: number.dimension",
        ),
        (
            ('unit = "MB"', 'unit = "MB"\nunits = "maybe"'),
            "units: 'maybe' is not possible; known are: forbidden, optional, required",
        ),
        (
            ('unit = "MB"', 'unit = "MB"\ndecimal = "dot"'),
            "decimal: 'dot' is not possible; known are: comma, either, point",
        ),
        (('unit = "MB"', 'unit = "MB"\ntolerance = "exakt"'), 'tolerance: expected "exact" or a table'),
        (
            ('unit = "MB"', 'unit = "MB"\ntolerance = { relativ = 1 }'),
            "unknown key 'relativ'; did you mean 'relative'",
        ),
        (
            ('unit = "MB"', 'unit = "MB"\ntolerance = { digits = 3, relative = 0.1 }'),
            "expected one of relative",
        ),
        (('unit = "MB"', 'unit = "MB"\ntolerance = {}'), "expected one of relative"),
        (('unit = "MB"', 'unit = "MB"\ntolerance = { digits = 0 }'), "digits: expected from 1 to 15, got 0"),
        (('unit = "MB"', 'unit = "MB"\ntolerance = { relative = 1 }'), "relative: expected less than 1"),
        (('unit = "MB"', 'unit = "MB"\ntolerance = { relative = "-1%" }'), "expected a positive amount"),
        (('unit = "MB"', 'unit = "MB"\ntolerance = { relative = "5 s" }'), "expected a positive amount"),
        (
            ('unit = "MB"', 'unit = "MB"\ntolerance = { relative = true }'),
            "expected a number or a text, got True",
        ),
        (
            ('unit = "MB"', 'unit = "MB"\ntolerance = { absolute = "1 s" }'),
            "expected a positive amount of MB",
        ),
        (
            ('unit = "MB"', 'unit = "MB"\ntolerance = { absolute = "much" }'),
            "'much' cannot be read: no-number",
        ),
        (("value = 497.759232", 'value = "many"'), "value: 'many' is no answer of kind number"),
        (("value = 497.759232", 'value = "5 mb"'), "value: '5 mb' is no answer of kind number"),
        (("value = 497.759232", "value = nan"), "is no answer of kind number"),
        (("value = 497.759232", "value = 1e99999"), "is no answer of kind number"),
        (("value = 497.759232", "value = [1, 2]"), "is no answer of kind number"),
        (("when = 124.439808", 'when = "5 quux"'), "mistake 'one-byte': when: '5 quux' is no answer"),
        (("when = 124.439808", 'when = "497759232 B"'), "mistake 'one-byte': when: '497759232 B' is right"),
        (
            ("diagnosis:binary-prefix", "diagnosis:binary"),
            "no diagnosis 'binary'.*did you mean 'binary-prefix'",
        ),
        (("diagnosis:binary-prefix", "diagnosis:percent"), "no diagnosis 'percent' of this item"),
        (("diagnosis:binary-prefix", "diagnosis:unit-missing"), "no diagnosis 'unit-missing' of this item"),
    ],
)
def test_errors_in_a_quantity_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """An invalid rubric is rejected when it is read, with the question and the reason."""
    with pytest.raises(RubricError, match=f"question 'q'.*{message}"):
        check_of(MEMORY.replace(*change))


def test_fractions_of_the_rubric_stay_exact() -> None:
    """Fractions in the rubric are compared exactly."""
    third = MEMORY.replace("value = 497.759232", 'value = "1/3"')
    assert Status.PASSED == one(third, "1/3 MB").status
    assert "number.digits" == one(third, "0.3333 MB").code


def test_the_right_value_may_name_the_unit() -> None:
    """Without a unit in the rubric, the unit of the right value is expected."""
    rubric = MEMORY.replace('unit = "MB"\n', "").replace("value = 497.759232", 'value = "497.759232 MB"')
    assert [Status.PASSED] * 2 == [one(rubric, written).status for written in (497.759232, "497759232 B")]
    with pytest.raises(RubricError, match="mb' is no answer of kind number"):
        check_of(rubric.replace('"497.759232 MB"', '"497.759232 mb"'))


@pytest.mark.parametrize(("kind", "unit"), [("number", 'unit = "MB"\n'), ("number", ""), ("shape", "")])
@pytest.mark.parametrize("text", ["", "  \n", "...", "$ $"])
def test_a_text_without_content_is_no_answer(kind: str, unit: str, text: str) -> None:
    """A blank text or the original dots count as no answer, not as a wrong one."""
    question = f'[[question]]\nid = "q"\nkind = "{kind}"\npoints = 1\nanswer = "x"\n{unit}'
    value = "[2, 3]" if kind == "shape" else "7"
    item = f'[[question.item]]\nid = "i"\npoints = 1\ntext = {{ en = "X" }}\nvalue = {value}\n'
    assert Status.NO_ANSWER is judge(check_of(question + item), f"x = {text!r}")[0].status


@pytest.mark.parametrize(
    ("written", "status"),
    [(2.307, Status.NEEDS_REVIEW), (2307, Status.PASSED), (2.306, Status.FAILED), (23.07, Status.FAILED)],
)
def test_judge_reviews_a_thousands_point_in_a_float(written: float, status: Status) -> None:
    """A float such as ``2.307`` needs manual review if it may mean 2307."""
    assert status is one(WHOLE, written).status
