"""Every example in docs/rubric.md is a rubric that is accepted, and every kind has one."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from autograder.checks import options
from autograder.checks.judging import manual, signs
from autograder.checks.judging.known import Worth
from autograder.checks.planning import drawing
from autograder.errors import RubricError
from autograder.kinds import KINDS, make_check
from autograder.kinds.general import causality, choice, count, gradient, quantity, shape, tracing, value
from autograder.kinds.general.behaviour import probes, subject
from autograder.kinds.general.quantity import tolerances
from autograder.kinds.general.symbolic import options as symbolic_options
from autograder.kinds.general.table import options as table_options
from autograder.kinds.transformers import repair, visibility
from autograder.kinds.transformers.audit import options as audit_options
from autograder.kinds.transformers.decoding import options as decoding_options
from autograder.kinds.transformers.implementation import options as implementation_options
from autograder.kinds.transformers.memorisation import MemorisationItem, MemorisationQuestion
from autograder.kinds.transformers.training import options as training_options
from autograder.rubric import Rubric, parse, scales
from autograder.rubric.exam import Exam, Task
from autograder.rubric.visible import Made, Visible
from autograder.variants import options as variant_options

PAGE = Path(__file__).parents[1] / "docs" / "rubric.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
RECORDS = (
    *(Exam, Task, Made, Visible),
    *(options.Rules, options.Mistake, options.Case, options.AnswerItem, options.ComparedOptions),
    *(table_options.TableQuestion, table_options.TableItem, table_options.Row),
    *(drawing.Drawn, drawing.Stated, drawing.Sized, drawing.Same),
    *(count.CountQuestion, count.CountItem, shape.ShapeQuestion, shape.ShapeItem),
    *(value.ValueQuestion, value.ValueItem, subject.BehaviourQuestion, probes.BehaviourItem),
    *(implementation_options.ImplementationQuestion, implementation_options.ImplementationItem),
    implementation_options.Contract,
    *(quantity.QuantityQuestion, quantity.QuantityItem, tolerances.ToleranceTable),
    *(options.Given, decoding_options.DecodingQuestion, decoding_options.DecodingItem, Worth),
    *(training_options.TrainingQuestion, training_options.TrainingItem),
    *(MemorisationQuestion, MemorisationItem),
    *(visibility.VisibilityQuestion, visibility.VisibilityItem, tracing.TracingQuestion),
    *(causality.CausalityQuestion, causality.CausalityItem),
    *(gradient.GradientQuestion, gradient.GradientItem),
    *(choice.Option, choice.ChoiceQuestion, choice.ChoiceItem),
    *(symbolic_options.SymbolicQuestion, symbolic_options.SymbolicItem, symbolic_options.CarryForward),
    symbolic_options.OptionalTerms,
    *(symbolic_options.Remark, symbolic_options.Mistake, symbolic_options.Step, repair.RepairItem),
    *(manual.Examples, manual.ManualItem, signs.Sign, scales.Grading, scales.Threshold),
    *(audit_options.Input, audit_options.AuditQuestion, audit_options.AuditItem),
    *(variant_options.Integers, variant_options.Choices, variant_options.Computed, variant_options.Planted),
)
HEAD = 'version = 1\n[assignment]\nname = "example"\npoints = {points}\n'


def rubric_of(example: str) -> Rubric:
    """The example as a whole rubric: fragments get a head with the right sum of points."""
    if "[assignment]" in example:
        return parse(example.encode())
    points = re.search(r"^points = ([0-9.]+)", example, re.MULTILINE)
    assert points is not None
    return parse((HEAD.format(points=points[1]) + example).encode())


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"block {number}" for number in range(1, len(EXAMPLES) + 1)]
)
def test_every_example_is_accepted(example: str) -> None:
    """Each TOML block of the page makes a check, with one item at least."""
    rubric = rubric_of(example)
    for question in rubric.questions:
        assert question.kind == make_check(question, rubric).kind


def test_every_kind_has_an_example() -> None:
    """The page shows an example of every kind."""
    shown = {question.kind for example in EXAMPLES for question in rubric_of(example).questions}
    assert set(KINDS) == shown


def test_every_kind_is_named_on_the_page() -> None:
    """The page has a heading for every kind."""
    headings = " ".join(re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert [] == [kind for kind in KINDS if f"`{kind}`" not in headings]


@pytest.mark.parametrize("record", RECORDS, ids=[record.__name__ for record in RECORDS])
def test_every_option_is_on_the_page(record: type[msgspec.Struct]) -> None:
    """No option exists that the page does not name."""
    page = PAGE.read_text("utf-8")
    names = [field.encode_name for field in msgspec.structs.fields(record)]
    assert [] == [name for name in names if not re.search(rf"`{name}`|\b{name} = ", page)]


def test_a_misspelt_kind_gets_a_suggestion() -> None:
    """An unknown kind is refused, and the nearest known one is named."""
    rubric = rubric_of(
        next(one for one in EXAMPLES if 'kind = "written"' in one).replace('"written"', '"writen"')
    )
    with pytest.raises(RubricError, match="unknown kind 'writen'; did you mean 'written'"):
        make_check(rubric.questions[0], rubric)
