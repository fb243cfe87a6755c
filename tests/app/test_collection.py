"""Collecting submissions: matching students, choosing the latest attempt, refusing unsafe files."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.app.collection import CollectOptions, CollectReport, collect_submissions
from autograder.core.errors import CourseError
from autograder.course import Course, counting_attempts
from autograder.rubric import load_rubric
from tests.support.downloads import NAME, archive, encrypted, link, make_course, tree, written

BOOK = f"{NAME}.ipynb"
NOTEBOOK = '{"cells": [{"cell_type": "code", "metadata": {}, "source": "x = 1"}], "nbformat": 4}'
MOODLE = {
    f"Ada Lovelace_77_assignsubmission_file_/{BOOK}": "ada",
    f"Group 1-Alan Turing_78_assignsubmission_file/{BOOK}": "alan",
    f"Grace Mueller-Hopper_79_assignsubmission_file_{BOOK}": "grace",
    f"Alex Kim_80_assignsubmission_file_/{BOOK}": "alex",
    f"Adda Lovelacce_81_assignsubmission_file_/{BOOK}": "stranger",
}
WORKSHEET = """\
Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum grade","Last modified (submission)"
Participant 77,"Ada Lovelace",s1001,ada@example.org,Submitted,,10.00,"Thursday, 12 February 2026, 10:20 AM"
Participant 80,"Alex Kim",,alex2@example.org,Submitted,,10.00,"Donnerstag, 12. Februar 2026, 14:05"
"""
GRADESCOPE = """\
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: s1001
    :email: ada@example.org
  - :name: Alan T.
    :sid: ''
    :email: alan@example.org
  :created_at: 2026-02-12 09:20:30.500000000 Z
  :score: 0.0
submission_12:
  :submitters:
  - :name: Somebody Else
    :sid: '99'
    :email: else@example.org
  :created_at: 2026-02-12 09:30:00 Z
"""


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course with a class list."""
    return make_course(tmp_path / "course")


def collect(course: Course, *sources: Path, **options: object) -> CollectReport:
    """Collect the assignment."""
    return collect_submissions(course, NAME, sources, CollectOptions(**options))  # type: ignore[arg-type]


def states(report: CollectReport) -> list[tuple[str, str]]:
    """Return the student and the state of every attempt."""
    return [(attempt.student, attempt.state) for attempt in report.attempts]


def laid(course: Course, student: str) -> str:
    """Return the notebook in submitted/."""
    return (course.root / "submitted" / student / NAME / BOOK).read_text()


def test_moodle_names_are_matched_and_strangers_are_told(course: Course, tmp_path: Path) -> None:
    """Match by full name, also behind a group name and in German spelling.

    Ambiguous names are not guessed.
    """
    report = collect(course, written(tmp_path / "moodle.zip", MOODLE))
    assert [("s1001", "new"), ("s1003", "new"), ("s1002", "new")] == states(report)
    assert ["ada", "alan", "grace"] == [laid(course, f"s100{number}") for number in (1, 2, 3)]
    suggestions = {entry.label: str(entry.suggestion) for entry in report.unmatched}
    assert {
        "Alex Kim": "2 students are called so: s1004, s1005",
        "Adda Lovelacce": "did you mean s1001 (Ada Lovelace)?",
    } == suggestions
    assert ("s1004", "s1005") == report.absent
    assert report.attention
    assert 1 == len(report.remarks)
    assert "moodle.zip: no submission time for s1001, s1002, s1003 (3)." in report.remarks[0]


def test_moodle_s_worksheet_tells_who_and_when(course: Course, tmp_path: Path) -> None:
    """Students with the same name are distinguished by the participant number; submission times are read."""
    (course.root / "collect.toml").write_text('zone = "Europe/Berlin"\n')
    (tmp_path / "grades.csv").write_text(WORKSHEET)
    report = collect(course, written(tmp_path / "moodle.zip", MOODLE), worksheet=tmp_path / "grades.csv")
    moments = {attempt.student: attempt.moment for attempt in report.attempts}
    assert datetime(2026, 2, 12, 9, 20, tzinfo=UTC) == moments["s1001"]
    assert datetime(2026, 2, 12, 13, 5, tzinfo=UTC) == moments["s1005"]
    assert None is moments["s1002"]
    stamp = course.root / "submitted" / "s1005" / NAME / "timestamp.txt"
    assert "2026-02-12 13:05:00.000000 UTC\n" == stamp.read_text()


