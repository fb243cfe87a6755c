"""Generate an assignment's release: notebooks without solutions, the student's check, the data files."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import CourseError, NotebookError, Place, RubricError
from autograder.core.paths import find_path_fault, list_files_below
from autograder.course import Course, schedule
from autograder.course.references import check_references
from autograder.exchange.adoption import otter
from autograder.exchange.adoption.nbgrader_settings import get_stubs, read_settings
from autograder.messages import list_languages
from autograder.notebook.equal_formulas import read_vocabularies
from autograder.notebook.files import read_file
from autograder.notebook.leaks import (
    GivenText,
    WithheldAnswer,
    check_leaks,
    list_given_texts,
    list_withheld_answers,
    list_withheld_in_file,
)
from autograder.notebook.release import Release, load_release
from autograder.notebook.release_builder import build_file_notebook, build_release, build_starter
from autograder.notebook.student.saved_files import compute_digest
from autograder.notebook.student_check import FILE_NAME, build_student_check, read_language
from autograder.notebook.variant_source import Listing, fill_notebook
from autograder.questions import list_forms, make_check
from autograder.rubric import Rubric
from autograder.rubric.missing_translations import list_untranslated
from autograder.rubric.notebook_files import STARTER_BYTES

MOST_DATA = 200 << 20
"""Maximum size of one data file in bytes."""
MOST_DATA_TOGETHER = 400 << 20
MOST_FILES = 4_000
_READ = (".py", ".ipynb", ".md", ".txt")
"""Endings of data files that are searched for solutions; a match in pure data would prove nothing."""
_MOST_READ = 1 << 20
"""Larger files are not searched; bytes."""


def generate_release(course: Course, name: str, language: str | None = None) -> tuple[Path, ...]:
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
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    # Keep the released language: students may already have these notebooks.
    if language is None:
        language = read_language(course.locate_release(name) / FILE_NAME)
    if language is None:
        # With a single language, everything is in it: texts without a mark need no choice.
        language = rubric.assignment.languages[0] if len(rubric.assignment.languages) > 1 else ""
    if language and language not in rubric.assignment.languages:
        expected = ", ".join(rubric.assignment.languages)
        raise CourseError(f"language: expected one of {expected} (languages of {name!r}), got {language!r}")
    if rubric.assignment.name != name:
        raise CourseError(
            f"{course.locate_rubric(name)}: [assignment] name: expected {name!r}, as the file is called, "
            f"got {rubric.assignment.name!r}"
        )
    with rubrics.locate_errors(course.locate_rubric(name)):
        _check_languages(rubric)
        for question in rubric.questions:
            make_check(question, rubric)
        check_references(course, rubric)
    files = build_release_files(course, rubric, language)
    data = list_data_files(course, rubric)
    if rubric.assignment.adopted != "otter":  # otter builds these releases; sources are optional
        check_leaks(
            _list_withheld(course, rubric, read_answer_key(course, rubric)), list(_read_data_texts(data))
        )
    folder = course.locate_release(name)
    written = []
    for name_in_release in (*files, *data):
        path = folder / name_in_release
        path.parent.mkdir(parents=True, exist_ok=True)
        if name_in_release in files:
            atomic.write_bytes(path, files[name_in_release])
        else:
            atomic.copy_file(data[name_in_release], path)
        written.append(path)
    # Only after everything is written: an interrupted run leaves too many files rather than too few.
    _remove_others(folder, rubric, {*files, *data})
    return tuple(written)


def _remove_others(folder: Path, rubric: Rubric, names: Collection[str]) -> None:
    """Remove files of an earlier release from this one's folders; they would be given out with it."""
    for notebook in rubric.assignment.notebooks:
        for top in notebook.tops:
            if (folder / top).is_dir():
                for inner, path in list(list_files_below(folder / top)):
                    if f"{top}/{inner}" not in names:
                        path.unlink()


