"""Partial credit of formulas as a graph: what it may state, and what every way through it is worth."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from autograder.errors import RubricError
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Num, Relation
from autograder.formulas.notation.parse import parse_sides
from autograder.formulas.values.points import Points
from autograder.kinds.general.formula import FormulaCheck
from autograder.kinds.general.formula.answer_key import FormulaKey
from autograder.kinds.general.formula.conditions import Situation
from autograder.kinds.general.formula.graph import END, Credit, CreditGraph, CreditStep, checked
from autograder.kinds.general.formula.steps import Carried
from autograder.messages import render
from autograder.records import ItemResult, Message, Status
from autograder.rubric import Rubric, load, parse
from tests.formulas import exam
from tests.formulas.exam import FORMULAS, VOCABULARY
from tests.kinds.general.formula_exam import CHECKS, judged
from tests.verify.test_shipped import ROOT, SHIPPED

RUBRIC = """
version = 1
[assignment]
name = "steps"
points = 8
[assignment.symbols]
n_layers = { aliases = ["L"] }
n_heads = { aliases = ["h"] }
d_model = { aliases = ["d"] }
d_head = { aliases = ["d_k"] }
[assignment.assume]
heads = "d_model = n_heads*d_head"

[[question]]
id = "h"
kind = "formula"
points = 2
answer = "wide"
[[question.item]]
id = "sum"
points = 2
text = { en = "Sum" }
accept = ["16*d_model^2"]

[[question]]
id = "i"
kind = "formula"
points = 6
answer = "changed"
carry_forward = { from = "h.sum" }
[[question.item]]
id = "formula"
points = 6
text = { en = "Changed" }
accept = ["20*n_layers*d_model^2"]
assume = ["heads"]
[[question.item.step]]
id = "right"
when = "right"
points = 5
next = "widths"
[[question.item.step]]
id = "carried"
when = ["own:wrong", "own:n_layers*(4*d_model^2 + own)"]
points = 4
text = { en = "Right with your own (h).", de = "Richtig mit Ihrem eigenen (h)." }
[[question.item.step]]
id = "attention-forgotten"
when = "16*n_layers*d_model^2"
points = 1.5
text = { en = "Attention?" }
[[question.item.step]]
id = "layers"
when = "diagnosis:factor-forgotten"
points = 1
text = { en = "A factor?" }
[[question.item.step]]
id = "something"
when = "uses:n_layers"
points = 0.5
[[question.item.step]]
id = "nothing"
when = "otherwise"
[[question.item.step]]
id = "widths"
when = "lacks:n_heads"
points = 1
[[question.item.step]]
id = "split"
when = ["uses:h", "uses:d_k"]
points = 0
text = { en = "All right, but simplify." }
"""

FIRST = 'when = "right"\npoints = 5'
MISTAKE = 'mistake = [{ code = "x", when = "1", text = { en = "y" } }]\n'


class Told(Struct, frozen=True):
    """A condition that holds when it is told to."""

    number: int
    answers: tuple[bool, ...]
    always: bool = False
    proves: bool = False

    def holds(self, situation: Situation) -> bool:
        """What it was told."""
        return self.always or self.answers[self.number]


def altered(old: str, new: str) -> Rubric:
    """The rubric with one place changed."""
    assert old in RUBRIC
    return parse(RUBRIC.replace(old, new, 1).encode())


def check(rubric: Rubric) -> FormulaCheck:
    """The question with the steps."""
    return FormulaCheck(rubric.question("i"), rubric)


def judge(text: str, own: str = "") -> ItemResult:
    """The result of an answer to (i), beside an earlier one to (h)."""
    rubric = parse(RUBRIC.encode())
    first = FormulaCheck(rubric.question("h"), rubric)
    earlier = {f"h.{name}": one for name, one in judged(first, "", f"wide = {own!r}").items()} if own else {}
    return judged(check(rubric), "", f"changed = {text!r}", earlier=earlier)["formula"]


@pytest.mark.parametrize(
    ("own", "text", "points", "code", "said"),
    [
        ("16d²", "20 L d²", "6", "", "Right."),
        ("", "20 L h^2 d_k^2", "5", "split", "All right, but simplify."),
        ("24d²", "28 L d²", "4", "carried", "Right with your own (h)."),
        ("24d²", "20 L d²", "6", "", "Right."),
        ("16d²", "16 L d²", "1.5", "attention-forgotten", "Attention?"),
        ("16d²", "20 d²", "1", "layers", "A factor?"),
        ("16d²", "21 L d²", "0.5", "diagnosis.factor-too-large", "too large by a constant factor"),
        ("16d²", "d", "0", "diagnosis.several-factors", "More than one of the factors"),
    ],
)
def test_steps_give_points_and_texts(own: str, text: str, points: str, code: str, said: str) -> None:
    """The steps that are taken add up; where they are silent the diagnosis speaks."""
    result = judge(text, own)
    assert (Decimal(points), code) == (result.points, result.code)
    assert (result.points == 6) is (result.status is Status.PASSED)
    assert said in render(result.student, "en")


def test_texts_of_several_steps_follow_one_another() -> None:
    """Each step's text is shown, in the language asked for where it has it."""
    never = Told(0, (True,))
    steps = (
        CreditStep("a", never, text={"en": "One.", "de": "Eins."}),
        CreditStep("b", never),
        CreditStep("c", never, text={"en": "Two."}),
    )
    assert Message("c", text={"en": "One. Two.", "de": "Eins. Two."}) == Credit(steps, Decimal(0)).message


