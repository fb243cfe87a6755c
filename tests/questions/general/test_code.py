"""Test questions with checks in Python in the real sandbox, from rubric to result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder import messages
from autograder.core.errors import RubricError
from autograder.grading.pipeline import Grader
from autograder.rubric import load_rubric
from tests.support.code_course import grade, open_grader, summarise

MERGE = '''
from autograder.checking import Wrong, assert_equal, check, forbid, mutant, planted, raises, solution

solution(source="""
def merge(a, b):
    if not isinstance(a, list):
        raise TypeError("no list")
    return sorted([*a, *b])
""")
forbid("heapq")

@check(points=1, title="Sorted")
def values(student, reference, draw):
    a, b = sorted(draw.integers(0, 50, 5).tolist()), sorted(draw.integers(0, 50, 8).tolist())
    assert_equal(student.merge(a, b), reference.merge(a, b))

@check(points=1, title="Short lists", told="Think of empty lists.", needs="values", parts=["none", "one"])
def short(student, reference, draw, part):
    found = student.merge([], [] if part == "none" else [1])
    if found == [1, 1]:
        raise Wrong("twice", share=1 / 3)
    assert found == ([] if part == "none" else [1])

@check(points=1, title="Only lists")
def refused(student, reference, draw):
    with raises(TypeError):
        student.merge(1, [2])

@check(points=1, title="Nothing is remembered", seconds=2)
def forgets(student, reference, draw):
    other = student.again()
    for _ in range(3):
        assert student.merge([1], [0]) == other.merge([1], [0])

@check(points=1, title="Ours")
def ours(student, reference, draw):
    assert student.merge([7], [8])[0] in (7, 8, 9), "not one of them"
    if student.merge([7], [8]) == [9, 9]:
        undefined

@check(points=1, title="How long")
def length(student, reference, draw):
    found = student.merge([1], [2, 3])
    if isinstance(found, list) and len(found) != 3:
        told = f"{found} has {len(found)} entries, {{not}} 3."
        raise Wrong("hidden", told={"de": told} if len(found) > 3 else told)

mutant("unsorted", "sorted([*a, *b])", "[*a, *b]", title="The result is sorted.", points={"values": 0.5})
planted("by hand", "def merge(a, b):\\n    a[:0]\\n    return sorted(a + b)", loses=["refused"])
'''
TOP = "def merge(a, b):\n    if not isinstance(a, list):\n        raise TypeError('x')\n"
LIAR = """
class Liar:
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    def __sub__(self, other): return 0
    def __getitem__(self, at): return 7
