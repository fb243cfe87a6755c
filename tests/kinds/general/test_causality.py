"""The kind ``causality``: what outputs depend on is measured from outside and compared with the reference."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.base import Check, Draw
from autograder.errors import RubricError
from autograder.kinds.general.causality import compared
from autograder.messages import languages, render
from autograder.records import ItemResult, Observation, Status
from tests.checks.asking import DRAW, answer, check_of, judge
from tests.support.local_box import LocalBox

HEAD = (
    '[[question]]\nid = "q"\nkind = "causality"\npoints = 1\n'
    'answer = "f"\nreference = "tracing.visibility:x"\n'
)
ITEM = '[[question.item]]\nid = "i"\npoints = 1\ntext = { en = "x" }\n'
PREFIX = check_of(
    f'{HEAD}[[question.case]]\nname = "a"\nargs = [{{ draw = "normal", shape = [2, 5, 3] }}, 2]\n{ITEM}'
)
REFERENCE = "from reference.tracing.visibility import prefix_attention as f"
RIGHT = "from reference.tracing.visibility import prefix_attention as right\n"
START = "import torch\nfrom torch import nn\n"


def judged(check: Check, source: str, reference: str = REFERENCE) -> ItemResult:
    """The result of code of ours, run here."""
    expected = LocalBox(reference).ask(check.reference_plan(DRAW))
    observed = LocalBox(source).ask(check.plan(answer(source), DRAW))
    return judge(check, source, observed, expected)[0]


def masked(mask: str) -> str:
    """Attention with a mask, written another way than the reference."""
    return (
        f"{START}def f(x, p):\n    i = torch.arange(x.size(1))\n    t, s = i[:, None], i[None]\n"
        f"    return torch.where({mask}, torch.exp(x @ x.mT), 0.0) @ x\n"
    )


@pytest.mark.parametrize(
    ("mask", "code"),
    [
        ("(s <= t) | (s < p)", "passed"),
        ("s <= t", "causality.blind"),
        ("(s <= t) | (s <= p)", "causality.leak"),
        ("s >= 0", "causality.leak"),
        ("(s >= t) | (s < p)", "causality.leak"),
    ],
)
def test_masks_are_told_apart(mask: str, code: str) -> None:
    """Right dependence passes whatever the values are; a leak and a missing link are told as such."""
    result = judged(PREFIX, masked(mask))
    assert code == result.student.code, result.staff
    assert all(render(result.student, language) for language in languages())


def test_the_words_name_who_leaks_to_whom() -> None:
    """The pair of positions and the number of such pairs are what was measured."""
    params = judged(PREFIX, masked("(s <= t) | (s <= p)")).student.params
    assert ("0", "2", "4") == (params["query"], params["key"], params["count"])  # two outputs in two examples


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def f(x, p): return x * 0", "causality.nothing"),
        ("def f(x, p): return x.sum()", "causality.axes"),
        ("def f(x, p): return x[:, :3]", "causality.axes"),
        ("def f(x, p): return x[..., :0]", "causality.nothing"),
        ("def f(x, p): return 'x'", "value.form"),
        ("def f(x, p): return None", "value.none"),
        ("def f(x, p): return x * float('nan')", "value.nan"),
        ("import torch\ndef f(x, p): return x + torch.rand(()) + next(n)\nn = iter(range(99))", "unsteady"),
        ("def f(x, p): raise ValueError('no')", "raised"),
        ("def f(x): return x", "raised"),
        ("g = 3", "name.missing"),
    ],
)
def test_other_answers_end_clearly(source: str, code: str) -> None:
    """What is no layer earns nothing, and is told why."""
    result = judged(PREFIX, source)
    assert code == result.student.code, result.staff
    assert Status.NEEDS_REVIEW is not result.status


def test_a_copy_of_the_first_answer_fails() -> None:
    """Code that remembers its first call, or counts its calls, meets them in a hidden order."""
    remembering = (
        f"{REFERENCE} as right\nkept = []\ndef f(x, p):\n    kept.append(right(x, p))\n    return kept[0]\n"
    )
    assert "causality.nothing" == judged(PREFIX, remembering.replace("f as right", "right")).code


def test_a_class_is_made_first() -> None:
    """With ``construct`` the answer is a class; each has weights of its own, and token ids may be changed."""
    check = check_of(
        f"{HEAD}axis = -1\n[question.construct]\nargs = [7, 4]\n[[question.case]]\n"
        f'args = [{{ draw = "integers", shape = [2, 4], low = 0, high = 7 }}]\n{ITEM}'
    )
    layer = (
        f"{START}class f(nn.Module):\n    def __init__(self, v, d):\n        super().__init__()\n"
        "        self.e = nn.Embedding(v, d)\n        self.dropout = nn.Dropout(0.5)\n"
        "    def forward(self, t):\n        return self.dropout(self.e(t)).cumsum(1)\n"
    )
    assert Status.PASSED is judged(check, layer.replace("cumsum(1)", "cumsum(1).tanh()"), layer).status
    assert "causality.leak" == judged(check, layer.replace("cumsum(1)", "flip(1).cumsum(1)"), layer).code


def test_token_ids_that_are_all_equal_by_chance_can_be_changed() -> None:
    """What a position is changed to comes from what may be drawn, not from what was drawn."""
    check = check_of(
        f"{HEAD}axis = -1\nresult_axis = -1\n[[question.case]]\n"
        f'args = [{{ draw = "integers", shape = [1, 2], low = 5, high = 7 }}]\n{ITEM}'
    )
    for seed in range(20):
        (scenario,) = check.reference_plan(Draw(bytes([seed])))
        asked = [tuple(call.args[0].array.ravel().tolist()) for call in scenario.calls]
        assert {5, 6} == {token for tokens in asked for token in tokens}
        assert [2, 2, 2] == [
            asked.count(one) for one in set(asked)
        ]  # as they are, and one or the other changed


def test_infinity_that_appears_is_a_change() -> None:
    """A result that becomes infinite moved; one that is so throughout did not."""
    source = "import torch\ndef f(x, p):\n    y = x.cumsum(1)\n    y[..., 0] = torch.inf\n    return y\n"
    assert "causality.blind" == judged(PREFIX, source).code


def test_examples_are_measured_by_themselves() -> None:
    """A mistake in the second example alone is found."""
    right = np.tril(np.ones((2, 3, 3), bool))
    wrong = right.copy()
    wrong[1, 0, 2] = True
    finding = compared(wrong, right, "f")
    assert finding is not None
    assert ("causality.leak", "0", "2") == (
        finding.code,
        finding.message.params["query"],
        finding.message.params["key"],
    )
    assert compared(right, right, "f") is None


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ("y", "passed"),
        ("y + y.flip(0)", "causality.examples"),
        ("y + y[:1]", "causality.examples"),
        ("y.softmax(0)", "causality.examples"),
        ("y - y.amax() + y.amax()", "passed"),
    ],
)
def test_an_example_that_depends_on_another_one_is_told(result: str, code: str) -> None:
    """What one example is does not show in another; what only rounds differently is no dependence."""
    judgement = judged(PREFIX, f"{RIGHT}def f(x, p):\n    y = right(x, p)\n    return {result}\n")
    assert code == judgement.student.code, judgement.staff
    assert all(render(judgement.student, language) for language in languages())


def test_examples_may_depend_on_one_another_where_the_reference_does() -> None:
    """The reference says what is right, of examples as well; one example alone has no other."""
    mixing = f"{RIGHT}def f(x, p): return right(x, p).softmax(0)\n"
    assert Status.PASSED is judged(PREFIX, mixing, mixing).status
    single = '[[question.case]]\nargs = [{ draw = "normal", shape = [5, 3] }, 2]\n'
    for shape in ("[5, 3]", "[1, 5, 3]"):
        check = check_of(f"{HEAD}{single.replace('[5, 3]', shape)}{ITEM}")
        running = "def f(x, p): return x.cumsum(-2)\n"
        assert Status.PASSED is judged(check, running, running).status


def test_a_reference_that_fails_costs_nothing() -> None:
    """Our fault goes to a person."""
    plan = PREFIX.reference_plan(DRAW)
    broken = [(Observation(ok=False, error="ValueError"),)]
    source = masked("s <= t")
    assert Status.NEEDS_REVIEW is judge(PREFIX, source, LocalBox(source).ask(plan), broken)[0].status
    assert Status.NEEDS_REVIEW is judged(PREFIX, source, "def f(x, p): return 'x'").status


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ("move = 3\n[[question.case]]\nargs = [1]\n", "no array of numbers"),
        ('[[question.case]]\nargs = [{ draw = "normal", shape = [2, 40, 3] }]\n', "2 to 32 positions"),
        ('axis = 5\n[[question.case]]\nargs = [{ draw = "normal", shape = [2, 4, 3] }]\n', "axis 5"),
        ("axis = -1\n[[question.case]]\nargs = [{ array = [[1, 1, 1]] }]\n", "all equal"),
        (
            "axis = -1\n[[question.case]]\n"
            'args = [{ draw = "integers", shape = [2, 4], low = 3, high = 4 }]\n',
            "all equal",
        ),
        (
            'precision = "float32"\n[[question.case]]\nargs = [{ draw = "normal", shape = [4, 3] }]\n',
            "float64",
        ),
        ("", "at least one"),
    ],
)
def test_errors_in_a_rubric_are_named(more: str, match: str) -> None:
    """Arguments without positions, too many of them, or none that can change are refused."""
    with pytest.raises(RubricError, match=match):
        check_of(f"{HEAD}{more}{ITEM}")
