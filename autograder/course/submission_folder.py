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

from autograder.core.errors import NotebookError, SourceError
from autograder.core.paths import is_below, is_disguised, match_expected_paths
from autograder.core.tables import escape_name
from autograder.core.wording import Phrase, join_phrases
from autograder.course.archives import PackedFile, RefusedFile, open_archive, open_source
from autograder.messages import build_localised_text
from autograder.notebook.document import MAX_BYTES, MAX_READ, parse_notebook
from autograder.notebook.files import read_below
from autograder.rubric import Rubric
from autograder.rubric.timestamps import FILE_NAME as STAMP

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
    unreadable: Mapping[str, Phrase] = {}
    """By name, the reason why it cannot be read."""
    files: bool = False
    """Files that belong to a notebook were submitted."""

    @property
    def is_damaged(self) -> bool:
        """Whether part of it cannot be read, or it contains no expected file at all."""
        return bool(self.unreadable) or not (self.readable or self.files)

    @property
    def reason(self) -> Phrase:
        """Why it cannot be read, for students and staff."""
        return join_file_faults(self.unreadable.items()) or build_localised_text("fault.nothing-expected")

    def restrict(self, notebooks: Collection[str]) -> Readability:
        """Return the readability of some of the notebooks only."""
        unreadable = {name: reason for name, reason in self.unreadable.items() if name in notebooks}
        return Readability(self.readable & frozenset(notebooks), unreadable, self.files)

    def can_replace(self, other: Readability) -> bool:
        """Decide whether this attempt counts instead of another: that one is damaged, and this has more."""
        return other.is_damaged and self.readable > other.readable


def join_file_faults(faults: Iterable[tuple[str, Phrase]]) -> Phrase:
    """Return one text about files, each with its fault; empty if there are none."""
    return join_phrases(build_localised_text("fault.file", file=name, reason=fault) for name, fault in faults)


def find_notebook_fault(data: bytes) -> NotebookError | None:
    """Return why bytes are not a notebook that can be graded; None if they are."""
    try:
        parse_notebook(data)
    except NotebookError as error:
        return error
    return None


def determine_readability(
    contents: Mapping[str, bytes | NotebookError], notebooks: Collection[str]
) -> Readability:
    """Determine which notebooks of an attempt can be read.

    Args:
        contents: of its files by path.
        notebooks: names, without the ending.
    """
    readable, unreadable = set(), {}
    for name in notebooks:
        content = contents.get(f"{name}{_NOTEBOOK}")
        fault = content if isinstance(content, NotebookError | None) else find_notebook_fault(content)
        if content is None or (fault is not None and fault.code in ABSENT):
            continue
        if fault is None:
            readable.add(name)
        else:
            unreadable[name] = fault.text
    files = any(isinstance(data, bytes) for path, data in contents.items() if not path.endswith(_NOTEBOOK))
    return Readability(frozenset(readable), unreadable, files)


def list_expected_files(rubric: Rubric) -> dict[str, int]:
    """Return the paths of all files that are graded or accompany graded ones, with the maximum size of each.

    Notebooks come first.
    """
    notebooks = rubric.assignment.notebooks
    accompanying = {path: most for notebook in notebooks for path, most in notebook.own.items()}
    return {**{f"{notebook.name}{_NOTEBOOK}": MAX_BYTES for notebook in notebooks}, **accompanying}


