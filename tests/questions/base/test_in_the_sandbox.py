"""Kinds that compare values, tested through the real sandbox and its transfer format."""

from __future__ import annotations

import pytest

from autograder.core.records import Limits, Status
from autograder.questions.base.base import Evidence
from autograder.sandbox.base import Sandbox
from tests.questions.base.asking import DRAW, answer, check_of

pytestmark = pytest.mark.sandbox


def codes(sandbox: Sandbox, question: str, source: str, right: str) -> dict[str, str]:
    """Return the code of each item (empty if passed); the reference runs in a separate box."""
    check = check_of(question)
    given_answer = answer(source)
    asked = []
    for text, plan in ((source, check.plan_calls(given_answer)), (right, check.plan_reference_calls())):
        box = sandbox.open(Limits())
        box.run_cell(text, seconds=20)
        asked.append(box.ask(plan, seconds=20))
        box.close()
    results = check.judge(Evidence(given_answer, asked[0], asked[1], draw=DRAW))
    return {result.item: result.code if result.status is not Status.PASSED else "" for result in results}


TOTAL = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "total"
[[question.item]]
id = "number"
points = 2
text = { en = "The number" }
value = 124_439_808
"""


@pytest.mark.parametrize(
    ("question", "source", "code"),
    [
        (TOTAL, "import numpy\ntotal = numpy.int64(124_439_808)", ""),
        (TOTAL, "import torch\ntotal = torch.tensor(124_439_808)", ""),
        (TOTAL, "class Lie(int):\n    def __eq__(self, other): return True\ntotal = Lie(7)", "number.wrong"),
        (TOTAL, "total = 1 << 100_000", "number.too-large"),
        (TOTAL, "import sympy\ntotal = sympy.Integer(124_439_808)", ""),
        (TOTAL, "from fractions import Fraction\ntotal = Fraction(248_879_616, 2)", ""),
        (TOTAL, "from decimal import Decimal\ntotal = Decimal('124439808.0')", ""),
        (TOTAL, "import numpy\ntotal = numpy.array([124_439_808], dtype='uint32')", ""),
        (TOTAL, "import torch\ntotal = torch.tensor([124_439_808.0])", ""),
        (TOTAL, "tottal = 5 + 5", "name.missing"),
    ],
)
def test_counts_in_the_box(torch_sandbox: Sandbox, question: str, source: str, code: str) -> None:
    """Integers of any library arrive as integers, and a lying subclass as its real value."""
    right = "def count_mlp(d):\n    return 8 * d * d"
    assert [code] == list(codes(torch_sandbox, question, source, right).values())


RATIO = """
[[question]]
id = "ratio"
kind = "number"
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
kind = "formula"
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
        (RATIO, THIRD, "ratio = '0.333'", "number.digits"),
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
