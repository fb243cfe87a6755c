"""Examine answers: is there one, how does the grader read it, which visible checks pass."""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from autograder.core.wording import has_decimal_comma
from autograder.formulas.answer_parser import read_text
from autograder.formulas.errors import FormulaError, Unreadable
from autograder.formulas.nodes import Node, Num, Tree, Tuple
from autograder.formulas.notation.tokens import MAX_DIGITS
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from autograder.formulas.shapes import read_shape, read_size
from autograder.messages.catalogue import format_sentence, load_sentences
from autograder.messages.parse_errors import describe_unreadable, describe_unreadable_number
from autograder.notebook.student.given import (
    find_missing_body,
    find_source,
    find_unknown_options,
    is_as_given,
    is_bare,
    is_filler,
    is_open,
    list_gaps,
    read_literal,
)
from autograder.notebook.student.visible_checks import run_visible_checks
from autograder.questions.numbers.answers import read_number
from autograder.questions.numbers.quantities import keep_whole, read_whole, write_quantity
from autograder.questions.numbers.units import read_single_unit

READY, MISSING, PROBLEM, PERSON = "ready", "missing", "problem", "person"
"""Outcome of a question: answered, not answered, needs attention, or left to manual review."""

WANTED: Mapping[str, str] = {
    "formula": "student.want-formula",
    "number": "student.want-number",
    "whole": "student.want-whole",
    "shape": "student.want-shape",
    "code": "student.want-code",
    "listing": "student.want-code",
    "choice": "student.want-choice",
    "entries": "student.want-entries",
    "table": "student.want-table",
}
"""Form of an answer (`questions.base.kind.Form`) → sentence about the expected type; other forms have
none."""
MAX_ELEMENTS = 100
ANY_FORM = ("formula", "relation", "tuple", "asymptotic")
"""Tried in order if one name answers items of different forms."""
_READ = ("formula", "shape")
_OPEN = frozenset(("placeholder", "ellipsis"))
_SHORT = 60
_MOST_NAMED = 6


class ReportLine(NamedTuple):
    """One remark."""

    state: str
    """`READY`, `MISSING`, `PROBLEM`, or `PERSON` for a mere remark."""
    text: str
    reading: str = ""
    """The answer as it was read."""
    mathml: str = ""
    """The same in MathML."""


class AnswerSpec(NamedTuple):
    """Expected content of one name."""

    name: str
    kind: str
    form: str
    """Form of the formula; ``"entries"`` for several answers in one."""
    vocabulary: Vocabulary
    given: str
    """The cell as it was released."""
    closed: Sequence[str]
    """Hashes of the options, if the notebook states all of them."""


class Report(NamedTuple):
    """Remarks on one question."""

    question: str
    title: str
    state: str
    lines: tuple[ReportLine, ...]


def question_of(
    specification: Mapping[str, Any], name: object, language: str
) -> Mapping[str, Any] | ReportLine:
    """Return the entry of a question, or a line about the name if there is no such question."""
    questions = specification.get("questions", {})
    entry = questions.get(name) if isinstance(name, str) else None
    if entry is not None:
        return dict(entry)
    # Students may pass anything to check(); only texts are repeated in the message.
    text = name[:_SHORT] if isinstance(name, str) else type(name).__name__
    close = difflib.get_close_matches(text, questions, n=1)
    hint = format_sentence("student.did-you-mean", language, found=close[0]) if close else ""
    return ReportLine(PROBLEM, format_sentence("student.unknown-question", language, name=text, hint=hint))


def examine(question: str, entry: Mapping[str, Any], values: Mapping[str, Any], language: str) -> Report:
    """Examine the answer to one question.

    Args:
        question: id of the question.
        entry: its entry in the specification.
        values: assigned values, by name.
        language: language of the lines.
    """
    title = get_title(entry, language)
    if entry.get("file") and not entry["names"] and entry["kind"] != "written":
        there = _report_file(entry["file"], language)
        return Report(question, title, there.state, (there,))
    if entry["kind"] == "written" or not entry["names"]:
        key = "text-cell" if entry["kind"] == "formula" else "person"
        return Report(
            question, title, PERSON, (ReportLine(PERSON, format_sentence(f"student.{key}", language)),)
        )
    vocabulary = build_vocabulary(entry["symbols"], entry.get("languages", ("en",)))
    lines: list[ReportLine] = []
    for name, form in entry["names"].items():
        if name not in values:
            lines.append(ReportLine(MISSING, format_sentence("student.not-assigned", language, name=name)))
            continue
        answer_spec = AnswerSpec(
            name, str(entry["kind"]), form, vocabulary, entry.get("given", ""), entry.get("closed", ())
        )
        line = _report_value(answer_spec, values[name], language)
        lines.append(line)
        # Visible checks call the answer, so they are only run on a complete function.
        if line.state == READY and name == entry["answer"] and callable(values[name]):
            tried = run_visible_checks(name, values[name], entry, language)
            lines += [
                ReportLine({True: READY, False: PROBLEM, None: PERSON}[outcome.good], outcome.text)
                for outcome in tried
            ]
    return Report(question, title, find_worst_state(lines), tuple(lines))


