"""Quantities: what earns points, what is explained, what is asked back, and what a rubric may not say."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.base import Evidence, HasTolerance
from autograder.errors import RubricError
from autograder.kinds.general.quantity import quantities, sentences, units
from autograder.kinds.general.quantity.tolerance import DIFFERENCES
from autograder.messages import languages, render
from autograder.records import ItemResult, Message, Opaque, Ref, Status, Tensor
from tests.checks.asking import DRAW, answer, check_of, judge, value

MEMORY = """
[[question]]
id = "q"
kind = "quantity"
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
kind = "quantity"
points = 2
answer = "cache_size"
reference = "sizes:cache"
unit = "bytes"
[[question.item]]
id = "size"
points = 2
text = { en = "The size of the cache" }
"""

UNREAD = {
    *("no-number", "not-a-number", "unknown-unit", "unknown-unit-near", "too-large", "too-long"),
    *("comma", "form"),
}
"""What cannot be read needs manual review."""


def one(question: str, written: object) -> ItemResult:
    """The result of a literal in the cell."""
    (item,) = judge(check_of(question), f"memory = {written!r}")
    return item


def returned(question: str, given: object) -> ItemResult:
    """The result of a value out of the sandbox."""
    (item,) = judge(check_of(question), "memory = f()", [value(given)])
    return item


@pytest.mark.parametrize(
    "written",
    [
        497.759232, "497.759232", "497.759232 MB", "497,759232 MB", "497759232 B", "497,759,232 bytes",
        "0.497759232 GB", (497.759232,),
        "497759.232 kB", "3982.073856 Mbit", (497.759232, "MB"), ("497,759232", "MB"), (497759232, "bytes"),
    ],
)  # fmt: skip
def test_notations_of_one_quantity(written: object) -> None:
    """Numbers, texts and pairs, in any unit of information, are compared exactly."""
    assert (Status.PASSED, Decimal(2)) == (one(MEMORY, written).status, one(MEMORY, written).points)


@pytest.mark.parametrize(
    ("written", "code", "points"),
    [
        ("497.76 MB", "quantity.digits", "0"),
        (124.439808, "one-byte", "0.5"),
        ("124439808 B", "one-byte", "0.5"),
        ("497.759232 MiB", "prefix", "1"),
        ("497.759232 Mb", "quantity.bits-for-bytes", "0"),
        ("497.759232 GB", "quantity.thousand", "0"),
        (497759232, "quantity.thousand", "0"),
        (4.97759232, "quantity.power-of-ten", "0"),
        (-497.759232, "quantity.sign", "0"),
        ("497.759232 s", "quantity.dimension", "0"),
        ("497.759232 M parameters", "quantity.dimension", "0"),
        ("300 MB", "quantity.wrong", "0"),
        ("a lot", "quantity.no-number", "0"),
        ("4-5 MB", "quantity.not-a-number", "0"),
        ("5 quux", "quantity.unknown-unit", "0"),
        ("5 megabites", "quantity.unknown-unit-near", "0"),
        ("1e999999 MB", "quantity.too-large", "0"),
        ("9" * 10_000, "quantity.too-long", "0"),
        (True, "quantity.bool", "0"),
        ((1, 2), "quantity.comma", "0"),
        ([1, 2], "quantity.form", "0"),
        ([300], "quantity.wrong", "0"),
        ((True, "MB"), "quantity.form", "0"),
    ],
)
def test_a_wrong_quantity_is_explained(written: object, code: str, points: str) -> None:
    """Named mistakes first, then what kind of misconception it is; nothing tells the right number."""
    item = one(MEMORY, written)
    assert (code, Decimal(points)) == (item.code, item.points)
    is_open = code.removeprefix("quantity.") in UNREAD
    assert item.status is (Status.NEEDS_REVIEW if is_open else Status.FAILED)
    if "497" not in str(written):
        assert not any(re.search("497|3982", render(item.student, language)) for language in languages())


@pytest.mark.parametrize("written", ["497,759 MB", "498 mb", "1,244 MB"])
def test_two_readings_are_asked_back(written: str) -> None:
    """The student reads a question; a person decides where one of the readings is right."""
    right = {"497,759 MB": "497.759", "498 mb": "498", "1,244 MB": "7"}[written]
    item = one(re.sub(r"497\.759232", right, MEMORY), written)
    status = Status.FAILED if right == "7" else Status.NEEDS_REVIEW
    assert (status, "quantity.ambiguous", "", Decimal(0)) == (
        item.status,
        item.code,
        item.reading,
        item.points,
    )
    assert re.search(r"is “.*” .* or .*\?", render(item.student, "en"))


def test_a_point_before_a_prefix_is_taken_for_decimals() -> None:
    """1.244 MB is right where that is asked for; where thousands would be right, a person looks."""
    assert Status.PASSED == one(MEMORY.replace("497.759232", "1.244"), "1.244 MB").status
    assert Status.NEEDS_REVIEW == one(MEMORY.replace("497.759232", "1244"), "1.244 MB").status
    assert Status.FAILED == one(MEMORY.replace("497.759232", "7"), "1.244 MB").status


def test_a_question_may_state_the_decimal_mark() -> None:
    """With a stated mark nothing is asked back."""
    stated = MEMORY.replace('unit = "MB"', 'unit = "MB"\ndecimal = "comma"')
    assert Status.PASSED == one(stated.replace("497.759232", "1.244"), "1,244 MB").status
    assert "quantity.thousand" == one(stated.replace("497.759232", "1.244"), "1.244 MB").code


@pytest.mark.parametrize(
    ("units", "written", "code"),
    [
        ("required", "498 MB", ""),
        ("required", "498", "quantity.unit-missing"),
        ("required", 497759232, "quantity.unit-missing"),
        ("required", "0.498 G", "quantity.unit-missing"),
        ("required", 300, "quantity.wrong"),
        ("optional", "498 MB", ""),
        ("optional", 498, ""),
        ("forbidden", 498, ""),
        ("forbidden", "498", ""),
        ("forbidden", "498 MB", "quantity.unit-forbidden"),
        ("forbidden", "300 MB", "quantity.wrong"),
    ],
)
def test_units_may_be_required_or_forbidden(units: str, written: object, code: str) -> None:
    """The unit's presence matters only where the number is right."""
    item = one(THREE_DIGITS.replace('unit = "MB"', f'unit = "MB"\nunits = "{units}"'), written)
    assert code == item.code