"""
ITEMS = ("values", "short", "refused", "forgets", "ours", "length")
FULL = {f"merge.{name}": "1 passed" for name in ITEMS}
GPU = TOP + "    raise AssertionError('Torch not compiled with CUDA enabled')"
ANSWERS: dict[str, tuple[str, Mapping[str, str]]] = {
    "no function": (
        "merge = 7",
        {
            **dict.fromkeys(("values", "refused", "forgets", "ours", "length"), "0 code.failed"),
            "short": "0 code.told",
        },
    ),
    "asks for a GPU": (
        GPU,
        dict.fromkeys(("values", "short", "forgets", "ours", "length"), "0 code.device"),
    ),
    "right": (TOP + "    return sorted(a + b)", {}),
    "a mutant": (
        TOP + "    return a + b",
        {"values": "0.5 code.mistake", "short": "0 needs.lacking", "forgets": "1 passed"},
    ),
    "half of an item": (TOP + "    return sorted(a + b) if a or b else None", {"short": "0.5 code.told"}),
    "a share of one half": (TOP + "    return sorted(a + b) if a else b + b", {"short": "0.66 code.told"}),
    "refuses nothing": (
        "def merge(a, b):\n    return sorted([*(a if a != 1 else []), *b])",
        {"refused": "0 code.failed"},
    ),
    "raises": (
        TOP + "    if len(a) > 3: raise KeyError('here')\n    return sorted(a + b)",
        {"values": "0 raised", "short": "0 needs.lacking"},
    ),
    "raises what is no Exception": (
        "class Mine(BaseException): pass\n" + TOP + "    if len(a) > 3: raise Mine\n    return sorted(a + b)",
        {"values": "0 raised", "short": "0 needs.lacking"},
    ),
    "another name": ("def marge(a, b): ...", dict.fromkeys(("values", "refused"), "0 name.missing")),
    "not written": ("", dict.fromkeys(ITEMS, "0 no-answer")),
    "remembers": (
        "seen = []\n" + TOP + "    seen.append(a)\n    return sorted(a + b) + [2] * (len(seen) > 3)",
        {"forgets": "0 code.failed"},
    ),
    "remembers in a file": (
        TOP + "    try: n = len(open('/tmp/n').read())\n    except OSError: n = 0\n"
        "    open('/tmp/n', 'a').write('x')\n    return sorted(a + b) + [2] * (n > 2)",
        {"forgets": "0 code.failed", "length": "0 code.failed"},
    ),
    "an object that equals everything": (
        LIAR + TOP + "    return Liar()",
        {
            "values": "0 code.failed",
            "short": "0 code.review",
            "forgets": "0 code.review",
            "ours": "0 code.review",
        },
    ),
    "such an object where the rest is right": (
        LIAR + TOP + "    return sorted(a + b) if len(a) != 0 else Liar()",
        {"short": "0 code.review"},
    ),
    "a list that says so": (
        "class L(list):\n    def __eq__(self, other): return True\n" + TOP + "    return L([7])",
        {"values": "0 code.failed", "short": "0 code.told", "forgets": "0 code.review"},
    ),
    "ends its box": (
        TOP + "    if b == [8]: import os; os._exit(0)\n    return sorted(a + b)",
        {"ours": "0 ending.exited"},
    ),
    "never ends": (
        TOP + "    while a == [1] and b == [0]: pass\n    return sorted(a + b)",
        {"forgets": "0 ending.call-time"},
    ),
    "meets our error": (TOP + "    return [9, 9] if b == [8] else sorted(a + b)", {"ours": "0 code.review"}),
    "forbidden": (
        "import heapq\n" + TOP + "    return list(heapq.merge(a, b))",
        {"values": "0 forbidden.look"},
    ),
}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    with open_grader(tmp_path_factory.mktemp("code"), {"merge": (6, MERGE)}) as opened:
        yield opened


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("source", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_code_grades(source: str, expected: Mapping[str, str], grader: Grader) -> None:
    """Each answer loses exactly the expected points or needs manual review."""
    results = grade(grader, {"merge": source} if source else {}).score.items
    summary = summarise(results)
    wanted = {f"merge.{name}": text for name, text in expected.items()}
    if source.startswith("def merge") and len(expected) != len(ITEMS) and "marge" not in source:
        wanted = {**FULL, **wanted}
    assert wanted.items() <= summary.items(), {result.item: result.staff for result in results}


@pytest.mark.sandbox
@pytest.mark.slow
def test_students_read_no_hidden_input(grader: Grader) -> None:
    """Students see the exception of their code, without hidden input."""
    results = grade(grader, {"merge": TOP + "    raise ValueError(f'got {a} here')"}).score.items
    result = next(item_result for item_result in results if item_result.item == "values")
    assert "ValueError: got [" in result.staff
    assert "got [" not in str(result.student.params)


TOLD = {
    "a text chosen at run time": (
        TOP + "    return [len(a)]",
        ("code.told", "[1] has 1 entries, {not} 3."),
    ),
    "a text that lacks the assignment's language": (
        TOP + "    return [0, *a, *b]",
        ("code.failed", "Your answer does not meet this requirement."),
    ),
}


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("source", "expected"), TOLD.values(), ids=TOLD)
def test_students_read_what_a_check_tells_them(
    source: str, expected: tuple[str, str], grader: Grader
) -> None:
    """Students see the message of a check, not the one for staff; missing languages are reported to staff."""
    results = grade(grader, {"merge": source}).score.items
    result = next(item_result for item_result in results if item_result.item == "length")
    assert expected == (result.code, messages.render_message(result.student, "en"))
    assert ("lacks en" in result.staff) == (result.code == "code.failed")


GROWING = """
from autograder.checking import assert_equal, check, mutant, solution

