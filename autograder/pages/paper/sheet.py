"""The printed sheet, in order: texts, given code, and a box for every answer of the release.

The page is one HTML file with a running header, laid out for paper.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Literal

from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from autograder import messages
from autograder.core.images import build_image_uri
from autograder.notebook.document import load_tree
from autograder.notebook.language import select_language
from autograder.notebook.release import ReleaseCell, load_release
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.prose import Pictures, render_prose
from autograder.pages.feedback.template_rendering import fill_template
from autograder.pages.feedback.typeset import Typesetter
from autograder.pages.paper.answer_boxes import AnswerBox, make_empty_box, make_solved_box, render_form
from autograder.questions import load_kind
from autograder.questions.base.judging.manual import Examples, read_manual_options
from autograder.rubric import Item, Question, Rubric

_CHAPTER = re.compile(r"\s*#{1,2}\s")
_CHECKING = re.compile(r"\s*(from coursecheck import .*|import coursecheck)?\s*")
_MOST_TOGETHER = 30
"""Lines of given code that are kept on one page with their question."""
Size = Literal["a4", "letter"]

_STATED = ("value", "right", "accept")
"""Keys of an item that state right answers, the simplest first."""
_ORDER = re.compile(r"\s*(?:\\?(?:O|o|Theta|Omega|omega)|[ΘΩω])\s*\(")
"""The beginning of a growth order that is written with its letter, which a rubric may omit."""
_PARTS = ("mistake", "remark", "step")


class SheetLabels(Labels):
    """The labels of sheets in one language; English if there is no translation."""

    area: ClassVar[str] = "sheet"

    def points(self, value: Decimal) -> str:
        """Return points with their unit. Templates call it by this name."""
        return messages.format_counted("sheet.points", self.language, value, number=self.number(value))


class GuideNote(Struct, frozen=True):
    """A line about an item."""

    label: str
    text: Markup


class ItemGuide(Struct, frozen=True):
    """The guide for one item of the rubric."""

    id: str
    text: str
    points: str
    notes: tuple[GuideNote, ...]


def build_item_guide(question: Question, item: Item, words: SheetLabels, typesetter: Typesetter) -> ItemGuide:
    """Return everything that the rubric says about an item, in words."""
    notes = (
        [*_list_manual_notes(question, item, words)]
        if item.manual
        else [*_list_automatic_notes(question, item, words, typesetter)]
    )
    if item.needs:
        notes.append(GuideNote(words("needs"), Markup(", ").join(item.needs)))
    return ItemGuide(item.id, words.pick(item.text, item.id), words.number(item.points), tuple(notes))


def _list_manual_notes(question: Question, item: Item, words: SheetLabels) -> Iterator[GuideNote]:
    yield GuideNote("", escape(words("by-person")))
    options = read_manual_options(question, item)
    examples = options.examples or Examples("", "")
    for key, text in (
        ("guide", words.pick(options.guide)),
        ("full", words.pick(examples.full)),
        ("half", words.pick(examples.half)),
        ("none", words.pick(examples.none)),
    ):
        if text:
            yield GuideNote(words(key), render_prose(text))
    if options.suggest:
        yield GuideNote(words("suggest"), escape(" · ".join(options.suggest)))


def _list_automatic_notes(
    question: Question, item: Item, words: SheetLabels, typesetter: Typesetter
) -> Iterator[GuideNote]:
    shown = _ValueRenderer(question, item, words, typesetter)
    right = [entry for key in _STATED for entry in _get_entries(item, key)]
    if not right:
        yield GuideNote("", escape(words("by-tests")))
    elif load_kind(question.kind).form == "choice":
        chosen = Markup(", ").join(map(shown, right))
        yield GuideNote(words("right"), chosen)
        if item.options.get("pick", 1) != 1:
            yield GuideNote("", escape(words("pick", number=item.options["pick"])))
    else:
        for number, entry in enumerate(right):
            # The first entry is the plainest form; the others are equally accepted.
            yield GuideNote(words("also-right" if number else "right"), shown(entry))
    for key in _PARTS:
        for entry in item.options.get(key, ()):
            if isinstance(entry, Mapping) and "when" in entry:
                yield _describe_part(entry, key, words, shown)


def _get_entries(item: Item, key: str) -> list[Any]:
    """Return the entries of a key: ``accept`` and ``right`` are lists, a ``value`` is a single entry."""
    if key not in item.options:
        return []
    value = item.options[key]
    return (
        list(value)
        if key != "value" and isinstance(value, Sequence) and not isinstance(value, str)
        else [value]
    )


def _describe_part(
    entry: Mapping[str, Any], key: str, words: SheetLabels, shown: _ValueRenderer
) -> GuideNote:
    label = words("full")
    if key != "remark":
        label = words("worth", points=words.points(Decimal(str(entry.get("points", 0)))))
    text = entry.get("text")
    said = words.pick(text) if isinstance(text, Mapping) else ""
    return GuideNote(label, Markup("{}{}").format(shown(entry["when"]), f" – {said}" if said else ""))


class _ValueRenderer:
    """Renders values from a rubric within a line."""

    def __init__(self, question: Question, item: Item, words: SheetLabels, typesetter: Typesetter) -> None:
        self._is_order = item.options.get("form") == "asymptotic"
        self._question, self._words, self._typesetter = question, words, typesetter
        self._form = load_kind(question.kind).form
        options = question.options.get("option", ())
        self._options = {
            str(option.get("id")): option.get("text") for option in options if isinstance(option, Mapping)
        }

    def __call__(self, value: Any) -> Markup:
        if isinstance(value, str) and self._form == "formula":
            order = self._is_order and not _ORDER.match(value)
            formula = self._typesetter.render_formula(f"O({value})" if order else value)
            # A formula that cannot be typeset is shown as it was written.
            if formula is not None:
                return formula
        if self._form == "number" and not isinstance(value, str):
            value = f"{value} {self._question.options.get('unit', '')}".strip()
        # Choices are stated by the ids of their options; graders need the text, too.
        text = self._options.get(str(value))
        if isinstance(text, Mapping):
            return Markup("<code>{}</code> ({})").format(value, self._words.pick(dict(text)))
        return Markup("<code>{}</code>").format(_to_text(value))


def _to_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_to_text(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_to_text, value))})"
    return str(value)


class HandoutCell(Struct, frozen=True):
    """A text or code cell that all students get."""

    markup: Markup = Markup()
    code: str = ""
    form: bool = False
    """Whether students fill in their details here."""
    chapter: bool = False
    """Whether it begins with a heading of one of the two highest levels."""


class Section(Struct, frozen=True):
    """A question with the cells before it, or cells that belong to no question."""

    question: str = ""
    """The question's id; empty for cells between questions."""
    points: str = ""
    before: tuple[HandoutCell, ...] = ()
    boxes: tuple[AnswerBox | HandoutCell, ...] = ()
    """The boxes of answers, with the cells between them."""
    items: tuple[ItemGuide, ...] = ()
    """Only for the sheet with solutions."""

    @property
    def front(self) -> bool:
        """Whether this is a title page with fields for details; the questions begin on the next page."""
        return not self.question and any(handout.form for handout in self.before)

    @property
    def together(self) -> bool:
        """Whether it is short enough to be kept on one page."""
        return bool(self.question) and all(
            handout.code.count("\n") < _MOST_TOGETHER for handout in self.before
        )


