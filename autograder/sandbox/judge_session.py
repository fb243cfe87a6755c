"""Test cells of one submission: they run in a box without student code and query the student's box from it.

Messages between the two boxes are forwarded as they arrived. The receiving box checks each part before
anything is built from it (`wire.Decoder`), and reports values that it refuses. This side reads only the
outcome of a test.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Self

from msgspec.structs import replace

from autograder.core.errors import BoxEnded, SandboxFault
from autograder.core.limits import CLOCK_FACTOR
from autograder.core.records import CellOutcome, CellTest, CheckCall, Ending, Observation
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.sandbox.base import Box, Reply
from autograder.sandbox.exchange import values
from autograder.sandbox.exchange.wire import JUDGE, LIMITED_BOX, REMOTE, Payload, ProtocolError, make_payload
from autograder.sandbox.session import ENDINGS_PER_QUESTION
from autograder.sandbox.timeouts import KnownTimeout, Timeouts

Imports = Sequence[tuple[str, str, str]]
"""Names that belong to a library, whatever the student's box says: name, module, attribute or nothing."""
TIMED_OUT = "the test itself took longer than it may"
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
    def count_time(self, box: Box) -> Iterator[None]:
        """Count the time of the block, except while the box waits for a processor."""
        began, waited = time.monotonic(), box.measure_delay()
        try:
            yield
        finally:
            waited = box.measure_delay() - waited
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
        self._used: dict[int, tuple[frozenset[str], Collection[str], bool]] = {}
        """Id of the box → the files that used it, the functions that fail there, and whether it is shared."""

    def take_box(self, file: str, forbidden: Collection[str] = (), *, shared: bool = False) -> Box:
        """Return a box that is fresh for a file of checks, or the one that all its checks share.

        Args:
            file: digest of the file.
            forbidden: functions that will fail there, and have failed since it was opened.
            shared: return the box in which all checks run again, in the same order as in the student's box.

        Raises:
            BoxEnded: it ended while the cells ran, or there are none.
        """
        if self._open_again is None:
            raise BoxEnded(Ending.NOT_ASKED)
        for box in self._waiting:
            files, failing, is_shared = self._used[id(box)]
            if failing == forbidden and is_shared is shared and (shared or file not in files):
                self._waiting.remove(box)
                self._used[id(box)] = files | {file}, forbidden, shared
                return box
        box = self._open_again()
        self._used[id(box)] = frozenset((file,)), forbidden, shared
        return box

    def put_back(self, box: Box) -> None:
        """Keep a box for other files of checks."""
        self._waiting.append(box)
        if len(self._waiting) > MOST_AT_ONCE:
            self._end_box(self._waiting[0])

    def close(self) -> None:
        """Close the boxes that are waiting."""
        for box in [*self._waiting]:
            self._end_box(box)

    def _end_box(self, box: Box) -> None:
        self._waiting.remove(box)
        del self._used[id(box)]
        box.close()


class _FurtherBoxes:
    """The student's boxes of one test by number; further ones are opened on first use."""

    def __init__(self, student: Box, fresh: _FreshBoxes, check: CheckCall | None) -> None:
        self._boxes = [student]
        self._limited: list[Box] = []
        """Boxes in which functions fail: the one that all checks share, then fresh ones."""
        self._fresh = fresh
        self._file = check.digest if check else ""
        self._forbidden = check.forbidden if check else ()
        self._ended: list[Box] = []

    def __enter__(self) -> Self:
        return self

    def get_box(self, number: int) -> Box:
        """Return a box.

        Raises:
            BoxEnded: there are too many, it was replaced by a newer one, or it ended while the cells ran.
        """
        if number < LIMITED_BOX:
            return self._find_box(self._boxes, number - 1, ())
        if not self._limited:
            self._limited.append(self._fresh.take_box(self._file, self._forbidden, shared=True))
        return self._find_box(self._limited, number - LIMITED_BOX, self._forbidden)

    def _find_box(self, boxes: list[Box], position: int, forbidden: Collection[str]) -> Box:
        # Numbers are positions in the list: the boxes before it are opened as well.
        while len(boxes) <= position:
            if len(boxes) > MOST_FURTHER_BOXES:
                raise BoxEnded(Ending.NOT_ASKED)
            box = self._fresh.take_box(self._file, forbidden)
            # The oldest open box goes back but keeps its position, so that numbers remain valid.
            if len(boxes) > MOST_AT_ONCE:
                self._give_back(boxes[-MOST_AT_ONCE])
            boxes.append(box)
        # This box has been given back above, and may be another check's by now.
        if 0 < position < len(boxes) - MOST_AT_ONCE:
            raise BoxEnded(Ending.NOT_ASKED)
        return boxes[position]

    def note_end(self, box: Box) -> None:
        """Record that a box has ended, so that no other check gets it."""
        self._ended.append(box)

    def _give_back(self, box: Box) -> None:
        if box not in self._ended:
            self._fresh.put_back(box)

    def __exit__(self, *_: object) -> None:
        fresh = [box for boxes in (self._boxes, self._limited) for box in boxes[1:][-MOST_AT_ONCE:]]
        for box in (*fresh, *self._limited[:1]):
            self._give_back(box)


