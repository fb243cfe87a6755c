"""Members of a class, their submissions, and remarks for staff about missing, unlisted or misplaced work.

Every student with a folder in submitted/ counts. A result without a folder is kept and reported, but does not
count anywhere, because its submission can no longer be shown.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from autograder.app.class_lists import read_roster
from autograder.core.errors import CourseError
from autograder.core.records import GradingResult, StudentGroup
from autograder.core.tables import join_names, suggest_id, suggest_name
from autograder.course import Course, Handin, counting_attempts, is_folder
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import (
    ARCHIVES,
    CHECK_FILE,
    is_absent,
    list_expected_files,
    read_folder,
)
from autograder.grading.assignment import Assignment
from autograder.grading.batch import refresh_result, was_refused
from autograder.grading.grades import CellName, PersonMark
from autograder.grading.store import AnswerName, Store
from autograder.rubric import Rubric
from autograder.rubric.timestamps import FILE_NAME as STAMP
from autograder.rubric.timestamps import Timing
from autograder.rubric.variants.draws import normalise_id


class CollectedClass(Struct, frozen=True):
    """The submissions of a class, before grading."""

    handins: tuple[Handin, ...]
    """The attempt that counts for every student, with its timing."""
    misnamed: Mapping[str, str]
    """Folders that are not graded because of their name, with the reason."""
    times: Schedule | None
    """The schedule of the assignment, if the course has one."""
    groups: tuple[StudentGroup, ...] = ()
    """Groups that submit together."""

    @property
    def timings(self) -> dict[str, Timing]:
        """Timing of each submission by student, if there is a schedule."""
        return {handin.student: handin.timing for handin in self.handins if handin.timing}


def collect_handins(course: Course, assignment: Assignment, students: Collection[str] = ()) -> CollectedClass:
    """Return the attempt that counts for each student in submitted/. Nothing is read or run.

    Args:
        course: the course.
        assignment: loaded.
        students: only these; empty: all.

    Raises:
        CourseError: a file or folder of the course is not usable, or one of the students has no submission.
    """
    name, counted = assignment.name, counting_attempts.find_counting_attempts(course, assignment.rubric)
    handins = [handin for handin in counted.handins if not students or handin.student in students]
    missing = sorted(set(students) - {handin.student for handin in handins})
    if missing:
        submitters = [handin.student for handin in counted.handins]
        # An id that is missing may be misspelt.
        nearest = "; ".join(dict.fromkeys(suggest_id(handin, submitters) for handin in missing))
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}; {nearest}")
    return CollectedClass(tuple(handins), course.list_misnamed(name), counted.times, counted.groups)


_ALIKE = 0.85
"""Least similarity of two names that are probably meant to be the same, as measured by `difflib`."""
_MOST_FILES = 20
"""Maximum number of files of one submission that are listed."""
_DIGITS = re.compile(r"[0-9]+")
_SIGNS = re.compile(r"[\W_]+")


class Roll(Struct, frozen=True):
    """The current class."""

    results: Mapping[str, GradingResult]
    """The latest results of students with a folder: these count."""
    gone: Mapping[str, GradingResult]
    """The latest results of the others."""
    remarks: tuple[str, ...]
    """For staff, a sentence each."""
    attention: bool = False
    """Whether staff must correct something: submitted work that is not graded."""


def restore_marks(
    assignment: Assignment, store: Store, submitters: Collection[str] | None = None
) -> tuple[str, ...]:
    """Restore automatic marks in the store that another program overwrote; return sentences about it.

    Args:
        assignment: loaded.
        store: of its course.
        submitters: students with a submission; default: those that
            `counting_attempts.find_counting_attempts` finds.

    Raises:
        GradebookError: the store reported an error.
    """
    submitters = _find_submitters(assignment) if submitters is None else submitters
    results_of_rubric = store.load_results(assignment.name, assignment.rubric.digest, whole=False)
    results = {student: graded for student, graded in results_of_rubric.items() if student in submitters}
    rubrics = {
        student: assignment.get_rubric(graded_result.score.asked)
        for student, graded_result in results.items()
    }
    return store.restore_marks(results, rubrics, assignment.release_bytes, assignment.language)


def read_roll(
    assignment: Assignment, store: Store, submitters: Collection[str] | None = None, *, whole: bool = True
) -> Roll:
    """Return the class in submitted/, compared with the stored results and the class list.

    Args:
        assignment: loaded.
        store: of its course.
        submitters: as in `restore_marks`.
        whole: as in `Store.load_results`.

    Raises:
        CourseError: there is no folder of submissions, or the class list is not usable.
        GradebookError: the store reported an error.
    """
    course, name = assignment.course, assignment.name
    everybody = store.load_results(name, whole=whole)
    submitters = _find_submitters(assignment) if submitters is None else submitters
    results = {student: graded for student, graded in everybody.items() if student in submitters}
    gone = {student: graded for student, graded in everybody.items() if student not in submitters}
    notebooks = [name for name, release in assignment.releases.items() if release.has_answers]
    sentence_lists = (
        find_misplaced_notebooks(course, assignment.rubric, notebooks),
        find_misnamed_files(course),
    )
    wrong = [sentence for several in sentence_lists for sentence in several]
    remarks = list(_report_gone(name, gone, store))
    waiting = sorted(set(submitters) - everybody.keys())
    if waiting:
        remarks.append(f"handed in, but not graded yet: {join_names(waiting)}; run: autograder grade {name}")
    if course.roster.is_file():
        roster = {normalise_id(listed.id): listed.id for listed in read_roster(course.roster)}
        remarks += [*_report_strangers(name, submitters, roster), *_report_absent(name, roster, submitters)]
    return Roll(results, gone, (*wrong, *remarks), bool(wrong))


def _find_submitters(assignment: Assignment) -> set[str]:
    """Return students with a submission; of a group, all members."""
    return {
        handin.student
        for handin in counting_attempts.find_counting_attempts(assignment.course, assignment.rubric).handins
    }


def _report_gone(name: str, gone: Mapping[str, GradingResult], store: Store) -> Iterator[str]:
    if not gone:
        return
    gone_names = join_names(
        f"{student} ({graded.score.points.normalize():f} points)" for student, graded in gone.items()
    )
    yield (
        f"graded before, but submitted/<student>/{name} is gone: {gone_names}. These automatic "
        "results are kept, "
        "and count nowhere: not in grades, means or new pages. Put the folder back to count them "
        "again"
    )
    # Front ends such as formgrader keep their own lists, and may show students whose folder is gone.
    listed, people = store.list_students(name), store.front_end
    if still_listed := [student for student in gone if student in listed]:
        yield f"{people.lists} still list {join_names(still_listed)}, whose folders are gone; {people.remove}"


def _report_strangers(name: str, submitters: Iterable[str], roster: Mapping[str, str]) -> Iterator[str]:
    for student in sorted(submitters):
        if normalise_id(student) not in roster:
            yield (
                f"submitted/{ascii(student)[1:-1]}/{name} is of nobody in roster.csv, and is graded all the "
                "same; rename the folder, or add a line to roster.csv; "
                f"{suggest_id(student, roster.values())}"
            )


def _report_absent(name: str, roster: Mapping[str, str], submitters: Iterable[str]) -> Iterator[str]:
    present = {normalise_id(student) for student in submitters}
    absent = [student for canonical, student in roster.items() if canonical not in present]
    if absent:
        listed = join_names(absent)
        yield f"in roster.csv, but not in submitted/<student>/{name}: {listed} ({len(absent)} in all)"


def find_misplaced_notebooks(course: Course, rubric: Rubric, notebooks: Collection[str]) -> list[str]:
    """Return a sentence for each file below submitted/ or earlier/ that may be work and is not graded.

    Args:
        course: the course with the folder of submissions.
        rubric: of the assignment.
        notebooks: the names of its notebooks, without the suffix.
    """
    submitted, assignment = course.root / "submitted", rubric.assignment.name
    # Folders of other assignments are in order; everything else may be misplaced.
    other_assignments = frozenset(course.list_assignments()) - {assignment}
    known_files = frozenset((*list_expected_files(rubric), STAMP, CHECK_FILE))
    sentences = []
    for loose in (*_list_notebooks(submitted), *_list_archives(submitted)):
        wanted = f"<student>/{assignment}/{assignment}.ipynb"
        sentences.append(_describe_misplaced(submitted, loose, wanted))
    for link in _list_entries(submitted, lambda entry: entry.is_symlink() and entry.is_dir()):
        # ascii() spells out control characters, which a hostile name may contain.
        path_text = f"{submitted.name}/{ascii(link.name)[1:-1]}"
        sentences.append(f"{path_text} is a link and is not graded: put the folder itself there")
    for student in _list_folders(submitted):
        try:
            if not _is_in_order(str(student), assignment, notebooks, other_assignments, known_files):
                sentences += _check_student(student, rubric, notebooks, other_assignments)
        except OSError as error:  # unpacked archives may contain folders without access rights
            name = ascii(student.name)[1:-1]
            sentences.append(f"submitted/{name} cannot be looked at: {error.strerror}; change its rights")
    return [*sentences, *_check_earlier(course, assignment)]


def _is_in_order(
    student: str,
    assignment: str,
    notebooks: Collection[str],
    other_assignments: frozenset[str],
    known_files: frozenset[str],
) -> bool:
    """Decide whether nothing can be misplaced: all notebooks are present, and all other files are known.

    This holds for most students of a large class, so it is checked first, and with plain strings: `Path`
    objects would take most of the time.
    """
    with os.scandir(student) as entries:
        folder_names = [entry.name for entry in entries if entry.name != assignment and _is_inner(entry)]
    folder = f"{student}/{assignment}"
    if not other_assignments.issuperset(folder_names) or os.path.islink(folder) or not os.path.isdir(folder):  # noqa: PTH112, PTH114
        return False
    with os.scandir(folder) as entries:
        names = {entry.name for entry in entries}
    return known_files.issuperset(names) and names.issuperset(f"{name}.ipynb" for name in notebooks)


def _check_student(
    student: Path, rubric: Rubric, notebooks: Collection[str], other_assignments: Collection[str]
) -> list[str]:
    assignment = rubric.assignment.name
    submitted, folder = student.parent, student / assignment
    # A student without another folder is in no table, so staff would not notice that the page is missing.
    effect = "" if folder.exists() else f"; until then {ascii(student.name)[1:-1]} has no mark and no page"
    sentences = [
        _describe_misplaced(submitted, path, f"{student.name}/{assignment}/") + effect
        for path in _list_folders(student)
        if path.name not in other_assignments
        and _is_like(path.name, assignment)
        and not _is_same(path, folder)
    ]
    files = read_folder(folder, rubric, only_notebooks=True)
    names = sorted(f"{name}.ipynb" for name in notebooks)
    missing = [name for name in names if is_absent(files.contents[name])]
    above = f"{submitted.name}/{ascii(student.name)[1:-1]}/{assignment}"
    wanted = f"{above}/{(missing or names or ['<name>.ipynb'])[0]}"
    several = sum(name.casefold().endswith(".ipynb") for name in files.unread) > 1
    sentences += [
        _format_not_graded(f"{above}/{name}", wanted, several=several) for name in files.unread[:_MOST_FILES]
    ]
    if left := len(files.unread) - _MOST_FILES:
        sentences += [f"{above}: {left} more files are not graded"] if left > 0 else []
    if not folder.exists():
        beside = (*_list_notebooks(student), *_list_archives(student))
        stems = tuple(name.removesuffix(".ipynb") for name in names)
        loose = [path for path in beside if path.stem.startswith(stems)]
        return [
            *sentences,
            *(
                _describe_misplaced(submitted, path, f"{student.name}/{assignment}/{names[0]}")
                for path in loose
            ),
        ]
    if missing and len(missing) == len(names) and not files.unread:
        sentences.append(f"{above} has no notebook in it; expected {wanted}")
    return sentences


def find_misnamed_files(course: Course) -> list[str]:
    """Return a sentence for each file with a name similar to that of a course list."""
    lists = (course.roster, course.bonus, course.groups, course.exams, course.collecting)
    list_names = [path.name for path in lists]
    beside = sorted(path.name for path in course.root.iterdir() if path.is_file())
    sentences = []
    for name in beside:
        close = difflib.get_close_matches(name.casefold(), list_names, n=1, cutoff=_ALIKE)
        if close and name not in list_names and close[0] not in beside and Path(name).suffix:
            sentences.append(f"{ascii(name)[1:-1]} is not read; expected {close[0]}: rename it")
    return sentences


def _check_earlier(course: Course, assignment: str) -> list[str]:
    """Return sentences about attempts in earlier/ with names that are never read."""
    kept = course.root / "earlier"
    other_assignments = set(course.list_assignments()) - {assignment}
    students = course.list_students()
    sentences = []
    for student in _list_folders(kept):
        if student.name not in students:
            path_text = f"earlier/{ascii(student.name)[1:-1]}"
            near = suggest_name(student.name, students)
            sentences.append(f"{path_text} is not looked at: nobody of this id handed anything in; {near}")
            continue
        wanted = f"{student.name}/{assignment}/"
        sentences += [
            _describe_misplaced(kept, path, wanted)
            for path in _list_folders(student)
            if path.name not in other_assignments and _is_like(path.name, assignment)
        ]
        wanted += "<any name>/"
        sentences += [
            _describe_misplaced(kept, path, wanted + path.name)
            for path in _list_notebooks(student / assignment)
        ]
    return sentences


def _is_like(name: str, wanted: str) -> bool:
    """Decide whether a folder name is a variant of the wanted one: case, separators, or a typo."""
    if name == wanted:
        return False
    normalised_name, normalised_wanted = (_SIGNS.sub("", text.casefold()) for text in (name, wanted))
    if _DIGITS.findall(normalised_name) != _DIGITS.findall(normalised_wanted):
        return False  # homework1 is not homework2
    return normalised_name == normalised_wanted or bool(
        difflib.get_close_matches(normalised_name, [normalised_wanted], cutoff=_ALIKE)
    )


def _is_same(first: Path, second: Path) -> bool:
    """Decide whether two paths are one folder, as on a case-insensitive file system."""
    return second.exists() and first.samefile(second)


def _describe_misplaced(above: Path, path: Path, wanted: str) -> str:
    path_text = ascii(str(path.relative_to(above)))[1:-1]
    return _format_not_graded(f"{above.name}/{path_text}", f"{above.name}/{ascii(wanted)[1:-1]}")


def _format_not_graded(path_text: str, wanted: str, *, several: bool = False) -> str:
    name = PurePosixPath(path_text).name.casefold()
    suffix = PurePosixPath(name).suffix
    if suffix in ARCHIVES:
        action = "unpack it"
    elif suffix and suffix != ".json" and ".ipynb" not in name:  # renaming an export does not help
        action = "ask for the notebook"
    else:
        action = "rename the right one, or join them" if several else "move or rename it"
    return f"{path_text} is not graded; expected {wanted}: {action}"


def _list_entries(folder: Path, fits: Callable[[os.DirEntry[str]], bool]) -> list[Path]:
    """List matching entries of a folder; none if it is not a folder, or a link."""
    if not is_folder(folder):
        return []
    with os.scandir(folder) as entries:  # scandir knows the type of an entry without another system call
        return [folder / name for name in sorted(entry.name for entry in entries if fits(entry))]


def _is_inner(entry: os.DirEntry[str]) -> bool:
    """Decide whether an entry is a folder, not a link to one, and not hidden."""
    return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")


def _get_suffix(entry: os.DirEntry[str]) -> str:
    if "." not in entry.name:
        return ""
    return os.path.splitext(entry.name)[1].casefold()  # noqa: PTH122 - a path of each costs more than the rest


def _list_notebooks(folder: Path) -> list[Path]:
    return _list_entries(folder, lambda entry: _get_suffix(entry) == ".ipynb")


def _list_archives(folder: Path) -> list[Path]:
    """List archives, as other systems pack submissions."""
    return _list_entries(folder, lambda entry: _get_suffix(entry) in ARCHIVES and entry.is_file())


def _list_folders(folder: Path) -> list[Path]:
    return _list_entries(folder, _is_inner)


def update_times(roll: Roll, handins: Iterable[Handin], name: str) -> Roll:
    """Apply the current lists and times to results that were graded under earlier ones.

    If another member's submission counts now, or a graded submission is now refused or vice versa, the result
    stays as it is and a remark asks to grade it again.
    """
    results, stale = dict(roll.results), []
    for handin in handins:
        graded = results.get(handin.student)
        if graded is None:
            continue
        current = refresh_result(graded, handin)
        if current is None:
            stale.append(handin.student)
        else:
            results[handin.student] = current
    if not stale:
        return replace(roll, results=results)
    remark = f"graded before times or groups changed: {join_names(stale)}; run: autograder grade {name}"
    return replace(roll, results=results, remarks=(*roll.remarks, remark), attention=True)


def copy_shared_marks(
    store: Store, rubric: Rubric, groups: Collection[StudentGroup], results: Mapping[str, GradingResult]
) -> list[str]:
    """Copy a manual mark of one group member to all who share the submission.

    An individual manual mark of another member stays: this is the way to give one member another mark. Extra
    credit and marks in individual notebooks are not shared.

    Returns:
        A sentence for staff for each difference between manual marks of members.

    Raises:
        GradebookError: the store reported an error.
    """
    name = rubric.assignment.name
    alone = rubric.assignment.individual
    members: dict[tuple[StudentGroup, str], list[str]] = {}
    for student, graded in results.items():
        score = graded.score
        if score.group is not None and score.group in groups and not was_refused(graded):
            members.setdefault((score.group, score.asked), []).append(student)
    if not members:
        return []
    marks, decided = store.load_marks(name), store.load_decided_points(name)
    remarks = []
    for students in members.values():
        for cell, given_marks in _find_individual_marks(students, marks, decided).items():
            # A cell is named by notebook and grade_id; individual notebooks are not shared.
            if cell[0] in alone:
                continue
            # Different marks are decisions of graders: report them instead of overwriting one.
            if len({mark.points for mark in given_marks.values()}) > 1:
                who = join_names(sorted(given_marks))
                remarks.append(f"{who} share {cell[1]}, but people gave each of them another mark")
                continue
            shared = next(iter(given_marks.values()))
            for student in students:
                mark = marks.get(student, {}).get(cell, PersonMark())
                copied = _copy_mark(mark, shared, decided.get((student, *cell)))
                if student not in given_marks and copied != mark:
                    store.give_mark(name, student, cell, copied, shared.points)
    return remarks


def _copy_mark(mark: PersonMark, shared: PersonMark, decided: Decimal | None) -> PersonMark:
    """Return a member's mark with the points of another member's; a mark of their own stays as it is."""
    if mark.points is not None and mark.points != decided:
        return mark
    # Points of items explain the mark that they add up to, and no other.
    items = mark.items if mark.points == shared.points else {}
    comment = mark.comment or shared.comment
    return replace(mark, points=shared.points, again=False, comment=comment, items=items)


def _find_individual_marks(
    students: Iterable[str],
    marks: Mapping[str, Mapping[CellName, PersonMark]],
    decided: Mapping[AnswerName, Decimal],
) -> dict[CellName, dict[str, PersonMark]]:
    """Return the individual manual marks, by cell and student."""
    individual_marks: dict[CellName, dict[str, PersonMark]] = {}
    for student in students:
        for cell, mark in marks.get(student, {}).items():
            # A mark with these points was copied by `copy_shared_marks`, and must not be copied back.
            if mark.points is not None and decided.get((student, *cell)) != mark.points and not mark.again:
                individual_marks.setdefault(cell, {})[student] = mark
    return individual_marks