class Part(Struct, frozen=True):
    """One notebook of the sheet."""

    name: str
    sections: tuple[Section, ...]


class Sheet(Struct, frozen=True):
    """The whole assignment on paper."""

    title: str
    student: str
    """The student of this variant; empty if there are no variants."""
    version: int
    solutions: bool
    words: SheetLabels
    parts: tuple[Part, ...]


def make_sheet(
    rubric: Rubric,
    releases: Mapping[str, bytes],
    *,
    language: str,
    key: Mapping[str, bytes] | None = None,
    pictures: Mapping[str, bytes] | None = None,
    student: str = "",
) -> Sheet:
    """Make the sheet of a release.

    Args:
        rubric: of the assignment, or of one student's variant.
        releases: notebooks as students get them, by name.
        language: of the labels and the rubric's texts.
        key: the source notebooks with solutions, by name: makes the sheet for graders.
        pictures: contents of data files that texts show, by file name.
        student: the student of the variant.

    Raises:
        CourseError: a notebook is not usable.
    """
    words = SheetLabels(language)
    parts = tuple(
        Part(
            notebook.name,
            tuple(
                _SheetMaker(rubric, notebook.name, words, key).make_sections(
                    releases[notebook.name], pictures or {}
                )
            ),
        )
        for notebook in rubric.assignment.notebooks
    )
    title = words.pick(rubric.assignment.title, rubric.assignment.name)
    return Sheet(title, student, rubric.version, key is not None, words, parts)


