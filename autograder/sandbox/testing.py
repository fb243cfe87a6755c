"""Test cells of one submission: they run in a box without student code and query the student's box from it.

Messages between the two boxes are forwarded as they arrived. The receiving box checks each part before
anything is built from it (`wire.Decoder`), and reports values that it refuses. This side reads only the
outcome of a test and, if the test is the student's, its requests.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Self

from msgspec.structs import replace

from autograder.errors import BoxEnded, SandboxFault
from autograder.limits import CLOCK_FACTOR
from autograder.records import CellOutcome, CellTest, CheckCall, Ending, Observation
from autograder.sandbox.base import Box, Reply
from autograder.sandbox.exchange import values
from autograder.sandbox.exchange.wire import LIMITED_BOX, ProtocolError, Told, telling
from autograder.sandbox.session import ENDINGS_PER_QUESTION
from autograder.sandbox.timeouts import KnownTimeout, Timeouts
from autograder.stopwatch import Stopwatch
from autograder.syntax import UNREADABLE, parsed

JUDGE, REMOTE = "@judge", "@remote"
Imports = Sequence[tuple[str, str, str]]
"""Names that belong to a library, whatever the student's box says: name, module, attribute or nothing."""
Refuses = Callable[[Sequence[Any]], str]
"""Checks one operation that the judge's box requests: its name, operands, keywords and changes."""
TIMED_OUT = "the test itself took longer than it may"
TOO_DEEP = "a value is nested too deeply to go from one box to the other"
MOST_OPERATIONS = 100_000
"""Limit for one test."""
_MOST_TEXT = 4000
_MOST_LANGUAGES = 20
MOST_VALUES = 200
"""Number of lines about drawn and compared values that one check may report."""
_LEAST_SECONDS = 0.01


class _Clock:
    """The wall-clock time that student code may use for all requests of one test."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    @contextlib.contextmanager
    def running(self, box: Box) -> Iterator[None]:
        """Count the time of the block, except while the box waits for a processor."""
        began, waited = time.monotonic(), box.delayed()
        try:
            yield
        finally:
            waited = box.delayed() - waited
            self.left -= max(0.0, time.monotonic() - began - waited) / CLOCK_FACTOR


MOST_FURTHER_BOXES = 100
"""Limit for one test."""
MOST_AT_ONCE = 4
"""Number of open further boxes of one test; opening another one ends the oldest. As many may be waiting."""


class _FreshBoxes:
    """Boxes in which the student's cells have run, each fresh for every file of checks that has not used it.

    A property such as "an output does not depend on an input" compares calls in such a box with calls that it
    must not know about. Knowledge of another question's calls does not help with that.
    """

    def __init__(self, open_again: Callable[[], Box] | None) -> None:
        self._open_again = open_again
        self._waiting: list[Box] = []
        self._used: dict[int, tuple[frozenset[str], Collection[str]]] = {}
        """Id of the box → the files that used it, and the functions that were made to fail there."""

    def take(self, file: str, forbidden: Collection[str] = ()) -> Box:
        """Return a box that is fresh for a file of checks, or one in which the same functions fail.

        Args:
            file: digest of the file.
            forbidden: functions that will fail there, and have failed since it was opened.

        Raises:
            BoxEnded: it ended while the cells ran, or there are none.
        """
        if self._open_again is None:
            raise BoxEnded(Ending.NOT_ASKED)
        for box in self._waiting:
            files, failing = self._used[id(box)]
            # If functions are made to fail, all checks run again in one box: opening one takes longer.
            if failing == forbidden and (forbidden or file not in files):
                self._waiting.remove(box)
                self._used[id(box)] = files | {file}, forbidden
                return box
        box = self._open_again()
        self._used[id(box)] = frozenset((file,)), forbidden
        return box

    def put_back(self, box: Box) -> None:
        """Keep a box for other files of checks."""
        self._waiting.append(box)
        if len(self._waiting) > MOST_AT_ONCE:
            self._end(self._waiting[0])

    def close(self) -> None:
        """Close the boxes that are waiting."""
        for box in [*self._waiting]:
            self._end(box)

    def _end(self, box: Box) -> None:
        self._waiting.remove(box)
        del self._used[id(box)]
        box.close()


class _FurtherBoxes:
    """The student's boxes of one test by number; further ones are opened on first use."""

    def __init__(self, student: Box, fresh: _FreshBoxes, check: CheckCall | None) -> None:
        self._boxes = [student]
        self._fresh = fresh
        self._file = check.digest if check else ""
        self._forbidden = check.forbidden if check else ()
        self._limited: Box | None = None
        self._ended: list[Box] = []

    def __enter__(self) -> Self:
        return self

    def number(self, number: int) -> Box:
        """Return a box.

        Raises:
            BoxEnded: there are too many, it was replaced by a newer one, or it ended while the cells ran.
        """
        if number == LIMITED_BOX:
            self._limited = self._limited or self._fresh.take(self._file, self._forbidden)
            return self._limited
        # Numbers are positions in the list: the boxes before it are opened as well.
        while len(self._boxes) < number:
            if len(self._boxes) > MOST_FURTHER_BOXES:
                raise BoxEnded(Ending.NOT_ASKED)
            box = self._fresh.take(self._file)
            # The oldest open box goes back but keeps its position, so that numbers remain valid.
            if len(self._boxes) > MOST_AT_ONCE:
                self._give_back(self._boxes[-MOST_AT_ONCE])
            self._boxes.append(box)
        # This box has been given back above, and may be another check's by now.
        if 1 < number <= len(self._boxes) - MOST_AT_ONCE:
            raise BoxEnded(Ending.NOT_ASKED)
        return self._boxes[number - 1]

    def note_end(self, box: Box) -> None:
        """Record that a box has ended, so that no other check gets it."""
        self._ended.append(box)

    def _give_back(self, box: Box) -> None:
        if box not in self._ended:
            self._fresh.put_back(box)

    def __exit__(self, *_: object) -> None:
        limited = [self._limited] if self._limited else []
        for box in (*self._boxes[1:][-MOST_AT_ONCE:], *limited):
            self._give_back(box)


