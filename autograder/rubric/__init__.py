"""Reading and validation of rubrics (TOML). Each kind validates its own options.

The format is described in docs/rubric.md; points are exact decimals.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from autograder.checking.check_parser import CheckFile
from autograder.core import atomic, limits
from autograder.core.errors import Place, RubricError
from autograder.core.records import Limits, Text
from autograder.core.tables import (
    check_known_keys,
    convert_table,
    list_field_names,
    suggest_name,
    to_rubric_error,
)
from autograder.formulas import FormulaError, Symbol, Vocabulary
from autograder.rubric import scales
from autograder.rubric.check_files import add_items, read_check_file
from autograder.rubric.error_lines import locate_errors as locate_errors
from autograder.rubric.notebook_files import NotebookFile as NotebookFile
from autograder.rubric.notebook_files import check_files
from autograder.rubric.variants import options
from autograder.rubric.variants.draws import Catalogues, Variant, check_entries, with_faults
from autograder.rubric.variants.expressions import Value, fill_table, has_placeholder
from autograder.rubric.variants.options import Draws

_Minutes = Annotated[int, Meta(ge=1, le=7 * 24 * 60)]


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    """Questions that share a line of the title page."""

    id: str
    """Printed before its text, and named by questions: ``"1"``."""
    points: Decimal
    text: Text


class Exam(Struct, frozen=True, forbid_unknown_fields=True):
    """The conditions of an exam. Its date is set by the course: `autograder.course.schedule`."""

    minutes: _Minutes
    """Working time."""
    reading_minutes: Annotated[int, Meta(ge=0, le=240)] = 0
    """Additional time before it, for reading."""
    aids: Text = {}
    """Permitted aids."""

    @property
    def whole_minutes(self) -> int:
        """Minutes from the start to the end."""
        return self.minutes + self.reading_minutes


def check_keys(assignment: Mapping[str, Any], place: Place) -> None:
    """Refuse unknown keys in ``[[assignment.task]]`` and ``[assignment.exam]``, with a suggestion.

    Raises:
        RubricError: a key is not known.
    """
    for key, record in (("task", Task), ("exam", Exam)):
        entry = assignment.get(key, ())
        where = place.extend(f": assignment.{key}", "assignment", key)
        for number, table in enumerate(entry if isinstance(entry, list | tuple) else ()):
            if isinstance(table, Mapping):
                check_known_keys(table, list_field_names(record), where.extend("", number))
        if isinstance(entry, Mapping):
            check_known_keys(entry, list_field_names(record), where)


def check_tasks(tasks: Iterable[Task], questions: Iterable[tuple[str, str, Decimal]], place: Place) -> None:
    """Check that each question belongs to a task, and that each task has the points of its questions.

    Args:
        tasks: in order; without any, no question may name one.
        questions: id, task and points of each.
        place: the rubric.

    Raises:
        RubricError: a task occurs twice, a question names none or an unknown one, or points differ.
    """
    declared: dict[str, Decimal] = {}
    for number, task in enumerate(tasks):
        if not task.id or task.id in declared:
            raise RubricError(
                f"expected a name of its own, got {task.id!r}",
                place.extend(": [[assignment.task]] id", "assignment", "task", number, "id"),
            )
        declared[task.id] = task.points
    totals = dict.fromkeys(declared, Decimal(0))
    for question, task_id, points in questions:
        if task_id in totals:
            totals[task_id] += points
        elif task_id or declared:
            raise RubricError(
                f"expected a task of the assignment, got {task_id!r}; {suggest_name(task_id, declared)}",
                place.extend(f": question {question!r}", "question", question),
                "task",
            )
    for task_id, points in totals.items():
        if points != declared[task_id]:
            raise RubricError(
                f"{declared[task_id]} are stated, but its questions add up to {points}",
                place.extend(f": task {task_id!r}", "assignment", "task", task_id),
                "points",
            )


REFERENCE = "reference"
"""The folder of the reference solutions, next to that of the rubrics."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class ConstructorArguments(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The arguments of a class."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


