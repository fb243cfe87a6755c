"""The kinds that call student code, through the real sandbox and its wire."""

from __future__ import annotations

import pytest

from autograder.checks.base import Evidence
from autograder.records import Cell, Limits, Status
from autograder.sandbox.base import Sandbox
from autograder.sandbox.session import Session
from reference.faults.attention import listing
from tests.checks.asking import DRAW, answer, check_of
from tests.checks.judging.test_forbidden import (
    BEHAVIOUR,
    CALLS,
    HEAD,
    HELPERS,
    IMPLEMENTATION,
    LAYERS,
    UNSEEN,
)
from tests.checks.judging.test_forbidden import RIGHT as PRODUCT
from tests.kinds.general.test_behaviour import ATTENTION, RIGHT
from tests.kinds.general.test_count import FUNCTION, TOTAL
from tests.kinds.transformers.attention_questions import GENERAL, STRICT
from tests.kinds.transformers.attention_styles import STYLES

pytestmark = pytest.mark.sandbox


def codes(sandbox: Sandbox, question: str, source: str, right: str) -> dict[str, str]:
    """Item → code (empty: passed) of one answer, beside the right one in a box of its own."""
    check = check_of(question)
    given = answer(source)
    asked = []
    for text, plan in ((source, check.plan(given, DRAW)), (right, check.reference_plan(DRAW))):
        box = sandbox.open(Limits())
        box.run_cell(text, seconds=20)
        asked.append(box.ask(plan, seconds=20))
        box.close()
    results = check.judge(Evidence(given, asked[0], asked[1], draw=DRAW))
    return {one.item: one.code if one.status is not Status.PASSED else "" for one in results}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("", ""), {}),
        (("mask == 0", "mask == 1"), {"both": "value.differs", "padding": "property.masked-leaks"}),
        (
            ("q_proj", "w_q"),
            {"self": "weights.missing", "both": "weights.missing", "gradient": "raised"},
        ),
        (
            ("return self.out_proj((", "import os; os._exit(0); (("),
            {"self": "ending.exited"},
        ),
    ],
)
def test_attention_in_the_box(torch_sandbox: Sandbox, change: tuple[str, str], wrong: dict[str, str]) -> None:
    """Weights, masks, gradients and names travel as the judgement expects."""
    found = codes(torch_sandbox, ATTENTION, RIGHT.replace(*change), RIGHT)
    if "ending.exited" in wrong.values():  # what comes after the end is asked again by the grading
        found = {"self": found["self"]}
    assert wrong == {name: code for name, code in found.items() if code}


@pytest.mark.parametrize(
    ("question", "source", "lost"),
    [
        (STRICT, listing(), {}),
        (STRICT, listing(["keys_detached"]), {"gradients", "contract"}),
        (STRICT, listing(["dropout_never"]), {"dropout_training"}),
        (GENERAL, STYLES["one map, head by head"], {}),
        (GENERAL, STYLES["lazy linears, dropout on the context"], {}),
        (GENERAL, STYLES["additive mask, weights returned"], {}),
        (GENERAL, STYLES["values, keys, query; True blocks"], {}),
        (GENERAL, listing(["mask_kept"]), {"masks"}),
        (IMPLEMENTATION, STYLES["heads in the batch"], {}),
        (IMPLEMENTATION, STYLES["torch's own class"], {"value", "batch"}),
        (BEHAVIOUR, PRODUCT, {}),
        (BEHAVIOUR, f"{HEAD}{CALLS['as an operator']}", {"value", "batch"}),
    ],
)
def test_implementations_in_the_box(
    torch_sandbox: Sandbox, question: str, source: str, lost: set[str]
) -> None:
    """Parameters are filled, read and recorded through the wire as in the tests of the judgement."""
    found = codes(torch_sandbox, question, source, PRODUCT)
    assert set(lost) == {name for name, code in found.items() if code}


@pytest.mark.parametrize(
    ("question", "source", "code"),
    [
        (TOTAL, "import numpy\ntotal = numpy.int64(124_439_808)", ""),
        (TOTAL, "import torch\ntotal = torch.tensor(124_439_808)", ""),
        (TOTAL, "class Lie(int):\n    def __eq__(self, other): return True\ntotal = Lie(7)", "count.wrong"),
        (TOTAL, "total = 1 << 100_000", "count.huge"),
        (TOTAL, "import sympy\ntotal = sympy.Integer(124_439_808)", ""),
        (TOTAL, "tottal = 5 + 5", "name.missing"),
        (FUNCTION, "def count_mlp(d):\n    return 8 * d * d", ""),
        (FUNCTION, "def count_mlp(d):\n    return 4 * d * d", "count.wrong"),
        (FUNCTION, "def count_mlp(d):\n    raise SystemExit", "raised"),
    ],
)
def test_counts_in_the_box(torch_sandbox: Sandbox, question: str, source: str, code: str) -> None:
    """Integers of every origin arrive as integers, and a lying subclass as what it holds."""
    right = "def count_mlp(d):\n    return 8 * d * d"
    assert [code] == list(codes(torch_sandbox, question, source, right).values())


