"""Remembers which cells, calls and tests of a submission timed out, so that no endless loop runs twice.

A timeout is identified by everything that decides it: installed software, the notebook's cells, files and
limits, and the earlier requests to the box. Other changes, such as points or accepted answers, do not matter:
the same code would only use up the same time again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence

from autograder.core.errors import BoxEnded
from autograder.core.records import Call, Ending
from autograder.sandbox.exchange import values, wire


class KnownTimeout(BoxEnded):
    """A test is known to time out: it was not run, and the box ends as it did when the test ran."""

    def __init__(self, seconds: float) -> None:
        super().__init__(Ending.CALL_TIME)
        self.seconds = seconds
        """Seconds of the submission's time that the test would use up."""


class NewTimeout(BaseException):
    """A run that stops at its first new timeout met one.

    Not an `Exception`: code that handles the errors of one question must not catch it.
    """


class Timeouts:
    """The timeouts of one notebook of a submission: those of earlier runs, and those met in this run.

    Attributes:
        met: the names of the timeouts that this run met or avoided. Stores keep a number with each; it is 0.
    """

    def __init__(
        self,
        basis: Callable[[], bytes] = bytes,
        earlier: Mapping[str, int] | None = None,
        *,
        stop_at_new: bool = False,
    ) -> None:
        """Start with the timeouts of earlier runs.

        Args:
            basis: returns a digest of everything that decides how the code behaves, except its requests.
                Called at most once, on first use.
            earlier: `met` of earlier runs; names that belong to other code match nothing.
            stop_at_new: raise `NewTimeout` as soon as an unknown timeout is recorded.
        """
        self._basis = basis
        self._digest = b""
        self._known = dict(earlier or {})
        self._stop_at_new = stop_at_new
        self._digests: dict[Call, bytes] = {}
        self.met: dict[str, int] = {}

    def record_cell(self, number: int, skipped: Collection[int]) -> None:
        """Record that a cell timed out in a box in which the skipped cells did not run."""
        self._record_name(self._name_cell(number, skipped))

    def record_call(self, calls: Sequence[Call], skipped: Collection[int]) -> None:
        """Record that the last of these calls timed out, after the others in the same box.

        Args:
            calls: the calls.
            skipped: the cells that did not run in that box.
        """
        self._record_name(self._name_call(calls, skipped))

    def is_known_cell(self, number: int, skipped: Collection[int]) -> bool:
        """Return whether a cell is known to time out."""
        return bool(self._known) and self._check_known(self._name_cell(number, skipped))

    def is_known_call(self, calls: Sequence[Call], skipped: Collection[int]) -> bool:
        """Return whether the last of these calls is known to time out."""
        return bool(self._known) and self._check_known(self._name_call(calls, skipped))

    def record_test(self, test: bytes, skipped: Collection[int]) -> None:
        """Record that a test timed out in a box in which the skipped cells did not run.

        Args:
            test: identifies the test, all other tests of the notebook, and those that ran in the box before.
            skipped: the cells that did not run in that box.
        """
        self._record_name(self._name_test(test, skipped))

    def is_known_test(self, test: bytes, skipped: Collection[int]) -> bool:
        """Return whether a test is known to time out; see `record_test`."""
        return bool(self._known) and self._check_known(self._name_test(test, skipped))

    def _record_name(self, name: str) -> None:
        self.met[name] = 0
        if self._stop_at_new and name not in self._known:
            raise NewTimeout

    def _check_known(self, name: str) -> bool:
        if name in self._known:  # keeps it known for the next run
            self.met[name] = 0
        return name in self._known

    def _name_cell(self, number: int, skipped: Collection[int]) -> str:
        return self._build_name([str([sorted(skipped), number]).encode()])

    def _name_call(self, calls: Sequence[Call], skipped: Collection[int]) -> str:
        return self._build_name([str(sorted(skipped)).encode(), *map(self._hash_call, calls)])

    def _name_test(self, test: bytes, skipped: Collection[int]) -> str:
        return self._build_name([b"test", str(sorted(skipped)).encode(), test])

    def _build_name(self, parts: Sequence[bytes]) -> str:
        self._digest = self._digest or self._basis()
        # The lengths keep the concatenation unambiguous.
        lengths = str([len(part) for part in parts]).encode()
        return hashlib.sha256(b"".join((self._digest, lengths, *parts))).hexdigest()[:32]

    def _hash_call(self, call: Call) -> bytes:
        # Each call is named again together with all calls after it, and its arrays may be large.
        if call not in self._digests:
            encoder = values.TrustedEncoder()
            frame = wire.pack({"call": values.encode_call(call, encoder)}, encoder.arrays)
            self._digests[call] = hashlib.sha256(b"".join(frame)).digest()
        return self._digests[call]


class SubmissionTimeouts:
    """The timeouts of all notebooks of a submission.

    Attributes:
        known: `met` of earlier runs.
        met: those of this run from which conclusions may be drawn, as `Timeouts.met`.
    """

    def __init__(self, earlier: Mapping[str, int] | None = None, *, stop_at_new: bool = False) -> None:
        """Start with the timeouts of earlier runs.

        Args:
            earlier: `met` of earlier runs.
            stop_at_new: raise `NewTimeout` at the first one that is not known.
        """
        self.known = dict(earlier or {})
        self.met: dict[str, int] = {}
        self._stop_at_new = stop_at_new

    def get_notebook_timeouts(self, basis: Callable[[], bytes]) -> Timeouts:
        """Return the time-outs of one notebook; see `Timeouts`."""
        return Timeouts(basis, self.known, stop_at_new=self._stop_at_new)
