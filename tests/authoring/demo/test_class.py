"""The demo class: distinct students, reproducible, in nbgrader's layout."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.demo import EXAM, SUBJECTS, DemoStudent, Subject, write_class
from autograder.authoring.demo.students import MAX_STUDENTS
from autograder.core.errors import NotebookError
from autograder.notebook.release import load_release
from autograder.notebook.submission_reader import read_notebook
from tests.authoring.demo.marking import released, shipped

SIZE = 60


Course = tuple[Path, list[DemoStudent], Subject]


def written(subject: Subject, folder: Path, seed: int = 7) -> list[DemoStudent]:
    """Return the class with its notebooks for one assignment."""
    return write_class(subject, released(subject.assignment), folder, students=SIZE, seed=seed)


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda subject: subject.assignment)
def course(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return a course folder with a class, the students and the subject."""
    folder = tmp_path_factory.mktemp("course")
    return folder, written(request.param, folder), request.param


def handed_in(folder: Path) -> dict[str, bytes]:
    """Return all files of a course by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def notebook(folder: Path, student: DemoStudent, subject: Subject) -> Path:
    """Return the path of a student's notebook."""
    name = subject.assignment
    return folder / "submitted" / student.id / name / f"{name}.ipynb"


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def test_the_layout_is_nbgraders(course: Course) -> None:
    """Each student has one notebook and one timestamp, and the roster lists all of them."""
    folder, students, subject = course
    name = subject.assignment
    expected = {
        f"submitted/{student.id}/{name}/{file}"
        for student in students
        for file in (f"{name}.ipynb", "timestamp.txt")
    }
    assert expected | {"roster.csv"} == set(handed_in(folder))
    assert SIZE == len({student.id for student in students}) == len({student.name for student in students})


def test_the_roster_names_everybody(course: Course) -> None:
    """The roster has the columns that gradebooks read, one line for each student."""
    folder, students, _ = course
    rows = list(csv.DictReader((folder / "roster.csv").read_text().splitlines()))
    assert list(rows[0]) == ["id", "first_name", "last_name", "email"]
    assert [(student.id, student.name) for student in students] == [
        (row["id"], f"{row['first_name']} {row['last_name']}") for row in rows
    ]


def test_readable_notebooks_are_valid(course: Course) -> None:
    """Notebooks marked as readable are valid; the others are not even JSON."""
    folder, students, subject = course
    for student in students:
        data = notebook(folder, student, subject).read_bytes()
        if student.readable:
            nbformat.validate(json.loads(data))
        else:
            assert not _is_json(data)


def test_the_same_arguments_give_the_same_files(course: Course, tmp_path: Path) -> None:
    """Size and seed determine the class."""
    folder, students, subject = course
    again = written(subject, tmp_path)
    assert students == again
    assert handed_in(folder) == handed_in(tmp_path)


def test_most_students_are_honest(course: Course) -> None:
    """Sixty students include every kind of damage and attack once; the others are honest."""
    _, students, subject = course
    kinds = Counter(student.kind for student in students)
    assert {"honest": 40, "broken": len(subject.damages), "hostile": len(subject.attacks) + 2} == kinds
    portraits = [student.portrait for student in students]
    assert [1] * len(subject.damages) == [portraits.count(damage.portrait) for damage in subject.damages]
    assert [1] * len(subject.attacks) == [portraits.count(attack.portrait) for attack in subject.attacks]
    assert portraits.count("nothing answered") == 1


def test_the_class_is_the_same_in_all_assignments(tmp_path: Path) -> None:
    """Students have the same ids and names in all assignments."""
    classes = [[(student.id, student.name) for student in written(subject, tmp_path)] for subject in SUBJECTS]
    assert len(SUBJECTS) == 2
    assert classes[0] == classes[1]


def test_points_are_known_for_every_automatic_item(course: Course) -> None:
    """A readable notebook states the points of every automatic item, an unreadable one of none."""
    _, students, subject = course
    automatic = {
        f"{question.id}.{item.id}": item.points
        for question in shipped(subject.assignment).questions
        for item in question.items
        if not item.manual
    }
    for student in students:
        assert (set(automatic) if student.readable else set()) == set(student.points)
        assert all(0 <= mark <= automatic[item] for item, mark in student.points.items())


def test_reading_finds_the_answers(course: Course) -> None:
    """All answers with points are found, despite damage and tampering."""
    folder, students, subject = course
    name = subject.assignment
    release = load_release(released(name), name)
    for student in students:
        data = notebook(folder, student, subject).read_bytes()
        if not student.readable:
            with pytest.raises(NotebookError):
                read_notebook(data, release, student=student.id, assignment=name)
            continue
        answers = read_notebook(data, release, student=student.id, assignment=name).answers
        earning = {item.partition(".")[0] for item, mark in student.points.items() if mark > 0}
        assert {question for question in earning if not answers[f"{question}-answer"].changed} == set()


@pytest.mark.parametrize("size", [1, 21])
def test_small_classes_can_be_written(size: int, tmp_path: Path) -> None:
    """Any size from one student upwards is possible."""
    assert size == len(write_class(EXAM, released(), tmp_path, students=size, seed=0))


@pytest.mark.parametrize("size", [0, MAX_STUDENTS + 1])
def test_impossible_sizes_are_refused(size: int, tmp_path: Path) -> None:
    """A size of zero, or above the number of names, raises an error with the valid range."""
    with pytest.raises(ValueError, match=f"from 1 to {MAX_STUDENTS}"):
        write_class(EXAM, released(), tmp_path, students=size, seed=0)


@pytest.mark.parametrize("release", [b"", b"[]", b'{"cells": 3}', b'{"cells": [{"source": 1}]}'])
def test_another_file_is_refused(release: bytes, tmp_path: Path) -> None:
    """A file that is not a notebook raises an error."""
    with pytest.raises(NotebookError, match="not a notebook"):
        write_class(EXAM, release, tmp_path, students=1, seed=0)
