"""Generate an assignment's release: notebooks without solutions, the student's check, the data files."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from autograder import atomic
from autograder import rubric as rubrics
from autograder.adopting import otter
from autograder.adopting.settings import read_settings, stubs
from autograder.course import Course, schedule
from autograder.course.references import check_references
from autograder.errors import CourseError, NotebookError, Place, RubricError
from autograder.kinds import forms, make_check
from autograder.messages import languages
from autograder.notebook.build import build_release, build_starter, notebook_of_files
from autograder.notebook.equal_formulas import read_vocabularies
from autograder.notebook.files import read_file
from autograder.notebook.fill import Listing, fill_notebook
from autograder.notebook.leaks import (
    GivenText,
    WithheldAnswer,
    check_leaks,
    given_texts,
    withheld_answers,
    withheld_in_file,
)
from autograder.notebook.release import Release, load_release
from autograder.notebook.student_check import FILE_NAME, build_student_check, released_language
from autograder.paths import files_below, path_fault
from autograder.rubric import Rubric
from autograder.rubric.files import STARTER_BYTES
from autograder.rubric.texts import untranslated
from autograder.student.saved_files import digest

MOST_DATA = 200 << 20
"""Maximum size of one data file in bytes."""
MOST_DATA_TOGETHER = 400 << 20
MOST_FILES = 4_000
_READ = (".py", ".ipynb", ".md", ".txt")
"""Endings of data files that are searched for solutions; a match in pure data would prove nothing."""
_MOST_READ = 1 << 20
"""Larger files are not searched; bytes."""


def generate(course: Course, name: str, language: str | None = None) -> tuple[Path, ...]:
    """Write release/<name>/ from assignments/<name>/ and return the files written.

    Everything is built before anything is written, so an error leaves the last release unchanged.

    Args:
        course: the course.
        name: of the assignment.
        language: of the texts in the notebooks; empty shows all languages, None keeps the language of the
            last release, so that generating it again changes nothing that students already have; the first
            release has the first of the rubric's languages.

    Raises:
        CourseError: a source or data file is missing or not a notebook, or the assignment is not written in
            the language.
        RubricError: the rubric is not valid, or disagrees with the notebook.
        NotebookError: markers or metadata of a source notebook are wrong, or the release gives a solution
            away; names the cells.
    """
    rubric = rubrics.load(course.rubric(name))
    # Keep the released language: students may already have these notebooks.
    if language is None:
        language = released_language(course.release(name) / FILE_NAME)
    if language is None:
        # With a single language, everything is in it: texts without a mark need no choice.
        language = rubric.assignment.languages[0] if len(rubric.assignment.languages) > 1 else ""
    if language and language not in rubric.assignment.languages:
        known = ", ".join(rubric.assignment.languages)
        raise CourseError(f"language: expected one of {known} (languages of {name!r}), got {language!r}")
    if rubric.assignment.name != name:
        raise CourseError(
            f"{course.rubric(name)}: [assignment] name: expected {name!r}, as the file is called, "
            f"got {rubric.assignment.name!r}"
        )
    with rubrics.located(course.rubric(name)):
        _check_languages(rubric)
        for question in rubric.questions:
            make_check(question, rubric)
        check_references(course, rubric)
    files = build(course, rubric, language)
    data = data_files(course, rubric)
    if rubric.assignment.adopted != "otter":  # otter builds these releases; sources are optional
        check_leaks(_withheld(course, rubric, sources(course, rubric)), list(_data_texts(data)))
    folder = course.release(name)
    written = []
    for place in (*files, *data):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if place in files:
            atomic.write(path, files[place])
        else:
            atomic.copy(data[place], path)
        written.append(path)
    # Only after everything is written: an interrupted run leaves too many files rather than too few.
    _remove_others(folder, rubric, {*files, *data})
    return tuple(written)


def _remove_others(folder: Path, rubric: Rubric, given: Collection[str]) -> None:
    """Remove files of an earlier release from this one's folders; they would be given out with it."""
    for notebook in rubric.assignment.notebooks:
        for top in notebook.tops:
            if (folder / top).is_dir():
                for inner, path in list(files_below(folder / top)):
                    if f"{top}/{inner}" not in given:
                        path.unlink()