def _report_file(path: str, language: str) -> ReportLine:
    """Report whether an answer that is a file is next to the running notebook."""
    try:
        size = os.path.getsize(path)  # noqa: PTH202 - as short on students' computers
    except OSError:
        return ReportLine(MISSING, format_sentence("student.file-missing", language, name=path))
    return ReportLine(READY, format_sentence("student.there", language, name=path, found=format_size(size)))


def format_size(count: int) -> str:
    """Return a number of bytes in readable units."""
    if count < 1 << 10:
        return f"{count} B"
    return f"{count / (1 << 10):.1f} kB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MB"


def find_worst_state(lines: Iterable[ReportLine]) -> str:
    """Return the state of a question: the worst of its lines."""
    states = {line.state for line in lines}
    return next((state for state in (PROBLEM, MISSING, READY) if state in states), PERSON)


def get_title(entry: Mapping[str, Any], language: str) -> str:
    """Return the question's title in a language; empty if it has none."""
    titles = entry.get("title", {})
    return str(titles.get(language) or titles.get("en") or next(iter(titles.values()), ""))


def report_unwritten(name: str, source: str, handed_out: str, language: str) -> ReportLine | None:
    """Return a line about code that is unchanged or without a body; None if it is written.

    Args:
        name: name of the function or class.
        source: text of the cell that defines it.
        handed_out: this text as it was released.
        language: language of the line.
    """
    if source and handed_out and is_as_given(source, handed_out):
        return ReportLine(MISSING, format_sentence("student.as-given", language, name=name))
    empty = find_missing_body(source, name, handed_out)
    return ReportLine(MISSING, format_sentence("student.no-body", language, name=empty)) if empty else None


def _report_value(answer_spec: AnswerSpec, value: Any, language: str) -> ReportLine:
    """Report on the value of one name."""
    name, kind, form, vocabulary, *_ = answer_spec
    actual = "None" if value is None else "..." if value is ... else type(value).__name__
    # The order matters: a placeholder often has the wrong type, too, but only the first report helps.
    if _is_empty(value, kind, form):
        actual = actual if not isinstance(value, str) else repr(value.strip()[:_SHORT])
        return ReportLine(MISSING, format_sentence("student.still-empty", language, name=name, found=actual))
    line = _report_unfinished(answer_spec, value, language)
    if line is not None:
        return line
    if not has_expected_type(kind, form, value):
        wanted = format_sentence(WANTED[form if form in ("entries", "whole") else kind], language)
        return ReportLine(
            PROBLEM, format_sentence("student.wrong-type", language, name=name, found=actual, expected=wanted)
        )
    # One unknown name is enough for a remark; the student checks the others anyway.
    strange = (
        next(find_unknown_options(value, form, answer_spec.closed), None) if answer_spec.closed else None
    )
    if strange is not None:
        return ReportLine(
            PROBLEM, format_sentence("student.no-option", language, name=name, found=strange.strip()[:_SHORT])
        )
    if kind in _READ and form != "entries" and not callable(value):
        read = read_value(value, kind, form, vocabulary, language)
        if isinstance(read, ReadingFailure):
            if read.left_open:
                text = format_sentence("student.size-left-open", language, name=name, found=read.left_open)
            else:
                text = format_sentence("student.unreadable", language, name=name, found=read.reason)
            return ReportLine(PROBLEM, text)
        return ReportLine(
            READY, format_sentence("student.read-as", language, name=name, found=""), read.text, read.mathml
        )
    if kind == "number" and form != "entries" and isinstance(value, str):
        number = read_number_text(value, name, language, is_whole=form == "whole")
        if isinstance(number, ReadingFailure):
            return ReportLine(PROBLEM, number.reason)
        actual = number.text or actual
        return ReportLine(
            READY,
            format_sentence(
                "student.read-as" if number.text else "student.there", language, name=name, found=actual
            ),
        )
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_SHORT
    return ReportLine(
        READY, format_sentence("student.there", language, name=name, found=str(value) if whole else actual)
    )