def test_canvas_names_marks_and_suffixes(course: Course, tmp_path: Path) -> None:
    """The account number identifies the student.

    Late marks are reported, and suffixes added by Canvas are removed.
    """
    report = collect(
        course,
        written(
            tmp_path / "submissions.zip",
            {
                "lovelaceada_4001_9001_warmup-2.ipynb": "ada",
                "turingalan_LATE_4002_9002_warmup.ipynb": "alan",
                "mllerhoppergrace_5_9003_My%20answers.ipynb": "grace",
                "mllerhoppergrace_5_9004_plot.png": "picture",
            },
        ),
    )
    attempts = {attempt.student: attempt for attempt in report.attempts}
    assert ["s1001", "s1002", "s1003"] == sorted(attempts)
    assert [False, True, False] == [attempts[f"s100{number}"].late for number in (1, 2, 3)]
    assert (("warmup-2.ipynb", BOOK),) == attempts["s1001"].renamed
    assert (("My%20answers.ipynb", BOOK),) == attempts["s1003"].renamed
    assert 2 == attempts["s1003"].files
    assert ["ada", "alan", "grace"] == [laid(course, f"s100{number}") for number in (1, 2, 3)]
    assert b"picture" == (course.root / "submitted" / "s1003" / NAME / "plot.png").read_bytes()


def test_gradescope_metadata_tells_whose_and_when(course: Course, tmp_path: Path) -> None:
    """A group submission belongs to each of its members.

    A submitter who is not on the class list is reported.
    """
    report = collect(
        course,
        written(
            tmp_path / "export.zip",
            {
                "assignment_5_export/submission_metadata.yml": GRADESCOPE,
                f"assignment_5_export/submission_11/{BOOK}": "both",
                f"assignment_5_export/submission_12/{BOOK}": "nobody",
            },
        ),
    )
    assert [("s1001", "new"), ("s1002", "new")] == states(report)
    assert {datetime(2026, 2, 12, 9, 20, 30, 500000, tzinfo=UTC)} == {
        attempt.moment for attempt in report.attempts
    }
    assert ["Somebody Else"] == [entry.label for entry in report.unmatched]


def test_ilias_folders_have_the_login_and_the_newest_file_counts(course: Course, tmp_path: Path) -> None:
    """Of two files with the same name the newer one is used, in the time zone that the course states."""
    (course.root / "collect.toml").write_text('zone = "Europe/Berlin"\n')
    folder = "Exercise 1/Lovelace_Ada_alovelace_310"
    report = collect(
        course,
        written(
            tmp_path / "ilias.zip",
            {
                f"{folder}/20260212112030_{BOOK}": "second",
                f"{folder}/20260212102030_{BOOK}": "first",
                f"Exercise 1/Kim_Alex_akim2_311/20260212102030_{BOOK}": "kim",
            },
        ),
    )
    assert [("s1001", "new"), ("s1005", "new")] == states(report)
    assert datetime(2026, 2, 12, 10, 20, 30, tzinfo=UTC) == report.attempts[0].moment
    assert "second" == laid(course, "s1001")


def test_times_of_an_unknown_clock_tell_the_order_alone(course: Course, tmp_path: Path) -> None:
    """Without a time zone, the newest file is still used, but no submission time is recorded."""
    folder = "Lovelace_Ada_alovelace_310"
    files = {
        f"{folder}/20260212{hour}2030_{BOOK}": text for hour, text in (("10", "first"), ("11", "second"))
    }
    report = collect(course, written(tmp_path / "ilias.zip", files))
    assert [None] == [attempt.moment for attempt in report.attempts]
    assert "second" == laid(course, "s1001")


