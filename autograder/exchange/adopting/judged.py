"""Decide which tests can be judged outside the student's sandbox, and which names they take from it."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from autograder.exchange.adopting.found import FoundTest
from autograder.questions.base.judging.judgeable import explain_unjudgeable, find_bound_names, list_imports
from autograder.sandbox.testing import find_unbound_names


def with_reasons(
    tests: Iterable[FoundTest], before: Iterable[str], data: Collection[str] = (), read: Collection[str] = ()
) -> tuple[FoundTest, ...]:
    """Return the tests with the reason why each cannot be judged outside the student's sandbox, if any.

    Args:
        tests: of one question.
        before: the code cells of the notebook before the tests, without other tests.
        data: files and folders next to the notebook.
        read: names that later code still reads, so that their binding by a test matters.
    """
    names = {name for source in before for name in find_bound_names(source)}
    return tuple(
        test
        if test.outside
        else replace(test, outside=explain_unjudgeable(test.code, names, data, read) or "")
        for test in tests
    )


def find_shadowing_names(
    tests: Iterable[FoundTest], before: Iterable[tuple[str, bool]], imports: Iterable[str]
) -> tuple[str, ...]:
    """Return the names that tests use and that the notebook redefined last.

    Such a name is a builtin (students write ``max``), a name that a cell imports, or a name that an earlier
    test bound for itself.

    Args:
        tests: of one question.
        before: the code cells before them, each with whether it is a test.
        imports: the code cells with imports that are visible to tests: all cells except answers.
    """
    last_bound: dict[str, bool] = {}
    imported = {name for name, _, _ in list_imports(imports)}
    taken = imported | {*dir(builtins)}
    for source, is_test in before:
        names = find_bound_names(source)
        if not is_test:  # the imports of an answer are not visible to tests otherwise
            names |= {name for name, _, _ in list_imports([source])} - imported
        # The last binding counts, because the notebook runs from top to bottom.
        last_bound |= dict.fromkeys(names, is_test)
        taken |= names if is_test else set()
    used = {name for test in tests for name in find_unbound_names(test.code, doctests=test.doctest)}
    return tuple(sorted(name for name in used & taken if last_bound.get(name) is False))
