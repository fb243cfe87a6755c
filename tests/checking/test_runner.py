"""Test checks without a sandbox: outcomes, hidden inputs, mutants that name mistakes, the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.checking.__main__ import main
from autograder.checking.check_parser import name_part, parse_check_file
from autograder.checking.hidden_inputs import InputDraw, derive_seed
from autograder.checking.runner import CheckProgram
from tests.support.checked import run_checks

TEXT = """
from autograder.checking import *

solution(source='''
def scale(numbers, factor):
    if factor == 0:
        raise ValueError("no factor")
    return [factor * n for n in numbers]
''')

def inputs(draw):
    return draw.integers(1, 50, 6).tolist(), draw.integers(2, 9)

@check(points=2, title="Right")
def right(student, reference, draw):
    numbers, factor = inputs(draw)
    assert_equal(call(student.scale, numbers=numbers, factor=factor), reference.scale(numbers, factor))

@check(points=1, title="Refused")
def refused(student, reference, draw):
    with raises(ValueError):
        student.scale([1], 0)

@check(points=1, title="Asserted", parts=["of one", "of none"])
def asserted(student, reference, draw, part):
    assert len(student.scale([1] if part == "of one" else [], 2)) == (part == "of one")

@check(points=1, title="Forgets")
def forgets(student, reference, draw):
    other = student.again()
    assert student.scale([1], 2) == other.scale([1], 2)

@check(points=1, title="Ours")
def ours(student, reference, draw):
    if student.scale([5], 3) == [5]:
        undefined

@check(points=1, title="An attribute", parts=["the student's", "ours"])
def attribute(student, reference, draw, part):
    found = student.scale([1, 2], 2)
    assert isinstance(found, list) or (found if part == "the student's" else draw).lacking

mutant("adds", "factor * n", "factor + n", title="It is a product.")
mutant("ignores", "factor * n", "n", title="The factor counts.")
"""
SCALE = "def scale(numbers, factor):\n    if not factor:\n        raise ValueError\n    return "
ANSWERS = {
    "right": (SCALE + "[factor * n for n in numbers]", {}, ()),
    "other names and order": ("def scale(f, ns):\n    1 / f\n", {"right": "raised", "refused": "wrong"}, ()),
    "adds": (SCALE + "[factor + n for n in numbers]", {"right": "wrong"}, ("adds",)),
    "in another way": (SCALE + "[n + factor for n in numbers]", {"right": "wrong"}, ("adds",)),
    "returns its input": (SCALE + "numbers", {"right": "wrong", "ours": "unclear"}, ("ignores",)),
    "explained by nothing": (SCALE + "[factor * n + 1 for n in numbers]", {"right": "wrong"}, ()),
    "refuses nothing": ("def scale(ns, f): return [f * n for n in ns]", {"refused": "wrong"}, ()),
    "refuses otherwise": ("def scale(ns, f): return [f * n / f * f for n in ns]", {"refused": "wrong"}, ()),
    "raises": (SCALE + "[][0]", {"right": "raised"}, ()),
    "another name": ("def scala(numbers, factor): ...", {"right": "missing"}, ()),
    "an object that lacks an attribute": (
        "class Numbers: ...\n" + SCALE + "Numbers()",
        {"attribute [the student's]": "raised", "attribute [ours]": "unclear"},
        (),
    ),
    "remembers": (
        "seen = []\n" + SCALE + "(seen.append(1), [factor * n + len(seen) // 4 for n in numbers])[1]",
        {"forgets": "wrong"},
        (),
    ),
}


@pytest.fixture
def program() -> Iterator[CheckProgram]:
    made = CheckProgram(parse_check_file({"reference.checks.f": TEXT}, "f"))
    yield made
    made.close()


@pytest.mark.parametrize(("source", "statuses", "mistakes"), ANSWERS.values(), ids=ANSWERS)
def test_run_tells_outcomes_apart(
    source: str, statuses: dict[str, str], mistakes: tuple[str, ...], program: CheckProgram
) -> None:
    """Wrong, raised, unclear and missing outcomes are distinguished, and the equal mutant is named."""
    outcomes = run_checks(program, source, name_mistakes=True).outcomes
    found = {name_part(*key): outcome for key, outcome in outcomes.items()}
    for check, status in statuses.items():
        assert status == found[check].status, found[check]
    assert mistakes == outcomes["right", ""].mistakes
    if not statuses:
        assert {"passed"} == {outcome.status for outcome in outcomes.values()}


def test_a_failed_assertion_is_explained_by_its_line(program: CheckProgram) -> None:
    outcome = run_checks(program, SCALE + "[1, 2]").outcomes["asserted", "of one"]
    assert outcome.message.startswith("line 26: assert len(student.scale(")


def test_a_check_knows_the_students_own_assertion_from_its_own(program: CheckProgram) -> None:
    source = "def scale(numbers, factor):\n    assert not numbers, 'mine'\n    return []"
    outcomes = run_checks(program, source).outcomes
    assert ("raised", "AssertionError") == (outcomes["right", ""].status, outcomes["right", ""].error)


DRAWS: dict[str, Callable[[InputDraw], object]] = {
    "normal": lambda draw: draw.normal(2, 3).tolist(),
    "uniform": lambda draw: draw.uniform(2, low=1, high=2).tolist(),
    "integers": lambda draw: draw.integers(0, 1000, 4).tolist(),
    "one number": lambda draw: draw.integers(0, 10**9),
    "choice": lambda draw: [draw.choice(range(1000)) for _ in range(3)],
    "permutation": lambda draw: draw.permutation(20).tolist(),
    "seed": lambda draw: draw.seed(),
}


@pytest.mark.parametrize("drawn", DRAWS.values(), ids=DRAWS)
def test_draw_depends_on_secret_check_and_part_alone(drawn: Callable[[InputDraw], object]) -> None:
    """Equal seeds draw equal inputs; another course, check or part draws other ones."""
    seeds = [(b"a", "one", ""), (b"a", "one", ""), (b"b", "one", ""), (b"a", "two", ""), (b"a", "one", "p")]
    first, same, *others = [drawn(InputDraw(derive_seed(*seed))) for seed in seeds]
    assert first == same
    assert first not in others


@pytest.mark.parametrize("shape", [(6,), (4, 2), (2, 3, 5)], ids=str)
def test_mask_shows_and_blocks_something_in_each_row(shape: tuple[int, ...]) -> None:
    for seed in range(20):
        mask = InputDraw(bytes([seed])).mask(*shape)
        assert mask.shape == shape
        assert mask.any(-1).all()
        assert not mask.all(-1).any()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "reference" / "checks").mkdir(parents=True)
    (tmp_path / "reference" / "checks" / "f.py").write_text(TEXT)
    return tmp_path


def test_command_prints_what_an_answer_loses(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "mine.py").write_text(SCALE + "[factor + n for n in numbers]")
    assert 1 == main([str(course / "reference/checks/f.py"), str(course / "mine.py")])
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "✗" in lines["right"]
    assert lines["right"].endswith("= adds")
    assert "✓" in lines["refused"]


def test_command_prints_what_mutants_lose(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reports mutants that do not lose what is stated."""
    path = course / "reference/checks/f.py"
    assert 0 == main([str(path)])
    path.write_text(TEXT + "planted('wrong', 'def scale(a, b): return a')\n")
    assert 1 == main([str(path)])
    assert "expected to lose nothing" in capsys.readouterr().out


