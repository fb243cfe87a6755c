"""Test shapes: accepted notations and explanations of wrong ones."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from autograder.core.errors import RubricError
from autograder.core.records import OpaqueValue, Status, Tensor
from autograder.questions import make_check
from autograder.rubric import parse_rubric
from tests.questions.base.asking import answer, check_of, judge, value

SCORES = """
[[question]]
id = "q"
kind = "shape"
points = 2
answer = "shape"
[[question.item]]
id = "shape"
points = 2
text = { en = "The shape of the scores" }
value = [8, 12, 128, 64]
axes = ["batch", "heads", "length", "width"]
[[question.item.mistake]]
code = "one-head"
when = [8, 128, 64]
points = 1
text = { en = "Each head has its own." }
"""
SYMBOLIC = SCORES.replace("[8, 12, 128, 64]", '["batch", "n_heads", "seq", "d_head"]').replace(
    "[8, 128, 64]", '["batch", "seq", "d_head"]'
)


@pytest.mark.parametrize(
    "written",
    [
        "(8, 12, 128, 64)",
        "[8, 12, 128, 64]",
        "'(8, 12, 128, 64)'",
        "'8 x 12 x 128 x 64'",
        "'8x12x128x64'",
        "'8 × 12 × 128 × 64'",
        "'torch.Size([8, 12, 128, 64])'",
        "(8.0, '12', 128, 64)",
        "('8', 12, 128, '32*2')",
    ],
)
def test_notations_of_one_shape(written: str) -> None:
    """Every usual notation of a shape is accepted."""
    (item,) = judge(check_of(SCORES), f"shape = {written}")
    assert (Status.PASSED, Decimal(2)) == (item.status, item.points)


@pytest.mark.parametrize(
    "answer_value", [Tensor(np.zeros((8, 12, 128, 64)), "float32"), np.zeros((8, 12, 128, 64))]
)
def test_an_array_stands_for_its_shape(answer_value: object) -> None:
    """A computed tensor or array counts as its shape."""
    assert Status.PASSED == judge(check_of(SCORES), "shape = scores", [value(answer_value)])[0].status


@pytest.mark.parametrize(
    ("written", "code", "axes"),
    [
        ("(8, 128, 12, 64)", "shape.heads-not-moved", "heads, length"),
        ("(8, 12, 128, 128)", "shape.axis", "width"),
        ("(8, 12, 64)", "shape.missing", ""),
        ("(1, 8, 12, 128, 64)", "shape.extra-one", "#1"),
        ("(8, 12, 8192)", "shape.not-split", "#3"),
        ("(7, 7)", "shape.count", ""),
        ("()", "shape.count", ""),
        ("'eight'", "unreadable.unknown-name", ""),
        ("7", "shape.form", ""),
        ("(8, None, 128, 64)", "shape.placeholder", ""),
        ("(8, -12, 128, 64)", "shape.no-size", ""),
    ],
)
def test_a_wrong_shape_is_explained(written: str, code: str, axes: str) -> None:
    """The explanation names the wrong axes, but never a right size."""
    (item,) = judge(check_of(SCORES), f"shape = {written}")
    assert (code, axes) == (item.code, item.student.params.get("axes", ""))
    is_open = code in {"unreadable.unknown-name", "shape.form", "shape.placeholder", "shape.no-size"}
    assert item.status is (Status.NEEDS_REVIEW if is_open else Status.FAILED)


@pytest.mark.parametrize(
    ("right", "written", "code"),
    [
        ("[]", "(1,)", "shape.extra-one"),
        ("[]", "(3,)", "shape.extra"),
        ("[]", "(1, 1)", "shape.count"),
        ("[5]", "()", "shape.missing"),
        ("[5, 7]", "(35,)", "shape.product"),
    ],
)
def test_shapes_of_few_axes_are_explained_truly(right: str, written: str, code: str) -> None:
    """A single axis is not explained as a product of several: (1,) for ()."""
    plain = SCORES.partition("[[question.item.mistake]]")[0].replace("[8, 12, 128, 64]", right)
    text = plain.replace('axes = ["batch", "heads", "length", "width"]\n', "")
    assert code == judge(check_of(text), f"shape = {written}")[0].code


def test_a_named_shape_mistake_has_its_points() -> None:
    """A named mistake takes precedence over the general explanation."""
    (item,) = judge(check_of(SCORES), "shape = (8, 128, 64)")
    assert ("one-head", Decimal(1)) == (item.code, item.points)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("(batch, n_heads, seq, d_head)", ""),
        (r"(batch, n_{heads}, seq, d_{\text{head}})", ""),
        ("(batch, n_heads, seq, d_head*n_heads/n_heads)", ""),
        ("(batch, seq, n_heads, d_head)", "shape.heads-not-moved"),
        ("(batch, seq, d_head)", "one-head"),
        ("(batch, n_heads, seq, d_model)", "shape.axis"),
        ("(batch, n_heads, seq, width)", "unreadable.unknown-name"),
        ("(batch, n_heads*seq, d_head)", "shape.not-split"),
    ],
)
def test_symbolic_shapes(written: str, code: str) -> None:
    """Entries may be formulas in the symbols of the assignment and are compared exactly."""
    (item,) = judge(check_of(SYMBOLIC), f"shape = r'{written}'")
    assert code == item.code


def test_huge_entries_are_not_printed() -> None:
    """An axis with thousands of bits is rejected at bounded cost."""
    (item,) = judge(check_of(SCORES), "shape = f()", [value((8, 1 << 4000, 128, 64))])
    assert "shape.axis" == item.code
    (item,) = judge(check_of(SCORES), "shape = f()", [value((8, 1 << 5000, 128, 64))])
    assert "shape.entry" == item.code


def test_too_many_axes_are_refused() -> None:
    """A list of a million entries is rejected."""
    (item,) = judge(check_of(SCORES), "shape = f()", [value([1] * 1_000_000)])
    assert (Status.FAILED, "shape.axis-count") == (item.status, item.code)


def test_an_object_is_no_shape() -> None:
    """An object without a plain form is rejected by its type."""
    (item,) = judge(check_of(SCORES), "shape = f()", [value(OpaqueValue("Linear"))])
    assert ("shape.form", "Linear") == (item.code, item.student.params["form"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"length", "width"]', '"length"]'), "axes: one name for each"),
        (("value = [8, 12, 128, 64]", 'value = [8, "heads?", 128, 64]'), "value: "),
        (("when = [8, 128, 64]", "when = 3"), "mistake 'one-head': when"),
    ],
)
def test_errors_in_a_shape_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """Axes, sizes and mistakes are validated when the rubric is read."""
    with pytest.raises(RubricError, match=message):
        check_of(SCORES.replace(*change))


ATTENTION = """
[assignment.assume]
heads = "d_model = n_heads*d_head"
[[question]]
id = "q"
kind = "shape"
points = 2
answer = "shape"
[[question.item]]
id = "shape"
points = 2
text = { en = "The shape of the queries" }
value = ["batch", "n_heads", "seq", "d_head"]
accept = [["n_heads", "batch", "seq", "d_head"]]
[[question.item.mistake]]
code = "order"
when = "diagnosis:permuted"
points = 1.5
text = { en = "Think about the order." }
[[question.item.mistake]]
code = "split"
when = "diagnosis:heads-not-split"
points = 1
text = { en = "Split first." }
"""
GRANTED = ATTENTION.replace("value =", 'assume = ["heads"]\nvalue =')


@pytest.mark.parametrize(
    ("written", "code", "points"),
    [
        ("(batch, n_heads, seq, d_head)", "", "2"),
        ("(n_heads, batch, seq, d_head)", "", "2"),
        ("(batch, seq, n_heads, d_head)", "order", "1.5"),
        ("(seq, batch, d_head, n_heads)", "order", "1.5"),
        ("(batch, seq, d_model)", "split", "1"),
        ("(batch, seq, n_heads*d_head)", "split", "1"),
        ("(n_heads, seq, d_head)", "shape.batch-missing", "0"),
        ("(batch, n_heads, seq, d_model)", "shape.all-heads", "0"),
        ("(batch, n_heads, seq, d_model/n_heads)", "shape.early", "0"),
        ("(batch, n_heads, seq, -1)", "shape.placeholder", "0"),
        ("(batch, ..., d_head)", "shape.ellipsis", "0"),
        ("(batch, n_heads, seq, 0.5)", "shape.no-size", "0"),
    ],
)
def test_points_by_explanation(written: str, code: str, points: str) -> None:
    """A named mistake may refer to one explanation or to a family of them."""
    (item,) = judge(check_of(ATTENTION), f"shape = '{written}'")
    assert (code, Decimal(points)) == (item.code, item.points)


def test_relations_that_are_granted_count() -> None:
    """An equal expression under a granted relation is right."""
    (item,) = judge(check_of(GRANTED), "shape = '(batch, n_heads, seq, d_model/n_heads)'")
    assert (Status.PASSED, "(batch, n_heads, seq, d_model/n_heads)") == (item.status, item.reading)


def test_a_shape_of_symbols_is_read_back() -> None:
    """Shapes with symbols are shown as they were read; plain numbers and open axes have no reading."""
    check = check_of(ATTENTION)
    assert (
        "(batch, 2*n_heads, 7)" == judge(check, "shape = r'$batch \\times 2 n_{heads} \\times 7$'")[0].reading
    )
    assert "" == judge(check, "shape = (8, 12)")[0].reading
    assert "" == judge(check, "shape = '(batch, -1)'")[0].reading


@pytest.mark.parametrize(
    ("answer_value", "code"),
    [
        (("batch", "n_heads", "seq", "d_head"), ""),
        (("batch", OpaqueValue("Symbol", "n_heads"), "seq", OpaqueValue("Mul", "d_head*1")), ""),
        (OpaqueValue("Tuple", "(batch, n_heads, seq, d_head)"), ""),
        (("batch", None, "seq", "d_head"), "shape.placeholder"),
        (("batch", OpaqueValue("ellipsis"), "d_head"), "shape.ellipsis"),
        (("batch", "...", "d_head"), "shape.ellipsis"),
        (("batch", -1, "d_head"), "shape.placeholder"),
        (("batch", "-1", "d_head"), "shape.placeholder"),
        (("batch", -2, "d_head"), "shape.no-size"),
        (("batch", 2.5, "d_head"), "shape.entry"),
        (("batch", True, "d_head"), "shape.entry"),
        (("batch", ("n_heads", "seq"), "d_head"), "shape.entry"),
        (("batch", "n_heads × seq", "d_head"), "shape.not-split"),
        (("batch", "width"), "unreadable.unknown-name"),
        ({"batch": 8}, "shape.form"),
        (OpaqueValue("Linear"), "shape.form"),
    ],
)
def test_values_that_stand_for_shapes(answer_value: object, code: str) -> None:
    """Texts, numbers and expressions may be mixed; open sizes are rejected with an explanation."""
    (item,) = judge(check_of(ATTENTION), "shape = f()", [value(answer_value)])
    assert code == item.code


def test_a_text_cell_holds_a_shape() -> None:
    """A shape in a markdown cell is read like a text."""
    check = check_of(ATTENTION)
    for source in (
        "(batch, n_heads, seq, d_head)",
        "$\\text{batch} \\times n_{heads} \\times seq \\times d_{head}$",
    ):
        assert Status.PASSED == judge(check, answer(source, cell_type="markdown"))[0].status


def test_the_reason_never_names_a_right_size() -> None:
    """No explanation contains a size that the student did not write."""
    check = check_of(SCORES.replace("8, 12, 128, 64", "8, 12, 131, 67"))
    for wrong in (
        "(8, 131, 67)",
        "(8, 12, 131)",
        "(1, 2, 3)",
        "(8, 12, 131, 5)",
        "(12, 8, 131, 7)",
        "(8, 12)",
    ):
        (item,) = judge(check, f"shape = {wrong}")
        for size in ("8", "12", "131", "67"):
            if size not in wrong:
                assert size not in " ".join(item.student.params.values()), (wrong, size)


@pytest.mark.parametrize(
    ("rubric", "change", "message"),
    [
        (
            ATTENTION,
            ("diagnosis:permuted", "diagnosis:permutted"),
            "no diagnosis 'permutted'.*did you mean 'permuted'",
        ),
        (SCORES, ("when = [8, 128, 64]", 'when = "diagnosis:early-bird"'), "no diagnosis 'early-bird'"),
        (SCORES, ("when = [8, 128, 64]", "when = [8, 12, 128, 64]"), "is right"),
        (
            GRANTED,
            ('assume = ["heads"]', 'assume = ["head"]'),
            "assume: no relation 'head'; known are: heads",
        ),
        (ATTENTION, ("n_heads*d_head", "n_heads*"), "assumptions|assume"),
        (SCORES, ("value =", "axis = []\nvalue ="), "did you mean 'axes'"),
    ],
)
def test_errors_in_a_symbolic_shape_rubric_are_named(
    rubric: str, change: tuple[str, str], message: str
) -> None:
    """Diagnoses, relations and the number of heads are validated when the rubric is read."""
    with pytest.raises(RubricError, match=message):
        check_of(rubric.replace(*change))


@pytest.mark.parametrize("name", ["heads-not-split", "one-head", "batch-missing"])
def test_a_diagnosis_that_can_never_be_made_is_refused(name: str) -> None:
    """A diagnosis that needs missing names, symbols or numbers of heads is rejected."""
    head = b'version = 1\n[assignment]\nname = "test"\npoints = 2\n'
    named = SCORES.replace("when = [8, 128, 64]", f'when = "diagnosis:{name}"')
    nameless = named.replace('axes = ["batch", "heads", "length", "width"]\n', "")
    for text, is_known in ((named, True), (nameless, False)):
        rubric = parse_rubric(head + text.encode())
        if is_known:
            assert "shape" == make_check(rubric.questions[0], rubric).kind
        else:
            with pytest.raises(RubricError, match=f"no diagnosis '{name}' of this item"):
                make_check(rubric.questions[0], rubric)


@pytest.mark.parametrize("written", ["(768)", "768", "(768,)", "[768]", "'(768,)'", "'768'"])
def test_a_shape_with_one_axis_may_be_a_number(written: str) -> None:
    """A shape with one axis may be a number, because `(768)` is a number in Python."""
    rubric = """
[[question]]
id = "q"
kind = "shape"
points = 1
answer = "shape"
[[question.item]]
id = "bias"
points = 1
text = { en = "The shape of a bias" }
value = [768]
"""
    (item,) = judge(check_of(rubric), f"shape = {written}")
    assert Status.PASSED is item.status
