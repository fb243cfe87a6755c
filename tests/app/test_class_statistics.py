"""Statistics and similarity of a class: figures, pages as files, and anonymity."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from autograder.app.class_statistics import as_plain, compute_class_statistics, write_page
from autograder.app.similarity import find_similar
from autograder.app.similarity import write_page as write_pairs
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.grades import PersonMark
from autograder.store.memory import MemoryStore
from tests.app.test_classes import opening
from tests.pages.test_render import Page
from tests.store.examples import keep
from tests.support import essays

ANSWERS = {
    "ada": {"scale": "I am Ada Lovelace: variance grows with the width.", "width-answer": "width = 64"},
    "alan": {"scale": "Gradients vanish for large scores.", "width-answer": "width = 32  # alan"},
    "emmy": {"scale": "It saturates.", "width-answer": "width = 32"},
    "kurt": {"width-answer": "width = 128"},
}


class Made(msgspec.Struct, frozen=True, eq=False):
    """A class of essays, submitted and graded in memory."""

    course: Course
    assignment: Assignment
    store: MemoryStore


@pytest.fixture(scope="module")
def class_(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a class of four students, with a manual mark for Ada's reason."""
    course = Course.from_folder(essays.essays(tmp_path_factory.mktemp("statistics") / "course"))
    (course.root / "roster.csv").write_text(
        "id,first_name,last_name\nada,Ada,Lovelace\nalan,Alan,Turing\nemmy,Emmy,Noether\nkurt,Kurt,Gödel\n",
        "utf-8",
    )
    assignment, store = assignments.load_assignment(course, essays.NAME), MemoryStore()
    store.prepare_assignment(assignment.rubric, assignment.release_bytes)
    for student, answers in ANSWERS.items():
        folder = course.root / "submitted" / student / essays.NAME
        folder.mkdir(parents=True)
        (folder / f"{essays.NAME}.ipynb").write_bytes(essays.handed(assignment, answers))
        keep(store, essays.graded(assignment, student, answers), assignment.rubric)
    items = {"claim": Decimal(2), "reason": Decimal("0.5")}
    store.give_mark(essays.NAME, "ada", (essays.NAME, "scale"), PersonMark(Decimal("2.5"), items=items))
    return Made(course, assignment, store)


def test_figures_of_a_class(class_: Made) -> None:
    """Figures combine automatic and manual marks; open answers are counted as open."""
    statistics = compute_class_statistics(class_.course, essays.NAME, store=opening(class_.store))
    assert 4 == statistics.figures.students
    plain = as_plain(statistics)
    by_name = {(item["question"], item["item"]): item for item in plain["items"]}
    assert (2, 2, 1, 0.5) == tuple(
        by_name["scale", "claim"][name] for name in ("students", "open", "mean", "difficulty")
    )
    assert (4, Decimal("0.25"), 1, 3) == tuple(
        by_name["width", "number"][name] for name in ("students", "mean", "full", "none")
    )
    assert 4 == plain["students"]
    assert 4 == len(plain["points"])


def test_nobody_is_named_unless_it_is_asked_for(class_: Made) -> None:
    """Page and JSON contain no id or name unless requested.

    With names, the page links to each student's page.
    """
    statistics = compute_class_statistics(class_.course, essays.NAME, store=opening(class_.store))
    path = write_page(class_.course, statistics)
    assert class_.course.root / "staff" / "essays-statistics.html" == path
    page = path.read_text("utf-8")
    everything = page + json.dumps(as_plain(statistics), default=str)
    for name in ("ada", "alan", "emmy", "kurt", "Lovelace", "Turing"):
        assert not re.search(rf"\b{name}\b", everything, re.IGNORECASE), name
    assert "width = 32" in page
    named = write_page(
        class_.course,
        compute_class_statistics(class_.course, essays.NAME, names=True, store=opening(class_.store)),
    ).read_text("utf-8")
    assert '<a href="../feedback/ada/essays/essays.html">ada</a>' in named


def test_one_script_runs_on_the_page_and_nothing_is_fetched(class_: Made) -> None:
    """The content security policy allows only one script, by its digest."""
    import base64
    import hashlib

    statistics = compute_class_statistics(class_.course, essays.NAME, store=opening(class_.store))
    source = write_page(class_.course, statistics).read_text("utf-8")
    page = Page(source)
    (policy,) = [
        attributes["content"] or "" for tag, attributes in page.elements if attributes.get("http-equiv")
    ]
    scripts = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert [f"script-src 'sha256-{digest}'"] == [
        directive for directive in policy.split("; ") if "script" in directive
    ]
    assert 1 == len(scripts)
    assert policy.startswith("default-src 'none'")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_a_class_that_nobody_graded_has_no_statistics(tmp_path: Path, class_: Made) -> None:
    """The error for a class without results says which command to run."""
    course = Course.from_folder(essays.essays(tmp_path / "course"))
    (course.root / "submitted").mkdir()
    with pytest.raises(CourseError, match="run: autograder grade essays"):
        compute_class_statistics(course, essays.NAME)


def test_works_are_compared_as_they_were_handed_in(class_: Made) -> None:
    """Submissions can be compared before grading; unreadable ones are reported and skipped."""
    answers = {"scale": "Zebras graze near the river, because lions cannot swim there. So they are safe."}
    copied = {"width-answer": "zebra = [lion * 3 + river(at) for at in range(7)]\nwidth = sum(zebra) // 64"}
    hidden = {"width-answer": "k=[l*3+r(i) for i in range(7)]\n# die Breite\nwidth = sum( k )//64"}
    for student, text in (("max", answers | copied), ("mia", answers | hidden), ("eve", {})):
        folder = class_.course.root / "submitted" / student / essays.NAME
        folder.mkdir(parents=True, exist_ok=True)
        data = essays.handed(class_.assignment, text) if text else b"{ no notebook"
        (folder / f"{essays.NAME}.ipynb").write_bytes(data)
    comparison = find_similar(class_.course, essays.NAME, most=2)
    assert ("max", "mia") == comparison.pairs[0].students
    assert ["eve: essays is not compared:"] == [str(remark)[:28] for remark in comparison.remarks]
    page = write_pairs(class_.course, comparison).read_text("utf-8")
    assert "never a verdict" in page
    assert "not compared" in page
    assert 'href="../feedback/max/essays/essays.html"' in page
    lecture = class_.course.root / "lecture.py"
    lecture.write_text(copied["width-answer"], "utf-8")
    second_comparison = find_similar(class_.course, essays.NAME, known_files=[lecture])
    (first,) = [pair for pair in second_comparison.pairs if pair.students == ("max", "mia")]
    assert "code" not in {part.name for part in first.parts}
    for student in ("max", "mia", "eve"):
        (class_.course.root / "submitted" / student / essays.NAME / "essays.ipynb").unlink()
        (class_.course.root / "submitted" / student / essays.NAME).rmdir()


def test_what_everybody_had_must_be_readable(class_: Made, tmp_path: Path) -> None:
    """A missing hand-out or one of the wrong type is rejected with its name."""
    with pytest.raises(CourseError, match=r"gone\.py"):
        find_similar(class_.course, essays.NAME, known_files=[tmp_path / "gone.py"])
    other = tmp_path / "slides.pdf"
    other.write_bytes(b"%PDF")
    with pytest.raises(CourseError, match=r"expected a notebook \(.ipynb\) or a module \(.py\)"):
        find_similar(class_.course, essays.NAME, known_files=[other])
