"""Test the options for variants in a rubric, and the messages for invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.core.errors import RubricError
from autograder.rubric import Rubric, parse_rubric
from autograder.rubric.variants.draws import Fault, Variant

RUBRIC = """
version = 1
[assignment]
name = "sheet"
points = 4
[variant]
where = ["d_model % n_heads == 0"]
[variant.draw.d_model]
integers = [256, 512]
common = 512
[variant.draw.n_heads]
integers = { from = 2, to = 16, step = 2 }
common = 8
[variant.draw.activation]
choices = ["ReLU", "GELU"]
common = "GELU"
[variant.draw.total]
reference = "sheet:total"
arguments = ["d_model"]
common = 99
[variant.draw.decoder]
faults = "repair"
[[question]]
id = "count"
kind = "number"
points = 2
answer = "total"
[[question.item]]
id = "number"
points = 2
text = { en = "With ⟦activation⟧" }
value = "⟦4*d_model**2⟧"
[[question]]
id = "repair"
kind = "repair"
points = 2
answer = "Decoder"
checks = "decoder.py"
[[question.item]]
id = "residual"
points = 1
text = { en = "Residual" }
[[question.item]]
id = "output_head"
points = 1
text = { en = "Head" }
"""
FAULTS = (Fault("residual", {"en": "Residual"}), Fault("self_mask", {"en": "Mask", "de": "Maske"}))
OWN = Variant(
    {"d_model": 256, "n_heads": 4, "activation": "ReLU", "total": 7}, {"decoder": ("residual", "self_mask")}
)


def read(text: str) -> Rubric:
    """Read a rubric with the checks of the exam's decoder."""
    return parse_rubric(text.encode(), reference=Path(__file__).parents[3] / "reference")


def changed(old: str, new: str) -> Rubric:
    """Read the rubric with one place changed."""
    assert 1 == RUBRIC.count(old), old
    return read(RUBRIC.replace(old, new))


def test_the_common_variant_stands_in_the_rubric_as_read() -> None:
    """Without a student, the common values are inserted, and the items are those of the file."""
    rubric = read(RUBRIC)
    assert 4 * 512**2 == rubric.get_question("count").items[0].options["value"]
    assert {"en": "With GELU"} == rubric.get_question("count").items[0].text
    assert {"decoder": ("residual", "output_head")} == rubric.variant.faults
    assert 99 == rubric.variant.values["total"]


def test_a_personal_rubric_is_a_plain_one() -> None:
    """A personal rubric has the variant's values and faults, with the same points, cells and total."""
    common = read(RUBRIC)
    rubric = common.make_personal(OWN, {"repair": FAULTS})
    assert 4 * 256**2 == rubric.get_question("count").items[0].options["value"]
    items = rubric.get_question("repair").items
    assert [("residual", 1), ("self_mask", 1)] == [(item.id, item.points) for item in items]
    assert {"en": "Mask", "de": "Maske"} == items[1].text
    assert [one.list_cells() for one in common.questions] == [one.list_cells() for one in rubric.questions]
    assert (common.version, common.assignment) == (rubric.version, rubric.assignment)
    assert common.digest != rubric.digest


def test_questions_without_placeholders_are_the_very_same() -> None:
    """Questions that do not depend on the variant are reused."""
    common = read(
        RUBRIC.replace('value = "⟦4*d_model**2⟧"', "value = 5").replace("With ⟦activation⟧", "With")
    )
    rubric = common.make_personal(OWN, {"repair": FAULTS})
    assert common.get_question("count") is rubric.get_question("count")
    assert common.get_question("repair") is not rubric.get_question("repair")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("where =", "were =", "unknown key 'were'; did you mean 'where'"),
        ("integers = [256, 512]", "integer = [256, 512]", "unknown key 'integer'; did you mean 'integers'"),
        ("{ from = 2, to = 16, step = 2 }", "{ from = 2, til = 16 }", "unknown key 'til'"),
        ("{ from = 2, to = 16, step = 2 }", "{ from = 2, to = 16, step = 0 }", "a step from 1"),
        ("{ from = 2, to = 16, step = 2 }", "{ from = 9, to = 2 }", "expected from, to"),
        (
            "integers = [256, 512]",
            'integers = [256, "512"]',
            "integers 2: expected a whole number, got '512'",
        ),
        ("integers = [256, 512]", "integers = [512]", "two different values"),
        ("integers = [256, 512]", "integers = [512, 512]", "each one once"),
        ("common = 512", "common = 500", "none of the values that can be drawn"),
        ("common = 8", "common = 6", r"'d_model % n_heads == 0' does not hold for the common variant"),
        ('where = ["d_model % n_heads == 0"]', 'where = ["d_model"]', "is no condition"),
        ('where = ["d_model % n_heads == 0"]', 'where = ["width > 2"]', "'width' is not drawn"),
        ('where = ["d_model % n_heads == 0"]', 'where = ["activation > 2"]', "values of one kind"),
        ('choices = ["ReLU", "GELU"]', 'choices = ["⟦x⟧", "GELU"]', "holds no placeholder"),
        ('arguments = ["d_model"]', 'arguments = ["d_modl"]', "did you mean 'd_model'"),
        ('"sheet:total"', '"sheet"', "expected 'module:function'"),
        ('faults = "repair"', 'faults = "repare"', "no question 'repare'; did you mean 'repair'"),
        ("[variant.draw.decoder]", "[variant.draw.for]", "expected a name"),
        (
            'id = "output_head"\npoints = 1',
            'id = "output_head"\nfault = "x"\npoints = 1',
            "fault cannot be kept",
        ),
        ('id = "output_head"\npoints = 1', 'id = "output_head"\ncell = "x"\npoints = 1', "the same cell"),
        (
            'answer = "total"',
            'answer = "⟦activation⟧"',
            "question count: answer: is the same for every student",
        ),
        ('id = "number"\npoints = 2', 'id = "number"\npoints = "⟦n_heads⟧"', "points: is the same for every"),
        ('name = "sheet"', 'name = "⟦activation⟧"', r"\[assignment\]: is the same for every student"),
        ("With ⟦activation⟧", "With ⟦activatio⟧", "question 1: .*text: en: .*did you mean 'activation'"),
    ],
)
def test_errors_are_named(old: str, new: str, message: str) -> None:
    """Each error states its place, the expected form and the closest known name."""
    with pytest.raises(RubricError, match=message):
        changed(old, new)


def test_without_the_table_nothing_is_a_placeholder() -> None:
    """A rubric without draws may contain the brackets literally, and has no variant."""
    head, question = RUBRIC[: RUBRIC.index("[variant]")], RUBRIC[RUBRIC.index("[[question]]") :]
    text = (
        head.replace("points = 4", "points = 2") + question[: question.index('[[question]]\nid = "repair"')]
    )
    rubric = read(text.replace('"⟦4*d_model**2⟧"', "5"))
    assert (None, Variant()) == (rubric.draws, rubric.variant)
    assert {"en": "With ⟦activation⟧"} == rubric.get_question("count").items[0].text
