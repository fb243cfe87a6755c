"""Further files of a notebook: released, edited by students, and submitted as results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from autograder.core.errors import Place, RubricError
from autograder.core.limits import compute_file_allowance
from autograder.core.paths import find_path_fault, is_below
from autograder.core.records import Limits

STARTER_BYTES = 1 << 20
"""Limit of a file that students edit."""
ALONG_BYTES = 64 << 20
"""Limit of a file of `NotebookFile.take_along`."""
CHECK_FILE = "coursecheck.py"


class ResultFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that students submit with the results of their work: a checkpoint, predictions, a figure."""

    path: str
    most_mb: Annotated[float, Meta(gt=0, le=1024)] = 16.0
    """Larger files are not read."""
    optional: bool = False
    """Whether it may be missing without a message."""


class NotebookFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One notebook of an assignment and its files, by path in the assignment's folder."""

    name: str
    """Without the extension."""
    data: tuple[str, ...] = ()
    """Files and whole folders of the assignment's folder that are read-only next to the notebook."""
    starter: tuple[str, ...] = ()
    """Files that students get to edit, and submit."""
    take_along: tuple[str, ...] = ()
    """Other files of a submission that are kept; none by default."""
    results: tuple[ResultFile, ...] = msgspec.field(name="result", default=())
    individual: bool = False
    """If students submit as groups, each member submits this notebook individually."""

    @property
    def own(self) -> dict[str, int]:
        """The files that students submit with the notebook: path → most bytes."""
        return {
            **dict.fromkeys(self.starter, STARTER_BYTES),
            **dict.fromkeys(self.take_along, ALONG_BYTES),
            **{result.path: int(result.most_mb * (1 << 20)) for result in self.results},
        }

    @property
    def given(self) -> tuple[str, ...]:
        """The files next to the notebook in a release."""
        return (*self.data, *self.starter)

    @property
    def tops(self) -> tuple[str, ...]:
        """The files and folders at the top of the release's folder that contain all of them."""
        return tuple(dict.fromkeys(path.partition("/")[0] for path in self.given))


def check_files(notebooks: Sequence[NotebookFile], limits: Limits, place: Place) -> None:
    """Refuse paths that lead elsewhere, that occur twice, or that cannot all be submitted.

    Raises:
        RubricError: names the notebook and the path.
    """
    submitted: dict[str, str] = {}
    for number, notebook in enumerate(notebooks):
        where = place.extend(f": notebook {notebook.name!r}", "assignment", "notebooks", number)
        _check_paths(notebook, limits, where)
        for path in notebook.own:
            # A browser submits files without their folders, and some file systems ignore case.
            name = path.rpartition("/")[2].casefold()
            if submitted.setdefault(name, path) != path:
                raise RubricError(
                    f"{path!r} and {submitted[name]!r} have the same name: a browser hands files in without "
                    "their folders; rename one",
                    where,
                )


def _check_paths(notebook: NotebookFile, limits: Limits, place: Place) -> None:
    names = (*notebook.given, *notebook.take_along, *(result.path for result in notebook.results))
    for name in names:
        if fault := find_path_fault(name):
            raise RubricError(f"{name!r} is no path below the assignment's folder: {fault}", place)
    taken = [CHECK_FILE, f"{notebook.name}.ipynb"]
    for name in names:
        fault = next(_find_clashes(name, taken, notebook), "")
        if fault:
            raise RubricError(fault, place)
        taken.append(name)
    largest = sum(int(result.most_mb * (1 << 20)) for result in notebook.results)
    if largest > compute_file_allowance(limits):
        raise RubricError(
            f"results may have {largest >> 20} MB together, but a box has room for "
            f"{compute_file_allowance(limits) >> 20} MB of files; raise scratch_mb (and memory_mb, to "
            "four times as "
            "much as the results) in [assignment.limits], or lower most_mb",
            place,
            "result",
        )


def _find_clashes(name: str, taken: Sequence[str], notebook: NotebookFile) -> Iterator[str]:
    """Yield why a path conflicts with earlier ones. A file of students may be in a folder of data."""
    for other in taken:
        if name.casefold() == other.casefold():
            yield (
                f"{name!r} stands twice; each may stand once"
                if name == other
                else (f"{name!r} and {other!r} are one file on some systems; rename one")
            )
        inside = is_below(name, other) or is_below(other, name)
        folder = other if is_below(name, other) else name
        if inside and (folder not in notebook.data or {name, other} <= set(notebook.data)):
            yield f"{name!r} and {other!r}: one lies in the other; only a folder of data may hold others"
