"""Headings in students' own texts that name a question, such as "4c continued" below the last answer.

Questions are known as the release prints them: by number, by title, and by the ids of their cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from autograder.notebook.document import RawCell
from autograder.notebook.release import Release

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+)$", re.MULTILINE)
_BOLD_LINE = re.compile(r"^[ \t]*(?:\*\*|__)(.+?)(?:\*\*|__)[ \t]*:?[ \t]*$", re.MULTILINE)
_CONTINUED = re.compile(
    r"\b(?:cont|contd|continued|continuing|continuation|more|rest|fortsetzung|forts|fortgesetzt|weiter)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:[^\W\d_]{2,}\s+)?(\d+(?:\.\d+)*)?\s*[.:–-]?\s*(?:\(([a-z])\)|([a-z])(?=[).:]|$))?[).:\s]*",
    re.IGNORECASE,
)
"""Start of a numbered heading in the release: "Task 4:", "(c)", "Question 4 (c):", "4.2", "c)"."""
_POINTS = re.compile(r"\s*\([\d.,/½]+\s[^()]*\)\s*$")
_NUMBER = re.compile(
    r"(?<![\w.-])(\d+(?:\.\d+)*)(?:\s*[.–-]?\s*\(?([a-z])\)?)?(?![^\W_])|(?<!\w)\(?([a-z])\)", re.IGNORECASE
)
"""Number in a student's heading: "4c", "4 (c)", "4.2", "(c)", "c)"."""
_LINE_LABEL = re.compile(
    r"^[ \t>#*_-]*"
    r"(?:(?:[^\W\d_]{2,}[ \t]+)?(\d+(?:\.\d+)*)[ \t]*[.:–-]?[ \t]*(?:\(([a-z])\)|([a-z])(?=[).:]))"
    r"|\(?([a-z])\)(?=\s))",
    re.IGNORECASE | re.MULTILINE,
)
"""Start of a line that answers another question: "2b) …", "Task 2 (i): …", "# 4c: …" in code, "c) …"."""
_ENTRY = re.compile(r"\s*\(?(?:\d+|[a-z])[).]", re.IGNORECASE)
"""Start of a list entry: "1. Old data" continues an answer and need not name question 1."""
_MOST_WORDS = 8
"""Most words of a first line that is a heading without markup; a longer one is a sentence of the answer."""
_WORD = re.compile(r"\d+|[^\W\d_]+")

Words = tuple[str, ...]


class _Question(Struct, frozen=True):
    """Answers below one heading of the release."""

    number: Words
    """Parts of the number, such as ("4", "c")."""
    titles: tuple[Words, ...]
    """One title for each language."""
    ids: list[Words] = []
    written: list[str] = []
    """grade_ids of its written answers."""
    answers: list[str] = []
    """grade_ids of all of its answers."""

    def is_numbered(self, key: Words) -> bool:
        """Decide whether a key is this question's number, or its letter."""
        return self.number == key or (len(key) == 1 and key[0].isalpha() and self.number[-1:] == key)

    def is_named_in(self, heading: Words) -> bool:
        """Decide whether a heading begins with the title or an id, or contains one of several words."""
        return any(
            name == heading[start : start + len(name)]
            for name in (*self.titles, *self.ids)
            for start in range(len(heading) if len(name) > 1 else bool(name))
        )


def name_answers(
    cells: Sequence[RawCell], release: Release, own_cells: Collection[int]
) -> dict[int, tuple[str, ...]]:
    """Return the student's own text cells with headings that name questions → written answers to these.

    A text directly below such a cell belongs to it unless its own heading says otherwise. A heading that may
    name several questions names none.

    Args:
        cells: cells of the submission.
        release: the student's own release.
        own_cells: cells that are not part of the release.
    """
    questions = _list_questions(release)
    named_answers: dict[int, tuple[str, ...]] = {}
    for index in sorted(own_cells):
        if cells[index].cell_type == "code":
            continue
        headings = _list_headings(cells[index].source)
        named = [question for heading in headings for question in _find_questions(heading, questions)]
        # A continuation belongs to the last written answer of its question.
        written = dict.fromkeys(question.written[-1] for question in named if question.written)
        if written:
            named_answers[index] = tuple(written)
        elif not named and index - 1 in named_answers:
            # A cell without headings continues the cell directly above.
            named_answers[index] = named_answers[index - 1]
    return named_answers