class CellTester:
    """Runs the tests of one submission; opens the judge's box on first use."""

    def __init__(
        self,
        open_box: Callable[[], Box],
        imports: Imports = (),
        open_again: Callable[[], Box] | None = None,
        *,
        call_seconds: float = math.inf,
    ) -> None:
        """Prepare without opening a box.

        Args:
            open_box: opens a judge's box.
            imports: the library names that tests import, with what they refer to.
            open_again: opens a fresh box in which the student's cells have run.
            call_seconds: limit for one operation in a fresh box.
        """
        self._fresh = _FreshBoxes(open_again)
        self._call_seconds = call_seconds
        self._open = open_box
        self._imports = [list(entry) for entry in imports]
        self._judge: Box | None = None
        self._unpacked: set[str] = set()
        """Digests of the files of checks that the judge's box has."""
        self._student: Box | None = None
        self._token = ""

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
            return self._run_inside(test, student, left)
        outcome = self._run_outside(test, student, left)
        if not outcome.passed:
            student.check_crowding()
        # An ending of the box counts as it is; any other outcome of a doubtful test is refused.
        doubted = test.doubtful and outcome.ending is None
        return replace(outcome, refused=outcome.refused or test.doubtful) if doubted else outcome

    def _run_outside(self, test: CellTest, student: Box, left: float) -> CellOutcome:
        if self._student is not student:
            # Another box, other objects: the token tells the judge to forget its handles.
            self._fresh.close()
            self._student, self._token = student, secrets.token_hex(8)
        begin: dict[str, Any] | None = {
            "code": test.code,
            "doctest": test.doctest,
            "shared": test.shared,
            "token": self._token,
            "imports": self._imports,
            "students": list(test.students),
            **({"check": self._describe_check(test.check)} if test.check else {}),
        }
        request = encode_value(None)
        # The student's box is charged twice: for processor time and for time by the clock.
        left, clock = min(test.seconds, left), _Clock(min(test.seconds, left))
        is_limited = False
        with _FurtherBoxes(student, self._fresh, test.check) as boxes:
            for _ in range(MOST_OPERATIONS):
                reply = self._ask_judge(request, left, begin)
                if isinstance(reply, CellOutcome):
                    return reply
                begin = None
                if reply.asks >= LIMITED_BOX and not is_limited:
                    # The answer was judged already. The second run gets time of its own, enough for one
                    # operation that hangs, so that it decides nothing but whether somebody has to look.
                    is_limited = True
                    left, clock = 2 * test.seconds, _Clock(2 * test.seconds)
                try:
                    box = boxes.get_box(reply.asks)
                except BoxEnded as ended:
                    self.close()
                    return CellOutcome(refused=f"a fresh box ended: {ended.ending.value}")
                before = box.measure_processor_time()
                most = math.inf if box is student else self._call_seconds
                answer = self._ask_student(reply.payload, box, min(left, clock.left, most), clock)
                if isinstance(answer, Ending):
                    if box is student:
                        self.close()
                        return CellOutcome(ending=answer)
                    boxes.note_end(box)
                    answer = encode_value({"ended": answer.value})  # the check decides the deduction
                request, left = answer, left - (box.measure_processor_time() - before)
                if min(left, clock.left) <= 0:
                    self.close()
                    if is_limited:
                        return CellOutcome(refused=f"{TIMED_OUT}, where forbidden functions fail")
                    return CellOutcome(ending=Ending.CALL_TIME)
        self.close()
        return CellOutcome(refused=f"it asks more than {MOST_OPERATIONS:,} times for what is the student's")

    def _describe_check(self, call: CheckCall) -> dict[str, Any]:
        """Describe a check for the judge's box; see `autograder.sandbox.inside.check_runner`."""
        description: dict[str, Any] = {
            "digest": call.digest,
            "check": call.check,
            "part": call.part,
            "seed": call.seed.hex(),
            "forbidden": list(call.forbidden),
            "show_values": call.show_values,
        }
        # The program is large, so each judge's box gets it once.
        if self._judge is None or call.digest not in self._unpacked:
            description["program"] = call.program
        return description

    def _ask_student(self, asking: Payload, student: Box, seconds: float, clock: _Clock) -> Payload | Ending:
        """Return the reply of a box of the student's, or why the box ended."""
        try:
            with clock.count_time(student):
                answer = student.forward_message(REMOTE, asking, seconds=max(seconds, _LEAST_SECONDS))
        except BoxEnded as ended:
            return ended.ending
        if isinstance(answer, Reply):
            return answer.payload
        return encode_value({"failed": f"{answer.error}: {answer.message}{_suggest_remedy(answer)}"})

    def _ask_judge(
        self, request: Payload, seconds: float, begin: Mapping[str, Any] | None
    ) -> Reply | CellOutcome:
        """Return the next request of the test, or its outcome."""
        if self._judge is None:
            self._judge = self._open()
        if begin and "check" in begin:
            self._unpacked.add(begin["check"]["digest"])
        try:
            reply = self._judge.forward_message(
                JUDGE, request, seconds=max(seconds, _LEAST_SECONDS), begin=begin
            )
        except BoxEnded as ended:
            self.close()
            late = ended.ending is Ending.CALL_TIME
            return CellOutcome(refused=TIMED_OUT if late else f"the judge's box ended: {ended.ending.value}")
        if isinstance(reply, Observation):
            self.close()
            raise SandboxFault(f"a test could not be run: {reply.error}: {reply.message}")
        # The payload is passed on unread: the box that gets it checks every part before anything is built
        # from it.
        if reply.asks:
            return reply
        try:
            outcome = values.decode_payload(reply.payload)
        except ProtocolError as error:
            self.close()
            return CellOutcome(refused=f"the judge's box told no outcome: {error}")
        malformed = isinstance(outcome, dict) and "malformed" in outcome
        return self._end_malformed() if malformed else read_outcome(outcome)

    def _end_malformed(self) -> CellOutcome:
        """End the student's box after an unreadable reply: it has broken the protocol."""
        if self._student is not None:
            self._student.close()
        self.close()
        return CellOutcome(ending=Ending.PROTOCOL)

    def _run_inside(self, test: CellTest, student: Box, left: float) -> CellOutcome:
        """Run a test in the student's box; if it passes, run the variants that must not pass as well."""
        until = student.measure_processor_time() + min(test.seconds, left)
        outcome = _run_in_student_box(test.code, test, student, until)
        if outcome.passed:
            for changed in test.changed:
                again = _run_in_student_box(changed, test, student, until)
                if again.passed and again.value == outcome.value:
                    return replace(
                        outcome, doubt="it passes as well with what it compares with changed: disarmed"
                    )
                if again.ending is not None:
                    return again
        return outcome

    def close(self) -> None:
        """Close the judge's box and the fresh ones; the next test opens others."""
        judge, self._judge, self._student = self._judge, None, None
        self._unpacked.clear()
        self._fresh.close()
        if judge is not None:
            judge.close()


