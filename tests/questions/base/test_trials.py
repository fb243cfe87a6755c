"""Test that planted wrong answers lose exactly the points that they state, for each kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

import pytest

from autograder.core.records import Answer, ItemResult, Observation
from autograder.grading import grades
from autograder.grading.verify.matrix import build_row, mark_item
from autograder.questions import make_check
from autograder.questions.base.base import Evidence, Trial, list_trials
from autograder.rubric import Rubric, parse_rubric
from tests.questions.base.asking import DRAW
from tests.test_docs_rubric import EXAMPLES, rubric_of

HEAD = 'version = 1\n[assignment]\nname = "trials"\npoints = {points}\n'
NUMBER = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "layers"
[[question.item]]
id = "n"
points = 1
text = { en = "How many" }
value = 12
accept = [24]
[[question.item.mistake]]
code = "embedding"
when = 13
points = 0.5
text = { en = "The embedding is no layer." }
[[question.item]]
id = "needy"
points = 1
needs = ["n"]
answer = "heads"
text = { en = "How many heads" }
value = 8
"""
SHAPE = """
[[question]]
id = "q"
kind = "shape"
points = 1
answer = "shape"
[[question.item]]
id = "n"
points = 1
text = { en = "Shape" }
value = [8, 12, 64]
accept = [[8, 12, 8, 8]]
axes = ["batch", "length", "width"]
[[question.item.mistake]]
code = "flat"
when = [8, 768]
points = 0.25
text = { en = "Too flat" }
[[question.item.mistake]]
code = "order"
when = "diagnosis:swapped"
text = { en = "Order" }
"""
QUANTITY = """
[[question]]
id = "q"
kind = "number"
points = 2
[[question.item]]
id = "size"
points = 1
answer = "size"
unit = "MB"
units = "required"
text = { en = "Size" }
value = 497.759232
[[question.item.mistake]]
code = "half"
when = "248.879616 MB"
points = 0.5
text = { en = "Half precision" }
[[question.item]]
id = "share"
points = 1
answer = "share"
unit = ""
units = "forbidden"
tolerance = { relative = 0.01 }
text = { en = "Share" }
value = 0.25
"""
CHOICE = """
[[question]]
id = "q"
kind = "choice"
points = 5
answer = "chosen"
names = ["a", "b", "c", "d", "e"]
[[question.item]]
id = "one"
points = 1
answer = "one"
right = ["a"]
text = { en = "One" }
[[question.item]]
id = "both"
points = 2
answer = "both"
right = ["a", "b"]
credit = "each"
text = { en = "Both" }
[[question.item.mistake]]
code = "wrong-two"
when = ["c", "d"]
points = 0.5
text = { en = "The other two" }
[[question.item]]
id = "list"
points = 1
answer = "picked"
right = ["a", "b", "c"]
pick = 2
text = { en = "Two of three" }
[[question.item.mistake]]
code = "nearly"
when = "d"
points = 0.25
text = { en = "Nearly" }
[[question.item]]
id = "entry"
points = 1
answer = "matched"
key = 1
right = ["e"]
text = { en = "The second of a list" }
[[question.item]]
id = "away"
points = -1
answer = "one"
right = ["a"]
text = { en = "Takes away" }
"""
WRITTEN = """
[[question]]
id = "q"
kind = "written"
points = 1
[[question.item]]
id = "n"
points = 1
manual = true
text = { en = "Why" }
"""
CHOICES = 'one = "a"\nboth = ["a", "b"]\npicked = ["a", "b"]\nmatched = ["a", "e"]'


def example(name: str) -> str:
    """Return the documented example whose assignment has this name."""
    return next(example for example in EXAMPLES if f'name = "{name}"' in example)


def rubric_from(text: str) -> Rubric:
    """Parse a whole rubric, or a single question with a generated head."""
    if "[assignment]" in text:
        return rubric_of(text)
    points = re.search(r"^points = (\S+)", text, re.MULTILINE)
    assert points is not None
    return parse_rubric((HEAD.format(points=points[1]) + text).encode())


