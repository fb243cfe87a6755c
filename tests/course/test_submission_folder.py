"""The file of a submission that is graded, under any name and in any folder; all others are named."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.authoring import start_assignment
from autograder.core.errors import NotebookError
from autograder.course import Course
from autograder.course import submission_folder as folders
from autograder.course.submission_folder import determine_readability, read_folder
from autograder.rubric import Rubric
from tests.notebook.test_document import CONFLICT, LFS_POINTER, LOGIN_PAGE
from tests.support import small_course


def notebook(text: str) -> bytes:
    """Return a notebook with a distinct text."""
    cell = {"cell_type": "markdown", "metadata": {}, "source": text}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip archive of files."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return written.getvalue()


WORK = notebook("the work")
OTHER = notebook("another one")
ENCRYPTED = packed({"hw.ipynb": WORK}).replace(
    b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Rubric:
    """Return an assignment with the notebook hw."""
    root = tmp_path_factory.mktemp("one")
    start_assignment(root, "hw", ["written"])
    return rubrics.load_rubric(Course.from_folder(root).locate_rubric("hw"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Rubric:
    """Return an assignment with the notebooks formulas and code."""
    root = tmp_path_factory.mktemp("two")
    return rubrics.load_rubric(small_course.small_course(root).locate_rubric(small_course.NAME))


def laid(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files to a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("files", "unread"),
    [
        pytest.param({"hw.ipynb": WORK}, (), id="its-own-name"),
        pytest.param({"hw.ipynb.txt": WORK}, (), id="txt-after-the-ending"),
        pytest.param({"hw.ipynb.json": WORK}, (), id="json-after-the-ending"),
        pytest.param({"hw.json": WORK}, (), id="json"),
        pytest.param({"HW (1).IPYNB.TXT": WORK}, (), id="a-copy-of-a-disguised-one"),
        pytest.param({"WMS hw.ipynb": WORK}, (), id="a-word-before"),
        pytest.param({"hw_final.ipynb": WORK}, (), id="a-word-after"),
        pytest.param({"Untitled.ipynb": WORK}, (), id="no-name-at-all"),
        pytest.param({"hw/hw.ipynb": WORK}, (), id="a-folder-too-many"),
        pytest.param({"hw.zip": packed({"hw.ipynb": WORK})}, (), id="a-zip"),
        pytest.param({"upload.zip": packed({"hw/WMS hw.ipynb": WORK})}, (), id="a-zip-of-a-folder"),
        pytest.param(
            {"a.zip": packed({"hw.ipynb": WORK, "__MACOSX/._hw.ipynb": b"x"})}, (), id="a-zip-of-a-mac"
        ),
        pytest.param({"hw.ipynb": WORK, "plot.png": b"x", "coursecheck.py": b"x"}, (), id="beside-pictures"),
        pytest.param({"hw.ipynb": WORK, "timestamp.txt": b"2026-02-12 10:00:00 UTC"}, (), id="with-its-time"),
        pytest.param({"Untitled.ipynb": WORK, "data.json": b"{}"}, (), id="beside-data"),
        pytest.param(
            {"hw.ipynb": WORK, "hw_final.ipynb": OTHER}, ("hw_final.ipynb",), id="beside-a-final-one"
        ),
        pytest.param({"hw.ipynb": WORK, "old.zip": b"PK"}, ("old.zip",), id="beside-an-archive"),
        pytest.param(
            {"hw.ipynb": WORK, "hw.ipynb.txt": OTHER}, ("hw.ipynb.txt",), id="beside-a-disguised-one"
        ),
        pytest.param(
            {"hw.zip": packed({"hw.ipynb": WORK, "extra.ipynb": OTHER})},
            ("hw.zip/extra.ipynb",),
            id="a-zip-of-two",
        ),
    ],
)
def test_the_only_notebook_is_graded_and_others_are_named(
    one: Rubric, tmp_path: Path, files: dict[str, bytes], unread: tuple[str, ...]
) -> None:
    """The notebook is found by its own name first, or else by a name it may have got in transfer."""
    found = read_folder(laid(tmp_path / "ada", files), one)
    assert WORK == found.contents["hw.ipynb"]
    assert unread == found.unread


@pytest.mark.parametrize(
    ("files", "code", "named"),
    [
        pytest.param({}, "no-notebook", (), id="an-empty-folder"),
        pytest.param({"timestamp.txt": b"x"}, "no-notebook", (), id="only-the-time"),
        pytest.param({"hw.html": LOGIN_PAGE}, "unread-files", ("hw.html",), id="an-export"),
        pytest.param({"hw.pdf": b"%PDF"}, "unread-files", ("hw.pdf",), id="a-pdf"),
        pytest.param(
            {"hw.ipynb.txt": LOGIN_PAGE}, "unread-files", ("hw.ipynb.txt",), id="no-notebook-inside"
        ),
        pytest.param({"hw.py": b"x = 1"}, "unread-files", ("hw.py",), id="a-script"),
        pytest.param({"a.ipynb": WORK, "b.ipynb": OTHER}, "unread-files", ("a.ipynb", "b.ipynb"), id="two"),
        pytest.param({"hw.zip": b"PK\x03\x04 broken"}, "unread-files", ("hw.zip",), id="a-broken-zip"),
        pytest.param({"hw.rar": b"Rar!"}, "unread-files", ("hw.rar",), id="another-archive"),
        pytest.param(
            {"hw.zip": packed({"a/hw.ipynb": WORK, "b/hw.ipynb": OTHER})},
            "unread-files",
            ("hw.zip/a/hw.ipynb", "hw.zip/b/hw.ipynb"),
            id="a-zip-with-two-of-the-name",
        ),
        pytest.param({"hw.zip": ENCRYPTED}, "unread-files", ("hw.zip/hw.ipynb",), id="a-locked-zip"),
        pytest.param(
            {"hw.zip": packed({"../../hw.ipynb": WORK})},
            "unread-files",
            ("hw.zip/../../hw.ipynb",),
            id="a-zip-that-leads-out",
        ),
        pytest.param(
            {"hw.zip": packed({"inner.zip": packed({"hw.ipynb": WORK})})},
            "unread-files",
            ("hw.zip/inner.zip",),
            id="a-zip-in-a-zip",
        ),
        pytest.param({"hw.ipynb": LFS_POINTER}, "git-lfs-pointer", (), id="a-git-lfs-pointer"),
        pytest.param({"hw.ipynb": CONFLICT}, "merge-conflict", (), id="a-merge-conflict"),
        pytest.param({"Untitled.ipynb": CONFLICT}, "merge-conflict", (), id="a-conflict-of-another-name"),
    ],
)
def test_what_is_not_there_or_not_readable_says_why_and_names_every_file(
    one: Rubric, tmp_path: Path, files: dict[str, bytes], code: str, named: tuple[str, ...]
) -> None:
    """The message names the reason and all files, for manual review and for a resubmission."""
    found = read_folder(laid(tmp_path / "ada", files), one)
    content = found.contents["hw.ipynb"]
    fault = content if isinstance(content, NotebookError) else folders.find_notebook_fault(content)
    assert fault is not None
    assert code == fault.code
    assert set(named) <= set(found.unread)
    assert all(name in str(fault) for name in named)


def test_one_of_two_notebooks_may_simply_be_missing(two: Rubric, tmp_path: Path) -> None:
    """A notebook that was left out is reported as missing; an exported file gets another message."""
    found = read_folder(laid(tmp_path / "ada", {"code.ipynb": WORK, "data.csv": b"1"}), two)
    missing = found.contents["formulas.ipynb"]
    assert isinstance(missing, NotebookError)
    assert ("missing", ()) == (missing.code, found.unread)
    for name in ("formulas.html", "Untitled.ipynb", "formulas.zip"):
        found = read_folder(laid(tmp_path / name, {"code.ipynb": WORK, name: b"x"}), two)
        missing = found.contents["formulas.ipynb"]
        assert isinstance(missing, NotebookError)
        assert ("unread-files", (name,)) == (missing.code, found.unread)


def test_two_notebooks_come_out_of_one_archive(two: Rubric, tmp_path: Path) -> None:
    """Both notebooks are found in an archive of the whole released folder."""
    files = {"up.zip": packed({"small/formulas.ipynb": WORK, "small/code.ipynb": OTHER})}
    found = read_folder(laid(tmp_path / "ada", files), two)
    assert (WORK, OTHER, ()) == (found.contents["formulas.ipynb"], found.contents["code.ipynb"], found.unread)


def test_links_are_not_followed(one: Rubric, tmp_path: Path) -> None:
    """Symbolic and hard links are not followed, neither on disk nor in an archive."""
    secret = tmp_path / "key.ipynb"
    secret.write_bytes(WORK)
    folder = laid(tmp_path / "ada", {})
    (folder / "Untitled.ipynb").symlink_to(secret)
    (folder / "hw (1).ipynb").hardlink_to(secret)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        link = zipfile.ZipInfo("hw.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(secret))
    (folder / "hw.zip").write_bytes(written.getvalue())
    found = read_folder(folder, one)
    assert isinstance(found.contents["hw.ipynb"], NotebookError)
    assert {"Untitled.ipynb", "hw (1).ipynb", "hw.zip/hw.ipynb"} <= set(found.unread)


def test_an_archive_with_too_many_members_is_not_opened(
    one: Rubric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive with too many entries is refused before it is opened, because its directory needs memory."""

    def refuse(*_: object) -> None:
        raise AssertionError("the archive was opened")

    members = {f"{number}": b"" for number in range(2_001)}
    folder = laid(tmp_path / "ada", {"hw.zip": packed(members)})
    monkeypatch.setattr(zipfile, "ZipFile", refuse)
    found = read_folder(folder, one)
    assert ("hw.zip",) == found.unread


