"""File names in downloads of learning platforms: student, submission time, and ambiguous cases."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.app.collection import CollectReport
from autograder.course import Course
from tests.app.test_collection import BOOK, collect, laid, states
from tests.support.downloads import NAME, make_course, written


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course with a class list, in the time zone of Berlin."""
    course = make_course(tmp_path / "course")
    (course.root / "collect.toml").write_text('zone = "Europe/Berlin"\n')
    return course


def collect_files(course: Course, files: dict[str, str], **options: object) -> CollectReport:
    """Collect a download with these files."""
    return collect(course, written(course.root / "download.zip", dict(files)), **options)


BRIGHTSPACE = {
    "index.html": "of the platform",
    f"4711-99 - Ada Lovelace - Feb 12, 2026 905 AM/{BOOK}": "first",
    f"4711-99 - Ada Lovelace - Feb 12, 2026 110 PM/{BOOK}": "second",
    f"4712-99 - Alan Turing - 12 February 2026 1434/{BOOK}": "alan",
    f"4713-99 - Grace Mueller-Hopper- Feb 12, 2026 1200 AM/{BOOK}": "grace",
}
ATTEMPT_WORDS = ("Versuch", "poging", "tentative", "intento", "försök", "próba", "попытка", "提交")
BLACKBOARD = {
    f"Warm_up 1_alovelace_attempt_2026-02-12-09-05-00_{BOOK}": "first",
    f"Warm_up 1_alovelace_attempt_2026-02-12-13-10-00_{BOOK}": "second",
    f"Warm_up 1_aturing_attempt_2026-02-12-14-34-00_my_{BOOK}": "alan",
    "Warm_up 1_aturing_attempt_2026-02-12-14-34-00.txt": "Comments: none",
    f"Warm_up 1_ghopper_attempt_2026-02-12-00-00-00_{BOOK}": "grace",
}
SAKAI = {
    "Warm up/grades.csv": "of the platform",
    f"Warm up/Lovelace, Ada(alovelace)/Submission attachment(s)/{BOOK}": "second",
    "Warm up/Lovelace, Ada(alovelace)/timestamp.txt": "2026-02-12T12:10:00Z",
    "Warm up/Lovelace, Ada(alovelace)/comments.txt": "of the platform",
    "Warm up/Lovelace, Ada(alovelace)/Feedback Attachment(s)/marks.pdf": "of staff",
    f"Warm up/Turing, Alan(aturing)/Submission attachment(s)/code/{BOOK}": "alan",
    "Warm up/Turing, Alan(aturing)/Turing, Alan(aturing)_submissionText.html": "<p>done",
    "Warm up/Turing, Alan(aturing)/timestamp.txt": "20260212133400000",
    f"Warm up/Hopper, Grace(ghopper)/Submission attachment(s)/{BOOK}": "grace",
    "Warm up/Hopper, Grace(ghopper)/timestamp.txt": "2026-02-11T23:00:00Z",
}
SAKAI_BARE = {
    "Warm up/grades.csv": "of the platform",
    f"Warm up/Lovelace, Ada(alovelace)/{BOOK}": "second",
    "Warm up/Lovelace, Ada(alovelace)/timestamp.txt": "2026-02-12T12:10:00Z",
    f"Warm up/Turing, Alan(aturing)/code/{BOOK}": "alan",
    f"Warm up/Hopper, Grace(ghopper)/{BOOK}": "grace",
}
SAKAI_FLAT = {
    f"Warm up/Lovelace, Ada(alovelace)_Submission attachment(s)_{BOOK}": "second",
    f"Warm up/Turing, Alan(aturing)_Submission attachment(s)_{BOOK}": "alan",
    "Warm up/Turing, Alan(aturing)__submissionText.html": "<p>done",
    f"Warm up/Hopper, Grace(ghopper)_Submission attachment(s)_{BOOK}": "grace",
}
LAST = {
    "s1001": datetime(2026, 2, 12, 12, 10, tzinfo=UTC),
    "s1002": datetime(2026, 2, 12, 13, 34, tzinfo=UTC),
    "s1003": datetime(2026, 2, 11, 23, 0, tzinfo=UTC),
}