def read_folder(folder: Path, rubric: Rubric, *, only_notebooks: bool = False) -> SubmissionFiles:
    """Read the files of a submission that the rubric expects; never raises for a fault in one of them.

    Archives are searched only if a file is missing under its own name.

    Args:
        folder: of the submission.
        rubric: of the assignment.
        only_notebooks: do not read other files, which may be large; their existence is still checked.
    """
    expected = list_expected_files(rubric)
    # A link could lead to another student's submission.
    if folder.is_symlink():
        fault = NotebookError("symlink", f"{folder.name} is a link, not a folder; hand in the folder itself")
        return SubmissionFiles(dict.fromkeys(expected, fault))
    if only_notebooks:
        expected = {path: most if path.endswith(_NOTEBOOK) else _PRESENT for path, most in expected.items()}
    # Files under their expected names take precedence over anything found elsewhere.
    contents = {path: _read_at(folder, path, most) for path, most in expected.items()}
    original_paths: dict[str, str] = {}
    ungraded: list[str] = []
    copies: dict[str, bytes] = {}
    if folder.is_dir():
        try:
            with open_source(folder) as listing, contextlib.ExitStack() as opened:
                packed_files = {entry.path: entry for entry in listing.entries}
                names = [*packed_files, *(entry.place for entry in listing.refused)]
                if any(is_absent(entry) for entry in contents.values()):
                    names += _read_elsewhere(packed_files, expected, contents, original_paths, opened)
                checkpoints = _list_checkpoints(folder, opened)  # never graded instead of a notebook
                packed_files |= checkpoints
                names += checkpoints
                ungraded = [
                    name
                    for name in dict.fromkeys(names)
                    if _is_ungraded(name, contents, original_paths, rubric)
                ]
                copies = {} if only_notebooks else _read_copies(packed_files, ungraded, expected, opened)
        except (OSError, SourceError):  # the folder changed or is unreadable: keep the rest
            ungraded = []
    notebooks = [path for path in expected if path.endswith(_NOTEBOOK)]
    unread = _list_possible_work(ungraded, contents, notebooks)
    minor_files = list_minor_files(ungraded, unread)
    return SubmissionFiles(
        explain_absent(contents, notebooks, unread), original_paths, unread, minor_files, copies
    )


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
            fault = build_localised_text("fault.files-unread", file=path, files=name_files(unread))
            explained[path] = NotebookError("unread-files", fault)
        elif nothing:
            fault = build_localised_text("fault.no-notebook", file=path)
            explained[path] = NotebookError("no-notebook", fault)
    return explained


def list_minor_files(ungraded: Iterable[str], unread: Collection[str]) -> tuple[str, ...]:
    """Return the files that are not graded and not in ``unread``, without files that programs create."""
    names = [escape_name(name) for name in ungraded if not _is_made_by_programs(name)]
    return tuple(name for name in names if name not in unread)


def _is_made_by_programs(name: str) -> bool:
    parts = name.casefold().split("/")
    return parts[-1] in _OF_PROGRAMS or parts[-1].endswith(".pyc") or "__macosx" in parts


def _read_copies(
    packed_files: Mapping[str, PackedFile],
    ungraded: Iterable[str],
    expected: Collection[str],
    opened: contextlib.ExitStack,
) -> dict[str, bytes]:
    """Read the first notebooks and pictures that are not graded; unreadable ones are omitted.

    Args:
        packed_files: all files of the folder.
        ungraded: those that are not graded; archives among them are searched.
        expected: the expected paths.
        opened: keeps archives open while their files are read.
    """
    files = {name: packed_files[name] for name in ungraded if name in packed_files}
    for name in [name for name in files if PurePosixPath(name).suffix.casefold() == ".zip"]:
        inside = expand_archives({name: files[name]}, expected, "", [], opened)
        files |= {f"{name}/{inner}": file for inner, file in inside if inner.casefold().endswith(_NOTEBOOK)}
    files |= {name: file for name, file in packed_files.items() if is_hidden_notebook(name)}
    copies: dict[str, bytes] = {}
    for name, most in select_files_to_compare(files):
        with contextlib.suppress(SourceError):
            copies[escape_name(name)] = files[name].read(most)
    return copies


def _list_checkpoints(folder: Path, opened: contextlib.ExitStack) -> dict[str, PackedFile]:
    """Return the checkpoints that Jupyter made when notebooks were saved, by path; no link is followed."""
    inside = folder / _CHECKPOINTS
    if inside.is_symlink() or not inside.is_dir():
        return {}
    entries = opened.enter_context(open_source(inside)).entries
    return {
        f"{_CHECKPOINTS}/{entry.path}": entry
        for entry in entries
        if entry.path.casefold().endswith(_NOTEBOOK)
    }


