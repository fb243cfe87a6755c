"""Test the comparison of a trial's expected and actual losses."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.records import ItemResult, Limits, Message, Note, ResourceUsage, Score, Status
from autograder.core.wording import LocalisedText
from autograder.grading.verify.matrix import (
    Mark,
    Matrix,
    Row,
    VerifyFinding,
    build_matrix,
    build_row,
    check_coverage,
    find_exceeded,
    list_warnings,
    localise_paper,
    mark_item,
    report_exceeded,
    report_stopped,
    take_largest,
    take_smaller,
)
from autograder.grading.verify.papers import KEY, RELEASE, TOUCHED
from autograder.questions.base.base import TRIVIAL, Trial
from autograder.rubric import Item, Question, parse_rubric
from autograder.sandbox import limit_notes

RUBRIC = parse_rubric(
    b"""
version = 1
[assignment]
name = "exam"
points = 6
[[question]]
id = "first"
kind = "any"
points = 4
[[question.item]]
id = "a"
points = 2
text = { en = "a" }
[[question.item.mistake]]
code = "named"
[[question.item]]
id = "b"
points = 1
text = { en = "b" }
[[question.item]]
id = "away"
points = -1
text = { en = "takes away" }
[[question.item]]
id = "words"
points = 1
manual = true
text = { en = "for a person" }
[[question]]
id = "second"
kind = "any"
points = 2
[[question.item]]
id = "a"
points = 2
text = { en = "a" }
"""
)
FIRST = RUBRIC.get_question("first")
RIGHT = {
    "first.a": (Status.PASSED, 2),
    "first.b": (Status.PASSED, 1),
    "first.away": (Status.PASSED, 0),
    "first.words": (Status.NEEDS_REVIEW, 0),
    "second.a": (Status.PASSED, 2),
}


def result(
    place: str, status: Status, points: Decimal, code: str = "some-code", said: str = "formula.wrong"
) -> ItemResult:
    """Return a result of an item."""
    question, _, item = place.partition(".")
    possible = max(RUBRIC.get_question(question).get_item(item).points, Decimal(0))
    return ItemResult(question, item, status, points, possible, Message(said), "words for staff", code)


def score(**changes: tuple[Status, str]) -> Score:
    """Return the key's score with some results changed; two underscores replace the dot."""
    expected_results = {place: (status, str(points)) for place, (status, points) in RIGHT.items()}
    expected_results |= {place.replace("__", "."): change for place, change in changes.items()}
    items = tuple(
        result(place, status, Decimal(points)) for place, (status, points) in expected_results.items()
    )
    return Score("trial", "exam", 1, items)


def findings(trial: Trial, got: Score, key: dict[str, Mark] | None = None) -> list[tuple[str, str]]:
    """Return place and expected value of every finding."""
    return [
        (finding.place, finding.expected)
        for finding in build_row(trial, FIRST, RUBRIC, got, key or {}).findings
    ]


LOST = (Status.FAILED, "0")


@pytest.mark.parametrize(
    ("item", "status", "points", "expected"),
    [
        ("a", Status.PASSED, "2", Mark.KEPT),
        ("a", Status.FAILED, "1.5", Mark.LOST),
        ("a", Status.NO_ANSWER, "0", Mark.LOST),
        ("a", Status.NEEDS_REVIEW, "0", Mark.OPEN),
        ("away", Status.PASSED, "0", Mark.KEPT),
        ("away", Status.NO_ANSWER, "0", Mark.KEPT),
        ("away", Status.FAILED, "-1", Mark.LOST),
        ("away", Status.FAILED, "0", Mark.LOST),
        ("words", Status.NEEDS_REVIEW, "0", Mark.KEPT),
        ("words", Status.NO_ANSWER, "0", Mark.LOST),
    ],
)
def test_kept_lost_or_open(item: str, status: Status, points: str, expected: Mark) -> None:
    """Partial points count as lost, and a passed negative item as kept."""
    assert expected == mark_item(FIRST.get_item(item), result(f"first.{item}", status, Decimal(points)))