@pytest.mark.parametrize(
    ("files", "platform", "moments"),
    [
        (BRIGHTSPACE, "brightspace", LAST),
        (BLACKBOARD, "blackboard", LAST),
        (SAKAI, "sakai", LAST),
        (SAKAI_BARE, "sakai", dict.fromkeys(LAST)),
        (SAKAI_FLAT, "sakai", dict.fromkeys(LAST)),
        *(
            (
                {name.replace("_attempt_", f"_{word}_"): text for name, text in BLACKBOARD.items()},
                "blackboard",
                LAST,
            )
            for word in ATTEMPT_WORDS
        ),
    ],
    ids=[
        "Brightspace",
        "Blackboard",
        "Sakai",
        "Sakai without attachment folders",
        "Sakai without folders",
        *(f"Blackboard with {word}" for word in ATTEMPT_WORDS),
    ],
)
@pytest.mark.parametrize("is_stated", [False, True], ids=["recognised", "stated"])
def test_layouts_tell_whose_and_when(
    course: Course,
    files: dict[str, str],
    platform: str,
    moments: dict[str, datetime | None],
    is_stated: bool,
) -> None:
    """The latest attempt is used, times are in the platform's zone, and the platform's files are ignored."""
    report = collect_files(course, files, **({"platform": platform} if is_stated else {}))
    assert ((), ()) == (report.refused, report.unmatched)
    assert ["second", "alan", "grace"] == [laid(course, student) for student in LAST]
    moments_by_student = {
        attempt.student: attempt.moment for attempt in report.attempts if attempt.state == "new"
    }
    assert moments == moments_by_student
    assert ("s1004", "s1005") == report.absent


@pytest.mark.parametrize(
    ("title", "login"),
    [("warmup", "ada_k"), ("warm_up_2", "ada_k"), ("k", "ada_k"), ("warm_up", "k")],
)
def test_blackboard_logins_may_have_an_underscore(tmp_path: Path, title: str, login: str) -> None:
    """The longest suffix on the class list is the login: files of ada_k are not assigned to k."""
    course = make_course(tmp_path / "course", "id,login\ns1,ada_k\ns2,k\n")
    report = collect_files(course, {f"{title}_{login}_attempt_2026-02-12-09-05-00_{BOOK}": "text"})
    assert [({"ada_k": "s1", "k": "s2"}[login], "new")] == states(report)


def test_sakai_files_of_students_tell_no_time(course: Course) -> None:
    """A timestamp.txt among a student's own files is not trusted."""
    folder = "Warm up/Lovelace, Ada(alovelace)/Submission attachment(s)"
    report = collect_files(
        course, {f"{folder}/{BOOK}": "a", f"{folder}/timestamp.txt": "1999-01-01T00:00:00Z"}
    )
    assert [None] == [attempt.moment for attempt in report.attempts]
    assert "not the student's to say" in str(report.refused[0].reason)


@pytest.mark.parametrize("word", ["Participant", "Teilnehmerin", "Osallistuja"])
@pytest.mark.parametrize("has_worksheet", [False, True], ids=["alone", "with a blind worksheet"])
def test_moodle_blind_marking_names_nobody(course: Course, word: str, has_worksheet: bool) -> None:
    """Each anonymous participant is named by number, keeps their files and is never matched to a student."""
    files = {f"{word}_{number}_assignsubmission_file_/{BOOK}": str(number) for number in (1234, 1235)}
    sheet = course.root / "grades.csv"
    sheet.write_text(f"Identifier,Status,Grade\n{word} 1234,Submitted,\n{word} 1235,Submitted,\n")
    report = collect_files(course, files, **({"worksheet": sheet} if has_worksheet else {}))
    assert [] == states(report)
    assert [(f"{word} 1234", (BOOK,)), (f"{word} 1235", (BOOK,))] == [
        (entry.label, entry.files) for entry in report.unmatched
    ]
    if word != "Osallistuja":  # an unknown language
        assert all("blind marking hides who it is" in str(entry.suggestion) for entry in report.unmatched)
    (course.root / "collect.toml").write_text(f'[students]\n"{word} 1234" = "s1001"\n')
    collect_files(course, files, **({"worksheet": sheet} if has_worksheet else {}))
    assert "1234" == laid(course, "s1001")


