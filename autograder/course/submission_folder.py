"""The files of one submission: the expected ones, the content of archives, and files that are not graded.

All of it was written by a student. Files are found by name, read within limits and never followed as links.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, cast

from msgspec import Struct

from autograder.course.archives import PackedFile, RefusedFile, listed, unpacked
from autograder.errors import NotebookError, SourceError
from autograder.notebook.document import MAX_BYTES, MAX_READ, parse
from autograder.notebook.files import read_below
from autograder.paths import is_below, is_disguised, meant_places
from autograder.rubric import Rubric
from autograder.tables import printable_name
from autograder.timestamps import FILE_NAME as STAMP

MOST_ARCHIVES = 20
"""Archives of one submission that are unpacked."""
MOST_SNIFFED = 10
"""Files of another ending that are read to see whether they contain a notebook."""
MOST_COPIES = 5
"""Other notebooks next to the graded one that are compared with it."""
MOST_NAMED = 5
"""Files that one sentence names."""
MOST_PICTURES, _MOST_PICTURE = 10, 3 << 20
"""Pictures next to the notebook that its texts may show, and the maximum size of each in bytes."""
_MOST_NAME = 80
_IN_MEMORY = 8 << 20
"""Archives above this size in bytes are spooled to disk while they are read."""
_NOTEBOOK = ".ipynb"
_PRESENT = 0
"""Maximum size for files of which only the existence is needed: their content is not read."""
ARCHIVES = frozenset((".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz"))
_EXPORTS = frozenset((".html", ".htm", ".pdf", ".txt", ".json", ".md", ".docx"))
"""Endings of files that students submit by mistake instead of a notebook."""
SCANS = (".jpg", ".jpeg", ".png", ".heic", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".svg")
"""Endings of pictures."""
_CHECKPOINTS = ".ipynb_checkpoints"
_OF_PROGRAMS = frozenset(("thumbs.db", "desktop.ini"))
"""Files that operating systems leave in folders."""
CHECK_FILE = "coursecheck.py"
ABSENT = frozenset(("missing", "no-notebook", "unread-files"))
"""Error codes for a notebook that is missing, as opposed to one that cannot be read."""


class SubmissionFiles(Struct, frozen=True):
    """The files in the folder of one submission."""

    contents: Mapping[str, bytes | NotebookError]
    """By expected path; an error if the file is missing or cannot be read."""
    taken: Mapping[str, str] = {}
    """Expected path → original path, for files found under another name."""
    unread: tuple[str, ...] = ()
    """Files that are not graded although they may contain the student's work; in ASCII."""
    beside: tuple[str, ...] = ()
    """Further files that are not graded: they matter only if work is missing. In ASCII."""
    copies: Mapping[str, bytes] = {}
    """Other notebooks and pictures next to the graded ones, by their printable names."""


class Readability(Struct, frozen=True):
    """Which notebooks of an attempt can be read."""

    readable: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = {}
    """By name, the reason why it cannot be read."""
    files: bool = False
    """Files that belong to a notebook were submitted."""

    @property
    def is_damaged(self) -> bool:
        """Whether part of it cannot be read, or it contains no expected file at all."""
        return bool(self.unreadable) or not (self.readable or self.files)

    @property
    def reason(self) -> str:
        """Why it cannot be read, for students and staff."""
        told = "; ".join(f"{name}: {reason}" for name, reason in self.unreadable.items())
        return told or "None of the files that were asked for is in it."

    def restricted(self, notebooks: Collection[str]) -> Readability:
        """Return the readability of some of the notebooks only."""
        unreadable = {name: reason for name, reason in self.unreadable.items() if name in notebooks}
        return Readability(self.readable & frozenset(notebooks), unreadable, self.files)

    def replaces(self, other: Readability) -> bool:
        """Decide whether this attempt counts instead of another: that one is damaged, and this has more."""
        return other.is_damaged and self.readable > other.readable


