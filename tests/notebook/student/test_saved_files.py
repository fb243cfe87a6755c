"""Files submitted with a notebook are inspected without running or unpickling them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.app.inspection import NotebookInspection, inspect_notebook
from autograder.core.errors import NotebookError
from autograder.grading.release_generation import generate_release
from autograder.notebook.student.report import MISSING, PROBLEM, READY
from autograder.notebook.student.saved_files import compute_digest, report_file
from tests.support.files_course import LM, STARTER, written


def saved(*arrays: Any, **named: Any) -> bytes:
    """Return bytes written by numpy: a single array, or several named ones."""
    file = io.BytesIO()
    if named:
        np.savez(file, **named)
    else:
        np.save(file, *arrays)
    return file.getvalue()


MANY = {f"a{number}": np.zeros(1) for number in range(8)}


def looked(path: str, content: bytes | NotebookError | None, **asked: Any) -> list[tuple[str, str]]:
    """Return state and text of each line about a file."""
    handed: Mapping[str, bytes | NotebookError] = {} if content is None else {path: content}
    entry = {"path": path, "most": 4096, "optional": False, "starter": "", **asked}
    return [(line.state, line.text) for line in report_file(entry, handed, "en")]


@pytest.mark.parametrize(
    ("path", "content", "state", "said"),
    [
        ("p.npy", saved(np.zeros((3, 2), "int8")), READY, "p.npy is there (134 B: int8 (3, 2))"),
        ("p.npy", saved(np.zeros(200)), READY, "p.npy is there (1.7 kB: float64 (200,))"),
        ("p.npy", saved(np.array([{}], object)), PROBLEM, "cannot be read as a npy file"),
        ("p.npy", b"\x93NUMPY\x01\x00", PROBLEM, "cannot be read as a npy file"),
        ("p.npy", pickle.dumps([1]), PROBLEM, "cannot be read as a npy file"),
        ("p.npy", b"", PROBLEM, "cannot be read as a npy file"),
        ("p.npz", saved(x=np.zeros(3), y=np.ones((1, 2))), READY, ": x float64 (3,), y float64 (1, 2))"),
        ("p.npz", saved(**MANY), READY, "a5 float64 (1,), …)"),
        ("p.npz", b"PK\x03\x04", PROBLEM, "cannot be read as a npz file"),
        ("p.json", b'{"a": 1}', READY, "p.json is there (8 B)"),
        ("p.json", b'{"a": ', PROBLEM, "cannot be read as a json file"),
        ("r.md", b"Because.", READY, "r.md is there (8 B)"),
        ("lm.py", b"x = 1\ndef f(:\n", PROBLEM, "lm.py is not valid Python: line 2."),
        ("p.npy", None, MISSING, "p.npy is missing."),
        ("p.npy", bytes(5000), PROBLEM, "p.npy is larger than 4.0 kB"),
        ("p.npy", NotebookError("symlink", ""), PROBLEM, "p.npy cannot be read."),
    ],
)
def test_a_file_is_told_by_what_it_holds(
    path: str, content: bytes | NotebookError | None, state: str, said: str
) -> None:
    """A file is reported by presence, size, format, types and shapes."""
    ((found, text),) = looked(path, content)
    assert state == found
    assert said in text


def test_what_was_given_out_is_no_answer_and_what_is_optional_may_be_missing() -> None:
    """An unchanged starter is missing, ignoring trailing whitespace; an optional file may be absent."""
    given_out = compute_digest(b"x = 1\n")
    assert [(MISSING, "lm.py is still as it was given.")] == looked("lm.py", b"x = 1  \n", starter=given_out)
    assert READY == looked("lm.py", b"x = 2\n", starter=given_out)[0][0]
    assert [] == looked("p.npy", None, optional=True)


@given(st.binary(max_size=300), st.sampled_from(["npy", "npz", "json", "py"]))
def test_no_file_is_a_crash(content: bytes, ending: str) -> None:
    """Any bytes in a file give exactly one line."""
    ((state, _),) = looked(f"p.{ending}", content)
    assert state in {READY, PROBLEM}


@given(st.binary(max_size=60), st.integers(0, 140))
def test_no_damaged_array_is_a_crash(noise: bytes, at: int) -> None:
    """An array that is damaged at any position gives one line."""
    for path, data in (("p.npy", saved(np.zeros(2))), ("p.npz", saved(x=np.zeros(2)))):
        ((state, _),) = looked(path, data[:at] + noise + data[at + len(noise) :])
        assert state in {READY, PROBLEM}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the release folder of two assignments with files."""
    course = written(tmp_path_factory.mktemp("files"))
    for name in ("captions", "model"):
        generate_release(course, name)
    return course.root / "release"


def inspected(release: Path, name: str, tmp_path: Path, files: Mapping[str, bytes]) -> NotebookInspection:
    """Return the inspection of the released notebook in a folder with these files."""
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    for path in (f"{name}.ipynb", "coursecheck.py"):
        (tmp_path / path).write_bytes((release / name / path).read_bytes())
    return inspect_notebook(tmp_path / f"{name}.ipynb")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, ["count: lm.py is missing.", "report: report.md is missing."]),
        ({"lm.py": b"x = 1\n"}, ["count: lm.py is there (6 B)", "count: lm.py defines no count."]),
        ({"lm.py": b"def count(word):\n    pass\n"}, ["count: count has no body yet."]),
        (
            {"lm.py": LM.encode(), "report.md": b"Two.\n"},
            ["✓ count: lm.py", "✓ report: report.md is there (5 B)"],
        ),
    ],
)
def test_an_answer_that_is_a_file_is_told(
    release: Path, tmp_path_factory: pytest.TempPathFactory, files: Mapping[str, bytes], said: list[str]
) -> None:
    """The question reports the file's presence, its form, and required names that are missing."""
    found = inspected(release, "model", tmp_path_factory.mktemp("student"), files)
    for text in said:
        assert text in found.text
    assert found.paper.is_complete == (len(files) == 2)


def test_a_file_of_a_package_may_lie_beside_the_notebook(release: Path, tmp_path: Path) -> None:
    """A package's file may be outside its folder, as browsers drop folders; links are not followed."""
    found = inspected(release, "captions", tmp_path, {"rnn.py": STARTER.encode()})
    assert "step: captioning/rnn.py is there" in found.text
    assert "predictions: predictions.npy is missing." in found.text
    (tmp_path / "predictions.npy").symlink_to("/etc/passwd")
    found = inspected(release, "captions", tmp_path, {})
    assert "predictions: predictions.npy cannot be read." in found.text
