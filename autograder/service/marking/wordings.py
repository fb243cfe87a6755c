"""What a class is told, message by message, and the course's own words in the place of generated sentences.

A wording stands for one message at one item, in one language: for everybody who is told it, or for one
student alone, which goes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet
from msgspec import Struct

from autograder import messages
from autograder.assignment import Assignment
from autograder.feedback.lines import RubricLine, rubric_lines
from autograder.feedback.sanitise import kept_text, sentence
from autograder.feedback.wordings import SentenceKey, Wordings, pieces
from autograder.grades import NOTHING, standing
from autograder.service import audit
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import Account, Offer, Wording
from autograder.service.store import DatabaseStore

MOST_TEXT = 2_000
"""Characters of a wording."""


class ToldMessage(Struct, frozen=True):
    """A message at an item, with what it says to whom."""

    key: SentenceKey
    students: tuple[str, ...] = ()
    cost: Decimal = NOTHING
    """Points that those who were told it lost at the item, together."""
    sentences: Mapping[str, tuple[str, ...]] = {}
    """By language of the course: all that was generated, each once, the most frequent first."""
    placeholders: tuple[str, ...] = ()
    """That a wording for all of these students may have."""
    own: Mapping[str, str] = {}
    """The course's words in their place, by language."""
    alone: tuple[str, ...] = ()
    """Students who have words of their own."""


def of_student(offer: Offer, student: str) -> Wordings:
    """What stands in the place of generated sentences on a student's page."""
    found: dict[SentenceKey, dict[str, str]] = {}
    rows = _rows(offer).filter(student__in={"", student}).order_by("student")  # one's own come last, and stay
    for row in rows:
        found.setdefault((row.question, row.item, row.code), {})[row.language] = row.text
    return found


def languages(assignment: Assignment) -> tuple[str, ...]:
    """The languages in which a wording can be stated: those of the course that there are sentences in."""
    stated = assignment.rubric.assignment.languages
    return tuple(one for one in messages.languages() if one in stated) or ("en",)


def told(offer: Offer, assignment: Assignment, student: str = "") -> list[ToldMessage]:
    """What a class is told, in the rubric's order, what most are told first.

    Args:
        offer: the assignment.
        assignment: the same, loaded from its version.
        student: only what this one is told, with the words for them alone; default: all are told.

    Raises:
        GradebookError: the results cannot be read.
    """
    found: dict[SentenceKey, list[tuple[str, RubricLine]]] = {}
    for who, line in _lines(offer, assignment, student):
        key = (line.result.question, line.result.item, line.result.student.code)
        found.setdefault(key, []).append((who, line))
    own: dict[SentenceKey, dict[str, str]] = {}
    alone: dict[SentenceKey, set[str]] = {}
    for row in _rows(offer):
        key = (row.question, row.item, row.code)
        if row.student == student:
            own.setdefault(key, {})[row.language] = row.text
        elif not student:
            alone.setdefault(key, set()).add(row.student)
    places = [(one.id, item.id) for one in assignment.rubric.questions for item in one.items]
    order = {place: number for number, place in enumerate(places)}
    spoken = languages(assignment)
    everything = [
        _message(key, found.get(key, []), spoken, own.get(key, {}), alone.get(key, set()))
        for key in {**found, **own, **alone}
    ]
    return sorted(
        everything, key=lambda one: (order.get(one.key[:2], len(order)), -len(one.students), one.key[2])
    )


def _message(
    key: SentenceKey,
    lines: list[tuple[str, RubricLine]],
    spoken: tuple[str, ...],
    own: Mapping[str, str],
    alone: set[str],
) -> ToldMessage:
    said = [line.result.student for _, line in lines]
    shared = set.intersection(*(set(one.params) for one in said)) if said else set()
    return ToldMessage(
        key=key,
        students=tuple(who for who, _ in lines),
        cost=sum((line.lost for _, line in lines), NOTHING),
        sentences={
            language: tuple(
                text for text, _ in Counter(sentence(one, language) for one in said).most_common()
            )
            for language in spoken
        },
        placeholders=tuple(sorted(shared)),
        own=own,
        alone=tuple(sorted(alone)),
    )


