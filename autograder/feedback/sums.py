"""How the points of the questions become the sum: what was added, taken away or not counted, and why."""

from __future__ import annotations

from autograder.feedback.labels import Labels
from autograder.grades import NOTHING, QuestionPoints, Standing


def sum_lines(standing: Standing, labels: Labels) -> tuple[tuple[str, str], ...]:
    """What stands between the tasks and the sum, with its points, where anything was added or taken."""
    if not (standing.bonus or standing.taken):
        return ()
    found = [(labels("task-points"), labels.number(standing.earned))]
    if standing.taken:
        found.append((labels("taken-line"), labels.number(standing.points - standing.earned)))
    if standing.bonus:
        sign = "+" if _counted(standing) else ""
        key = "bonus-line" if _counted(standing) else "bonus-line-out"
        found.append((labels(key), sign + labels.number(standing.bonus)))
    return tuple(found)


def sum_sentences(standing: Standing, labels: Labels) -> tuple[str, ...]:
    """The same in words, with the reasons; nothing where the sum is what the questions give."""
    said = []
    if standing.taken:
        key = "taken" if standing.taken <= standing.earned else "taken-bounded"
        numbers = {name: labels.number(getattr(standing, name)) for name in ("taken", "earned", "points")}
        said.append(labels(key, **numbers))
    if standing.bonus:
        key = "bonus" if _counted(standing) else "bonus-out"
        said.append(labels(key, points=labels.number(standing.bonus), sources=_sources(standing, labels)))
    scale = standing.scale
    possible = sum((one.possible for one in standing.questions if not one.bonus), NOTHING)
    if standing.total > possible:
        said.append(labels("above-possible", possible=labels.number(possible)))
        if scale and scale.steps:
            said.append(labels("best-grade", grade=labels.grade(scale.steps[0].grade)))
    return tuple(said)


def extra_sentence(question: QuestionPoints, labels: Labels) -> str:
    """What a person added to one question or took away for it; empty for nothing."""
    if not question.extra:
        return ""
    key = "extra-given" if question.extra > 0 else "extra-taken"
    return labels(key, points=labels.number(abs(question.extra)))


def _counted(standing: Standing) -> bool:
    return standing.total == standing.points + standing.bonus


def _sources(standing: Standing, labels: Labels) -> str:
    """Where bonus points come from; with the numbers where there are several sources."""
    sources = {
        "bonus-from.questions": standing.by_bonus_questions,
        "bonus-from.people": standing.extra,
        "bonus-from.course": standing.given,
    }
    found = {key: points for key, points in sources.items() if points}
    if len(found) == 1:
        return labels(next(iter(found)))
    return ", ".join(f"{labels.number(points)} {labels(key)}" for key, points in found.items())
