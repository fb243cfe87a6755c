"""Marking by keys alone in a real browser, in both languages, and without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from autograder.grading.assignment import Assignment
from tests.service.room import Room, room_of
from tests.support import essays
from tests.support.thorough import rotating
from tests.web.browser.reader import HEIGHT, NARROW, WIDE, Reader
from tests.web.people import Small

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord

pytestmark = pytest.mark.apart

LANGUAGES = pytest.mark.parametrize("language", rotating(["en", "de"], 2))
ANSWERS = 30
BY_HAND = 5
"""Number of answers that are marked without JavaScript."""
_HAVE_ALL = """
items => items.map(item => item.querySelector('input:checked').value === item.dataset.points)
"""


@pytest.fixture
def class_(service_course: CourseRecord, essays_loaded: Assignment) -> Room:
    """Return a class with thirty different answers."""
    room = room_of(service_course, essays_loaded)
    texts = [
        (f"s{number:02}", {"scale": f"Answer number {number} about $d_k$."}) for number in range(ANSWERS - 5)
    ]
    essays.recorded(room.offer, essays_loaded, texts)
    return room


def of(room: Room, essays_loaded: Assignment) -> Small:
    """Return the users of the course."""
    return Small(room.offer.course, room.offer, essays_loaded.course.root)


def waits(visitor: Reader, key: str) -> None:
    """Press a key and wait for the next page."""
    with visitor.page.expect_navigation():
        visitor.page.keyboard.press(key)


@LANGUAGES
def test_thirty_answers_by_keys_alone(
    class_: Room, essays_loaded: Assignment, reader: Callable[..., Reader], language: str
) -> None:
    """Marking, comments, flags, navigation and undo work by keys, and each save is confirmed."""
    people = of(class_, essays_loaded)
    visitor = reader(locale=language)
    visitor.is_known(people, "ta")
    visitor.goto(f"{people.base}staff/a/{essays.NAME}/mark/")
    visitor.looks("marking")
    waits(visitor, "n")  # the first answer that waits
    visitor.looks("mark-answer")
    saves = visitor.page.locator('button[name="then"][value="next"]')
    for width, height in ((WIDE, 900), (NARROW, HEIGHT)):
        visitor.page.set_viewport_size({"width": width, "height": height})
        box = saves.bounding_box()
        assert box is not None
        assert 0 < box["y"] < box["y"] + box["height"] <= height, "it can be pressed without scrolling"
    visitor.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    keys = visitor.page.keyboard
    pressed = 0
    for number in range(ANSWERS):
        if number == 2:
            keys.press("Shift+A")
            assert visitor.page.locator("fieldset.item").evaluate_all(_HAVE_ALL) == [True, True]
            pressed += 1
        else:
            keys.press("2" if number % 3 else "h")
            keys.press("1" if number % 2 else "0")
            pressed += 2
        if number == 0:
            keys.press("c")
            keys.type("Say why: n p z 1.")
            keys.press("Escape")
            keys.press("s")
            assert visitor.page.locator("input[name=keep]").is_checked()
        if number == 1:
            keys.press("/")
            keys.type("why")
            keys.press("Enter")
            assert visitor.page.locator("button[name=then][value=next]").evaluate(
                "one => one === document.activeElement"
            )
            assert visitor.page.locator("#comment").input_value() == "Say why: n p z 1."
            keys.press("f")
        waits(visitor, "n")
        pressed += 1
        assert visitor.page.locator(".notice.success").is_visible()
    assert pressed == 3 * ANSWERS - 1
    assert class_.counts()["scale"][:3] == (0, 0, ANSWERS)
    assert class_.counts()["scale"][3] == 1
    visitor.goto(f"{people.base}staff/a/{essays.NAME}/mark/{class_.place().pk}/?which=done")
    waits(visitor, "z")
    assert class_.counts()["scale"][0] == 1
    waits(visitor, "p")
    visitor.page.keyboard.press("?")
    assert visitor.page.locator("details.keys").get_attribute("open") is not None
    visitor.looks("mark-help")


def test_without_a_script(class_: Room, essays_loaded: Assignment, reader: Callable[..., Reader]) -> None:
    """Buttons and fields do the same in more steps."""
    people = of(class_, essays_loaded)
    visitor = reader(java_script_enabled=False)
    visitor.is_known(people, "ta")
    visitor.goto(f"{people.base}staff/a/{essays.NAME}/mark/{class_.place().pk}/")
    for _ in range(BY_HAND):
        visitor.page.locator('input[name="choice-claim"]').nth(2).check()
        visitor.page.locator('input[name="points-reason"]').fill("0.5")
        visitor.click(visitor.page.locator('button[name="then"][value="next"]'))
        assert visitor.page.locator(".notice.success").is_visible()
    waiting, _, done, *_ = class_.counts()["scale"]
    assert (ANSWERS - BY_HAND, BY_HAND) == (waiting, done)


@LANGUAGES
def test_the_other_pages_can_be_read(
    class_: Room, essays_loaded: Assignment, reader: Callable[..., Reader], language: str
) -> None:
    """The pages about groups, consistency and statistics are accessible."""
    from autograder.service.marking import consistency

    people = of(class_, essays_loaded)
    head = people.account("head-ta")
    assert head is not None
    consistency.set_plan(class_.place(), twice_percent=20, by=head)
    for number in range(12):
        class_.save(f"s{number:02}", "x", items={"claim": "2", "reason": str(number % 2)})
    base = f"{people.base}staff/a/{essays.NAME}/mark/"
    visitor = reader(locale=language)
    visitor.is_known(people, "head-ta")
    for name, path in (
        ("groups", f"{class_.place().pk}/groups/?near=0.6"),
        ("group", f"answers/{class_.row('ada').pk}/group?near=0.6"),
        ("consistency", "consistency/"),
        ("statistics", "../statistics/"),
    ):
        visitor.goto(base + path)
        visitor.looks(f"mark-{name}")