def notebook_fault(data: bytes) -> NotebookError | None:
    """Return why bytes are not a notebook that can be graded; None if they are."""
    try:
        parse(data)
    except NotebookError as error:
        return error
    return None


def readability(contents: Mapping[str, bytes | NotebookError], notebooks: Collection[str]) -> Readability:
    """Determine which notebooks of an attempt can be read.

    Args:
        contents: of its files by path.
        notebooks: names, without the ending.
    """
    readable, unreadable = set(), {}
    for name in notebooks:
        content = contents.get(f"{name}{_NOTEBOOK}")
        fault = content if isinstance(content, NotebookError | None) else notebook_fault(content)
        if content is None or (fault is not None and fault.code in ABSENT):
            continue
        if fault is None:
            readable.add(name)
        else:
            unreadable[name] = str(fault)
    files = any(isinstance(one, bytes) for path, one in contents.items() if not path.endswith(_NOTEBOOK))
    return Readability(frozenset(readable), unreadable, files)


def asked_files(rubric: Rubric) -> dict[str, int]:
    """Return the paths of all files that are graded or accompany graded ones, with the maximum size of each.

    Notebooks come first.
    """
    notebooks = rubric.assignment.notebooks
    own = {path: most for one in notebooks for path, most in one.own.items()}
    return {**{f"{one.name}{_NOTEBOOK}": MAX_BYTES for one in notebooks}, **own}


def read_folder(folder: Path, rubric: Rubric, *, only_notebooks: bool = False) -> SubmissionFiles:
    """Read the files of a submission that the rubric expects; never raises for a fault in one of them.

    Archives are searched only if a file is missing under its own name.

    Args:
        folder: of the submission.
        rubric: of the assignment.
        only_notebooks: do not read other files, which may be large; their existence is still checked.
    """
    asked = asked_files(rubric)
    # A link could lead to another student's submission.
    if folder.is_symlink():
        fault = NotebookError("symlink", f"{folder.name} is a link, not a folder; hand in the folder itself")
        return SubmissionFiles(dict.fromkeys(asked, fault))
    if only_notebooks:
        asked = {path: most if path.endswith(_NOTEBOOK) else _PRESENT for path, most in asked.items()}
    # Files under their expected names take precedence over anything found elsewhere.
    contents = {path: _read_at(folder, path, most) for path, most in asked.items()}
    taken: dict[str, str] = {}
    loose: list[str] = []
    copies: dict[str, bytes] = {}
    if folder.is_dir():
        try:
            with listed(folder) as listing, contextlib.ExitStack() as opened:
                found = {one.path: one for one in listing.entries}
                names = [*found, *(one.place for one in listing.refused)]
                if any(is_absent(one) for one in contents.values()):
                    names += _read_elsewhere(found, asked, contents, taken, opened)
                checkpoints = _checkpoints(folder, opened)  # never graded instead of a notebook
                found |= checkpoints
                names += checkpoints
                loose = [name for name in dict.fromkeys(names) if _is_loose(name, contents, taken, rubric)]
                copies = {} if only_notebooks else _read_copies(found, loose, asked, opened)
        except (OSError, SourceError):  # the folder changed or is unreadable: keep the rest
            loose = []
    notebooks = [path for path in asked if path.endswith(_NOTEBOOK)]
    unread = _unread(loose, contents, notebooks)
    beside = files_beside(loose, unread)
    return SubmissionFiles(explain_absent(contents, notebooks, unread), taken, unread, beside, copies)


def is_absent(content: bytes | NotebookError) -> bool:
    """Decide whether a file is missing, as opposed to one that exists and cannot be read."""
    return isinstance(content, NotebookError) and content.code in ABSENT