def test_a_trial_that_does_as_it_says() -> None:
    """A trial that loses exactly its items, points and codes has no findings."""
    trial = Trial("x", "", ("a",), {"a": Decimal("0.5")}, codes={"a": "some-code"})
    row = build_row(trial, FIRST, RUBRIC, score(first__a=(Status.FAILED, "0.5")), {})
    assert ((), ()) == (row.findings, row.wrong)
    assert {"a": Mark.LOST, "b": Mark.KEPT, "away": Mark.KEPT, "words": Mark.KEPT} == row.marks


@pytest.mark.parametrize(
    ("trial", "got", "expected"),
    [
        (Trial("x", "", ("a",)), score(), [("first.a", "lost")]),
        (Trial("x", ""), score(first__b=LOST), [("first.b", "kept: all 1 points")]),
        (Trial("x", "", ("a",)), score(first__a=LOST, second__a=LOST), [("second.a", "kept: all 2 points")]),
        (Trial("x", "", ("a",)), score(first__a=(Status.NEEDS_REVIEW, "0")), [("first.a", "lost")]),
        (
            Trial("x", ""),
            score(first__words=(Status.NO_ANSWER, "0")),
            [("first.words", "kept: all 1 points")],
        ),
        (Trial("x", "", ("a",), {"a": Decimal(1)}), score(first__a=LOST), [("first.a", "1 of 2 points")]),
        (
            Trial("x", "", ("a",), codes={"a": "other"}),
            score(first__a=LOST),
            [("first.a", "told as 'other'")],
        ),
        (Trial("x", "", review=("a",)), score(first__a=LOST), [("first.a", "manual review")]),
        (Trial("x", "", review=("a",)), score(), [("first.a", "manual review")]),
    ],
)
def test_a_trial_that_does_otherwise(trial: Trial, got: Score, expected: list[tuple[str, str]]) -> None:
    """Each unexpected loss, mark, point or code is found at its place, also in other questions."""
    assert expected == findings(trial, got)


@pytest.mark.parametrize(
    ("code", "remedy"), [("named", "this mistake is right"), ("other", "make the check")]
)
def test_a_named_mistake_that_loses_nothing_is_right(code: str, remedy: str) -> None:
    """A named mistake that loses nothing points to the rubric, an unnamed wrong answer to the check."""
    trial = Trial("x", "", ("a",), codes={"a": code})
    (finding,) = build_row(trial, FIRST, RUBRIC, score(), {}).findings
    assert str(finding.remedy).startswith(remedy)


def test_what_a_trial_is_not_blamed_for() -> None:
    """A trial has no findings for items that the key loses, unstated items and its source question."""
    lost = score(first__a=LOST, second__a=LOST)
    assert [("first.a", "kept: all 2 points")] == findings(Trial("x", ""), lost, {"second.a": Mark.LOST})
    assert [("second.a", "kept: all 2 points")] == findings(Trial("x", "", unstated=("a",)), lost)
    assert [("first.a", "kept: all 2 points")] == findings(Trial("x", "", earlier={"second": "y"}), lost)


def test_an_item_is_covered_by_a_trial_that_loses_it_rightly() -> None:
    """An item is covered only if a trial loses it as stated."""
    question = Question("q", "any", Decimal(1), (Item("only", Decimal(1), {"en": "x"}),))
    rubric = parse_rubric(
        b'version = 1\n[assignment]\nname = "e"\npoints = 1\n[[question]]\nid = "q"\nkind = "any"\n'
        b'points = 1\n[[question.item]]\nid = "only"\npoints = 1\ntext = { en = "x" }\n'
    )

    def covered(trial: Trial, status: Status, points: str) -> bool:
        result = ItemResult(
            "q", "only", status, Decimal(points), Decimal(1), Message("formula.wrong"), "s", "c"
        )
        got = Score("trial", "e", 1, (result,))
        return check_coverage(build_matrix(question, [build_row(trial, question, rubric, got, {})])) == ()

    assert covered(Trial("x", "", ("only",)), Status.FAILED, "0")
    assert not covered(Trial("x", "", ("only",)), Status.PASSED, "1")
    assert not covered(Trial("x", ""), Status.FAILED, "0")
    assert not covered(Trial("x", "", ("only",), {"only": Decimal("0.5")}), Status.FAILED, "0")
    assert not covered(Trial("x", "", ("only",)), Status.NEEDS_REVIEW, "0")
    assert "no trial at all" == check_coverage(build_matrix(question, []))[0].got