def _lines(offer: Offer, assignment: Assignment, student: str) -> Iterator[tuple[str, RubricLine]]:
    """What students are told, line by line, where it is more than the status."""
    store = DatabaseStore(offer.course)
    if student:
        one, of_one = store.of_student(offer.assignment, student)
        results, marks = {student: one} if one else {}, {student: of_one}
    else:
        results, marks = store.results(offer.assignment), store.marks(offer.assignment)
    for who, graded in results.items():
        rubric = assignment.rubric_of(who)
        stands = standing(graded.score, rubric, marks.get(who))
        for lines in rubric_lines(graded.score, rubric, stands).values():
            yield from ((who, line) for line in lines if not line.silent)


def save(
    offer: Offer,
    assignment: Assignment,
    key: SentenceKey,
    texts: Mapping[str, str],
    *,
    by: Account,
    student: str = "",
) -> bool:
    """State the course's own words for a message at an item; an empty text restores the generated sentence.

    Args:
        offer: the assignment.
        assignment: the same, loaded from its version.
        key: question, item, and code of the message.
        texts: by language; a language that is left out stays as it is.
        by: whose words they are.
        student: for this one alone; default: for all who are told it.

    Returns:
        Whether anything is new.

    Raises:
        NotTaken: a text is too long, a brace in it stands alone, it has a placeholder that the message has
            not, the language is none of the course's, or nobody is told this message.
    """
    wanted = {language: _checked(text) for language, text in texts.items()}
    if wanted.keys() - set(languages(assignment)):
        raise NotTaken("wording-language", languages=", ".join(languages(assignment)))
    _check_placeholders(offer, assignment, key, wanted, student=student)
    columns = dict(zip(("question", "item", "code"), key, strict=True), student=student)
    with transaction.atomic():
        audit.hold()
        Offer.objects.select_for_update().get(pk=offer.pk)  # so that each change says what stood before
        rows = _rows(offer).filter(**columns)
        before = dict(rows.values_list("language", "text"))
        after = {language: text for language, text in {**before, **wanted}.items() if text}
        if after == before:
            return False
        rows.exclude(language__in=after).delete()
        for language in wanted.keys() & after.keys():
            Wording.objects.update_or_create(
                course=offer.course,
                assignment=offer.assignment,
                language=language,
                **columns,
                defaults={"text": after[language], "by": by},
            )
        subject = f"{offer.assignment}: {student}" if student else offer.assignment
        facts = [{**columns, "texts": texts} for texts in (before, after)]
        audit.note(by.username, "wording", subject, course=offer.course, before=facts[0], after=facts[1])
    return True


def _check_placeholders(
    offer: Offer, assignment: Assignment, key: SentenceKey, texts: Mapping[str, str], *, student: str
) -> None:
    known = next((one for one in told(offer, assignment, student) if one.key == key), None)
    if known is None or (any(texts.values()) and not known.students):
        raise NotTaken("wording-nobody")
    for text in texts.values():
        for _, name in pieces(text):
            if name and name not in known.placeholders:
                listed = ", ".join(f"{{{one}}}" for one in known.placeholders) or "–"
                raise NotTaken("wording-unknown", name=f"{{{name}}}", known=listed)


def _checked(text: str) -> str:
    """A wording as it is kept.

    Raises:
        NotTaken: it is too long, or what stands between braces is no placeholder.
    """
    length = len(text.replace("\r\n", "\n").strip())
    if length > MOST_TEXT:
        raise NotTaken("text-long", number=length, most=MOST_TEXT)
    kept = kept_text(text)
    try:
        pieces(kept)
    except ValueError as error:
        raise NotTaken("wording-braces") from error
    return kept


def _rows(offer: Offer) -> QuerySet[Wording]:
    return Wording.objects.filter(course=offer.course, assignment=offer.assignment)
