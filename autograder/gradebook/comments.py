"""The automatic comments that formgrader and nbgrader's feedback show beside an answer.

nbgrader renders comments as Markdown without any sanitising, so what could become markup is replaced by
characters that look alike. Only the students' texts are used: students see these comments too.
"""

from __future__ import annotations

from collections.abc import Collection

from autograder.feedback.sanitise import sentence, visible
from autograder.records import ItemResult, Score, Status
from autograder.rubric import Question, Rubric

_LOOKALIKES = str.maketrans({"<": "‹", ">": "›", "\\": "∖", "$": "＄", "`": "ˋ", "&": "＆", "|": "¦"})
_WORDS = {
    Status.PASSED: "right",
    Status.FAILED: "not right",
    Status.NO_ANSWER: "no answer",
    Status.NEEDS_REVIEW: "a person still looks at this",
}


def comment_texts(
    score: Score, rubric: Rubric, commented: Collection[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """The comment for each (notebook, cell) that can carry one.

    Args:
        score: the marks.
        rubric: gives the items' texts and cells.
        commented: the cells that have a comment in nbgrader: its solution and task cells. An item whose own
            cell has none is told at the question's answer cell.
    """
    language = rubric.assignment.languages[0] if rubric.assignment.languages else "en"
    results = {(result.question, result.item): result for result in score.items}
    lines: dict[tuple[str, str], list[str]] = {}
    for question in rubric.questions:
        for item in question.items:
            place = _place(question, item.cell or question.id, commented)
            result = results.get((question.id, item.id))
            if place is not None and result is not None:
                text = item.text.get(language) or item.text.get("en") or item.id
                lines.setdefault(place, []).append(_line(text, result, language))
    stamp = "" if score.isolation == "namespaces" else f"\n\n(Graded with isolation: {score.isolation})"
    return {place: harmless("\n".join(texts) + stamp) for place, texts in lines.items()}


def harmless(text: str) -> str:
    """Text that Markdown, HTML and MathJax leave as it is."""
    shown = visible(text, 8_000).translate(_LOOKALIKES)
    return shown.replace("](", "] (").replace("]:", "] :").replace("][", "] [")


def _place(question: Question, cell: str, commented: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    candidates = ((question.notebook, name) for name in (cell, question.answer_cell, question.id))
    return next((place for place in candidates if place in commented), None)


def _line(text: str, result: ItemResult, language: str) -> str:
    told = sentence(result.student, language, 600).replace("\n", " ")
    status = _WORDS[result.status]
    return f"- {text.strip()}: {result.points:f} of {result.possible:f} ({status}). {told}".rstrip()