def test_doubt_goes_to_a_person() -> None:
    """What cannot be compared is reviewed, unless it is proven to be an answer that was foreseen."""
    assert Status.NEEDS_REVIEW is judge("exp(exp(exp(exp(n_heads))))").status


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('next = "widths"', 'next = "width"', "next: 'width' is no later step"),
        ('when = "otherwise"', 'when = "otherwise"\nnext = "right"', "no later step"),
        ('id = "nothing"', 'id = "layers"', "stands twice"),
        (FIRST, FIRST + ".5", "is worth 6.5; expected from 0 to 6"),
        (FIRST, 'when = "right"\npoints = 4', "worth all 6 points; the best one is worth 5"),
        (FIRST, FIRST + ".001", "two decimals"),
        ("points = 0.5", "points = -0.5", "is worth -0.5"),
        (FIRST + '\nnext = "widths"', 'when = "right"\npoints = 6', "'widths': no way leads here"),
        (FIRST, 'when = "20*n_layers*d_model^2"\npoints = 5', "at least one step with when"),
        ("diagnosis:factor-forgotten", "diagnosis:factor-forgoten", "did you mean 'factor-forgotten'"),
        ('"uses:n_layers"', '"use:n_layers"', "did you mean 'uses'"),
        ('"uses:n_layers"', '"uses:nlayers"', "did you mean 'n_layers'"),
        ('"uses:n_layers"', '"right:stric"', "did you mean 'strict'"),
        ('"uses:n_layers"', "[]", "at least one condition"),
        ('when = "16*n_layers*d_model^2"', 'when = "16*"', "attention-forgotten'.*not readable"),
        ('carry_forward = { from = "h.sum" }\n', "", "no carry_forward"),
        ('text = { en = "Attention?" }', 'text = { de = "Attention?" }', "English"),
        ('text = { en = "Attention?" }', 'text = { en = "{A}" }', "braces twice"),
        ('accept = ["20*', MISTAKE + 'accept = ["20*', "become steps"),
        ('id = "nothing"\n', 'id = "nothing"\npoint = 1\n', "point"),
    ],
)
def test_errors_in_a_graph_are_refused(old: str, new: str, message: str) -> None:
    """A graph with an error is refused with the step's name and the reason."""
    rubric = altered(old, new)
    with pytest.raises(RubricError, match=message):
        check(rubric)


def _outcomes(steps: tuple[CreditStep, ...]) -> Iterator[tuple[tuple[str, ...], Decimal]]:
    """What really comes of every combination of conditions that hold or do not."""
    for answers in product((False, True), repeat=len(steps)):
        told = tuple(
            CreditStep(
                step.id, Told(number, answers, always=step.condition.always), step.points, onward=step.onward
            )
            for number, step in enumerate(steps)
        )
        outcome = CreditGraph(told).walk(SITUATION)
        yield tuple(step.id for step in outcome.taken), outcome.points


SITUATION = Situation(
    FormulaKey([parse_sides("n", VOCABULARY)[0]], [Comparer(Points(VOCABULARY.domains, b"a test"))]).facts(
        Num(1)
    )
)
"""No condition looks at the answer."""


