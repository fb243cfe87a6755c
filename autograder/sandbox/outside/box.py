"""The trusted end of one box: sends requests, reads replies within deadlines, and ends the box.

Everything that arrives is under the student's control. Unsolicited, malformed, late or oversized bytes end
the box, and the ending says which.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from autograder.core.errors import BoxEnded, SandboxFault
from autograder.core.limits import (
    CLOCK_FACTOR,
    FLOOD_FACTOR,
    MAX_CLOCK_FACTOR,
    UNKNOWN_WAIT_FACTOR,
    MemoryBudget,
)
from autograder.core.records import Call, CellRun, Ending, Limits, Observation
from autograder.sandbox.base import Reply, Usage
from autograder.sandbox.exchange import values, wire
from autograder.sandbox.exchange.wire import Buffer
from autograder.sandbox.outside.watch import Watch, check_cause, has_ended_itself, is_process_one
from autograder.sandbox.runtime import PACKAGES

# Deadlines, in seconds, for steps that involve no student code.
OPEN_SECONDS = 30.0
CLOSE_SECONDS = 10.0
MAX_JSON = 4 << 20
"""Text of one answer: large values are arrays."""
_ESCAPED = 12
"""Bytes that a character of output can take as JSON."""
ARRIVING_SECONDS = 2.0
"""Seconds that a box has, in total, to finish replies that were arriving when its time was up."""
_PIPE_BYTES = 1 << 20
_OUTPUT_BYTES = 1 << 16
"""The capacity of a pipe of the default size."""

SendRequest = Callable[[dict[str, Any], list[int]], None]


class NamespaceBox:
    """One box; see `autograder.sandbox.base.Box`."""

    def __init__(
        self,
        send: SendRequest,
        request: dict[str, Any],
        limits: Limits,
        watch: Watch,
        release_user: Callable[[], None],
    ) -> None:
        """Open the box and wait until it is confined.

        Args:
            send: sends a request with descriptors to the zygote.
            request: for this box.
            limits: resources that it may use.
            watch: observes it from outside.
            release_user: releases its user id, once nothing of it runs; idempotent.

        Raises:
            SandboxFault: it could not be confined.
        """
        started = time.monotonic()
        self._limits = limits
        self._watch = watch
        self._release_user = release_user
        self._group = watch.group
        self._why: Ending | None = None
        self._usage: Usage | None = None
        self._printed = bytearray()
        self._printed_total = 0
        self._output_open = True
        self._shown = 0
        self._pidfd = -1
        self.crowded = False
        self._delayed_before = 0.0
        self._longest = 0.0
        self._unsettled = False
        self._allowances: tuple[Allowance, ...] = ()
        self._late = Ending.CELL_TIME
        self._arriving = 0.0
        self._grace = ARRIVING_SECONDS
        self._connect(send, request)
        try:
            self._await_fork(started + OPEN_SECONDS)
            self._await_ready(started + OPEN_SECONDS)
        except OSError as error:
            self.close()
            raise SandboxFault(f"the box was not opened: {error}") from error
        except BaseException:
            self.close()
            raise
        self._delayed_before = self._watch.measure_delay() or 0.0

    def _connect(self, send: SendRequest, request: dict[str, Any]) -> None:
        pipes: list[int] = []
        try:
            for _ in range(3):
                pipes += os.pipe2(os.O_CLOEXEC)
            # Sequenced packets keep the limits of messages: a report is never read in part or merged with
            # another one.
            self._status, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            for descriptor in pipes:
                os.close(descriptor)
            if self._group:
                self._group.remove()
            raise SandboxFault(f"no pipes could be made for a box: {error}") from error
        requests, self._requests, self._replies, replies, self._output, output = pipes
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):  # beyond the user's quota: the default size will do
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        # Student code may stop reading requests, or write output without end: neither may block us.
        os.set_blocking(self._requests, False)
        os.set_blocking(self._output, False)
        try:
            send(request, [requests, replies, output, status.fileno()])
        except SandboxFault:
            self.close()
            raise
        finally:
            # The box has its own copies. Ours would keep the pipes open after its end.
            for descriptor in (requests, replies, output):
                os.close(descriptor)
            status.close()
        self._frames = wire.FrameReader(self._replies)
        self._arrived = select.poll()
        self._arrived.register(self._replies, select.POLLIN)
        self._poller = select.poll()
        for descriptor in (self._replies, self._output):
            self._poller.register(descriptor, select.POLLIN)

    def _await_fork(self, deadline: float) -> None:
        self._status.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            message, descriptors, _, _ = socket.recv_fds(self._status, 4096, 1)
        except TimeoutError:
            raise SandboxFault(f"no box was opened within {OPEN_SECONDS:.0f} seconds") from None
        if message != b"box" or not descriptors:
            raise SandboxFault(f"the box was not opened: {message.decode(errors='replace')}")
        self._pidfd = descriptors[0]
        self._poller.register(self._pidfd, select.POLLIN)
        described = Path(f"/proc/self/fdinfo/{self._pidfd}").read_text(encoding="ascii")
        # As this side's /proc counts it.
        self.pid = next(int(line.split()[1]) for line in described.splitlines() if line.startswith("Pid:"))
        self._process_one = is_process_one(described)
        self._watch.attach_process(self.pid)
        if self._group:
            try:
                self._group.add_process(self.pid)
            except OSError as error:
                self._drain_output()  # if it has already ended, its output says why
                said = self._printed.decode(errors="replace")
                problem = f"confined: {said}" if said else f"put under its control group: {error}"
                raise SandboxFault(f"the box could not be {problem}") from error

    def _await_ready(self, deadline: float) -> None:
        try:
            self._read_reply("ready", deadline=deadline)
        except BoxEnded as ended:
            text = self._printed.decode(errors="replace")
            raise SandboxFault(f"the box could not be confined: {text or ended}") from ended
        # The reply proves that the mounts exist; student code has not run yet.
        self._watch.open_scratch()

    # ------------------------------------------------------------ requests

    def run_cell(self, source: str, *, seconds: float, total: float = math.inf) -> CellRun:
        """See `autograder.sandbox.base.Box.run_cell`."""
        self._clear_unsettled()
        self._printed.clear()
        request_id = self._send_request({"op": "cell", "source": source}, {}, seconds)
        self._set_allowances(
            Ending.CELL_TIME,
            Allowance(seconds, self.measure_processor_time, self._measure_own_delay),
            Allowance(total, self.measure_processor_time, self._measure_own_delay),
        )
        outputs = MAX_JSON + _ESCAPED * (self._limits.output_kb << 10)
        reply, _ = self._read_reply(request_id, most=[outputs, 0])
        try:
            self._drain_output()
            run = values.read_cell_run(reply, bytes(self._printed))
        except (wire.ProtocolError, KeyError, TypeError, ValueError, AttributeError) as error:
            self._fail(Ending.PROTOCOL, str(error))
        # The shell inside respects the limit; a reply that does not was forged by student code.
        self._shown += sum(len(text) for output in run.outputs for text in output.data.values())
        if self._shown > FLOOD_FACTOR * self._limits.output_kb << 10:
            self._fail(Ending.OUTPUT, "the reply holds more output than is kept")
        if run.error:
            self.check_crowding()
        full = len(self._printed) >= self._limits.output_kb << 10
        return self._watch.mark_run(run, values.read_reported_limits(reply), printed=full)

    def _clear_unsettled(self) -> None:
        """Discard limits that were met during forwarded messages: they do not belong to the next request."""
        if self._unsettled:
            self._watch.collect_met_limits()
            self._unsettled = False

    def check_crowding(self) -> None:
        """Record a shortage of shared resources after an exception or an ending: it may be the cause."""
        self.crowded = self.crowded or self._watch.was_crowded()

    def put_files(self, files: Mapping[str, bytes]) -> None:
        """Write files into the working directory before any student code runs.

        Raises:
            SandboxFault: they could not be written, for example because they do not fit.
        """
        arrays = {name: np.frombuffer(data, np.uint8) for name, data in files.items()}
        try:
            request = {"op": "files", "packages": PACKAGES if PACKAGES in files else ""}
            request_id = self._send_request(request, arrays, OPEN_SECONDS)
            reply, _ = self._read_reply(request_id, deadline=time.monotonic() + OPEN_SECONDS)
        except BoxEnded as ended:
            raise SandboxFault(f"files could not be put into the box: {ended}") from ended
        if reply.get("error"):
            raise SandboxFault(f"files could not be put into the box: {reply['error']}")

    def ask(
        self,
        calls: Sequence[Call],
        *,
        seconds: float,
        total: float = math.inf,
        room: MemoryBudget | None = None,
    ) -> list[Observation]:
        """See `autograder.sandbox.base.Box.ask`."""
        encoder = values.TrustedEncoder()
        trees = [values.encode_call(call, encoder) for call in calls]
        results: list[Observation] = []
        altogether = Allowance(total, self.measure_processor_time, self._measure_own_delay)
        self._clear_unsettled()
        try:
            request_id = self._send_request({"op": "ask", "calls": trees}, encoder.arrays, seconds)
            for number in range(len(calls)):
                self._set_allowances(
                    Ending.CALL_TIME,
                    Allowance(seconds, self.measure_processor_time, self._measure_own_delay),
                    altogether,
                )
                answer, reported = self._read_answer(request_id, number, room)
                # A limit is attributed to the next failed answer, or else to the last one.
                if number == len(calls) - 1 or not answer.ok:
                    answer = self._watch.confirm_answer(answer, reported)
                results.append(answer)
        except BoxEnded as ended:
            results.append(Observation(ok=False, ending=ended.ending))
        return results

    def forward_message(
        self, target: str, payload: wire.Payload, *, seconds: float, begin: Mapping[str, Any] | None = None
    ) -> Reply | Observation:
        """See `autograder.sandbox.base.Box.forward_message`."""
        started, self._printed_total, self._unsettled = time.monotonic(), 0, True
        request_id = self._send_request({"op": "hand", "target": target, "begin": begin}, payload, seconds)
        self._set_allowances(
            Ending.CALL_TIME, Allowance(seconds, self.measure_processor_time, self._measure_own_delay)
        )
        body, tensors = self._read_frame(most=[MAX_JSON, self._limits.reply_mb << 20])
        try:
            values.estimate_memory(body, tensors)  # refuses payloads with too many parts
            reply, reply_payload = wire.unpack_payload(body, tensors)
            self._check_request_id(reply, request_id)
            answer, asks = values.parse_endpoint_reply(reply)
            self._longest = max(self._longest, time.monotonic() - started)
            if "v" not in answer:
                self.check_crowding()
            return Reply(reply_payload, asks) if "v" in answer else values.decode_exception(answer)
        except (wire.ProtocolError, KeyError, TypeError, ValueError) as error:
            self._fail(Ending.PROTOCOL, str(error))

    def _read_answer(
        self, request_id: str, number: int, room: MemoryBudget | None
    ) -> tuple[Observation, tuple[str, ...]]:
        """Read the answer to one call, and the limits it reports.

        Args:
            request_id: of the request.
            number: of the call.
            room: budget that the answer counts against.
        """
        self._printed_total = 0  # output without the shell is counted per answer
        started = time.monotonic()
        most = [MAX_JSON, self._limits.reply_mb << 20]
        reply, arrays = self._read_reply(request_id, most=most, room=room)
        try:
            answer = values.read_observation(reply, arrays, number)
            reported = values.read_reported_limits(reply["observed"])
        except (wire.ProtocolError, KeyError, TypeError, ValueError) as error:
            self._fail(Ending.PROTOCOL, str(error))
        passed = time.monotonic() - started
        self._longest = max(self._longest, passed)
        if not answer.ok:
            self.check_crowding()
        return answer, reported

    def measure_processor_time(self) -> float:
        """See `autograder.sandbox.base.Box.measure_processor_time`."""
        if self._usage:
            return self._usage.processor_seconds
        return self._watch.read_processor_seconds(afresh=True)

    def measure_delay(self) -> float:
        """See `autograder.sandbox.base.Box.measure_delay`."""
        return max(0.0, self._watch.delayed - self._delayed_before)

    def _measure_own_delay(self) -> float | None:
        """Measure the delay anew; None if the kernel does not report it."""
        return None if self._usage else self._watch.measure_delay()

    def _set_allowances(self, late: Ending, *allowances: Allowance) -> None:
        """Grant the box this much time from now on; it ends with ``late`` when the time is used up."""
        if self._arriving:
            self._grace -= time.monotonic() - self._arriving
            self._arriving = 0.0
        self._late, self._allowances = late, allowances

    def _send_request(
        self, message: dict[str, Any], attachment: Mapping[str, np.ndarray] | wire.Payload, seconds: float
    ) -> str:
        """Send a message with arrays, or with another box's payload, and return the number of the request."""
        if self._why:
            raise BoxEnded(self._why)
        if self._usage:
            raise SandboxFault("the box is closed")
        self._end_when_over()  # processes may have run on since the last reply
        # All replies to earlier requests have been read: bytes that wait here are unsolicited.
        if self._frames.ahead or self._has_waiting_bytes():
            self._fail(Ending.PROTOCOL, "bytes arrived that nobody asked for")
        # Student code cannot guess it, so it cannot answer a request that has not been sent yet.
        request_id = secrets.token_hex(16)
        message = {"id": request_id, **message}
        if isinstance(attachment, wire.Payload):
            frame = wire.pack_payload(message, attachment)
        else:
            frame = wire.pack(message, attachment)
        try:
            wire.write_frame(self._requests, frame, deadline=time.monotonic() + CLOCK_FACTOR * seconds)
        except wire.DeadlineError:
            self._fail(Ending.PROTOCOL, "the request was not read")
        except OSError:
            self._fail(self._find_ending())
        return request_id

    def _read_reply(
        self,
        request_id: str,
        *,
        deadline: float = math.inf,
        most: list[int] | None = None,
        room: MemoryBudget | None = None,
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Read the next reply, by a deadline of ours or within the time that the box is allowed.

        Raises:
            BoxEnded: there is none.
            SandboxFault: our deadline passed, or our side failed.
        """
        body, tensors = self._read_frame([MAX_JSON, 0] if most is None else most, deadline)
        # Weighed before it is unpacked, because unpacking is what takes the memory.
        try:
            weight = values.estimate_memory(body, tensors)
            ending = room.count_answer(weight) if room else None
            if ending:
                self._fail(ending)
            message, arrays = wire.unpack_message(body, tensors)
        except wire.ProtocolError as error:
            self._fail(Ending.PROTOCOL, str(error))
        self._check_request_id(message, request_id)
        return message, arrays

    def _check_request_id(self, message: Mapping[str, Any], request_id: str) -> None:
        if message.get("id") != request_id:
            self._fail(Ending.PROTOCOL, "the reply answers another request")

    def _read_frame(self, most: list[int], deadline: float = math.inf) -> tuple[Buffer, Buffer]:
        """Read the two parts of the next reply without inspecting them.

        Args:
            most: limits for the bytes of text and of arrays; reduced by the bytes that were read.
            deadline: of ours, on the monotonic clock.

        Raises:
            BoxEnded: there is none.
            SandboxFault: our deadline passed, or our side failed.
        """
        try:
            body, tensors = self._frames.read_frame(
                max_json=most[0], max_tensors=most[1], deadline=deadline, wait=self._wait_for_reply
            )
        except wire.DeadlineError:
            self._fail(self._late)
        except wire.OversizeError as error:
            self._fail(Ending.REPLY_SIZE, str(error))
        except wire.ProtocolError as error:
            self._fail(Ending.PROTOCOL, str(error))
        except (wire.ClosedError, OSError):
            self._fail(self._find_ending())
        most[:] = most[0] - len(body), most[1] - len(tensors)
        return body, tensors

    def _wait_for_reply(self, seconds: float) -> bool:
        """Wait for a reply; meanwhile count output, and watch the limits that the kernel does not enforce."""
        pauses = (
            seconds,
            self._watch.get_pause(),
            *(allowance.get_pause() for allowance in self._allowances),
        )
        events = dict(self._poller.poll(math.ceil(min(pauses) * 1000)))
        arriving = self._replies in events
        if not arriving:  # replies first: a flood of output must not lose them
            if self._output in events:
                self._drain_output()
            if self._pidfd in events:
                self._fail(self._find_ending())
            self._end_when_over()
        try:
            # If a reply is arriving, the fault only means that time is up: it may finish within the grace.
            late = any(allowance.is_over() for allowance in self._allowances)
        except SandboxFault:
            if not arriving:
                self.close()
                raise
            late = True
        if late and not self._is_arriving():
            self._fail(self._late)
        return arriving

    def _is_arriving(self) -> bool:
        """Return whether a late reply is still arriving; the grace period bounds replies that trickle in."""
        now = time.monotonic()
        self._arriving = self._arriving or now
        return self._has_waiting_bytes() and now - self._arriving < self._grace

    def _has_waiting_bytes(self) -> bool:
        """Return whether bytes of a reply wait to be read."""
        return any(event & select.POLLIN for _, event in self._arrived.poll(0))

    def _end_when_over(self) -> None:
        ending = self._watch.find_exceeded_limit()
        if ending is not None:
            self._fail(ending)

    def _drain_output(self) -> None:
        """Read the present content of the pipe only: later output may belong to the next cell."""
        keep = self._limits.output_kb << 10
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, _OUTPUT_BYTES)
            self._printed_total += len(data)
            self._printed += data[: max(0, keep - len(self._printed))]
            if self._printed_total > FLOOD_FACTOR * keep:
                self._fail(Ending.OUTPUT)
            if not data and self._output_open:  # closed by every process of the box
                self._poller.unregister(self._output)
                self._output_open = False

    # ------------------------------------------------------------ the end

    def _fail(self, ending: Ending, detail: str = "") -> NoReturn:
        # The first ending counts: later ones follow from it.
        if self._why is None:
            self._why = ending
            self.check_crowding()
        self.close()
        raise BoxEnded(self._why, detail)

    def _find_ending(self) -> Ending:
        """Find out why the box ended by itself, from the kernel's information alone.

        Raises:
            SandboxFault: it was ended from outside.
        """
        self._drain_output()  # its last output
        # Must be decided before we kill the process ourselves.
        by_itself = has_ended_itself(self._pidfd, self.pid)
        self._kill_process()
        report = self._read_final_report()
        ending = self._watch.find_ending(report)
        peak = self._group.read_peak_bytes() if self._group else 0
        memory = (peak, self._limits.memory_mb << 20)
        check_cause(ending, report, by_itself=by_itself, process_one=self._process_one, memory=memory)
        return ending

    def _kill_process(self) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                # By the descriptor: the number may belong to another process by now.
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _read_final_report(self) -> dict[str, Any]:
        """Return the zygote's report about the end; read once, then cached."""
        if not hasattr(self, "_report"):
            self._status.settimeout(CLOSE_SECONDS)
            try:
                report = json.loads(self._status.recv(4096) or b"{}")
            except (OSError, ValueError):
                report = {}
            self._report: dict[str, Any] = report if isinstance(report, dict) else {}
        return self._report

    def close(self) -> Usage:
        """See `autograder.sandbox.base.Box.close`."""
        if self._usage:
            return self._usage
        self._allowances = ()
        self._kill_process()
        report = self._read_final_report() if self._pidfd >= 0 else {}
        peak = self._group.read_peak_bytes() if self._group else int(report.get("rss", 0))
        used = max(float(report.get("cpu", 0.0)), self._watch.read_processor_seconds())
        self._watch.close()
        self._usage = Usage(used, peak, self._longest, self.measure_delay())
        for descriptor in (self._requests, self._replies, self._output, self._pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        self._status.close()
        if self._group:
            self._group.remove()
        # Last of all: nothing may run under the user id when it is released.
        self._release_user()
        return self._usage


# ---------------------------------------------------------------- time
# How long one cell or call may take: a limit of processor time, and a multiple of it by the clock.
#
# Processor time is the same however busy the machine is; the clock only bounds waiting. It stops while the
# box waits for a processor, which the kernel counts. If a box was kept from computing for longer than it
# could compute, that is a fault of ours: it is run again, and costs no points. Sleeping, or waiting for
# something other than a processor, is not such a fault.


GRACE, MOST_GRACE = 0.005, 0.1
"""Seconds at the beginning that are not checked: a hundredth of the allowed time, between these bounds.
Nearly every call has ended by then, and checks cost time."""
INTERVAL = 0.01
"""Minimum seconds between two checks."""
IDLE = 0.02
"""If the kernel does not report waiting for a processor: a box that computes for a smaller share of its time
waits for something else; above it, the box was kept from computing."""
_CORES = os.cpu_count() or 1


class Allowance:
    """The time of one cell, of one call, or of several calls together. Not thread-safe."""

    def __init__(
        self,
        seconds: float,
        used: Callable[[], float],
        delayed: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Start counting.

        Args:
            seconds: of processor time.
            used: returns the processor time that all processes of the box have had.
            delayed: returns how long the box has waited for a processor; None if this is not known.
        """
        self._seconds = seconds
        self._by_the_clock = CLOCK_FACTOR * seconds
        self._used = used
        self._delayed = delayed
        self._started = time.monotonic()
        self._before: tuple[float, float] | None = None
        self._next_look = math.inf
        if seconds < math.inf:
            self._next_look = self._started + max(GRACE, min(seconds / 100, MOST_GRACE))

    def get_pause(self) -> float:
        """Return the seconds until `is_over` has something to check."""
        return max(0.0, self._next_look - time.monotonic())

    def is_over(self) -> bool:
        """Return whether the time is used up; checks only when a check is due.

        Raises:
            SandboxFault: it is used up by the clock, and the machine was too busy.
        """
        now = time.monotonic()
        if now < self._next_look:
            return False
        used, delayed = self._used(), self._delayed()
        # Use before the first check is not counted.
        if self._before is None:
            self._before = used, delayed or 0.0
        computed, passed = used - self._before[0], now - self._started
        left = self._seconds - computed
        if left <= 0:
            return True
        kept = 0.0 if delayed is None else max(0.0, delayed - self._before[1])
        waiting = self._by_the_clock - (passed - kept)
        # The time by the clock is up, and the box could have computed: it waited by itself.
        if waiting <= 0 and (delayed is not None or computed < IDLE * passed):
            return True
        latest = self._by_the_clock * (UNKNOWN_WAIT_FACTOR if delayed is None else MAX_CLOCK_FACTOR)
        if passed >= latest:
            raise SandboxFault(
                f"the machine was too busy: {computed:.1f} s of {self._seconds:.1f} s were computed "
                f"within {passed:.1f} s"
            )
        # All cores together cannot use up the remaining time any earlier.
        self._next_look = now + max(INTERVAL, min(left / _CORES, waiting, latest - passed))
        return False
