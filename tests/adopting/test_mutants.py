"""Mistakes planted in an answer key: one place each, always the same ones."""

from __future__ import annotations

import ast

from autograder.adopting.mutants import mutants

KEY = '''def scaled(values, factor=2):
    """Each value times a factor, from the second on."""
    if not values or 0 >= factor + 0.5:
        raise ValueError("nothing to scale 1")
    print("scaling", 3)
    return list(sorted([one * factor for one in values[1:]], reverse=True))
'''


def test_each_mutant_is_another_program_with_one_line_changed() -> None:
    """It can be read, differs from the key, and tells the line that does."""
    made = mutants(KEY, 100)
    for one in made:
        assert ast.dump(ast.parse(one.source)) != ast.dump(ast.parse(KEY))
        lines, changed = KEY.split("\n"), one.source.split("\n")
        assert lines[one.line - 1].strip() == one.before
        assert changed[one.line - 1].strip() == one.after
        assert lines[: one.line - 1] == changed[: one.line - 1]
    assert {one.mistake for one in made} == {
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


def test_texts_for_people_are_left_alone() -> None:
    """Docstrings, messages of exceptions and what is printed decide about no result."""
    said = {one.after for one in mutants(KEY, 100)}
    assert not any("scaling" in one or "nothing to scale" in one for one in said)


def test_they_are_bounded_and_always_the_same() -> None:
    """Few of them are mistakes of several sorts."""
    few = mutants(KEY, 4)
    assert len(few) == 4
    assert len({one.mistake for one in few}) == 4
    assert few == mutants(KEY, 4)
    assert mutants(KEY, 0) == ()
    assert mutants("%matplotlib inline\nx = = 2", 9) == ()


def test_arguments_and_operands_are_swapped_where_that_matters() -> None:
    """A symmetric function is none of these places."""
    made = {one.after for one in mutants("y = f(a, b) + max(a, b)\nz = w @ x", 50)}
    assert "y = f(b, a) + max(a, b)" in made
    assert "z = (x @ w)" in made
    assert not any("max(b, a)" in one for one in made)


def test_characters_of_any_width_keep_their_place() -> None:
    """Offsets are counted in bytes by the parser, and in characters by nobody."""
    (made,) = (one for one in mutants("größe = 'ß' + str(1)\n", 9) if one.mistake == "off by one")
    assert made.source == "größe = 'ß' + str(2)\n"
