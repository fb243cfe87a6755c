"""Test the public interface of the library: its examples and its names."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import pytest

import autograder.formulas
from autograder.formulas import Symbol, Vocabulary, diagnose, library, parse

README = Path(autograder.formulas.__file__).with_name("README.md")


@pytest.mark.parametrize("module", [autograder.formulas, library], ids=lambda module: module.__name__)
def test_examples_of_docstrings_hold(module: ModuleType) -> None:
    """The examples in docstrings pass as doctests."""
    doctests = doctest.testmod(module)
    assert doctests.attempted
    assert not doctests.failed


def test_examples_of_the_readme_hold() -> None:
    """The examples in the README pass as doctests."""
    doctests = doctest.testfile(str(README), module_relative=False)
    assert doctests.attempted
    assert not doctests.failed


def test_the_package_offers_few_names() -> None:
    """All names in `__all__` exist, and there are at most twelve."""
    assert all(hasattr(autograder.formulas, name) for name in autograder.formulas.__all__)
    assert len(autograder.formulas.__all__) <= 12


def test_diagnose_compares_only_what_has_one_form() -> None:
    """An equation is not diagnosed against a formula, and a tuple has no diagnosis."""
    vocabulary = Vocabulary({"n": Symbol(), "d": Symbol()})
    formula, equation = parse("n*d", vocabulary), parse("n = 2*d", vocabulary, "relation")
    pair = parse("(n, d)", vocabulary, "tuple")
    assert diagnose(equation, formula, vocabulary) is None
    assert diagnose(pair, pair, vocabulary) is None
    diagnosis = diagnose(parse("n = 3*d", vocabulary, "relation"), equation, vocabulary)
    assert diagnosis is not None
    assert diagnosis.code == "factor-too-large"