def test_an_exchange_has_every_attempt_and_its_owner(course: Course, tmp_path: Path) -> None:
    """All attempts are kept; a submission under another student's name is refused unless staff allow it."""
    inbound = tmp_path / "exchange" / "inbound"
    for when, text in (("2026-02-12 09:00:00.000000 UTC", "one"), ("2026-02-12 10:00:00.000000 UTC", "two")):
        folder = inbound / f"s1001+{NAME}+{when}+a1b2"
        folder.mkdir(parents=True)
        (folder / BOOK).write_text(text)
        (folder / "timestamp.txt").write_text("1999-01-01 00:00:00 UTC")
    (inbound / f"s1001+other+{when}").mkdir()
    (inbound / f"s1001+other+{when}" / "other.ipynb").write_text("not ours")
    report = collect(course, tmp_path / "exchange")
    assert [] == states(report)
    assert 4 == len(report.refused)
    assert all("not to s1001; --any-owner" in str(refusal.reason) for refusal in report.refused)
    report = collect(course, tmp_path / "exchange", any_owner=True)
    assert [("s1001", "earlier"), ("s1001", "new")] == states(report)
    assert {
        f"submitted/s1001/{NAME}/{BOOK}": b"two",
        f"submitted/s1001/{NAME}/timestamp.txt": b"2026-02-12 10:00:00.000000 UTC\n",
    } == tree(course.root, "submitted")
    kept = course.list_earlier_attempts("s1001", NAME)
    assert [datetime(2026, 2, 12, 9, tzinfo=UTC)] == [handin.submitted_at for handin in kept]
    (course.root / "exams.toml").write_text(f"[{NAME}]\nend = 2026-02-12T09:30:00Z\n")
    counts = counting_attempts.find_counting_attempts(course, load_rubric(course.locate_rubric(NAME))).handins
    assert [kept[0].folder] == [handin.folder for handin in counts]  # the latest one in time, as usual


def test_folders_are_called_after_anything_that_names_a_student(course: Course, tmp_path: Path) -> None:
    """Folders may be named by id, name, address or login.

    Outer folders, archives and nbgrader's layout are accepted.
    """
    source = tmp_path / "folders"
    for place, text in {
        f"all of them/s1001/{BOOK}": "by id",
        f"all of them/Turing, Alan/{NAME}/{BOOK}": "by name",
        f"all of them/ghopper/answers (1)/{BOOK}": "by login",
        "all of them/alex1@example.org.ipynb": "by address",
    }.items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(text)
    (source / "all of them" / "akim2.zip").write_bytes(archive({f"deep/down/{BOOK}": "packed"}))
    (source / "all of them" / "Turing, Alan" / NAME / "timestamp.txt").write_text("2026-02-12 09:00 UTC")
    report = collect(course, source)
    texts = [laid(course, f"s100{number}") for number in range(1, 6)]
    assert ["by id", "by name", "by login", "by address", "packed"] == texts
    assert ["when something was handed in" not in str(refusal.reason) for refusal in report.refused] == [True]
    assert "--from nbgrader believes it" in str(report.refused[0].reason)
    report = collect(course, source, platform="nbgrader")
    assert () == report.refused
    assert {"unchanged"} == {state for _, state in states(report)}
    stamp = course.root / "submitted" / "s1002" / NAME / "timestamp.txt"
    assert "2026-02-12 09:00:00.000000 UTC\n" == stamp.read_text()


