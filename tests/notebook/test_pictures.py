"""Pictures in students' texts are kept, but their data is removed from the text."""

from __future__ import annotations

import base64
import json
import random
from typing import Any
from urllib.parse import quote

import pytest

from autograder.core.records import Markdown, PastedPicture, Submission
from autograder.notebook.document import MAX_SOURCE
from autograder.notebook.pictures import attach_files, extract_pictures
from autograder.notebook.release import Release
from autograder.notebook.submission_reader import read_notebook
from autograder.questions.base.judging.manual import is_unwritten_answer

DATA = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(60)).decode()
URI = f"data:image/png;base64,{DATA}"
ONE = {"image.png": {"image/png": DATA}}


def handed_in(release_bytes: bytes, release: Release, source: str, attachments: Any = None) -> Submission:
    """Return the small exam with a written answer."""
    tree = json.loads(release_bytes)
    for cell in tree["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "essay":
            cell["source"] = source
            if attachments is not None:
                cell["attachments"] = attachments
    return read_notebook(json.dumps(tree).encode(), release, student="ada", assignment="small-exam")


def essay(submission: Submission) -> Markdown:
    """Return the cell of the written answer."""
    return next(cell for cell in submission.cells if isinstance(cell, Markdown) and cell.grade_id == "essay")


@pytest.mark.parametrize(
    ("source", "attachments", "name"),
    [
        pytest.param("![image.png](attachment:image.png)", ONE, "image.png", id="attached"),
        pytest.param('<img src="attachment:image.png" width=300>', ONE, "image.png", id="attached, in HTML"),
        pytest.param(
            "![](attachment:my%20plot.png)", {"my plot.png": {"image/png": DATA}}, "my plot.png", id="a space"
        ),
        pytest.param("![](attachment:a)", {"a": {"image/png": [DATA[:8], DATA[8:]]}}, "a", id="in lines"),
        pytest.param(f"![]({URI})", None, "pasted-1.png", id="a data URI"),
        pytest.param(f"<img src='{URI}'>", None, "pasted-1.png", id="a data URI, in HTML"),
        pytest.param(f"<IMG SRC={URI.replace('png', 'PNG', 1)}>", None, "pasted-1.png", id="in capitals"),
    ],
)
def test_an_answer_that_is_only_a_picture_is_an_answer(
    release_bytes: bytes, release: Release, source: str, attachments: Any, name: str
) -> None:
    """An answer that is only a picture is not blank: the picture is kept and named in the text."""
    submission = handed_in(release_bytes, release, source, attachments)
    cell, answer = essay(submission), submission.answers["essay"]
    assert (PastedPicture(name, "image/png", DATA),) == cell.pictures
    assert cell.source == answer.source
    assert "data:" not in answer.source
    assert answer.changed
    assert not is_unwritten_answer(answer)
    assert () == submission.notes


@pytest.mark.parametrize("source", ["", " \n", None], ids=["empty", "blank", "as given out"])
def test_pictures_of_a_text_without_a_word_are_the_answer(
    release_bytes: bytes, release: Release, source: str | None
) -> None:
    """Attached pictures count as an answer, even if the text does not show them."""
    written = release.by_id["essay"].source if source is None else source
    found = handed_in(release_bytes, release, written, {"my plot.png": {"image/png": DATA}})
    assert found.answers["essay"].changed
    assert essay(found).pictures == (PastedPicture("my plot.png", "image/png", DATA),)
    assert "attachment:" in found.answers["essay"].source
    assert found.notes == ()


def test_pictures_pasted_beside_attached_ones_get_names_of_their_own() -> None:
    """Pasted pictures get unused names, and a student's file pasted-1.png keeps its name."""
    attached = PastedPicture("pasted-1.png", "image/png", "x")
    source, pictures = extract_pictures(f"![](attachment:pasted-1.png) ![]({URI}) ![]({URI})", [attached])
    assert source == "![](attachment:pasted-1.png) ![](attachment:pasted-2.png) ![](attachment:pasted-3.png)"
    assert ["x", DATA, DATA] == [picture.data for picture in pictures]


def test_a_large_picture_in_a_text_does_not_cut_it(release_bytes: bytes, release: Release) -> None:
    """Text after a large data URI is kept, although the URI exceeds the limit of a cell."""
    large = base64.b64encode(random.Random(1).randbytes(MAX_SOURCE)).decode()
    cell = essay(handed_in(release_bytes, release, f"![](data:image/jpeg;base64,{large})\n\nSo it is."))
    assert (("image/jpeg", len(large)),) == tuple((one.mime, len(one.data)) for one in cell.pictures)
    assert cell.source == "![](attachment:pasted-1.jpeg)\n\nSo it is."


@pytest.mark.parametrize(
    "attachments",
    [
        pytest.param({"a.svg": {"image/svg+xml": "<svg onload='alert(1)'/>"}}, id="SVG"),
        pytest.param({"a.svg": {"text/html": "<script>alert(1)</script>"}}, id="HTML"),
        pytest.param({"a.svg": 7}, id="a number"),
        pytest.param([["a.svg"]], id="a list"),
        pytest.param({"a.svg": {"image/png": {"deep": []}}}, id="a tree"),
        pytest.param({"x" * 300: {"image/png": DATA}}, id="an endless name"),
    ],
)
def test_attachments_that_cannot_be_shown_are_left_out(
    release_bytes: bytes, release: Release, attachments: Any
) -> None:
    """Invalid attachments are omitted, and the text still refers to them."""
    cell = essay(handed_in(release_bytes, release, "![drawing](attachment:a.svg)", attachments))
    assert "" == "".join(picture.mime + picture.data for picture in cell.pictures)
    assert "![drawing](attachment:a.svg)" == cell.source


@pytest.mark.parametrize(
    ("source", "attachments", "absent"),
    [
        pytest.param("![image.png](attachment:image.png)", ONE, "", id="attached"),
        pytest.param(
            "![a](attachment:a.svg)", {"a.svg": {"image/svg+xml": "<svg/>"}}, "", id="of another type"
        ),
        pytest.param("![image.png](attachment:image.png)", None, "image.png", id="lost while pasting"),
        pytest.param("see:\n\n![](answer1a.png)", None, "answer1a.png", id="beside the notebook"),
        pytest.param("![](C:/Users/jo/a.png)", None, "C:/Users/jo/a.png", id="on another machine"),
    ],
)
def test_staff_are_told_of_a_picture_that_was_not_handed_in(
    release_bytes: bytes, release: Release, source: str, attachments: Any, absent: str
) -> None:
    """A note to staff names the missing picture and its cell."""
    notes = handed_in(release_bytes, release, source, attachments).notes
    found = [note.text.rpartition(": ")[2] for note in notes if note.code == "picture-absent"]
    assert ([absent] if absent else []) == found


@pytest.mark.parametrize(
    ("source", "name", "mime"),
    [
        pytest.param("![a](foto.png)", "foto.png", "image/png", id="beside"),
        pytest.param("![a](./img/foto.PNG)", "foto.png", "image/png", id="in a folder"),
        pytest.param("<img src='my plot.jpg' width=300>", "my plot.jpg", "image/jpeg", id="HTML"),
        pytest.param("![a](my%20plot.jpg)", "my plot.jpg", "image/jpeg", id="a space"),
        pytest.param(r"![a](C:\Users\jo\foto.png)", "foto.png", "image/png", id="another machine"),
        pytest.param("![a](attachment:foto.png)", "foto.png", "image/png", id="attachment lost"),
        pytest.param("![a](IMG_1.HEIC)", "IMG_1.HEIC", "", id="cannot be shown"),
    ],
)
def test_texts_show_pictures_that_were_handed_in_beside_the_notebook(
    release_bytes: bytes, release: Release, source: str, name: str, mime: str
) -> None:
    """Submitted picture files become attachments of the text, without a note that they are missing."""
    beside = {"foto.png": b"1", "my plot.jpg": b"2", "IMG_1.HEIC": b"3"}
    tree = json.loads(release_bytes)
    for cell in tree["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "essay":
            cell["source"] = source
    data = json.dumps(tree).encode()
    found = read_notebook(data, release, student="ada", assignment="small-exam", pictures=beside)
    ((picture),) = essay(found).pictures
    assert (picture.name, picture.mime) == (name, mime)
    assert picture.data == (base64.b64encode(beside[name]).decode() if mime else "")
    assert f"attachment:{quote(name)}" in essay(found).source
    assert "picture-absent" not in {note.code for note in found.notes}


@pytest.mark.parametrize("source", ["![a](https://example.org/foto.png)", "see foto.png"])
def test_texts_show_no_picture_beside_that_they_do_not_name(source: str) -> None:
    """Web addresses and plain words are not matched to submitted picture files."""
    assert (source, ()) == attach_files(source, (), {"foto.png": b"1"})
