"""Faults as unified diffs: from the right listing to the faulty one, each hunk placed by its lines.

Line numbers do not count: they are those of a whole module, of which a listing is a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograder.errors import CourseError

Change = tuple[int, int, str]
"""Where changed text begins and ends in the right listing, in characters, and what stands there instead."""
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class _Hunk(Struct, frozen=True):
    """Lines with their sign: ``" "`` stands in both texts, ``"-"`` in the right one, ``"+"`` in the other."""

    lines: tuple[str, ...]

    def side(self, sign: str) -> list[str]:
        return [line[1:] for line in self.lines if line[0] in {" ", sign}]

    def without_end(self, *, first: bool) -> _Hunk | None:
        """Without the first or the last line, where that is only context."""
        end = self.lines[0 if first else -1]
        return None if end[0] != " " else _Hunk(self.lines[1:] if first else self.lines[:-1])


def changes_of(source: str, diff: str, where: str) -> Iterator[Change]:
    """What a diff changes in the right listing, as small as it can be.

    Lines of context at both ends of a hunk that are not in the listing do not count.

    Args:
        source: the right listing.
        diff: as ``git diff`` or ``diff -u right.py faulty.py`` writes it.
        where: how errors name the fault.

    Raises:
        CourseError: it is no unified diff of one file, it leads from the faulty listing to the right one, or
            a hunk has not one place in the listing.
    """
    for number, hunk in enumerate(_hunks(diff, where), 1):
        yield from _placed(source, hunk, f"{where}: hunk {number} of the diff")


def smallest(source: str, start: int, end: int, instead: str) -> Change:
    """A change without what stays as it is at its beginning and its end."""
    while start < end and instead and source[start] == instead[0]:
        start, instead = start + 1, instead[1:]
    while start < end and instead and source[end - 1] == instead[-1]:
        end, instead = end - 1, instead[:-1]
    return start, end, instead


def _hunks(diff: str, where: str) -> list[_Hunk]:
    lines = [line.removesuffix("\r") for line in diff.split("\n")]
    found: list[_Hunk] = []
    files = at = 0
    while at < len(lines):
        head = _HUNK.match(lines[at])
        files += lines[at].startswith("--- ")
        at += 1
        if files > 1:
            raise CourseError(f"{where}: the diff changes several files; only the right listing is changed")
        if head is None:
            continue
        old, new = (int(count or 1) for count in head.groups())
        hunk: list[str] = []
        while old > 0 or new > 0:
            # Editors take away the blank of an empty line of context.
            line = (lines[at] or " ") if at < len(lines) else "@"
            if line[0] not in " +-\\":
                raise CourseError(
                    f"{where}: hunk {len(found) + 1} of the diff has other lines than {head.group()!r} "
                    "counts; make it again: diff -u right.py faulty.py"
                )
            at += 1
            old -= line[0] in " -"
            new -= line[0] in " +"
            hunk += [line] * (line[0] != "\\")
        found.append(_Hunk(tuple(hunk)))
    if not found:
        raise CourseError(
            f"{where}: expected a unified diff with lines '@@ -1,3 +1,3 @@', found none; make it with: "
            "diff -u right.py faulty.py"
        )
    return found


def _placed(source: str, hunk: _Hunk, where: str) -> Iterator[Change]:
    lines = source.splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in lines]
    fitting, places = _places(bare, hunk, "-")
    if len(places) != 1:
        if not places and _places(bare, hunk, "+")[1]:
            raise CourseError(
                f"{where} leads from the faulty listing to the right one; turn it around: "
                "diff -u right.py faulty.py"
            )
        raise CourseError(
            f"{where}: expected its lines once in the listing, found {len(places)} times; "
            + (
                "give more lines of context: diff -U10"
                if places
                else "make it from the right listing, which has only what its name needs of the module"
            )
        )
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    at = places[0]
    for run in _runs(fitting.lines):
        if isinstance(run, int):
            at += run
            continue
        removed, added = run
        instead = "".join(f"{line}\n" for line in added)
        yield smallest(source, starts[at], starts[at + removed], instead)
        at += removed


def _places(bare: Sequence[str], hunk: _Hunk, sign: str) -> tuple[_Hunk, list[int]]:
    """Where the lines of one side stand, with as much context as there is; and the hunk with that context."""
    tried = [hunk]
    while tried:
        found = [(one, _occurrences(bare, one.side(sign))) for one in tried]
        if some := [entry for entry in found if entry[1]]:
            return min(some, key=lambda entry: len(entry[1]))
        less = (one.without_end(first=first) for one in tried for first in (True, False))
        tried = list(dict.fromkeys(one for one in less if one is not None and one.side(sign)))
    return hunk, []


def _occurrences(bare: Sequence[str], wanted: Sequence[str]) -> list[int]:
    return [at for at in range(len(bare) - len(wanted) + 1) if list(bare[at : at + len(wanted)]) == wanted]


def _runs(lines: Sequence[str]) -> Iterator[int | tuple[int, list[str]]]:
    """Counts of unchanged lines, and between them how many lines go and which come."""
    kept, removed, added = 0, 0, list[str]()
    for line in (*lines, " "):
        if line[0] != " ":
            if kept:
                yield kept
                kept = 0
            removed += line[0] == "-"
            added += [line[1:]] * (line[0] == "+")
            continue
        if removed or added:
            yield removed, added
            removed, added = 0, []
        kept += 1
