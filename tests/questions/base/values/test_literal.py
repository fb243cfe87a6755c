"""Read plain literals from the source of an answer cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.questions.base.values.literal import (
    Literal,
    find_answer_literal,
    find_tree_literal,
    read_plain_texts,
)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('x = "8*d_model^2"', "8*d_model^2"),
        ("x = 'a' 'b'", "ab"),
        (r'x = r"\frac{1}{2}"', r"\frac{1}{2}"),
        (r'x = "\cdot"', r"\cdot"),
        ("x = 12", 12),
        ("x = -12", -12),
        ("x = +1.5", 1.5),
        ("x = 1_000_000", 1000000),
        ("x = True", True),
        ("x = None", None),
        ("x = (8, 12)", (8, 12)),
        ("x = 8, 12", (8, 12)),
        ('x = ["a", (1, 2.5)]', ["a", (1, 2.5)]),
        ("x = ()", ()),
        ("x: str = 'a'", "a"),
        ("y = x = 'a'", "a"),
        ("x = 1\nx = 2", 2),
        ("# why\nimport math\nx = 1  # one\nprint(x)", 1),
        ("x = 1\ny = x + 1", 1),
        ("x = 1; z = 'x = 2'", 1),
    ],
)
def test_plain_literals(source: str, value: object) -> None:
    """The last assignment at top level counts; lines that only read the name do not matter."""
    assert Literal(value) == find_answer_literal(source, "x")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "y = 1",
        "x",
        "x == 1",
        "x = y",
        "x = 1 + 1",
        "x = f'{1}'",
        "x = b'1'",
        "x = 1j",
        "x = ...",
        "x = {1: 2}",
        "x = -True",
        "x = --1",
        "x = not 1",
        "x = sympy.Symbol('d')",
        "x = 1\nx += 1",
        "x = 1\ndel x",
        "x = 1\nfor x in range(3): pass",
        "x = 1\nif True:\n    x = 2",
        "x = 1\n(x := 2)",
        "x = 1\nx, y = 2, 3",
        "x = 1\ndef x(): pass",
        "x = 1\nclass x: pass",
        "x = 1\nimport x",
        "x = 1\nimport x.y",
        "x = 1\nimport os as x",
        "x = 1\nfrom os import *",
        "x = 1\ndef f():\n    global x\n    x = 2\nf()",
        "x = 1\nwith open('a') as x: pass",
        "x = 1\ntry: pass\nexcept OSError as x: pass",
        "x = 1\nmatch 2:\n    case x: pass",
        "x = 1\nmatch [2]:\n    case [*x]: pass",
        "x = 1\nmatch {}:\n    case {**x}: pass",
        "x = [1]\nx.append(2)",
        "x = ([1],)\nprint(x)",
        "x = [1]\ny = x",
        "%matplotlib inline\nx = 1",
        "!ls\nx = 1",
        "x = 1 1",
        "x = " + "9" * 5000,
        "x = 0x" + "f" * 2000,
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "[" * 50 + "]" * 50,
        "x = " + "-" * 100_000 + "1",
        "x = 1" + " " * 70_000,
        "x = '\ud800'",
        "x = 1\x00",
    ],
)
def test_everything_else_is_left_to_the_sandbox(source: str) -> None:
    """A value that needs execution, or invalid Python, has no literal and raises no exception."""
    assert None is find_answer_literal(source, "x")


@given(st.text(max_size=200))
def test_any_text_is_a_cell(source: str) -> None:
    """Any text of a cell gives a literal or None."""
    literal = find_answer_literal(source, "x")
    assert literal is None or isinstance(literal, Literal)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(PLAIN)
def test_written_values_are_read_back(value: object) -> None:
    """The repr of a plain value is read as that value."""
    try:
        source = f"x = {value!r}"
        source.encode()
    except UnicodeEncodeError:
        return
    assert Literal(value) == find_answer_literal(source, "x")


_SIGNS = ("x", "None", " ", "=", '"', "'", "\\", "\\\\", "#", "\n", "4*d", "²", "r", "\t", "\r", "é", ";")
_RARER = ('x = "a"', "x='b'", 'x: str = "c"', "\x00", "\ud800", "\u2028", "\x0c", "\x85", "\u0301", "?")
PIECES = st.sampled_from(_SIGNS + _RARER)


@given(st.lists(PIECES, max_size=9).map("".join))
def test_plain_cells_are_read_as_the_parser_reads_them(source: str) -> None:
    """The fast reader without the parser agrees with the parser."""
    texts = read_plain_texts(source)
    if texts is not None:
        for name in ("x", "None"):
            assert find_tree_literal(source, name) == (Literal(texts[name]) if name in texts else None)