def _is_empty(value: Any, kind: str, form: str) -> bool:
    """Decide whether there is no answer. The readers of formulas and shapes give details on open sizes."""
    if kind in _READ and form != "entries":
        return value is None or value is ... or (isinstance(value, str) and not value.strip())
    several = isinstance(value, (Mapping, list, tuple))
    return is_filler(value) or (several and (is_open(value) or (form == "entries" and not value)))


def _report_unfinished(answer_spec: AnswerSpec, value: Any, language: str) -> ReportLine | None:
    """Return a line about an answer, or one of several in it, that is still missing; None if all is there."""
    if is_bare(value):
        return ReportLine(MISSING, format_sentence("student.no-body", language, name=answer_spec.name))
    if callable(value):
        return report_unwritten(answer_spec.name, find_source(value), answer_spec.given, language)
    handed_out = read_literal(answer_spec.given, answer_spec.name)
    # The type is compared as well, because True == 1.
    same = handed_out is not None and type(value) is type(handed_out.value) and value == handed_out.value
    if same and value not in ([], (), {}):  # an empty list may be the intended answer
        return ReportLine(MISSING, format_sentence("student.as-given", language, name=answer_spec.name))
    missing = list_gaps(value) if answer_spec.form == "entries" else []
    if missing:
        more = ", …" if len(missing) > _MOST_NAMED else ""
        gap_names = ", ".join(missing[:_MOST_NAMED]) + more
        return ReportLine(
            MISSING, format_sentence("student.gaps", language, name=answer_spec.name, found=gap_names)
        )
    return None


def has_expected_type(kind: str, form: str, value: Any) -> bool:
    """Decide whether a value has a type that can answer the question; in doubt it has."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    several = isinstance(value, (tuple, list))
    # Compared by name: sympy is not imported here, and students need not have installed it.
    symbolic = type(value).__module__.split(".")[0] == "sympy"
    digits = isinstance(value, str) and any(letter.isdigit() for letter in value)
    if form == "entries":
        return several or isinstance(value, dict) or callable(value)
    if kind == "table":
        return several or isinstance(value, (dict, str))
    if kind == "formula":
        row = several and (form in ("tuple", "list", "set", "any") or len(value) == 1)
        return whole or symbolic or isinstance(value, (str, float)) or row
    if form == "whole":
        exact = isinstance(value, float) and value.is_integer()
        return whole or symbolic or isinstance(value, str) or callable(value) or exact
    if kind == "shape":
        return several or isinstance(value, str) or hasattr(value, "shape") or callable(value)
    # Texts must contain a digit; whether they can be read is checked later.
    if kind == "number":
        number = hasattr(value, "__float__") and not isinstance(value, bool)
        return digits or symbolic or callable(value) or number or several
    if WANTED.get(kind) == "student.want-code":
        return callable(value)
    if kind == "choice":
        return several or isinstance(value, (str, int, float, set, frozenset))
    return True


class ValueReading(NamedTuple):
    """Value that was read as a formula or shape."""

    text: str
    mathml: str


class ReadingFailure(NamedTuple):
    """Reason why a value could not be read: a whole sentence, or the sign that leaves a size open."""

    reason: str = ""
    left_open: str = ""


def build_vocabulary(symbols: Mapping[str, Mapping[str, Any]], languages: Sequence[str]) -> Vocabulary:
    """Return the declared symbols, from their specification, in a course of these languages."""
    declared = tuple((name, str(entry["domain"]), tuple(entry["aliases"])) for name, entry in symbols.items())
    return _make_vocabulary(declared, has_decimal_comma(languages))


# Questions share their symbols, and building a vocabulary takes longer than reading with it.
@functools.lru_cache(maxsize=16)
def _make_vocabulary(declared: tuple[tuple[str, str, tuple[str, ...]], ...], comma: bool) -> Vocabulary:  # noqa: FBT001
    """Return the vocabulary of some symbols."""
    symbols = {name: Symbol(domain=domain, aliases=aliases) for name, domain, aliases in declared}
    return Vocabulary(symbols).with_notation(decimal_comma=comma)


def read_value(
    value: Any, kind: str, form: str, vocabulary: Vocabulary, language: str
) -> ValueReading | ReadingFailure:
    """Read the answer to a question about a formula or a shape.

    Args:
        value: assigned value: text, number, sympy expression, or a row of them.
        kind: ``"formula"`` or ``"shape"``.
        form: form that the rubric asks for; ``"any"`` if there are several.
        vocabulary: the symbols.
        language: language of the reason.
    """
    text = value if isinstance(value, str) else ""
    try:
        trees = _read_shape(value, vocabulary) if kind == "shape" else _read_formula(value, form, vocabulary)
        return ValueReading(" = ".join(map(to_text, trees)), "<span> = </span>".join(map(to_mathml, trees)))
    except Unreadable as error:
        return _explain_failure(error, text, language)


def read_number_text(text: str, name: str, language: str, *, is_whole: bool) -> ValueReading | ReadingFailure:
    """Read a text that answers a question about a number.

    Args:
        text: assigned text.
        name: name of the answer.
        language: language of the reason.
        is_whole: a whole number without a unit is asked for. Otherwise the unit is not known here, and only
            texts that are unreadable with any unit are refused.
    """
    shown = text.strip()[:60]
    try:
        read = read_number(text, read_single_unit(""))
        # A doubtful reading is reported like an unreadable one.
        fault = Unreadable(read.doubt) if read.doubt else None
    except Unreadable as error:
        fault = error
    if fault is not None and (is_whole or fault.code != "contradiction"):
        message = describe_unreadable_number(fault, name, shown)
        return ReadingFailure(format_sentence(message.code, language, **message.params))
    if not is_whole:
        return ValueReading("", "")
    read = keep_whole(read)
    first, *further_readings = read.readings
    params = {"what": name, "value": shown}
    if first.amount.denominator != 1:
        return ReadingFailure(format_sentence("number.whole", language, **params))
    if further_readings and not read.settled:
        numbers = {"first": write_quantity(first), "second": write_quantity(further_readings[0])}
        return ReadingFailure(format_sentence("number.ambiguous", language, **params, **numbers))
    return ValueReading(str(first.amount), "")


def _explain_failure(error: Unreadable, text: str, language: str) -> ReadingFailure:
    """Return why an answer could not be read."""
    if error.code in _OPEN:
        return ReadingFailure(left_open=error.params["sign"])
    message = describe_unreadable(error, error.params.get("text", text))
    if message.code not in load_sentences():  # only shapes have these codes
        return ReadingFailure(
            format_sentence("student.no-size", language, found=str(message.params["text"])[:60])
        )
    return ReadingFailure(format_sentence(message.code, language, **message.params))


def _read_formula(value: Any, form: str, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Read a formula, or a tuple of formulas.

    Raises:
        Unreadable: it is none.
    """
    if isinstance(value, (tuple, list)):
        if len(value) != 1 or form in ("tuple", "list", "set"):
            return (Tuple(tuple(_read_element(part, vocabulary) for part in value[:MAX_ELEMENTS])),)
        value = value[0]  # a comma at the end of the line
    text = _convert_to_text(value)
    if form != "any":
        return read_text(text, form or "formula", vocabulary)
    # The last form is tried outside of the loop, so that its error is the one reported.
    for candidate_form in ANY_FORM[:-1]:
        try:
            return read_text(text, candidate_form, vocabulary)
        except FormulaError:
            continue
    return read_text(text, ANY_FORM[-1], vocabulary)


