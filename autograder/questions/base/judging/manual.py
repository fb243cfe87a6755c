"""Items that are graded manually: notes of the rubric for graders, and results that need no grader."""

from __future__ import annotations

from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Answer, ItemResult
from autograder.core.tables import convert_table, list_field_names
from autograder.core.wording import get_text
from autograder.questions.base.base import Evidence
from autograder.questions.base.judging.results import is_blank, make_no_answer, make_result, make_review
from autograder.questions.base.options import locate_question
from autograder.questions.base.values import prose
from autograder.rubric import Item, Question


class Examples(Struct, frozen=True, forbid_unknown_fields=True):
    """Answers that graders can compare with, in the rubric's own words."""

    full: str | dict[str, str]
    none: str | dict[str, str]
    half: str | dict[str, str] = ""


class ManualItem(Struct, frozen=True):
    """Options of every item with ``manual = true``; for staff, never shown to students.

    A text applies to all languages of the assignment, or is given in each: ``{ en = …, de = … }``.
    """

    guide: str | dict[str, str] = ""
    """Grading instructions."""
    examples: Examples | None = None
    """Answers worth full, half and no credit."""
    suggest: tuple[str, ...] = ()
    """A closed list of words: an answer that contains one of them suggests this item to the grader."""


def read_manual_options(question: Question, item: Item) -> ManualItem:
    """Return the options that an item gives to graders; other keys, of the question's kind, are ignored.

    Args:
        question: of the item.
        item: one with ``manual = true``.

    Raises:
        RubricError: a key has the wrong type.
    """
    names = list_field_names(ManualItem)
    table = {key: value for key, value in item.options.items() if key in names}
    options = convert_table(table, ManualItem, locate_question(question, item))
    for entry in options.suggest:
        bare = [word.strip("*") for word in entry.split()]
        # `prose.find_spans` expands stars only at the ends of words; others would be searched literally.
        if not bare or not all(bare) or any("*" in word for word in bare):
            where = locate_question(question, item).extend(": suggest", "suggest")
            raise RubricError(f"expected words, with '*' at most at their ends, got {entry!r}", where)
    return options


def judge_manual(question: Question, item: Item, evidence: Evidence) -> ItemResult:
    """Return the result of an item that is graded manually; an unwritten answer needs no review."""
    answer = evidence.answers.get(item.cell) if item.cell else evidence.answer
    if answer is not None and is_unwritten_answer(answer):
        return make_result(question, item, make_no_answer())
    if answer is None:
        said = "no cell of its own"
    else:
        said = f"{len(prose.list_words(answer.source))} words"
        if prose.find_spans(answer.source, read_manual_options(question, item).suggest):
            said += "; words of the list occur"
    guide = get_text(item.options.get("guide", ""), "en")
    staff = f"for a person: {said}" + (f"; {guide}" if guide else "")
    return make_result(question, item, make_review(staff, "review.person"))


def is_unwritten_answer(answer: Answer) -> bool:
    """Return whether a cell is unchanged since its release, empty, or a text that is still a placeholder."""
    return is_blank(answer) or (answer.cell_type == "markdown" and prose.is_unwritten_text(answer.source))
