"""Makes the release of an assignment: notebooks without solutions, the student's check, the data files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from autograder import atomic
from autograder import rubric as rubrics
from autograder.course import Course, schedule
from autograder.course.references import check_references
from autograder.errors import CourseError, NotebookError, Place, RubricError
from autograder.kinds import forms, make_check
from autograder.messages import languages
from autograder.notebook.build import build_release
from autograder.notebook.files import read_file
from autograder.notebook.fill import Listing, fill_notebook
from autograder.notebook.release import load_release
from autograder.notebook.student_check import FILE_NAME, build_student_check, released_language
from autograder.rubric import Rubric
from autograder.rubric.texts import untranslated


def generate(course: Course, name: str, language: str | None = None) -> tuple[Path, ...]:
    """Write release/<name>/ from assignments/<name>/ and return the files written.

    Everything is built before anything is written, so a mistake leaves the last release as it was.

    Args:
        course: the course.
        name: of the assignment.
        language: of the texts in the notebooks; empty shows those of all languages, None those of the
            last release, so that making it again changes nothing that was handed out.

    Raises:
        CourseError: a source or data file is missing or not a notebook, or the assignment is not
            written in the language.
        RubricError: the rubric is not valid, or disagrees with the notebook.
        NotebookError: markers or metadata of a source notebook are wrong; names the cell.
    """
    rubric = rubrics.load(course.rubric(name))
    if language is None:
        language = released_language(course.release(name) / FILE_NAME)
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
    folder = course.release(name)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file_name, content in files.items():
        path = folder / file_name
        atomic.write(path, content)
        written.append(path)
    for notebook in rubric.assignment.notebooks:
        for data in notebook.data:
            shutil.copyfile(course.sources / name / data, folder / data, follow_symlinks=False)
            written.append(folder / data)
    return tuple(written)


def _check_languages(rubric: Rubric) -> None:
    """Refuse languages that this program has no sentences in, and texts that lack one of the rubric's.

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
    """The generated files of a release by name, without writing them; see `generate`.

    Args:
        course: whose sources.
        rubric: of the common variant or of a personal one.
        language: see `generate`.
        listings: of a personal variant, by question id.
        student: whose own end is told; empty: the common one.
    """
    folder = course.sources / rubric.assignment.name
    times = schedule.load(course, rubric)
    window = (times.personal(student) if student else times.common) if times else None
    released = {
        name: build_release(source, rubric, name, language, window)
        for name, source in sources(course, rubric, listings).items()
    }
    releases = [load_release(data, name) for name, data in released.items()]
    check = build_student_check(rubric, language=language, releases=releases, window=window, forms=forms())
    files = {FILE_NAME: check, **{f"{name}.ipynb": data for name, data in released.items()}}
    for notebook in rubric.assignment.notebooks:
        for data in notebook.data:
            if not (folder / data).is_file():
                raise CourseError(f"{folder / data}: the rubric names this data file, but it is missing")
    return files


def sources(
    course: Course, rubric: Rubric, listings: Mapping[str, Listing] | None = None
) -> dict[str, bytes]:
    """The source notebooks by name, solutions included, with the variant's values in them: the answer key.

    Raises:
        CourseError: a source is missing or not a notebook.
        RubricError: a placeholder names nothing that is drawn; names the cell.
        NotebookError: a cell does not hold the listing it should.
    """
    found = {}
    for notebook in rubric.assignment.notebooks:
        path = course.sources / rubric.assignment.name / f"{notebook.name}.ipynb"
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
