"""Test that files of checks are parsed without running them; errors name the place and the remedy."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from autograder.checking.check_parser import CheckFile, CheckFileError, load_check_file, parse_check_file
from autograder.checking.declarations import CHECK_SECONDS
from autograder.checking.serialisation import pack_checks, unpack_checks

TOP = "from autograder.checking import check, forbid, mutant, planted, solution\n"
SOLUTION = 'solution(source="def double(n):\\n    return 2 * n\\n")\n'
CHECK = """@check(points=2, title="Right")
def right(student, reference, draw):
    assert student.double(2) == 4
"""


def read(text: str) -> CheckFile:
    return parse_check_file({"reference.checks.f": text}, "f")


def test_read_takes_everything_from_literals() -> None:
    """Literals are also read from names, concatenated texts and unpacked tuples."""
    file = read(
        TOP
        + SOLUTION
        + "TITLE = {'en': 'Ri' + 'ght', 'de': 'Richtig'}\nBOTH = ('right',)\nraise SystemExit\n"
        + "@check(points=1.5, title=TITLE, parts={'one': 1, 'two': (2, 3)}, told='No.', seconds=2)\n"
        + "def right(student, reference, draw, part):\n    student.double(part)\n"
        + "@check(points=1, title='More', needs='right')\n"
        + "def more(student, reference, draw):\n    student.again().triple\n"
        + "mutant('plus', '2 * n', '2 + n', title='It is a product.', points={'right': 0.5}, loses=[*BOTH])\n"
        + "planted('other', 'double = lambda n: n + n')\nforbid('eval', 'exec')\n"
    )
    right, more = file.checks
    assert (Decimal("1.5"), {"en": "Right", "de": "Richtig"}, {"en": "No."}) == (
        right.points,
        right.title,
        right.told,
    )
    assert (2, CHECK_SECONDS) == (right.seconds, more.seconds)
    assert [("one", 1), ("two", (2, 3))] == [(part.name, part.value) for part in right.parts]
    assert (("right",), ("eval", "exec"), ("double",)) == (more.needs, file.forbidden, file.student_names)
    (mutant,) = file.mutants
    assert ("def double(n):\n    return 2 + n\n", ("right",)) == (mutant.source, mutant.loses)
    assert {"right": Decimal("0.5")} == mutant.points
    assert not file.uses_torch


ERRORS = {
    "no check": (TOP, "no function is decorated"),
    "computed points": (
        TOP + CHECK.replace("points=2", "points=1 + 1"),
        "line 2: check: points: '1 + 1' is no",
    ),
    "misspelt keyword": (TOP + CHECK.replace("points", "point"), "did you mean 'points'?"),
    "no title": (TOP + CHECK.replace(', title="Right"', ""), "title= is missing"),
    "too few parameters": (TOP + CHECK.replace(", draw", ""), "(student, reference, draw)"),
    "parts without a parameter": (
        TOP + CHECK.replace("points=2", "points=2, parts=['a']"),
        "(student, reference, draw, part)",
    ),
    "an unknown need": (TOP + CHECK.replace("points=2", "points=2, needs='rihgt'"), "no check 'rihgt'"),
    "a mutant without a solution": (TOP + CHECK + "mutant('m', 'a', 'b')", "state solution(…)"),
    "an edit that does not fit": (
        TOP + SOLUTION + CHECK + "mutant('m', 'return 2 + n', '')",
        "stands 0 times in the solution, expected once; did you mean 'return 2 * n'?",
    ),
    "an edit that fits twice": (TOP + SOLUTION + CHECK + "mutant('m', 'n', 'k')", "state more of the text"),
    "a mutant that is no Python": (TOP + SOLUTION + CHECK + "mutant('m', '2 * n', '2 *')", "is no Python"),
    "unknown loses": (
        TOP + SOLUTION + CHECK + "mutant('m', '2 *', '3 *', loses='wright')",
        "loses: there is no check 'wright'; did you mean 'right'?",
    ),
    "a mutant in a loop": (
        TOP + SOLUTION + CHECK + "for new in '34':\n    mutant(new, '2', new)",
        "line 7: mutant(…) stands inside other code",
    ),
    "no Python": ("def", "line 1: not valid Python"),
    "two solutions": (TOP + SOLUTION + SOLUTION + CHECK, "stands twice"),
    "a check twice": (TOP + CHECK + CHECK, "check 'right' stands twice"),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS)
def test_read_rejects(text: str, message: str) -> None:
    """Each error is reported with its line."""
    with pytest.raises(CheckFileError) as raised:
        read(text)
    assert "reference/checks/f.py" in str(raised.value)
    assert message in str(raised.value)


def test_load_gathers_what_is_imported(tmp_path: Path) -> None:
    """Loading collects the solution and imported modules of the reference, and no others."""
    files = {
        "__init__.py": "",
        "answer.py": "from .inner import helper\n",
        "inner/__init__.py": "",
        "inner/helper.py": "import torch\n",
        "other.py": "",
        "checks/f.py": TOP + "import reference.inner\nsolution('answer.py', names={'F': 'helper'})\n" + CHECK,
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    file = load_check_file(tmp_path, "f.py")
    names = {"checks.f", "answer", "inner", "inner.helper"}
    assert {"reference", *(f"reference.{name}" for name in names)} == set(file.modules)
    assert ("reference.answer", True) == (file.solution_module, file.uses_torch)
    assert file.solution.endswith("\nF = helper\n")


def test_solution_may_lie_in_a_folder(tmp_path: Path) -> None:
    """Folders in the solution's path are packages."""
    for path, text in {
        "tasks/f.py": "def f(): ...\n",
        "checks/f.py": TOP + "solution('tasks/f.py')\n" + CHECK,
    }.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    file = load_check_file(tmp_path, "f.py")
    assert ("reference.tasks.f", "def f(): ...\n") == (file.solution_module, file.solution)


def test_load_names_the_nearest_file(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "attention.py").write_text("")
    with pytest.raises(CheckFileError, match=r"did you mean 'attention\.py'\?"):
        load_check_file(tmp_path, "atention.py")


REFERENCE = Path(__file__).parents[2] / "reference"


@pytest.fixture(scope="module", params=["attention.py", "decoder.py"])
def file(request: pytest.FixtureRequest) -> CheckFile:
    return load_check_file(REFERENCE, request.param)


def test_unpack_gives_all_but_planted_answers(file: CheckFile) -> None:
    unpacked = unpack_checks(pack_checks(file))
    assert not unpacked.planted
    for name in ("module", "modules", "solution", "solution_module", "given", "names", "uses_torch"):
        assert getattr(unpacked, name) == getattr(file, name)
    assert [check.parts for check in unpacked.checks] == [check.parts for check in file.checks]
    assert [(mutant.name, mutant.source) for mutant in unpacked.mutants] == [
        (mutant.name, mutant.source) for mutant in file.mutants
    ]
    for check in file.faults:
        assert unpacked.make_listing([check.id]) == file.make_listing([check.id])
    for check in file.checks:
        assert unpacked.extract_carried(unpacked.get_check(check.id)) == file.extract_carried(check)
