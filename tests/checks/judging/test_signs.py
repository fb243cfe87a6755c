"""Signs that graders are told of: counted in the item's own part, in order, within a limit of time."""

from __future__ import annotations

import time

import pytest

from autograder.checks.judging import signs
from autograder.checks.judging.manual import sightings
from autograder.checks.judging.signs import Sighting, Sign, Sought, look
from autograder.errors import RubricError
from autograder.records import Status
from autograder.rubric.lines import line_of
from tests.checks.asking import answer, check_of, judge

ASKED = """
[[question]]
id = "q"
kind = "written"
points = 2
[[question.sign]]
id = "fruit"
text = { en = "a fruit" }
pattern = 'apples?|pear'
[[question.sign]]
id = "stone"
text = { en = "a stone", de = "Stein" }
pattern = 'pebble'
[[question.item]]
id = "first"
points = 1
manual = true
text = { en = "The first list" }
part = '^first:'
signs = { fruit = 2, stone = "some" }
order = ["stone", "fruit"]
[[question.item]]
id = "second"
points = 1
manual = true
text = { en = "The second list" }
part = '^second:'
signs = { fruit = 0 }
"""
QUESTION = check_of(ASKED).question  # type: ignore[attr-defined]
FIRST, SECOND = QUESTION.items
ENDLESS = r"(a+)+$"


def told(text: str) -> list[Sighting]:
    """What is told of the first item."""
    return list(sightings(QUESTION, FIRST, text))


def test_signs_are_counted_in_the_items_part() -> None:
    """What stands under another item's heading does not count, and each finding is told with its place."""
    text = "A pear.\nFirst: pebble, APPLES\nSecond: a pear\n"
    fruit, stone, order = told(text)
    assert (False, "1 found, expected 2") == (fruit.holds, fruit.note)
    assert ["APPLES"] == [text[start:end] for start, end in fruit.spans]
    assert [("Stein", True), ("in this order: Stein → a fruit", True)] == [
        (one.said(lambda text: text.get("de", text["en"])), one.holds) for one in (stone, order)
    ]
    (none,) = sightings(QUESTION, SECOND, text)
    assert (False, "1 found, expected none") == (none.holds, none.note)
    (none,) = sightings(QUESTION, SECOND, "First: pear\nSecond: nothing")
    assert (True, "none, as it should be") == (none.holds, none.note)


def test_a_part_may_be_written_in_pieces_and_in_any_order() -> None:
    """Every stretch below an item's heading belongs to it."""
    text = "second: pear\nfirst: pebble\nsecond: -\nfirst: apple, apple"
    assert [True, True, True] == [one.holds for one in told(text)]


def test_order_is_told() -> None:
    """One of each must stand behind one of the one before it; what is missing has no order."""
    assert [False, True] == [told(f"first: {text}")[-1].holds for text in ("pear pebble", "pear pebble pear")]
    assert told("first: pear")[-1].holds is False


@pytest.mark.parametrize("text", ["pear pebble pear", "", "second: pear", "first:"])
def test_without_its_heading_nothing_is_told(text: str) -> None:
    """Neither found nor missing: it is not known which text is meant."""
    assert [Sighting((), None, "no heading of its own in the answer")] == told(text)


def test_without_parts_the_whole_answer_counts() -> None:
    """An item that states no heading looks at everything."""
    whole = look("pear", Sought({"fruit": 1}), {"fruit": Sign("fruit", {"en": "a fruit"}, "pear")})
    assert [(True, ((0, 4),))] == [(one.holds, one.spans) for one in whole]


def test_an_endless_search_ends() -> None:
    """A pattern that would never come back is given up, as sign and as heading; others are still told."""
    text = ("a" * 1000 + "!") * 1000
    stated = {"slow": Sign("slow", {"en": "slow"}, ENDLESS), "quick": Sign("quick", {"en": "quick"}, "aaa!?")}
    begins = time.process_time()
    slow, quick = look(text, Sought({"slow": "some", "quick": "some"}), stated)
    (heading,) = look(text, Sought({"quick": 1}, (), "b", (ENDLESS,)), stated)
    assert time.process_time() - begins < 20 * signs.SECONDS
    assert [(None, "it took too long"), (True, ""), (None, "it took too long")] == [
        (one.holds, one.note) for one in (slow, quick, heading)
    ]
    assert len(quick.spans) <= 100


