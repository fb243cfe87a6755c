"""An exam's title page is generated from the rubric; personal details on it are only stored."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import nbformat
import pytest
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import Cell, Markdown
from autograder.notebook.release_builder import build_release, fill_title_page
from autograder.notebook.submission_reader import read_details
from autograder.rubric import Rubric, parse_rubric
from autograder.rubric.lateness import Penalty, Terms
from autograder.rubric.timestamps import Window
from tests.authoring.demo.marking import EXAM, SOURCE, exam
from tests.rubric.test_exam import GOOD

BERLIN = ZoneInfo("Europe/Berlin")
WINDOW = Window(
    datetime(2026, 2, 12, 10, 0, tzinfo=BERLIN), datetime(2026, 2, 12, 11, 30, tzinfo=BERLIN), "Europe/Berlin"
)
RUBRIC = parse_rubric(GOOD.replace('name = "exam"', 'name = "exam"\nlanguages = ["en", "de"]').encode())


def filled(text: str, rubric: Rubric = RUBRIC, window: Window | None = None) -> str:
    """Return a filled cell of the title page."""
    return fill_title_page(text, rubric, window, "cell 1")


def title(language: str, window: Window | None = WINDOW) -> str:
    """Return the first cell of the shipped exam's release."""
    release = nbformat.reads(build_release(SOURCE.read_bytes(), exam(), EXAM, language, window).decode(), 4)
    return str(release.cells[0].source)