CASES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "number": (NUMBER, {"q": "layers = 12\nheads = 8"}),
    "shape": (SHAPE, {"q": "shape = (8, 12, 64)"}),
    "quantity": (QUANTITY, {"q": 'size = "497.759232 MB"\nshare = 0.25'}),
    "choice": (CHOICE, {"q": CHOICES}),
    "written": (WRITTEN, {"q": "Because."}),
    "formula, relation": (
        example("counting"),
        {
            "projection": 'projection_parameters = "n_heads*d_head*d_model"',
            "layer": 'both_parameters = "2*n_heads*d_head*d_model"\nrelation = "d_head = d_model/n_heads"',
        },
    ),
    "forms": (
        example("forms"),
        {"forms": 'simplest = "4*n_heads*d_model*d_head + 8*d_model^2"\nwritten_out = "12*d_model^2"'},
    ),
    "several": (example("several"), {"shapes": 'costs = "n*d^2, n^2*d, n^2*d"\nsizes = "{n*d, n^2}"'}),
    "growth": (example("growth"), {"attention-cost": 'operations = "O(n*d^2 + n^2*d)"'}),
    "functions": (example("complexity"), {"pairs": 'pairs = "n*(n - 1)/2*d"'}),
}
REFERENCES = {"projection": "n_heads*d_head*d_model"}


def answer(question: str, source: str) -> Answer:
    """Return an answer with this source."""
    return Answer(f"{question}-answer", "markdown" if source == "Because." else "code", source, changed=True)


class Paper:
    """A rubric with its answer key, and the points of planted answers."""

    def __init__(self, rubric: Rubric, keys: Mapping[str, str]) -> None:
        self.rubric = rubric
        self.keys = {question: answer(question, source) for question, source in keys.items()}
        self.checks = {question.id: make_check(question, rubric) for question in rubric.questions}

    def trials(self, question: str) -> tuple[Trial, ...]:
        """Return the trials that the check plants."""
        return list_trials(self.checks[question], self.keys[question])

    def results(self, changes: Mapping[str, str]) -> dict[str, tuple[ItemResult, ...]]:
        """Return the results of the key with some answers replaced; no code may be needed."""
        results_by_question: dict[str, tuple[ItemResult, ...]] = {}
        for name, key in self.keys.items():
            source = changes.get(name, key.source)
            given_answer = Answer(key.grade_id, key.cell_type, source, changed=True)
            assert () == self.checks[name].plan_calls(given_answer), source
            reference = (Observation(ok=True, value=REFERENCES[name]),) if name in REFERENCES else ()
            earlier = {
                f"{one.question}.{one.item}": one
                for results in results_by_question.values()
                for one in results
            }
            results_by_question[name] = self.checks[name].judge(
                Evidence(given_answer, (), reference, earlier, draw=DRAW)
            )
        return results_by_question

    def wrong(self, question: str, trial: Trial) -> list[str]:
        """Return the differences between a trial's expected and actual result."""
        changes = {question: trial.source}
        for other, below in trial.earlier.items():
            changes[other] = f"{self.keys[other].source}\n{below}"
        score = grades.compute_score("trial", self.rubric, self.results(changes))
        judged = build_row(trial, self.rubric.get_question(question), self.rubric, score, {})
        return [
            f"{trial.name}: {finding.place}: expected {finding.expected}, got {finding.got}"
            for finding in judged.findings
        ]


@pytest.mark.parametrize("case", CASES)
def test_every_trial_loses_exactly_what_it_says(case: str) -> None:
    """Mistakes earn their points, alternatives full marks, and misconceptions never full marks."""
    text, keys = CASES[case]
    paper = Paper(rubric_from(text), keys)
    key = grades.compute_score("key", paper.rubric, paper.results({}))
    assert [] == [
        item.item
        for item in key.items
        if mark_item(paper.rubric.get_question(item.question).get_item(item.item), item) != "kept"
    ]
    wrong = [
        item for question in keys for trial in paper.trials(question) for item in paper.wrong(question, trial)
    ]
    assert [] == wrong


