"""A scripted course, run as an instructor runs it: `scripted_term`.

Each step runs commands and pairs their results with the expectations of `scripted_class`. The files are in
Moodle's formats: a list of participants, and two downloads for each assignment. Each download is an archive
and a grading worksheet.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder.course import Course
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
from tests.cli.scripted_class import (
    CALLED_OTHERWISE,
    CALLING,
    COPIED,
    DOWNLOADS,
    ENDS,
    HOUR,
    MARKED,
    MOST_SLIP_DAYS,
    POSSIBLE,
    SLIP_DAYS,
    SMALL,
    Attempt,
    Group,
    ScriptedClass,
    Student,
    answers_of,
)
from tests.support import small_course
from tests.support.calling_course import calling_course
from tests.support.downloads import written

GUEST = "Guest Auditor"
"""Submits as well, but is not on the class list."""
REASON = "13 can be read into the question."
WORTH_13 = "0.75"
"""After the change of the rubric."""
_COLLECT = 'zone = "Europe/Berlin"\n'
_EXAMS = f"""\
[course]
zone = "Europe/Berlin"
grace_minutes = 10
late = "penalty"
penalty = {{ per_day = 10, cap = 50, closed_after_hours = 168 }}

[course.slip_days]
days = {SLIP_DAYS}
most = {MOST_SLIP_DAYS}

[{SMALL}]
end = {ENDS[SMALL].isoformat()}

[{CALLING}]
end = {ENDS[CALLING].isoformat()}

[{CALLING}.penalty]
closed_after_hours = 168
steps = [{{ after_hours = 0, take = 5 }}, {{ after_hours = 24, take = 20 }}]
"""
_SHEET = (
    *("Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum grade"),
    *("Last modified (submission)", "Feedback comments"),
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs a command of ours, as `tests.cli.running.run` does."""


class MarkedSheet(Struct, frozen=True):
    """A sheet that was exported, filled in and imported."""

    exported: int
    """Exit code."""
    counts: Mapping[tuple[str, str], int]
    """By cell and answer, the number of students with it."""
    imported: int
    """Exit code."""
    report: Mapping[str, Any]
    """The imported marks."""


class ScriptedFiles(Struct, frozen=True):
    """The folder of the course and its downloads."""

    course: Path
    downloads: Path

    def archive(self, name: str, download: int) -> Path:
        """Return the path of the archive of submissions."""
        return self.downloads / f"{name}-{download}.zip"

    def worksheet(self, name: str, download: int) -> Path:
        """Return the path of the grading worksheet of that moment."""
        return self.downloads / f"{name}-{download}.csv"

    @property
    def participants(self) -> Path:
        """Return the path of the list of participants."""
        return self.downloads / "participants.csv"

    # The four commands that tests/survival kills as well.

    def collect(self, name: str, download: int) -> tuple[str, ...]:
        """Return the command that collects a download."""
        sources = str(self.archive(name, download)), "--worksheet", str(self.worksheet(name, download))
        return "collect", name, *sources

    def grade(self, name: str) -> tuple[str, ...]:
        """Grade the class."""
        return "grade", name, "--workers", "2"

    def regrade(self, name: str) -> tuple[str, ...]:
        """Return the command that applies a regrade, also to published marks."""
        return "regrade", name, "--apply", "--published", "--reason", REASON, "--workers", "2"

    def export(self, name: str, to: Path) -> tuple[str, ...]:
        """Return the command that fills in the last worksheet and packs the pages."""
        fill = "--fill", str(self.worksheet(name, 1))
        pages = "--feedback", str(to.with_suffix(".zip"))
        return "grades", name, "--format", "moodle", *fill, "--to", str(to), *pages, "--comments"

    def change_rubric(self) -> None:
        """Increase the points for 13 layers."""
        small_course.changed(
            self.course / "rubrics" / f"{SMALL}.toml",
            "when = 13\npoints = 0.5",
            f"when = 13\npoints = {WORTH_13}",
        )

    def mark(self, run: Run) -> MarkedSheet:
        """Mark every written answer on a grouped sheet, as in `scripted_class.MARKED`."""
        sheet, here = self.downloads / "marks.csv", ("--course", str(self.course))
        exported = run("mark", "export", SMALL, "--to", str(sheet), "--waiting", "--groups", *here)
        rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"))))
        counts = {(row["cell"], row["answer"]): int(row["count"]) for row in rows}
        for row in rows:
            row |= {"points": MARKED[row["answer"]], "comment": f"{row['answer']} Read."}
        _rows(sheet, list(rows[0]), [list(row.values()) for row in rows])
        imported = run("mark", "import", str(sheet), *here, "--json")
        return MarkedSheet(exported.returncode, counts, imported.returncode, json.loads(imported.stdout))