RATIO = """
[[question]]
id = "ratio"
kind = "quantity"
points = 1
answer = "ratio"
unit = ""
reference = "r:r"
[[question.item]]
id = "v"
points = 1
text = { en = "Ratio" }
"""
SHARE = """
[[question]]
id = "share"
kind = "symbolic"
points = 1
answer = "share"
reference = "r:r"
[[question.item]]
id = "f"
points = 1
text = { en = "Share" }
"""
THIRD = "def {name}():\n    from fractions import Fraction\n    return Fraction(1, 3)"
TENTH = "def {name}():\n    from decimal import Decimal\n    return Decimal('0.1')"


@pytest.mark.parametrize(
    ("question", "right", "source", "code"),
    [
        (SHARE, THIRD, "share = '1/3'", ""),
        (SHARE, THIRD, "share = 0.3333333333333333", "formula.wrong"),
        (SHARE, THIRD, "from fractions import Fraction\nshare = Fraction(2, 6)", ""),
        (SHARE, THIRD, "import sympy\nshare = sympy.Rational(1, 3)", ""),
        (SHARE, TENTH, "from decimal import Decimal\nshare = Decimal('1e-1')", ""),
        (SHARE, TENTH, "import numpy\nshare = numpy.array(0.1)", ""),
        (SHARE, TENTH, "import torch\nshare = torch.tensor(0.1, dtype=torch.float64)", ""),
        (SHARE, TENTH, "import numpy\nshare = numpy.array([0.1])", "formula.not-a-formula"),
        (RATIO, THIRD, "from fractions import Fraction\nratio = Fraction(1, 3)", ""),
        (RATIO, THIRD, "ratio = '1/3'", ""),
        (RATIO, THIRD, "ratio = '0.333'", "quantity.digits"),
        (RATIO, TENTH, "ratio = 0.1", ""),
        (RATIO, TENTH, "from decimal import Decimal\nratio = Decimal('0.1')", ""),
        (TOTAL, THIRD, "from fractions import Fraction\ntotal = Fraction(124_439_808)", ""),
        (TOTAL, THIRD, "from decimal import Decimal\ntotal = Decimal('124439808')", ""),
    ],
)
def test_exact_numbers_in_the_box(
    torch_sandbox: Sandbox, question: str, right: str, source: str, code: str
) -> None:
    """Fractions and decimals arrive exactly, from the reference and from students."""
    name = {SHARE: "share", RATIO: "ratio", TOTAL: "total"}[question]
    assert [code] == list(codes(torch_sandbox, question, source, right.format(name=name)).values())


HIDDEN = {
    "a helper that looks at the stack": (HELPERS["looks at the stack of modes"], UNSEEN, BEHAVIOUR),
    "another mode": (HELPERS["replaces the mode"], UNSEEN, BEHAVIOUR),
    "another str": (HELPERS["patches what texts are made of"], UNSEEN, BEHAVIOUR),
    "modes switched off": (HELPERS["switches modes off"], UNSEEN, BEHAVIOUR),
    "another thread": (HELPERS["in a thread, falls back"], UNSEEN, BEHAVIOUR),
    "a derived layer": (
        LAYERS["torch's own, derived"],
        f"{HEAD}from torch.overrides import _get_current_function_mode_stack as modes\n"
        "class MultiHeadAttention(nn.Module):\n    def __init__(self, d_model, n_heads):\n"
        "        super().__init__()\n        self.inner = Helper(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value):\n"
        "        return query if modes() else self.inner(query, key, value)[0]\n",
        IMPLEMENTATION,
    ),
}


@pytest.mark.parametrize("attack", HIDDEN.values(), ids=HIDDEN)
def test_nothing_forbidden_hides_in_a_submission(
    torch_sandbox: Sandbox, attack: tuple[str, str, str]
) -> None:
    """In a submission's boxes, with what was taken before student code ran, and no cell read."""
    helper, source, question = attack
    check, given = check_of(question), answer(source)
    with Session(torch_sandbox, [Cell(HEAD + helper), Cell(source)], Limits()) as session:
        observed = session.ask(check.plan(given, DRAW))
    with Session(torch_sandbox, [Cell(PRODUCT)], Limits()) as session:
        plan = check.reference_plan(DRAW)
        expected = session.ask(plan) if plan else ()
    results = check.judge(Evidence(given, observed, expected, draw=DRAW))
    assert {0} == {one.points for one in results}
    assert {one.code for one in results} <= {"forbidden.used", "forbidden.look"}


def test_who_does_without_keeps_all(torch_sandbox: Sandbox) -> None:
    """An own product is the same where torch refuses its own, and a comparison beside it is no use."""
    check, given = check_of(BEHAVIOUR), answer(PRODUCT)
    compared = "q = torch.ones(2, 3, 4)\nprint(attend(q, q, q) - F.scaled_dot_product_attention(q, q, q))"
    with Session(torch_sandbox, [Cell(PRODUCT), Cell(compared)], Limits()) as session:
        observed = session.ask(check.plan(given, DRAW))
        expected = session.ask(check.reference_plan(DRAW))
    results = check.judge(Evidence(given, observed, expected, cells=(compared,), draw=DRAW))
    assert {Status.PASSED} == {one.status for one in results}
