"""Where students stand in an assignment that is offered, by the times and groups that hold now."""

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
    """Where everybody stands in an assignment that is offered, loaded from its version."""
    store = DatabaseStore(offer.course)
    marks, handins = store.marks(offer.assignment), attempts.all_counting(offer, assignment.rubric)
    return {
        who: stands(offer, assignment, current(graded, handins.get(who)), marks.get(who))
        for who, graded in store.results(offer.assignment).items()
    }


def stands(offer: Offer, assignment: Assignment, graded: Graded, marks: PersonMarks | None) -> Standing:
    """Where one student stands, by a result that is up to date."""
    score = graded.score
    given = given_to(offer, score.student)
    return standing(score, assignment.rubric_of(score.asked), marks, given)


def current(graded: Graded, handin: Handin | None) -> Graded:
    """A result with what times and groups say now; as it is, where it is being graded again by them."""
    return (brought_up_to_date(graded, handin) if handin else None) or graded
