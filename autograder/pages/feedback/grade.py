"""The grade on the page: the grade itself or its range, whether it is final, and its rules."""

from __future__ import annotations

from msgspec import Struct

from autograder.grading.grades import Standing
from autograder.pages.feedback.labels import Labels
from autograder.rubric.scales import Grade, Scale


class GradeView(Struct, frozen=True):
    """Grade of one student."""

    grade: str
    """One grade, or a range from the worst to the best."""
    outcome: str
    """``"passed"``, ``"failed"``, or empty while that is open."""
    provisional: str
    """Why the grade may still change; empty if it is final."""
    rules: tuple[str, ...]
    """How points become a grade, in sentences."""
    steps: tuple[tuple[str, str, bool], ...]
    """Grade, its minimum points, and whether it is still possible."""


def build_grade_view(standing: Standing, labels: Labels) -> GradeView | None:
    """Return the grade for the page; None if the assignment has no grades."""
    scale, worst, best = standing.scale, standing.worst, standing.best
    if scale is None or worst is None or best is None:
        return None
    passed = standing.passed
    return GradeView(
        grade=format_grade_range(worst, best, labels),
        outcome="" if passed is None else "passed" if passed else "failed",
        provisional=_explain_provisional(standing, labels),
        rules=describe_rules(
            scale,
            labels,
            bonus=bool(standing.bonus) or any(question.bonus for question in standing.questions),
        ),
        steps=_list_steps(scale, worst, best, labels),
    )


def format_grade_range(worst: Grade, best: Grade, labels: Labels) -> str:
    """Return one grade, or a range if two are possible."""
    names = [labels.grade(grade.name) for grade in (worst, best)]
    return names[0] if names[0] == names[1] else labels("grade-range", worst=names[0], best=names[1])


def describe_rules(scale: Scale, labels: Labels, *, bonus: bool) -> tuple[str, ...]:
    """Return how points become a grade: threshold, rounding, and bonus points if there are any."""
    sentences = [
        labels("pass-from", points=labels.number(scale.passing), possible=labels.number(scale.possible)),
        labels(f"rounding.{scale.rounding}"),
    ]
    if not scale.steps:
        sentences.append(labels("rounding.percent"))
    if bonus:
        sentences.append(labels(f"bonus.{scale.bonus}"))
    return tuple(sentences)


def _explain_provisional(standing: Standing, labels: Labels) -> str:
    """Return why the grade may still change; empty if it is final."""
    # The strongest reason first: an outdated result may change in any way.
    if standing.outdated:
        return labels("outdated")
    if standing.final:
        return ""
    said = [labels("provisional-time")] if standing.untimely else []
    if any(question.pending for question in standing.questions):
        said.append(labels("provisional-same" if standing.worst == standing.best else "provisional"))
    return " ".join(said)


def _list_steps(scale: Scale, worst: Grade, best: Grade, labels: Labels) -> tuple[tuple[str, str, bool], ...]:
    """Return the steps of the scale, with those that are still possible."""
    names = [step.grade for step in scale.steps]
    # The scale is sorted from the best grade down.
    reach = range(names.index(best.name), names.index(worst.name) + 1) if names else range(0)
    return tuple(
        (labels.grade(step.grade), labels.number(step.least), number in reach)
        for number, step in enumerate(scale.steps)
    )
