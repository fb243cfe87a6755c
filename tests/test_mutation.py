"""Mutants of answer keys: one mistake each, always in the same order."""

from __future__ import annotations

import ast

import pytest

from autograder.grading.verify.mutants import generate_mutants

KEY = '''def scaled(values, factor=2):
    """Each value times a factor, from the second on."""
    if not values or 0 >= factor + 0.5:
        raise ValueError("nothing to scale 1")
    elif factor is None:
        return True
    print("scaling", 3)
    return list(sorted([value * factor for value in values[1:]], reverse=True))
'''


def test_mutants_are_different_programs_with_one_changed_line() -> None:
    mutants = generate_mutants(KEY, 100)
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(KEY))
        original, changed = KEY.split("\n"), mutant.source.split("\n")
        assert original[mutant.line - 1].strip() == mutant.before
        assert changed[mutant.line - 1].strip() == mutant.after
        assert original[: mutant.line - 1] == changed[: mutant.line - 1]
    assert {mutant.mistake for mutant in mutants} == {
        "another comparison",
        "and for or",
        "a sign or a not is missing",
        "off by one",
        "another constant",
        "another operator",
        "an argument is missing",
        "a statement is dropped",
        "nothing is returned",
    }


def test_mutants_keep_texts_for_people() -> None:
    """Docstrings, messages of exceptions and printed texts are not mutated."""
    changed = {mutant.after for mutant in generate_mutants(KEY, 100)}
    assert not any("scaling" in line or "nothing to scale" in line for line in changed)


def test_mutants_are_bounded_reproducible_and_of_several_kinds() -> None:
    few = generate_mutants(KEY, 4)
    assert len({mutant.mistake for mutant in few}) == len(few) == 4
    assert few == generate_mutants(KEY, 4)
    assert generate_mutants(KEY, 0) == ()


@pytest.mark.parametrize(
    "source", ["%matplotlib inline\nx = = 2", "def f(:\n", "\0"], ids=["magic", "syntax", "nul"]
)
def test_text_that_is_not_python_has_no_mutants(source: str) -> None:
    assert generate_mutants(source, 9) == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = f(a, b) + max(a, b)\n", "y = f(b, a) + max(a, b)"),
        ("z = w @ x\n", "z = x @ w"),
        ("größe = 'ß' + str(1)\n", "größe = 'ß' + str(2)"),
        ("ok = a and b == c\n", "ok = (a or b == c)"),
        ("f(a, key=1)\n", "f(a)"),
        ("def f(n):\n    n += 1\n    return n\n", "pass"),
        ("def f(n):\n    for i in n:\n        g(i)\n", "pass"),
    ],
    ids=["arguments", "operands", "wide-characters", "brackets", "keyword", "update", "loop"],
)
def test_mutant_has_line(source: str, expected: str) -> None:
    assert expected in {mutant.after for mutant in generate_mutants(source, 50)}


def test_symmetric_functions_keep_the_order_of_their_arguments() -> None:
    changed = {mutant.after for mutant in generate_mutants("y = f(a, b) + max(a, b)\n", 50)}
    assert not any("max(b, a)" in line for line in changed)
