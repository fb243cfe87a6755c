"""The student page names lost points with reason and place; a submission cannot inject active content."""

from __future__ import annotations

import html
import itertools
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core.limits import format_limit
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    Ending,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    LimitEvent,
    LimitKind,
    Markdown,
    Message,
    Score,
    Status,
)
from autograder.messages import get_template
from autograder.pages.feedback.sanitise import POLICY
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.feedback.template_rendering import capitalise_sentence
from tests.pages.examples import RUBRIC, TOML, good, graded, hostile, item, middling, said

STUDENTS = {"good": good(), "middling": middling(), "hostile": hostile()}
OUR_TAGS = frozenset(
    re.findall(
        r"\w+",
        """html head meta title style body header main section div p span strong b i h1 h2 h3 ul li a details
        summary table thead tbody tr th td pre code img iframe math semantics annotation mrow mi mn mo mtext
        mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mstyle mpadded
        em u s del sub sup small kbd samp ol dl dt dd br hr blockquote tfoot caption mphantom""",
    )
)


class Page(HTMLParser):
    """A parsed page: its elements with their attributes, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def attributes(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


def page(result: GradingResult, language: str = "en") -> Page:
    """Return the parsed student page of a result."""
    return Page(render_student_page(result, RUBRIC, language=language))


def with_item(result: ItemResult) -> GradingResult:
    """Return the good student's result with one item replaced."""
    items = tuple(
        result if (one.question, one.item) == (result.question, result.item) else one
        for one in good().score.items
    )
    return msgspec.structs.replace(good(), score=msgspec.structs.replace(good().score, items=items))


@pytest.mark.parametrize("name", STUDENTS)
def test_the_page_holds_our_elements_only(name: str) -> None:
    """The page contains only our elements and attributes."""
    html_page = page(STUDENTS[name])
    assert set() == {tag for tag, _ in html_page.elements} - OUR_TAGS
    assert [] == [key for _, attributes in html_page.elements for key in attributes if key.startswith("on")]


@pytest.mark.parametrize("name", STUDENTS)
def test_the_page_requests_nothing(name: str) -> None:
    """Links stay on the page, pictures are embedded, and the policy forbids all other requests."""
    html_page = page(STUDENTS[name])
    assert [] == [link for link in html_page.attributes("href") if not link.startswith("#")]
    assert [] == [source for source in html_page.attributes("src") if not source.startswith("data:image/")]
    assert [] == html_page.attributes("srcset")
    policies = [attributes["content"] for tag, attributes in html_page.elements if "http-equiv" in attributes]
    assert [POLICY] == policies


def test_frames_are_sandboxed_and_carry_the_policy() -> None:
    """Formatted output is shown in frames without permissions, each with its own content security policy."""
    frames = [attributes for tag, attributes in page(hostile()).elements if tag == "iframe"]
    assert frames
    assert {None} == {frame["sandbox"] for frame in frames}
    assert [] == [frame for frame in frames if "src" in frame or "default-src" not in (frame["srcdoc"] or "")]
    inner = [Page(frame["srcdoc"] or "") for frame in frames]
    assert set() == {tag for one in inner for tag, _ in one.elements} & {
        "script",
        "img",
        "a",
        "svg",
        "iframe",
        "math",
    }


@pytest.mark.parametrize("name", STUDENTS)
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_link_has_its_target(name: str, language: str) -> None:
    """Every anchor has a target, and ids are unique."""
    html_page = page(STUDENTS[name], language)
    ids = html_page.attributes("id")
    assert len(ids) == len(set(ids))
    assert set() == {link[1:] for link in html_page.attributes("href")} - set(ids)


@pytest.mark.parametrize("name", STUDENTS)
def test_headings_descend_in_order(name: str) -> None:
    """There is one h1 heading, and no level is skipped."""
    levels = [int(tag[1]) for tag, _ in page(STUDENTS[name]).elements if re.fullmatch("h[1-6]", tag)]
    assert 1 == levels.count(1)
    assert [] == [pair for pair in itertools.pairwise(levels) if pair[1] - pair[0] > 1]


@pytest.mark.parametrize("name", STUDENTS)
def test_staff_texts_stay_with_staff(name: str) -> None:
    """A student's page contains neither staff messages nor notes."""
    assert "staff only" not in render_student_page(STUDENTS[name], RUBRIC)


def test_the_total_and_what_is_open_come_first() -> None:
    """The page begins with points, possible points and points still being graded."""
    text = page(middling()).text
    head = text[: text.index("Where points were lost")]
    assert "8.5 of 17 points" in head
    assert "1 point is still being graded." in head


def losses(html_page: Page) -> str:
    """Return the text of the summary of lost points."""
    return html_page.text.partition("Where points were lost")[2].partition("Question by question")[0]


