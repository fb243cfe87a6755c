"""Summary of a run for staff: every student in a row, open points and notes, and the distribution of grades.

Its one script sorts the table. The page's policy names the script by its hash, so no other script runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import GradingResult, ItemResult, Note, Score, Status
from autograder.grading.grades import Standing, compute_standing
from autograder.pages.feedback.grade import describe_rules, format_grade_range
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.pages.feedback.template_rendering import fill_template
from autograder.rubric import Rubric
from autograder.rubric.scales import Grade, Scale

_MOST_NOTE = 500
_MOST_OF_A_KIND = 5
"""Most notes of one code about one student that are listed separately."""
_TENS = 10


class _Remark(Struct, frozen=True):
    """Note about several students, shown once."""

    number: int
    text: str
    students: tuple[str, ...]


class _StudentRow(Struct, frozen=True):
    student: str
    name: str
    """Name in the class list; empty if it has none."""
    page: str
    """Address of the student's page; empty if there is none."""
    stated: str
    group: str
    """Group with its members; empty for a student who submitted alone."""
    late: str
    """Deduction for being late; empty for none."""
    points: str
    exact: Decimal
    pending: str
    open: Decimal
    grade: str
    """Empty if there are no grades."""
    rank: int
    """Rank of the certain grade, from the best."""
    provisional: bool
    counts: tuple[tuple[str, int], ...]
    """Status, or ``"marked"`` for a manual mark → number of items."""
    endings: str
    isolation: str
    seconds: str
    notes: tuple[str, ...]
    remarks: tuple[_Remark, ...]
    """Notes that also concern other students."""


def render_summary(
    results: Iterable[GradingResult],
    rubric: Rubric,
    standings: Mapping[str, Standing] | None = None,
    remarks: Sequence[str] = (),
    *,
    names: Mapping[str, str] | None = None,
    pages: Mapping[str, str] | None = None,
) -> str:
    """Render the distribution of grades and all students, for staff: one HTML file without requests.

    It contains staff texts, so it is not for students. Students' own texts in it are escaped as on their
    pages.

    Args:
        results: results of a run, in the order of display.
        rubric: rubric of the grading.
        standings: students' marks including manual ones; default: automatic ones only.
        remarks: remarks on the class as a whole, a sentence each.
        names: names of students in the class list.
        pages: addresses of students' pages, relative to this one.
    """
    labels = Labels("en")
    graded = list(results)
    marked_standings = standings or {}
    stands = [
        marked_standings.get(item.score.student) or compute_standing(item.score, rubric) for item in graded
    ]
    rows, shared = _build_rows(graded, stands, rubric, names or {}, pages or {})
    points = [item.total for item in stands]
    scale = rubric.assignment.grading
    mean = (sum(points, Decimal(0)) / len(points)).quantize(Decimal("0.01")) if points else Decimal(0)
    return fill_template(
        "summary.html",
        title=labels.pick(rubric.assignment.title, rubric.assignment.name),
        version=rubric.version,
        possible=labels.number(rubric.assignment.points),
        mean=labels.number(mean),
        rows=rows,
        shared=shared,
        remarks=[to_printable_text(remark, 4 * _MOST_NOTE) for remark in remarks],
        grades=compute_distribution(stands, scale, labels) if scale else None,
        label=labels,
        sortable=True,
    )


def _collect_shared(students: Sequence[str], noted: Sequence[Sequence[str]]) -> dict[str, _Remark]:
    """Return the notes about several students, by their text."""
    students_by_text: dict[str, list[str]] = {}
    for student, notes in zip(students, noted, strict=True):
        for text in notes:
            students_by_text.setdefault(text, []).append(to_printable_text(student, 200))
    several = {text: who for text, who in students_by_text.items() if len(who) > 1}
    return {text: _Remark(number, text, tuple(who)) for number, (text, who) in enumerate(several.items(), 1)}


