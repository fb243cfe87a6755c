"""Test tables: finding rows, judging cells and dividing points."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.core.errors import RubricError
from autograder.core.records import Answer, ItemResult, OpaqueValue, Status, Tensor
from autograder.messages import render_message
from autograder.questions.base.base import Check
from tests.questions.base.asking import answer, check_of, error, judge, value

TABLE = """
[[question]]
id = "q"
kind = "table"
points = 12
answer = "table"
order = "given"
[[question.column]]
id = "name"
kind = "key"
aliases = ["parameter"]
[[question.column]]
id = "shape"
kind = "shape"
aliases = ["Form"]
[[question.column]]
id = "count"
kind = "number"
aliases = ["number of entries"]
[[question.column]]
id = "reason"
kind = "choice"
names = ["tokens", "positions", "query-key-value"]
[[question.row]]
id = "wte"
aliases = ["transformer.wte.weight", "wte.weight"]
cells = { shape = [50259, 768], count = 38598912, reason = "tokens" }
[[question.row]]
id = "wpe"
cells = { shape = [1024, 768], count = 786432, reason = "positions" }
[[question.row]]
id = "c_attn"
[question.row.cells]
shape = { value = [768, 2304], accept = [[2304, 768]] }
reason = "query-key-value"
count.value = 1769472
[[question.row.cells.count.mistake]]
code = "one-of-three"
when = 589824
text = { en = "That is one of three." }
[[question.item]]
id = "names"
points = 3
text = { en = "The names" }
columns = ["name"]
extra = "refuse"
[[question.item]]
id = "shapes"
points = 3
text = { en = "The shapes" }
columns = ["shape"]
[[question.item]]
id = "counts"
points = 3
text = { en = "The counts" }
columns = ["count"]
credit = "all"
[[question.item]]
id = "reasons"
points = 3
text = { en = "The reasons" }
columns = ["reason"]
"""

ROWS: list[tuple[Any, ...]] = [
    ("wte", (50259, 768), 38_598_912, "tokens"),
    ("wpe", (1024, 768), 786_432, "positions"),
    ("c_attn", (768, 2304), 1_769_472, "query-key-value"),
]
MARKDOWN = """
| Name | Form | Number of entries | Reason |
|------|:----:|------------------:|--------|
| `wte` | (50259, 768) | 38,598,912 | tokens |
| `wpe` | 1024 x 768 | 786 432 | positions |
| **c_attn** | `(768, 2304)` | 1.769.472 | query-key-value |
"""
PANDAS = """
                     name         shape     count           reason