@pytest.mark.parametrize(("language", "words"), [("en", ("Sum", "Grade")), ("de", ("Summe", "Note"))])
def test_the_table_of_tasks_is_the_rubrics(language: str, words: tuple[str, str]) -> None:
    """Each task has a row with name, text, points and space for achieved points; then sum and grade."""
    lines = [line for line in title(language).splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    tasks = [[task.id, task.text[language], str(task.points), ""] for task in exam().assignment.tasks]
    total, grade = words
    assert [*tasks, ["", f"**{total}**", "**90**", ""], ["", f"**{grade}**", "", ""]] == rows[1:]


def test_without_grades_there_is_no_line_for_one() -> None:
    """Without grades, the title page has no row for the grade."""
    assert "Grade" not in filled("<!-- exam tasks en -->")
    assert "Sum" in filled("<!-- exam tasks en -->")


@pytest.mark.parametrize(
    ("language", "start", "end", "rule"),
    [
        (
            "en",
            "**Start:** 2026-02-12, 10:00",
            "**End:** 2026-02-12, 11:30 (Europe/Berlin)",
            "only one submission counts",
        ),
        (
            "de",
            "**Beginn:** 12.02.2026, 10:00 Uhr",
            "**Ende:** 12.02.2026, 11:30 Uhr",
            "Nur eine Abgabe zählt",
        ),
    ],
)
def test_the_first_cell_shows_the_times(language: str, start: str, end: str, rule: str) -> None:
    """Start and end are shown if the course states them; duration and submission rule always are."""
    text = title(language)
    assert "90 " in text
    assert [] == [wanted for wanted in (start, end, rule) if wanted not in text]
    without = title(language, None)
    assert rule in without
    assert "Europe/Berlin" not in without
    assert "<!--" not in text + without


def test_a_release_in_all_languages_has_each_in_its_own() -> None:
    """Each passage is filled in its own language."""
    text = title("")
    english, german = text.split("<!-- de -->")
    assert ("**Time allowed:**" in english, "**Bearbeitungszeit:**" in german) == (True, True)
    assert "Pre-trained language models" not in german


@pytest.mark.parametrize(
    "comment", ["<!-- exam task en -->", "<!-- exam tasks -->", "<!-- exam tasks fr -->", "<!-- exam -->"]
)
def test_a_misspelt_place_is_refused(comment: str) -> None:
    """A misspelt placeholder is refused, because the table would be missing."""
    with pytest.raises(NotebookError, match=r"cell 1: .* expected times or tasks, and one of en, de"):
        filled(f"# Title\n{comment}\n")


@pytest.mark.parametrize(
    ("wanted", "table"), [("times", r"\[assignment.exam\]"), ("tasks", r"\[\[assignment.task\]\]")]
)
def test_what_the_rubric_does_not_state_is_refused(wanted: str, table: str) -> None:
    """A placeholder for data that the rubric does not contain raises an error."""
    plain = parse_rubric(b"version = 1\n[assignment]\nname = 'x'\npoints = 0\n")
    with pytest.raises(NotebookError, match=f"the rubric has no {table}"):
        filled(f"<!-- exam {wanted} en -->", plain)


def test_details_are_read_without_running_anything() -> None:
    """Details are read from constants in the cells: the first non-empty value, in title page order."""
    cells = (
        Cell('programme = "NLP"\nfamily_name = "Löwe"\nfirst_name = ""', "setup", locked=True),
        Markdown('family_name = "Nobody"'),
        Cell('student_number = 123456\nfamily_name = "  Ada\\n Löwe "\nfirst_name = ""'),
        Cell('first_name = programme = "Zoe"\nfamily_name = "Other"'),
    )
    expected = {
        "family_name": "Ada Löwe",
        "first_name": "Zoe",
        "student_number": "123456",
        "programme": "Zoe",
    }
    assert expected == read_details(cells)
    assert list(expected) == list(read_details(cells))


@pytest.mark.parametrize(
    "source",
    [
        "family_name = open('/etc/passwd').read()",
        "family_name = f'{1/0}'",
        "family_name = 'a' * 10**9",
        "family_name = b'x'",
        "family_name = True",
        "family_name = 1" + "0" * 3000,
        "family_name = 'x",
        "family_name = " + "(" * 3000,
        "family_name = '" + "x" * 5000 + "'",
        "family_name\x00 = 'x'",
        "if True:\n    family_name = 'x'",
        "other = 'family_name'",
    ],
)
def test_whatever_else_stands_there_is_nothing(source: str) -> None:
    """Code is not run, and values other than short texts and numbers are ignored."""
    assert {} == read_details([Cell(source)])


def test_a_long_name_is_cut() -> None:
    """Names are cut to a hundred characters."""
    assert {"programme": "x" * 100} == read_details([Cell(f'programme = "{"x" * 300}"')])


@pytest.mark.parametrize(
    ("language", "own", "said"),
    [
        ("en", False, "- **Deadline:** 2026-02-12, 11:30 (Europe/Berlin). Any extension"),
        ("de", False, "- **Abgabefrist:** 12.02.2026, 11:30 Uhr (Europe/Berlin). Eine"),
        ("en", True, "- **Your deadline:** 2026-02-12, 11:30"),
        ("de", True, "- **Ihre Abgabefrist:** 12.02.2026, 11:30 Uhr"),
    ],
)
def test_a_deadline_alone_is_told_without_a_start(language: str, own: bool, said: str) -> None:
    """If the course states only an end, the title page omits the start."""
    text = filled(f"<!-- exam times {language} -->", window=Window(None, WINDOW.end, "Europe/Berlin", own))
    assert [True] == [line.startswith(said) for line in text.splitlines() if "11:30" in line]
    assert not {"Start", "Beginn"} & set(text.replace("*", " ").replace(":", " ").split())


COSTLY = Window(
    None,
    WINDOW.end,
    "Europe/Berlin",
    terms=Terms("penalty", penalty=Penalty(per_day=Decimal(10), cap=Decimal(50))),
)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "- **Late submission:** Late penalty: 10 percent of the possible points for each day"),
        ("de", "- **Verspätete Abgabe:** Abzug wegen Verspätung: 10 Prozent der möglichen Punkte für jeden"),
    ],
)
def test_what_being_late_costs_stands_on_the_title_page(language: str, said: str) -> None:
    """The late penalty is shown, also for homework with a deadline; without a rule it is an error."""
    text = filled(f"<!-- exam times {language} -->", window=COSTLY)
    assert [True] == [line.startswith(said) for line in text.splitlines() if "50" in line]
    homework = replace(RUBRIC, assignment=replace(RUBRIC.assignment, exam=None))
    lines = filled(f"<!-- exam times {language} -->", homework, COSTLY).splitlines()
    assert 2 == len(lines)
    assert lines[1].startswith(said)
    with pytest.raises(NotebookError, match="and no end is stated"):
        filled(f"<!-- exam times {language} -->", homework)