def _build_rows(
    results: Sequence[GradingResult],
    standings: Sequence[Standing],
    rubric: Rubric,
    names: Mapping[str, str],
    pages: Mapping[str, str],
) -> tuple[list[_StudentRow], tuple[_Remark, ...]]:
    """Return a row for each student, and the notes about several."""
    labels = Labels("en")
    by_cell = {
        (question.id, item.id): item.cell or question.id
        for question in rubric.questions
        for item in question.items
    }
    noted = [
        (
            *_join_notes(
                [*_list_flags(stands), *_list_reasons(graded, stands, rubric), *_list_remarks(graded)]
            ),
            *_join_notes_by_kind(graded.score.notes),
        )
        for graded, stands in zip(results, standings, strict=True)
    ]
    # A note about several students is written out once, and referred to by number in the rows.
    shared = _collect_shared([graded.score.student for graded in results], noted)
    rows = [
        replace(
            _build_row(graded, stands, by_cell, labels),
            name=to_printable_text(names.get(graded.score.student, ""), 200),
            page=pages.get(graded.score.student, ""),
            notes=tuple(text for text in notes if text not in shared),
            remarks=tuple(shared[text] for text in notes if text in shared),
        )
        for graded, stands, notes in zip(results, standings, noted, strict=True)
    ]
    return rows, tuple(shared.values())


def _build_row(
    graded: GradingResult, stands: Standing, by_cell: Mapping[tuple[str, str], str], labels: Labels
) -> _StudentRow:
    """Return the row of one student, without name, page and notes."""
    score = graded.score
    marked = {
        (question.id, cell.name): cell.items
        for question in stands.questions
        for cell in question.cells
        if cell.by_person and not cell.pending
    }
    statuses = ["marked" if _is_marked(item, marked, by_cell) else item.status.value for item in score.items]
    endings = [
        run.ending.value for notebook in graded.notebooks for run in notebook.runs if run and run.ending
    ]
    return _StudentRow(
        student=to_printable_text(score.student, 200),
        name="",
        page="",
        stated=to_printable_text(", ".join(graded.stated.values()), 500),
        group=_format_group(score),
        late=labels.number(-stands.late) if stands.late else "",
        points=labels.number(stands.total),
        exact=stands.total,
        pending=labels.number(stands.pending) if stands.pending else "",
        open=stands.pending,
        grade=format_grade_range(stands.worst, stands.best, labels) if stands.worst and stands.best else "",
        rank=_compute_rank(stands),
        provisional=not stands.final,
        counts=tuple((name, statuses.count(name)) for name in (*Status, "marked") if name in statuses),
        endings=", ".join(dict.fromkeys(endings)),
        # Full isolation is the rule, so only weaker isolation is shown.
        isolation="" if score.isolation == "namespaces" else to_printable_text(score.isolation, 40),
        seconds=f"{graded.seconds:.2f}",
        notes=(),
        remarks=(),
    )


def _format_group(score: Score) -> str:
    """Return the group with its members; empty if there is none."""
    if score.group is None:
        return ""
    return to_printable_text(f"{score.group.name} ({', '.join(score.group.members)})", 500)


def _list_flags(stands: Standing) -> list[Note]:
    """Return a note for each cell that markers flagged."""
    return [
        Note("flagged", "flagged: somebody should look at this one", cell.name)
        for question in stands.questions
        for cell in question.cells
        if cell.flagged
    ]


def _list_reasons(graded: GradingResult, stands: Standing, rubric: Rubric) -> list[Note]:
    """Return why automatic items need manual review, for cells that are not marked yet."""
    pending = {(entry.id, cell.name) for entry in stands.questions for cell in entry.cells if cell.pending}
    # Items marked by hand always wait, which needs no explanation.
    cells = {
        (question.id, item.id): item.cell or question.id
        for question in rubric.questions
        for item in question.items
        if not item.manual
    }
    return [
        Note(
            "waits",
            f"needs manual review: {entry.staff or 'no reason is known'}",
            f"{entry.question}, {entry.item}",
        )
        for entry in graded.score.items
        if entry.status is Status.NEEDS_REVIEW
        and (entry.question, cells.get((entry.question, entry.item))) in pending
    ]


def _list_remarks(graded: GradingResult) -> list[Note]:
    """Return the remarks on verdicts; items that need manual review state them in their reason."""
    decided = (item for item in graded.score.items if item.status is not Status.NEEDS_REVIEW)
    distinct = dict.fromkeys((item.remark, item.question) for item in decided if item.remark)
    return [Note("remark", f"remark: {text}", question) for text, question in distinct]


def _compute_rank(stands: Standing) -> int:
    """Return the rank of the certain grade, from the best; on the percent scale, smaller is better."""
    if stands.scale is None or stands.worst is None:
        return 0
    names = [step.grade for step in stands.scale.steps]
    return names.index(stands.worst.name) if names else -int(stands.worst.name.removesuffix(" %"))


