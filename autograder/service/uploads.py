"""Uploaded files: matched to the files that the rubric expects, and refused if they cannot be read."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath

from autograder.core.errors import ServiceError, SourceError
from autograder.core.paths import match_expected_paths
from autograder.core.wording import Phrase, format_size
from autograder.course.archives import PackedFile, RefusedFile
from autograder.course.submission_folder import (
    NotebookFinder,
    expand_archives,
    find_notebook_fault,
    join_file_faults,
    list_expected_files,
    name_files,
)
from autograder.messages import build_localised_text
from autograder.rubric import Rubric
from autograder.service import attempts
from autograder.service.refusals import RequestRefused

MOST_FILES = 50
"""Maximum number of files of one attempt, after unpacking."""


def place_upload(files: Mapping[str, bytes], rubric: Rubric) -> dict[str, bytes]:
    """Return the files of an upload at the paths that the rubric expects.

    A browser sends no folders, and two files of a submission never share a name, even in different folders.
    Archives are unpacked only if an expected notebook is missing next to them.

    Raises:
        ServiceError: an archive, or a file in it, cannot be accepted; the message gives the reason.
    """
    placed = _place_files(files, rubric)
    archives = [name for name in placed if PurePosixPath(name).suffix.casefold() == ".zip"]
    if not archives or placed.keys() >= {
        path for path in list_expected_files(rubric) if path.endswith(".ipynb")
    }:
        return placed
    return _place_files(_unpack_files(placed, rubric), rubric)


def find_unreadable_files(files: Mapping[str, bytes], rubric: Rubric) -> dict[str, Phrase]:
    """Return the notebooks of an upload that cannot be read, and why."""
    names = [path for path in list_expected_files(rubric) if path.endswith(".ipynb") and path in files]
    faults = {name: find_notebook_fault(files[name]) for name in names}
    return {name: fault.text for name, fault in faults.items() if fault is not None}


def _place_files(files: Mapping[str, bytes], rubric: Rubric) -> dict[str, bytes]:
    paths = list(list_expected_files(rubric))
    paths_by_name = {path.rpartition("/")[2]: path for path in paths}
    bases = Counter(name.rpartition("/")[2] for name in files)
    named: dict[str, bytes] = {}
    for name, data in files.items():
        base = name.rpartition("/")[2]
        # Match by the file name alone only if it is unambiguous.
        named[paths_by_name[base] if base in paths_by_name and bases[base] == 1 else name] = data
    finder = NotebookFinder(named.__getitem__)
    meant = match_expected_paths(named, paths, finder)
    return {meant[name]: data for name, data in named.items()}


def _unpack_files(files: Mapping[str, bytes], rubric: Rubric) -> dict[str, bytes]:
    entries = {name: PackedFile(name, len(data), partial(io.BytesIO, data)) for name, data in files.items()}
    faults: list[RefusedFile] = []
    unpacked: dict[str, bytes] = {}
    left = attempts.MOST_BYTES
    with contextlib.ExitStack() as opened:
        for name, entry in expand_archives(entries, list(list_expected_files(rubric)), "", faults, opened):
            if name in unpacked:
                faults.append(RefusedFile(ascii(name)[1:-1], build_localised_text("fault.twice")))
                continue
            # Checked before unpacking: a small archive can expand to any size.
            if entry.size > left or len(unpacked) >= MOST_FILES:
                raise RequestRefused(
                    "upload-archive-large",
                    most=format_size(attempts.MOST_BYTES),
                    number=MOST_FILES,
                    files=name_files(list(list_expected_files(rubric))),
                )
            left -= entry.size
            try:
                unpacked[name] = entry.read(entry.size)
            except SourceError as error:
                faults.append(RefusedFile(ascii(name)[1:-1], error.text))
    if faults:
        raise ServiceError(join_file_faults((fault.place, fault.reason) for fault in faults[:3]))
    return unpacked