class VisibleCheck(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A check that students run themselves: everything in it is shown to them, and none of it is graded.

    Without ``type``, ``shape`` and ``value`` nothing is called.
    """

    parameters: tuple[str, ...] = ()
    """The parameters of the function, by name and in order; further ones need defaults."""
    construct: ConstructorArguments | None = None
    """Makes the answer a class, constructed with these."""
    method: str = ""
    """Called instead of the object itself."""
    args: tuple[Any, ...] = ()
    """Plain values, and arrays: ``{ array = [[1.0, 2.0]], dtype = "float64" }``."""
    kwargs: dict[str, Any] = {}
    type: str | None = None
    """The class of the result, or a base class, by its name alone."""
    shape: tuple[int, ...] | None = None
    value: Any = None
    """The result, compared with a tolerance that float32 meets."""

    def check(self, place: str) -> None:
        """Refuse an empty check, and arguments that are drawn.

        Raises:
            RubricError: names the place.
        """
        if not self.parameters and self.type is None and self.shape is None and self.value is None:
            raise RubricError("nothing is checked; state parameters, type, shape or value", place)
        constructor = self.construct or ConstructorArguments()
        for argument in (*self.args, *self.kwargs.values(), *constructor.args, *constructor.kwargs.values()):
            if isinstance(argument, dict) and ("array" not in argument or set(argument) - {"array", "dtype"}):
                raise RubricError(
                    f"{argument!r}: expected a plain value or {{ array = […], dtype = … }}; "
                    "nothing that students see is drawn",
                    place,
                )


class RubricSymbol(Symbol, frozen=True, forbid_unknown_fields=True):
    """A symbol that formulas may use."""

    text: dict[str, str] = msgspec.field(default_factory=dict)


class AssignmentSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the whole assignment."""

    name: str
    points: Decimal
    title: dict[str, str] = {}
    languages: tuple[str, ...] = ("en",)
    preload: tuple[str, ...] = ()
    """Modules that are imported before a submission starts."""
    notebooks: tuple[NotebookFile, ...] = ()
    """Default: one notebook with the name of the assignment."""
    adopted: Literal["", "nbgrader", "otter"] = ""
    """The program that the assignment comes from: its notebooks and tests are kept unchanged."""
    cell_start: str = ""
    """A line that runs at the beginning of each cell while notebooks are graded, like otter's seeds."""
    limits: Limits = Limits()
    redraw: Literal["never", "student", "attempt"] = "never"
    """How often hidden inputs are drawn: once for the whole class, for each student, or for each attempt."""
    symbols: dict[str, RubricSymbol] = {}
    assume: dict[str, str] = {}
    """Named relations between symbols, e.g. ``heads = "d_model = n_heads*d_head"``."""
    tasks: tuple[Task, ...] = msgspec.field(name="task", default=())
    """The lines of the title page; if there are any, every question belongs to one."""
    exam: Exam | None = None
    grading: scales.Scale | None = None
    """From points to a grade; None: the assignment has no grades."""

    @property
    def individual(self) -> frozenset[str]:
        """The names of the notebooks that each member of a group submits individually."""
        return frozenset(notebook.name for notebook in self.notebooks if notebook.individual)


class Item(Struct, frozen=True):
    """One line of the rubric, worth some points."""

    id: str
    points: Decimal
    text: dict[str, str]
    shown: dict[str, str] = {}
    """The text that students read instead until their marks are final, if `text` reveals the answer."""
    manual: bool = False
    """Whether it is graded manually."""
    cell: str = ""
    """The grade cell that has the points in the notebook; default: the question's id."""
    needs: tuple[str, ...] = ()
    """Items of the same question without which this one earns nothing."""
    options: Mapping[str, Any] = {}
    """Options of this kind."""

    def get_title(self, *, final: bool) -> dict[str, str]:
        """Return the text for students: `text`, or `shown` while their marks may change."""
        return self.text if final or not self.shown else self.shown


class Question(Struct, frozen=True):
    """One question: an answer cell and its items."""

    id: str
    kind: str
    points: Decimal
    items: tuple[Item, ...]
    title: dict[str, str] = {}
    bonus: bool = False
    """Whether its points add to the earned ones, but not to the possible ones."""
    task: str = ""
    """The id of one of the assignment's tasks."""
    notebook: str = ""
    """The notebook; default: the assignment's only one."""
    answer: str = ""
    """The name the student assigns or defines; empty for written answers."""
    answer_cell: str = ""
    """grade_id of the answer cell; default: ``<id>-answer``."""
    file: str = ""
    """The path of the file that is the answer, instead of a cell: one of those that students submit."""
    reference: str = ""
    """``module:name`` in the course's reference folder."""
    checks: str = ""
    """The file of its checks in the folder ``checks`` there; default: the question's id."""
    trials: str = ""
    """``module:name`` there: a function that returns planted answers, for ``autograder verify``."""
    inputs_version: Annotated[int, Meta(ge=1)] = 1
    """Another number draws its hidden inputs anew, and those of no other question."""
    symbols: dict[str, RubricSymbol] = {}
    """Symbols of this question: additional ones, and replacements of the assignment's."""
    unreadable: Literal["review", "zero"] = "review"
    """How to treat an answer that cannot be read: manual review, or no points."""
    visible: tuple[VisibleCheck, ...] = ()
    """Checks that students can run themselves; see docs/rubric.md."""
    options: Mapping[str, Any] = {}
    """Options of this kind."""

    def get_item(self, item_id: str) -> Item:
        """Return the item with this id."""
        return next(item for item in self.items if item.id == item_id)

    def list_cells(self) -> dict[str, Decimal]:
        """Return the grade cells of this question in the notebook, with the most points of each."""
        points: dict[str, Decimal] = {}
        for item in self.items:
            cell = item.cell or self.id
            points[cell] = points.get(cell, Decimal(0)) + max(item.points, Decimal(0))
        return points


class Rubric(Struct, frozen=True):
    """A whole rubric, validated except for the kinds' own options."""

    version: int
    assignment: AssignmentSettings
    questions: tuple[Question, ...]
    digest: str
    """SHA-256 of the file, and of the variant if it is a personal one, in hexadecimal."""
    draws: Draws | None = None
    """The values that are drawn for each student; None: all students get the same."""
    variant: Variant = Variant()
    """The values in this rubric's texts and questions."""
    template: tuple[Mapping[str, Any], ...] = ()
    """The questions as in the file, with placeholders; empty if nothing is drawn."""
    checks: Mapping[str, CheckFile] = {}
    """The files of checks, by question."""

    @property
    def planted(self) -> dict[str, int]:
        """The number of drawn faults, by the name of the draw."""
        drawn = self.draws.planted if self.draws else {}
        return {name: len(self.variant.faults[name]) for name in drawn}

    def make_personal(self, variant: Variant, catalogues: Catalogues) -> Rubric:
        """Return the rubric of one variant. Points and cells are kept, and so are questions without draws.

        Raises:
            RubricError: a question is not valid with these values; names it and the variant.
        """
        planted = self.draws.planted if self.draws else {}
        faults = {
            entry.faults: [fault for fault in catalogues[entry.faults] if fault.id in variant.faults[name]]
            for name, entry in planted.items()
        }
        questions = list(self.questions)
        for index, entry in enumerate(self.template):
            identifier = self.questions[index].id
            if identifier in faults or has_placeholder(entry):
                drawn = with_faults(entry, faults[identifier]) if identifier in faults else entry
                place = Place(f"variant {variant.label}: question {index + 1}", "question", index)
                questions[index] = _read_question(
                    fill_table(drawn, variant.values, place), place, self.assignment
                )
        digest = hashlib.sha256(f"{self.digest} {variant.digest}".encode()).hexdigest()
        return msgspec.structs.replace(self, questions=tuple(questions), digest=digest, variant=variant)

    def list_symbols(self, question: Question) -> dict[str, RubricSymbol]:
        """Return the symbols that formulas of a question may use."""
        return {**self.assignment.symbols, **question.symbols}

    def make_vocabulary(self, question: Question | None = None) -> Vocabulary:
        """Return the symbols of a question, or of the whole assignment, for reading formulas.

        Raises:
            RubricError: a spelling is not a name, refers to two symbols, or a domain is unknown.
        """
        try:
            return Vocabulary(self.assignment.symbols if question is None else self.list_symbols(question))
        except FormulaError as error:
            raise RubricError(str(error)) from error

    def get_question(self, question_id: str) -> Question:
        """Return the question with this id."""
        return next(question for question in self.questions if question.id == question_id)


def load_rubric(path: Path) -> Rubric:
    """Read a rubric file.

    Raises:
        RubricError: not readable, misspelt, or its points do not add up; names file and place.
    """
    try:
        data = atomic.read_bytes(path)
    except OSError as error:
        raise RubricError(f"{path}: the rubric cannot be read: {error.strerror}") from error
    with locate_errors(path):
        return parse_rubric(data, str(path), path.parent.parent / REFERENCE)


def parse_rubric(data: bytes, place: str = "rubric", reference: Path | None = None) -> Rubric:
    """Read a rubric from its bytes; see `load_rubric`.

    Args:
        data: of the file.
        place: its name, for errors.
        reference: the folder of the reference solutions, which questions about code need.
    """
    table = read_tables(data, place)
    top = Place(place)
    check_known_keys(table, ("version", "assignment", "variant", "question"), top)
    version = table.get("version")
    if not isinstance(version, int) or version < 1:
        raise RubricError(
            f"expected a line 'version = 1', a whole number from 1, got {version!r}",
            top,
            "version",
        )
    assignment = _read_assignment(table.get("assignment", {}), top)
    draws, values = _read_draws(table, top)
    template = tuple(table.get("question", ()))
    places = [top.extend(f": question {number + 1}", "question", number) for number in range(len(template))]
    # Before the questions, because the files of checks provide their items.
    checks = {}
    for number, (entry, where) in enumerate(zip(template, places, strict=True)):
        if (file := read_check_file(entry, reference, where)) is not None:
            checks[str(entry.get("id"))] = file
            stated_only = draws is not None and draws.has_drawn_faults(str(entry.get("id")))
            completed = add_items(entry, file, where, stated_only=stated_only)
            template = (*template[:number], completed, *template[number + 1 :])
    questions = tuple(
        _read_question(fill_table(entry, values, where) if draws else entry, where, assignment)
        for entry, where in zip(template, places, strict=True)
    )
    _check_unique((question.id for question in questions), places, "id")
    cells = [
        (cell, where)
        for question, where in zip(questions, places, strict=True)
        for cell in question.list_cells()
    ]
    # Two questions with the same grade cell would overwrite each other's points in the notebook.
    _check_unique(
        (cell for cell, _ in cells), [Place(f"{top}: grade cell", *where.path) for _, where in cells]
    )
    # Bonus questions add nothing to the possible points.
    counted = [
        (read_question.id, read_question.task, Decimal(0) if read_question.bonus else read_question.points)
        for read_question in questions
    ]
    _check_sum(
        assignment.points, (points for _, _, points in counted), top.extend(": [assignment]", "assignment")
    )
    check_tasks(assignment.tasks, counted, top)
    rubric = Rubric(version, assignment, questions, hashlib.sha256(data).hexdigest(), checks=checks)
    if draws is None:
        return rubric
    items = {
        question.id: tuple(item.id for item in question.items if not item.manual) for question in questions
    }
    faults = {name: items[planted.faults] for name, planted in draws.planted.items()}
    return msgspec.structs.replace(rubric, draws=draws, variant=Variant(values, faults), template=template)


def _read_assignment(written: Any, place: Place) -> AssignmentSettings:
    where = place.extend(": [assignment]", "assignment")
    if not isinstance(written, dict):
        raise RubricError(f"expected a table, got {written!r}", where)
    if isinstance(written.get("limits"), dict):
        inside = place.extend(": [assignment.limits]", "assignment", "limits")
        check_known_keys(written["limits"], list_field_names(Limits), inside)
        limits.check_limits(written["limits"], inside)
    grading = written.get("grading")
    if grading is not None and not isinstance(grading, dict):
        raise RubricError(f"expected a table [assignment.grading], got {grading!r}", where, "grading")
    check_keys(written, place)
    # The scale depends on the points of the assignment, which must be read first.
    settings = {key: value for key, value in written.items() if key != "grading"}
    assignment = convert_table(settings, AssignmentSettings, where)
    if grading is not None:
        inside = place.extend(": [assignment.grading]", "assignment", "grading")
        scale = scales.read_scale(grading, assignment.points, inside)
        assignment = msgspec.structs.replace(assignment, grading=scale)
    if not assignment.notebooks:
        assignment = msgspec.structs.replace(assignment, notebooks=(NotebookFile(assignment.name),))
    check_files(assignment.notebooks, assignment.limits, place)
    return assignment


def _read_draws(table: Mapping[str, Any], place: Place) -> tuple[Draws | None, dict[str, Value]]:
    """Return the draws, and the values of the common variant."""
    if "variant" not in table:
        return None, {}
    if not isinstance(table["variant"], dict):
        raise RubricError("expected a table [variant]", place, "variant")
    draws = options.read_draws(table["variant"], place)
    check_entries(table, draws, place)
    return draws, draws.common


def _split_options(table: Mapping[str, Any], to: type[Any]) -> dict[str, Any]:
    """Sort a table's keys into the record's own fields and its ``options``."""
    fields = set(list_field_names(to)) - {"options", "items"}
    return {
        **{key: value for key, value in table.items() if key in fields},
        "options": {key: value for key, value in table.items() if key not in fields and key != "item"},
    }


def _read_question(table: Mapping[str, Any], place: Place, assignment: AssignmentSettings) -> Question:
    identifier = table.get("id")
    place = place.extend(f" ({identifier})") if identifier else place
    _check_id(identifier, place)
    items: list[Item] = []
    for number, entry in enumerate(table.get("item", ())):
        item_place = place.extend(f", item {number + 1} ({entry.get('id', '?')})", "item", number)
        # Converted one by one, so that errors name the item.
        items.append(convert_table(_split_options(entry, Item), Item, item_place))
        _check_id(items[-1].id, item_place)
    if not items:
        raise RubricError("at least one [[question.item]] is needed", place)
    numbered = [place.extend(f", item {number + 1}", "item", number) for number in range(len(items))]
    _check_unique((item.id for item in items), numbered, "id")
    for number, item in enumerate(items):
        other_ids = [other.id for other in items if other.id != item.id]
        for needed in item.needs:
            if needed not in other_ids:
                known_ids = ", ".join(other_ids) or "none"
                raise RubricError(
                    f"{needed!r} is no other item; known: {known_ids}",
                    place.extend(f", item {item.id}", "item", number),
                    "needs",
                )
    try:
        question = msgspec.convert({**_split_options(table, Question), "items": items}, Question, strict=True)
    except msgspec.ValidationError as error:
        raise to_rubric_error(error, table, Question, place) from error
    for number, visible in enumerate(question.visible):
        visible.check(place.extend(f", visible {number + 1}", "visible", number))
    if question.visible and not question.answer:
        raise RubricError("[[question.visible]] needs the name that the student defines", place, "answer")
    _check_sum(question.points, (item.points for item in items if item.points > 0), place)
    names = [notebook.name for notebook in assignment.notebooks]
    notebook = question.notebook or (names[0] if len(names) == 1 else "")
    if notebook not in names:
        raise RubricError(f"expected one of {', '.join(names)}, got {notebook!r}", place, "notebook")
    _check_file(question, assignment.notebooks[names.index(notebook)], place)
    return msgspec.structs.replace(
        question, notebook=notebook, answer_cell=question.answer_cell or f"{question.id}-answer"
    )


def _check_file(question: Question, notebook: NotebookFile, place: Place) -> None:
    """Refuse an answer file that students do not submit, or that is also a cell."""
    if not question.file:
        return
    if question.file not in notebook.own:
        listed = ", ".join(notebook.own) or "none"
        raise RubricError(
            f"{question.file!r} is not handed in with the notebook {notebook.name!r}; list it there under "
            f"starter, take_along or result (listed: {listed})",
            place,
            "file",
        )
    if question.answer_cell:
        raise RubricError("the answer is a file or a cell; state one of the two", place, "answer_cell")


def _check_id(identifier: Any, place: Place) -> None:
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        raise RubricError(f"expected letters, digits, '-', '_' or '.', got {identifier!r}", place, "id")


def _check_unique(names: Iterable[str], places: Sequence[Place], *keys: str) -> None:
    """Refuse a name that occurs twice.

    Args:
        names: of several records.
        places: of each of them.
        keys: of the name in the record.
    """
    seen: set[str] = set()
    for name, place in zip(names, places, strict=True):
        if name in seen:
            raise RubricError(f"{name!r} stands twice; each may stand once", place, *keys)
        seen.add(name)


def _check_sum(declared: Decimal, parts: Iterable[Decimal], place: Place) -> None:
    total = sum(parts, Decimal(0))
    if total != declared:
        raise RubricError(f"{declared} are stated, but the parts add up to {total}", place, "points")


def read_tables(data: bytes, place: str) -> dict[str, Any]:
    """Read TOML; numbers with a point become exact decimals. A byte order mark is accepted.

    Raises:
        RubricError: not UTF-8 or not TOML; names the line.
    """
    try:
        return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RubricError(f"not UTF-8 (at line {line}); save the file with this encoding", place) from error
    except tomllib.TOMLDecodeError as error:
        raise RubricError(f"not valid TOML: {error}{_suggest_fix(str(error))}", place) from error


def _suggest_fix(fault: str) -> str:
    """Return the cause of the most frequent errors."""
    if fault.startswith(("Cannot declare", "Cannot overwrite")):
        return (
            "; something stands twice. [[question]] and [[question.item]] take two brackets, and items come "
            "after their question"
        )
    return '; texts stand in straight quotes: "…"' if fault.startswith("Invalid value") else ""