def data_files(course: Course, rubric: Rubric) -> dict[str, Path]:
    """Return the files that are given out unchanged: path in the release → file among the sources.

    Raises:
        CourseError: one is missing, a link, too large or a module under a name that is taken, or there are
            too many.
    """
    folder = course.source(rubric.assignment.name)
    own = {path for notebook in rubric.assignment.notebooks for path in notebook.own}
    found: dict[str, Path] = {}
    for notebook in rubric.assignment.notebooks:
        for name in notebook.data:
            _refuse_links(folder, name)
            path = folder / name
            below = dict(files_below(path)) if path.is_dir() else {}
            if not path.exists():
                raise CourseError(f"{path}: the rubric names this data file, but it is missing")
            if path.is_dir() and not below:
                raise CourseError(f"{path}: the rubric names this folder as data, but it holds no files")
            files = {f"{name}/{inner}": one for inner, one in below.items()} or {name: path}
            found |= {place: one for place, one in files.items() if place not in own}
    # Files that students create count as well: they would hide a module in the same way.
    for place in sorted({*found, *own}):
        _refuse_shadow(folder / place, place, rubric)
    for place, path in found.items():
        if fault := path_fault(place):
            raise CourseError(f"{path}: cannot be given out under this name: {fault}")
        if (size := path.stat().st_size) > MOST_DATA:
            raise CourseError(
                f"{path}: {size} bytes; a data file may have {MOST_DATA} ({MOST_DATA >> 20} MB). Take a part"
            )
    total = sum(path.stat().st_size for path in found.values())
    if total > MOST_DATA_TOGETHER or len(found) > MOST_FILES:
        raise CourseError(
            f"{folder}: {len(found)} data files with {total >> 20} MB; expected at most {MOST_FILES} files "
            f"with {MOST_DATA_TOGETHER >> 20} MB. Pack many small ones into one, such as an .npz file"
        )
    return found


def _refuse_shadow(path: Path, place: str, rubric: Rubric) -> None:
    """Refuse a module with the name of one of Python's.

    It would hide Python's module from students, and the box would hide it in turn.
    """
    taken = {*sys.stdlib_module_names, *(name.partition(".")[0] for name in rubric.assignment.preload)}
    name = place.partition("/")[0].removesuffix(".py")
    if place.endswith(".py") and name in taken:
        raise CourseError(f"{path}: Python, or what the rubric preloads, has a module {name!r}; rename yours")


def _refuse_links(folder: Path, name: str) -> None:
    """Refuse links: their target may change, or not be meant for students."""
    path = folder / name
    # A link anywhere along the path leads out of the folder just as well as one at its end.
    on_the_way = [folder.joinpath(*Path(name).parts[:depth]) for depth in range(1, len(Path(name).parts) + 1)]
    for one in (*on_the_way, *(path.rglob("*") if path.is_dir() else ())):
        if one.is_symlink():
            raise CourseError(f"{one}: is a link; put the file itself there, which is given out")


def kept_back(course: Course, name: str) -> tuple[Path, ...]:
    """Return the files among the sources that students do not get: the answer key and unlisted files.

    Raises:
        RubricError: the rubric is not valid.
        CourseError: a data file is missing.
    """
    rubric = rubrics.load(course.rubric(name))
    given = {*data_files(course, rubric)}
    for notebook in rubric.assignment.notebooks:
        given |= {f"{notebook.name}.ipynb", *notebook.starter}
    if (folder := course.source(name)) == course.root:
        return ()  # the whole course is in this folder
    return tuple(path for place, path in files_below(folder) if place not in given)


def _check_languages(rubric: Rubric) -> None:
    """Refuse languages that this program has no messages for, and texts that lack a language of the rubric.

    Raises:
        RubricError: names all places.
    """
    stated = rubric.assignment.languages
    unknown = [language for language in stated if language not in languages()]
    if unknown or not stated:
        raise RubricError(
            f"expected some of {', '.join(languages())}, got {', '.join(stated) or 'none'}",
            Place("[assignment]", "assignment"),
            "languages",
        )
    missing = untranslated(rubric)
    if missing:
        (place, said), *others = missing
        named = "; ".join(f"{other}: {lacking}" for other, lacking in others[:5])
        more = f" (and {len(others)} more texts: {named})" if others else ""
        raise RubricError(f"{said}, one of the assignment's languages; add it{more}", place)


def build(
    course: Course,
    rubric: Rubric,
    language: str = "",
    listings: Mapping[str, Listing] | None = None,
    student: str = "",
) -> dict[str, bytes]:
    """Build the files of a release by name without writing them; see `generate_release`.

    Args:
        course: the course with the sources.
        rubric: of the common variant or of a personal one.
        language: see `generate_release`.
        listings: of a personal variant, by question id.
        student: the student for their individual deadline; empty: the common deadline.
    """
    folder = course.source(rubric.assignment.name)
    if rubric.assignment.adopted == "otter":
        made = {one.name: otter.released(folder, one.name) for one in rubric.assignment.notebooks}
        # otter strips solutions within questions only: a marker elsewhere stays, with its solution.
        check_leaks(
            [], [text for name, data in made.items() for text in given_texts(data, name, tests=False)]
        )
        return {f"{name}.ipynb": data for name, data in made.items()}
    times = schedule.load(course, rubric)
    window = (times.personal(student) if student else times.common) if times else None
    filled = stubs(read_settings(course.root)[0]) if rubric.assignment.adopted else {}
    key = sources(course, rubric, listings)
    released = {
        name: build_release(source, rubric, name, language, window, stubs=filled)
        for name, source in key.items()
    }
    releases = [load_release(data, name) for name, data in released.items()]
    _check_listings(rubric, releases)
    # Starter files have their solution between markers, like source notebooks.
    starters = {
        path: build_starter(_starter(folder, path), path)
        for notebook in rubric.assignment.notebooks
        for path in notebook.starter
    }
    given = [
        text
        for name, data in released.items()
        for text in given_texts(data, name, tests=not rubric.assignment.adopted)
    ]
    given += [_file_text(path, data) for path, data in starters.items()]
    check_leaks(_withheld(course, rubric, key), given)
    notebooks = {f"{name}.ipynb": data for name, data in released.items()}
    if rubric.assignment.adopted:
        return {**notebooks, **starters}  # adopted notebooks have their own checking cells
    digests = {path: digest(data) for path, data in starters.items()}
    check = build_student_check(
        rubric, language=language, releases=releases, window=window, forms=forms(), starters=digests
    )
    return {FILE_NAME: check, **notebooks, **starters}


