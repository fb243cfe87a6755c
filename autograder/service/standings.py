"""Students' standings in an offered assignment, by the current times and groups."""

from __future__ import annotations

from autograder.core.records import GradingResult
from autograder.course import Handin
from autograder.grading.assignment import Assignment
from autograder.grading.batch import refresh_result
from autograder.grading.grades import PersonMarks, Standing, compute_standing
from autograder.service import attempts
from autograder.service.models import Offer
from autograder.service.store import DatabaseStore, get_bonus_points


def load_standings(offer: Offer, assignment: Assignment) -> dict[str, Standing]:
    """Return every student's standing in an offered assignment.

    Args:
        offer: the offered assignment.
        assignment: loaded from its version.
    """
    store = DatabaseStore(offer.course)
    marks, handins = (
        store.load_marks(offer.assignment),
        attempts.find_counting_attempts(offer, assignment.rubric),
    )
    return {
        who: compute_student_standing(
            offer, assignment, load_current_result(graded, handins.get(who)), marks.get(who)
        )
        for who, graded in store.load_results(offer.assignment).items()
    }


def load_standing(offer: Offer, assignment: Assignment, student: str) -> Standing | None:
    """Return one student's standing without reading the others; None if nothing is graded."""
    graded, marks = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
    if graded is None:
        return None
    handin = attempts.find_counting_attempt(offer, student, assignment.rubric)
    return compute_student_standing(offer, assignment, load_current_result(graded, handin), marks)


def compute_student_standing(
    offer: Offer, assignment: Assignment, graded: GradingResult, marks: PersonMarks | None
) -> Standing:
    """Return one student's standing for an up-to-date result."""
    score = graded.score
    bonus = get_bonus_points(offer, score.student)
    return compute_standing(score, assignment.get_rubric(score.asked), marks, bonus)


def load_current_result(graded: GradingResult, handin: Handin | None) -> GradingResult:
    """Return a result with the current times and groups, or unchanged while it has to be graded again."""
    return (refresh_result(graded, handin) if handin else None) or graded