def test_a_missing_unit_may_earn_something() -> None:
    """Unit policies can be named in a mistake like any explanation."""
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
    """Each form of tolerance, at its borders."""
    rubric = MEMORY.replace("value =", f"tolerance = {tolerance}\nvalue =")
    assert [Status.PASSED] * len(right) == [one(rubric, written).status for written in right]
    assert [Status.FAILED] * len(wrong) == [one(rubric, written).status for written in wrong]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (497.759232, ""),
        (np.float64(497.759232), ""),
        (np.array(497.759232), ""),
        (np.array([497.759232]), ""),
        (Tensor(np.array(497.759232), "float64"), ""),
        (Opaque("Float", "497.759232"), ""),
        (Opaque("Rational", "62219904/125000"), ""),
        (np.array([1.0, 2.0]), "quantity.form"),
        (np.array([True]), "quantity.form"),
        (np.array([1 + 2j]), "quantity.form"),
        (Opaque("Quantity"), "quantity.form"),
        (Ref("kept"), "quantity.form"),
        (Opaque("int"), "quantity.too-large"),
        (1 << 5000, "quantity.too-large"),
        (float("inf"), "quantity.not-finite"),
        (float("nan"), "quantity.not-finite"),
        ({"MB": 1}, "quantity.form"),
        (1j, "quantity.form"),
    ],
)
def test_values_out_of_the_sandbox(given: object, code: str) -> None:
    """Numbers of any library are numbers; everything else is refused by its type."""
    assert code == returned(MEMORY, given).code


def test_integers_that_python_does_not_print() -> None:
    """An integer beyond Python's limit for printing is refused, alone and beside a unit."""
    assert "quantity.too-large" == returned(MEMORY, -(10**5000)).code
    assert "quantity.too-large" == returned(MEMORY, (10**5000, "MB")).code