class CellTester:
    """Runs the tests of one submission; opens the judge's box on first use."""

    def __init__(
        self,
        open_box: Callable[[], Box],
        imports: Imports = (),
        refuses: Refuses | None = None,
        stopwatch: Stopwatch | None = None,
        open_again: Callable[[], Box] | None = None,
        *,
        call_seconds: float = math.inf,
    ) -> None:
        """Prepare without opening a box.

        Args:
            open_box: opens a judge's box.
            imports: the library names that tests import, with what they refer to.
            refuses: returns why a test may not request something of the student's box; empty if it may.
            stopwatch: receives the processor time of the judge's boxes.
            open_again: opens a fresh box in which the student's cells have run.
            call_seconds: limit for one operation in a fresh box.
        """
        self._fresh = _FreshBoxes(open_again)
        self._call_seconds = call_seconds
        self._open = open_box
        self._stopwatch = stopwatch or Stopwatch()
        self._refuses = refuses
        self._imports = [list(one) for one in imports]
        self._judge: Box | None = None
        self._watched: tuple[str, ...] = ()
        """Names of the student's box whose values the judge's box knows."""
        self._unpacked: set[str] = set()
        """Digests of the files of checks that the judge's box has."""
        self._student: Box | None = None
        self._token = ""

    def begin_visit(self) -> None:
        """Note that cells have run since the last test: names may have new values."""
        self._watched = ()

    def run(self, test: CellTest, student: Box, left: float = math.inf) -> CellOutcome:
        """Run one test; if it ended the student's box, the outcome says so.

        Args:
            test: the test.
            student: the box, in which the notebook has run up to the test.
            left: processor seconds that the submission still has.

        Raises:
            SandboxFault: our side failed.
        """
        if test.inside:
            return self._inside(test, student, left)
        outcome = self._outside(test, student, left)
        if not outcome.passed:
            student.look_for_crowding()
        # An ending of the box counts as it is; any other outcome of a doubtful test is refused.
        doubted = test.doubtful and outcome.ending is None
        return replace(outcome, refused=outcome.refused or test.doubtful) if doubted else outcome

    def _outside(self, test: CellTest, student: Box, left: float) -> CellOutcome:
        if self._student is not student:
            # Another box, other objects: the token tells the judge to forget its handles.
            self._fresh.close()
            self._student, self._token = student, secrets.token_hex(8)
            self._watched = ()
        begin: dict[str, Any] | None
        begin = {
            "code": test.code,
            "doctest": test.doctest,
            "shared": test.shared,
            "token": self._token,
            "imports": self._imports,
            "students": list(test.students),
            **({"check": self._check_call(test.check)} if test.check else {}),
        }
        names, request, box = self._names(test), written(None), student
        is_watched = test.check is not None and names == self._watched != ()
        begin["watched"] = is_watched
        self._watched = names if test.check else ()
        watched = [names, test.check is None]
        asking = None
        if names and not is_watched:
            asking = written(["watch", watched, {}, {}, self._token, 0])
        # The student's box is charged twice: for processor time and for time by the clock.
        left, clock = min(test.seconds, left), _Clock(min(test.seconds, left))
        with _FurtherBoxes(student, self._fresh, test.check) as boxes:
            for _ in range(MOST_OPERATIONS):
                if asking is not None:
                    before = box.computed()
                    most = math.inf if box is student else self._call_seconds
                    answer = self._asked_of_student(asking, box, min(left, clock.left, most), clock)
                    if isinstance(answer, CellOutcome) and answer.ending and box is not student:
                        boxes.note_end(box)
                        answer = written({"ended": answer.ending.value})  # the check decides the deduction
                    if isinstance(answer, CellOutcome):
                        self.close()
                        return answer
                    request, left = answer, left - (box.computed() - before)
                    if min(left, clock.left) <= 0:
                        self.close()
                        return CellOutcome(ending=Ending.CALL_TIME)
                told = self._asked_of_judge(request, left, begin)
                if isinstance(told, CellOutcome):
                    return told
                asking, begin = told.told, None
                try:
                    box = boxes.number(told.asks)
                except BoxEnded as ended:
                    self.close()
                    return CellOutcome(refused=f"a fresh box ended: {ended.ending.value}")
        self.close()
        return CellOutcome(refused=f"it asks more than {MOST_OPERATIONS:,} times for what is the student's")

    def _check_call(self, call: CheckCall) -> dict[str, Any]:
        """Describe a check for the judge's box; see `autograder.sandbox.inside.checks`."""
        told: dict[str, Any] = {
            "digest": call.digest,
            "check": call.check,
            "part": call.part,
            "seed": call.seed.hex(),
            "forbidden": list(call.forbidden),
            "show_values": call.show_values,
        }
        # The program is large, so each judge's box gets it once.
        if self._judge is None or call.digest not in self._unpacked:
            told["program"] = call.program
        return told

    def _names(self, test: CellTest) -> tuple[str, ...]:
        """Find the names of a test that the student defines, as far as can be known before it runs."""
        if test.check:
            return test.students
        imported = {name for name, *_ in self._imports}
        return tuple(
            name
            for name in unbound_names(test.code, doctests=test.doctest)
            if name in test.students
            or not (name.startswith("__") or hasattr(builtins, name) or name in imported)
        )

    def _asked_of_student(
        self, asking: Told, student: Box, seconds: float, clock: _Clock
    ) -> Told | CellOutcome:
        """Return the reply of the student's box, or the outcome if the test ends here."""
        try:
            if self._refuses:
                asked = list(values.replied_value(asking))
                if why := self._refuses(asked):
                    return CellOutcome(refused=why)
                asking = written(asked)  # exactly the values that were checked
            with clock.running(student):
                answer = student.hand_on(REMOTE, asking, seconds=max(seconds, _LEAST_SECONDS))
        except ProtocolError:
            return CellOutcome(refused=TOO_DEEP)
        except BoxEnded as ended:
            return CellOutcome(ending=ended.ending)
        if isinstance(answer, Reply):
            return answer.told
        return written({"failed": f"{answer.error}: {answer.message}{_advice(answer)}"})

    def _asked_of_judge(
        self, request: Told, seconds: float, begin: Mapping[str, Any] | None
    ) -> Reply | CellOutcome:
        """Return the next request of the test, or its outcome."""
        if self._judge is None:
            self._judge = self._open()
        if begin and "check" in begin:
            self._unpacked.add(begin["check"]["digest"])
        try:
            reply = self._judge.hand_on(JUDGE, request, seconds=max(seconds, _LEAST_SECONDS), begin=begin)
        except BoxEnded as ended:
            self.close()
            late = ended.ending is Ending.CALL_TIME
            return CellOutcome(refused=TIMED_OUT if late else f"the judge's box ended: {ended.ending.value}")
        if isinstance(reply, Observation):
            self.close()
            raise SandboxFault(f"a test could not be run: {reply.error}: {reply.message}")
        if reply.asks:
            return reply
        try:
            found = values.replied_value(reply.told)
        except ProtocolError as error:
            self.close()
            return CellOutcome(refused=f"the judge's box told no outcome: {error}")
        malformed = isinstance(found, dict) and "malformed" in found
        return self._no_value() if malformed else outcome_of(found)

    def _no_value(self) -> CellOutcome:
        """End the student's box after an unreadable reply: it has broken the protocol."""
        if self._student is not None:
            self._student.close()
        self.close()
        return CellOutcome(ending=Ending.PROTOCOL)

    def _inside(self, test: CellTest, student: Box, left: float) -> CellOutcome:
        """Run a test in the student's box; if it passes, run the variants that must not pass as well."""
        until = student.computed() + min(test.seconds, left)
        found = _told_inside(test.code, test, student, until)
        if found.passed:
            for changed in test.changed:
                again = _told_inside(changed, test, student, until)
                if again.passed and again.value == found.value:
                    return replace(
                        found, doubt="it passes as well with what it compares with changed: disarmed"
                    )
                if again.ending is not None:
                    return again
        return found

    def close(self) -> None:
        """Close the judge's box and the fresh ones; the next test opens others."""
        judge, self._judge, self._student = self._judge, None, None
        self._unpacked.clear()
        self._watched = ()
        self._fresh.close()
        if judge is not None:
            self._stopwatch.add("in boxes", judge.close().time)