def _check_listings(rubric: Rubric, releases: Iterable[Release]) -> None:
    """Refuse a listing that lacks a planted fault: all students would get its points.

    Raises:
        NotebookError: ``fault-missing``; names the cell, the fault, and the text it consists of.
    """
    cells = {cell.grade_id: cell.source for release in releases for cell in release.cells if cell.is_answer}
    for question in rubric.questions:
        file = rubric.checks.get(question.id)
        items = {item.id for item in question.items}
        source = cells.get(question.answer_cell) or cells.get(question.id)
        if file is None or source is None:
            continue
        for fault in file.faults:
            missing = next((new for _, new in fault.edits if new not in source), None)
            if fault.id in items and missing is not None:
                raise NotebookError(
                    "fault-missing",
                    f"cell {question.answer_cell!r}: the fault {fault.id!r} is not in the listing that "
                    f"students get: expected {missing!r} there. `python -m autograder.checking --listing` "
                    "prints the listing of a file of checks.",
                )


def _withheld(course: Course, rubric: Rubric, key: Mapping[str, bytes]) -> list[WithheldAnswer]:
    """Return the solutions in the answer key's notebooks and starter files."""
    if rubric.assignment.adopted == "otter":
        return []  # otter builds the release
    folder = course.source(rubric.assignment.name)
    vocabularies = read_vocabularies(rubric)
    withheld = [
        answer for name, source in key.items() for answer in withheld_answers(source, name, vocabularies)
    ]
    for notebook in rubric.assignment.notebooks:
        for path in notebook.starter:
            text = _starter(folder, path).decode(errors="replace")
            withheld += withheld_in_file(text.replace("\r\n", "\n"), path)
    return withheld


def _data_texts(data: Mapping[str, Path]) -> Iterator[GivenText]:
    for place, path in data.items():
        if path.suffix in _READ and path.stat().st_size <= _MOST_READ:
            yield _file_text(place, path.read_bytes())


def _file_text(path: str, data: bytes) -> GivenText:
    return GivenText(path, data.decode(errors="replace"), code=path.endswith(".py"), fixed=True)


def _starter(folder: Path, path: str) -> bytes:
    _refuse_links(folder, path)
    try:
        return atomic.read(folder / path, most=STARTER_BYTES)
    except OSError as error:
        raise CourseError(
            f"{folder / path}: the rubric names this file as a starter, with its solution between markers: "
            f"{error.strerror}"
        ) from error


def sources(
    course: Course, rubric: Rubric, listings: Mapping[str, Listing] | None = None
) -> dict[str, bytes]:
    """Return the answer key: the source notebooks by name, solutions included, with the variant's values.

    Raises:
        CourseError: a source is missing or not a notebook.
        RubricError: a placeholder names a value that is not drawn; names the cell.
        NotebookError: a cell does not hold the listing it should.
    """
    found = {}
    for notebook in rubric.assignment.notebooks:
        folder = course.source(rubric.assignment.name)
        if rubric.assignment.adopted == "otter":
            found[notebook.name] = otter.key(folder, notebook.name)
            continue
        path = folder / f"{notebook.name}.ipynb"
        if rubric.assignment.adopted and not folder.is_dir():
            raise CourseError(
                f"{rubric.assignment.name}: only its release is here, so nothing sits as its answer key; put "
                f"the source notebooks into {course.root / 'source' / rubric.assignment.name}"
            )
        asked = [one for one in rubric.questions if one.notebook == notebook.name]
        if not path.exists() and asked and all(one.file for one in asked):
            found[notebook.name] = notebook_of_files(rubric, notebook.name)
            continue
        try:
            found[notebook.name] = read_file(path)
        except NotebookError as error:
            raise CourseError(f"{path}: {error}") from error
    if rubric.draws is None:
        return found
    cells: dict[str, dict[str, Listing]] = {name: {} for name in found}
    for question in rubric.questions:
        if listings and question.id in listings:
            cells[question.notebook][question.answer_cell] = listings[question.id]
    return {
        name: fill_notebook(data, rubric.variant.values, name, cells[name]) for name, data in found.items()
    }
