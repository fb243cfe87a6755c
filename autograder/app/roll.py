"""Members of a class, and remarks for staff: missing folders, unlisted students, and misplaced files.

Every student with a folder in submitted/ counts. A result without a folder is kept and reported, but does not
count anywhere, because its submission can no longer be shown.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from autograder.app import course_log
from autograder.app.lists import read_roster
from autograder.assignment import Assignment
from autograder.course import Course, counting, is_folder
from autograder.course.submission_folder import ARCHIVES, CHECK_FILE, asked_files, is_absent, read_folder
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.store import Store
from autograder.tables import hint, name_list, nearest_id
from autograder.timestamps import FILE_NAME as STAMP
from autograder.variants.drawing import canonical_id

_ALIKE = 0.85
"""Least similarity of two names that are probably meant to be the same, as measured by `difflib`."""
_MOST_FILES = 20
"""Maximum number of files of one submission that are listed."""
_DIGITS = re.compile(r"[0-9]+")
_SIGNS = re.compile(r"[\W_]+")


class Roll(Struct, frozen=True):
    """The current class."""

    results: Mapping[str, Graded]
    """The latest results of students with a folder: these count."""
    gone: Mapping[str, Graded]
    """The latest results of the others."""
    remarks: tuple[str, ...]
    """For staff, a sentence each."""
    attention: bool = False
    """Whether staff must correct something: submitted work that is not graded."""


def restore_marks(
    assignment: Assignment, store: Store, handed_in: Collection[str] | None = None
) -> tuple[str, ...]:
    """Restore automatic marks in the store that another program overwrote; return sentences about it.

    Args:
        assignment: loaded.
        store: of its course.
        handed_in: students with a submission; default: as found by `counting.everybody`.

    Raises:
        GradebookError: the store reported an error.
    """
    handed_in = _handed_in(assignment) if handed_in is None else handed_in
    found = store.results(assignment.name, assignment.rubric.digest, whole=False)
    results = {student: graded for student, graded in found.items() if student in handed_in}
    rubrics = {student: assignment.rubric_of(one.score.asked) for student, one in results.items()}
    return store.restore(results, rubrics, assignment.release_bytes, assignment.language)


def read_roll(
    assignment: Assignment, store: Store, handed_in: Collection[str] | None = None, *, whole: bool = True
) -> Roll:
    """Return the class in submitted/, compared with the stored results and the class list.

    Args:
        assignment: loaded.
        store: of its course.
        handed_in: as in `restore_marks`.
        whole: as in `Store.results`.

    Raises:
        CourseError: there is no folder of submissions, or the class list is not usable.
        GradebookError: the store reported an error.
    """
    course, name = assignment.course, assignment.name
    everybody = store.results(name, whole=whole)
    handed_in = _handed_in(assignment) if handed_in is None else handed_in
    results = {student: graded for student, graded in everybody.items() if student in handed_in}
    gone = {student: graded for student, graded in everybody.items() if student not in handed_in}
    notebooks = [name for name, release in assignment.releases.items() if release.has_answers]
    found = (
        misplaced_notebooks(course, assignment.rubric, notebooks),
        misnamed_files(course),
        course_log.faults(course),
    )
    wrong = [sentence for several in found for sentence in several]
    remarks = list(_gone(name, gone, store))
    waiting = sorted(set(handed_in) - everybody.keys())
    if waiting:
        remarks.append(f"handed in, but not graded yet: {name_list(waiting)}; run: autograder grade {name}")
    if course.roster.is_file():
        roster = {canonical_id(one.id): one.id for one in read_roster(course.roster)}
        remarks += [*_strangers(name, handed_in, roster), *_absent(name, roster, handed_in)]
    return Roll(results, gone, (*wrong, *remarks), bool(wrong))


def _handed_in(assignment: Assignment) -> set[str]:
    """Return students with a submission; of a group, all members."""
    return {one.student for one in counting.everybody(assignment.course, assignment.rubric).handins}


def _gone(name: str, gone: Mapping[str, Graded], store: Store) -> Iterator[str]:
    if not gone:
        return
    told = name_list(
        f"{student} ({graded.score.points.normalize():f} points)" for student, graded in gone.items()
    )
    yield (
        f"graded before, but submitted/<student>/{name} is gone: {told}. These automatic results are kept, "
        "and count nowhere: not in grades, means or new pages. Put the folder back to count them "
        "again"
    )
    # Front ends such as formgrader keep their own lists, and may show students whose folder is gone.
    listed, people = store.listed(name), store.front_end
    if still := [student for student in gone if student in listed]:
        yield f"{people.lists} still list {name_list(still)}, whose folders are gone; {people.remove}"


def _strangers(name: str, handed_in: Iterable[str], roster: Mapping[str, str]) -> Iterator[str]:
    for student in sorted(handed_in):
        if canonical_id(student) not in roster:
            yield (
                f"submitted/{ascii(student)[1:-1]}/{name} is of nobody in roster.csv, and is graded all the "
                "same; rename the folder, or add a line to roster.csv; "
                f"{nearest_id(student, roster.values())}"
            )


def _absent(name: str, roster: Mapping[str, str], handed_in: Iterable[str]) -> Iterator[str]:
    there = {canonical_id(student) for student in handed_in}
    absent = [student for canonical, student in roster.items() if canonical not in there]
    if absent:
        listed = name_list(absent)
        yield f"in roster.csv, but not in submitted/<student>/{name}: {listed} ({len(absent)} in all)"


def misplaced_notebooks(course: Course, rubric: Rubric, notebooks: Collection[str]) -> list[str]:
    """Return a sentence for each file below submitted/ or earlier/ that may be work and is not graded.

    Args:
        course: the course with the folder of submissions.
        rubric: of the assignment.
        notebooks: the names of its notebooks, without the suffix.
    """
    submitted, assignment = course.root / "submitted", rubric.assignment.name
    # Folders of other assignments are in order; everything else may be misplaced.
    others = frozenset(course.assignments()) - {assignment}
    known = frozenset((*asked_files(rubric), STAMP, CHECK_FILE))
    sentences = []
    for loose in (*_notebooks(submitted), *_packed(submitted)):
        wanted = f"<student>/{assignment}/{assignment}.ipynb"
        sentences.append(_sentence(submitted, loose, wanted))
    for link in _found(submitted, lambda entry: entry.is_symlink() and entry.is_dir()):
        # ascii() spells out control characters, which a hostile name may contain.
        place = f"{submitted.name}/{ascii(link.name)[1:-1]}"
        sentences.append(f"{place} is a link and is not graded: put the folder itself there")
    for student in _folders(submitted):
        try:
            if not _is_in_order(str(student), assignment, notebooks, others, known):
                sentences += _of_student(student, rubric, notebooks, others)
        except OSError as error:  # unpacked archives may contain folders without access rights
            name = ascii(student.name)[1:-1]
            sentences.append(f"submitted/{name} cannot be looked at: {error.strerror}; change its rights")
    return [*sentences, *_earlier(course, assignment)]


def _is_in_order(
    student: str, assignment: str, notebooks: Collection[str], others: frozenset[str], known: frozenset[str]
) -> bool:
    """Decide whether nothing can be misplaced: all notebooks are present, and all other files are known.

    This holds for most students of a large class, so it is checked first, and with plain strings: `Path`
    objects would take most of the time.
    """
    with os.scandir(student) as entries:
        found = [one.name for one in entries if one.name != assignment and _is_inner(one)]
    folder = f"{student}/{assignment}"
    if not others.issuperset(found) or os.path.islink(folder) or not os.path.isdir(folder):  # noqa: PTH112, PTH114
        return False
    with os.scandir(folder) as entries:
        names = {one.name for one in entries}
    return known.issuperset(names) and names.issuperset(f"{name}.ipynb" for name in notebooks)


def _of_student(
    student: Path, rubric: Rubric, notebooks: Collection[str], others: Collection[str]
) -> list[str]:
    assignment = rubric.assignment.name
    submitted, folder = student.parent, student / assignment
    # A student without another folder is in no table, so staff would not notice that the page is missing.
    effect = "" if folder.exists() else f"; until then {ascii(student.name)[1:-1]} has no mark and no page"
    sentences = [
        _sentence(submitted, one, f"{student.name}/{assignment}/") + effect
        for one in _folders(student)
        if one.name not in others and _is_like(one.name, assignment) and not _is_same(one, folder)
    ]
    files = read_folder(folder, rubric, only_notebooks=True)
    names = sorted(f"{name}.ipynb" for name in notebooks)
    missing = [name for name in names if is_absent(files.contents[name])]
    above = f"{submitted.name}/{ascii(student.name)[1:-1]}/{assignment}"
    wanted = f"{above}/{(missing or names or ['<name>.ipynb'])[0]}"
    several = sum(name.casefold().endswith(".ipynb") for name in files.unread) > 1
    sentences += [
        _not_graded(f"{above}/{name}", wanted, several=several) for name in files.unread[:_MOST_FILES]
    ]
    if left := len(files.unread) - _MOST_FILES:
        sentences += [f"{above}: {left} more files are not graded"] if left > 0 else []
    if not folder.exists():
        beside = (*_notebooks(student), *_packed(student))
        stems = tuple(name.removesuffix(".ipynb") for name in names)
        loose = [one for one in beside if one.stem.startswith(stems)]
        return [
            *sentences,
            *(_sentence(submitted, one, f"{student.name}/{assignment}/{names[0]}") for one in loose),
        ]
    if missing and len(missing) == len(names) and not files.unread:
        sentences.append(f"{above} has no notebook in it; expected {wanted}")
    return sentences


def misnamed_files(course: Course) -> list[str]:
    """Return a sentence for each file with a name similar to that of a course list."""
    lists = (course.roster, course.bonus, course.groups, course.exams, course.collecting)
    known = [path.name for path in lists]
    beside = sorted(path.name for path in course.root.iterdir() if path.is_file())
    sentences = []
    for name in beside:
        close = difflib.get_close_matches(name.casefold(), known, n=1, cutoff=_ALIKE)
        if close and name not in known and close[0] not in beside and Path(name).suffix:
            sentences.append(f"{ascii(name)[1:-1]} is not read; expected {close[0]}: rename it")
    return sentences


def _earlier(course: Course, assignment: str) -> list[str]:
    """Return sentences about attempts in earlier/ with names that are never read."""
    kept = course.root / "earlier"
    others = set(course.assignments()) - {assignment}
    known = course.students()
    sentences = []
    for student in _folders(kept):
        if student.name not in known:
            place = f"earlier/{ascii(student.name)[1:-1]}"
            near = hint(student.name, known)
            sentences.append(f"{place} is not looked at: nobody of this id handed anything in; {near}")
            continue
        wanted = f"{student.name}/{assignment}/"
        sentences += [
            _sentence(kept, one, wanted)
            for one in _folders(student)
            if one.name not in others and _is_like(one.name, assignment)
        ]
        wanted += "<any name>/"
        sentences += [_sentence(kept, one, wanted + one.name) for one in _notebooks(student / assignment)]
    return sentences


def _is_like(name: str, wanted: str) -> bool:
    """Decide whether a folder name is a variant of the wanted one: case, separators, or a typo."""
    if name == wanted:
        return False
    one, other = (_SIGNS.sub("", text.casefold()) for text in (name, wanted))
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return False  # homework1 is not homework2
    return one == other or bool(difflib.get_close_matches(one, [other], cutoff=_ALIKE))


def _is_same(one: Path, other: Path) -> bool:
    """Decide whether two paths are one folder, as on a case-insensitive file system."""
    return other.exists() and one.samefile(other)


def _sentence(above: Path, found: Path, wanted: str) -> str:
    place = ascii(str(found.relative_to(above)))[1:-1]
    return _not_graded(f"{above.name}/{place}", f"{above.name}/{ascii(wanted)[1:-1]}")


def _not_graded(place: str, wanted: str, *, several: bool = False) -> str:
    name = PurePosixPath(place).name.casefold()
    suffix = PurePosixPath(name).suffix
    if suffix in ARCHIVES:
        action = "unpack it"
    elif suffix and suffix != ".json" and ".ipynb" not in name:  # renaming an export does not help
        action = "ask for the notebook"
    else:
        action = "rename the right one, or join them" if several else "move or rename it"
    return f"{place} is not graded; expected {wanted}: {action}"


def _found(folder: Path, fits: Callable[[os.DirEntry[str]], bool]) -> list[Path]:
    """List matching entries of a folder; none if it is not a folder, or a link."""
    if not is_folder(folder):
        return []
    with os.scandir(folder) as entries:  # scandir knows the type of an entry without another system call
        return [folder / name for name in sorted(entry.name for entry in entries if fits(entry))]


def _is_inner(entry: os.DirEntry[str]) -> bool:
    """Decide whether an entry is a folder, not a link to one, and not hidden."""
    return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")


def _ending(entry: os.DirEntry[str]) -> str:
    if "." not in entry.name:
        return ""
    return os.path.splitext(entry.name)[1].casefold()  # noqa: PTH122 - a path of each costs more than the rest


def _notebooks(folder: Path) -> list[Path]:
    return _found(folder, lambda entry: _ending(entry) == ".ipynb")


def _packed(folder: Path) -> list[Path]:
    """List archives, as other systems pack submissions."""
    return _found(folder, lambda entry: _ending(entry) in ARCHIVES and entry.is_file())


def _folders(folder: Path) -> list[Path]:
    return _found(folder, _is_inner)