def test_names_of_a_portal_and_of_people_are_the_course_s_to_state(course: Course, tmp_path: Path) -> None:
    """``collect.toml`` defines patterns with named groups, and maps unknown names to students."""
    (course.root / "collect.toml").write_text(
        """
        [[pattern]]
        name = "portal"
        path = '(?P<time>[0-9]{8}T[0-9]{6}Z)-(?P<name>[^/]+)/(?P<file>.+)'
        time = "%Y%m%dT%H%M%S%z"
        [students]
        "A. L. King" = "s1001"
        """
    )
    report = collect(
        course,
        written(
            tmp_path / "portal.zip",
            {
                f"20260212T090000Z-A. L. King/{BOOK}": "first",
                f"20260212T080000Z-a. l. king/{BOOK}": "before",
                f"20260212T090000Z-Alan Turing/{BOOK}": "alan",
                "readme.txt": "of the portal",
            },
        ),
    )
    assert "first" == laid(course, "s1001")
    assert {("s1001", "new"), ("s1001", "earlier"), ("s1002", "new")} == set(states(report))
    assert ["portal.zip: readme.txt"] == [refusal.place for refusal in report.refused]
    assert "none of a download of portal" in str(report.refused[0].reason)


def test_settings_that_cannot_be_are_refused_with_their_place(course: Course, tmp_path: Path) -> None:
    """Invalid groups, regular expressions, zones, students and platforms are rejected with their place."""
    source = written(tmp_path / "x.zip", {"a" * 60 + "!": "text"})
    for text, message in (
        ("[[pattern]]\nname = 'p'\npath = '(?P<ide>.)(?P<file>.)'", "no group 'ide'; did you mean 'id'"),
        ("[[pattern]]\nname = 'p'\npath = '(?P<file>.'", "not a regular expression"),
        ("[[pattern]]\nname = 'p'\npath = '(?P<file>.)'", "expected the group file and one of"),
        ("[[pattern]]\nname = 'moodle'\npath = '(?P<id>.)(?P<file>.)'", "this is a known platform"),
        ("[[pattern]]\nname = 'p'\npath = '(?P<id>(a|a)+)+(?P<file>b)'", "takes too long"),
        ("zone = 'Berlin'", "the zone 'Berlin' cannot be told"),
        ("[students]\nX = 's9'", "'X' is 's9', who is not in roster.csv"),
        ("zones = 'UTC'", "unknown key 'zones'; did you mean 'zone'"),
    ):
        (course.root / "collect.toml").write_text(text)
        with pytest.raises(CourseError, match=r"collect\.toml") as caught:
            collect(course, source)
        assert message in str(caught.value)
    (course.root / "collect.toml").unlink()
    with pytest.raises(CourseError, match="'moodel' is not known; did you mean 'moodle'"):
        collect(course, source, platform="moodel")
    with pytest.raises(CourseError, match="there is no such file or folder"):
        collect(course, tmp_path / "none.zip")


