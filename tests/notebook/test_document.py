"""Files with the name of a notebook that are not notebooks: each is refused with a specific reason."""

from __future__ import annotations

import json

import pytest

from autograder.core.errors import NotebookError
from autograder.notebook.document import parse_notebook

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
LOGIN_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body></body></html>"
CONFLICT = b"""{
 "cells": [
  {"cell_type": "code", "metadata": {}, "outputs": [],
<<<<<<< HEAD
   "source": "answer = 1"}
=======
   "source": "answer = 2"}
>>>>>>> theirs
 ], "nbformat": 4}
"""


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\t", "empty", id="only-spaces"),
        pytest.param(b"{}", "not-a-notebook", id="empty-object"),
        pytest.param(b"null", "not-a-notebook", id="null"),
        pytest.param(b'{"cells": [], "nbformat": 4}', "no-cells", id="no-cell-left"),
        pytest.param(b'{"cells": [1, null], "nbformat": 4}', "no-cells", id="cells-that-are-none"),
        pytest.param(LFS_POINTER, "git-lfs-pointer", id="git-lfs-pointer"),
        pytest.param(b"\n" + LFS_POINTER, "git-lfs-pointer", id="git-lfs-pointer-after-a-line"),
        pytest.param(LOGIN_PAGE, "html-page", id="login-page"),
        pytest.param(b"<!-- saved -->\n<HTML lang='en'>", "html-page", id="html-after-a-comment"),
        pytest.param(CONFLICT, "merge-conflict", id="merge-conflict"),
        pytest.param(CONFLICT.replace(b"\n", b"\r\n"), "merge-conflict", id="merge-conflict-windows"),
        pytest.param(CONFLICT[:-20].replace(b">>>>>>>", b""), "not-json", id="half-a-conflict"),
        pytest.param(b'{"cells": [{"cell_type": "code", "sour', "truncated-json", id="truncated"),
    ],
)
def test_parse_names_what_is_no_notebook(data: bytes, code: str) -> None:
    """The code of the error states what the student has to do."""
    with pytest.raises(NotebookError) as caught:
        parse_notebook(data)
    assert code == caught.value.code


def test_parse_keeps_notebooks_that_speak_of_conflicts_and_pages() -> None:
    """Conflict markers or HTML in the text of a cell do not matter."""
    source = "<html>\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\nversion https://git-lfs.github.com/spec/v1"
    tree = {"cells": [{"cell_type": "markdown", "metadata": {}, "source": source}], "nbformat": 4}
    (cell,) = parse_notebook(json.dumps(tree).encode()).cells
    assert source == cell.source


@pytest.mark.parametrize("text", [b"<<<<<<< \n", b"=======\n", b"<!---->", b"<"], ids=repr)
def test_parse_takes_linear_time_to_name_the_cause(text: bytes) -> None:
    """Eight megabytes of markers are parsed in linear time, without catastrophic backtracking."""
    with pytest.raises(NotebookError):
        parse_notebook(text * (8_000_000 // len(text)))
