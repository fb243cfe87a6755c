"""The kind ``choice``: ticks, matching, several options, and closed lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import takewhile
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Call, ItemResult, Message, Status
from autograder.questions.base.base import Evidence, Trial
from autograder.questions.base.itemwise import ItemwiseCheck
from autograder.questions.base.judging.results import (
    NO_POINTS,
    Finding,
    make_failure,
    make_no_answer,
    make_result,
    make_review,
)
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import AnswerItem, Mistake, locate_question
from autograder.questions.base.options import split_points as equal_share
from autograder.questions.base.planning.planting import Planter, ReadPlace
from autograder.questions.base.planning.targets import Targets
from autograder.questions.base.values.quoting import describe_type, quote_text
from autograder.questions.closed_lists import YES_NO, Options, collect_words, normalize_name, split_entries
from autograder.rubric import Item, Rubric

UNKNOWN = "no such option"
_CLAUSES = re.compile(
    r"""[.:;,!?()*`"'“”„\n]+|[ \t][-–—][ \t]|\b(?:is|are|ist|sind|lautet)\b""", re.IGNORECASE
)
"""Delimiters around the name of an option that is an answer by itself: "no order" does not answer "no"."""


class ChoiceTrials(Struct, frozen=True):
    """Makes the trials of one item.

    Attributes:
        planter: of the item.
        right: ids of the right options, each once.
        pick: the number of options to choose; 0: all.
        each: whether points are given in parts.
        mistakes: named wrong options.
        names: every option, and other names to try.
    """

    planter: Planter
    right: tuple[str, ...]
    pick: int
    each: bool
    mistakes: tuple[Mistake, ...]
    names: tuple[str, ...]

    def make_all(self) -> Iterator[Trial]:
        """Yield every trial of the item."""
        yield from self._make_picked() if self.pick else self._make_marked()

    def _make_picked(self) -> Iterator[Trial]:
        """Yield trials of a closed list: each right option earns a part, any other earns nothing."""
        part = self._split_points(self.pick)
        # Groups of `pick` that wrap around, so that every right option is in a right trial.
        for start in range(0, len(self.right), self.pick):
            chosen = [self.right[(start + step) % len(self.right)] for step in range(self.pick)]
            yield self.planter.make_right(f"right: {', '.join(chosen)}", self._write_answer(chosen))
        # One right option is left out: its place is free for a wrong one.
        kept = list(self.right[: self.pick - 1])
        for name in self.names:
            if name not in self.right:
                named = next((mistake for mistake in self.mistakes if mistake.when == name), None)
                done = f"{name} in the place of a right one"
                if named is None:
                    yield self._make_trial(done, [*kept, name], part * len(kept), family="another option")
                else:
                    points = part * len(kept) + named.points
                    yield self._make_trial(done, [*kept, name], points, code=named.code)
        if kept:
            yield self._make_trial("one too few", kept, part * len(kept))

    def _make_marked(self) -> Iterator[Trial]:
        """Yield trials of an item that requires all right options and no other."""
        named = [
            ([entry.when] if isinstance(entry.when, str) else list(entry.when)) for entry in self.mistakes
        ]
        yield self.planter.make_right("right", self._write_answer(self.right))
        for mistake, chosen in zip(self.mistakes, named, strict=True):
            # Of two mistakes with the same options, only the first is ever reported.
            if named.index(chosen) == self.mistakes.index(mistake):
                name = f"mistake {mistake.code}: {', '.join(chosen)}"
                yield self._make_trial(name, chosen, mistake.points, code=mistake.code)
        for name in self.names:
            if name in self.right:
                chosen, done = [entry for entry in self.right if entry != name], f"without {name}"
            elif len(self.right) == 1:
                chosen, done = [name], f"{name} instead"
            else:
                chosen, done = [*self.right, name], f"{name} as well"
            # A set of options that a mistake names has its trial already, with the points of the mistake.
            if chosen and sorted(chosen) not in map(sorted, named):
                family = "" if name in self.right else "others"
                yield self._make_trial(done, chosen, self._count_points(chosen), family=family)

    def _count_points(self, chosen: Sequence[str]) -> Decimal:
        if not self.each:
            return Decimal(0)
        # A wrong option cancels a right one, as in `ChoiceCheck._judge_marked`.
        part = self._split_points(len(self.right))
        good = len(set(chosen) & set(self.right))
        return part * max(0, good - len(set(chosen) - set(self.right)))

    def _split_points(self, parts: int) -> Decimal:
        item = self.planter.item
        return equal_share(item.points, parts, locate_question(self.planter.question, item))

    def _make_trial(
        self, name: str, chosen: Sequence[str], points: Decimal, *, family: str = "", code: str = ""
    ) -> Trial:
        trial = self.planter.make_trial(name, self._write_answer(chosen), points, code=code)
        return self.planter.to_family(family, trial) if family else trial

    def _write_answer(self, chosen: Sequence[str]) -> object:
        if self.planter.key.cell_type != "code":
            return ", ".join(chosen)
        return chosen[0] if len(chosen) == 1 else list(chosen)


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """One option to choose."""

    id: str
    aliases: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    """Beginnings of words: a name with such a word, and with none of another option, means this option."""
    text: dict[str, str] = {}


_PRESETS: Mapping[str, tuple[Option, ...]] = {
    "": (),
    "yes-no": tuple(Option(name, aliases) for name, aliases in YES_NO.items()),
}


class ChoiceQuestion(Struct, frozen=True):
    """Options of a ``choice`` question."""

    option: tuple[Option, ...] = ()
    names: tuple[str, ...] = ()
    """Options without aliases."""
    preset: Literal["", "yes-no"] = ""
    unknown: dict[str, str] = {}
    """The sentence for a name that is not an option, with ``{name}``; by language."""


class ChoiceItem(Struct, frozen=True):
    """Options of an item of a ``choice`` question."""

    right: tuple[str, ...]
    pick: int = 0
    """The number of different options of ``right`` to choose; 0: all of them, and no other."""
    credit: Literal["all", "each"] = "all"
    answer: str = ""
    key: str | int | None = None
    mistake: tuple[Mistake, ...] = ()
    others: Literal["review", "wrong"] = "review"
    """How to treat an answer with a name that is not an option: manual review, or wrong."""
    distinct_from: tuple[str, ...] = ()
    """Earlier items as ``"question.item"``: an option chosen there earns nothing here."""


class Entry(Struct, frozen=True):
    """One entry of an answer: the option it names (empty: none), and how it was written."""

    id: str
    text: str
    is_doubtful: bool = False
    """Whether it names several options, hedges, or contains more than one name."""


class Selection(Struct, frozen=True):
    """The chosen options, each once, in the order written."""

    entries: tuple[Entry, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The options among them."""
        return tuple(entry.id for entry in self.entries if entry.id)

    def describe_for_staff(self) -> str:
        """Return a description for staff, in one line."""
        return ", ".join(entry.id or f"{entry.text} (unknown)" for entry in self.entries[:20])


class ChoiceCheck(ItemwiseCheck[ChoiceQuestion, ChoiceItem]):
    """A choice among declared options, read from a literal, a variable or a text cell."""

    kind: ClassVar[str] = "choice"
    question_type = ChoiceQuestion
    item_type = ChoiceItem

    def prepare(self) -> None:
        """Refuse names that refer to two options, and items that no option can answer."""
        where = locate_question(self.question)
        declared = _PRESETS[self.options.preset] + self.options.option
        declared += tuple(Option(name) for name in self.options.names)
        self.ids = {option.id for option in declared}
        self._ids_by_name: dict[str, str] = {}
        for option in declared:
            for name in (option.id, *option.aliases):
                if self._ids_by_name.setdefault(normalize_name(name), option.id) != option.id:
                    raise RubricError(f"{name!r} stands for two options", where, "option")
        words = {option.id: collect_words((option.id, *option.aliases)) for option in declared}
        self._options = Options(
            lambda name: self._ids_by_name.get(name, ""), words.__getitem__, self._find_by_beginning
        )
        self._begins = {
            option.id: re.compile("|".join(re.escape(normalize_name(word)) for word in option.begins))
            for option in declared
            if option.begins
        }
        reads = {
            name: AnswerItem(answer=item.answer, key=item.key, mistake=item.mistake)
            for name, item in self.items.items()
        }
        self._targets = Targets(self.question, reads, named=False)
        for item, options in self.automatic:
            self._check_item(item, options)
            self._check_distinct(item, self.rubric)

    def list_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the calls for variables that are not literals in the source."""
        return self._targets.plan_calls(answer)

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return every other option, alone or in addition to right ones; see `Check.make_trials`."""
        reads = {
            item.id: ReadPlace(self._targets.get_name(item), options.key) for item, options in self.automatic
        }
        option_ids = tuple(dict.fromkeys(self._ids_by_name.values()))
        makers = (
            ChoiceTrials(
                Planter(self.question, item, reads, key),
                tuple(dict.fromkeys(options.right)),
                options.pick,
                options.credit == "each",
                options.mistake,
                (*option_ids, UNKNOWN) if options.others == "wrong" else option_ids,
            )
            for item, options in self.automatic
        )
        return tuple(trial for maker in makers for trial in maker.make_all())

    def is_in_text(self, text: str) -> bool:
        """Return whether a text names an option by itself."""
        names = map(normalize_name, _CLAUSES.split(text))
        return any(name in self._ids_by_name for name in names if len(name) > 1)  # "n" may be a symbol

    def judge_item(self, item: Item, options: ChoiceItem, evidence: Evidence) -> ItemResult | Finding:
        """Judge a choice, and record the chosen options."""
        name = self._targets.get_name(item)
        observed = self._targets.find_value(name, options.key, evidence)
        if observed.finding is not None:
            return observed.finding
        written = self._split_entries(item, observed.value)
        chosen = Selection() if written is None else self._select_options(written)
        finding = self.find_fault(item, observed.value, name, evidence.earlier)
        judged = make_result(self.question, item, finding)
        return msgspec.structs.replace(judged, chosen=chosen.ids)

    def find_fault(
        self, item: Item, value: Any, label: str, earlier: Mapping[str, ItemResult] | None = None
    ) -> Finding | None:
        """Return the fault in one value of an answer; None if it is right."""
        written = self._split_entries(item, value)
        if written is None:
            form = describe_type(value)
            return make_failure("choice.form", f"{label}: {form}", what=label, form=form)
        chosen = self._select_options(written)
        if not chosen.entries:
            return make_no_answer("no-answer", f"{label} is empty")
        options, before = self.items[item.id], earlier or {}
        taken = {id_ for name in options.distinct_from if name in before for id_ in before[name].chosen}
        repeated = next((entry for entry in chosen.entries if entry.id in taken), None)
        if repeated is not None:
            return make_failure(
                "choice.repeated", f"chosen: {chosen.describe_for_staff()}", name=repeated.text
            )
        # Entries after the first `pick` do not count.
        counted = chosen.entries[: options.pick or None]
        if any(entry.is_doubtful or not (entry.id or options.others == "wrong") for entry in counted):
            return make_review(
                f"not certain which option is meant: {chosen.describe_for_staff()}", "review.person"
            )
        # Several options for one, one of them wrong: the first may be meant, or the answer may hedge.
        if options.pick == 1 and not {*chosen.ids} <= {*options.right} and len(chosen.entries) > 1:
            return make_review(f"one option is asked for: {chosen.describe_for_staff()}", "review.person")
        if options.pick:
            return self._judge_picked(item, options, chosen)
        return self._judge_marked(item, options, chosen)

    def _select_options(self, written: Iterable[str]) -> Selection:
        chosen: dict[str, Entry] = {}
        for text in written:
            name = normalize_name(text)
            if name:
                choice = self._options.read_entry(text)
                # An option that is named twice counts once; unknown names are distinguished by their text.
                chosen.setdefault(
                    choice.option or name, Entry(choice.option, quote_text(text), choice.is_doubtful)
                )
        return Selection(tuple(chosen.values()))

    def _split_entries(self, item: Item, value: Any) -> list[str] | None:
        """Return the entries of an answer; if one option is expected, a text with a remark is one entry."""
        options = self.items[item.id]
        is_one = (options.pick or len(set(options.right))) == 1
        single = (lambda text: bool(self._options.read_entry(text).option)) if is_one else None
        return split_entries(value, self._ids_by_name, single)

    def _find_by_beginning(self, word: str) -> str:
        """Return the option that the beginning of a word identifies; empty if there are none or several."""
        ids = [id_ for id_, pattern in self._begins.items() if pattern.match(word)]
        return ids[0] if len(ids) == 1 else ""

    def _judge_picked(self, item: Item, options: ChoiceItem, chosen: Selection) -> Finding | None:
        """Judge a closed list: the first ``pick`` different entries, each separately."""
        part = equal_share(item.points, options.pick, locate_question(self.question, item))
        points = NO_POINTS
        wrong: list[Finding] = []
        for entry in chosen.entries[: options.pick]:
            mistake = next((named for named in options.mistake if entry.id and named.when == entry.id), None)
            if entry.id in options.right:
                points += part
            elif mistake is not None:
                points += mistake.points
                wrong.append(Finding(Status.FAILED, Message(mistake.code, text=mistake.text)))
            else:
                wrong.append(self._make_wrong(entry))
        if points == item.points:
            return None
        if not wrong:
            counts = {"count": str(len(chosen.entries)), "wanted": str(options.pick)}
            wrong.append(make_failure("choice.fewer", "", **counts))
        staff = f"chosen: {chosen.describe_for_staff()}"
        return msgspec.structs.replace(wrong[0], points=points, staff=staff)

    def _judge_marked(self, item: Item, options: ChoiceItem, chosen: Selection) -> Finding | None:
        """Judge an answer that requires all right options and no other, possibly with partial credit."""
        ids, right = {entry.id or entry.text for entry in chosen.entries}, set(options.right)
        if ids == right:
            return None
        staff = f"chosen: {chosen.describe_for_staff()}; right: {', '.join(options.right)}"
        for mistake in options.mistake:
            if ids == set(_list_options(mistake)):
                message = Message(mistake.code, text=mistake.text)
                return Finding(Status.FAILED, message, staff, mistake.points)
        unknown = next((entry for entry in chosen.entries if not entry.id), None)
        finding = self._make_wrong(unknown) if unknown else make_failure("choice.wrong")
        points = NO_POINTS
        if options.credit == "each":
            # Wrong options cancel right ones, so that marking everything earns little.
            part = equal_share(item.points, len(right), locate_question(self.question, item))
            points = part * max(0, len(ids & right) - len(ids - right))
            counts = {"count": str(len(ids & right)), "total": str(len(ids))}
            finding = finding if unknown else make_failure("choice.some", "", **counts)
        return msgspec.structs.replace(finding, points=points, staff=staff)

    def _make_wrong(self, entry: Entry) -> Finding:
        if entry.id:
            return make_failure("choice.entry", "", name=entry.text)
        message = Message("choice.unknown", {"name": entry.text}, self.options.unknown)
        return Finding(Status.FAILED, message)

    def _check_item(self, item: Item, options: ChoiceItem) -> None:
        where = locate_question(self.question, item)
        if not options.right:
            raise RubricError("at least one option is needed", where, "right")
        named = [*options.right, *(name for mistake in options.mistake for name in _list_options(mistake))]
        for name in named:
            if name not in self.ids:
                option_list = ", ".join(sorted(self.ids)) or "none"
                raise RubricError(f"no option {name!r}; known are: {option_list}", where)
        if options.pick > len(set(options.right)):
            raise RubricError(f"{options.pick} are wanted, but {len(options.right)} are right", where, "pick")
        if options.pick or options.credit == "each":
            part = equal_share(item.points, options.pick or len(set(options.right)), where)
            if options.pick and any(mistake.points > part for mistake in options.mistake):
                raise RubricError(f"points: one entry is worth at most {part}", where, "mistake")
        check_unknown(self.options.unknown, locate_question(self.question))

    def _check_distinct(self, item: Item, rubric: Rubric) -> None:
        before = list(takewhile(lambda other: other.id != self.question.id, rubric.questions))
        earlier = [
            f"{other.id}.{part.id}"
            for other in before
            if other.kind == self.kind
            for part in other.items
            if not part.manual
        ]
        for name in self.items[item.id].distinct_from:
            if name not in earlier:
                raise RubricError(
                    f"{name!r} is not an item of an earlier "
                    f"choice question; known are: {', '.join(earlier) or 'none'}",
                    locate_question(self.question, item),
                    "distinct_from",
                )


def check_unknown(texts: Mapping[str, str], where: str) -> None:
    """Refuse a sentence for unknown names that cannot be filled in.

    Raises:
        RubricError: English is missing, or there is a placeholder other than ``{name}``.
    """
    for language, text in texts.items():
        try:
            text.format_map({"name": ""})
        except (KeyError, ValueError, IndexError) as error:
            raise RubricError(f"unknown.{language}: the only placeholder is {{name}}", where) from error
    if texts and "en" not in texts:
        raise RubricError("an English text is needed", where, "unknown")


def _list_options(mistake: Mistake) -> tuple[str, ...]:
    return (mistake.when,) if isinstance(mistake.when, str) else tuple(map(str, mistake.when))


KIND = Kind(ChoiceCheck, form="choice")