def test_what_could_harm_is_refused_by_itself(course: Course, tmp_path: Path) -> None:
    """A harmful entry in a student's archive is refused; the rest of it and of the class is collected."""
    bomb = archive({"zeros.bin": bytes(17 << 20)})
    hostile = {
        "ada.zip": archive(
            {
                BOOK: "good",
                "../../../evil.py": "out",
                "/etc/evil": "absolute",
                "C:/evil": "drive",
                "a\\..\\evil": "backslash",
                "Data/x.txt": "one",
                "data/y.txt": "collides",
                "con.txt": "device",
                "n" * 201: "long name",
                "/".join("d" * 20 for _ in range(30)): "long place",
                "timestamp.txt": "1999-01-01 00:00:00 UTC",
                "=cmd.csv": "formula",
                ".hidden": "hidden",
                "a\u202eb.txt": "reordered",
                "__MACOSX/._warmup.ipynb": "left by a system",
                ".DS_Store": "left by a system",
                "x": "a file",
                "x/y": "and a folder",
            }
        ),
        "link.zip": link("passwd", "/etc/passwd"),
        "secret.zip": encrypted("secret.txt"),
        "bomb.zip": bomb,
        "broken.zip": b"PK no archive",
    }
    folder = "Ada Lovelace_77_assignsubmission_file_"
    files: dict[str, str | bytes] = {f"{folder}/{name}": data for name, data in hostile.items()}
    files[f"Alan Turing_78_assignsubmission_file_/{BOOK}"] = "alan"
    source = written(tmp_path / "moodle.zip", files)
    report = collect(course, source)
    assert [("s1001", "new"), ("s1002", "new")] == states(report)
    assert {
        f"submitted/s1001/{NAME}/{BOOK}": b"good",
        f"submitted/s1001/{NAME}/Data/x.txt": b"one",
        f"submitted/s1001/{NAME}/x": b"a file",
        f"submitted/s1002/{NAME}/{BOOK}": b"alan",
    } == tree(course.root)
    begin = "moodle.zip: Ada Lovelace: "
    reasons = {refusal.place.removeprefix(begin): str(refusal.reason) for refusal in report.refused}
    expected = {
        "ada.zip/../../../evil.py": "leads out",
        "ada.zip//etc/evil": "absolute place",
        "ada.zip/C:/evil": "absolute place",
        "ada.zip/a\\..\\evil": "backslash",
        "data/y.txt": "cannot be told from 'Data'",
        "con.txt": "name of a device",
        "n" * 201: "more than 200 bytes",
        "ada.zip/" + "/".join("d" * 20 for _ in range(30)): "629 characters",
        "timestamp.txt": "not the student's to say",
        "=cmd.csv": "formula",
        ".hidden": "begins with a dot",
        "a\\u202eb.txt": "invisible character U+202E",
        "x/y": "is a file and a folder",
        "link.zip/passwd": "it is a link",
        "secret.zip/secret.txt": "it is encrypted",
        "bomb.zip/zeros.bin": "at most 200 times",
        "broken.zip": "not a zip archive",
    }
    assert set(expected) == set(reasons)
    for place, message in expected.items():
        assert message in reasons[place], (place, reasons[place])
    assert not (tmp_path / "evil.py").exists()
    assert not (course.root.parent / "evil.py").exists()


def test_links_and_second_names_in_folders_are_not_followed(course: Course, tmp_path: Path) -> None:
    """Links to files, hard links and links to folders are not followed."""
    secret = tmp_path / "secret.ipynb"
    secret.write_text("the answer key")
    source = tmp_path / "folders"
    (source / "s1001").mkdir(parents=True)
    (source / "s1002").mkdir()
    (source / "s1001" / BOOK).symlink_to(secret)
    (source / "s1002" / BOOK).hardlink_to(secret)
    (source / "s1003").symlink_to(tmp_path)
    os.mkfifo(source / "s1002" / "pipe")
    report = collect(course, source)
    assert ["it is a link", "it is no regular file", "it has 2 names on this disk", "it is a link"] == [
        str(refusal.reason) for refusal in report.refused
    ]
    assert {} == tree(course.root)


def test_attempts_are_kept_and_the_last_one_lies_in_submitted(course: Course, tmp_path: Path) -> None:
    """New attempts replace earlier ones, which move to earlier/; a known attempt changes nothing."""
    name = f"Ada Lovelace_77_assignsubmission_file_/{BOOK}"
    first = written(tmp_path / "monday.zip", {name: "one"})
    second = written(tmp_path / "tuesday.zip", {name: "two"})
    assert [("s1001", "new")] == states(collect(course, first))
    assert [("s1001", "new")] == states(collect(course, second))
    after = tree(course.root)
    assert "two" == laid(course, "s1001")
    assert [b"one"] == [data for place, data in after.items() if place.startswith("earlier")]
    assert [("s1001", "unchanged")] == states(collect(course, second))
    assert after == tree(course.root)
    assert [("s1001", "unchanged"), ("s1001", "unchanged")] == states(collect(course, first, second))
    assert after == tree(course.root)
    assert [("s1001", "again")] == states(collect(course, first, dry_run=True))
    assert after == tree(course.root)
    assert [("s1001", "again")] == states(collect(course, first))  # submitted again: the latest attempt
    assert "one" == laid(course, "s1001")
    kept = [data for place, data in tree(course.root).items() if place.startswith("earlier")]
    assert [b"two"] == kept


