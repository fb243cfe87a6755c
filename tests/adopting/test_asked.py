"""What a test asks is read from its text, and what cannot be is told with its reason."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.adopting.asked import AskedCall, AskedTest, read_test
from autograder.adopting.stated import hidden


def read(code: str, *, is_doctest: bool = False) -> AskedTest:
    """A test of `f`, beside another function, a class and two variables of the answer's."""
    return read_test(code, is_doctest=is_doctest, functions={"f", "g"}, names={"f", "g", "C", "x", "y"})


def test_calls_with_constants_are_counts_or_values() -> None:
    """Numbers that are whole make a count; a session is read as well as assertions."""
    found = read('"""Small ones"""\nassert f(1) == 1\nassert f(4, k=[2]) == 10')
    assert (found.answer, found.counts, found.reason) == ("f", True, "")
    assert found.calls == (AskedCall((1,)), AskedCall((4,), {"k": [2]}))
    assert not read("assert f(1) == 0.5").counts
    session = read(">>> f('a b')\n'b'\n>>> f('c') == 'c'\nTrue\n", is_doctest=True)
    assert session.calls == (AskedCall(("a b",)), AskedCall(("c",)))


def test_loops_and_names_are_followed() -> None:
    """Stated values may come of a list, or of a name of the test's own."""
    found = read("cases = 3\nfor n, want in [(1, 2), (5, 6)]:\n    got = f(n, cases)\n    assert got == want")
    assert found.calls == (AskedCall((1, 3)), AskedCall((5, 3)))
    assert found.counts


def test_several_names_at_once() -> None:
    """Parts of a result are about its call; arrays that are drawn side by side are arguments."""
    found = read("q, k = np.zeros(2), 3\nloss, grad = f(q, k)\nassert abs(loss - 2) < 1e-9")
    assert found.calls == (AskedCall(({"array": [0.0, 0.0]}, 3)),)
    assert found.answer == "f"
    assert "hands over b" in read("a, b = [1, 2]\nassert f(b) == 2").reason


def test_arrays_are_stated_or_drawn() -> None:
    """What the test makes of numbers or draws itself, a rubric describes."""
    found = read(
        "x1 = np.random.randn(5, 3)\nw = np.array([[1, 2]], dtype=np.float32)\n"
        "assert np.allclose(f(x1, w), x1 @ w.T)"
    )
    assert found.calls == (
        AskedCall(({"draw": "normal", "shape": [5, 3]}, {"array": [[1, 2]], "dtype": "float32"})),
    )
    assert read("assert torch.allclose(f(torch.ones(2)), torch.ones(2))").library == "torch"


def test_exceptions_that_are_expected() -> None:
    """With pytest's way and with Python's own."""
    refused = AskedCall((0,), raises=("ValueError",))
    assert read("with pytest.raises(ValueError):\n    f(0)").calls == (refused,)
    own = "try:\n    f(0)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError('no')"
    assert read(own).calls == (refused,)
    assert read(own.replace("else:\n    raise AssertionError('no')", "")).reason != ""


def test_partial_credit_hangs_on_conditions() -> None:
    """Points that are added up are parts of the item."""
    found = read(
        "points = 0\nif f(1) == 2 and f(3) == 4:\n    points += 2\n"
        "if len(f(5)) == 1:\n    points += 1\npoints"
    )
    assert [(one.args, one.worth, one.line) for one in found.calls] == [
        ((1,), Decimal(2), 2),
        ((3,), Decimal(2), 2),
        ((5,), Decimal(1), 4),
    ]


def test_a_hashed_variable_with_what_it_is_rounded_to() -> None:
    """What is asked of its type besides asks for less."""
    digest = "da4b9237bacccdf19c0760cab7aec4a8359010b0"
    found = read(f'assert isinstance(x, float)\nassert sha(f"{{x:.2f}}".encode()) == "{digest}"')
    assert (found.answer, found.hashed, found.decimals) == ("x", True, 2)
    assert read(f'assert sha(str(round(x, 1))) == "{digest}"').decimals == 1
    assert "several variables" in read(f'assert h(x) == "{digest}"\nassert h(y) == "{digest}"').reason


def test_the_hash_of_a_result_is_about_the_call() -> None:
    """As the tests are that nbgrader makes itself."""
    digest = "fd1f522459d5dc0cd9a73c3a17d64115c99d6a19"
    found = read(f'assert sha1(str(len(f(3))).encode() + b"96a17").hexdigest() == "{digest}"')
    assert (found.answer, found.calls, found.hashed) == ("f", (AskedCall((3,)),), False)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("assert f(C()) == 1", "hands over C(), which a rubric cannot state"),
        ("assert f(1) == g(1)", "several answers: f, g"),
        ("assert isinstance(f(1), list)", "types and shapes alone"),
        ("assert C().run() == 3", "looks at C otherwise"),
        ("f = 3", "binds f, a name of the answer"),
        ("f.cache.clear()\nassert f(1) == 1", "line 1 does more than look at results"),
        ("assert raised(lambda: f(0), ValueError)", "line 1 calls the answer in a function of its own"),
        ("assert 1 == 1", "calls no function of the answer's"),
        ("%time f(1)", "not plain Python"),
    ],
)
def test_what_cannot_be_asked_has_a_reason(code: str, reason: str) -> None:
    """Nothing is proposed that would ask for less, or for something else."""
    assert reason in read(code).reason


def test_hidden_values_are_like_those_of_the_test() -> None:
    """Of the same type, in the range of all that are known, and of the same length."""
    assert hidden(3, [3, 10]) == {"whole": [3, 10]}
    assert hidden(0.5, [0.5, -1]) == {"number": [-1.0, 0.5]}
    assert hidden("a bc", ["a bc", "d"])["between"] == " "
    assert hidden([1, 2.5], []) == {"parts": [{"number": [1.0, 2.5]}, {"number": [1.0, 2.5]}]}
    assert hidden({"array": [[1, 2], [3, 4]]}, []) == {
        "draw": "integers",
        "shape": [2, 2],
        "low": 1,
        "high": 7,
    }
    assert hidden(True, [True]) == {"choose": [True, False]}