def _advice(answer: Observation) -> str:
    """Return what staff can do if a value does not fit between the boxes."""
    if answer.error not in ("ReplyTooLarge", "ProtocolError"):
        return ""
    raised = (
        "raise reply_mb in [assignment.limits], or " if answer.message.endswith("MB were returned") else ""
    )
    return f"; {raised}let the test look at less of it, such as a shape or some rows"


def _told_inside(code: str, test: CellTest, student: Box, until: float) -> CellOutcome:
    asked = written(["test", [code, test.doctest], {}, {}, "", 0])
    try:
        reply = student.hand_on(REMOTE, asked, seconds=max(_LEAST_SECONDS, until - student.computed()))
        told = values.replied_value(reply.told) if isinstance(reply, Reply) else None
    except BoxEnded as ended:
        return CellOutcome(ending=ended.ending, inside=True)
    except ProtocolError:
        student.close()
        return CellOutcome(ending=Ending.PROTOCOL, inside=True)
    # Written by student code: anything but pairs of a dictionary counts as no outcome.
    pairs = told.get("v") if isinstance(told, dict) else None
    if not isinstance(pairs, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in pairs):
        pairs = ()
    return replace(outcome_of({str(name): value for name, value in pairs} or None), inside=True)


def outcome_of(told: object) -> CellOutcome:
    """Read the outcome that a box reports; if it reports none, the test could not be judged."""
    if not isinstance(told, Mapping):
        return CellOutcome(refused="the test brought no outcome")
    # If the test ran in the student's box, every field is under the student's control: types are checked and
    # sizes are capped.
    value, words, mistakes = told.get("value"), told.get("own_words"), told.get("mistakes")
    share, words_for_students, lines = told.get("share"), told.get("told"), told.get("values")
    return CellOutcome(
        error=_text(told, "error"),
        message=_text(told, "message"),
        printed=_text(told, "printed"),
        refused=_text(told, "refused"),
        doubt=_text(told, "doubt"),
        value=value if isinstance(value, float | str | bool | None) else "object",
        own_words=tuple(str(one)[:200] for one in words[:20]) if isinstance(words, list) else (),
        raised=told.get("raised") is True,
        missing=_text(told, "missing"),
        forbidden=_text(told, "forbidden"),
        share=share if isinstance(share, float) and 0 <= share < 1 else 0.0,
        mistakes=tuple(str(one) for one in mistakes) if isinstance(mistakes, list) else (),
        told=_texts(words_for_students),
        carried=tuple(map(str, carried)) if isinstance(carried := told.get("carried"), list) else (),
        values=tuple(map(str, lines[:MOST_VALUES])) if isinstance(lines, list) else (),
    )