def test_losses_are_named_with_their_reason() -> None:
    """The summary names each loss with points and reason, and omits right items."""
    summary = losses(page(middling()))
    assert (
        "−3 Repair the decoder −3 Cross-attention uses the mask of the memory · The position table is as "
        "long as the longest text · Cross-attention takes its values from the memory : Moving a memory"
    ) in summary
    assert "−1 All layers : no answer" in summary
    assert "−0.5 The number of parameters of the MLP : That is one of the two matrices." in summary
    assert "Batch and length" not in summary
    assert "Your reason" not in summary


def test_a_deduction_counts_as_lost() -> None:
    """An applied deduction is listed as a loss; a deduction that was not applied is not."""
    deduction = ItemResult("mha", "masked", Status.FAILED, Decimal(-1), Decimal(-1), said("Too slow."), "")
    assert "−1 Blocked positions have no effect : Too slow." in losses(page(with_item(deduction)))
    spared = msgspec.structs.replace(deduction, points=Decimal(0), status=Status.PASSED)
    assert "✓ No points were lost." == losses(page(with_item(spared))).strip()


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (item("task3-f", "formula", Status.PASSED, said("x")), "✓ passed"),
        (item("task3-f", "formula", Status.FAILED, said("x")), "✕ not passed"),
        (item("task3-f", "formula", Status.FAILED, said("x"), points="0.5"), "◐ partly"),
        (item("task3-f", "formula", Status.NO_ANSWER, said("x")), "○ no answer"),
        (item("task3-f", "formula", Status.NEEDS_REVIEW, said("x")), "⋯ in manual review"),
    ],
)
def test_every_status_has_a_sign_and_a_word(result: ItemResult, word: str) -> None:
    """A status is shown by sign and word at question and item, never by colour alone."""
    text = page(with_item(result)).text
    part = text[text.index("All layers task3-f") : text.index("Repair the decoder task5-a")]
    assert 2 == part.count(word)


def test_the_repair_question_is_a_table() -> None:
    """The eight faults are shown in a table with row headers."""
    text = TOML.replace('kind = "number"\npoints = 8', 'kind = "repair"\nchecks = "decoder.py"\npoints = 8')
    rubric = rubrics.parse_rubric(text.encode(), reference=Path(__file__).parents[2] / "reference")
    rows = [
        attributes
        for tag, attributes in Page(render_student_page(middling(), rubric)).elements
        if (tag, attributes.get("scope")) == ("th", "row")
    ]
    assert 8 == len(rows)


def test_an_unreadable_formula_has_a_caret() -> None:
    """The position of a syntax error in a formula is marked by a caret below it."""
    params = {"text": "8*d_model^^2", "offset": "10"}
    message = Message("x", params, {"en": "There is one sign too many."})
    source = render_student_page(with_item(item("task3-b", "formula", Status.FAILED, message)), RUBRIC)
    assert re.search(r'<pre class="caret"[^>]*>8\*d_model\^\^2\n          \^</pre>', source)


@pytest.mark.parametrize("offset", ["", "-1", "99", "x", "9" * 5000, "١"])
def test_a_caret_without_a_place_is_left_out(offset: str) -> None:
    """An invalid offset gives neither a caret nor an error."""
    message = Message("x", {"text": "8*d", "offset": offset}, {"en": "Unreadable."})
    source = render_student_page(with_item(item("task3-b", "formula", Status.FAILED, message)), RUBRIC)
    assert 'class="caret"' not in source.replace("pre.caret", "")


@pytest.mark.parametrize(
    ("reading", "spoken", "set_as"),
    [
        ("8*d_model^2", "8*d_model^2", "<msubsup>"),
        ("(n_layers + 1)^2", "(n_layers + 1)^2", "<msup>"),
        ("d_model = 2*n_layers", "d_model = 2*n_layers", "<mo>=</mo>"),
        ("(3*d_model, 4*d_model)", "(3*d_model, 4*d_model)", "<mo>,</mo>"),
    ],
)
def test_a_formula_is_typeset(reading: str, spoken: str, set_as: str) -> None:
    """The reading of an answer is shown as MathML, with plain text for screen readers."""
    source = render_student_page(
        with_item(item("task3-b", "formula", Status.FAILED, said("x"), reading=reading)), RUBRIC
    )
    assert f'<math aria-label="{spoken}">' in source
    assert set_as in source


def test_a_formula_is_shown_as_text_too() -> None:
    """The typeset reading is followed by plain text, and the student's terms are set as code."""
    message = Message("diagnosis.power-in-term.term.symbol", {"term": "8*d_model", "symbol": "d_model"})
    source = render_student_page(
        with_item(item("task3-b", "formula", Status.FAILED, message, reading="n_layers + 8*d_model")), RUBRIC
    )
    assert '<code class="soft small">n_layers + 8*d_model</code>' in source
    assert "In the term <code>8*d_model</code> the power of <code>d_model</code> is not right." in source