def test_whole_numbers_are_compared_exactly() -> None:
    """One parameter more or less of a hundred billion is wrong, as an integer and as a text."""
    rubric = (
        MEMORY.replace('"MB"', '"parameters"')
        .replace("497.759232", "175_000_000_001")
        .replace("124.439808", "7")
    )
    rubric = rubric.replace("diagnosis:binary-prefix", "diagnosis:digits")
    assert Status.PASSED == one(rubric, 175_000_000_001).status
    assert Status.PASSED == one(rubric, "175,000,000,001 parameters").status
    assert ["quantity.wrong", "quantity.wrong", "prefix"] == [
        one(rubric, written).code for written in (175_000_000_002, "175.000000003 B", "175B")
    ]


def test_the_reading_is_kept() -> None:
    """How an answer was read is part of the result, for the feedback."""
    assert "497,759,232 B" == one(MEMORY, "497.759.232 bytes").reading
    assert "497.759232 MB" == one(MEMORY, 497.759232).reading


def test_a_text_cell_holds_a_quantity() -> None:
    """A markdown answer is read like a text."""
    for source in (
        "497.759232 MB",
        r"$497.759232\,\text{MB}$",
        "**497,759,232 bytes**",
        "memory = 497.759232 MB.",
    ):
        (item,) = judge(check_of(MEMORY), answer(source, cell_type="markdown"))
        assert Status.PASSED == item.status, source


@pytest.mark.parametrize(
    "given", [26214400, 26214400.0, "26214400", "52428800/2", "25 MiB", Opaque("Integer", "26214400")]
)
def test_references_of_any_form(given: object) -> None:
    """The reference may give an integer, a float, a text with a fraction or a unit, or an expression."""
    (item,) = judge(check_of(REFERENCE), "cache_size = 26214400", (), [value(given)])
    assert Status.PASSED == item.status


@pytest.mark.parametrize("given", [Opaque("Fraction"), None, "many", float("nan"), [1, 2], "5 mb"])
def test_a_reference_that_is_no_quantity_is_our_fault(given: object) -> None:
    """A person decides; the student loses nothing."""
    (item,) = judge(check_of(REFERENCE), "cache_size = 1", (), [value(given)])
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (item.status, item.points)