def _suggest_remedy(answer: Observation) -> str:
    """Return what staff can do if a value does not fit between the boxes."""
    if answer.error not in ("ReplyTooLarge", "ProtocolError"):
        return ""
    raised = (
        "raise reply_mb in [assignment.limits], or " if answer.message.endswith("MB were returned") else ""
    )
    return f"; {raised}let the test look at less of it, such as a shape or some rows"


def _run_in_student_box(code: str, test: CellTest, student: Box, until: float) -> CellOutcome:
    request = encode_value(["test", [code, test.doctest], {}, {}, "", 0])
    try:
        reply = student.forward_message(
            REMOTE, request, seconds=max(_LEAST_SECONDS, until - student.measure_processor_time())
        )
        content = values.decode_payload(reply.payload) if isinstance(reply, Reply) else None
    except BoxEnded as ended:
        return CellOutcome(ending=ended.ending, inside=True)
    except ProtocolError:
        student.close()
        return CellOutcome(ending=Ending.PROTOCOL, inside=True)
    # Written by student code: anything but pairs of a dictionary counts as no outcome.
    pairs = content.get("v") if isinstance(content, dict) else None
    if not isinstance(pairs, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        pairs = ()
    return replace(read_outcome({str(name): value for name, value in pairs} or None), inside=True)


def read_outcome(content: object) -> CellOutcome:
    """Read the outcome that a box reports; if it reports none, the test could not be judged."""
    if not isinstance(content, Mapping):
        return CellOutcome(refused="the test brought no outcome")
    # If the test ran in the student's box, every field is under the student's control: types are checked and
    # sizes are capped.
    value, words, mistakes = content.get("value"), content.get("own_words"), content.get("mistakes")
    share, words_for_students, lines = content.get("share"), content.get("told"), content.get("values")
    return CellOutcome(
        error=_read_text(content, "error"),
        message=_read_text(content, "message"),
        printed=_read_text(content, "printed"),
        refused=_read_text(content, "refused"),
        doubt=_read_text(content, "doubt"),
        value=value if isinstance(value, float | str | bool | None) else "object",
        own_words=tuple(str(item)[:200] for item in words[:20]) if isinstance(words, list) else (),
        raised=content.get("raised") is True,
        missing=_read_text(content, "missing"),
        forbidden=_read_text(content, "forbidden"),
        share=share if isinstance(share, float) and 0 <= share < 1 else 0.0,
        mistakes=tuple(str(item) for item in mistakes) if isinstance(mistakes, list) else (),
        told=_read_texts(words_for_students),
        carried=tuple(map(str, carried)) if isinstance(carried := content.get("carried"), list) else (),
        values=tuple(map(str, lines[:MOST_VALUES])) if isinstance(lines, list) else (),
    )


def _read_text(content: Mapping[str, Any], name: str) -> str:
    text = content.get(name)
    return text[:_MOST_TEXT] if isinstance(text, str) else ""


def _read_texts(content: object) -> dict[str, str]:
    """Return a text by language, as far as a box has reported one."""
    pairs = list(content.items())[:_MOST_LANGUAGES] if isinstance(content, dict) else []
    return {
        language[:_MOST_TEXT]: text[:_MOST_TEXT]
        for language, text in pairs
        if isinstance(language, str) and isinstance(text, str)
    }


def encode_value(value: Any) -> Payload:
    """Encode our own values for a box."""
    encoder = values.TrustedEncoder()
    return make_payload(encoder.encode(value), encoder.arrays)


# Cached because the same tests run for every submission.
@functools.lru_cache(maxsize=512)
def find_unbound_names(code: str, *, doctests: bool = False) -> tuple[str, ...]:
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

            code = "".join(node.source for node in doctest.DocTestParser().get_examples(code))
        tree = parse_module(code)
    except UNREADABLE:
        return ()
    for node in ast.walk(tree):
        if type(node) is ast.Name:
            (used if type(node.ctx) is ast.Load else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return tuple(sorted(used - bound))


ItemKey = tuple[str, str]
"""Question and item."""


def _count_endings(outcomes: Mapping[ItemKey, CellOutcome], question: str) -> int:
    """Return how many tests of a question have ended the student's box."""
    return sum(key[0] == question and outcome.ending is not None for key, outcome in outcomes.items())


def create_visit(
    runner: CellTester,
    tests: Mapping[ItemKey, CellTest],
    outcomes: dict[ItemKey, CellOutcome],
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

    def run_tests(student: Box, left: float, skipped: Collection[int]) -> None:
        until = student.measure_processor_time() + left
        for key, test in tests.items():
            if key in outcomes:
                continue
            if not test.shared and _count_endings(outcomes, key[0]) >= ENDINGS_PER_QUESTION:
                # Otherwise one function that never ends would take the time of all other questions.
                outcomes[key] = CellOutcome(ending=Ending.NOT_ASKED)
                continue
            left = until - student.measure_processor_time()
            has_full_time = left >= test.seconds  # otherwise the submission's time is the limit
            # The set of earlier tests in this box is part of the name: they may have changed its state.
            name = repr((key, sorted(outcomes))).encode() + basis
            if has_full_time and timeouts.is_known_test(name, skipped):
                outcomes[key] = CellOutcome(ending=Ending.CALL_TIME, inside=test.inside)
                raise KnownTimeout(test.seconds)
            outcome = runner.run(test, student, left)
            if outcome.ending is Ending.CALL_TIME and has_full_time:
                timeouts.record_test(name, skipped)
            elif outcome.ending is Ending.CALL_TIME:
                outcome = replace(outcome, ending=Ending.SUBMISSION_TIME)
            outcomes[key] = outcome
            if outcome.ending is not None:
                raise BoxEnded(outcome.ending)

    return run_tests