0  transformer.wte.weight  (50259, 768)  38598912           tokens
1                     wpe   (1024, 768)    786432        positions
2                  c_attn   (768, 2304)   1769472  query-key-value
"""
NAMES = ("name", "shape", "count", "reason")


def results(table: Any, rubric: str = TABLE) -> dict[str, ItemResult]:
    """Return the results for a computed table, by item."""
    return {result.item: result for result in judge(check_of(rubric), "table = make()", [value(table)])}


def points(table: Any, rubric: str = TABLE) -> tuple[str, ...]:
    """Return the points of each item."""
    return tuple(str(result.points.normalize()) for result in results(table, rubric).values())


def changed(row: int, column: int, entry: Any) -> list[tuple[Any, ...]]:
    """Return the right rows with one entry replaced."""
    rows = [list(row_entries) for row_entries in ROWS]
    rows[row][column] = entry
    return [tuple(row_entries) for row_entries in rows]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        tuple(map(list, ROWS)),
        [NAMES, *ROWS],
        [("parameter", "count", "shape", "reason"), *[(name, c, s, r) for name, s, c, r in ROWS]],
        [dict(zip(NAMES, row, strict=True)) for row in ROWS],
        {row[0]: row[1:] for row in ROWS},
        {row[0]: list(row[1:]) for row in ROWS},
        {row[0]: dict(zip(NAMES[1:], row[1:], strict=True)) for row in ROWS},
        {name: [row[place] for row in ROWS] for place, name in enumerate(NAMES)},
        {name: {at: row[place] for at, row in enumerate(ROWS)} for place, name in enumerate(NAMES)},
        MARKDOWN,
        "\n".join(MARKDOWN.strip().splitlines()[2:]),
        f"```\n{MARKDOWN}```",
        f"```\n{PANDAS}```",
        PANDAS,
        re.sub(r"^\d  ", "", PANDAS, flags=re.MULTILINE),
        "\n".join("\t".join(map(str, row)) for row in ROWS),
        [("WTE ", "50259 × 768", "38,598,912", "Tokens"), *ROWS[1:]],
        [("wte.weight", [50259, 768], 38_598_912.0, "tokens"), *ROWS[1:]],
        changed(2, 1, "torch.Size([2304, 768])"),
        changed(1, 2, Tensor(np.array(786_432), "int64")),
    ],
    ids=lambda table: str(table)[:30],
)
def test_one_table_in_many_notations(table: Any) -> None:
    """Lists, dictionaries by row or column, Markdown and aligned text give the same table."""
    assert ("3", "3", "3", "3") == points(table)
    assert {"passed"} == {result.student.code for result in results(table).values()}


def test_a_literal_needs_no_run() -> None:
    """A literal list of tuples and a table in a text cell are read without running code."""
    check = check_of(TABLE)
    source = f"table = {ROWS!r}"
    assert () == check.plan_calls(answer(source))
    assert {Status.PASSED} == {result.status for result in judge(check, source)}
    text = Answer("q-answer", "markdown", MARKDOWN, changed=True)
    assert {Status.PASSED} == {result.status for result in judge(check, text)}


@pytest.mark.parametrize(
    ("table", "expected", "item", "code"),
    [
        (changed(0, 1, (50257, 768)), ("3", "2", "3", "3"), "shapes", "shape.axis"),
        (changed(1, 1, (768, 1024)), ("3", "2", "3", "3"), "shapes", "shape.last-two-swapped"),
        (changed(1, 2, 5), ("3", "3", "0", "3"), "counts", "number.wrong"),
        (changed(2, 2, 589_824), ("3", "3", "0", "3"), "counts", "one-of-three"),
        (changed(2, 3, "tokens"), ("3", "3", "3", "2"), "reasons", "table.choice"),
        (changed(2, 3, None), ("3", "3", "3", "2"), "reasons", "table.cell"),
        (changed(2, 3, "–"), ("3", "3", "3", "2"), "reasons", "table.cell"),
        (ROWS[:2], ("2", "2", "0", "2"), "names", "table.fewer"),
        ([*ROWS[:2], ("c_atn", *ROWS[2][1:])], ("1", "2", "0", "2"), "names", "table.some"),
        ([*ROWS, ("lm_head", (1, 2), 2, "tokens")], ("2", "3", "3", "3"), "names", "table.extra"),
        ([ROWS[2], *ROWS[:2]], ("2", "3", "3", "3"), "names", "table.order"),
        ([*ROWS, ROWS[0]], ("3", "2", "0", "2"), "shapes", "table.twice"),
        ([ROWS[0], ROWS[1], (*ROWS[2], "more")], ("3", "2", "0", "2"), "shapes", "table.width"),
        ([ROWS[0], ROWS[1], ROWS[2][:2]], ("3", "3", "0", "2"), "counts", "table.cell"),
        ([("none", 1, 2, 3)], ("0", "0", "0", "0"), "names", "table.some"),
    ],
)
def test_a_wrong_cell_costs_its_part(table: Any, expected: tuple[str, ...], item: str, code: str) -> None:
    """With partial credit, each cell is worth an equal part; otherwise all of them must be right."""
    assert expected == points(table)
    assert code == results(table)[item].code


def test_a_student_reads_which_entries_are_wrong() -> None:
    """Students see the number of right entries and the first wrong ones, but no right values."""
    result = results(changed(0, 1, "{50257} x 768"))["shapes"]
    for language in ("en", "de"):
        assert "table [wte, shape]" in render_message(result.student, language)
        assert "50259" not in render_message(result.student, language)
    assert "2 of 3" in render_message(result.student, "en")
    assert "2 von 3" in render_message(result.student, "de")


def test_names_that_are_asked_for_are_not_told() -> None:
    """If the names are part of the answer, missing rows are counted and not named."""
    for result in results(ROWS[:2]).values():
        assert "c_attn" not in render_message(result.student, "en")
    free = TABLE.replace('columns = ["name"]', 'columns = ["shape"]\nrows = ["wte", "wpe", "c_attn"]')
    free = free.replace('order = "given"', "")
    assert "c_attn" in render_message(results(ROWS[:2], free)["shapes"].student, "en")


def test_the_order_is_free_unless_the_rubric_says_so() -> None:
    """The order of rows is free unless the rubric says otherwise."""
    assert ("3", "3", "3", "3") == points(ROWS[::-1], TABLE.replace('order = "given"', 'order = "free"'))
    assert ("1", "3", "3", "3") == points(ROWS[::-1])


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (7, "table.form"),
        (True, "table.form"),
        (np.zeros((3, 4)), "table.form"),
        ("one two three", "table.text"),
        ("a" * 50_000, "table.size"),
        ([("x", 1)] * 500, "table.size"),
        ({str(number): 1 for number in range(500)}, "table.size"),
        ("| a | b |\n" * 300, "table.size"),
        ([1, 2, 3], "table.entry"),
        ({"wte": 5}, "table.entry"),
    ],
    ids=lambda table: str(table)[:20],
)
def test_what_is_no_table_is_named_and_needs_manual_review(table: Any, code: str) -> None:
    """A value that is not a table earns nothing and needs manual review."""
    for result in results(table).values():
        assert (Status.NEEDS_REVIEW, Decimal(0), code) == (result.status, result.points, result.code)


def test_an_entry_that_cannot_be_read_needs_manual_review() -> None:
    """An unreadable entry needs manual review, also next to wrong ones that count one by one."""
    parts, total = summed("", {"embeddings": 100, "layer": "many", "total": 7})
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (parts.status, parts.points)
    assert Status.FAILED is total.status


@pytest.mark.parametrize("name", ["DataFrame", "Series", "Summary"])
def test_an_object_whose_content_is_not_known_needs_manual_review(name: str) -> None:
    """An object with unknown content needs manual review, because it may hold the right table."""
    for result in results(OpaqueValue(name)).values():
        assert (Status.NEEDS_REVIEW, Decimal(0), "table.form") == (result.status, result.points, result.code)


@pytest.mark.parametrize("table", [[], {}, "", None, [()], [(None, None)], [{}], "|  |  |"], ids=str)
def test_an_empty_table_is_no_answer(table: Any) -> None:
    """An empty table counts as no answer."""
    assert {Status.NO_ANSWER} == {result.status for result in results(table).values()}


def test_code_that_fails_is_the_students_own() -> None:
    """An exception in the student's code fails the item."""
    (result, *_) = judge(check_of(TABLE), "table = make()", [error("ValueError", "bad")])
    assert (Status.FAILED, "raised") == (result.status, result.code)