def is_hidden_notebook(name: str) -> bool:
    """Decide whether a file is a notebook that Jupyter or an editor made, such as a checkpoint."""
    return _is_hidden(name) and name.casefold().endswith(_NOTEBOOK)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part != ".." for part in name.split("/"))


def select_files_to_compare(ungraded: Iterable[str]) -> list[tuple[str, int]]:
    """Return the first notebooks and pictures that are not graded, with the maximum size of each."""
    names = list(ungraded)
    notebooks = [name for name in names if name.casefold().endswith(_NOTEBOOK)][:MOST_COPIES]
    pictures = [name for name in names if name.casefold().endswith(SCANS)][:MOST_PICTURES]
    return [(name, MAX_BYTES) for name in notebooks] + [(name, _MOST_PICTURE) for name in pictures]


def list_ungraded_files(
    names: Iterable[str], contents: Mapping[str, bytes | NotebookError], rubric: Rubric
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files of a submission that are not graded: those that may contain work, and all others.

    Args:
        names: of all files.
        contents: of the graded files, by path; an error or nothing for missing ones.
        rubric: of the assignment.
    """
    expected_contents = {
        path: contents.get(path, NotebookError("missing", path)) for path in list_expected_files(rubric)
    }
    ungraded = [name for name in names if _is_ungraded(name, expected_contents, {}, rubric)]
    unread = _list_possible_work(
        ungraded, expected_contents, [path for path in expected_contents if path.endswith(_NOTEBOOK)]
    )
    return unread, list_minor_files(ungraded, unread)


def name_files(names: Sequence[str]) -> str:
    """Return a list of file names for a sentence; a long list is cut."""
    listed_names = ", ".join(
        name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}…" for name in names[:MOST_NAMED]
    )
    return f"{listed_names} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else listed_names


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
        printable_path = escape_name(f"{label}: {name}" if label else name)
        number += 1
        if number > MOST_ARCHIVES:
            fault = build_localised_text("fault.archives-too-many", most=MOST_ARCHIVES)
            faults.append(RefusedFile(printable_path, fault))
            continue
        try:
            # zipfile needs a seekable file, and the entry is a stream.
            copy = opened.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - read later
            for part in entry.read_chunks():
                copy.write(part)
            listing = opened.enter_context(open_archive(cast("IO[bytes]", copy), name))
        except SourceError as error:
            faults.append(RefusedFile(printable_path, error.text))
            continue
        faults += [
            RefusedFile(f"{printable_path}/{refused_file.place}", refused_file.reason)
            for refused_file in listing.refused
        ]
        above = name.rpartition("/")[0]
        # Archives inside archives are not unpacked, which rules out nested bombs.
        for inner in listing.entries:
            yield f"{above}/{inner.path}".lstrip("/"), inner


def place_files(files: Mapping[str, PackedFile], expected: Sequence[str]) -> dict[str, str]:
    """Return the target path of each file.

    A folder around all files is removed, and each file gets the expected name it is meant for.
    """
    paths = {name: name for name in files}
    # Students often zip a folder around their files, sometimes several levels deep.
    while paths and not set(expected) & set(paths.values()):
        firsts = {path.partition("/")[0] for path in paths.values() if "/" in path}
        if len(firsts) != 1 or not all("/" in path for path in paths.values()):
            break
        paths = {name: path.partition("/")[2] for name, path in paths.items()}
    entries = {path: files[name] for name, path in paths.items()}
    targets = match_expected_paths(
        paths.values(), expected, NotebookFinder(lambda path: entries[path].read(MAX_READ))
    )
    return {name: targets[path] for name, path in paths.items()}


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
                self._known[name] = find_notebook_fault(self._read(name)) is None
            except SourceError:
                self._known[name] = False
        return self._known[name]


def _read_at(folder: Path, path: str, most: int) -> bytes | NotebookError:
    """Read the file at its path, or without its folders, which browsers and platforms drop."""
    content = _read_content(folder, path, most)
    name = path.rpartition("/")[2]
    # Platforms flatten folders: data/table.csv arrives as table.csv.
    if not is_absent(content) or name == path:
        return content
    flattened = _read_content(folder, name, most)
    return content if is_absent(flattened) else flattened


def _read_content(folder: Path, path: str, most: int) -> bytes | NotebookError:
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
    packed_files: Mapping[str, PackedFile],
    expected: Mapping[str, int],
    contents: dict[str, bytes | NotebookError],
    original_paths: dict[str, str],
    opened: contextlib.ExitStack,
) -> list[str]:
    """Read missing files from copies and archives; return the names that archives add."""
    faults: list[RefusedFile] = []
    sources: dict[str, str] = {}
    files: dict[str, PackedFile] = {}
    packed = {
        name: listed_file
        for name, listed_file in packed_files.items()
        if PurePosixPath(name).suffix.casefold() == ".zip"
    }
    files |= {name: listed_file for name, listed_file in packed_files.items() if name not in packed}
    # Loose files come first: setdefault prefers them to files in archives.
    for name, entry in packed.items():
        for inner, file in expand_archives({name: entry}, expected, "", faults, opened):
            if files.setdefault(inner, file) is file:
                sources[inner] = name
    for name, target in place_files(files, list(expected)).items():
        if target in expected and is_absent(contents[target]):
            contents[target] = _read_packed(files[name], target, expected[target])
            original_paths[target] = f"{sources[name]}/{name}" if name in sources else name
    used = {sources[name] for name in sources if f"{sources[name]}/{name}" in original_paths.values()}
    original_paths |= {archive: archive for archive in used}  # its other files are reported instead
    return [f"{archive}/{name}" for name, archive in sources.items()] + [
        listed_file.place for listed_file in faults
    ]


def _read_packed(entry: PackedFile, path: str, most: int) -> bytes | NotebookError:
    try:
        return b"" if most == _PRESENT else entry.read(most)
    except SourceError as error:
        fault = build_localised_text("fault.file", file=path, reason=error.text)
        return NotebookError("not-readable", fault)


def _is_ungraded(
    name: str, contents: Mapping[str, object], original_paths: Mapping[str, str], rubric: Rubric
) -> bool:
    """Decide whether a file is neither graded nor part of the release.

    A hidden file is considered only if it is a notebook and no other was submitted.
    """
    notebooks = [path for path in list_expected_files(rubric) if path.endswith(_NOTEBOOK)]
    has_notebook = any(isinstance(contents.get(path), bytes) for path in notebooks)
    base = name.rpartition("/")[2]
    paths = {path for path, entry in contents.items() if not isinstance(entry, NotebookError)}
    graded = name in contents or base in {path.rpartition("/")[2] for path in paths if "/" in path}
    released_paths = (path for entry in rubric.assignment.notebooks for path in entry.given)
    return (
        not graded
        and name not in original_paths.values()
        and base not in {STAMP, CHECK_FILE}
        and (not _is_hidden(name) or (is_hidden_notebook(name) and not has_notebook))
        and not any(is_below(name, path) or base == path.rpartition("/")[2] for path in released_paths)
    )


def _list_possible_work(
    ungraded: Iterable[str], contents: Mapping[str, bytes | NotebookError], notebooks: Sequence[str]
) -> tuple[str, ...]:
    """Return those of the files that are not graded that may contain the student's work.

    If all notebooks are there, these are other notebooks and archives; if one is missing, also anything that
    students mistake for a notebook; if no expected file is there, every file.
    """
    absent = [path for path in notebooks if is_absent(contents[path])]
    if all(map(is_absent, contents.values())):
        return tuple(escape_name(name) for name in ungraded)
    return tuple(escape_name(name) for name in ungraded if _may_be_work(name, absent))


def _may_be_work(name: str, absent: Collection[str]) -> bool:
    suffix = PurePosixPath(name).suffix.casefold()
    if suffix == _NOTEBOOK or suffix in ARCHIVES or f"{_NOTEBOOK}." in name.casefold():
        return True
    return bool(absent) and (suffix in _EXPORTS or is_disguised(name))