def test_further_answers_and_the_most_telling_explanation() -> None:
    """Each accepted value is right; a wrong answer is explained by the value that explains more."""
    rubric = MEMORY.replace("value =", 'accept = ["510 MB"]\nvalue =')
    assert Status.PASSED == one(rubric, "0.51 GB").status
    assert "quantity.thousand" == one(rubric, "510 GB").code


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("value = 497.759232\n", ""), "nothing says what is right"),
        (('unit = "MB"', 'unit = "MBit/s/s"'), "unit: no unit"),
        (('unit = "MB"', 'unit = "tokns"'), "unit: no unit 'tokns'; did you mean 'tokens'"),
        (('unit = "MB"', 'unit = "mb"'), "'mb' may be MB or Mbit; write one of these"),
        (('unit = "MB"', 'unti = "MB"'), "unknown key 'unti'; did you mean 'unit'"),
        (('unit = "MB"', 'unit = ""\nunits = "required"'), "a unit is required, but none is named"),
        (('unit = "MB"\n', ""), "unit: what is asked for"),
        (('unit = "MB"', 'unit = "s"'), "mistake 'prefix': when: no diagnosis 'binary-prefix'"),
        (("value =", 'accept = ["5 s"]\nvalue ='), "'5 s' is no answer of kind quantity: quantity.dimension"),
        (
            ("when = 124.439808", 'when = "5 s"'),
            "when: '5 s' is no answer of kind quantity: quantity.dimension",
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
        (("value = 497.759232", 'value = "many"'), "value: 'many' is no answer of kind quantity"),
        (("value = 497.759232", 'value = "5 mb"'), "value: '5 mb' is no answer of kind quantity"),
        (("value = 497.759232", "value = nan"), "is no answer of kind quantity"),
        (("value = 497.759232", "value = 1e99999"), "is no answer of kind quantity"),
        (("value = 497.759232", "value = [1, 2]"), "is no answer of kind quantity"),
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
    """A rubric that cannot be right is refused when it is read, with question and reason."""
    with pytest.raises(RubricError, match=f"question 'q'.*{message}"):
        check_of(MEMORY.replace(*change))


def test_every_code_has_a_sentence() -> None:
    """The closed list and the vocabulary agree, in both languages."""
    policies = {"unit-missing", "unit-forbidden", "ambiguous"}
    reading = {
        "bool", "form", "comma", "not-finite", "no-number", "not-a-number", "too-large", "too-long",
        "unknown-unit",
        "unknown-unit-near",
    }  # fmt: skip
    assert {f"quantity.{one}" for one in {*DIFFERENCES, *policies, *reading}} == set(sentences.SENTENCES)
    params = dict.fromkeys(
        ("what", "value", "form", "limit", "name", "suggestion", "first", "second", "number"), "X"
    )
    for code in sentences.SENTENCES:
        assert 2 == len({render(Message(code, params), language) for language in languages()}), code


def test_fractions_of_the_rubric_stay_exact() -> None:
    """A third of a megabyte is a third."""
    third = MEMORY.replace("value = 497.759232", 'value = "1/3"')
    assert Status.PASSED == one(third, "1/3 MB").status
    assert "quantity.digits" == one(third, "0.3333 MB").code


def test_every_code_of_the_readers_has_a_sentence() -> None:
    """Whatever keeps a quantity from being read is explained."""
    sources = "".join(Path(module.__file__).read_text("utf-8") for module in (quantities, units))
    raised = set(re.findall(r'Unreadable\(\s*"([a-z-]+)"', sources)) - {"two-units"}  # of rubrics only
    assert {
        "not-finite",
        "no-number",
        "not-a-number",
        "too-long",
        "number-too-large",
        "unknown-unit",
    } == raised
    named = {"number-too-large": "too-large"}
    assert {f"quantity.{named.get(code, code)}" for code in raised} <= set(sentences.SENTENCES)


def test_the_right_value_may_name_the_unit() -> None:
    """Without a unit in the rubric, that of the right value is asked for."""
    rubric = MEMORY.replace('unit = "MB"\n', "").replace("value = 497.759232", 'value = "497.759232 MB"')
    assert [Status.PASSED] * 2 == [one(rubric, written).status for written in (497.759232, "497759232 B")]
    with pytest.raises(RubricError, match="mb' is no answer of kind quantity"):
        check_of(rubric.replace('"497.759232 MB"', '"497.759232 mb"'))


@pytest.mark.parametrize("kind", ["quantity", "count", "shape"])
@pytest.mark.parametrize("text", ["", "  \n", "...", "$ $"])
def test_a_text_without_content_is_no_answer(kind: str, text: str) -> None:
    """A blank text, or the dots that stood there, is nothing handed in, and no wrong answer."""
    unit = 'unit = "MB"\n' if kind == "quantity" else ""
    question = f'[[question]]\nid = "q"\nkind = "{kind}"\npoints = 1\nanswer = "x"\n{unit}'
    value = "[2, 3]" if kind == "shape" else "7"
    item = f'[[question.item]]\nid = "i"\npoints = 1\ntext = {{ en = "X" }}\nvalue = {value}\n'
    assert Status.NO_ANSWER is judge(check_of(question + item), f"x = {text!r}")[0].status


@pytest.mark.parametrize(
    ("tolerance", "accepted"),
    [
        pytest.param('{ absolute = "500 MB" }', ["zeros", "ones"], id="wider than what is right"),
        pytest.param('{ absolute = "497 MB" }', ["ones"], id="one of the unit"),
        pytest.param('{ relative = "1%" }', [], id="relative"),
        pytest.param("{ digits = 3 }", [], id="digits"),
        pytest.param('"exact"', [], id="exact"),
    ],
)
def test_accepted_results_names_tolerances_that_are_too_wide(tolerance: str, accepted: list[str]) -> None:
    """Zero and one in the unit that is asked for must not be right unless they are."""
    stated = MEMORY.partition("[[question.item.mistake]]")[0]
    check = check_of(stated.replace("value = 497", f"tolerance = {tolerance}\nvalue = 497"))
    assert isinstance(check, HasTolerance)
    found = check.accepted_results(Evidence(answer("memory = 1"), (), draw=DRAW))
    assert accepted == [one.result for one in found]