def _read_element(value: Any, vocabulary: Vocabulary) -> Node:
    """Read one element of a tuple; an error quotes this element only."""
    text = _convert_to_text(value)
    try:
        tree = read_text(text, "formula", vocabulary)[-1]
    except Unreadable as error:
        raise Unreadable(error.code, error.offset, **{**error.params, "text": text}) from None
    return tree  # type: ignore[return-value]  # of this form nothing else is read


def _read_shape(value: Any, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Read a shape, from a text, a tuple of sizes or an array."""
    if isinstance(value, str):
        return (Tuple(read_shape(value, vocabulary)),)
    sizes = value if isinstance(value, (tuple, list)) else value.shape
    return (Tuple(tuple(_read_size(size, vocabulary) for size in sizes)),)


def _read_size(size: Any, vocabulary: Vocabulary) -> Node:
    """Read one size of a shape.

    Raises:
        Unreadable: the size is open or not readable.
    """
    # numpy and torch accept -1 for a size that follows from the others, so it names no size.
    if size is None or size is ... or (not isinstance(size, str) and size == -1):
        raise Unreadable("placeholder", 0, sign=str(size))
    text = _convert_to_text(size)
    # Whole numbers are read first, in any notation.
    with contextlib.suppress(Unreadable):
        whole = read_whole(text)
        if whole >= 0:
            return Num(whole)
    try:
        return read_size(text, vocabulary)
    except Unreadable as error:
        raise Unreadable(error.code, error.offset, **{**error.params, "text": text}) from None


def _convert_to_text(value: Any) -> str:
    """Return the text of a value: arrays of one number as that number, sympy expressions as they print."""
    if isinstance(value, str):
        return value
    # Arrays and tensors with one element.
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int) and value.bit_length() > 4 * MAX_DIGITS:  # too long to print
        raise Unreadable("number-too-long", 0, limit=str(MAX_DIGITS), text=f"{hex(value)[:10]}…")
    return repr(value) if isinstance(value, float) else str(value)
