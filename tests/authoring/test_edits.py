"""A rubric's file is changed where it is to be, and nowhere else."""

from __future__ import annotations

import difflib
import random
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder import rubric as rubrics
from autograder.authoring.edits import CaseEdit, Edit, PointsEdit, TextEdit, edited
from autograder.errors import RubricError
from autograder.rubric.lines import written
from tests.support import small_course

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "rubrics").glob("*.toml"))
SMALL = small_course.RUBRIC
ODD = """\
# before
question = [ # in brackets
  { id = "a", kind = "count", points = 2, answer = "n", item = [
    { id = "i", points = 2, text.en = "one # not a comment", value = 3 }, # behind
  ] },
]
version = 1
assignment.name = "odd"
assignment.points = 2 # sum
assignment.languages = ["en", "de"]
"""
TABLES = """\
version = 1
[assignment]
name = "tables"
points = 3
languages = ["en", "de"]
[[assignment.task]]
id = "1"
points = 3
text = { en = "All", de = "Alles" }
[[question]]
  id = "a" # indented
  kind = "count"
  task = "1"
  points = 3
  answer = "n"
  [[question.item]]
    id = 'i'
    points = 1_000e-3 # odd
    value = 3
    [question.item.text]
      en = '''
many
lines''' # behind it
      de = "viele"
  [[question.item]]
    id = "j"
    points = 2
    value = 4
    text . "en" = "dotted"
    text.de = "gepunktet"
"""


def tree(data: bytes) -> Any:
    """What a file says, with exact numbers."""
    return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)


def changed_lines(before: bytes, after: bytes) -> tuple[list[bytes], list[bytes]]:
    """Lines that are gone, and lines that are new."""
    told = list(
        difflib.diff_bytes(
            difflib.unified_diff, before.splitlines(keepends=True), after.splitlines(keepends=True), n=0
        )
    )[2:]
    return [one[1:] for one in told if one[:1] == b"-"], [one[1:] for one in told if one[:1] == b"+"]


def test_points_change_with_their_sums() -> None:
    """The item, its question and the assignment; a bonus question moves no other sum."""
    data = SMALL.encode()
    after = edited(data, [PointsEdit("mlp", "formula", Decimal("2.5"))])
    assert (
        [b"points = 13\n", b"points = 3\n", b"points = 2\n"],
        [b"points = 13.5\n", b"points = 3.5\n", b"points = 2.5\n"],
    ) == changed_lines(data, after)
    bonus = data.replace(b'id = "layers"\n', b'id = "layers"\nbonus = true\n').replace(
        b"= 13\n", b"= 12\n", 1
    )
    after = edited(bonus, [PointsEdit("layers", "number", Decimal(2))])
    assert ([b"points = 1\n"] * 2, [b"points = 2\n"] * 2) == changed_lines(bonus, after)


def test_a_deduction_is_no_part_of_a_sum() -> None:
    """Its own line alone is another one."""
    after = edited(SMALL.encode(), [PointsEdit("softmax", "overflow", Decimal("-1"))])
    assert ([b"points = -0.5\n"], [b"points = -1\n"]) == changed_lines(SMALL.encode(), after)


def test_tasks_follow() -> None:
    """What the title page lists is worth what its questions are; comments stay."""
    after = edited(TABLES.encode(), [PointsEdit("a", "j", Decimal(4))])
    gone, new = changed_lines(TABLES.encode(), after)
    assert [b"points = 3\n", b"points = 3\n", b"  points = 3\n", b"    points = 2\n"] == gone
    assert [b"points = 5\n", b"points = 5\n", b"  points = 5\n", b"    points = 4\n"] == new
    after = edited(TABLES.encode(), [PointsEdit("a", "i", Decimal(2))])
    assert b"    points = 2 # odd\n" in after


@pytest.mark.parametrize(
    "text", ["plain", 'quo"te \\ back', "two\nlines\r\n", "tab\t\x00\x7f\x1b", "’ß∑🙂", ""]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("question", "item"), [("a", "i"), ("a", "j"), ("a", "")])
def test_texts_change_in_every_form(text: str, end: str, question: str, item: str) -> None:
    """Many lines, dotted keys, tables of their own, and where there is none yet; whatever the text is."""
    data = b"\xef\xbb\xbf" + TABLES.replace("\n", end).encode()
    for language in ("de", "en") if item else ("en", "de"):
        after = edited(data, [TextEdit(question, item, language, text)])
        expected, found = tree(data), tree(after)
        entry = expected["question"][0]
        if item:
            entry["item"][item == "j"]["text"][language] = text
        else:
            entry.setdefault("title", {})[language] = text
        assert expected == found
        assert after.startswith(b"\xef\xbb\xbf")
        assert (end == "\n") is (b"\r\n" not in after)
        data = after