def _text(told: Mapping[str, Any], name: str) -> str:
    text = told.get(name)
    return text[:_MOST_TEXT] if isinstance(text, str) else ""


def _texts(told: object) -> dict[str, str]:
    """Return a text by language, as far as a box has reported one."""
    pairs = list(told.items())[:_MOST_LANGUAGES] if isinstance(told, dict) else []
    return {
        language[:_MOST_TEXT]: text[:_MOST_TEXT]
        for language, text in pairs
        if isinstance(language, str) and isinstance(text, str)
    }


def written(told: Any) -> Told:
    """Encode our own values for a box."""
    encoder = values.TrustedEncoder()
    return telling(encoder.encode(told), encoder.arrays)


# Cached because the same tests run for every submission.
@functools.lru_cache(maxsize=512)
def unbound_names(code: str, *, doctests: bool = False) -> tuple[str, ...]:
    """Find the names that a test uses and does not bind; none if it is not valid Python.

    Args:
        code: source code of the test.
        doctests: whether it is an interactive session.
    """
    used: set[str] = set()
    bound: set[str] = set()
    try:
        if doctests:
            import doctest  # a slow import that most tests do not need

            code = "".join(one.source for one in doctest.DocTestParser().get_examples(code))
        tree = parsed(code)
    except UNREADABLE:
        return ()
    for one in ast.walk(tree):
        if type(one) is ast.Name:
            (used if type(one.ctx) is ast.Load else bound).add(one.id)
        elif isinstance(one, ast.FunctionDef | ast.ClassDef):
            bound.add(one.name)
        elif isinstance(one, ast.arg):
            bound.add(one.arg)
        elif isinstance(one, ast.alias):
            bound.add((one.asname or one.name).partition(".")[0])
        elif isinstance(one, ast.ExceptHandler) and one.name:
            bound.add(one.name)
    return tuple(sorted(used - bound))


