"""Which tests can be judged outside of the student's box, and what they take from there by name."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from autograder.adopting.found import FoundTest
from autograder.checks.judging.judgeable import imports_of, judgeable, names_bound
from autograder.sandbox.testing import unbound_names


def with_reasons(
    tests: Iterable[FoundTest], before: Iterable[str], data: Collection[str] = (), read: Collection[str] = ()
) -> tuple[FoundTest, ...]:
    """Tests that know whether they are judged outside.

    Args:
        tests: of one question.
        before: the code cells of the notebook that are no tests and stand before them.
        data: files and folders beside the notebook.
        read: names that other code still reads, for which it matters what a test binds them to.
    """
    names = {name for source in before for name in names_bound(source)}
    return tuple(
        one if one.outside else replace(one, outside=judgeable(one.code, names, data, read) or "")
        for one in tests
    )


def shadowing_names(
    tests: Iterable[FoundTest], before: Iterable[tuple[str, bool]], imports: Iterable[str]
) -> tuple[str, ...]:
    """Return the names that tests use and the notebook defined last, though others define them too.

    That is a name of Python's (students write ``max``), one that a cell imports, or one that an earlier test
    bound for itself.

    Args:
        tests: of one question.
        before: the code cells that stand before them, each with whether it is a test.
        imports: the code cells whose imports tests see: those that are no answers.
    """
    last_bound: dict[str, bool] = {}
    given = {name for name, _, _ in imports_of(imports)}
    taken = given | {*dir(builtins)}
    for source, is_test in before:
        names = names_bound(source)
        if not is_test:  # what an answer imports, tests do not see of themselves
            names |= {name for name, _, _ in imports_of([source])} - given
        last_bound |= dict.fromkeys(names, is_test)
        taken |= names if is_test else set()
    used = {name for one in tests for name in unbound_names(one.code, doctests=one.doctest)}
    return tuple(sorted(name for name in used & taken if last_bound.get(name) is False))