SUMS = """
[[question]]
id = "q"
kind = "table"
points = 6
answer = "parts"
reference = "counting.oracle:parts"
config = { model = { n_layers = 2 } }
[[question.column]]
id = "part"
kind = "key"
[[question.column]]
id = "memory"
kind = "number"
[[question.row]]
id = "embeddings"
[[question.row]]
id = "layer"
[[question.row]]
id = "total"
sum = { embeddings = 1, layer = 12 }
[[question.item]]
id = "parts"
points = 4
text = { en = "The parts" }
columns = ["memory"]
rows = ["embeddings", "layer"]
[[question.item]]
id = "total"
points = 2
text = { en = "The sum" }
columns = ["memory"]
rows = ["total"]
credit = "all"
"""


def oracle(unit: str) -> dict[str, Any]:
    """Return reference values: 100 + 12 * 10, and one known mistake."""

    def form(number: int) -> Any:
        return f"{number} bytes" if unit else number

    right = {"embeddings": 100, "layer": 10, "total": 220}
    wrong = {"layer": 7, "total": 184}
    return {
        "right": {name: {"memory": form(number)} for name, number in right.items()},
        "mistakes": [
            {
                "code": "no-gate",
                "family": "less",
                "values": {name: {"memory": form(number)} for name, number in wrong.items()},
            }
        ],
    }


def summed(unit: str, table: Any) -> list[ItemResult]:
    """Return the results of the items `parts` and `total`."""
    rubric = SUMS.replace('kind = "number"', f'kind = "number"\nunit = "{unit}"')
    return list(judge(check_of(rubric), "parts = f()", [value(table)], [value(oracle(unit))]))


