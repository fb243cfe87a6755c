"""Cases that are tried in one test are all tried, and none that fails is lost."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.support.cases import each


def told(test: object) -> str:
    """What a test says that must fail."""
    assert callable(test)
    with pytest.raises(pytest.fail.Exception) as caught:
        test()
    return str(caught.value)


def test_every_case_is_tried_and_every_failure_told() -> None:
    """One that fails does not end the others; an error counts like an assertion, a skip as well."""
    tried = []

    @each("number", [1, 2, 3, 4, 5])
    def odd(number: int) -> None:
        tried.append(number)
        if number == 5:
            pytest.skip("not today")
        if number == 4:
            raise KeyError(number)
        assert number % 2

    said = told(odd)
    assert [1, 2, 3, 4, 5] == tried
    assert said.startswith("3 of 5 cases fail")
    assert ["--- 2", "--- 4", "--- 5"] == [line for line in said.splitlines() if line.startswith("---")]


def test_several_names_several_lists_and_names_of_cases() -> None:
    """Lists multiply, as parameters do; what is a fixture stays one."""

    @each("sign", ["plus", "minus"])
    @each(("left", "right"), [(1, 2), (2, 2)], ids=["different", "equal"])
    def differs(sign: str, left: int, right: int, tmp_path: Path) -> None:
        assert left != right or sign == "plus" or not tmp_path

    assert ["tmp_path"] == list(inspect.signature(differs).parameters)
    with pytest.raises(pytest.fail.Exception, match=r"(?s)1 of 2 cases fail.*--- minus.*--- equal"):
        differs(tmp_path=Path("here"))


def test_an_empty_list_is_an_error() -> None:
    """A test without cases would pass for ever."""
    with pytest.raises(AssertionError, match="no cases"):
        each("number", [])


def test_cases_may_be_made_when_the_test_runs() -> None:
    """A function that makes them is not called while tests are collected; none is an error then as well."""
    made: list[int] = []

    @each("number", lambda: made)
    def odd(number: int) -> None:
        assert number % 2

    with pytest.raises(AssertionError, match="no cases"):
        odd()
    made.extend([1, 2])
    assert told(odd).startswith("1 of 2 cases fail")


def test_a_case_with_too_few_values_fails() -> None:
    """It is not taken for another one."""

    @each("left, right", [(1,)])
    def never(left: int, right: int) -> None:
        """Not reached."""

    assert "zip()" in told(never)


def test_names_of_cases_are_those_of_parameters() -> None:
    """A list, a function of a value, or what ``pytest.param`` says; a mark on one case is refused."""

    @each("number", [pytest.param(1, id="one"), 2], ids=hex)
    def fails(number: int) -> None:
        assert number == 0

    assert ["--- one", "--- 0x2"] == [line for line in told(fails).splitlines() if line.startswith("---")]
    with pytest.raises(AssertionError, match="a mark"):
        each("number", [pytest.param(1, marks=pytest.mark.skip)])
    with pytest.raises(ValueError, match="zip"):
        each("number", [1, 2], ids=["one"])