def explain_absent(
    contents: Mapping[str, bytes | NotebookError], notebooks: Sequence[str], unread: Sequence[str]
) -> dict[str, bytes | NotebookError]:
    """Return the contents, with a reason for each notebook that is missing.

    A notebook is simply missing only if another one was submitted. If none was, or if another file may be the
    notebook, it needs manual review.
    """
    nothing = all(is_absent(contents[path]) for path in notebooks)
    explained = dict(contents)
    for path in notebooks:
        if not is_absent(contents[path]):
            continue
        # The notebook may be among these files, so staff must look before a zero is given.
        if unread:
            explained[path] = NotebookError(
                "unread-files", f"{path} is not among the files that were handed in: {name_files(unread)}."
            )
        elif nothing:
            explained[path] = NotebookError(
                "no-notebook", f"{path} was not handed in: there is no notebook in the submission."
            )
    return explained


def files_beside(loose: Iterable[str], unread: Collection[str]) -> tuple[str, ...]:
    """Return the files that are not graded and not in ``unread``, without files that programs create."""
    names = [printable_name(name) for name in loose if not _is_made_by_programs(name)]
    return tuple(name for name in names if name not in unread)


def _is_made_by_programs(name: str) -> bool:
    parts = name.casefold().split("/")
    return parts[-1] in _OF_PROGRAMS or parts[-1].endswith(".pyc") or "__macosx" in parts


def _read_copies(
    found: Mapping[str, PackedFile],
    loose: Iterable[str],
    asked: Collection[str],
    opened: contextlib.ExitStack,
) -> dict[str, bytes]:
    """Read the first notebooks and pictures that are not graded; unreadable ones are omitted.

    Args:
        packed_files: all files of the folder.
        ungraded: those that are not graded; archives among them are searched.
        expected: the expected paths.
        opened: keeps archives open while their files are read.
    """
    files = {name: found[name] for name in loose if name in found}
    for name in [name for name in files if PurePosixPath(name).suffix.casefold() == ".zip"]:
        inside = expand_archives({name: files[name]}, asked, "", [], opened)
        files |= {f"{name}/{inner}": file for inner, file in inside if inner.casefold().endswith(_NOTEBOOK)}
    files |= {name: file for name, file in found.items() if is_hidden_notebook(name)}
    copies: dict[str, bytes] = {}
    for name, most in files_to_compare(files):
        with contextlib.suppress(SourceError):
            copies[printable_name(name)] = files[name].read(most)
    return copies


def _checkpoints(folder: Path, opened: contextlib.ExitStack) -> dict[str, PackedFile]:
    """Return the checkpoints that Jupyter made when notebooks were saved, by path; no link is followed."""
    inside = folder / _CHECKPOINTS
    if inside.is_symlink() or not inside.is_dir():
        return {}
    entries = opened.enter_context(listed(inside)).entries
    return {f"{_CHECKPOINTS}/{one.path}": one for one in entries if one.path.casefold().endswith(_NOTEBOOK)}


def is_hidden_notebook(name: str) -> bool:
    """Decide whether a file is a notebook that Jupyter or an editor made, such as a checkpoint."""
    return _is_hidden(name) and name.casefold().endswith(_NOTEBOOK)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part != ".." for part in name.split("/"))


def files_to_compare(loose: Iterable[str]) -> list[tuple[str, int]]:
    """Return the first notebooks and pictures that are not graded, with the maximum size of each."""
    names = list(loose)
    notebooks = [name for name in names if name.casefold().endswith(_NOTEBOOK)][:MOST_COPIES]
    pictures = [name for name in names if name.casefold().endswith(SCANS)][:MOST_PICTURES]
    return [(name, MAX_BYTES) for name in notebooks] + [(name, _MOST_PICTURE) for name in pictures]


