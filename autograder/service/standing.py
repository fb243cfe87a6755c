"""Students' standings in an offered assignment, by the current times and groups."""

from __future__ import annotations

from autograder.assignment import Assignment
from autograder.course import Handin
from autograder.grades import PersonMarks, Standing, standing
from autograder.grading.batch import brought_up_to_date
from autograder.records import Graded
from autograder.service import attempts
from autograder.service.models import Offer
from autograder.service.store import DatabaseStore, given_to


def standings(offer: Offer, assignment: Assignment) -> dict[str, Standing]:
    """Return every student's standing in an offered assignment.

    Args:
        offer: the offered assignment.
        assignment: loaded from its version.
    """
    store = DatabaseStore(offer.course)
    marks, handins = store.marks(offer.assignment), attempts.all_counting(offer, assignment.rubric)
    return {
        who: stands(offer, assignment, current(graded, handins.get(who)), marks.get(who))
        for who, graded in store.results(offer.assignment).items()
    }


def stands(offer: Offer, assignment: Assignment, graded: Graded, marks: PersonMarks | None) -> Standing:
    """Return one student's standing for an up-to-date result."""
    score = graded.score
    given = given_to(offer, score.student)
    return standing(score, assignment.rubric_of(score.asked), marks, given)


def current(graded: Graded, handin: Handin | None) -> Graded:
    """Return a result with the current times and groups, or unchanged while it has to be graded again."""
    return (brought_up_to_date(graded, handin) if handin else None) or graded
