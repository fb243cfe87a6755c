"""Other right listings: code that computes what one of them computes is judged by it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from autograder.checks.base import Draw, Evidence, Observations
from autograder.errors import CourseError, RubricError
from autograder.kinds.general.debugging.listing import Edit, FaultyListing
from autograder.records import Answer, ItemResult, Status
from autograder.sandbox.pool import Pool
from tests.support.debugging_course import DebuggingCourse

SOURCE = "def f(x):\n    a = x + 1\n    b = a * 2\n    return a, b\n"
HEAD = (
    '[[question]]\nid = "q"\nkind = "debugging"\npoints = 2\nanswer = "f"\nreference = "task:f"\n'
    'library = "numpy"\ntries = 4\n'
)
CASE = "[[question.case]]\nargs = [{ whole = [3, 9] }]\n"
ITEM = (
    '[[question.item]]\nid = "{}"\npoints = 1\ntext = {{ en = "x" }}\n'
    'edit = [{{ right = "{}", faulty = "{}" }}]\n'
)
FAULTS = ITEM.format("sum", "x + 1", "x + 2") + ITEM.format("double", "a * 2", "a * 3")
FURTHER = """
[[question.use]]
name = "grows"
about = "sum"
further = true
relate = [[1, 2]]
step = [{ args = [3] }, { args = [3] }]
"""


def alternative(name: str, right: str, other: str) -> str:
    """The table of one."""
    return f'[[question.alternative]]\nid = "{name}"\nedit = [{{ right = "{right}", other = "{other}" }}]\n'


NEGATIVE = alternative("negative", "return a, b", "return -a, b")
HALF = alternative("half", "a * 2", "a * 2.5")


@pytest.fixture(scope="module")
def course(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> DebuggingCourse:
    """Two alternatives, one of which changes what a fault changes."""
    question = HEAD + CASE + FURTHER + NEGATIVE + HALF + FAULTS
    return DebuggingCourse(tmp_path_factory.mktemp("alternatives") / "course", pool, question, SOURCE)


def lost(results: dict[str, ItemResult]) -> set[str]:
    """The items that failed; none waits."""
    assert not [one for one in results.values() if one.status is Status.NEEDS_REVIEW]
    return {name for name, one in results.items() if one.status is Status.FAILED}


def test_an_alternative_stands_alone_and_with_few_faults() -> None:
    """With none that changes the same text, and with no other alternative."""
    faults = {name: (Edit(f"{name} = 0", f"{name} = 1"),) for name in "abc"}
    others = {"one": (Edit("b = 0", "b = 5"),), "two": (Edit("return", "return 1 +"),)}
    source = "def f():\n    a = 0\n    b = 0\n    c = 0\n    return a + b + c\n"
    listing = FaultyListing(source, faults, "q", others)
    assert 8 == len(listing.subsets)
    with_one = [set(one) - {"one"} for one in listing.alternatives if "one" in one]
    with_two = [set(one) - {"two"} for one in listing.alternatives if "two" in one]
    assert [set(), {"a"}, {"c"}, {"a", "c"}] == with_one
    assert [set(), {"a"}, {"b"}, {"c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}] == with_two
    text = listing.text({"two", "c"})
    assert "c = 1" in text
    assert "return 1 + a + b + c" in text


def test_an_alternative_that_is_no_python_is_named() -> None:
    """Also if it is no Python only beside a fault."""
    faults = {"a": (Edit("a = 0", "a = ("),)}
    with pytest.raises(CourseError, match="not Python"):
        FaultyListing("def f():\n    a = 0\n    return a\n", {}, "q", {"other": faults["a"]})


@pytest.mark.parametrize("faults", ["", "sum", "double", "sum double"])
def test_code_is_judged_by_the_alternative_that_it_computes(course: DebuggingCourse, faults: str) -> None:
    """In any words; the faults in it are lost, and nothing goes to a person."""
    left = set(faults.split())
    source = course.listing.text({"negative", *left})
    for words in (source, ast.unparse(ast.parse(source.replace("a", "the_sum")))):
        results = course.sit(f"{words}\n# mine\n")
        assert left == lost(results)
        assert all("alternative with" in one.staff for one in results.values())
    assert left == lost(course.sit(course.listing.text(left) + "# mine\n"))


def test_nothing_further_is_asked_of_it(course: DebuggingCourse) -> None:
    """Of what computes neither that nor a listing it is."""
    asked = course.search.asked_first
    gave = {frozenset(one.code.split()): one.observed for one in course.named}
    names = course.check.uses.names

    def further(observed: Sequence[Observations], value: float | None) -> int:
        by_name = dict(zip(names, observed, strict=True))
        again = [by_name[name] for name in asked]
        if value is not None:
            again = [tuple(msgspec.structs.replace(one, value=value) for one in some) for some in again]
        answer = Answer("a", "code", "code", changed=True)
        evidence = Evidence(answer, [()], again=again, named=course.named, draw=Draw(bytes(32)))
        return len(course.check.further_calls(evidence))

    subsets: tuple[set[str], ...] = (set(), {"sum"}, {"negative"}, {"negative", "double"}, {"half"})
    for subset in subsets:
        assert 0 == further(gave[frozenset(subset)], None)
    assert 1 == further(gave[frozenset()], 1234.5)


def test_what_is_neither_goes_on_as_before(course: DebuggingCourse) -> None:
    """An alternative says nothing of code that computes something else."""
    results = course.sit("def f(x):\n    return x - 100, 'text'\n")
    assert {"sum", "double"} == {name for name, one in results.items() if one.status is Status.NEEDS_REVIEW}


def test_what_may_be_hidden_beside_an_alternative_is_not_taken_for_repaired(
    pool: Pool, tmp_path: Path
) -> None:
    """Where the listing does not tell one fault beside another, the alternative does not either."""
    source = "def f(x):\n    a = x + 1\n    c = 5\n    return a, c\n"
    faults = ITEM.format("sum", "x + 1", "x + 2") + ITEM.format("gone", "return a, c", "return 0, c")
    question = HEAD + CASE + alternative("six", "c = 5", "c = 6") + faults
    course = DebuggingCourse(tmp_path / "course", pool, question, source)
    assert {"sum"} == lost(course.sit(course.listing.text({"six", "sum"}) + "# mine\n"))
    for left in ({"gone"}, {"gone", "sum"}):
        assert Status.PASSED is not course.sit(course.listing.text({"six", *left}) + "# mine\n")["sum"].status


def test_verify_plants_alternatives(course: DebuggingCourse) -> None:
    """Each by itself and with each fault that changes other text."""
    answer = Answer("q", "code", SOURCE, changed=True)
    planted = {
        one.name: set(one.loses) for one in course.check.trials(answer) if one.family == "alternatives"
    }
    assert {
        "alternative: negative": set(),
        "alternative: negative, sum": {"sum"},
        "alternative: negative, double": {"double"},
        "alternative: half": set(),
        "alternative: half, sum": {"sum"},
    } == planted


def test_what_is_run_beforehand_is_counted(course: DebuggingCourse) -> None:
    """Sets of faults, and alternatives besides."""
    assert "4 of 4 sets of faults are run, 8 listings of alternatives" in course.check.work.words
    assert 4 + 4 + 2 == len(course.named)


def test_an_alternative_that_computes_what_a_fault_computes_is_named(pool: Pool, tmp_path: Path) -> None:
    """It would cost its students the fault."""
    question = HEAD + CASE + NEGATIVE + alternative("wrong", "return a, b", "return a + 1, b + 2") + FAULTS
    course = DebuggingCourse(tmp_path / "course", pool, question, SOURCE)
    (told,) = course.check.mistaken(course.named)
    assert "alternative 'wrong'" in told
    assert "sum" in told


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        (alternative("sum", "a, b", "b, a"), "an item has this id"),
        (NEGATIVE + NEGATIVE, "two have this id"),
        (alternative("two words", "a, b", "b, a"), "blanks"),
        ('[[question.alternative]]\nid = "bare"\n', "edit"),
        ("".join(alternative(f"a{at}", "a, b", f"{at}, b") for at in range(5)), "at most 4"),
        (alternative("away", "nowhere", "there"), "expected 'nowhere' once"),
    ],
    ids=["item", "twice", "blank", "empty", "many", "absent"],
)
def test_an_alternative_that_cannot_be_is_refused(pool: Pool, tmp_path: Path, tables: str, told: str) -> None:
    """By its name, with what is wrong."""
    with pytest.raises((RubricError, CourseError), match=told):
        DebuggingCourse(tmp_path / "course", pool, HEAD + CASE + tables + FAULTS, SOURCE)
