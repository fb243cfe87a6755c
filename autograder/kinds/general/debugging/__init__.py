"""The kind ``debugging``: code was handed out with planted faults; each item is one fault.

Each fault is a change of the right listing's text. The listings with any of the faults are run beforehand, in
boxes like a student's (`checks.base.HasListings`); what they gave decides which probes are asked, and what an
answer that computes the same has left.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec import field

from autograder.checks.base import Draw, Evidence, Observations, SecondRound, Trial, TrialResults
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging.results import (
    Finding,
    failed,
    first_failure,
    is_blank,
    observations_at,
    reference_value,
    result,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import Rules, named_cases, place
from autograder.checks.planning.drawing import Inputs
from autograder.checks.planning.subject import Callee, CalleeOptions
from autograder.checks.properties import Probe, PropertyItem, probe
from autograder.checks.values.quoting import quote
from autograder.errors import RubricError
from autograder.kinds.general.debugging import inside, planted
from autograder.kinds.general.debugging.listing import (
    Alternative,
    Edit,
    FaultyListing,
    Patch,
    Subset,
)
from autograder.kinds.general.debugging.outcomes import related
from autograder.kinds.general.debugging.search import Listings, Search, search
from autograder.kinds.general.debugging.use import ListingUses, ProbeOutcome, Use, outcome
from autograder.kinds.general.debugging.verdicts import (
    MOST_ODD,
    FaultVerdict,
    Verdicts,
    asked_besides,
    returns_otherwise,
    verdicts,
)
from autograder.kinds.general.debugging.work import SearchWork
from autograder.records import Answer, Call, ItemResult, Message, Ref, Scenario, Status
from autograder.rubric import Item
from autograder.syntax import needed

MAX_STAFF = 600
MAX_TOLD = 300
"""Characters of what an exception says."""
MOST_FAULTS = 12
MOST_ALTERNATIVES = 4
TURNS = 16
"""Choices of probes, where attempts or students shall meet hidden inputs of their own."""


class DebuggingQuestion(CalleeOptions, frozen=True):
    """Options of a ``debugging`` question."""

    use: tuple[Use, ...] = ()
    """Calls that follow one another on one object; every case is a use of one call."""
    weights: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    """Name in the ``state_dict`` → shape: drawn, and loaded into every object."""
    stir: bool = False
    """Instead: the same numbers are added to the parameters of every object, in their order."""
    tries: int = 12
    """How many probes of each use are tried; the best ones are asked."""
    probes: int = 16
    """How many are asked at most."""
    compare: Rules = Rules(rtol=1e-5, atol=1e-8)
    alternative: tuple[Alternative, ...] = ()
    """Other right listings."""
    last_module: str = ""
    """The fault of a model that returns what its last module gives in another form. Others are then judged
    by what that gives, as a right model returns it."""


class DebuggingItem(PropertyItem, frozen=True):
    """Options of an item of a ``debugging`` question."""

    edit: tuple[Edit, ...] = ()
    """What the fault changes; the item's id is its name."""
    diff: str = ""
    """Instead or besides: the change as a unified diff, from the right listing to the faulty one."""
    new_defect: bool = False
    """Instead: the item fails where the code computes what no listing with these faults computes."""

    @property
    def changes(self) -> tuple[Edit | Patch, ...]:
        """Of the right listing's text, however they are stated."""
        patch = (Patch(self.diff),) if self.diff else ()
        return (*self.edit, *patch)