Key = tuple[str, str]
"""Question and item."""


def _count_endings(found: Mapping[Key, CellOutcome], question: str) -> int:
    """Return how many tests of a question have ended the student's box."""
    return sum(key[0] == question and outcome.ending is not None for key, outcome in found.items())


def visit(
    runner: CellTester,
    tests: Mapping[Key, CellTest],
    found: dict[Key, CellOutcome],
    timeouts: Timeouts,
    basis: bytes = b"",
) -> Callable[[Box, float, Collection[int]], None]:
    """Create the visit of a `Session` at one cell: it runs the tests that have no outcome yet.

    Args:
        runner: of the submission.
        tests: the tests at this cell.
        outcomes: receives the outcomes.
        timeouts: of the notebook; a test that is known to time out is not run.
        basis: identifies all tests of the notebook and their imports.
    """

    def run(student: Box, left: float, skipped: Collection[int]) -> None:
        until = student.computed() + left
        runner.begin_visit()
        for key, test in tests.items():
            if key in found:
                continue
            if not test.shared and _count_endings(found, key[0]) >= ENDINGS_PER_QUESTION:
                # Otherwise one function that never ends would take the time of all other questions.
                found[key] = CellOutcome(ending=Ending.NOT_ASKED)
                continue
            left = until - student.computed()
            has_full_time = left >= test.seconds  # otherwise the submission's time is the limit
            # The set of earlier tests in this box is part of the name: they may have changed its state.
            name = repr((key, sorted(found))).encode() + basis
            if has_full_time and timeouts.recall_test(name, skipped):
                found[key] = CellOutcome(ending=Ending.CALL_TIME, inside=test.inside)
                raise KnownTimeout(test.seconds)
            outcome = runner.run(test, student, left)
            if outcome.ending is Ending.CALL_TIME and has_full_time:
                timeouts.remember_test(name, skipped)
            elif outcome.ending is Ending.CALL_TIME:
                outcome = replace(outcome, ending=Ending.SUBMISSION_TIME)
            found[key] = outcome
            if outcome.ending is not None:
                raise BoxEnded(outcome.ending)

    return run