class _SheetMaker:
    """Makes the sections of one notebook."""

    def __init__(
        self, rubric: Rubric, notebook: str, words: SheetLabels, key: Mapping[str, bytes] | None
    ) -> None:
        self._rubric, self._words = rubric, words
        self._questions = [question for question in rubric.questions if question.notebook == notebook]
        self._key: Mapping[str, ReleaseCell] | None = None
        if key is not None:
            self._key = load_release(key[notebook], notebook).by_id

    def make_sections(self, data: bytes, files: Mapping[str, bytes]) -> Iterator[Section]:
        """Yield the sections in the notebook's order; each question appears once, with all of its boxes."""
        release = load_release(data, "release")
        answers = {cell.grade_id for cell in release.cells if cell.is_answer}
        owners = self._map_owners(answers)
        waiting: list[HandoutCell] = []
        section: Section | None = None
        for cell, pictures in zip(release.cells, _collect_pictures(data, files), strict=True):
            owner = owners.get(cell.grade_id) if cell.is_answer else None
            if owner is not None:
                box = self._make_box(owner, cell, answers)
                if section is not None and section.question == owner.id:
                    section = replace(section, boxes=(*section.boxes, *waiting, box))
                else:
                    yield from (section,) if section else ()
                    # A chapter's opening cell belongs to all of its questions, not only to the first one.
                    if len(waiting) > 1 and waiting[0].chapter:
                        yield Section(before=(waiting.pop(0),))
                    section = self._make_section(owner, tuple(waiting), box)
                waiting = []
            elif handout := _make_handout(cell, pictures):
                if handout.chapter:
                    yield from (section,) if section else ()
                    yield from _make_loose_section(waiting)
                    section, waiting = None, []
                waiting.append(handout)
        yield from (section,) if section else ()
        yield from _make_loose_section(waiting)

    def _map_owners(self, answers: set[str]) -> dict[str, Question]:
        """Map each answer cell to its question."""
        owner_by_cell: dict[str, Question] = {}
        for question in self._questions:
            for name in (question.answer_cell, question.id, *question.list_cells()):
                if name in answers:
                    owner_by_cell.setdefault(name, question)
        return owner_by_cell

    def _make_section(self, question: Question, before: tuple[HandoutCell, ...], box: AnswerBox) -> Section:
        items: tuple[ItemGuide, ...] = ()
        if self._key is not None:
            typesetter = Typesetter(self._rubric.list_symbols(question))
            items = tuple(
                build_item_guide(question, item, self._words, typesetter) for item in question.items
            )
        return Section(question.id, self._words.points(question.points), before, (box,), items)

    def _make_box(self, question: Question, cell: ReleaseCell, answers: set[str]) -> AnswerBox:
        """Return the box of a cell.

        An ungraded cell gets all points of cells that are not answer cells themselves.
        """
        cells = question.list_cells()
        points = cells.get(cell.grade_id, Decimal(0))
        if cell.grade_id not in cells or not cell.grade:
            points = sum((worth for name, worth in cells.items() if name not in answers), Decimal(0))
        if self._key is None:
            return make_empty_box(question, cell, points)
        source = self._key[cell.grade_id].source if cell.grade_id in self._key else ""
        if cell.cell_type == "markdown":
            languages = self._rubric.assignment.languages
            # The text of a key may be given in several languages.
            source = select_language(source, languages, self._words.language, f"answer key, {cell.grade_id}")
        return make_solved_box(question, cell, points, source)


def _make_loose_section(waiting: Sequence[HandoutCell]) -> Iterator[Section]:
    if waiting:
        yield Section(before=tuple(waiting))


def _is_checking(cell: ReleaseCell) -> bool:
    """Decide whether a cell only makes sense on a computer."""
    return cell.cell_type == "code" and (cell.grade or bool(_CHECKING.fullmatch(cell.source)))


def _make_handout(cell: ReleaseCell, pictures: Pictures) -> HandoutCell | None:
    if cell.cell_type == "markdown" and cell.source.strip():
        return HandoutCell(render_prose(cell.source, pictures), chapter=bool(_CHAPTER.match(cell.source)))
    if cell.cell_type != "code" or _is_checking(cell):
        return None
    fields = None if cell.grade_id else render_form(cell.source)
    return HandoutCell(fields, form=True) if fields else HandoutCell(code=cell.source.strip("\n"))


def _collect_pictures(data: bytes, files: Mapping[str, bytes]) -> Iterator[Pictures]:
    """Yield for every cell the pictures that its text may show: the assignment's files and attachments."""

    def make_uri(name: str, encoded: str) -> str | None:
        mime = "image/png" if name.lower().endswith(".png") else "image/jpeg"
        return build_image_uri(mime, encoded)

    shared = {name: make_uri(name, base64.b64encode(content).decode()) for name, content in files.items()}
    for cell in load_tree(data, [])["cells"]:
        attached: dict[str, Any] = cell.get("attachments") or {}
        attachments = {
            f"attachment:{name}": build_image_uri(mime, "".join(encoded))
            for name, bundle in attached.items()
            for mime, encoded in bundle.items()
        }
        # Pictures that `build_image_uri` refuses are left out.
        yield {name: data_uri for name, data_uri in {**shared, **attachments}.items() if data_uri}


def render_sheet(sheet: Sheet, size: Size = "a4") -> str:
    """Return the sheet as HTML that loads nothing and runs no scripts.

    The header with the fields for name and number, and the page number, are in the margins of every page.
    Browsers print them if they support the margin boxes of CSS (Chromium since version 131).
    """
    words = sheet.words
    name = f"{words('name')}: {'_' * 26}   {words('number')}: {'_' * 14}"
    left = words("for-graders") if sheet.solutions else name
    right = f"{sheet.title} · {sheet.student}" if sheet.student else sheet.title
    return fill_template(
        "sheet.html",
        language=words.language,
        sheet=sheet,
        word=words,
        size={"a4": "A4", "letter": "letter"}[size],
        left=_escape_css(left),
        right=_escape_css(right),
        page=_escape_css(f"{words('page')} "),
        of=_escape_css(f" {words('of')} "),
        is_box=lambda entry: isinstance(entry, AnswerBox),
    )


def _escape_css(text: str) -> Markup:
    """Escape a text for a quoted CSS string: characters that could end it become their code points."""
    chars = (char if char.isalnum() or char in " _.:,·" else f"\\{ord(char):06x}" for char in text)
    return Markup("".join(chars))  # noqa: S704 - no remaining character is special
