"""The automatic comments that formgrader and nbgrader's feedback show beside an answer.

nbgrader renders comments as Markdown without any sanitising, so what could become markup is replaced by
characters that look alike. Only the students' texts are used: students see these comments too.
"""

from __future__ import annotations

from collections.abc import Collection

from autograder import messages
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import escape_markup, sentence
from autograder.grades import standing
from autograder.records import ItemResult, Score
from autograder.rubric import Question, Rubric


def comment_texts(
    score: Score, rubric: Rubric, commented: Collection[tuple[str, str]], language: str = ""
) -> dict[tuple[str, str], str]:
    """The comment for each (notebook, cell) that can carry one.

    Args:
        score: the marks.
        rubric: gives the items' texts and cells.
        commented: the cells that have a comment in nbgrader: its solution and task cells. An item whose own
            cell has none is told at the question's answer cell.
        language: of the comments; default: the assignment's first.
    """
    labels = Labels(language or next(iter(rubric.assignment.languages), "en"))
    final = standing(score, rubric).final  # what people give does not change the comment that is written now
    results = {(result.question, result.item): result for result in score.items}
    lines: dict[tuple[str, str], list[str]] = {}
    for question in rubric.questions:
        for item in question.items:
            place = _place(question, item.cell or question.id, commented)
            result = results.get((question.id, item.id))
            if place is not None and result is not None:
                text = labels.pick(item.title(final=final), item.id)
                lines.setdefault(place, []).append(_line(text, result, labels))
    told = messages.sentence("comment.isolation", labels.language, isolation=score.isolation)
    stamp = "" if score.isolation == "namespaces" else f"\n\n{told}"
    return {place: escape_markup("\n".join(texts) + stamp) for place, texts in lines.items()}


def _place(question: Question, cell: str, commented: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    candidates = ((question.notebook, name) for name in (cell, question.answer_cell, question.id))
    return next((place for place in candidates if place in commented), None)


def _line(text: str, result: ItemResult, labels: Labels) -> str:
    told = sentence(result.student, labels.language, 600).replace("\n", " ")
    points = f"{labels.number(result.points)} {labels('of')} {labels.number(result.possible)}"
    verdict = messages.sentence(f"comment.{result.status.value}", labels.language)
    return f"- {text.strip()}: {points} ({verdict}). {told}".rstrip()