def test_a_single_blind_participant_is_no_student(tmp_path: Path) -> None:
    """An anonymous participant is not matched, even if a student has the name "Participant"."""
    course = make_course(tmp_path / "course", "id,first_name,last_name\ns1,,Participant\n")
    report = collect_files(course, {f"Participant_12_assignsubmission_file_/{BOOK}": "text"})
    assert ([], ["Participant 12"]) == (states(report), [entry.label for entry in report.unmatched])


def test_moodle_participants_of_one_name_are_not_merged(tmp_path: Path) -> None:
    """If two participants share a name that is on the class list once, neither is matched."""
    course = make_course(tmp_path / "course", "id,first_name,last_name,email\ns1,Alex,Kim,a@x.org\n")
    files = {f"Alex Kim_{number}_assignsubmission_file_/{BOOK}": str(number) for number in (80, 81)}
    report = collect_files(course, files)
    assert ([], ["Alex Kim 80", "Alex Kim 81"]) == (
        states(report),
        [entry.label for entry in report.unmatched],
    )
    assert all("did you mean s1" in str(entry.suggestion) for entry in report.unmatched)
    sheet = course.root / "grades.csv"
    sheet.write_text("Identifier,Full name,Email address,Grade\nParticipant 81,Alex Kim,a@x.org,\n")
    assert [("s1", "new")] == states(collect_files(course, files, worksheet=sheet))
    assert "81" == laid(course, "s1")


@pytest.mark.parametrize("late", ["", "LATE_"])
def test_canvas_anonymous_names_are_nobody(course: Course, late: str) -> None:
    """Anonymous numbers are not matched, even if one equals an account number on the class list."""
    files = {f"anon_{late}4001_9001_{BOOK}": "one", f"anon_a1B2c_{late}9002_{BOOK}": "two"}
    report = collect_files(course, files)
    assert [] == states(report)
    if not late:
        assert ["anon_4001", "anon_a1B2c"] == [entry.label for entry in report.unmatched]
        assert all("turn it off in Canvas" in str(entry.suggestion) for entry in report.unmatched)


@pytest.mark.parametrize(
    ("roster", "folder", "outcome"),
    [
        ("id\nada+k\nk\n", f"ada+k+{NAME}", "ada+k"),
        ("id\nada+k\nk\n", f"k+{NAME}", "k"),
        ("id\nada\n", "ada+other", ""),
        ("id\nada\n", "ada+lab+1", "its + do not tell student and assignment apart"),
        ("id\nada\n", f"ada+{NAME}+x", "its + do not tell student and assignment apart"),
    ],
    ids=["in an id", "the end of another id", "another assignment", "a strange assignment", "behind ours"],
)
@pytest.mark.parametrize("ending", ["", "+a1b2", "+Zk3-x_9QwErT"])
def test_plus_signs_in_an_exchange_are_read_right_or_refused(
    tmp_path: Path, roster: str, folder: str, outcome: str, ending: str
) -> None:
    """A name that cannot be split unambiguously is reported and assigned to no student."""
    course = make_course(tmp_path / "course", roster)
    path = f"inbound/{folder}+2026-02-12 09:00:00.000000 UTC{ending}/{BOOK}"
    report = collect_files(course, {path: "text"}, platform="exchange")
    if outcome.startswith("its"):
        assert [outcome in str(refusal.reason) for refusal in report.refused] == [True]
        assert ([], True) == (states(report), report.attention)
    else:
        assert ([(outcome, "new")] if outcome else []) == states(report)
        assert () == report.refused
        assert {attempt.moment for attempt in report.attempts} <= {datetime(2026, 2, 12, 9, tzinfo=UTC)}