def list_data_files(course: Course, rubric: Rubric) -> dict[str, Path]:
    """Return the files that are given out unchanged: path in the release → file among the sources.

    Raises:
        CourseError: one is missing, a link, too large or a module under a name that is taken, or there are
            too many.
    """
    folder = course.locate_source(rubric.assignment.name)
    own_paths = {path for notebook in rubric.assignment.notebooks for path in notebook.own}
    data_paths: dict[str, Path] = {}
    for notebook in rubric.assignment.notebooks:
        for name in notebook.data:
            _refuse_links(folder, name)
            path = folder / name
            below = dict(list_files_below(path)) if path.is_dir() else {}
            if not path.exists():
                raise CourseError(f"{path}: the rubric names this data file, but it is missing")
            if path.is_dir() and not below:
                raise CourseError(f"{path}: the rubric names this folder as data, but it holds no files")
            files = {f"{name}/{inner}": file for inner, file in below.items()} or {name: path}
            data_paths |= {
                name_in_release: file
                for name_in_release, file in files.items()
                if name_in_release not in own_paths
            }
    # Files that students create count as well: they would hide a module in the same way.
    for name_in_release in sorted({*data_paths, *own_paths}):
        _refuse_shadow(folder / name_in_release, name_in_release, rubric)
    for name_in_release, path in data_paths.items():
        if fault := find_path_fault(name_in_release):
            raise CourseError(f"{path}: cannot be given out under this name: {fault}")
        if (size := path.stat().st_size) > MOST_DATA:
            raise CourseError(
                f"{path}: {size} bytes; a data file may have {MOST_DATA} ({MOST_DATA >> 20} MB). Take a part"
            )
    total = sum(path.stat().st_size for path in data_paths.values())
    if total > MOST_DATA_TOGETHER or len(data_paths) > MOST_FILES:
        raise CourseError(
            f"{folder}: {len(data_paths)} data files with {total >> 20} MB; expected at most "
            f"{MOST_FILES} files "
            f"with {MOST_DATA_TOGETHER >> 20} MB. Pack many small ones into one, such as an .npz file"
        )
    return data_paths


def _refuse_shadow(path: Path, name_in_release: str, rubric: Rubric) -> None:
    """Refuse a module with the name of one of Python's.

    It would hide Python's module from students, and the box would hide it in turn.
    """
    reserved = {*sys.stdlib_module_names, *(name.partition(".")[0] for name in rubric.assignment.preload)}
    name = name_in_release.partition("/")[0].removesuffix(".py")
    if name_in_release.endswith(".py") and name in reserved:
        raise CourseError(f"{path}: Python, or what the rubric preloads, has a module {name!r}; rename yours")


def _refuse_links(folder: Path, name: str) -> None:
    """Refuse links: their target may change, or not be meant for students."""
    path = folder / name
    # A link anywhere along the path leads out of the folder just as well as one at its end.
    on_the_way = [folder.joinpath(*Path(name).parts[:depth]) for depth in range(1, len(Path(name).parts) + 1)]
    for candidate in (*on_the_way, *(path.rglob("*") if path.is_dir() else ())):
        if candidate.is_symlink():
            raise CourseError(f"{candidate}: is a link; put the file itself there, which is given out")


def list_kept_back(course: Course, name: str) -> tuple[Path, ...]:
    """Return the files among the sources that students do not get: the answer key and unlisted files.

    Raises:
        RubricError: the rubric is not valid.
        CourseError: a data file is missing.
    """
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    given_names = {*list_data_files(course, rubric)}
    for notebook in rubric.assignment.notebooks:
        given_names |= {f"{notebook.name}.ipynb", *notebook.starter}
    if (folder := course.locate_source(name)) == course.root:
        return ()  # the whole course is in this folder
    return tuple(
        path for name_in_folder, path in list_files_below(folder) if name_in_folder not in given_names
    )


def _check_languages(rubric: Rubric) -> None:
    """Refuse languages that this program has no messages for, and texts that lack a language of the rubric.

    Raises:
        RubricError: names all places.
    """
    rubric_languages = rubric.assignment.languages
    unknown = [language for language in rubric_languages if language not in list_languages()]
    if unknown or not rubric_languages:
        raise RubricError(
            f"expected some of {', '.join(list_languages())}, got {', '.join(rubric_languages) or 'none'}",
            Place("[assignment]", "assignment"),
            "languages",
        )
    missing = list_untranslated(rubric)
    if missing:
        (place, explanation), *remaining = missing
        named = "; ".join(f"{other_place}: {lacking}" for other_place, lacking in remaining[:5])
        more = f" (and {len(remaining)} more texts: {named})" if remaining else ""
        raise RubricError(f"{explanation}, one of the assignment's languages; add it{more}", place)


