"""Pictures in written answers are shown to students and graders; other content is not."""

from __future__ import annotations

import base64
import json
import re
import struct
from urllib.parse import quote

import nbformat
import pytest
from msgspec.structs import replace
from nbconvert import HTMLExporter

from autograder.core.images import build_image_uri
from autograder.core.records import Cell, CellRun, ExecutedNotebook, GradingResult, Markdown, PastedPicture
from autograder.pages.feedback.prose import list_picture_faults, map_picture_uris, render_student_prose
from autograder.pages.feedback.sanitise import MOST_PROSE
from autograder.pages.feedback.student_page import render_student_page
from autograder.store.gradebook.autograded import build_autograded_notebook
from tests.pages.examples import RUBRIC, middling, png, release

PICTURE = PastedPicture("my plot.png", "image/png", png())
URI = f"data:image/png;base64,{png()}"


def with_answer(source: str, *pictures: PastedPicture) -> GradingResult:
    """Return a result with a written answer that contains these pictures."""
    cells = (
        Cell('mlp_parameters = "4"', "task3-b-answer"),
        Cell('check("task3-b")', "task3-b", locked=True),
        Markdown(source, "task3-b-why", pictures=pictures),
    )
    return replace(middling(), notebooks=(ExecutedNotebook("exam", cells, (CellRun(), CellRun(), None)),))


def no_handlers(page: str) -> bool:
    """Return whether no picture of a page has an event handler."""
    return not re.search(r"\son\w+=", "".join(re.findall(r"<img[^>]*>", page)))


def webp(kind: bytes, body: bytes) -> bytes:
    """Return the beginning of a WebP file with one chunk."""
    chunk = kind + struct.pack("<I", len(body)) + body + bytes(20)
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("![my plot](attachment:my%20plot.png)", id="Markdown"),
        pytest.param("![](<attachment:my plot.png>)", id="Markdown in brackets"),
        pytest.param('<img src="attachment:my plot.png" width="300" onerror="alert(1)">', id="HTML"),
        pytest.param('<div><p><img src="attachment:my%20plot.png"/></p></div>', id="HTML inside HTML"),
        pytest.param("![x][plot]\n\n[plot]: attachment:my%20plot.png", id="a reference"),
    ],
)
def test_an_answer_of_a_picture_is_shown_wherever_it_is_read(source: str) -> None:
    """The picture is shown on the student's page and in formgrader's notebook."""
    graded = with_answer(source, PICTURE)
    page = render_student_page(graded, RUBRIC, language="en")
    assert f'<img src="{URI}"' in page
    assert no_handlers(page)
    assert "is not shown: it is too large" not in page
    assert "cannot be shown" not in page
    copy = nbformat.reads(build_autograded_notebook(graded.notebooks[0], release()).decode(), as_version=4)
    nbformat.validate(copy)
    shown, _ = HTMLExporter().from_notebook_node(copy)
    assert f'src="{URI}"' in shown
    assert no_handlers(shown)


@pytest.mark.parametrize(
    ("mime", "data"),
    [
        pytest.param("image/png", base64.b64encode(b"<svg onload=alert(1)>" * 3).decode(), id="no PNG"),
        pytest.param("image/png", png(20_000, 1)[:-8] + "!!!!", id="no base64"),
        pytest.param("image/svg+xml", base64.b64encode(b"<svg/>").decode(), id="SVG"),
        pytest.param("text/html", base64.b64encode(b"<script>").decode(), id="HTML"),
        pytest.param("image/gif", png(), id="another type than it says"),
    ],
)
def test_what_is_no_picture_is_missing_and_said_to_be(mime: str, data: str) -> None:
    """A file that is not a picture is reported as not shown, and its bytes are omitted."""
    graded = with_answer("![my plot](attachment:x)", PastedPicture("x", mime, data))
    page = render_student_page(graded, RUBRIC, language="en")
    assert "A picture of this cell is not shown" in page
    assert data not in page
    copy = json.loads(build_autograded_notebook(graded.notebooks[0], release()))
    assert all("attachments" not in cell for cell in copy["cells"])


@pytest.mark.parametrize(
    "source",
    [
        "![t](https://evil.example/t.png)",
        "<img src='https://evil.example/t.png'>",
        "<img src=//evil.example/t.png>",
        f"<img src='{URI}'>",
        "<img srcset='attachment:my%20plot.png 2x' src='javascript:alert(1)'>",
        "<picture><source srcset='https://evil.example/t.png'></picture>",
        "<svg><image href='attachment:my%20plot.png'/></svg>",
        "<a href='attachment:my%20plot.png'>plot</a>",
    ],
)
def test_only_pictures_of_the_cell_are_shown(source: str) -> None:
    """Addresses in a student's text are never requested, and unchecked data is never shown."""
    tags = "".join(re.findall("<[^>]*>", render_student_prose(source, map_picture_uris([PICTURE]))))
    assert "src=" not in tags
    assert "href=" not in tags
    assert "evil" not in tags


