"""The folders of a course, its submissions, and the secret."""

from __future__ import annotations

import os
import pkgutil
import secrets
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.core import atomic
from autograder.core.errors import CourseError, RubricError
from autograder.course import Course, find_name_fault, manifest, schedule
from autograder.course.csv_rows import read_rows
from autograder.rubric import load_rubric


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return an empty course."""
    for folder in ("assignments", "rubrics", "reference", "submitted"):
        (tmp_path / folder).mkdir()
    return Course.from_folder(tmp_path)


def test_a_folder_that_is_no_course_is_refused(tmp_path: Path) -> None:
    """The error names the missing folder and the option to choose another one."""
    with pytest.raises(CourseError, match=r"assignments.*--course"):
        Course.from_folder(tmp_path)


def test_an_unknown_assignment_is_refused_with_the_known_ones(course: Course) -> None:
    """A misspelt name is refused with a suggestion of the known ones."""
    (course.rubrics / "exam.toml").touch()
    with pytest.raises(CourseError, match=r"eaxm\.toml.*known assignments: exam"):
        course.locate_rubric("eaxm")


def test_handins_are_the_students_who_have_the_assignment(course: Course) -> None:
    """Linked folders count as submissions; other assignments, files and hidden folders do not."""
    submitted = course.root / "submitted"
    for path in ("bob/exam", "ada/exam", "eve/other", ".git/exam"):
        (submitted / path).mkdir(parents=True)
    (submitted / "notes.txt").touch()
    (submitted / "mallory").mkdir()
    (submitted / "mallory" / "exam").symlink_to(submitted / "ada" / "exam")
    (submitted / "trudy").symlink_to(submitted / "ada")
    assert ["ada", "bob", "mallory"] == [handin.student for handin in course.list_handins("exam")]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "it has 0 characters"),
        ("x" * 129, "it has 129 characters"),
        (os.fsdecode(b"ada\xff"), "it is not UTF-8"),
        ("ada\x1b[31m", "U+001B"),
        ("ada\nbob", "U+000A"),
        ("ada\u202e", "U+202E"),
        ("ada\u200b", "U+200B"),
        ("a\\b", "it holds '\\\\'"),
        ("<b>", "it holds '<'"),
        ('=HYPERLINK("x")', "it holds '\"'"),
        ("=1+1", "it begins with '='"),
        ("-rf", "it begins with '-'"),
        (".hidden", "it begins with a dot"),
        ("ada ", "begins or ends with a space"),
    ],
)
def test_names_that_would_act_somewhere_are_no_ids(name: str, fault: str) -> None:
    """Names with an effect in a path, page, terminal or spreadsheet are refused with a reason."""
    assert fault in str(find_name_fault(name))


@pytest.mark.parametrize(
    "name", ["s1001", "ada.lovelace+dl@example.org", "o'neil", "Müller, Zoë", "Ада", "李", "a b"]
)
def test_names_that_people_have_are_ids(name: str) -> None:
    """Letters of any script, inner spaces and characters of addresses are allowed."""
    assert "" == find_name_fault(name)


def test_a_folder_whose_name_is_no_id_is_left_out_and_reported(course: Course) -> None:
    """A folder with an invalid name is skipped and reported in printable characters; others are graded."""
    for student in ("ada", "=1+1", "b\x1b[2J", os.fsdecode(b"c\xff")):
        (course.root / "submitted" / student / "exam").mkdir(parents=True)
    (course.root / "submitted" / ".git").mkdir()
    assert ["ada"] == [handin.student for handin in course.list_handins("exam")]
    assert {
        "'=1+1'": "it begins with '=', as a spreadsheet's formula does",
        "'b\\x1b[2J'": "it holds the invisible character U+001B",
        "'c\\udcff'": "it is not UTF-8",
    } == course.list_misnamed("exam")


def test_the_secret_is_made_once_and_private(course: Course) -> None:
    """The secret has 32 random bytes, never changes, and is readable only by the owner."""
    first = course.load_secret()
    assert 32 == len(first)
    assert first == course.load_secret()
    assert 0o600 == stat.S_IMODE((course.private / "secret").stat().st_mode)
    assert 0o700 == stat.S_IMODE(course.private.stat().st_mode)


@pytest.mark.parametrize("size", [0, 5])
def test_a_damaged_secret_is_refused(course: Course, size: int) -> None:
    """A damaged secret is not replaced, because marks depend on it."""
    course.load_secret()
    os.truncate(course.private / "secret", size)
    with pytest.raises(CourseError, match=f"expected 32 bytes, found {size}"):
        course.load_secret()


def in_a_child(action: Callable[[], object]) -> int:
    """Run an action in a separate process; return its exit code."""
    child = os.fork()
    if not child:
        try:
            action()
        finally:
            os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


STEPS = {
    "making the folder": ("pathlib:Path", "mkdir"),
    "drawing": ("autograder.course:secrets", "token_bytes"),
    "locking": ("autograder.core.atomic", "_create_locked_partial"),
    "opening": ("os", "fdopen"),
    "giving rights": ("pathlib:Path", "chmod"),
    "putting in place": ("pathlib:Path", "replace"),
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_while_the_secret_is_made_leaves_none_or_a_whole_one(
    step: str, after: bool, course: Course
) -> None:
    """If its creation is killed at any step, the next call gets a secret and remains can be removed."""
    place, name = STEPS[step]
    owner = pkgutil.resolve_name(place)
    original = getattr(owner, name)

    def killed(*arguments: Any, **options: Any) -> Any:
        if after:
            original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    def make() -> None:
        setattr(owner, name, killed)
        course.load_secret()

    assert -signal.SIGKILL == in_a_child(make)
    path = course.private / "secret"
    assert not path.exists() or 32 == path.stat().st_size
    assert 32 == len(course.load_secret())
    atomic.sweep_partials(course.private)
    assert [path] == list(course.private.iterdir())


def test_all_who_ask_at_once_get_one_secret(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Concurrent processes all get the same secret."""
    monkeypatch.setattr("autograder.course.secrets", secrets)
    reading, writing = os.pipe()
    children = []
    for _ in range(12):
        child = os.fork()
        if not child:
            try:
                os.write(writing, course.load_secret())
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    assert 12 * course.load_secret() == told


