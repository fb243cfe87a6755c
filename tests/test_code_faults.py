"""Faults are found by what code does, whatever its names and layout; comments and other lines stay."""

from __future__ import annotations

import ast
import difflib

import pytest

from autograder.code_faults import CATALOGUE, planted_faults


def changed(source: str, fault: str) -> set[str]:
    """The lines that a fault leaves in a function's body, one for each place."""
    found = set()
    for one in planted_faults(f"def f(a, b, mask=None):\n    {source}\n"):
        if one.fault == fault:
            found.add("\n".join(one.source.split("\n")[1:-1]).strip())
    return found


CASES = (
    ("scaling", "return a @ b / math.sqrt(8)", {"return a @ b"}),
    ("scaling", "return (a @ b) * 8 ** -0.5", {"return a @ b"}),
    ("scaling", "r = 8 ** 0.5", {"r = 1.0"}),
    ("root", "return a / np.sqrt(8)", {"return a / 8"}),
    ("root", "return a / 8 ** 0.5", {"return a / 8"}),
    ("mask", "return a.masked_fill(mask == 0, -9)", {"return a"}),
    ("mask", "return torch.where(mask, a, -inf)", {"return a"}),
    ("mask", "a = a.masked_fill(mask == 0, -9)", set()),
    ("mask-value", "a = a.masked_fill(mask, -np.inf)", {"a = a.masked_fill(mask, 0.0)"}),
    ("mask-inverted", "a = a.masked_fill(~mask, -9)", {"a = a.masked_fill(mask, -9)"}),
    ("mask-inverted", "a = a.masked_fill(mask == 0, 1)", {"a = a.masked_fill((mask != 0), 1)"}),
    ("softmax-axis", "return F.softmax(a, -1)", {"return F.softmax(a, -2)"}),
    ("softmax-axis", "return a.softmax(dim=1)", {"return a.softmax(dim=0)"}),
    ("axis", "return a.sum(axis=-1)", {"return a.sum(axis=-2)"}),
    ("transpose", "return a @ b.T", {"return a @ b"}),
    ("transpose", "return a @ b.transpose(1, 2)", {"return a @ b"}),
    ("reduction", "return a.mean()", {"return a.sum()"}),
    ("reduction", "return loss(a, reduction='sum')", {"return loss(a, reduction='mean')"}),
    ("bounds", "x = [i for i in range(8)]", {"x = [i for i in range(8 - 1)]"}),
    ("bounds", "return a[1:]", {"return a[2:]"}),
    ("bounds", "return a < b", {"return a <= b"}),
    ("initial", "n = 0; n = n + a", {"n = 1; n = n + a"}),
    ("initial", "n = torch.zeros(3)", {"n = torch.ones(3)"}),
    ("bias", "x = nn.Linear(3, 4)", {"x = nn.Linear(3, 4, bias=False)"}),
    ("residual", "return a + g(a)", {"return g(a)"}),
    ("summand", "return a @ b + c", {"return a @ b"}),
    ("argument", "return g(a) + g(b)", {"return g(b) + g(b)", "return g(a) + g(a)"}),
    ("update", "a += b", {"a = b"}),
    ("operator", "return a - b", {"return a + b"}),
    ("constant", "return a + 3", {"return a + 4"}),
    ("branches", "return a if mask else b", {"return b if mask else a"}),
    ("deleted", "x.append(a)", {"pass"}),
)
"""Kind of fault, a line, and what it may become."""


@pytest.mark.parametrize(("fault", "right", "faulty"), CASES)
def test_what_a_fault_does(fault: str, right: str, faulty: set[str]) -> None:
    """Each kind of fault changes what it is about, and nothing else."""
    assert faulty == changed(right, fault)


def test_every_kind_of_fault_has_an_example() -> None:
    """None is in the catalogue that no test has seen."""
    assert {fault for fault, _, _ in CASES} == {one.id for one in CATALOGUE}


def test_layout_and_comments_stay() -> None:
    """One line is another one; what only refuses, describes or explains is left alone."""
    source = (
        "def f(a: int = 1) -> 'x + y':\n"
        "    '''a + b'''\n"
        "    # täglich: 1 + 1\n"
        "    if a < 0:\n"
        "        raise ValueError(a + 1)\n"
        '    größe = "ü" * a   +   2  # two\n'
        "    return größe\n"
        "LIMIT = 1 + 2\n"
    )
    made = planted_faults(source)
    assert made
    for one in made:
        ast.parse(one.source)
        lines = [
            line for line in difflib.ndiff(source.split("\n"), one.source.split("\n")) if line[0] in "+-"
        ]
        assert 2 == len(lines)
        assert "# täglich" in one.source
        assert "raise ValueError(a + 1)" in one.source
        assert "LIMIT = 1 + 2" in one.source
        assert source.split("\n")[one.line - 1] != one.source.split("\n")[one.line - 1]