def test_a_picture_that_is_shown_thousands_of_times_does_not_fill_the_page() -> None:
    """The total size of pictures on a page is limited."""
    large = map_picture_uris([PICTURE])["attachment:my plot.png"] + "A" * 1_000_000
    shown = str(render_student_prose('<img src="attachment:x">' * 400, {"attachment:x": large}))
    assert 1 <= shown.count("<img") <= MOST_PROSE // 1_000_000
    assert len(shown) <= MOST_PROSE + 20_000


def test_a_text_that_is_too_much_to_typeset_keeps_its_pictures() -> None:
    """If a text is too complex to typeset, its pictures are shown below it."""
    shown = str(
        render_student_prose("<div>" * 600 + "![](attachment:my%20plot.png)", map_picture_uris([PICTURE]))
    )
    assert shown.startswith("<pre>")
    assert f'<img src="{URI}"' in shown


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        pytest.param("no picture, but a [link](https://example.org/a.png)", "", id="none"),
        pytest.param("![](attachment:my%20plot.png) <img src='attachment:my plot.png'>", "", id="attached"),
        pytest.param("![image.png](attachment:image.png)", "image.png", id="lost while pasting"),
        pytest.param("![x][plot]\n\n[plot]: attachment:other.png", "other.png", id="lost, by reference"),
        pytest.param("see my picture:\n\n![](answer1a.png)", "answer1a.png", id="beside the notebook"),
        pytest.param("![a](<C:/Users/jo/my scan.png>)", "C:/Users/jo/my scan.png", id="on another machine"),
        pytest.param('<img width="3" src="scans/1.jpg"/>', "scans/1.jpg", id="HTML"),
        pytest.param('![a](https://example.org/a.png "title")', "https://example.org/a.png", id="on the web"),
        pytest.param("![a](attachment:my%20plot.png) ![b](b.png)", "b.png", id="one of two"),
    ],
)
def test_a_picture_that_was_not_handed_in_is_named(text: str, absent: str) -> None:
    """A missing picture is named, without a statement about its size."""
    assert [("picture-absent", absent)] * bool(absent) == list(list_picture_faults(text, [PICTURE]))
    page = render_student_page(with_answer(text, PICTURE), RUBRIC, language="en")
    assert (f"cannot be shown ({absent})" in page) is bool(absent)
    assert "too large" not in page


@pytest.mark.parametrize("name", ["image (1).png", "ä b.png", "a&b.png"])
def test_an_attached_picture_with_any_name_is_not_absent(name: str) -> None:
    """The text may contain the name of an attached picture verbatim or URL-encoded."""
    picture = PastedPicture(name, "image/png", png())
    for written in (name, quote(name)):
        assert [] == list(list_picture_faults(f"![a](attachment:{written})", [picture]))


@pytest.mark.parametrize(
    ("text", "picture"),
    [
        ("![](attachment:a.svg)", PastedPicture("a.svg", "", "")),
        ("![](data:image/svg+xml;base64,AAAA)", PICTURE),
    ],
)
def test_a_picture_that_cannot_be_shown_is_told_from_an_absent_one(text: str, picture: PastedPicture) -> None:
    """A submitted picture with a bad size or type is not reported as absent."""
    assert ["picture-missing"] == [code for code, _ in list_picture_faults(text, [picture])]


@pytest.mark.parametrize(
    ("mime", "content", "shown"),
    [
        pytest.param("image/gif", b"GIF89a" + struct.pack("<HH", 8, 6) + b"\0\0\0;", True, id="GIF"),
        pytest.param("image/gif", b"GIF89a" + b"\xf0" * 4 + b"\0\0\0;", False, id="huge GIF"),
        pytest.param("image/webp", webp(b"VP8L", b"\x2f\x07\x40\x01\0"), True, id="lossless WebP"),
        pytest.param("image/webp", webp(b"VP8X", bytes(4) + b"\x07\0\0\x05\0\0"), True, id="extended WebP"),
        pytest.param("image/webp", webp(b"VP8X", bytes(4) + b"\xff" * 6), False, id="huge WebP"),
        pytest.param(
            "image/webp", webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a\x08\0\x06\0"), True, id="lossy WebP"
        ),
        pytest.param("image/webp", webp(b"VP8 ", bytes(12)), False, id="no frame"),
        pytest.param("image/webp", webp(b"fmt ", bytes(12)), False, id="no picture"),
    ],
)
def test_gif_and_webp_are_measured(mime: str, content: bytes, shown: bool) -> None:
    """GIF and WebP are checked like PNG and JPEG: type, size and pixels are read from the bytes."""
    data = base64.b64encode(content).decode()
    assert (f"data:{mime};base64,{data}" if shown else None) == build_image_uri(mime, data)