def test_an_answer_without_work_should_lose_all_items() -> None:
    """For an answer without work, kept items and items that need review are distinguished."""
    marks = {"a": Mark.KEPT, "b": Mark.LOST, "c": Mark.OPEN}
    rows = [Row("nothing", family, (), marks, (), ()) for family in (TRIVIAL, "mutants")]
    warnings = list_warnings(Matrix("q", ("a", "b", "c"), (), tuple(rows)))
    assert ["a: earned by nothing", "c: manual review for nothing"] == [warning.got for warning in warnings]


def test_an_answer_may_need_manual_review() -> None:
    trial = Trial("x", "", ("b",), review=("a",))
    got = score(first__a=(Status.NEEDS_REVIEW, "0"), first__b=LOST)
    assert () == build_row(trial, FIRST, RUBRIC, got, {}).findings


@pytest.mark.parametrize(("told_as", "warnings"), [("some-code", 0), ("code.mistake", 1)])
def test_a_mutant_that_is_not_recognised_is_worth_a_look(told_as: str, warnings: int) -> None:
    trial = Trial("mutant m", "", loses_any=True, told_as=told_as)
    row = build_row(trial, FIRST, RUBRIC, score(first__a=LOST), {})
    row_warnings = list(list_warnings(build_matrix(FIRST, [row])))
    assert ["mutant m is not recognised: its title and points never apply"] * warnings == [
        warning.got for warning in row_warnings
    ]


def test_half_of_each_limit_is_left() -> None:
    """More than half of a limit is reported with the number; exactly half is not."""
    limits = Limits(cell_seconds=10, memory_mb=100)
    assert frozenset() == find_exceeded(ResourceUsage(cell_seconds=5, memory_mb=50), limits)
    assert {"cell_seconds", "memory_mb"} == find_exceeded(
        ResourceUsage(cell_seconds=5.1, memory_mb=50.1), limits
    )
    spent = ResourceUsage(memory_mb=80)
    (finding,) = report_exceeded("answer key", "exam", spent, limits, find_exceeded(spent, limits))
    assert ("at most 50 MB, one part in 2 of memory_mb", "80 MB") == (finding.expected, finding.got)
    assert ResourceUsage(cell_seconds=1, memory_mb=2) == take_smaller(
        ResourceUsage(1, memory_mb=3), ResourceUsage(2, memory_mb=2)
    )
    assert ResourceUsage(2, memory_mb=3) == take_largest(
        [ResourceUsage(1, memory_mb=3), ResourceUsage(2, memory_mb=2)]
    )


def test_what_was_stopped_is_named() -> None:
    """Notes about ended boxes and exceeded limits become findings; other notes do not."""
    notes = [
        Note(code, "the words", "cell 3")
        for code in (limit_notes.CELL_ENDED, limit_notes.CALL_ENDED, limit_notes.MET)
    ]
    findings = list(report_stopped("x", "q", [*notes, Note("kernel", "another")]))
    assert ["cell 3: the words"] * 3 == [finding.got for finding in findings]
    assert all(isinstance(finding, VerifyFinding) and finding.remedy for finding in findings)


def test_a_code_without_a_sentence_is_told() -> None:
    """A code without a message is reported, because students would see the code itself."""
    lost = result("first.a", Status.FAILED, Decimal(0), said="riddle.wrong")
    other_results = [
        item_result
        for item_result in score().items
        if (item_result.question, item_result.item) != ("first", "a")
    ]
    row = build_row(
        Trial("t", "", ("a",)), FIRST, RUBRIC, Score("trial", "exam", 1, (lost, *other_results)), {}
    )
    (finding,) = row.findings
    assert ("first.a", "the bare code 'riddle.wrong'") == (finding.place, finding.got)


@pytest.mark.parametrize("paper", [KEY, RELEASE, TOUCHED, "rubric", "course", "trial 'a of b' of mlp"])
def test_papers_have_a_name_in_every_language(paper: str) -> None:
    """In English it is the same; other names, such as that of another file, stay as they are."""
    name = localise_paper(paper)
    assert isinstance(name, LocalisedText)
    assert paper == name.get_text("en") != name.get_text("de")
    assert "x.ipynb" == localise_paper("x.ipynb")