def find_labelled(
    cells: Sequence[RawCell], release: Release, searched: Collection[int], places: Mapping[str, int]
) -> dict[str, set[int]]:
    """Return the cells in which a line begins with the number of a question, by its answers' grade_ids.

    A letter alone refers to a question of the task in which the cell is.

    Args:
        cells: cells of the submission.
        release: the student's own release.
        searched: positions of the student's own cells, and of answers.
        places: positions of the release's cells, by grade_id.
    """
    questions = _list_questions(release)
    labelled: dict[str, set[int]] = {}
    for index in searched:
        labels = {_join_number(*label.groups()) for label in _LINE_LABEL.finditer(cells[index].source)}
        task = _find_task(index, questions, places)
        keys = {label if label[0].isdigit() else (*task, *label) for label in labels}
        named = (question for question in questions if question.number in keys)
        for name in (name for question in named for name in question.answers):
            labelled.setdefault(name, set()).add(index)
    return labelled


def _find_task(index: int, questions: Sequence[_Question], places: Mapping[str, int]) -> Words:
    """Return the number of the task that contains a cell: that of the last answer above it."""
    above = {
        places[name]: question.number[:-1]
        for question in questions
        for name in question.answers
        if places.get(name, index + 1) <= index
    }
    return above[max(above)] if above else ()


def _list_questions(release: Release) -> list[_Question]:
    """Return the questions of a release that have an answer or a cell with points."""
    questions: list[_Question] = []
    numbers: dict[int, Words] = {}  # of the headings above, by level
    for cell in release.cells:
        headings = [] if cell.is_answer or cell.cell_type != "markdown" else _split_headings(cell.source)
        titles = []
        for level, text in headings:
            label = _LABEL.match(text)
            number = _join_number(*label.groups()) if label else ()
            # A heading ends all headings of its own and lower levels.
            numbers = {upper: upper_number for upper, upper_number in numbers.items() if upper < level}
            # A letter alone, such as "(c)", completes the number of the heading above.
            whole = number if number and number[0].isdigit() else (*_get_last_number(numbers), *number)
            numbers[level] = whole
            titles.append(_split_words(_POINTS.sub("", text[label.end() :] if label and number else text)))
        if headings:
            questions.append(_Question(_get_last_number(numbers), tuple(titles), [], [], []))
        if questions and cell.grade_id and (cell.is_answer or cell.points is not None):
            questions[-1].ids.append(_split_words(cell.grade_id))
            questions[-1].written.extend([cell.grade_id] * (cell.is_answer and cell.cell_type == "markdown"))
            questions[-1].answers.extend([cell.grade_id] * cell.is_answer)
    return [question for question in questions if question.ids]


def _get_last_number(numbers: dict[int, Words]) -> Words:
    """Return the number of the deepest heading."""
    return numbers[max(numbers)] if numbers else ()


def _find_questions(heading: str, questions: Sequence[_Question]) -> list[_Question]:
    """Return the questions that a heading names by number, else the only one that it names by id or title."""
    keys = [_join_number(*match.groups()) for match in _NUMBER.finditer(heading)]
    if _ENTRY.match(heading) and not _CONTINUED.search(heading):
        # "1. Old data" is a list entry; only a two-part number such as "4c" still names a question.
        keys = [key for key in keys if len(key) > 1]
    longest = [key for key in keys if len(key) == max(map(len, keys))]  # "4c" in "part 2 of 4c"
    numbered = [[candidate for candidate in questions if candidate.is_numbered(key)] for key in longest]
    # A number that fits several questions, such as "(c)", decides nothing.
    if unique := [match[0] for match in numbered if len(match) == 1]:
        return unique
    named = [question for question in questions if question.is_named_in(_split_words(heading))]
    return named if len(named) == 1 else []


def _list_headings(source: str) -> Iterator[str]:
    """Yield the headings of a text, lines in bold, and a first line that says which answer it continues."""
    yield from (text for _, text in _split_headings(source))
    yield from _BOLD_LINE.findall(source)
    first = source.strip().split("\n", 1)[0]
    is_short = len(_WORD.findall(first)) <= _MOST_WORDS
    if not first.startswith("#") and is_short and (_CONTINUED.search(first) or _LABEL.fullmatch(first)):
        yield first


def _split_headings(source: str) -> list[tuple[int, str]]:
    """Return level and text of each heading."""
    return [(len(marks), text.strip(" \t#*_")) for marks, text in _HEADING.findall(source)]


def _join_number(digits: str | None, *letters: str | None) -> Words:
    """Return digits and letters as one tuple: "4.2" and "c" as ("4", "2", "c")."""
    return (*(digits.split(".") if digits else ()), *(letter.lower() for letter in letters if letter))


def _split_words(text: str) -> Words:
    """Return the words of a text in lower case."""
    return tuple(word.casefold() for word in _WORD.findall(text))
