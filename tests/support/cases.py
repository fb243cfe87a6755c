"""Many like cases as one test: all of them are tried, and those that fail are told together.

A thousand parameters take pytest longer to collect and to report than most of our cases take to be tried.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
Ids = Collection[str] | Callable[[Any], object] | None
PARAMETERS = type(pytest.param())
MOST = 200
"""Characters of the name of a case."""


def each(
    names: str | Sequence[str], cases: Iterable[Any] | Callable[[], Iterable[Any]], ids: Ids = None
) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, for cases that need no fixture of their own and no mark.

    Args:
        names: of the arguments, separated by commas or as a sequence.
        cases: a value for a single name, else one value for each name; ``pytest.param`` may name them. A
            function that makes them is called when the test runs: then collecting does not take long.
        ids: names of the cases, or what makes a name of a value; their text by default.
    """
    wanted = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    listed = None if callable(cases) else _listed(names, cases, ids)

    def decorate(test: Test) -> Test:
        @functools.wraps(test, updated=())
        def every(**fixtures: Any) -> None:
            made = _listed(names, cases(), ids) if callable(cases) else listed or []
            known = [_case(case, len(wanted), name) for case, name in made]
            failed = list(_failures(test, wanted, known, fixtures))
            if failed:
                tried = f"{len(failed)} of {len(known)} cases fail"
                pytest.fail("\n\n".join([tried, *failed]), pytrace=False)

        kept = [one for name, one in inspect.signature(test).parameters.items() if name not in wanted]
        every.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        every.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
        return every

    return decorate


Case = tuple[str, Sequence[Any]]
"""Its name, and a value for each argument."""


def _listed(names: object, cases: Iterable[Any], ids: Ids) -> list[tuple[Any, Any]]:
    """Cases, each with its name or what makes one; names are made when the test runs, as most are long."""
    given = list(cases)
    assert given, f"no cases for {names}"
    assert not any(isinstance(case, PARAMETERS) and case.marks for case in given), "a mark belongs to a test"
    return list(zip(given, ids if isinstance(ids, Collection) else [ids] * len(given), strict=True))


def _case(given: Any, count: int, name: Any) -> Case:
    values, own = (given,) if count == 1 else given, name if isinstance(name, str) else ""
    if isinstance(given, PARAMETERS):
        values, own = given.values, str(given.id or own)
    return (own or "-".join(_shown(one, name) for one in values))[:MOST], values


def _shown(value: Any, name: Any) -> str:
    try:
        return str(name(value) if callable(name) else value)
    except ValueError:  # an integer of more digits than Python prints
        return type(value).__name__


def _failures(
    test: Test, wanted: Sequence[str], known: Iterable[Case], fixtures: dict[str, Any]
) -> Iterator[str]:
    for name, values in known:
        try:
            test(**fixtures, **dict(zip(wanted, values, strict=True)))
        # A case that is skipped would be one that nobody tries.
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001
            shown = pytest.ExceptionInfo.from_exception(error).getrepr(style="short")
            yield f"--- {name}\n{shown}"
