"""Test cells: the result of each outcome, and which tests can be judged outside."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from autograder.core.errors import RubricError
from autograder.core.records import CellOutcome, Ending, Status
from autograder.questions.base.base import Evidence
from autograder.questions.base.judging.judgeable import explain_unjudgeable, list_imports, make_changed_forms
from tests.questions.base.asking import answer, check_of

QUESTION = """
[[question]]
id = "q"
kind = "tests"
points = 2
STYLE
[[question.item]]
id = "test"
points = 2
text = { en = "The test" }
code = "assert f(1) == 2"
"""


def judged(outcome: CellOutcome, *, style: str = "", changed: bool = True) -> tuple[str, str, Decimal]:
    """Return the status, code and points of one test."""
    check = check_of(QUESTION.replace("STYLE", style))
    given_answer = answer("def f(n): return 2", changed=changed)
    (result,) = check.judge(Evidence(given_answer, (), tests={"test": outcome}))
    return result.status.value, result.code, result.points


NOTHING = Decimal(0)
OUTCOMES = {
    "it passes": (CellOutcome(), (Status.PASSED.value, "", Decimal(2))),
    "it raises": (CellOutcome(error="AssertionError"), (Status.FAILED.value, "tests.failed", NOTHING)),
    "the box ended": (CellOutcome(ending=Ending.MEMORY), (Status.FAILED.value, "ending.memory", NOTHING)),
    "partial credit": (CellOutcome(value=0.5), (Status.FAILED.value, "tests.partial", Decimal("0.50"))),
    "a comparison that holds": (CellOutcome(value=True), (Status.PASSED.value, "", Decimal(2))),
    "none of the points": (CellOutcome(value=0.0), (Status.FAILED.value, "tests.failed", NOTHING)),
    "all of the points": (CellOutcome(value=2.0), (Status.PASSED.value, "", Decimal(2))),
    **{
        f"it ends with {value}": (
            CellOutcome(value=value),
            (Status.NEEDS_REVIEW.value, "tests.review", NOTHING),
        )
        for value in (False, -1.0, float("nan"), 2.5, "Handle", "number", "str", "list", "complex", "Tensor")
    },
    "it cannot be judged": (
        CellOutcome(refused="why"),
        (Status.NEEDS_REVIEW.value, "tests.review", NOTHING),
    ),
    "it proves nothing": (CellOutcome(doubt="why"), (Status.NEEDS_REVIEW.value, "tests.review", NOTHING)),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_becomes_of_an_outcome(name: str) -> None:
    """Full marks need a test that ends without anything suspicious; otherwise it needs manual review."""
    outcome, expected = OUTCOMES[name]
    assert expected == judged(outcome)


@pytest.mark.parametrize(
    ("ending", "limit"),
    [
        (Ending.MEMORY, "2048 MB"),
        (Ending.OUTPUT, "4096 kB"),
        (Ending.CELL_TIME, "30 s"),
        (Ending.SUBMISSION_TIME, "120 s"),
        (Ending.RESTARTS, "6"),
        (Ending.CALL_TIME, "5 s"),
    ],
    ids=lambda value: getattr(value, "value", value),
)
def test_a_box_that_ended_names_the_limit_it_met(ending: Ending, limit: str) -> None:
    """Memory limits are stated in megabytes; the time limit is the one of the test."""
    check = check_of(QUESTION.replace("STYLE", "") + "seconds = 5\n")
    outcome = CellOutcome(ending=ending)
    (result,) = check.judge(Evidence(answer("def f(n): return 2"), (), tests={"test": outcome}))
    assert result.student.params["limit"] == limit


def test_otter_knows_no_partial_credit() -> None:
    """A test in the style of otter has no partial credit, whatever its last value."""
    assert (Status.PASSED.value, "", Decimal(2)) == judged(CellOutcome(value=0.5), style='style = "otter"')


def test_silence_is_not_full_marks() -> None:
    """An unchanged cell is no answer if the test fails, and needs manual review if it passes."""
    assert Status.NO_ANSWER.value == judged(CellOutcome(error="NameError"), changed=False)[0]
    assert Status.NEEDS_REVIEW.value == judged(CellOutcome(), changed=False)[0]


def test_an_outcome_that_is_missing_is_our_fault() -> None:
    """A test that was not run needs manual review."""
    check = check_of(QUESTION.replace("STYLE", ""))
    (result,) = check.judge(Evidence(answer("x = 1"), ()))
    assert (Status.NEEDS_REVIEW, "review.fault") == (result.status, result.code)


def test_an_empty_test_is_refused() -> None:
    """A rubric with an empty test is rejected."""
    with pytest.raises(RubricError, match="the test is empty"):
        check_of(QUESTION.replace("STYLE", "").replace("assert f(1) == 2", " "))


OUTSIDE = (
    "def f(x): return x\nassert total(f) == 1",
    "assert total(lambda x: x) == 1",
    "import matplotlib.pyplot as plt\nassert plt.gca().lines",
    "assert squares(3) == [1, 4, 9]",
    "import numpy as np\nnp.testing.assert_allclose(scaled(np.ones(3)), 3)",
    "try:\n    squares(0)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError",
    "result = squares(3)\nassert result[-1] == 9 and isinstance(result, list)",
    ">>> squares(2)\n[1, 4]\n",
    "from math import pi\nassert abs(area(1) - pi) < 1e-9",
    "model = Net()\nassert sum(p.numel() for p in model.parameters()) == 12",
    "assert 'squares' in globals()",
    "assert 100 % 7 == 2",
    "y = total(x)\nassert y.grad_fn is not None and y.grad is None",
    "try:\n    total(x).backward()\n    assert x.grad is not None\nexcept RuntimeError:\n    assert False",
    "stride = 2\nassert Net().conv.stride == (stride, stride)",
    "assert 'a' in vars(Net()) and Net().__dict__['a'] == 1",
    "try:\n    total(x).backward()\nexcept RuntimeError as error:\n    raise AssertionError from error",
)
NOT_OUTSIDE = {
    "%matplotlib inline\nassert squares(1)": "magic",
    "!ls": "magic",
    "import inspect\nassert 'for' in inspect.getsource(squares)": "source text",
    "m = Net()\nassert m.a.data_ptr() == m.b.data_ptr()": "only the notebook knows (data_ptr)",
    "assert scaled(x).is_contiguous()": "only the notebook knows (is_contiguous)",
    "assert np.shares_memory(x, scaled(x))": "only the notebook knows (shares_memory)",
    "from torch.func import functional_call\nassert functional_call(Net(), {}, x) == 1": "(functional_call)",
    "kept = vars(Net())\nassert kept == {}": "own dictionary",
    "m = Net()\nkept = m.__dict__\nassert kept == {}": "own dictionary",
    "assert m.a.grad is m.b.grad": "two gradients",
    "assert type(loss(x).grad_fn).__name__ == 'MeanBackward0'": "grad_fn",
    "assert loss(x).grad_fn.name() == 'MeanBackward0'": "grad_fn",
    "y = total(x)\ny.backward()\nwith pytest.raises(RuntimeError): y.backward()": "backward raises",
    "try:\n    total(x).backward()\nexcept RuntimeError:\n    pass\nelse:\n    assert False": "backward",
    "try:\n    total(x).backward()\n    pytest.fail('it does')\nexcept RuntimeError: pass": "backward",
    "assert scaled(x).stride() == (1,)": "(stride)",
    "y = total(x)\ntry:\n    y.backward()\n    assert False\nexcept RuntimeError:\n    pass": "backward",
    "assert 'for' in In[-1]": "only the notebook",
    "get_ipython().run_cell('x')": "only the notebook",
    "from unittest.mock import patch\nwith patch('builtins.input'): squares(1)": "patches",
    "del squares\nassert total(1) == 1": "deletes",
    "import builtins\nbuiltins.input = lambda: '3'": "patches a module",
    "class A(squares): pass": "derives",
    "assert open('x.txt').read()": "files",
    "assert (": "no Python",
}


def test_what_can_be_judged_outside() -> None:
    """Calls, comparisons and classes can be judged outside; for other tests the reason is stated."""
    names = ("squares", "total", "scaled", "Net")
    assert {} == {code: why for code in OUTSIDE if (why := explain_unjudgeable(code, names))}
    explanations = {code: explain_unjudgeable(code, names) or "" for code in NOT_OUTSIDE}
    assert {} == {code: why for code, why in explanations.items() if NOT_OUTSIDE[code] not in why}


def test_imports_of_a_release_are_the_libraries_own() -> None:
    """Imports are listed with module and attribute, without plotting libraries."""
    sources = ["%pip install x\nimport numpy.linalg as la, os.path\nfrom torch import nn as layers", "def ("]
    imports = {name: (module, attr) for name, module, attr in list_imports(sources)}
    assert {
        "la": ("numpy.linalg", ""),
        "os": ("os", ""),
        "layers": ("torch", "nn"),
    }.items() <= imports.items()
    assert "plt" not in {name: 1 for name, _, _ in list_imports(["import matplotlib.pyplot as plt"])}


def test_changed_forms_fail_for_right_answers() -> None:
    """Each changed form of a passing test fails for the right answer."""
    code = "assert f(3) == 9\nassert f(2) > 1\nassert [4] == [f(2)]\nassert name == 'a'"
    forms = make_changed_forms(code)
    assert 5 == len(forms)
    for form in forms:
        with pytest.raises(AssertionError):
            exec(form, {"f": lambda n: n * n, "name": "a"})
    assert ">>> f(1)\n1~\n" in make_changed_forms(">>> f(1)\n1\n", is_doctest=True)


def test_a_question_of_all_or_nothing() -> None:
    """With `all_or_nothing`, one failed test costs all points, and one open test makes all wait."""
    second = '[[question.item]]\nid = "more"\npoints = 1\ntext = { en = "More" }\ncode = "assert g(1)"\n'
    check = check_of(QUESTION.replace("points = 2\nSTYLE", "points = 3\nall_or_nothing = true") + second)
    evidence = Evidence(answer("x = 1"), (), tests={"test": CellOutcome(), "more": CellOutcome(error="E")})
    assert ["tests.together", "tests.failed"] == [result.code for result in check.judge(evidence)]
    waiting = replace(evidence, tests={"test": CellOutcome(), "more": CellOutcome(refused="why")})
    assert [Status.NEEDS_REVIEW] * 2 == [result.status for result in check.judge(waiting)]