def test_many_slow_parts_share_one_limit() -> None:
    """An answer of eighty parts, each slow but not too slow, has no eighty times the time."""
    text = ("x" + "a" * 250 + "!") * 80
    begins = time.process_time()
    look(text, Sought({"slow": 1}, (), "x"), {"slow": Sign("slow", {"en": "slow"}, ENDLESS)})
    assert time.process_time() - begins < 10 * signs.SECONDS


def test_staff_read_signs_and_nobody_gets_points() -> None:
    """Found or not: the line waits for a person, is worth nothing yet, and tells the student the same."""
    found = judge(check_of(ASKED), answer("First: pebble, apple, pear", cell_type="markdown"))[0]
    missing = judge(check_of(ASKED), answer("First: nothing", cell_type="markdown"))[0]
    assert (
        "; found: a fruit (exactly 2); found: a stone; found: in this order: a stone → a fruit" in found.staff
    )
    assert "; not found: a fruit (0 found, expected 2); not found: a stone;" in missing.staff
    assert (Status.NEEDS_REVIEW, 0, 1) == (found.status, found.points, found.possible)
    assert (missing.status, missing.points, missing.student) == (found.status, found.points, found.student)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "pattern = 'pebble'",
            "patern = 'pebble'",
            "'q', sign 2: unknown key 'patern'; did you mean 'pattern'",
        ),
        ("pattern = 'pebble'", "", "sign 2: pattern: this key is missing"),
        (
            "pattern = 'pebble'",
            "pattern = 'pe(bble'",
            "sign 2: pattern: expected a regular expression: missing",
        ),
        ("pattern = 'pebble'", "pattern = '(pebble)?'", "sign 2: pattern: it is found in an empty text"),
        (
            "pattern = 'pebble'",
            f"pattern = '{'(' * 3000}'",
            "sign 2: pattern: this regular expression is too",
        ),
        ('id = "stone"', 'id = "fruit"', "sign 2: id: 'fruit' stands twice"),
        ('{ en = "a stone", de = "Stein" }', '{ de = "Stein" }', "sign 2: text: an English text is needed"),
        ("fruit = 0 ", "friut = 0 ", "item 'second': signs: no sign 'friut'; did you mean 'fruit'"),
        ("fruit = 0 ", "fruit = -1 ", "item 'second': signs"),
        ("fruit = 0 ", 'fruit = "many" ', "item 'second': signs"),
        ('["stone", "fruit"]', '["stone", "pear"]', "item 'first': order: no sign 'pear'"),
        ("part = '^second:'", "part = '^(second:'", "item 'second': part: expected a regular expression"),
        ("signs = { fruit = 0 }", 'signs = ["fruit"]', "item 'second': signs: expected a table"),
    ],
)
def test_slips_are_named(old: str, new: str, message: str) -> None:
    """Every slip names its place, what was expected and, where it can, what was meant; its line is found."""
    assert old in ASKED
    slip = ASKED.replace(old, new)
    with pytest.raises(RubricError) as caught:
        check_of(slip)
    assert message in str(caught.value)
    line = ASKED[: ASKED.index(old)].count("\n") + 1
    told = line_of(slip, caught.value.path)
    assert told is not None
    assert told == line or (told < line and ASKED.split("\n")[told - 1].startswith("[[question."))


def test_signs_belong_to_written_questions() -> None:
    """Another kind knows no such table, and its items can name no signs."""
    other = ASKED[: ASKED.index("[[question.sign]]")].replace('"written"', '"count"')
    item = ASKED[ASKED.index('[[question.item]]\nid = "second"') :].replace("points = 1", "points = 2")
    with pytest.raises(RubricError, match="no sign 'fruit'; known are: none"):
        check_of(f'{other}answer = "n"\n{item}')