@pytest.mark.parametrize("unit", ["", "kB"])
@pytest.mark.parametrize(
    ("rows", "expected", "code"),
    [
        ((100, 10, 220), (4, 2), ""),
        ((100, 7, 184), (2, 2), "table.own-sum"),
        ((100, 11, 232), (2, 2), "table.own-sum"),
        ((100, "1.024", "12.388"), (2, 2), "table.own-sum"),
        ((100, 11, 220), (2, 2), ""),
        ((100, 11, 231), (2, 0), "WRONG"),
        ((100, 10, 184), (4, 0), "counting.no-gate"),
        ((1, 1, 13), (0, 0), "WRONG"),
        ((100, -1, 88), (2, 0), "WRONG"),
        ((100, None, 100), (2, 0), "WRONG"),
    ],
)
def test_a_sum_is_judged_by_the_own_rows(
    unit: str, rows: tuple[Any, ...], expected: tuple[int, int], code: str
) -> None:
    """A total that fits wrong rows is right if at least one row is right; the right total always is."""
    written = " bytes" if unit else ""
    table = [
        (name, f"{number}{written}" if number is not None else None)
        for name, number in zip(("embeddings", "layer", "total"), rows, strict=True)
    ]
    parts, total = summed(unit, table)
    assert expected == (parts.points, total.points)
    assert code.replace("WRONG", "number.wrong") == total.code
    assert (total.points == 2) == (total.status is Status.PASSED)


def test_a_known_mistake_is_named_in_a_cell() -> None:
    """A known mistake in a cell is named, and the sum that follows from it is accepted."""
    parts, total = summed("", {"embeddings": 100, "layer": 7, "total": 184})
    assert "counting.no-gate" == parts.code
    assert "table.own-sum" == total.student.code


@pytest.mark.parametrize("expected", [None, {"right": {}}, {"right": {"layer": 5}}])
def test_a_reference_that_does_not_know_a_cell_is_our_fault(expected: Any) -> None:
    """If the reference lacks a cell, the items need manual review."""
    check = check_of(SUMS)
    observations = [value({"embeddings": 100, "layer": 10, "total": 220})]
    results = judge(check, "parts = f()", observations, [value(expected)])
    assert [Status.NEEDS_REVIEW] * 2 == [result.status for result in results]


def test_an_undecided_entry_does_not_count_as_right() -> None:
    """A missing row fails an item with `credit = "all"`; an unjudged entry is not counted as right."""
    rubric = SUMS.replace('rows = ["embeddings", "layer"]', 'rows = ["embeddings", "layer"]\ncredit = "all"')
    observations = [value({"embeddings": 100, "total": 220})]
    parts, _ = judge(check_of(rubric), "parts = f()", observations, [value(None)])
    assert Status.FAILED == parts.status
    assert "right: 0 of 2." in render_message(parts.student, "en")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "key"\n', 'kind = "number"\n'), "the first one has kind 'key'"),
        (('kind = "shape"', 'kind = "shpe"'), "'shpe' is not possible; did you mean 'shape'"),
        (('columns = ["shape"]', 'columns = ["shapes"]'), "no column 'shapes'"),
        (('columns = ["shape"]', 'columns = ["shape"]\nrows = ["x"]'), "no row 'x'"),
        (('aliases = ["Form"]', "aliasses = []"), "unknown key 'aliasses'; did you mean 'aliases'"),
        (("count = 786432,", 'count = "many",'), "q.count.*value: 'many' is no answer of kind number"),
        (('reason = "positions"', 'reason = "position"'), "no option 'position'"),
        (("shape = [1024, 768], ", "shpe = [1024, 768], "), "no column 'shpe'"),
        (('id = "wpe"', 'id = "wpe"\naliases = ["WTE"]'), "stands for two rows"),
        (('id = "wpe"', 'id = "wpe"\nsum = ["wqe"]'), "sum: no other row 'wqe'"),
        (("when = 589824", "when = 589824\npoints = 0.5"), "a cell is right or wrong"),
        (('columns = ["name"]\nextra = "refuse"', 'columns = ["shape"]'), "it is judged in the column"),
        (('answer = "table"', 'answer = "table"\nreference = "a:b"'), "what is the reference called with"),
    ],
)  # fmt: skip
def test_errors_in_a_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """Errors in a rubric name the question, row and column."""
    assert change[0] in TABLE
    with pytest.raises(RubricError, match=message):
        check_of(TABLE.replace(change[0], change[1], 1))