# ---------------------------------------------------------------- files


def make_files(folder: Path, class_: ScriptedClass) -> ScriptedFiles:
    """Write the course with both assignments released, and all downloads, into a folder."""
    files = ScriptedFiles(folder / "course", folder / "downloads")
    files.downloads.mkdir(parents=True)
    small_course.small_course(files.course)
    calling_course(files.course)
    generate_release(Course.from_folder(files.course), SMALL)
    (files.course / "collect.toml").write_text(_COLLECT)
    extensions = [
        f"\n[{name}.{group.way.extended_for}.{who}]\nend = {(ENDS[name] + group.way.extended).isoformat()}\n"
        for name, groups in class_.groups.items()
        for group in groups
        if group.way.extended_for
        for who in [group.name if group.way.extended_for == "groups" else group.members[0].id]
    ]
    (files.course / "exams.toml").write_text(_EXAMS + "".join(extensions))
    _rows(
        files.course / "groups.csv",
        ("group", "student", "assignment"),
        [
            (group.name, student.id, name)
            for name, groups in class_.groups.items()
            for group in groups
            for student in group.members
        ],
    )
    listed = [(person.first_name, person.last_name, person.id, _email(person)) for person in class_.students]
    _rows(files.participants, ("First name", "Last name", "ID number", "Email address"), listed)
    for name in class_.groups:
        release = files.course / "release" / name
        books = {path.name: path.read_bytes() for path in sorted(release.glob("*.ipynb"))}
        for download in range(len(DOWNLOADS)):
            latest = class_.latest(name, download)
            written(files.archive(name, download), _archive(class_, name, latest, books))
            _rows(files.worksheet(name, download), _SHEET, _sheet(class_, name, latest))
    return files