@st.composite
def graphs(draw: st.DrawFn) -> CreditGraph:
    """Graphs of up to seven steps, with any forward edges and catch-alls."""
    size = draw(st.integers(1, 7))
    steps = []
    for place in range(size):
        onward = draw(st.sampled_from([END, *range(place + 1, size)]))
        points = Decimal(draw(st.integers(-2, 12))) / 4
        always = draw(st.integers(0, 4)) == 0
        steps.append(CreditStep(f"s{place}", Told(place, (), always=always), points, onward=onward))
    return CreditGraph(tuple(steps))


@given(graphs())
def test_the_list_of_ways_is_complete_and_exact(graph: CreditGraph) -> None:
    """The ways that are listed are those that answers can take, each with its exact points."""
    listed = [(way.steps, way.points) for way in graph.ways()]
    assert len(set(listed)) == len(listed)
    assert set(_outcomes(graph.steps)) == set(listed)


@given(graphs(), st.integers(0, 40))
def test_no_answer_earns_more_than_the_item(graph: CreditGraph, quarters: int) -> None:
    """Whatever holds, an accepted graph gives points from nothing to all, and all can be had."""
    possible = Decimal(quarters) / 4
    try:
        checked(graph, possible, "here")
    except RubricError:
        return
    totals = {points for _, points in _outcomes(graph.steps)}
    assert all(0 <= points <= possible for points in totals)
    assert possible in totals


@pytest.mark.parametrize("name", SHIPPED)
def test_simple_spellings_are_graphs_too(name: str) -> None:
    """Every formula of a shipped rubric has ways from nothing to all of its points, and none outside."""
    rubric = load(ROOT / "rubrics" / f"{name}.toml")
    for question in rubric.questions:
        if question.kind == "formula":
            for item, credit in FormulaCheck(question, rubric).ways.items():
                totals = [way.points for way in credit.ways]
                assert question.item(item).points == max(totals)
                assert 0 == min(totals)


def test_a_carried_result_is_worth_what_the_question_says() -> None:
    """The question's points for a consistent continuation stand in the list of ways."""
    ways = {way.steps: way.points for way in CHECKS["i"].ways["formula"].ways}
    assert Decimal(4) == min(
        points for steps, points in ways.items() if steps == ("formula.carried-forward",)
    )
    assert Decimal(6) == ways["right",]
    assert Decimal(0) == ways[()]


def test_undecided_conditions_stop_the_walk() -> None:
    """A step behind a doubtful one is taken only if it is proven."""

    class Doubtful(Told, frozen=True):
        def holds(self, situation: Situation) -> bool:
            raise Undecided("never")

    doubtful = CreditStep("doubtful", Doubtful(0, ()), Decimal(1))
    for proves in (True, False):
        graph = CreditGraph((doubtful, CreditStep("next", Told(0, (True,), proves=proves), Decimal(2))))
        if proves:
            assert Decimal(2) == graph.walk(SITUATION).points
        else:
            with pytest.raises(Undecided):
                graph.walk(SITUATION)


def one_by_one(graph: CreditGraph, situation: Situation) -> tuple[CreditStep, ...]:
    """The steps that are taken when every condition is asked."""
    taken: list[CreditStep] = []
    place = 0
    while 0 <= place < len(graph.steps):
        step = graph.steps[place]
        if step.condition.holds(situation):
            taken.append(step)
            place = step.onward
        else:
            place += 1
    return tuple(taken)


@pytest.mark.parametrize("name", list(FORMULAS))
def test_steps_that_are_passed_over_would_not_be_taken(name: str) -> None:
    """What is known of an answer by its values alone spares conditions, and never changes what it earns."""
    formula = FORMULAS[name]
    item = exam.check(formula.question)._items[formula.item]
    key = item.key(item.accept[0], Carried())
    for text in (*formula.right, *formula.wrong):
        answer = parse_sides(text, VOCABULARY)
        facts = key.facts(answer[0] if len(answer) == 1 else Relation(*answer))
        credit = item.graph.walk(Situation(facts))
        assert one_by_one(item.graph, Situation(facts)) == credit.taken
        if facts.unforeseen:
            assert credit.points <= item.graph.most
            assert item.graph.walk(Situation(facts, diagnosed=False)).points <= item.graph.most_undiagnosed