def test_points_that_cannot_be_divided_are_refused() -> None:
    """One point cannot be divided between three cells."""
    rubric = TABLE.replace("points = 12", "points = 10").replace(
        'points = 3\ntext = { en = "The shapes" }', 'points = 1\ntext = { en = "The shapes" }'
    )
    with pytest.raises(RubricError, match="cannot be divided into 3"):
        check_of(rubric)


def test_hostile_cells_are_wrong_answers() -> None:
    """Huge numbers, nested tuples and opaque objects cost only their own cells."""
    nest: Any = ()
    for _ in range(50):
        nest = (nest,)
    check: Check = check_of(TABLE)
    for bad in (
        10**5000,
        -(10**5000),
        nest,
        {"a": nest},
        OpaqueValue("Liar", "38598912" * 500),
        "9" * 5000,
        b"x",
        [[]],
    ):
        for column in (1, 2, 3):
            observations = [value(changed(1, column, bad))]
            lost = [
                result.item
                for result in judge(check, "table = make()", observations)
                if result.status is not Status.PASSED
            ]
            assert [("", "shapes", "counts", "reasons")[column]] == lost
        judge(check, "table = make()", [value(changed(1, 0, bad))])


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="|ab -\n\t;`*(),0wte{}", max_size=300))
def test_any_text_is_judged(text: str) -> None:
    """Every item gets a result for any text, and no exception is raised."""
    given_answer = Answer("q-answer", "markdown", text, changed=True)
    results = judge(check_of(TABLE), given_answer)
    assert ["names", "shapes", "counts", "reasons"] == [result.item for result in results]
    assert all(render_message(result.student, "de") for result in results)


PARTS = """
[[question]]
id = "q"
kind = "table"
points = 2
answer = "table"
beside = ["*.bias", "norm_*"]
[[question.column]]
id = "part"
kind = "key"
[[question.column]]
id = "count"
kind = "number"
[[question.row]]
id = "first"
cells = { count = 1234567 }
[[question.row]]
id = "second"
cells = { count = 8 }
[[question.item]]
id = "all"
points = 2
text = { en = "Counts" }
columns = ["part", "count"]
extra = "refuse"
"""


@pytest.mark.parametrize(
    "text",
    [
        "first: 1234567\nsecond: 8",
        "first = 1,234,567\nsecond = 8",
        "- first: 1234567\n- second: 8",
        "1. first → 1234567\n2. second → 8",
        "first: 1234567, second: 8",
        "first: 1,234,567; second: 8",
        "second - 8\nfirst - 1234567",
    ],
)
def test_a_line_may_give_a_name_and_its_entry(text: str) -> None:
    """Rows may use a colon, an equals sign, an arrow or a dash, on separate lines or on one."""
    assert points(text, PARTS) == ("2",)


@pytest.mark.parametrize(
    "text",
    [
        "wte: (50259, 768), 38598912, tokens\nwpe: (1024, 768), 786432, positions\n"
        "c_attn: (768, 2304), 1769472, query-key-value",
        "* wte = [50259, 768], 38598912, tokens\n* wpe = [1024, 768], 786432, positions\n"
        "* c_attn = [768, 2304], 1769472, query-key-value",
    ],
)
def test_such_lines_may_have_several_entries(text: str) -> None:
    """Several entries per line are separated by commas, except commas inside brackets."""
    assert points(text) == ("3", "3", "3", "3")


@pytest.mark.parametrize("text", ["first 1234567 second 8", "first: 1234567\nand so on", ": 8", "first:"])
def test_lines_without_a_name_or_a_sign_are_no_table(text: str) -> None:
    """A line that does not have this form is not read as a row."""
    (result,) = results(text, PARTS).values()
    assert result.points < 2


def test_true_rows_that_nobody_asked_for_cost_nothing() -> None:
    """Additional rows that the rubric allows cost nothing; any other additional row does."""
    rows = [("first", 1234567), ("second", 8)]
    beside = [("first.bias", 4), ("NORM_1", 8), ("norm_1.weight", 8)]
    assert points(rows + beside, PARTS) == ("2",)
    (result,) = results([*rows, *beside, ("third", 1)], PARTS).values()
    assert (Decimal("1.5"), "table.extra") == (result.points, result.code)