def build_release_files(
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
    folder = course.locate_source(rubric.assignment.name)
    if rubric.assignment.adopted == "otter":
        notebooks_by_name = {
            notebook_file.name: otter.build_student_notebook(folder, notebook_file.name)
            for notebook_file in rubric.assignment.notebooks
        }
        # otter strips solutions within questions only: a marker elsewhere stays, with its solution.
        check_leaks(
            [],
            [
                text
                for name, data in notebooks_by_name.items()
                for text in list_given_texts(data, name, tests=False)
            ],
        )
        return {f"{name}.ipynb": data for name, data in notebooks_by_name.items()}
    times = schedule.load_schedule(course, rubric)
    window = (times.get_personal_window(student) if student else times.common) if times else None
    filled = get_stubs(read_settings(course.root)[0]) if rubric.assignment.adopted else {}
    key = read_answer_key(course, rubric, listings)
    released = {
        name: build_release(source, rubric, name, language, window, stubs=filled)
        for name, source in key.items()
    }
    releases = [load_release(data, name) for name, data in released.items()]
    _check_listings(rubric, releases)
    # Starter files have their solution between markers, like source notebooks.
    starters = {
        path: build_starter(_read_starter(folder, path), path)
        for notebook in rubric.assignment.notebooks
        for path in notebook.starter
    }
    texts = [
        text
        for name, data in released.items()
        for text in list_given_texts(data, name, tests=not rubric.assignment.adopted)
    ]
    texts += [_to_given_text(path, data) for path, data in starters.items()]
    check_leaks(_list_withheld(course, rubric, key), texts)
    notebooks = {f"{name}.ipynb": data for name, data in released.items()}
    if rubric.assignment.adopted:
        return {**notebooks, **starters}  # adopted notebooks have their own checking cells
    digests = {path: compute_digest(data) for path, data in starters.items()}
    check = build_student_check(
        rubric, language=language, releases=releases, forms=list_forms(), starters=digests
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


def _list_withheld(course: Course, rubric: Rubric, key: Mapping[str, bytes]) -> list[WithheldAnswer]:
    """Return the solutions in the answer key's notebooks and starter files."""
    if rubric.assignment.adopted == "otter":
        return []  # otter builds the release
    folder = course.locate_source(rubric.assignment.name)
    vocabularies = read_vocabularies(rubric)
    withheld = [
        answer for name, source in key.items() for answer in list_withheld_answers(source, name, vocabularies)
    ]
    for notebook in rubric.assignment.notebooks:
        for path in notebook.starter:
            text = _read_starter(folder, path).decode(errors="replace")
            withheld += list_withheld_in_file(text.replace("\r\n", "\n"), path)
    return withheld


def _read_data_texts(data: Mapping[str, Path]) -> Iterator[GivenText]:
    for name, path in data.items():
        if path.suffix in _READ and path.stat().st_size <= _MOST_READ:
            yield _to_given_text(name, path.read_bytes())


def _to_given_text(path: str, data: bytes) -> GivenText:
    return GivenText(path, data.decode(errors="replace"), code=path.endswith(".py"), fixed=True)


def _read_starter(folder: Path, path: str) -> bytes:
    _refuse_links(folder, path)
    try:
        return atomic.read_bytes(folder / path, most=STARTER_BYTES)
    except OSError as error:
        raise CourseError(
            f"{folder / path}: the rubric names this file as a starter, with its solution between markers: "
            f"{error.strerror}"
        ) from error


def read_answer_key(
    course: Course, rubric: Rubric, listings: Mapping[str, Listing] | None = None
) -> dict[str, bytes]:
    """Return the answer key: the source notebooks by name, solutions included, with the variant's values.

    Raises:
        CourseError: a source is missing or not a notebook.
        RubricError: a placeholder names a value that is not drawn; names the cell.
        NotebookError: a cell does not hold the listing it should.
    """
    notebooks = {}
    for notebook in rubric.assignment.notebooks:
        folder = course.locate_source(rubric.assignment.name)
        if rubric.assignment.adopted == "otter":
            notebooks[notebook.name] = otter.build_answer_key(folder, notebook.name)
            continue
        path = folder / f"{notebook.name}.ipynb"
        if rubric.assignment.adopted and not folder.is_dir():
            raise CourseError(
                f"{rubric.assignment.name}: only its release is here, so nothing sits as its answer key; put "
                f"the source notebooks into {course.root / 'source' / rubric.assignment.name}"
            )
        questions = [candidate for candidate in rubric.questions if candidate.notebook == notebook.name]
        if not path.exists() and questions and all(candidate.file for candidate in questions):
            notebooks[notebook.name] = build_file_notebook(rubric, notebook.name)
            continue
        try:
            notebooks[notebook.name] = read_file(path)
        except NotebookError as error:
            raise CourseError(f"{path}: {error}") from error
    if rubric.draws is None:
        return notebooks
    cells: dict[str, dict[str, Listing]] = {name: {} for name in notebooks}
    for question in rubric.questions:
        if listings and question.id in listings:
            cells[question.notebook][question.answer_cell] = listings[question.id]
    return {
        name: fill_notebook(data, rubric.variant.values, name, cells[name])
        for name, data in notebooks.items()
    }