def test_only_a_few_files_of_another_ending_are_read(one: Rubric, tmp_path: Path) -> None:
    """The number of files searched for a notebook is limited; the others are named."""
    many = {f"{number:03}.json": b"{}" for number in range(folders.MOST_SNIFFED)}
    found = read_folder(laid(tmp_path / "ada", {**many, "z.json": WORK}), one)
    assert isinstance(found.contents["hw.ipynb"], NotebookError)
    assert "z.json" in found.unread


def test_folders_that_are_very_deep_stop_nobody(one: Rubric, tmp_path: Path) -> None:
    """Deeply nested folders exceed neither the recursion limit nor the length of paths."""
    deep = tmp_path / "ada"
    for _ in range(10):
        deep = deep.joinpath(*["a"] * 30)
    found = read_folder(laid(deep, {"hw.ipynb": WORK}) and tmp_path / "ada", one)
    assert isinstance(found.contents["hw.ipynb"], NotebookError)
    assert found.unread


def test_readability_tells_damaged_notebooks_from_missing_ones(two: Rubric, tmp_path: Path) -> None:
    """A damaged notebook is distinguished from a missing one when attempts are compared."""

    def of(files: dict[str, bytes]) -> folders.Readability:
        number = len(list(tmp_path.iterdir()))
        return determine_readability(
            read_folder(laid(tmp_path / str(number), files), two).contents, ["formulas", "code"]
        )

    whole, half = of({"formulas.ipynb": WORK, "code.ipynb": WORK}), of({"formulas.ipynb": WORK})
    damaged = of({"formulas.ipynb": WORK, "code.ipynb": CONFLICT})
    assert (False, False, True) == (whole.is_damaged, half.is_damaged, damaged.is_damaged)
    assert "merge conflict" in str(damaged.reason)
    assert whole.can_replace(damaged)
    assert not half.can_replace(damaged)
    assert not whole.can_replace(half)
    assert half.can_replace(of({}))