@pytest.mark.parametrize("case", CASES)
def test_every_item_is_lost_by_a_trial(case: str) -> None:
    """Each question has an alternative to accept, and each item a mistake to detect."""
    text, keys = CASES[case]
    paper = Paper(rubric_from(text), keys)
    for question in keys:
        trials = paper.trials(question)
        names = [trial.name for trial in trials]
        assert len(names) == len(set(names))
        assert any(not trial.loses for trial in trials)
        items = {item.id for item in paper.rubric.get_question(question).items}
        assert items <= {item for trial in trials for item in trial.loses}, question


def planted(case: str, question: str = "q") -> dict[str, Trial]:
    """Return the trials of one case by name."""
    text, keys = CASES[case]
    return {trial.name: trial for trial in Paper(rubric_from(text), keys).trials(question)}


MEMORY = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "memory"
unit = "MB"
tolerance = {}
[[question.item]]
id = "n"
points = 2
text = {{ en = "The memory" }}
value = 497
"""


@pytest.mark.parametrize(
    ("tolerance", "accepted"),
    [
        pytest.param('{ absolute = "500 MB" }', {"n: zero", "n: one"}, id="wider than what is right"),
        pytest.param('{ absolute = "497 MB" }', {"n: zero", "n: one"}, id="as wide as what is right"),
        pytest.param('{ absolute = "496 MB" }', {"n: one"}, id="one of the unit"),
        pytest.param('{ relative = "1%" }', set(), id="relative"),
        pytest.param('"exact"', set(), id="exact"),
    ],
)
def test_tolerances_that_accept_zero_or_one_are_found(tolerance: str, accepted: set[str]) -> None:
    """Tolerances that accept zero or one are found, because they reward answers without work."""
    paper = Paper(rubric_from(MEMORY.format(tolerance)), {"q": "memory = 497"})
    idle = [trial for trial in paper.trials("q") if trial.name in {"n: zero", "n: one"}]
    assert {"n: zero", "n: one"} == {trial.name for trial in idle}
    assert accepted == {trial.name for trial in idle if paper.wrong("q", trial)}


def test_every_other_option_is_chosen_once() -> None:
    """Each other option is chosen once, in single choices, several parts, lists and entries."""
    trials = planted("choice")
    assert {f"one: {name} instead" for name in ("b", "c", "d", "e")} <= set(trials)
    assert {"both": Decimal(1)} == trials["both: without a"].points
    assert {"both": Decimal("0.5")} == trials["both: mistake wrong-two: c, d"].points
    assert {"list": Decimal("0.75")} == trials["list: d in the place of a right one"].points
    assert "matched = ['a', 'd']" in trials["entry: d instead"].source


def test_formulas_in_other_notations_and_with_misconceptions() -> None:
    """Trials include the key in four notations, accepted formulas, mistakes and several misconceptions."""
    trials = planted("formula, relation", "projection")
    assert {
        f"formula: the key {how}" for how in ("as Python", "in Unicode", "in LaTeX", "without blanks")
    } <= set(trials)
    sorts = {
        name.partition("misconception, ")[2].partition(":")[0] for name in trials if "misconception, " in name
    }
    assert {"symbol-replaced", "swapped-symbols", "off-by-one"} & sorts
    assert len(sorts) >= 3
    assert () == trials["formula: remark assumed-early: d_model^2"].loses


def test_mistakes_are_carried_forward() -> None:
    """A right continuation of a mistaken earlier result keeps full marks."""
    trials = planted("formula, relation", "layer")
    carried = trials["twice: carried on from one-head"]
    assert {"projection": "projection_parameters = 'd_head*d_model'\n"} == carried.earlier
    assert () == carried.loses
    assert "both_parameters = '2*(d_head*d_model)'" in carried.source


def test_right_answers_in_another_form() -> None:
    """If a form is required, right formulas in another form lose only the points for the form."""
    trials = [trial for name, trial in planted("forms", "forms").items() if "simplest: another form" in name]
    assert any("times one" in trial.name for trial in trials)  # breaks "simplified" under any rule
    assert {Decimal(1)} == {trial.points["simplest"] for trial in trials}