solution(source="def NAME(x): return [x, x FORMULA]")

@check(points=1, title="Growing")
def values(student, reference, draw):
    x = int(draw.integers(3, 50))
    assert_equal(student.NAME(x), reference.NAME(x))

mutant("minus", "x FORMULA", "x - 7", title="NAME subtracts.", points={"values": 0.5})
"""


@pytest.mark.sandbox
@pytest.mark.slow
def test_mutants_of_one_question_do_not_hide_those_of_another(tmp_path: Path) -> None:
    """Mutants of one question do not hide those of another whose checks have the same names."""
    files = {
        name: GROWING.replace("NAME", name).replace("FORMULA", formula)
        for name, formula in (("first", "+ 1"), ("second", "* 2"))
    }
    answers = {"first": "def first(x): return [x, x + 2]", "second": "def second(x): return [x, x - 7]"}
    with open_grader(tmp_path, {name: (1, text) for name, text in files.items()}) as opened:
        items = grade(opened, answers).score.items
    assert {"first.values": "0 code.failed", "second.values": "0.5 code.mistake"} == summarise(items)


RUBRIC = """version = 1
[assignment]
name = "code"
points = 6
[[question]]
id = "merge"
kind = "code"
points = 6
"""
MISTAKES = {
    "points that do not add up": (RUBRIC.replace("= 6", "= 7"), "7 are stated, but the parts add up to 6"),
    "an item without a check": (
        RUBRIC + '[[question.item]]\nid = "value"\npoints = 1\ntext = { en = "V" }\n',
        "reference/checks/merge.py has no check 'value'; did you mean 'values'?",
    ),
    "other points than the check's": (
        RUBRIC + '[[question.item]]\nid = "values"\npoints = 2\ntext = { en = "V" }\n',
        "2 are stated here, and 1 in reference/checks/merge.py, line 13",
    ),
    "checks of another kind": (
        RUBRIC.replace('kind = "code"', 'kind = "count"\nchecks = "merge.py"'),
        "only questions of kind code and repair have checks",
    ),
    "a reference": (
        RUBRIC + 'reference = "merge:merge"\n',
        "checks import what they compare with",
    ),
    "another file": (RUBRIC + 'checks = "merg.py"\n', "did you mean 'merge.py'?"),
}


@pytest.fixture
def rubric_path(tmp_path: Path) -> Path:
    for folder in ("rubrics", "reference/checks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "reference/checks/merge.py").write_text(MERGE)
    return tmp_path / "rubrics" / "code.toml"


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_rubric_and_checks_must_agree(text: str, message: str, rubric_path: Path) -> None:
    rubric_path.write_text(text)
    with pytest.raises(RubricError) as raised:
        load_rubric(rubric_path)
    assert str(rubric_path) in str(raised.value)
    assert message in str(raised.value)


def test_rubric_orders_and_words_the_items(rubric_path: Path) -> None:
    """The rubric may override the texts and the order of items; the checks define everything else."""
    rubric_path.write_text(
        RUBRIC.replace("= 6", "= 7")
        + '[[question.item]]\nid = "refused"\ntext = { en = "Own words" }\n'
        + '[[question.item]]\nid = "style"\nmanual = true\npoints = 1\ntext = { en = "Style" }\n'
    )
    items = load_rubric(rubric_path).get_question("merge").items
    assert ["refused", "style", "values", "short", "forgets", "ours", "length"] == [item.id for item in items]
    assert ({"en": "Own words"}, {"en": "Sorted"}) == (items[0].text, items[2].text)
    assert ("values",) == items[3].needs
