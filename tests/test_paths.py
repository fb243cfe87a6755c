"""Paths in rubrics and submissions stay below their folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.paths import (
    find_path_fault,
    is_below,
    list_files_at,
    list_files_below,
    match_expected_paths,
)

PARTS = st.one_of(st.sampled_from(["..", ".", "", "a", "C:", "~", "a\\b", "a.", "x y", "-"]), st.text())


@given(st.lists(PARTS, min_size=1, max_size=10).map("/".join))
def test_what_is_accepted_stays_below_its_folder(path: str) -> None:
    """Every accepted path stays below its folder on every operating system."""
    if find_path_fault(path):
        return
    for kind in (PurePosixPath, PureWindowsPath):
        pure = kind(path)
        assert not pure.is_absolute()
        assert not pure.drive
        assert ".." not in pure.parts
        assert path == pure.as_posix()


@pytest.mark.parametrize(
    "path", ["lm.py", "captioning/rnn.py", "EleutherAI/pythia-14m/config.json", "a b.txt", "2_data/x-y.z"]
)
def test_plain_paths_are_accepted(path: str) -> None:
    """Usual names of files and folders are accepted."""
    assert "" == find_path_fault(path)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/etc/passwd", "../x", "a/../x", "a//b", "a/", "./a", ".git/config", "a/.hidden", "a\\b"),
        *(
            "C:/x",
            "~/x",
            "a\nb",
            "a\0b",
            "ü.txt",
            "a/__pycache__/b.pyc",
            "x" * 201,
            "/".join("abcdefghi"),
            "a.",
        ),
    ],
)
def test_others_are_refused(path: str) -> None:
    """Absolute, parent, hidden and system-dependent paths are refused."""
    assert find_path_fault(path)


def test_links_hidden_files_and_caches_are_no_files_of_a_folder(tmp_path: Path) -> None:
    """Links, hidden files and caches are omitted; files are sorted within each given path."""
    for path in ("b/c.txt", "b/__pycache__/c.pyc", ".hidden", "b/.git/x", "a.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "b/up").symlink_to("..")
    assert ["a.txt", "b/c.txt"] == [path for path, _ in list_files_below(tmp_path)]
    assert ["b/c.txt", "a.txt"] == [path for path, _ in list_files_at(tmp_path, ["b", "a.txt"])]


def test_a_folder_holds_itself_and_what_is_in_it() -> None:
    """A name with the folder's name as a prefix is not below it."""
    assert is_below("a/b", "a")
    assert is_below("a", "a")
    assert not is_below("ab", "a")


def is_never_notebook(name: str) -> bool:
    """Return False: no file of another extension is a notebook."""
    del name
    return False


def test_a_file_goes_where_it_alone_can_be_meant() -> None:
    """Copy numbers and words are ignored if the file is unambiguous; exact names have priority."""
    two, one = ["a.ipynb", "b.ipynb"], ["a.ipynb", "model.py"]
    for names, expected, placed in (
        (["a (1).ipynb", "B-2.ipynb"], two, ["a.ipynb", "b.ipynb"]),
        (["a - Copy.ipynb", "Kopie von b.ipynb"], two, ["a.ipynb", "b.ipynb"]),
        (["a_copy2.ipynb", "copy of b.ipynb"], two, ["a.ipynb", "b.ipynb"]),
        (["a (1).ipynb", "a (2).ipynb"], two, ["a (1).ipynb", "a (2).ipynb"]),
        (["a.ipynb", "a (1).ipynb"], two, ["a.ipynb", "a (1).ipynb"]),
        (["mine.ipynb"], two, ["mine.ipynb"]),
        (["mine.ipynb", "model (3).py"], one, ["a.ipynb", "model.py"]),
        (["mine.ipynb", "old.ipynb"], one, ["mine.ipynb", "old.ipynb"]),
    ):
        assert dict(zip(names, placed, strict=True)) == match_expected_paths(
            names, expected, is_never_notebook
        )


def test_a_number_that_tells_files_apart_is_no_mark_of_a_copy() -> None:
    """A number is kept if it is part of an expected name or distinguishes expected names."""
    layers, one, both = ["layer1.py", "layer2.py"], ["layer1.py"], ["hw.py", "hw_1.py"]
    for names, expected, placed in (
        (["layer2.py"], one, ["layer2.py"]),
        (["layer.py"], one, ["layer.py"]),
        (["layer12.py"], one, ["layer12.py"]),
        (["layer-1.py"], one, ["layer-1.py"]),
        (["layer1 (1).py"], one, ["layer1.py"]),
        (["layer1-2.py"], one, ["layer1.py"]),
        (["Layer1 - Kopie.py"], one, ["layer1.py"]),
        (["layer1 (2)-1.py"], one, ["layer1.py"]),
        (["layer2.py"], layers, ["layer2.py"]),
        (["layer3.py"], layers, ["layer3.py"]),
        (["layer2 (1).py", "layer1-Copy1.py"], layers, ["layer2.py", "layer1.py"]),
        (["hw_2.py"], both, ["hw_2.py"]),
        (["hw2.py"], both, ["hw2.py"]),
        (["hw_1.py"], both, ["hw_1.py"]),
        (["hw (2).py", "hw_1-3.py"], both, ["hw.py", "hw_1.py"]),
        (["hw_1 (1).py"], both, ["hw_1.py"]),
        (["hw-3.py"], ["hw.py"], ["hw.py"]),
        (["hw-3.py"], ["hw.py", "hw1.ipynb"], ["hw.py"]),
        (["report 2024.pdf"], ["report.pdf"], ["report 2024.pdf"]),
        (["1.py"], ["2.py"], ["1.py"]),
        (["2 (1).py"], ["2.py"], ["2.py"]),
    ):
        found = match_expected_paths(names, expected, is_never_notebook)
        assert dict(zip(names, placed, strict=True)) == found, names
