"""What the page says about the grade: the grade itself or its range, how final it is, and by which rules."""

from __future__ import annotations

from msgspec import Struct

from autograder.feedback.labels import Labels
from autograder.grades import Standing
from autograder.rubric.scales import Grade, Scale


class GradeView(Struct, frozen=True):
    """The grade of one student."""

    grade: str
    """One grade, or a range from the worst to the best."""
    outcome: str
    """``"passed"``, ``"failed"``, or empty while that is open."""
    provisional: str
    """Why the grade may still change; empty when it is final."""
    rules: tuple[str, ...]
    """How points become a grade, in sentences."""
    steps: tuple[tuple[str, str, bool], ...]
    """Grade, the points it begins at, and whether it is among those still possible."""


def grade_view(standing: Standing, labels: Labels) -> GradeView | None:
    """What the page says; None where the assignment has no grades."""
    scale, worst, best = standing.scale, standing.worst, standing.best
    if scale is None or worst is None or best is None:
        return None
    passed = standing.passed
    return GradeView(
        grade=grade_range(worst, best, labels),
        outcome="" if passed is None else "passed" if passed else "failed",
        provisional=_provisional(standing, labels),
        rules=rules(
            scale, labels, bonus=bool(standing.bonus) or any(one.bonus for one in standing.questions)
        ),
        steps=_steps(scale, worst, best, labels),
    )


def grade_range(worst: Grade, best: Grade, labels: Labels) -> str:
    """One grade, or a range where two are possible."""
    names = [labels.grade(one.name) for one in (worst, best)]
    return names[0] if names[0] == names[1] else labels("grade-range", worst=names[0], best=names[1])


def rules(scale: Scale, labels: Labels, *, bonus: bool) -> tuple[str, ...]:
    """How points become a grade: threshold, rounding, and bonus points where there are any."""
    sentences = [
        labels("pass-from", points=labels.number(scale.passing), possible=labels.number(scale.possible)),
        labels(f"rounding.{scale.rounding}"),
    ]
    if not scale.steps:
        sentences.append(labels("rounding.percent"))
    if bonus:
        sentences.append(labels(f"bonus.{scale.bonus}"))
    return tuple(sentences)


def _provisional(standing: Standing, labels: Labels) -> str:
    if standing.outdated:
        return labels("outdated")
    if standing.final:
        return ""
    said = [labels("provisional-time")] if standing.untimely else []
    if any(question.pending for question in standing.questions):
        said.append(labels("provisional-same" if standing.worst == standing.best else "provisional"))
    return " ".join(said)


def _steps(scale: Scale, worst: Grade, best: Grade, labels: Labels) -> tuple[tuple[str, str, bool], ...]:
    names = [step.grade for step in scale.steps]
    reach = range(names.index(best.name), names.index(worst.name) + 1) if names else range(0)
    return tuple(
        (labels.grade(step.grade), labels.number(step.least), number in reach)
        for number, step in enumerate(scale.steps)
    )