def loose_files(
    names: Iterable[str], contents: Mapping[str, bytes | NotebookError], rubric: Rubric
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files of a submission that are not graded: those that may contain work, and all others.

    Args:
        names: of all files.
        contents: of the graded files, by path; an error or nothing for missing ones.
        rubric: of the assignment.
    """
    found = {path: contents.get(path, NotebookError("missing", path)) for path in asked_files(rubric)}
    loose = [name for name in names if _is_loose(name, found, {}, rubric)]
    unread = _unread(loose, found, [path for path in found if path.endswith(_NOTEBOOK)])
    return unread, files_beside(loose, unread)


def name_files(names: Sequence[str]) -> str:
    """Return a list of file names for a sentence; a long list is cut."""
    told = ", ".join(
        name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}…" for name in names[:MOST_NAMED]
    )
    return f"{told} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else told


def expand_archives(
    files: Mapping[str, PackedFile],
    expected: Collection[str],
    label: str,
    faults: list[RefusedFile],
    opened: contextlib.ExitStack,
) -> Iterator[tuple[str, PackedFile]]:
    """Yield all files; archives that a student submitted are unpacked once, in their own folder.

    Args:
        files: by path.
        expected: the expected paths; an archive among them is not unpacked.
        label: the owner of the files, for messages.
        faults: receives the files that were refused.
        opened: keeps archives open while their files are read.
    """
    number = 0
    for name, entry in files.items():
        if PurePosixPath(name).suffix.casefold() != ".zip" or name.rpartition("/")[2] in expected:
            yield name, entry
            continue
        place = printable_name(f"{label}: {name}" if label else name)
        number += 1
        if number > MOST_ARCHIVES:
            faults.append(RefusedFile(place, f"more than {MOST_ARCHIVES} archives are not unpacked"))
            continue
        try:
            # zipfile needs a seekable file, and the entry is a stream.
            copy = opened.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - read later
            for part in entry.chunks():
                copy.write(part)
            listing = opened.enter_context(unpacked(cast("IO[bytes]", copy), name))
        except SourceError as error:
            faults.append(RefusedFile(place, str(error)))
            continue
        faults += [RefusedFile(f"{place}/{one.place}", one.reason) for one in listing.refused]
        above = name.rpartition("/")[0]
        # Archives inside archives are not unpacked, which rules out nested bombs.
        for inner in listing.entries:
            yield f"{above}/{inner.path}".lstrip("/"), inner


def place_files(files: Mapping[str, PackedFile], expected: Sequence[str]) -> dict[str, str]:
    """Return the target path of each file.

    A folder around all files is removed, and each file gets the expected name it is meant for.
    """
    places = {name: name for name in files}
    # Students often zip a folder around their files, sometimes several levels deep.
    while places and not set(expected) & set(places.values()):
        firsts = {place.partition("/")[0] for place in places.values() if "/" in place}
        if len(firsts) != 1 or not all("/" in place for place in places.values()):
            break
        places = {name: place.partition("/")[2] for name, place in places.items()}
    entries = {place: files[name] for name, place in places.items()}
    meant = meant_places(
        places.values(), expected, NotebookFinder(lambda place: entries[place].read(MAX_READ))
    )
    return {name: meant[place] for name, place in places.items()}


class NotebookFinder:
    """Detect notebooks by content, whatever their names; only for the first few files.

    Args:
        read: returns the bytes of a file by name; may raise SourceError.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._known: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        """Return whether a file contains a notebook."""
        if name not in self._known:
            if len(self._known) >= MOST_SNIFFED:  # unpacking and parsing are expensive; prevents DoS
                return False
            try:
                self._known[name] = notebook_fault(self._read(name)) is None
            except SourceError:
                self._known[name] = False
        return self._known[name]


def _read_at(folder: Path, path: str, most: int) -> bytes | NotebookError:
    """Read the file at its path, or without its folders, which browsers and platforms drop."""
    found = _content(folder, path, most)
    name = path.rpartition("/")[2]
    # Platforms flatten folders: data/table.csv arrives as table.csv.
    if not is_absent(found) or name == path:
        return found
    other = _content(folder, name, most)
    return found if is_absent(other) else other


def _content(folder: Path, path: str, most: int) -> bytes | NotebookError:
    try:
        if most == _PRESENT:
            (folder / path).lstat()
            return b""
        return read_below(folder, path, most=most)
    except OSError:
        return NotebookError("missing", f"{path!a}: there is no such file; hand it in.")
    except NotebookError as error:
        return error


def _read_elsewhere(
    found: Mapping[str, PackedFile],
    asked: Mapping[str, int],
    contents: dict[str, bytes | NotebookError],
    taken: dict[str, str],
    opened: contextlib.ExitStack,
) -> list[str]:
    """Read missing files from copies and archives; return the names that archives add."""
    faults: list[RefusedFile] = []
    sources: dict[str, str] = {}
    files: dict[str, PackedFile] = {}
    packed = {name: one for name, one in found.items() if PurePosixPath(name).suffix.casefold() == ".zip"}
    files |= {name: one for name, one in found.items() if name not in packed}
    # Loose files come first: setdefault prefers them to files in archives.
    for name, entry in packed.items():
        for inner, file in expand_archives({name: entry}, asked, "", faults, opened):
            if files.setdefault(inner, file) is file:
                sources[inner] = name
    for name, place in place_files(files, list(asked)).items():
        if place in asked and is_absent(contents[place]):
            contents[place] = _packed_content(files[name], place, asked[place])
            taken[place] = f"{sources[name]}/{name}" if name in sources else name
    used = {sources[name] for name in sources if f"{sources[name]}/{name}" in taken.values()}
    taken |= {archive: archive for archive in used}  # its other files are reported instead
    return [f"{archive}/{name}" for name, archive in sources.items()] + [one.place for one in faults]


def _packed_content(entry: PackedFile, path: str, most: int) -> bytes | NotebookError:
    try:
        return b"" if most == _PRESENT else entry.read(most)
    except SourceError as error:
        return NotebookError("not-readable", f"{path}: {error}")


def _is_loose(name: str, contents: Mapping[str, object], taken: Mapping[str, str], rubric: Rubric) -> bool:
    """Decide whether a file is neither graded nor part of the release.

    A hidden file is considered only if it is a notebook and no other was submitted.
    """
    notebooks = [path for path in asked_files(rubric) if path.endswith(_NOTEBOOK)]
    has_notebook = any(isinstance(contents.get(path), bytes) for path in notebooks)
    base = name.rpartition("/")[2]
    paths = {path for path, one in contents.items() if not isinstance(one, NotebookError)}
    graded = name in contents or base in {path.rpartition("/")[2] for path in paths if "/" in path}
    given = (path for one in rubric.assignment.notebooks for path in one.given)
    return (
        not graded
        and name not in taken.values()
        and base not in {STAMP, CHECK_FILE}
        and (not _is_hidden(name) or (is_hidden_notebook(name) and not has_notebook))
        and not any(is_below(name, path) or base == path.rpartition("/")[2] for path in given)
    )


def _unread(
    loose: Iterable[str], contents: Mapping[str, bytes | NotebookError], notebooks: Sequence[str]
) -> tuple[str, ...]:
    """Return those of the files that are not graded that may contain the student's work.

    If all notebooks are there, these are other notebooks and archives; if one is missing, also anything that
    students mistake for a notebook; if no expected file is there, every file.
    """
    absent = [path for path in notebooks if is_absent(contents[path])]
    if all(map(is_absent, contents.values())):
        return tuple(printable_name(name) for name in loose)
    return tuple(printable_name(name) for name in loose if _may_be_work(name, absent))


def _may_be_work(name: str, absent: Collection[str]) -> bool:
    suffix = PurePosixPath(name).suffix.casefold()
    if suffix == _NOTEBOOK or suffix in ARCHIVES or f"{_NOTEBOOK}." in name.casefold():
        return True
    return bool(absent) and (suffix in _EXPORTS or is_disguised(name))