@pytest.mark.parametrize("zone", ["UTC+3", "UTC+03:00", "+0100"])
def test_offsets_in_an_exchange_are_refused(course: Course, zone: str) -> None:
    """A time with a UTC offset is refused, because reading it as UTC would be wrong by hours."""
    folder = f"s1001+{NAME}+2026-02-12 09:00:00.000000 {zone}+Zk3-x_9QwErT"
    report = collect_files(course, {f"{folder}/{BOOK}": "text"})
    assert ([], ["offset from UTC" in str(refusal.reason) for refusal in report.refused]) == (
        states(report),
        [True],
    )


@pytest.mark.parametrize(
    ("ada", "alan"),
    [
        ("Ada Lovelace_7_assignsubmission_file_/", "Alan Turing_8_assignsubmission_file_/"),
        ("4711-99 - Ada Lovelace - Feb 12, 2026 905 AM/", "4712-99 - Alan Turing - Feb 12, 2026 905 AM/"),
        ("W_alovelace_attempt_2026-02-12-09-05-00_", "aturing_attempt_2026-02-12-14-34-00_"),
        (
            "Lovelace, Ada(alovelace)/Submission attachment(s)/",
            "Turing, Alan(aturing)/Submission attachment(s)/",
        ),
        ("Lovelace, Ada(alovelace)/", "Turing, Alan(aturing)/"),
        ("Lovelace_Ada_alovelace_310/", "Turing_Alan_aturing_311/"),
        (f"s1001+{NAME}+2026-02-12 09:00:00 UTC/", f"s1002+{NAME}+2026-02-12 09:00:00 UTC/"),
        ("lovelaceada_4001_9001_", "turingalan_4002_9002_"),
        ("s1001/", "s1002/"),
    ],
    ids=[
        "Moodle",
        "Brightspace",
        "Blackboard",
        "Sakai",
        "bare Sakai",
        "ILIAS",
        "exchange",
        "Canvas",
        "folders",
    ],
)
@pytest.mark.parametrize("wrapping", ["", "warmup download/"])
def test_names_of_own_files_hand_in_for_nobody_else(
    course: Course, ada: str, alan: str, wrapping: str
) -> None:
    """A student may name a file or folder like a classmate's submission; it is still the student's own."""
    report = collect_files(
        course, {f"{wrapping}{ada}{alan}{BOOK}": "forged", f"{wrapping}{ada}{BOOK}": "ada"}
    )
    assert {"s1001"} == {student for student, _ in states(report)}
    assert not (course.root / "submitted" / "s1002").exists()


ODD_FILES = {
    "a strange folder": {f"strange/{BOOK}": "x"},
    "a strange file": {f"strange {BOOK}": "x"},
    "a folder of many files": {f"strange/part {number}/code.py": "x" for number in range(9)},
    "a list of grades": {"marks.csv": "x"},
}


@pytest.mark.parametrize(
    ("files", "platform"),
    [
        ({f"Ada Lovelace_7_assignsubmission_file_/{BOOK}": "ada"}, "moodle"),
        ({f"lovelaceada_4001_9001_{BOOK}": "ada"}, "canvas"),
        ({f"4711-99 - Ada Lovelace - Feb 12, 2026 905 AM/{BOOK}": "ada"}, "brightspace"),
        ({f"W_alovelace_attempt_2026-02-12-09-05-00_{BOOK}": "ada"}, "blackboard"),
        ({f"hw/Lovelace, Ada(alovelace)/{BOOK}": "ada"}, "sakai"),
        ({f"hw/Lovelace_Ada_alovelace_310/20260212102030_{BOOK}": "ada"}, "ilias"),
        ({f"hw/s1001/{BOOK}": "ada"}, "folders"),
        ({f"s1001/{BOOK}": "ada"}, "folders"),
    ],
    ids=["Moodle", "Canvas", "Brightspace", "Blackboard", "Sakai", "ILIAS", "folders in one", "folders"],
)
@pytest.mark.parametrize("odd", ODD_FILES.values(), ids=ODD_FILES)
def test_an_odd_name_costs_nobody_else_their_work(
    course: Course, files: dict[str, str], platform: str, odd: dict[str, str]
) -> None:
    """Even in the smallest class the other names identify the platform, and the odd name is reported."""
    report = collect_files(course, files | odd)
    assert ([("s1001", "new")], "ada") == (states(report), laid(course, "s1001"))
    assert report.attention
    named = {refusal.place.removeprefix("download.zip: ") for refusal in report.refused} | {
        name for entry in report.unmatched for name in (entry.label, *entry.files)
    }
    assert {name.rpartition("/")[2] for name in odd} <= {name.rpartition("/")[2] for name in named}


