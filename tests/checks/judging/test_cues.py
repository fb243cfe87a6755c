"""Cues that graders are told of: counted in the item's own part, in order, within a limit of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from autograder.checks.judging import cues
from autograder.checks.judging.cues import Cue, CueMatch, CueSearch, find_cues
from autograder.checks.judging.manual import cue_matches
from autograder.errors import RubricError
from autograder.records import Status
from autograder.rubric.lines import line_of
from tests.checks.asking import answer, check_of, judge

ASKED = """
[[question]]
id = "q"
kind = "written"
points = 2
[[question.cue]]
id = "fruit"
text = { en = "a fruit" }
pattern = 'apples?|pear'
[[question.cue]]
id = "stone"
text = { en = "a stone", de = "Stein" }
pattern = 'pebble'
[[question.item]]
id = "first"
points = 1
manual = true
text = { en = "The first list" }
part = '^first:'
cues = { fruit = 2, stone = "some" }
order = ["stone", "fruit"]
[[question.item]]
id = "second"
points = 1
manual = true
text = { en = "The second list" }
part = '^second:'
cues = { fruit = 0 }
"""
QUESTION = check_of(ASKED).question  # type: ignore[attr-defined]
FIRST, SECOND = QUESTION.items
ENDLESS = r"(a+)+$"


def told(text: str) -> list[CueMatch]:
    """What is told of the first item."""
    return list(cue_matches(QUESTION, FIRST, text))


def test_cues_are_counted_in_the_items_part() -> None:
    """What stands under another item's heading does not count, and each finding is told with its place."""
    text = "A pear.\nFirst: pebble, APPLES\nSecond: a pear\n"
    fruit, stone, order = told(text)
    assert (False, "1 found, expected 2") == (fruit.holds, fruit.note)
    assert ["APPLES"] == [text[start:end] for start, end in fruit.spans]
    assert [("Stein", True), ("in this order: Stein → a fruit", True)] == [
        (one.said(lambda text: text.get("de", text["en"])), one.holds) for one in (stone, order)
    ]
    (none,) = cue_matches(QUESTION, SECOND, text)
    assert (False, "1 found, expected none") == (none.holds, none.note)
    (none,) = cue_matches(QUESTION, SECOND, "First: pear\nSecond: nothing")
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
    assert [CueMatch((), None, "no heading of its own in the answer")] == told(text)


def test_without_parts_the_whole_answer_counts() -> None:
    """An item that states no heading looks at everything."""
    whole = find_cues("pear", CueSearch({"fruit": 1}), {"fruit": Cue("fruit", {"en": "a fruit"}, "pear")})
    assert [(True, ((0, 4),))] == [(one.holds, one.spans) for one in whole]


def test_an_endless_search_ends() -> None:
    """A pattern that would never come back is given up, as cue and as heading; others are still told."""
    text = ("a" * 1000 + "!") * 1000
    stated = {"slow": Cue("slow", {"en": "slow"}, ENDLESS), "quick": Cue("quick", {"en": "quick"}, "aaa!?")}
    slow, quick = find_cues(text, CueSearch({"slow": "some", "quick": "some"}), stated)
    (heading,) = find_cues(text, CueSearch({"quick": 1}, (), "b", (ENDLESS,)), stated)
    assert [(None, "it took too long"), (True, ""), (None, "it took too long")] == [
        (one.holds, one.note) for one in (slow, quick, heading)
    ]
    assert len(quick.spans) <= 100


def test_many_slow_parts_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of eighty parts, each slow but not too slow, has no eighty times the time."""
    search, now, allowed = cues._matches, 0.0, list[float]()

    def use_all_of_the_time(pattern: str, text: str, seconds: float) -> Iterator[Any]:
        nonlocal now
        if pattern == "x":
            return search(pattern, text, seconds)
        allowed.append(seconds)
        now += seconds
        return iter(())

    monkeypatch.setattr(cues, "_matches", use_all_of_the_time)
    monkeypatch.setattr(cues.time, "process_time", lambda: now)
    text = ("x" + "a" * 250 + "!") * 80
    find_cues(text, CueSearch({"slow": 1}, (), "x"), {"slow": Cue("slow", {"en": "slow"}, ENDLESS)})
    assert len(allowed) == 80
    assert sum(allowed) < 3 * cues.SECONDS


def test_staff_read_cues_and_nobody_gets_points() -> None:
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
            "'q', cue 2: unknown key 'patern'; did you mean 'pattern'",
        ),
        ("pattern = 'pebble'", "", "cue 2: pattern: this key is missing"),
        (
            "pattern = 'pebble'",
            "pattern = 'pe(bble'",
            "cue 2: pattern: expected a regular expression: missing",
        ),
        ("pattern = 'pebble'", "pattern = '(pebble)?'", "cue 2: pattern: it is found in an empty text"),
        (
            "pattern = 'pebble'",
            f"pattern = '{'(' * 3000}'",
            "cue 2: pattern: this regular expression is too",
        ),
        ('id = "stone"', 'id = "fruit"', "cue 2: id: 'fruit' stands twice"),
        ('{ en = "a stone", de = "Stein" }', '{ de = "Stein" }', "cue 2: text: an English text is needed"),
        ("fruit = 0 ", "friut = 0 ", "item 'second': cues: no cue 'friut'; did you mean 'fruit'"),
        ("fruit = 0 ", "fruit = -1 ", "item 'second': cues"),
        ("fruit = 0 ", 'fruit = "many" ', "item 'second': cues"),
        ('["stone", "fruit"]', '["stone", "pear"]', "item 'first': order: no cue 'pear'"),
        ("part = '^second:'", "part = '^(second:'", "item 'second': part: expected a regular expression"),
        ("cues = { fruit = 0 }", 'cues = ["fruit"]', "item 'second': cues: expected a table"),
    ],
)
def test_errors_are_named(old: str, new: str, message: str) -> None:
    """Every error names its place, what was expected and, where it can, what was meant; its line is found."""
    assert old in ASKED
    error = ASKED.replace(old, new)
    with pytest.raises(RubricError) as caught:
        check_of(error)
    assert message in str(caught.value)
    line = ASKED[: ASKED.index(old)].count("\n") + 1
    told = line_of(error, caught.value.path)
    assert told is not None
    assert told == line or (told < line and ASKED.split("\n")[told - 1].startswith("[[question."))


def test_cues_belong_to_written_questions() -> None:
    """Another kind knows no such table, and its items can name no cues."""
    other = ASKED[: ASKED.index("[[question.cue]]")].replace('"written"', '"number"')
    item = ASKED[ASKED.index('[[question.item]]\nid = "second"') :].replace("points = 1", "points = 2")
    with pytest.raises(RubricError, match="no cue 'fruit'; known are: none"):
        check_of(f'{other}answer = "n"\n{item}')