def _rows(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def _email(student: Student) -> str:
    return f"{student.id}@example.org"


def _called(class_: ScriptedClass, student: Student) -> str:
    return CALLED_OTHERWISE if student is class_.students[0] else student.name


def _archive(
    class_: ScriptedClass,
    name: str,
    latest: dict[Student, tuple[Group, Attempt]],
    books: dict[str, bytes],
) -> dict[str, bytes]:
    """Write the archive of everyone's last attempt with Moodle's file names."""
    files = {
        f"{_called(class_, student)}_{student.number}_assignsubmission_file_/{book}": with_sources(
            data, answers_of(name, group, attempt)
        )
        for student, (group, attempt) in latest.items()
        for book, data in books.items()
    }
    guest = f"{GUEST}_6999_assignsubmission_file_"
    return {**files, **{f"{guest}/{book}": data for book, data in books.items()}}


def _sheet(
    class_: ScriptedClass, name: str, latest: dict[Student, tuple[Group, Attempt]]
) -> Iterator[tuple[str, ...]]:
    for student in class_.students:
        moment = ENDS[name] + latest[student][1].after if student in latest else None
        identity = ("", "") if student is class_.students[0] else (student.id, _email(student))
        yield (
            f"Participant {student.number}",
            _called(class_, student),
            *identity,
            "Submitted for grading" if moment else "No submission",
            "",
            f"{POSSIBLE[name]}.00",
            f"{moment:%A, {moment.day} %B %Y, %I:%M %p}" if moment else "-",
            "",
        )


# ---------------------------------------------------------------- steps


class ScriptedStep(Struct, frozen=True):
    """One step: expected and actual results."""

    name: str
    seconds: float
    foreseen: Any
    actual: Any


def scripted_term(files: ScriptedFiles, class_: ScriptedClass, run: Run) -> Iterator[ScriptedStep]:
    """Run the course step by step.

    Args:
        files: the files written by `make_files`.
        class_: the class that submits.
        run: function that runs a command.
    """
    script = _Script(files, class_, run)
    small, calling = f"{SMALL}: ", f"{CALLING}: "
    steps: tuple[tuple[str, Callable[[], tuple[Any, Any]]], ...] = (
        ("the class list", script.roster),
        (small + "the first download, with a name that fits nobody", lambda: script.first_download(SMALL)),
        (small + "the same, after it is said who that is", script.first_download_again),
        (small + "the second download", lambda: script.second_download(SMALL)),
        (small + "grading", lambda: script.grade(SMALL)),
        (small + "a person's marks, on a sheet", script.marks),
        (small + "grades", lambda: script.grades(SMALL)),
        (small + "pages, published", lambda: script.publish(SMALL)),
        (small + "statistics", script.statistics),
        (small + "a regrading, on trial", script.regrade_on_trial),
        (small + "a regrading that is refused", script.regrade_refused),
        (small + "the regrading", script.regrade),
        (small + "grades after it", lambda: script.grades(SMALL, WORTH_13)),
        (small + "pages after it", script.pages_after),
        (small + "the worksheet", lambda: script.export(SMALL, WORTH_13)),
        (calling + "the first download", lambda: script.first_download(CALLING)),
        (calling + "the second download", lambda: script.second_download(CALLING)),
        (calling + "grading", lambda: script.grade(CALLING)),
        (calling + "works that are alike", script.similar),
        (calling + "grades", lambda: script.grades(CALLING)),
        (calling + "pages, published", lambda: script.publish(CALLING)),
        (calling + "the worksheet", lambda: script.export(CALLING)),
        ("the course's totals", script.totals),
    )
    for name, step in steps:
        started = time.monotonic()
        foreseen, actual = step()
        yield ScriptedStep(name, time.monotonic() - started, foreseen, actual)


class _Script:
    """The steps; each returns expected and actual results."""

    def __init__(self, files: ScriptedFiles, class_: ScriptedClass, run: Run) -> None:
        self._files, self._class, self._run = files, class_, run

    def _done(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run(*words, "--course", str(self._files.course))

    def _told(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run a command; return its exit code and the object that ``--json`` prints."""
        done = self._done(*words, "--json")
        assert done.stdout.startswith("{"), (words, done.returncode, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def roster(self) -> tuple[Any, Any]:
        """Import the class list: every student is new."""
        code, report = self._told("roster", str(self._files.participants))
        return (0, [student.id for student in self._class.students]), (code, report["added"])

    def first_download(self, name: str) -> tuple[Any, Any]:
        """Collect: all attempts are new except unmatched ones; students without a submission are listed."""
        students = self._class.students if name == CALLING else self._class.students[1:]
        states = {student.id: "new" for student in self._class.latest(name, 0) if student in students}
        strangers = {GUEST} | ({CALLED_OTHERWISE} if name == SMALL else set())
        return self._collected(name, 0, states, strangers)

    def first_download_again(self) -> tuple[Any, Any]:
        """Collect again: only the student who was not matched before is new."""
        with (self._files.course / "collect.toml").open("a") as file:
            file.write(f'[students]\n"{CALLED_OTHERWISE}" = "{self._class.students[0].id}"\n')
        states = {student.id: "unchanged" for student in self._class.latest(SMALL, 0)}
        return self._collected(SMALL, 0, {**states, self._class.students[0].id: "new"}, {GUEST})

    def second_download(self, name: str) -> tuple[Any, Any]:
        """Collect the second download: later attempts are new and replace the earlier ones."""
        before = self._class.latest(name, 0)
        states = {
            student.id: "unchanged" if before.get(student) == last else "new"
            for student, last in self._class.latest(name, 1).items()
        }
        foreseen, collected = self._collected(name, 1, states, {GUEST})
        replaced = {
            student for student, last in before.items() if last != self._class.latest(name, 1)[student]
        }
        earlier = self._files.course.glob(f"earlier/*/{name}/*")
        return (foreseen, {student.id for student in replaced}), (
            collected,
            {path.parents[1].name for path in earlier},
        )

    def _collected(
        self, name: str, download: int, states: dict[str, str], strangers: set[str]
    ) -> tuple[Any, Any]:
        code, report = self._told(*self._files.collect(name, download))
        moments = {
            student.id: (ENDS[name] + attempt.after).isoformat()
            for student, (_, attempt) in self._class.latest(name, download).items()
            if student.id in states
        }
        found_moments = {
            attempt["student"]: _in_berlin(attempt["handed_in"]) for attempt in report["attempts"]
        }
        absent = [student.id for student in self._class.students if student.id not in states]
        return (1, states, moments, strangers, {}, absent), (
            code,
            {attempt["student"]: attempt["state"] for attempt in report["attempts"]},
            found_moments,
            {entry["called"] for entry in report["unmatched"]},
            report["refused"],
            report["absent"],
        )

    def grade(self, name: str) -> tuple[Any, Any]:
        """Grade: the result contains everyone's automatic points, without manual marks."""
        foreseen = {}
        for who, standing in self._class.stands(name).items():
            written = (
                {}
                if standing.is_refused
                else answers_of(name, standing.group, standing.group.way.attempts[standing.attempt])
            )
            by_people = sum((Decimal(MARKED.get(text, "0")) for text in written.values()), Decimal(0))
            foreseen[who] = float(standing.earned - by_people)
        code, report = self._told(*self._files.grade(name))
        return (0, foreseen, [], {}), (
            code,
            report["points"],
            report["held"],
            report["not graded for the name"],
        )

    def marks(self) -> tuple[Any, Any]:
        """Mark: equal answers share one row; afterwards every written answer has a mark."""
        texts = Counter(
            (cell, text)
            for standing in self._class.stands(SMALL).values()
            if not standing.is_refused
            for cell, text in answers_of(
                SMALL, standing.group, standing.group.way.attempts[standing.attempt]
            ).items()
            if text in MARKED
        )
        sheet = self._files.mark(self._run)
        return (0, texts, 0, [], sum(texts.values())), (
            sheet.exported,
            sheet.counts,
            sheet.imported,
            [*sheet.report["errors"], *sheet.report["refused"]],
            sum(change["answers"] for change in sheet.report["changes"]),
        )

    def grades(self, name: str, worth_13: str = "0.5") -> tuple[Any, Any]:
        """List grades: questions, late penalty and total of every group member."""
        possible, foreseen = POSSIBLE[name], {}
        for who, standing in self._class.stands(name, worth_13).items():
            questions = {question: float(points) for question, points in standing.questions.items()}
            sums = float(standing.late(possible)), float(standing.total(possible))
            foreseen[who] = (questions, *sums, "final", standing.group.name)
        code, report = self._told("grades", name)
        rows = {
            row["student"]: (
                row["questions"],
                row["late"],
                row["total"],
                row["state"],
                row["group"],
            )
            for row in report["students"]
        }
        return (0, foreseen), (code, rows)

    def publish(self, name: str) -> tuple[Any, Any]:
        """Publish: a page for every student with a result, and two for staff."""
        stands = self._class.stands(name)
        code, report = self._told("feedback", name, "--publish")
        pages = self._files.course.glob(f"feedback/*/{name}/{name}.html")
        return (0, len(stands) + 1, set(stands)), (
            code,
            report["pages"],
            {page.parents[1].name for page in pages},
        )

    def statistics(self) -> tuple[Any, Any]:
        """Compute statistics: the mean of the totals, and the figures of an item with a frequent mistake."""
        totals = self._class.totals(SMALL)
        layers = [
            standing.questions.get("layers", Decimal(0)) for standing in self._class.stands(SMALL).values()
        ]
        code, report = self._told("statistics", SMALL)
        [item] = [item_report for item_report in report["items"] if item_report["question"] == "layers"]
        mistakes = {mistake["code"]: mistake["students"] for mistake in item["mistakes"]}
        foreseen = (
            0,
            len(totals),
            _mean(list(totals.values())),
            sorted(map(float, totals.values())),
            (layers.count(Decimal(1)), layers.count(Decimal(0)), layers.count(Decimal("0.5"))),
            _mean(layers),
        )
        return foreseen, (
            code,
            report["students"],
            report["mean"],
            sorted(report["points"].values()),
            (item["full"], item["none"], mistakes.get("embedding-counted", 0)),
            item["mean"],
        )

    def _moves(self) -> dict[str, tuple[float, float]]:
        """Return old and new total of each student affected by the change of the rubric."""
        before, after = self._class.totals(SMALL), self._class.totals(SMALL, WORTH_13)
        return {who: (float(before[who]), float(after[who])) for who in before if before[who] != after[who]}

    def regrade_on_trial(self) -> tuple[Any, Any]:
        """Preview a regrade: students with 13 layers gain points, other totals and files are unchanged."""
        self._files.change_rubric()
        code, report = self._told("regrade", SMALL, "--dry-run", "--workers", "2")
        return (0, *self._regraded(), False), (code, *_moved(report), report["applied"])

    def _regraded(self) -> tuple[Any, ...]:
        moves = self._moves()
        same = len(self._class.stands(SMALL)) - len(moves)
        return moves, {"layers.number"}, {("rubric, layers.number: mistake changed",)}, same, len(moves), 0

    def regrade_refused(self) -> tuple[Any, Any]:
        """Try to regrade without a reason: published marks are not changed silently."""
        done = self._done("regrade", SMALL, "--apply", "--workers", "2")
        return (3, True), (done.returncode, "nothing was changed" in done.stderr)

    def regrade(self) -> tuple[Any, Any]:
        """Apply the regrade: it matches the preview, with one entry in the log."""
        code, report = self._told(*self._files.regrade(SMALL))
        log = (self._files.course / ".autograder" / "log.jsonl").read_text("utf-8").splitlines()
        entries = [json.loads(line) for line in log]
        moved = [set(entry["facts"]["moved"]) for entry in entries if entry["action"] == "regrade"]
        return (0, *self._regraded(), True, [set(self._moves())]), (
            code, *_moved(report), report["applied"], moved,
        )  # fmt: skip

    def pages_after(self) -> tuple[Any, Any]:
        """Rewrite pages: only pages with changed marks state the reason."""
        code, _ = self._told("feedback", SMALL)
        pages = self._files.course.glob(f"feedback/*/{SMALL}/{SMALL}.html")
        telling = {page.parents[1].name for page in pages if REASON in page.read_text("utf-8")}
        return (0, set(self._moves())), (code, telling)

    def export(self, name: str, worth_13: str = "0.5") -> tuple[Any, Any]:
        """Export: only grades and comments of the worksheet change; everyone's page is packed."""
        totals, to = self._class.totals(name, worth_13), self._files.downloads / f"{name}-filled.csv"
        code, report = self._told(*self._files.export(name, to))
        before, after = (_table(path) for path in (self._files.worksheet(name, 1), to))
        ids = {f"Participant {student.number}": student.id for student in self._class.students}
        kept = [column for column in _SHEET if column not in ("Grade", "Feedback comments")]
        grades = {ids[row["Identifier"]]: row["Grade"] for row in after}
        foreseen = {
            student.id: f"{totals[student.id]:.2f}" if student.id in totals else ""
            for student in self._class.students
        }
        commented = {ids[row["Identifier"]] for row in after if row["Feedback comments"]}
        packed = sorted(
            f"{_called(self._class, student)}_{student.number}_assignsubmission_file_/{name}.html"
            for student in self._class.students
            if student.id in totals
        )
        with zipfile.ZipFile(to.with_suffix(".zip")) as archive:
            pages = sorted(archive.namelist())
        return (0, foreseen, [], set(totals), _only(before, kept), packed), (
            code,
            grades,
            [*report["provisional"], *report["missing"]],
            commented,
            _only(after, kept),
            pages,
        )

    def similar(self) -> tuple[Any, Any]:
        """Compare submissions: the copied one is listed first."""
        groups = {group.profile: group for group in self._class.groups[CALLING]}
        stands = self._class.stands(CALLING)
        counts = {
            profile: group.who(group.way.attempts[stands[group.members[0].id].attempt]).id
            for profile, group in groups.items()
            if group.way.attempts
        }
        code, report = self._told("similar", CALLING)
        works = sum(bool(group.way.attempts) for group in self._class.groups[CALLING])
        return (0, works, {counts[profile] for profile in COPIED}), (
            code, report["works"], set(report["pairs"][0]["students"]),
        )  # fmt: skip

    def totals(self) -> tuple[Any, Any]:
        """Sum both assignments; a missing submission has no points."""
        small, calling = self._class.totals(SMALL, WORTH_13), self._class.totals(CALLING)
        foreseen = {
            student.id: float(small.get(student.id, Decimal(0)) + calling.get(student.id, Decimal(0)))
            for student in self._class.students
        }
        code, report = self._told("grades")
        points = {row["student"]: row["points"] for row in report["students"]}
        return (0, foreseen, {float(sum(POSSIBLE.values()))}, {True}), (
            code,
            points,
            {row["possible"] for row in report["students"]},
            {row["final"] for row in report["students"]},
        )


def _in_berlin(moment: str) -> str:
    """Return a UTC time in Berlin summer time, as `scripted_class` does."""
    return (datetime.fromisoformat(moment).replace(tzinfo=None) + 2 * HOUR).isoformat()


def _mean(points: Sequence[Decimal]) -> float:
    """Return the mean as statistics show it, with two decimals."""
    return float((sum(points, Decimal(0)) / len(points)).quantize(Decimal("0.01")))


def _moved(report: dict[str, Any]) -> tuple[Any, ...]:
    moves = {row["student"]: (row["before"], row["after"]) for row in report["moved"]}
    items = [item for row in report["moved"] for item in row["items"]]
    places = {f"{item['question']}.{item['item']}" for item in items}
    return (
        moves,
        places,
        {tuple(item["why"]) for item in items},
        report["same"],
        report["gain"],
        report["lose"],
    )


def _table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


def _only(rows: Sequence[dict[str, str]], columns: Sequence[str]) -> list[list[str]]:
    return [[row[column] for column in columns] for row in rows]