def test_one_odd_name_does_not_make_a_platform_of_folders(course: Course) -> None:
    """A student's file that looks like a Canvas download does not change how the class's folders are read."""
    files = {f"s1001/{BOOK}": "ada", f"s1002/{BOOK}": "alan", "s1002/kimalex_4004_9001_notes.txt": "x"}
    report = collect_files(course, files)
    assert [("s1001", "new"), ("s1002", "new")] == states(report)


def test_a_folder_of_a_stranger_keeps_its_name(course: Course) -> None:
    """The only folder of a download is not mistaken for an outer folder around the students' folders."""
    report = collect_files(course, {f"zoe/{BOOK}": "x"})
    assert (["zoe"], True) == ([entry.label for entry in report.unmatched], report.attention)


MOODLE = {
    f"Ada Lovelace_7_assignsubmission_file_/{BOOK}": "ada",
    f"Alan Turing_8_assignsubmission_file_/{BOOK}": "alan",
}
SHEET = (
    'Identifier,Full name,Grade,"Last modified (submission)"\n'
    'Participant 7,Ada Lovelace,,"Thursday, 12 February 2026, 10:20 AM"\nParticipant 8,Alan Turing,,-\n'
)
ILIAS = {
    f"Lovelace_Ada_alovelace_310/20260212102030_{BOOK}": "ada",
    f"Turing_Alan_aturing_311/20260212102030_{BOOK}": "alan",
}


@pytest.mark.parametrize(
    ("files", "has_zone", "has_worksheet", "who", "advice", "not_said"),
    [
        (MOODLE, False, False, "s1001, s1002", ("--worksheet FILE", 'zone = "Europe/Berlin"'), ()),
        (MOODLE, True, False, "s1001, s1002", ("--worksheet FILE",), ("zone",)),
        (MOODLE, False, True, "s1001, s1002", ('zone = "Europe/Berlin"',), ("--worksheet",)),
        (MOODLE, True, True, "s1002", ("grades.csv has no time for them",), ("zone", "--worksheet")),
        (ILIAS, False, False, "s1001, s1002", ('zone = "Europe/Berlin"',), ("orksheet",)),
        (ILIAS, True, False, "", (), ()),
        ({f"s1001/{BOOK}": "ada"}, False, False, "s1001", ("--from nbgrader",), ("orksheet", "zone")),
        ({f"lovelaceada_4001_9001_{BOOK}": "ada"}, False, False, "s1001", (), ("orksheet", "zone")),
    ],
    ids=[
        "Moodle alone",
        "Moodle with a zone",
        "Moodle with a worksheet",
        "Moodle with both",
        "ILIAS alone",
        "ILIAS with a zone",
        "folders",
        "Canvas",
    ],
)
def test_who_has_no_time_is_named_with_what_helps(
    course: Course,
    *,
    files: dict[str, str],
    has_zone: bool,
    has_worksheet: bool,
    who: str,
    advice: tuple[str, ...],
    not_said: tuple[str, ...],
) -> None:
    """Missing times are reported with advice for this platform, omitting steps that were already taken."""
    (course.root / "collect.toml").write_text('zone = "Europe/Berlin"\n' if has_zone else "")
    (course.root / "grades.csv").write_text(SHEET)
    report = collect_files(
        course, files, **({"worksheet": course.root / "grades.csv"} if has_worksheet else {})
    )
    assert bool(who) == len(report.remarks)
    for remark in report.remarks:
        assert f"download.zip: no submission time for {who} ({who.count(',') + 1})." in remark
        assert all(part in remark for part in advice)
        assert not any(part in remark for part in not_said)
