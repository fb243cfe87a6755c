"""Options in rubrics: the tables that several kinds share, and how they are read.

docs/rubric.md describes every table here with an example; a test parses those examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any, TypeVar

from msgspec import Struct

from autograder.core.errors import Place, RubricError, TomlStep
from autograder.core.tables import convert_table, list_field_names
from autograder.rubric import Item, Question

Options = TypeVar("Options", bound=Struct)

CENT = Decimal("0.01")
"""The smallest unit of points."""
MOST_PARTS = 1000
"""The largest denominator of a part of points that is given as a float."""


class Mistake(Struct, frozen=True, forbid_unknown_fields=True):
    """A named mistake: an answer with it is worth ``points``, and the student reads ``text``."""

    code: str
    when: Any
    """The wrong answer: a number, a shape or an option, depending on the kind."""
    text: dict[str, str]
    points: Decimal = Decimal(0)


class ComparedOptions(Struct, frozen=True):
    """The question options of the kinds that compare a value."""

    config: dict[str, Any] | None = None
    """Argument of the reference, which then also returns the values that known mistakes lead to."""


class AnswerItem(Struct, frozen=True):
    """The item options of the kinds that compare a value."""

    answer: str = ""
    """The variable that this item reads, if it is not the question's."""
    key: str | int | None = None
    """The entry of the answer that this item is about."""
    mistake: tuple[Mistake, ...] = ()


def locate_question(question: Question, item: Item | None = None) -> Place:
    """Return the place of a question or item, as errors name it."""
    whole = Place(f"question {question.id!r}", "question", question.id)
    return whole.extend(f", item {item.id!r}", "item", item.id) if item else whole


def read_question_options(question: Question, to: type[Options]) -> Options:
    """Return the question's own options as the kind's record.

    Raises:
        RubricError: a key is unknown, missing or of the wrong type; names the question.
    """
    return convert_table(question.options, to, locate_question(question), also=_list_common_keys(Question))


def read_item_options(question: Question, to: type[Options]) -> dict[str, Options]:
    """Return the options of every item that is not graded manually, by item id.

    Raises:
        RubricError: a key is unknown, missing or of the wrong type; names question and item.
    """
    return {
        item.id: convert_table(
            item.options, to, locate_question(question, item), also=_list_common_keys(Item)
        )
        for item in question.items
        if not item.manual
    }


def _list_common_keys(record: type[Question | Item]) -> set[str]:
    """Return the keys of every kind, which share a table of the file with the options of one kind."""
    return set(list_field_names(record)) - {"options", "items"}


def to_plain(value: Any) -> Any:
    """Return a TOML value with floats instead of decimals."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: to_plain(entry) for key, entry in value.items()}
    return value


def split_points(points: Decimal, parts: int, where: str) -> Decimal:
    """Return one of several equal parts of some points.

    Raises:
        RubricError: the part is not a whole number of hundredths.
    """
    part = (points / max(parts, 1)).quantize(CENT)
    if part * parts != points:
        raise RubricError(f"{points} cannot be divided into {parts} equal parts", where, "points")
    return part


def take_share(points: Decimal, part: float) -> Decimal:
    """Return a part of some points, such as 0.5 or 1 / 3, rounded down to a hundredth."""
    # The float nearest to 1 / 3 is below it, which would round a third of 3 points down to 0.99.
    exact = Fraction(part).limit_denominator(MOST_PARTS) * Fraction(points)
    return (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(CENT, ROUND_FLOOR)


def check_points(points: Decimal, below: Decimal, where: str, *keys: TomlStep) -> None:
    """Refuse partial credit that is not below the whole, or finer than a hundredth.

    Raises:
        RubricError: names the place.
    """
    if not points.is_finite() or not 0 <= points < below:
        raise RubricError(f"expected from 0 to below {below}, got {points}", where, *keys)
    if points != points.quantize(CENT):
        raise RubricError(f"at most two decimals, got {points}", where, *keys)


def check_mistakes(item: Item, mistakes: Iterable[Mistake], question: Question) -> None:
    """Refuse mistakes that are worth too much, lack English or have unpaired braces in their text.

    Raises:
        RubricError: names question, item and mistake.
    """
    for mistake in mistakes:
        where = locate_question(question, item).extend(f", mistake {mistake.code!r}", "mistake", mistake.code)
        check_points(mistake.points, abs(item.points), where, "points")
        check_text(mistake.text, where)


def check_text(text: Mapping[str, str], where: str, placeholders: Iterable[str] = ()) -> None:
    """Refuse a sentence that lacks English, or has unpaired braces or unknown placeholders.

    Raises:
        RubricError: names the place.
    """
    if "en" not in text:
        raise RubricError("an English text is needed: text = { en = … }", where, "text")
    for language, sentence in text.items():
        try:
            sentence.format_map(dict.fromkeys(placeholders, ""))
        except (KeyError, ValueError, IndexError, AttributeError) as error:
            raise RubricError(f"text.{language}: write braces twice, as in {{{{ }}}}", where) from error