@pytest.mark.parametrize("value", ["<b>", "{symbol}", "\ue0000\ue000", "&amp;"])
def test_quoted_formulas_are_escaped(value: str) -> None:
    """Everything quoted in a message is escaped."""
    message = Message("diagnosis.symbol-foreign.symbol", {"symbol": value})
    source = render_student_page(with_item(item("task3-b", "formula", Status.FAILED, message)), RUBRIC)
    assert f"<code>{html.escape(value)}</code>" in source


@pytest.mark.parametrize("reading", ["d_unknown^2", "1+" * 300 + "1", "(((", "<b>"])
def test_a_reading_that_cannot_be_set_is_text(reading: str) -> None:
    """A reading outside our grammar is shown unchanged as escaped text."""
    result = item("task3-b", "formula", Status.FAILED, said("x"), reading=reading)
    source = render_student_page(with_item(result), RUBRIC)
    assert f"<code>{html.escape(reading[:400])}" in source


def test_the_notebook_leads_to_the_answers() -> None:
    """Each answer is shown at its question, and the notebook links to it from its cell."""
    html_page = page(middling())
    links = [link for link in html_page.attributes("href") if link.startswith("#cell")]
    assert ["#cell-1-2", "#cell-1-3", "#cell-1-5"] == links
    assert {"cell-1-2", "cell-1-3", "cell-1-5"} <= {*html_page.attributes("id")}
    assert "Your answer: cell 5" in html_page.text


def test_troubled_cells_are_unfolded() -> None:
    """A cell with an error, or one that ended the run, is unfolded and states what happened."""
    html_page = page(middling())
    cells = [attributes for tag, attributes in html_page.elements if attributes.get("class") == "cell"]
    assert [("cell-1-1", False), ("cell-1-4", False), ("cell-1-6", True)] == [
        (attributes["id"], "open" in attributes) for attributes in cells
    ]
    assert "This cell was stopped, so its results are missing. A cell may compute for 30 s" in html_page.text
    assert "Some output was longer than the limit" in html_page.text


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_ending_is_explained(ending: Ending, language: str) -> None:
    """Each way in which a cell can end the run has its sentence in both languages."""
    executed = ExecutedNotebook("exam", (Cell("while True: pass"),), (CellRun(ending=ending),))
    limit = format_limit(ending, RUBRIC.assignment.limits)
    expected = get_template(f"cell.ending.{ending.value}", language).format(limit=limit)
    assert expected in page(graded("x", (), executed), language).text


@pytest.mark.parametrize("met", list(LimitKind))
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_limit_met_is_explained(met: LimitKind, language: str) -> None:
    """A cell that met a limit without ending the run states the limit, its value and what to do."""
    run = CellRun(met=(LimitEvent(met, measured=True),), truncated=met is LimitKind.OUTPUT)
    executed = ExecutedNotebook("exam", (Cell("x"),), (run,))
    limit = format_limit(met, RUBRIC.assignment.limits)
    expected = get_template(f"cell.limit.{met.value}", language).format(limit=limit)
    text = page(graded("x", (), executed), language).text
    assert (1, 0) == (text.count(expected), text.count(get_template("page.truncated", language)))


def test_many_outputs_are_cut_with_a_notice() -> None:
    """A cell with thousands of outputs shows the first ones and says how many are missing."""
    run = CellRun(tuple(CellOutput("stream", {"text/plain": f"line {n}"}) for n in range(1000)))
    text = page(graded("x", (), ExecutedNotebook("exam", (Cell("x"),), (run,)))).text
    assert "line 59" in text
    assert "line 60" not in text
    assert "Further outputs that are not shown: 940." in text


def test_drawings_and_tex_are_shown_as_text() -> None:
    """SVG and TeX are never interpreted; the page says what type they were."""
    outputs = (
        CellOutput("display", {"image/svg+xml": "<svg/>"}),
        CellOutput("display", {"text/latex": r"$\href{x}{y}$"}),
    )
    source = render_student_page(
        graded("x", (), ExecutedNotebook("exam", (Cell("x"),), (CellRun(outputs),))), RUBRIC
    )
    assert "&lt;svg/&gt;" in source
    assert r"$\href{x}{y}$" in source
    assert "Output of type image/svg+xml, shown as text" in source


