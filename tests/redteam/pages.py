"""Safety of published files: feedback pages, executed notebooks, comments, tables."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TAGS = _words(
    "html head meta title style body header main section article h1 h2 h3 h4 h5 h6 p span b i strong em u s "
    "sub sup small div details summary table thead tbody tfoot tr th td caption ul ol li dl dt dd hr br pre "
    "code kbd samp mark blockquote a img iframe math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup "
    "msubsup munder mover munderover mtable mtr mtd mstyle mpadded mphantom semantics annotation"
)
ATTRIBUTES = _words(
    "lang charset http-equiv content name id class aria-hidden aria-label aria-labelledby href src alt "
    "sandbox srcdoc height title loading colspan rowspan scope style open display tabindex role data-sort "
    "data-label start stretchy fence form mathvariant width columnalign"
)
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_BAR = re.compile(r"width:\d{1,3}%")
SORTING = (Path(__file__).parents[2] / "autograder/pages/templates/sort.js").read_text("utf-8")
"""The only script that a page may have: it sorts the summary's table, and its hash is in the policy."""
_SORTED = (
    f"{POLICY}; script-src 'sha256-{base64.b64encode(hashlib.sha256(SORTING.encode()).digest()).decode()}'"
)
_NEAR = re.compile(r"#.*|\.\./feedback/(?!\.\./)[^:/?#]+/[\w-]+/[\w-]+\.html")
"""Links within a page, or from the summary to the page for marking and to students' pages."""
_PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=]*")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_JOINER = "\u200d"
"""Composite emoji and some scripts need it; by itself it hides nothing."""
_APPLIED = "<mo>\u2061</mo>"
"""Used between a function and its argument in our own formulas, for screen readers."""
_MARKUP = re.compile(
    r"<[A-Za-z/!?]|\]\s*[(:\[](?!\s*https?://)|\\(?:href|url|style|class|html|require|unicode)\b",
    re.IGNORECASE,
)
_FENCED = re.compile(r"(?s)^(`{3,})text\n.*\n\1$")


class _Page(HTMLParser):
    """Everything on a page that is not on the lists above."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.policies: list[str] = []
        self.frames: list[str] = []
        self.scripts: list[str] = []
        self._below_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check one tag with its attributes."""
        self._below_head = self._below_head or tag == "body"
        if (tag, attrs) == ("script", []):
            self.scripts.append("")
        elif tag not in TAGS or (tag == "style" and self._below_head):
            self.wrong.append(f"tag {tag}")
        self.wrong += [f"attribute {name}" for name, _ in attrs if name not in ATTRIBUTES]
        said = {name: value or "" for name, value in attrs}
        if tag == "meta" and said.get("http-equiv"):
            self.policies.append(said.get("content", ""))
            self.wrong += [] if said["http-equiv"] == "Content-Security-Policy" else [str(said)]
        if not _NEAR.fullmatch(said.get("href", "#")):
            self.wrong.append(f"link {said['href'][:60]}")
        if "src" in said and not _PICTURE.fullmatch(said["src"]):
            self.wrong.append(f"source {said['src'][:60]}")
        if "style" in said and not _BAR.fullmatch(said["style"]):
            self.wrong.append(f"style {said['style'][:60]}")
        if tag == "iframe":
            self.frames.append(said.get("srcdoc", ""))
            self.wrong += [] if "sandbox" in said and not said["sandbox"] else ["a frame that is not locked"]

    def handle_data(self, data: str) -> None:
        """Collect the text of a script."""
        if self.cdata_elem == "script":
            self.scripts[-1:] = ["".join((*self.scripts[-1:], data))]

    def handle_pi(self, data: str) -> None:
        """Reject processing instructions, which our pages never contain."""
        self.wrong.append(f"instruction {data[:40]}")

    def handle_comment(self, data: str) -> None:
        """Reject comments, which old browsers may interpret."""
        self.wrong.append(f"comment {data[:40]}")


def page_faults(text: str) -> Iterator[str]:
    """Return parts of a feedback page or its frames that could act, load, or hide."""
    page = _Page()
    page.feed(text)
    page.close()
    yield from page.wrong
    if (page.policies, page.scripts) not in (([POLICY], []), ([_SORTED], [SORTING])):
        yield f"policies {page.policies}, scripts {[one[:60] for one in page.scripts]}"
    yield from hidden_characters(text.replace(_APPLIED, ""))
    for document in page.frames:
        yield from (f"in a frame: {fault}" for fault in page_faults(html.unescape(document)))


def hidden_characters(text: str) -> Iterator[str]:
    """Return characters that are invisible or reorder others, except line ends and tabs."""
    for char in sorted(set(text) - {"\n", "\t", _JOINER}):
        if unicodedata.category(char) in _HIDDEN:
            yield f"hidden character U+{ord(char):04X}"


def notebook_faults(data: bytes) -> Iterator[str]:
    """Return parts of an executed notebook that could act in the browser of a grader using formgrader."""
    notebook = json.loads(data)
    for number, cell in enumerate(notebook["cells"], 1):
        student = "nbgrader" not in cell["metadata"] or cell["metadata"]["nbgrader"].get("solution")
        source = "".join(cell["source"])
        if (
            cell["cell_type"] == "markdown"
            and student
            and not _FENCED.match(source)
            and _MARKUP.search(source)
        ):
            yield f"cell {number}: markup in Markdown"
        if set(cell["metadata"]) - {"nbgrader"} or "attachments" in cell:
            yield f"cell {number}: metadata of the student's"
        for output in cell.get("outputs", ()):
            kinds = set(output.get("data", {})) - {"text/plain", "image/png", "image/jpeg"}
            if kinds or output.get("metadata"):
                yield f"cell {number}: output {sorted(kinds)}"
        text = "".join(_texts(cell))
        yield from (f"cell {number}: {fault}" for fault in hidden_characters(text))


def _texts(value: object) -> Iterator[str]:
    """Return every text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value if isinstance(value, list) else (*value, *value.values()):
            yield from _texts(part)


def comment_faults(text: str) -> Iterator[str]:
    """Return parts of an automatic comment that could become markup.

    Nbgrader renders comments as Markdown.
    """
    if found := re.search(r"[<>&`\\$|]|\]\(|\]:|\]\[", text):
        yield f"comment with {found[0]!r}"
    yield from hidden_characters(text)


def terminal_faults(text: str) -> Iterator[str]:
    """Return parts of a printed table that could act on a terminal."""
    for fault in hidden_characters(text):
        yield f"terminal: {fault}"