class DebuggingCheck(ItemwiseCheck[DebuggingQuestion, DebuggingItem]):
    """Judges which planted faults are left, from what the code computes."""

    kind: ClassVar[str] = "debugging"
    question_type = DebuggingQuestion
    item_type = DebuggingItem
    student_alone: ClassVar[bool] = True

    def prepare(self) -> None:
        """Refuse what cannot be asked; make the probes of properties."""
        options, question, where = self.options, self.question, place(self.question)
        if not question.answer:
            raise RubricError("the name of the function or class is missing", where, "answer")
        if not question.reference:
            raise RubricError("the right listing is missing: reference = 'module:name'", where, "reference")
        if options.take_first or not options.repeat:
            raise RubricError("take_first and repeat have no meaning here; leave them out", where)
        self.uses = ListingUses(
            question, options, options.use, tries=options.tries, weights=options.weights, stir=options.stir
        )
        self._properties: dict[str, Probe] = {}
        for item, own in self.automatic:
            self._prepare_item(item, own)
        self.faults = {item.id: own.changes for item, own in self.automatic if own.changes}
        if not 0 < len(self.faults) <= MOST_FAULTS:
            raise RubricError(
                f"expected from 1 to {MOST_FAULTS} items with edit = […] or diff, got {len(self.faults)}",
                where,
            )
        self.alternatives = {one.id: one.changes for one in options.alternative}
        self._refuse_alternatives()
        self.work = SearchWork.of(tuple(self.faults), self.uses, len(self.alternatives))
        self.work.refuse(where)
        known = ", ".join(self.faults)
        for use in options.use:
            if use.about and use.about not in self.faults:
                raise RubricError(f"use {use.name!r}: no fault {use.about!r}; known: {known}", where, "use")
        if options.last_module:
            self._refuse_last_module()
        self._listings: tuple[Sequence[TrialResults], Listings] | None = None
        self._searched: dict[int, Search] = {}
        self._tried: Draw | None = None

    def _refuse_last_module(self) -> None:
        fault, known = self.options.last_module, ", ".join(self.faults)
        few = len({use.about for use in self.options.use} - {""}) <= MOST_ODD
        told = {
            f"no fault {fault!r}; known: {known}": fault not in self.faults,
            "a function has no modules; last_module needs construct": self.options.construct is None,
            f"last_module needs uses about {MOST_ODD + 1} faults or more, which raise where another form is "
            "returned: keep what a call gives, and take a part of it (select, narrow)": few,
        }
        if wrong := next((words for words, it_is in told.items() if it_is), ""):
            raise RubricError(wrong, place(self.question), "last_module")

    def _refuse_alternatives(self) -> None:
        stated = [one.id for one in self.options.alternative]
        known = [item.id for item, _ in self.automatic]
        for name, changes in self.alternatives.items():
            told = {
                "the id is empty or has blanks": not name or bool(set(name) & set(" \t\n")),
                "two have this id": stated.count(name) > 1,
                "an item has this id": name in known,
                "expected edit = […] or diff": not changes,
                f"expected at most {MOST_ALTERNATIVES}, got {len(stated)}": len(stated) > MOST_ALTERNATIVES,
            }
            if wrong := next((words for words, it_is in told.items() if it_is), ""):
                raise RubricError(f"alternative {name!r}: {wrong}", place(self.question), "alternative")

    def _prepare_item(self, item: Item, own: DebuggingItem) -> None:
        where = place(self.question, item)
        if bool(own.changes) == own.new_defect:
            raise RubricError(
                "an item is a fault (edit = […] or diff) or says new_defect = true", where, "edit"
            )
        if own.property:
            cases = named_cases(self.options, self.question)
            if own.case and own.case not in cases:
                raise RubricError(f"no case {own.case!r}; known: {', '.join(cases)}", where, "case")
            case = cases.get(own.case or next(iter(cases), ""))
            subject = Callee(self.question.answer, self.options, self.options.weights)
            self._properties[item.id] = probe(subject, own, f"property {item.id}", case, where)

    # ------------------------------------------------------------ what is asked

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Whether there is such a name, and what its weights are called; the rest is asked then."""
        del answer, draw
        kind = (
            Call("@builtins", "type", read=True, keep="type"),
            Call("@builtins", "isinstance", args=(Ref("it"), Ref("type")), brief=True),
        )
        read = Call(self.question.answer, read=True, keep="it", brief=True)
        name = Scenario(
            f"{self.question.id}: name", (read, *kind) if self.options.construct is not None else (read,)
        )
        naming = self.uses.naming()
        return (name, Scenario(f"{self.question.id}: weights", naming)) if naming else (name,)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The text of the module that holds the right listing."""
        del draw
        module = Ref("module")
        calls = (
            Call(self.question.answer, read=True, keep="it"),
            Call("@inspect", "getmodule", args=(Ref("it"),), keep=module.name),
            Call("@inspect", "getsource", args=(module,)),
        )
        return (Scenario(f"{self.question.id}: listing", calls),)

    def listings(self, expected: Sequence[Observations]) -> Mapping[str, str]:
        """Every listing that is run beforehand: its faults' ids, with blanks between → its text."""
        listing = self.listing(expected)
        every = (*listing.subsets, *listing.alternatives)
        return {self._code(subset): listing.text(subset) for subset in every}

    def listing(self, expected: Sequence[Observations]) -> FaultyListing:
        """The right listing with the places of its faults.

        Raises:
            CourseError: see `FaultyListing`.
            RubricError: the reference did not give its text.
        """
        source, finding = reference_value(observations_at(expected, 0), 2)
        if finding is not None or not isinstance(source, str):
            raise RubricError("the reference's text cannot be read", place(self.question), "reference")
        return self.listing_in(source)

    def listing_in(self, source: str) -> FaultyListing:
        """The right listing in a module's text, with the places of its faults.

        Raises:
            CourseError: see `FaultyListing`.
        """
        where = f"question {self.question.id!r}"
        return self._placed(needed(source, self.question.reference.partition(":")[2]), where)

    def _placed(self, source: str, where: str) -> FaultyListing:
        return FaultyListing(source, self.faults, where, self.alternatives)

    def listing_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """Every probe that is tried; each student is asked some of them."""
        self._tried = draw
        return tuple(self.uses.scenarios(draw).values())

    def accept(self, listed: Sequence[TrialResults]) -> None:
        """Refuse a question whose probes tell nothing.

        Raises:
            RubricError: every listing gives the same for every probe, or the right one always raises, in a
                use or for a value, and nothing says so; says what that is, and what to state.
        """
        if any(len(set(column.tolist())) > 1 for column in self.search(listed).listings.table.T):
            self._refuse_raising(listed)
            return
        right = next(one for one in listed if not one.code)
        outcomes = self._outcomes(self.uses.names, right.observed).values()
        errors = sorted({one.error for one in outcomes if one is not None and one.error})
        told = f"; the right listing gives {', '.join(errors)}" if errors else ""
        raise RubricError(
            f"no probe tells any set of faults from another{told}; state how the code is used: "
            "construct = { args = […] } where the answer is a class (leave it out for a function), and a "
            "[[question.use]] that reaches the faults",
            place(self.question),
            "use",
        )

    def _refuse_raising(self, listed: Sequence[TrialResults]) -> None:
        errors = self._errors(listed)
        for words in (one for one in self.uses.stated if one not in self.uses.edges):
            asking = [probe for probe, asked in self.uses.asks.items() if words in asked]
            said = any(self.uses.always_raises(self.uses.use_of(probe)) for probe in asking)
            if asking and not said and all(errors[probe] for probe in asking):
                raise RubricError(
                    f"{words}: the right listing raises {errors[asking[0]]} in {len(asking)} of "
                    f"{len(asking)} tries, {self._raised(listed, asking[0])}; state arguments for which it "
                    "does not, or raises = true in a use where that is what is looked at",
                    place(self.question),
                    "use",
                )

    def _raised(self, listed: Sequence[TrialResults], probe: str) -> str:
        """Where in a probe the right listing raises, and with which words."""
        right = next(one for one in listed if not one.code)
        observed = observations_at(right.observed, self.uses.names.index(probe))
        at, failing = next((at, one) for at, one in enumerate(observed) if not one.ok)
        return f"{self.uses.place_of(probe, at)}: {quote(failing.message, MAX_TOLD)}"

    def raising(self, listed: Sequence[TrialResults]) -> dict[str, tuple[str, int, int]]:
        """Use → the exception that the right listing raises there, in how many tries, and of how many."""
        errors = self._errors(listed)
        found: dict[str, tuple[str, int, int]] = {}
        for use in dict.fromkeys(map(self.uses.use_of, errors)):
            own = [error for probe, error in errors.items() if self.uses.use_of(probe) == use]
            if raised := [error for error in own if error]:
                found[use] = raised[0], len(raised), len(own)
        return found

    def _errors(self, listed: Sequence[TrialResults]) -> dict[str, str]:
        """Probe → the exception that the right listing raises; empty for none."""
        right = next(one for one in listed if not one.code)
        gave = {
            name: outcome(observations_at(right.observed, at), self.uses.calls[self.uses.use_of(name)])
            for at, name in enumerate(self.uses.names)
        }
        return {name: one.error if one else "" for name, one in gave.items()}

    def mistaken(self, named: Sequence[TrialResults]) -> Iterator[str]:
        """The alternatives that are judged otherwise than they are stated, with the smallest example."""
        chosen = self.search(named)
        found: dict[str, list[str]] = {}
        for one in named:
            subset = frozenset(one.code.split())
            name = next((other for other in self.alternatives if other in subset), None)
            if name is None:
                continue
            gave = self._outcomes(self.uses.names, one.observed)
            probes = (*chosen.asked_first, *asked_besides(chosen, gave))
            told = verdicts(chosen, {probe: gave[probe] for probe in probes}).faults
            if other := [fault for fault in self.faults if told[fault].left is not (fault in subset)]:
                found.setdefault(name, []).append(f"{one.code}: {', '.join(other)}: {told[other[0]].why}")
        for name, examples in found.items():
            yield f"alternative {name!r}: {len(examples)} listings are judged otherwise; {examples[0]}"

    def not_asked(self, named: Sequence[TrialResults]) -> tuple[str, ...]:
        """The uses, values and edge cases that the author stated and no chosen probe asks."""
        asked = self.search(named).asked
        return tuple(one for one in self.uses.stated if one not in asked)

    def second_round(self, evidence: Evidence) -> SecondRound:
        """The probes that were chosen, and the properties."""
        ready = is_blank(evidence.answer) or evidence.draw is None or not evidence.named
        if ready or self._missing(evidence) is not None or evidence.draw is None:
            return SecondRound()
        inputs = Inputs(self.options, evidence.draw)
        properties = (
            Scenario(f"{self.question.id}: property of {name}", one.calls(inputs))
            for name, one in self._properties.items()
        )
        first = self.search(evidence.named, evidence.draw).asked_first
        return SecondRound((*self._scenarios(evidence, evidence.draw, first), *properties))

    def further_calls(self, evidence: Evidence) -> tuple[Scenario, ...]:
        """What stands in for a use that raises, and what is further; then what the last module gives."""
        if evidence.draw is None or not evidence.again:
            return ()
        chosen, draw = self.search(evidence.named, evidence.draw), evidence.draw
        outcomes = self._outcomes(chosen.asked_first, evidence.again)
        besides = asked_besides(chosen, outcomes)
        further = evidence.again[len(chosen.asked_first) + len(self._properties) :]
        if besides and not further:
            return self._scenarios(evidence, draw, besides)
        outcomes |= self._outcomes(besides, further)
        judged_within = len(further) > len(besides) or not self.options.last_module
        if judged_within or not returns_otherwise(chosen, outcomes):
            return ()
        every = self._scenarios(evidence, draw, chosen.probes)
        return tuple(map(inside.of_last_module, every))

    def _scenarios(self, evidence: Evidence, draw: Draw, probes: Sequence[str]) -> tuple[Scenario, ...]:
        own = self.uses.own_weights(observations_at(evidence.observed, 1))
        of_object = _of_object(evidence)
        made = self.uses.scenarios(self._tried or draw, own, of_object=of_object, probes=probes)
        return tuple(made.values())

    def search(self, named: Sequence[TrialResults], draw: Draw | None = None) -> Search:
        """The chosen probes; searched for once for each turn.

        Args:
            named: what the listings gave.
            draw: whose probes: where a rubric says ``redraw`` there are `TURNS` choices.
        """
        if self._listings is None or self._listings[0] is not named:
            self._listings, self._searched = (named, self._made_of(named)), {}
        redrawn = draw is not None and self.rubric.assignment.redraw != "never"
        turn = draw.seed[0] % TURNS if redrawn and draw is not None else 0
        if turn not in self._searched:
            self._searched[turn] = search(self._listings[1], self.options.probes, turn)
        return self._searched[turn]

    def _made_of(self, named: Sequence[TrialResults]) -> Listings:
        uses, errors = self.uses, self._errors(named)
        # Where the right listing raises, nothing is asked of the values that the author wrote.
        asks = {
            probe: asked if not errors[probe] or uses.always_raises(uses.use_of(probe)) else frozenset[str]()
            for probe, asked in uses.asks.items()
        }
        gave = {frozenset(one.code.split()): self._outcomes(uses.names, one.observed) for one in named}
        others = {subset: one for subset, one in gave.items() if not subset.isdisjoint(self.alternatives)}
        own = {subset: one for subset, one in gave.items() if subset not in others}
        made, alternatives = (
            Listings.of(
                tuple(self.faults), [*some], uses.about, [*some.values()],
                rules=self.options.compare, asks=asks,
                relating=frozenset(name for name in uses.names if uses.pairs(name)),
                instead=uses.instead, further=uses.further, whole=uses.whole, alone=uses.alone,
            )
            for some in (own, others)
        )  # fmt: skip
        return msgspec.structs.replace(made, alternatives=alternatives) if others else made

    def _outcomes(
        self, probes: Sequence[str], observed: Sequence[Observations]
    ) -> dict[str, ProbeOutcome | None]:
        return {
            name: related(
                outcome(observations_at(observed, at), self.uses.calls[self.uses.use_of(name)]),
                self.uses.pairs(name),
                self.options.compare,
                self.uses.sure(name),
            )
            for at, name in enumerate(probes)
        }

    def _code(self, subset: Subset) -> str:
        return " ".join(name for name in (*self.alternatives, *self.faults) if name in subset)

    # ------------------------------------------------------------ how it is judged

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; the outcomes are read once."""
        found = functools.cache(lambda: self._found(evidence))
        return self.each(evidence, lambda item, own: self._verdict(item, own, evidence, found()))

    def verdict(self, item: Item, options: DebuggingItem, evidence: Evidence) -> ItemResult | Finding | None:
        """Whether one fault is repaired."""
        return self._verdict(item, options, evidence, self._found(evidence))

    def _missing(self, evidence: Evidence) -> Finding | None:
        name = self.question.answer
        return first_failure(observations_at(evidence.observed, 0), 1, name, name)

    def _found(self, evidence: Evidence) -> Verdicts | Finding:
        missing = self._missing(evidence)
        if missing is not None:
            return missing
        if not evidence.named:
            return review("the listings were not run")
        chosen = self.search(evidence.named, evidence.draw)
        first = len(chosen.asked_first)
        further = evidence.again[first + len(self._properties) :]
        outcomes = self._outcomes(chosen.asked_first, evidence.again)
        besides = asked_besides(chosen, outcomes)
        outcomes |= self._outcomes(besides, further)
        if (within := further[len(besides) :]) and returns_otherwise(chosen, outcomes):
            return self._by_last_module(chosen, evidence, within) or verdicts(chosen, outcomes)
        return verdicts(chosen, outcomes)

    def _by_last_module(
        self, chosen: Search, evidence: Evidence, within: Sequence[Observations]
    ) -> Verdicts | None:
        """The verdicts by what the last module gave; None where that is not what right code returns."""
        every = self._scenarios(evidence, evidence.draw, chosen.probes) if evidence.draw is not None else ()
        asked = [inside.as_asked(one, observations_at(within, at)) for at, one in enumerate(every)]
        outcomes = self._outcomes(chosen.probes, asked)
        if None in outcomes.values() or returns_otherwise(chosen, outcomes):
            return None
        found = verdicts(chosen, outcomes)
        if found.faults[self.options.last_module].left is not False:
            return None  # more comes behind that module, and nobody knows what
        why = "what is returned has another form than what the last module gives"
        faults = {**found.faults, self.options.last_module: FaultVerdict(left=True, why=why)}
        told = filter(None, (f"{why}; the other faults are judged by that", found.defect))
        return Verdicts(faults, "; ".join(told))

    def _verdict(
        self, item: Item, own: DebuggingItem, evidence: Evidence, found: Verdicts | Finding
    ) -> ItemResult | Finding | None:
        if isinstance(found, Finding):
            return found
        if own.new_defect:
            return self._defect(evidence, found)
        verdict = self._of_fault(item.id, evidence, found)
        if verdict.left is None:
            why = "; ".join(filter(None, (verdict.why, found.defect)))
            return review(quote(why, MAX_STAFF), "review.person")
        if verdict.left:
            made = result(self.question, item, failed("debugging.left", verdict.why))
        else:
            told = Message("debugging.repaired")
            made = msgspec.structs.replace(
                result(self.question, item, None), student=told, code=told.code, staff=verdict.why
            )
        notes = [
            found.defect,
            f"{self.question.answer} is an object: its class was judged" * _of_object(evidence),
        ]
        note = "".join(f"; note: {one}" for one in notes if one)
        remark = quote("; ".join(filter(None, notes)), MAX_STAFF)
        return msgspec.structs.replace(made, staff=quote(made.staff + note, MAX_STAFF), remark=remark)

    def _defect(self, evidence: Evidence, found: Verdicts) -> Finding | None:
        """Whether there is a new defect; while a fault waits, that may be all there is."""
        if not found.defect:
            return None
        judged = ((fault, self._of_fault(fault, evidence, found)) for fault in self.faults)
        waiting = ", ".join(fault for fault, verdict in judged if verdict.left is None)
        if waiting:
            return review(quote(f"{waiting} may be why; {found.defect}", MAX_STAFF), "review.person")
        return failed("debugging.defect", found.defect)

    def _of_fault(self, fault: str, evidence: Evidence, found: Verdicts) -> FaultVerdict:
        verdict = found.faults[fault]
        if verdict.left is None and fault in self._properties:
            return self._by_property(fault, evidence, verdict)
        return verdict

    def _by_property(self, fault: str, evidence: Evidence, open_: FaultVerdict) -> FaultVerdict:
        """What the author's property of right code says, where no listing decides."""
        chosen = self.search(evidence.named, evidence.draw).asked_first
        at = len(chosen) + list(self._properties).index(fault)
        observations = observations_at(evidence.again, at)
        finding = self._properties[fault].verdict(observations, self.question.answer, evidence.draw)
        name = self.items[fault].property
        if finding is None:
            return FaultVerdict(left=False, why=f"{name} holds; {open_.why}")
        if finding.status is Status.FAILED and finding.code.startswith("property."):
            return FaultVerdict(
                left=True, why=f"{name} does not hold: {finding.staff or finding.code}; {open_.why}"
            )
        return open_

    # ------------------------------------------------------------ what verify plants

    def trials(self, key: Answer) -> Sequence[Trial]:
        """Subsets of faults in the answer key, each with what it loses, and right answers in other words.

        Raises:
            CourseError: a fault has no place in the answer key.
        """
        source = needed(key.source, self.question.answer)
        listing = self._placed(source, f"question {self.question.id!r}, the answer key")
        unstated = tuple(item.id for item, own in self.automatic if own.new_defect)
        found = planted.trials(listing, unstated)
        if not (fault := self.options.last_module):
            return found
        other = planted.in_another_form(listing.source, self.question.answer)
        name = "what the last module gives, in another form"
        return (*found, Trial(name, other, (fault,), unstated=unstated, family="another form"))


def _of_object(evidence: Evidence) -> bool:
    """Whether the name holds an object, so that its class is meant."""
    kind = observations_at(evidence.observed, 0)[2:]
    return bool(kind) and kind[0].ok and kind[0].value is False


KIND = Kind(DebuggingCheck, form="listing", aliases=("faults",))
