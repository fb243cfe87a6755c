"""What a repaired, half repaired or untouched answer of a second round is worth, and is told."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.course.manifest import OwnFault
from autograder.grading.own_faults import CHANGED, judged_together, outcome, outcome_of_round
from autograder.records import ItemResult, Message, Status

FAULT = OwnFault("scaling", 3, ("self", "cross"))
LETTERS = {
    "p": Status.PASSED,
    "f": Status.FAILED,
    "n": Status.NO_ANSWER,
    "r": Status.NEEDS_REVIEW,
}


def results(letters: str) -> tuple[ItemResult, ...]:
    """Results of the items ``self``, ``cross`` and ``mask``, of which a passed one has all points."""
    return tuple(
        ItemResult(
            "q",
            item,
            LETTERS[letter],
            Decimal(2) if letter == "p" else Decimal(0),
            Decimal(2),
            Message("passed"),
            "",
        )
        for item, letter in zip(("self", "cross", "mask"), letters, strict=True)
    )


@pytest.mark.parametrize(
    ("letters", "found", "points"),
    [
        ("ppp", "repaired", 6),
        ("pfp", "partly", 0),
        ("ppf", "partly", 0),
        ("ffp", "left", 0),
        ("nnn", "left", 0),
        ("prp", "open", 0),
    ],
)
def test_points_are_for_all_of_it(letters: str, found: str, points: int) -> None:
    """Only what the fault lost tells whether something was repaired; what is open keeps all open."""
    given = results(letters)
    judged = judged_together(given, FAULT)
    assert found == outcome(given, FAULT)
    assert found == outcome_of_round(judged, FAULT)  # as it is kept
    assert points == sum(one.points for one in judged)
    told = {one.student.code for one, letter in zip(judged, letters, strict=True) if letter == "p"}
    assert told <= {f"second-round.{found}"}
    status = {one.status for one, letter in zip(judged, letters, strict=True) if letter == "p"}
    assert status <= {{"repaired": Status.PASSED, "open": Status.NEEDS_REVIEW}.get(found, Status.FAILED)}


def test_what_takes_points_away_is_left_as_it_is() -> None:
    """An item with negative points that did not fail passes without points, as ever."""
    taking = ItemResult("q", "ugly", Status.PASSED, Decimal(0), Decimal(0), Message("passed"), "")
    assert taking == judged_together((*results("ffp"), taking), FAULT)[-1]


def test_another_question_is_judged_item_by_item() -> None:
    """Nothing was planted: what is right counts by itself, and nobody reads of a fault."""
    given = results("pfp")
    assert given == judged_together(given, OwnFault(CHANGED, 0, ("self",)))