SEEN = {
    "assert_equal": ("assert_equal(found, right)", False),
    "assert": ("assert found == right", True),
    "numpy.testing": ("__import__('numpy').testing.assert_allclose(found, right)", True),
    "one truth value": ("assert_equal(found == right, True)", True),
}


@pytest.mark.parametrize(("compared", "is_told"), SEEN.values(), ids=SEEN)
def test_command_tells_which_mutants_are_not_recognised(
    compared: str, is_told: bool, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Comparisons by other libraries are not recorded, so mutants are not recognised by them."""
    asked = next(line for line in TEXT.splitlines() if "assert_equal(call(" in line)
    found = "    found, right = student.scale(numbers, factor), reference.scale(numbers, factor)\n    "
    text = TEXT.replace(asked, found + compared)
    path = course / "reference/checks/f.py"
    path.write_text(text)
    assert 0 == main([str(path)])
    assert is_told == ("not recognised: adds, ignores. The titles" in capsys.readouterr().out)


def test_command_knows_answers_that_need_manual_review(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = course / "reference/checks/f.py"
    source = f"planted('unmoved', {SCALE + 'numbers'!r}, loses='right', review="
    path.write_text(f"{TEXT}{source}'ours')\n")
    assert 0 == main([str(path)])
    path.write_text(f"{TEXT}{source}'refused')\n")
    assert 1 == main([str(path)])
    assert "expected to lose right, and manual review of refused" in capsys.readouterr().out


def test_command_stops_in_a_check_for_a_debugger(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`breakpoint()` in a check shows plain objects without wrappers."""
    path = course / "reference/checks/f.py"
    path.write_text(TEXT.replace("    numbers, factor = inputs(draw)\n", "    breakpoint()\n" * 2, 1))
    (course / "mine.py").write_text(SCALE + "[factor * n for n in numbers]")
    seen = []

    def stop() -> None:
        import sys

        seen.append(sys._getframe(1).f_locals["student"].scale([1], 2))

    monkeypatch.setattr("sys.breakpointhook", stop)
    main([str(path), str(course / "mine.py")])
    assert [[2], [2]] == seen


def test_command_names_what_is_wrong_with_a_file(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main([str(course / "reference/checks/g.py")])
    assert "there is no such file" in capsys.readouterr().err