def test_the_reference_digest_follows_no_planted_answer(course: Course) -> None:
    """The digest ignores planted answers, which only `verify` grades; all other changes count."""
    (course.reference / "checks").mkdir()
    path, text = course.reference / "checks/a.py", "planted(\n    'x',\n    source='y',\n)\nmutant('m')\n"
    digests = []
    for source in (text, text.replace("'x'", "'a longer title'"), text.replace("'m'", "'n'")):
        path.write_text(source)
        digests.append(course.hash_reference())
    assert digests[0] == digests[1] != digests[2]


PIPES: dict[str, Callable[[Course], object]] = {
    "exams.toml": lambda course: schedule.read_table(course, "exam"),
    "roster.csv": lambda course: read_rows(course.root / "roster.csv", "the roster", ("id",), needed=("id",)),
    "rubrics/exam.toml": lambda course: load_rubric(course.root / "rubrics/exam.toml"),
    "variants/manifest.json": lambda course: manifest.load_manifest(course.root / "variants", b""),
}
"""Files of a course, and the function that reads each of them."""


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(course: Course, name: str) -> None:
    """A named pipe is refused immediately, without waiting for a writer; the error names the file."""
    place = course.root / name
    place.parent.mkdir(mode=0o700, exist_ok=True)
    os.mkfifo(place, mode=0o600)
    signal.alarm(5)
    try:
        with pytest.raises((CourseError, RubricError), match=rf"{place.name}.*not a regular file"):
            PIPES[name](course)
    finally:
        signal.alarm(0)
