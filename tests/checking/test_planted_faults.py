"""Test planted faults: how they are read, and that properties are right for every set of faults."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.checking.__main__ import main
from autograder.checking.check_parser import CheckFile, CheckFileError, parse_check_file
from autograder.checking.fault_sets import MOST_FAULTS, SAMPLE, describe_misled, find_misled, list_subsets
from autograder.checking.objects import Objects, install_objects
from autograder.checking.runner import CheckProgram
from tests.support.checked import run_properties

CHECKS = '''
from autograder.checking import Unclear, assert_close, assert_equal, fault, holds, probe, solution

solution(source="""
def mean(numbers):
    numbers = [number * SCALE for number in numbers if number is not None]
    return sum(numbers) / len(numbers)
""", given="SCALE = 1.0")

@fault("if number is not None", "if number", points=2, title={"en": "Zeros count"})
def zeros(student, reference, draw):
    if not holds(length):
        raise Unclear("the length is wrong as well")
    assert_equal(student.mean([0, 0, 3]), 1.0)

@fault(edits=[("/ len(numbers)", "/ (len(numbers) + 1)")], points=1, title={"en": "The number of numbers"})
def length(student, reference, draw):
    assert_equal(student.mean([2, 2]), 2.0)

@probe
def same_values(student, reference, draw):
    numbers = draw.normal(5).tolist()
    assert_close(student.mean(numbers), reference.mean(numbers))
'''
"""The property of zeros is misled: it is undecided if the length is wrong."""
RIGHT = CHECKS.replace(
    """    if not holds(length):
        raise Unclear("the length is wrong as well")
    assert_equal(student.mean([0, 0, 3]), 1.0)
""",
    """    assert_equal(student.mean([0, 4]) < student.mean([4, 4]) / 1.5, True)