def _is_marked(
    item: ItemResult,
    marked: Mapping[tuple[str, str], Mapping[str, Decimal]],
    by_cell: Mapping[tuple[str, str], str],
) -> bool:
    """Decide whether a manual mark replaces an item; a mark of its cell may cover only some items."""
    items = marked.get((item.question, by_cell.get((item.question, item.item), item.question)))
    return items is not None and (not items or item.item in items)


def _join_notes(notes: Iterable[Note]) -> tuple[str, ...]:
    """Return the texts of notes; the same about several places in one line."""
    places: dict[str, list[str]] = {}
    for note in notes:
        # A dictionary keeps the order in which the notes were made.
        places.setdefault(note.text, []).extend([note.place] if note.place else [])
    return tuple(
        to_printable_text(_format_note(text, note_places), _MOST_NOTE) for text, note_places in places.items()
    )


def _join_notes_by_kind(notes: Sequence[Note]) -> tuple[str, ...]:
    """Return notes on reading and running; a kind with many notes becomes one line after all others.

    A program that removed all metadata causes a note for every cell, which would hide the important ones.
    """
    texts: dict[str, dict[str, None]] = {}
    for note in notes:
        texts.setdefault(note.code, {})[note.text] = None
    frequent = {code for code, kind_texts in texts.items() if len(kind_texts) > _MOST_OF_A_KIND}
    single_notes = _join_notes(note for note in notes if note.code not in frequent)
    counted = [
        f"{next(iter(texts[code]))} ({len(texts[code])} remarks of this kind: {code})"
        for code in texts
        if code in frequent
    ]
    return (*single_notes, *(to_printable_text(text, _MOST_NOTE) for text in counted))


def _format_note(text: str, places: Sequence[str]) -> str:
    """Return a note with its places."""
    if len(places) > 1:
        return f"{text} ({len(places)} places: {', '.join(places)})"
    return f"{places[0]}: {text}" if places else text


class Bar(Struct, frozen=True):
    """One grade and its number of students."""

    grade: str
    least: str
    """Its minimum points; empty on the percent scale."""
    final: int
    provisional: int
    """Students who would have it if they earned none of the open points."""
    final_percent: int
    provisional_percent: int
    """Share of the largest bar."""


class Distribution(Struct, frozen=True):
    """Grades of a class."""

    bars: tuple[Bar, ...]
    students: int
    passed: int
    """Whatever the open points will be."""
    may_pass: int
    """Those, and students who can still pass."""
    provisional: int
    rules: tuple[str, ...]


def compute_distribution(standings: Sequence[Standing], scale: Scale, labels: Labels) -> Distribution:
    """Return the distribution of grades; open points count as not earned, and are shown as such."""
    names = [_find_bar(standing.worst, scale) for standing in standings]
    final = [name for name, standing in zip(names, standings, strict=True) if standing.final]
    # At least 1, to avoid a division by zero without students.
    most = max((names.count(name) for name in names), default=1)
    ranges = [f"{10 * tens}–{10 * tens + 9} %" for tens in reversed(range(_TENS))]
    steps = [(step.grade, labels.number(step.least)) for step in scale.steps] or [
        (name, "") for name in ("100 % +", *ranges)
    ]
    bars = tuple(
        Bar(
            labels.grade(name),
            least,
            final.count(name),
            names.count(name) - final.count(name),
            round(100 * final.count(name) / most),
            round(100 * (names.count(name) - final.count(name)) / most),
        )
        for name, least in steps
    )
    return Distribution(
        bars,
        students=len(standings),
        passed=sum(standing.passed is True for standing in standings),
        may_pass=sum(bool(standing.best and standing.best.passed) for standing in standings),
        provisional=len(names) - len(final),
        rules=describe_rules(scale, labels, bonus=any(standing.bonus for standing in standings)),
    )


def _find_bar(grade: Grade | None, scale: Scale) -> str:
    """Return the bar of a grade: on the percent scale, its ten."""
    if grade is None or scale.steps:
        return grade.name if grade else ""
    tens = int(grade.name.removesuffix(" %")) // _TENS
    return "100 % +" if tens >= _TENS else f"{10 * tens}–{10 * tens + 9} %"