def test_an_unreadable_submission_has_a_page() -> None:
    """If no cell was run, the page states the reason at the top and in place of the notebook."""
    reason = said("The file ends in the middle.")
    items = tuple(
        item(result.question, result.item, Status.NO_ANSWER, reason) for result in good().score.items
    )
    score = msgspec.structs.replace(good().score, items=items)
    text = page(msgspec.structs.replace(good(), score=score, notebooks=())).text
    assert "The file ends in the middle." in text[: text.index("Where points were lost")]
    assert "There is no executed notebook." in text


def test_weaker_isolation_is_stamped() -> None:
    """A result computed with weaker isolation says so."""
    assert "weaker isolation than usual (none)" in page(hostile()).text
    assert "isolation" not in page(good()).text


def test_the_page_speaks_german() -> None:
    """The German page has German labels, rubric texts, messages and decimal commas."""
    html_page = page(middling(), "de")
    assert "de" == dict(html_page.elements)["html"]["lang"]
    assert "8,5 von 17 Punkten" in html_page.text
    assert "−0,5" in html_page.text
    assert "Die Parameterzahl des MLP" in html_page.text
    assert "Das ist eine der beiden Matrizen." in html_page.text


ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@settings(max_examples=60, deadline=None)
@given(student=ANY_TEXT, text=ANY_TEXT, mime=ANY_TEXT, kind=ANY_TEXT, grade_id=ANY_TEXT)
def test_no_text_breaks_the_page(student: str, text: str, mime: str, kind: str, grade_id: str) -> None:
    """No text in any place of a submission adds elements to the page."""
    run = CellRun((CellOutput(kind, {mime: text, "text/html": text}),), error=text)
    executed = ExecutedNotebook(text, (Cell(text, grade_id), Markdown(text, grade_id)), (run, None))
    message = Message(text, {"text": text, "offset": "1"}, {"en": "{text} {" + text})
    result = item("mha", "plain", Status.FAILED, message, reading=text)
    source = render_student_page(graded(student, (result,), executed), RUBRIC)
    assert source == source.encode().decode()
    assert set() == {tag for tag, _ in Page(source).elements} - OUR_TAGS


def test_a_submission_that_cannot_be_read_says_so_above() -> None:
    """If all items have the same reason and no notebook was read, the page begins with that reason."""
    refusal = Message("notebook.empty", text={"en": "There is nothing in it."})
    items = tuple(
        ItemResult(question.id, one.id, Status.NO_ANSWER, Decimal(0), one.points, refusal, "")
        for question in RUBRIC.questions
        for one in question.items
    )
    notice = '<div class="notice bad"><p>There is nothing in it.</p></div>'
    assert notice in render_student_page(
        GradingResult(Score("ada", RUBRIC.assignment.name, 1, items)), RUBRIC
    )
    other = msgspec.structs.replace(items[0], student=Message("passed"))
    assert notice not in render_student_page(
        GradingResult(Score("ada", RUBRIC.assignment.name, 1, (other, *items[1:]))), RUBRIC
    )


@pytest.mark.parametrize("kind", [Markdown, Cell])
def test_a_long_cell_is_said_to_be_cut_and_later_texts_are_typeset(kind: type[Cell | Markdown]) -> None:
    """A cut cell says so, and does not affect the texts after it."""
    cells = (kind("word " * 60_000, ""), Markdown("**later**", "task3-b-why"))
    long = replace(middling(), notebooks=(ExecutedNotebook("exam", cells, (None, None)),))
    page = render_student_page(long, RUBRIC, language="en")
    assert 1 == page.count("Only the first 20000 characters of this cell are shown here.")
    assert "<strong>later</strong>" in page


@pytest.mark.parametrize(
    ("status", "said"),
    [(Status.NEEDS_REVIEW, "Nothing has been graded yet."), (Status.PASSED, "No points were lost.")],
)
def test_a_page_says_that_no_points_were_lost_only_if_some_are_decided(status: Status, said: str) -> None:
    """The message "No points were lost" is omitted if no points were earned."""
    points = {result.item: result.possible for result in good().score.items}
    items = tuple(
        replace(result, status=status, points=points[result.item] if status is Status.PASSED else Decimal(0))
        for result in good().score.items
    )
    page = Page(
        render_student_page(replace(good(), score=replace(good().score, items=items)), RUBRIC, language="en")
    )
    sentences = {"Nothing has been graded yet.", "No points were lost."}
    assert {said} == {sentence for sentence in sentences if sentence in page.text}


@pytest.mark.parametrize(
    ("remark", "shown"),
    [
        ("submitted/ada/hw has no notebook", "submitted/ada/hw has no notebook"),
        ("roster.txt is not read", "roster.txt is not read"),
        ("nobody is late", "Nobody is late"),
    ],
)
def test_a_sentence_that_begins_with_a_path_keeps_it(remark: str, shown: str) -> None:
    """The path at the beginning of a sentence is not capitalised."""
    assert shown == capitalise_sentence(remark)