""",
)


def read(source: str) -> CheckFile:
    """Read a file of checks."""
    return parse_check_file({"reference.checks.mean": source}, "mean")


@pytest.fixture
def program() -> Iterator[CheckProgram]:
    """Return the checks with right properties."""
    found = CheckProgram(read(RIGHT))
    yield found
    found.close()


def test_fault_is_an_item_with_an_edit() -> None:
    """Points and titles come from the decorator; the released listing has all faults."""
    file = read(RIGHT)
    assert [(check.id, check.points, check.title) for check in file.faults] == [
        ("zeros", 2, {"en": "Zeros count"}),
        ("length", 1, {"en": "The number of numbers"}),
    ]
    assert file.make_listing(()) == file.solution
    assert "if number]" in file.make_listing(["zeros", "length"])
    assert "(len(numbers) + 1)" in file.make_listing(["zeros", "length"])
    assert file.given == "SCALE = 1.0"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"if number is not None",', '"if nummber is not None",', "stands 0 times"),
        ('"if number is not None",', '"numbers",', "state more of the text around it"),
        ('"if number",', '"if (",', "is no Python"),
        ('"if number is not None", "if number", ', "", "old= and new= are missing"),
        ('("/ len(numbers)", "/ (len(numbers) + 1)")', '("is not None", "is not 0")', "beside the"),
        ("solution(source=", "print(", "state solution"),
        ("points=2, title", "title", "points= is missing"),
        ("points=2", "points=2, olds=3", "did you mean 'old'?"),
    ],
    ids=["near", "twice", "syntax", "none", "overlap", "no solution", "no points", "keyword"],
)
def test_fault_that_cannot_be_planted_is_refused(old: str, new: str, message: str) -> None:
    """The error names the fault and the remedy."""
    assert RIGHT.count(old) == 1
    with pytest.raises(CheckFileError, match=r"mean\.py, line") as error:
        read(RIGHT.replace(old, new))
    assert message in str(error.value)


def test_solution_may_be_a_literal_of_an_imported_module() -> None:
    """The listing may be a literal of an imported module, so it is written only once."""
    source = RIGHT.replace("solution(source=", "LISTING = (").replace(', given="SCALE = 1.0")', ")")
    head, _, tail = source.partition("@fault")
    listing = head.partition("\n\n")[2]
    checks = (
        "from reference.lists import LISTING\n"
        + head.partition("\n\n")[0]
        + "\nsolution(source=LISTING)\n@fault"
    )
    file = parse_check_file({"reference.checks.mean": checks + tail, "reference.lists": listing}, "mean")
    assert file.solution == read(RIGHT).solution


def test_properties_are_right_about_all_sets_of_faults(program: CheckProgram) -> None:
    """Each property fails exactly if its fault is left, with any inputs."""
    misled = find_misled(program.file, functools.partial(run_properties, program), ("a", "b"))
    assert misled == []


def test_property_that_other_faults_mislead_is_named_with_the_sets() -> None:
    """A property that is undecided because of other faults is reported too."""
    program = CheckProgram(read(CHECKS))
    try:
        misled = find_misled(program.file, functools.partial(run_properties, program), ("a", "b"))
    finally:
        program.close()
    assert [(one.fault, one.left) for one in misled] == [
        ("zeros", ("length",)),
        ("zeros", ("zeros", "length")),
    ]
    (line,) = describe_misled(misled)
    assert line.startswith("zeros: misled where these are left: length; zeros, length. It should pass there")


@pytest.mark.parametrize("count", [0, 1, 4, MOST_FAULTS, MOST_FAULTS + 1, 20])
def test_subsets_are_all_or_a_sample_with_each_fault(count: int) -> None:
    """A sample has no duplicates, and contains every fault alone and every fault alone repaired."""
    faults = [f"fault_{number}" for number in range(count)]
    subsets = list(list_subsets(faults))
    assert len(subsets) == len(set(subsets)) == min(2**count, SAMPLE if count > MOST_FAULTS else 2**count)
    assert {(), tuple(faults), *((fault,) for fault in faults)} <= set(subsets)
    assert {tuple(other for other in faults if other != fault) for fault in faults} <= set(subsets)


def test_holds_asks_another_property_once_for_each_answer(program: CheckProgram) -> None:
    """A property that `holds` evaluates is not run again for its own item."""
    source = (
        "calls = []\ndef mean(numbers):\n    calls.append(numbers)\n    return sum(numbers) / len(numbers)"
    )
    file = read(CHECKS)
    counted = CheckProgram(file)
    try:
        undo = install_objects(Objects(["<answer>"]))
        student = counted.load_answer(source, "<answer>")
        statuses = [counted.run(check.id, "", student, b"seed").status for check in file.checks]
        undo()
    finally:
        counted.close()
    assert statuses == ["passed", "passed"]
    assert student.calls == [[2, 2], [0, 0, 3]]


def test_probe_sees_another_defect_and_is_no_item(program: CheckProgram) -> None:
    """A probe detects another defect after both faults are repaired, and is not an item."""
    source = "def mean(numbers):\n    return sum(numbers) / len(numbers) + (len(numbers) > 4)"
    outcomes = run_properties(program, source, "one")
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "zeros": "passed",
        "length": "passed",
        "same_values": "wrong",
    }
    assert "same_values" not in [check.id for check in program.file.checks]


@pytest.mark.parametrize(("source", "code"), [(RIGHT, 0), (CHECKS, 1)], ids=["right", "misled"])
def test_command_runs_all_sets_of_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, code: int
) -> None:
    """The command shows which properties are misled by other faults."""
    (tmp_path / "reference/checks").mkdir(parents=True)
    (tmp_path / "reference/checks/mean.py").write_text(source, "utf-8")
    assert main([str(tmp_path / "reference/checks/mean.py")]) == code
    printed = capsys.readouterr().out
    assert "4 sets of faults, with 2 draws of inputs" in printed
    assert ("zeros: misled where" in printed) == bool(code)


def test_example_of_the_documentation_is_right(tmp_path: Path) -> None:
    """The properties of the documented example are right for all sets of its faults."""
    page = (Path(__file__).parents[2] / "docs/repair.md").read_text("utf-8")
    (tmp_path / "reference/checks").mkdir(parents=True)
    path = tmp_path / "reference/checks/mean.py"
    path.write_text(page.split("```python\n")[1].split("```")[0], "utf-8")
    assert main([str(path)]) == 0


def test_probe_that_the_solution_does_not_pass_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A probe that the solution fails is reported; otherwise a typing error in it has no effect."""
    (tmp_path / "reference/checks").mkdir(parents=True)
    path = tmp_path / "reference/checks/mean.py"
    path.write_text(RIGHT.replace("reference.mean(numbers)", "refrence.mean(numbers)"), "utf-8")
    assert main([str(path)]) == 1
    assert "probe same_values: the solution should pass it: unclear" in capsys.readouterr().out
