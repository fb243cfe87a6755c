"""Trials, bench, requests, sheets and groups in a real browser, in both languages."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import TimeoutError as NotInTime

from autograder.grading.assignment import Assignment
from tests.service import course, told
from tests.service.room import Room, room_of
from tests.support import essays
from tests.support.thorough import rotating
from tests.web.browser.reader import Reader
from tests.web.people import Small
from tests.web.test_trial_pages import address, tried

if TYPE_CHECKING:
    from autograder.service.bench import Bench
    from autograder.service.models import CourseRecord

pytestmark = pytest.mark.apart

LANGUAGES = pytest.mark.parametrize("language", rotating(["en", "de"], 2))


@pytest.fixture
def class_(service_course: CourseRecord, essays_loaded: Assignment) -> Room:
    """Return the class of essays without any marks."""
    return room_of(service_course, essays_loaded)


@pytest.fixture
def bench(service_database: object) -> Iterator[Bench]:
    """Provide a bench and configure the service to use it."""
    from django.conf import settings
    from django.test import override_settings
    from msgspec.structs import replace

    from autograder.service.bench import Bench as Made

    with Made() as new_bench, override_settings(RUNNING=replace(settings.RUNNING, bench=new_bench)):
        yield new_bench


def tries(visitor: Reader, source: str, shown: str) -> None:
    """Submit an input until the notebook is ready and the result is shown."""
    result = visitor.page.locator("#bench-tries article", has_text=shown).first
    for _ in range(20):
        visitor.page.locator("#bench-source").fill(source)
        visitor.page.locator("#bench form[method=post] > p > button").first.click()
        with contextlib.suppress(NotInTime):
            result.wait_for(timeout=5_000)
            return
    result.wait_for()


@LANGUAGES
def test_a_trial_by_keys(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """The key d drops a trial, and a applies one."""
    for student in ("ada", "bob"):
        course.handed_in(at.offer, student, course.released(at.folder))
    course.graded_without_a_box(at.offer)
    visitor = reader(locale=language)
    visitor.is_known(at, "instructor")
    for key, settled in (("d", "dropped"), ("a", "applied")):
        trial = tried(at)
        visitor.goto(address(at, trial))
        visitor.looks(f"trial-{key}")
        with visitor.page.expect_navigation():
            visitor.page.keyboard.press(key)
        trial.refresh_from_db()
        assert settled == trial.settled
        visitor.goto(address(at, trial))
        visitor.looks(f"trial-{settled}")


@LANGUAGES
def test_items_are_changed_by_keys(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """From an answer to the form, past a refused number, to the trial of the new version."""
    from autograder.service.models import CellMark

    course.handed_in(at.offer, "ada", course.answered(at.folder, thoughts="Ada thinks."))
    course.graded_without_a_box(at.offer)
    row = CellMark.objects.get(place__course=at.record, student="ada", place__cell="thoughts")
    one = reader(locale=language)
    one.is_known(at, "head-ta")
    one.goto(f"{at.base}staff/a/small/mark/answers/{row.pk}/")
    one.looks("items-link")
    form = f"mark/{row.place_id}/items/"
    one.page.locator(f'a[href$="{form}"]').focus()
    with one.page.expect_navigation():
        one.page.keyboard.press("Enter")
    one.looks("items-form")

    def save(points: str, status: int = 0) -> None:
        one._expected = status
        one.page.locator("#id_items-0-points").focus()
        one.page.keyboard.press("Control+A")
        one.page.keyboard.type(points)
        with one.page.expect_navigation():
            one.page.keyboard.press("Enter")

    save("NaN", 422)
    assert "NaN" == one.page.locator("#id_items-0-points").input_value()
    one.looks("items-refused")
    save("2,5")
    assert "/staff/trials/" in one.page.url
    one.looks("items-trial")
    trial = at.offer.trials.get()
    assert b"points = 2.5" in one.page.request.get(f"{address(at, trial)}rubric.toml").body()


@LANGUAGES
def test_the_bench_beside_an_answer(
    at: Small, bench: Bench, reader: Callable[..., Reader], language: str
) -> None:
    """The bench page works with and without JavaScript, for values, output and errors."""
    attempt = course.handed_in(at.offer, "ada", course.answered(at.folder))
    course.graded_without_a_box(at.offer)
    place = f"{at.base}staff/a/small/bench/{attempt.pk}?notebook=code"
    bench.open_notebook(attempt, "code")
    visitor = reader(locale=language)
    visitor.is_known(at, "head-ta")
    visitor.goto(place)
    tries(visitor, "1 + 41", "42")
    tries(visitor, "print('out')", "out")
    tries(visitor, "nothing_there", "NameError")
    visitor.looks("bench")
    plain = reader(locale=language, java_script_enabled=False)
    plain.is_known(at, "ta")
    plain.goto(place)
    for _ in range(20):
        plain.page.locator("#bench-source").fill("40 + 2")
        plain.click(plain.page.locator("#bench form[method=post] > p > button").first)
        if "42" in plain.text():
            break
    assert "42" in plain.text()


@LANGUAGES
def test_the_bench_in_the_marking_page(
    at: Small, bench: Bench, reader: Callable[..., Reader], language: str
) -> None:
    """The bench opens within the page and works, and keys typed into it do not mark the answer."""
    from autograder.service.models import CellMark

    attempt = course.handed_in(at.offer, "ada", course.answered(at.folder))
    course.graded_without_a_box(at.offer)
    row = CellMark.objects.get(place__course=at.record, student="ada", place__cell="softmax")
    row.answered = True  # as if grading left the code to manual review
    row.save()
    bench.open_notebook(attempt, row.place.notebook)
    visitor = reader(locale=language)
    visitor.is_known(at, "ta")
    visitor.goto(f"{at.base}staff/a/small/mark/answers/{row.pk}/")
    visitor.page.locator("details.bench summary").click()
    visitor.page.locator("#bench-source").wait_for()
    visitor.page.locator("#bench-source").press_sequentially("np za")
    tries(visitor, "2 + 3", "5")
    visitor.looks("bench-inside")
    assert f"answers/{row.pk}/" in visitor.page.url
    assert CellMark.objects.get(pk=row.pk).marked_by is None


@LANGUAGES
def test_groups_by_the_slider_and_a_conflict(
    class_: Room, essays_loaded: Assignment, reader: Callable[..., Reader], language: str
) -> None:
    """Groups are marked by keys, and conflicts are shown."""
    from autograder.service.marking import consistency, groups

    people = Small(class_.offer.course, class_.offer, essays_loaded.course.root)
    head = people.account("head-ta")
    assert head is not None
    groups.merge_answers(class_.place(), [class_.row(name).pk for name in ("cem", "dia")], head)
    base = f"{people.base}staff/a/{essays.NAME}/mark/"
    visitor = reader(locale=language)
    visitor.is_known(people, "head-ta")
    visitor.goto(f"{base}{class_.place().pk}/groups/")
    visitor.page.locator("#near").press("ArrowRight")
    visitor.click(visitor.page.locator("form.row button"))
    assert "near=0.2" in visitor.page.url
    visitor.looks("groups")
    visitor.goto(f"{base}answers/{class_.row('cem').pk}/group")
    for key in ("p", "?", "f"):
        visitor.page.keyboard.press(key)
    visitor.looks("group-variants")
    visitor.page.keyboard.press("1")
    visitor.page.keyboard.press("0")
    with visitor.page.expect_navigation():
        visitor.page.keyboard.press("n")
    assert ["1", "1"] == [class_.row(name).points for name in ("cem", "dia")]
    consistency.set_plan(class_.place(), twice_percent=100, by=head)
    class_.save("eva", "a", items={"claim": "2", "reason": "1"}, comment="A long reason.")
    class_.save("eva", "b", items={"claim": "0", "reason": "1"})
    visitor.goto(f"{base}answers/{class_.row('eva').pk}/")
    visitor.looks("conflict")
    visitor.goto(base)
    visitor.looks("queue")
    visitor.goto(f"{base}consistency/")
    visitor.looks("consistency-conflict")
    essays.recorded(class_.offer, essays_loaded, [("dia", {"scale": "Another text now."})])
    visitor.goto(f"{base}answers/{class_.row('dia').pk}/")
    visitor.looks("again")
    visitor.page.locator('input[name="points-claim"]').fill("7")
    visitor._expected = 409
    visitor.click(visitor.page.locator('button[name="then"][value="stay"]'))
    visitor.looks("refused")


@LANGUAGES
def test_sheets(
    class_: Room, essays_loaded: Assignment, reader: Callable[..., Reader], language: str, tmp_path: Path
) -> None:
    """A sheet is checked in a dry run, saved, and rejected with reasons."""
    people = Small(class_.offer.course, class_.offer, essays_loaded.course.root)
    visitor = reader(locale=language)
    visitor.is_known(people, "ta")
    page = f"{people.base}staff/a/{essays.NAME}/"
    sheet = people.client("ta").get(f"{page}mark/sheet.csv").content.decode("utf-8-sig")
    header, *rows = csv.reader(sheet.splitlines())
    at = header.index("points")
    sent = tmp_path / "marks.csv"
    for name, value in (("tried", "1"), ("refused", "99"), ("entered", "1")):
        with sent.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *([*row[:at], value, *row[at + 1 :]] for row in rows)])
        visitor.goto(f"{page}mark/")
        visitor.page.locator("#sheet > summary").click()
        visitor.page.set_input_files("#sheet-file", sent)
        visitor.page.locator("#sheet-try").set_checked(name == "tried")
        visitor.click(visitor.page.locator("form[enctype] button"))
        visitor.looks(f"sheet-{name}")
    assert "2" == class_.row("ada").points


@LANGUAGES
def test_requests(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """A student makes a request, and a TA answers it on its page."""
    lost = told.told("mlp", "formula", told.UNKNOWN, "1"), told.told("places", "scored", told.UNKNOWN)
    for who in ("ada", "bob"):
        told.graded(at.offer, at.folder, who, *lost)
    told.published(at.offer)
    student, visitor = reader(locale=language), reader(locale=language)
    student.is_known(at)
    student.goto(f"{at.base}a/small/feedback/")
    student.page.locator("main details summary").first.click()
    student.page.locator("textarea").first.fill("Please look again.")
    student.click(student.page.locator("details[open] form button").first)
    student.looks("student-requests")
    request: Any = at.offer.requests.latest("pk")
    visitor.is_known(at, "ta")
    visitor.goto(f"{at.base}staff/requests/{request.pk}/")
    visitor.looks("request-open")
    visitor.page.locator("textarea").fill("We looked.")
    visitor.click(visitor.page.locator("main form:not(.inline) button").last)
    visitor.looks("requests-answered")