def test_a_time_that_becomes_known_is_entered(course: Course, tmp_path: Path) -> None:
    """Collecting again with the worksheet adds the time to the attempt that is already there."""
    source = written(tmp_path / "moodle.zip", MOODLE)
    collect(course, source)
    (course.root / "collect.toml").write_text('zone = "Europe/Berlin"\n')
    (tmp_path / "grades.csv").write_text(WORKSHEET)
    report = collect(course, source, worksheet=tmp_path / "grades.csv")
    assert ("s1001", "unchanged") in states(report)
    stamps = [handin.submitted_at for handin in course.list_handins(NAME) if handin.student == "s1001"]
    assert [datetime(2026, 2, 12, 9, 20, tzinfo=UTC)] == stamps
    assert [] == course.list_earlier_attempts("s1001", NAME)


def test_without_a_class_list_folders_are_ids(tmp_path: Path) -> None:
    """As with nbgrader, folder names are ids; invalid ids and targets that are links are reported."""
    course = make_course(tmp_path / "course", roster="")
    source = tmp_path / "folders"
    for who in ("ada", "=evil", "bob"):
        (source / who).mkdir(parents=True)
        (source / who / BOOK).write_text(who)
    (course.root / "submitted").mkdir(exist_ok=True)
    (course.root / "submitted" / "bob").symlink_to(tmp_path)
    report = collect(course, source)
    assert {"ada": "new", "bob": "left"} == dict(states(report))
    assert ["=evil"] == [entry.label for entry in report.unmatched]
    assert "as a spreadsheet's formula does" in str(report.unmatched[0].suggestion)
    assert ["submitted/bob is a link or a file; expected a folder"] == [
        str(refusal.reason) for refusal in report.refused
    ]


def test_a_source_that_is_none_stops_no_other_one(course: Course, tmp_path: Path) -> None:
    """An unreadable source is reported, and the next one is collected."""
    (tmp_path / "broken.zip").write_bytes(b"nothing")
    good = written(tmp_path / "moodle.zip", {f"Ada Lovelace_7_assignsubmission_file_/{BOOK}": "ada"})
    report = collect(course, tmp_path / "broken.zip", good)
    assert [("s1001", "new")] == states(report)
    assert ["broken.zip"] == [refusal.place for refusal in report.refused]


@pytest.mark.parametrize(
    ("files", "messages"),
    [
        pytest.param({BOOK: ""}, {BOOK: "The file is empty."}, id="empty"),
        pytest.param({BOOK: "<!DOCTYPE html><html>"}, {BOOK: "The file is an HTML page"}, id="login-page"),
        pytest.param(
            {BOOK: NOTEBOOK, "hw_final.ipynb": NOTEBOOK}, {"hw_final.ipynb": "not graded"}, id="two"
        ),
        pytest.param({"warmup.html": "<html>"}, {"warmup.html": "not graded"}, id="an-export"),
        pytest.param({"WMS hw.ipynb": NOTEBOOK}, {}, id="the-only-notebook"),
        pytest.param({f"{BOOK}.txt": NOTEBOOK}, {}, id="the-only-notebook-behind-an-ending"),
        pytest.param({BOOK: NOTEBOOK, "plot.png": "picture"}, {}, id="beside-a-picture"),
    ],
)
def test_what_will_not_be_graded_is_named_when_it_is_collected(
    course: Course, tmp_path: Path, files: dict[str, str], messages: dict[str, str]
) -> None:
    """Files that cannot be graded are kept and reported on collection, so that staff can ask for others."""
    source = written(tmp_path / "class.zip", {f"s1001/{name}": text for name, text in files.items()})
    report = collect(course, source)
    assert ["new"] == [attempt.state for attempt in report.attempts]
    reasons = {concern.place.rpartition(": ")[2]: str(concern.reason) for concern in report.concerns}
    assert set(messages) == set(reasons)
    assert all(text in reasons[name] for name, text in messages.items())
    assert bool(messages) is report.attention