def test_what_stands_in_brackets_is_changed_there() -> None:
    """Lists and tables on one line, with a dotted key inside."""
    edits = [
        PointsEdit("a", "i", Decimal(3)),
        TextEdit("a", "i", "de", "eins"),
        TextEdit("a", "", "en", "A"),
        TextEdit("a", "i", "en", "uno"),
    ]
    after = edited(ODD.encode(), edits).decode()
    assert 'text.en = "uno", text.de = "eins", value = 3 }, # behind' in after
    assert 'id = "a", title = { en = "A" }, kind' in after
    assert "assignment.points = 3 # sum" in after


def test_a_case_is_added_for_its_item() -> None:
    """It stands behind the question's last line, and the item that names cases names it too."""
    call = CaseEdit(
        "softmax", "rows", "kept 1", "softmax", ([[1.5, -2.0], [0.0, 1e-9]],), {"axis": -1, "x y": True}
    )
    after = edited(SMALL.encode(), [call])
    gone, new = changed_lines(SMALL.encode(), after)
    assert [b'cases = ["scores"]\n'] == gone
    assert sorted(
        [
            b'cases = ["scores", "kept 1"]\n',
            b"\n",
            *b"""[[question.case]]
name = "kept 1"
args = [[[1.5, -2.0], [0.0, 1e-09]]]
kwargs = { axis = -1, "x y" = true }
""".splitlines(keepends=True),
        ]
    ) == sorted(new)
    assert after.index(b"kept 1") < after.index(b'id = "thoughts"')
    everything = SMALL.replace('cases = ["scores"]\n', "").encode()
    assert 2 < len(changed_lines(everything, edited(everything, [call]))[1])
    listed = re.sub(r"\[\[question\.case\]\]\nname = (.*)\nargs = (.*)\n\n", "", SMALL).replace(
        'trials = "small:trials"',
        'case = [{ name = "scores", args = [1] }, { name = "a batch", args = [2] }, '
        '{ name = "large scores", args = [3] }]',
    )
    assert b', { name = "kept 1", args' in edited(listed.encode(), [call])


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (PointsEdit("mlp", "formula", Decimal("NaN")), "expected a number"),
        (PointsEdit("mlp", "formula", Decimal("1e999999")), "expected a number"),
        (PointsEdit("mlp", "formula", Decimal("0.001")), "at most two decimals"),
        (PointsEdit("mlp", "formula", Decimal("0.5")), "expected from 0 to below 0.5, got 1"),
        (PointsEdit("mlp", "nothing", Decimal(1)), "no 'nothing'; known: formula, why"),
        (PointsEdit("nothing", "x", Decimal(1)), "there is no 'nothing'"),
        (TextEdit("mlp", "formula", "fr", "x"), "expected one of en, got 'fr'"),
        (TextEdit("mlp", "formula", "en", "\ud800"), "lone surrogate"),
        (CaseEdit("mlp", "", "n", "mlp_parameters"), "only a question of the kind 'behaviour'"),
        (CaseEdit("softmax", "", "n", "os.system", ("x",)), "expected a call of 'softmax'"),
        (CaseEdit("softmax", "", "scores", "softmax", ([1.0],)), "same name"),
        (CaseEdit("softmax", "", "n", "softmax", (None,)), "cannot state NoneType"),
        (CaseEdit("softmax", "", "n", "softmax", (1j,)), "cannot state complex"),
        (CaseEdit("softmax", "", "n", "softmax", ({"draw": "normal", "shape": [1 << 40]},)), "softmax"),
    ],
)
def test_what_would_not_be_a_rubric_is_refused(edit: Any, told: str) -> None:
    """In the words that the rubric's own reader has for it."""
    with pytest.raises(RubricError, match=told):
        edited(SMALL.encode(), [edit])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_random_edits_keep_everything_else(path: Path) -> None:
    """Of every rubric that is shipped: it says the same but for the change, and all other bytes stay."""
    chance, data = random.Random(path.stem), path.read_bytes()
    table = tree(data)
    for _ in range(2):
        question = chance.choice(table["question"])
        item = chance.choice(question["item"])
        language = chance.choice(table["assignment"].get("languages", ["en"]))
        worth = item["points"] + (1 if item["points"] > 0 else -1)
        text = "".join(chance.choices('ab"\\\n{}ä#]=', k=8)).replace("{", "{{").replace("}", "}}")
        edits: list[Edit] = [PointsEdit(question["id"], item["id"], Decimal(worth))]
        edits.append(TextEdit(question["id"], item["id"], language, text))
        after = edited(data, edits)
        expected = tree(data)
        number = table["question"].index(question)
        changed = expected["question"][number]["item"][question["item"].index(item)]
        changed["points"], changed["text"][language] = worth, text
        if worth > 0:
            expected["question"][number]["points"] += 1
            if not question.get("bonus"):
                expected["assignment"]["points"] += 1
                for task in expected["assignment"].get("task", ()):
                    task["points"] += task["id"] == question.get("task")
        assert expected == tree(after)
        assert rubrics.parse(after).version == table["version"]
        kept = set(written(data.decode()).keys()) ^ set(written(after.decode()).keys())
        assert not kept
        gone, _ = changed_lines(data, after)
        assert len(gone) <= 6, gone
