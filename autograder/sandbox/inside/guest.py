"""Answers requests inside a box. The only code of ours next to student code, and not trusted after it.

One request at a time is read, carried out and answered: run a cell, or answer a call. Only the format of the
replies is guaranteed to the other side; their content is under the student's control.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.sandbox.exchange import wire
from autograder.sandbox.exchange.wire import Buffer
from autograder.sandbox.inside.callbacks import AbandonedTest
from autograder.sandbox.inside.judge import Judge
from autograder.sandbox.inside.limit_hints import MEMORY, find_reported_limits
from autograder.sandbox.inside.remote import Remote
from autograder.sandbox.inside.shared_values import Encoded
from autograder.sandbox.inside.shell import CapturedStream, NotebookShell, Outputs
from autograder.sandbox.inside.value_conversion import GuestEncoder, build_own_array

MAX_MESSAGE = 600
MAX_REQUEST = 1 << 31
Request = tuple[dict[str, Any], dict[str, np.ndarray]]


def serve(shell: NotebookShell, *, requests: int, replies: int, limits: Mapping[str, Any]) -> None:
    """Answer requests until the other side closes the pipe."""
    pipes = Pipes(requests, replies)
    guest = Guest(shell, limits, pipes)
    with contextlib.suppress(wire.ClosedError, BrokenPipeError):
        pipes.write_frame(wire.pack({"id": "ready"}))
        while True:
            request, arrays = pipes.read_request()
            for frame in guest.answer(request, arrays):
                pipes.write_frame(frame)


class Pipes:
    """Both pipes of a box."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = wire.FrameReader(requests), replies
        self._back: Request | None = None

    def read_request(self) -> Request:
        """Return the next request, with its arrays."""
        back, self._back = self._back, None
        if back is not None:
            return back
        body, tensors = self._requests.read_frame(max_json=MAX_REQUEST, max_tensors=MAX_REQUEST)
        if b"\n" not in body:
            return wire.unpack_message(body, tensors)
        message, payload = wire.unpack_payload(body, tensors)
        return {**message, "payload": payload}, {}

    @property
    def waiting(self) -> bool:
        """Whether a request was put back."""
        return self._back is not None

    def put_back(self, request: Request) -> None:
        """Put a request back for the reader that it belongs to, who reads it next."""
        self._back = request

    def write_frame(self, frame: list[Buffer]) -> None:
        """Send a frame."""
        wire.write_frame(self._replies, frame)


def _end_fork(process: int, error: BaseException | None = None) -> None:
    """End this process if student code forked it and it has left that code, as a script would at its end.

    Otherwise it would answer in addition to its parent, and chance would decide which answer is read.

    Args:
        process: the id of the process that began to run the code.
        error: the exception that the code raised, if any.
    """
    if os.getpid() == process:
        return
    code = error.code if isinstance(error, SystemExit) else error and 1
    os._exit(code & 0xFF if isinstance(code, int) else int(code is not None))


class Guest:
    """Carries out requests in the notebook's namespace."""

    def __init__(self, shell: NotebookShell, limits: Mapping[str, Any], pipes: Pipes) -> None:
        self._shell = shell
        self._pipes = pipes
        self._now = ""
        self._recorder = FunctionBlocker()
        self._ends: dict[str, Remote | Judge] = {}
        self._max_reply = int(limits["reply_mb"]) << 20
        shell.outputs.limit(int(limits["output_kb"]) << 10)

    def answer(self, request: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Iterator[list[Buffer]]:
        """Yield the reply frames of one request."""
        if request["op"] == "cell":
            # In two steps: `wire.pack` is looked up after the cell, which may have replaced it. Whatever it
            # sends then is refused by the other side.
            run = self._run_cell(request["source"])
            yield wire.pack({"id": request["id"], **run})
        elif request["op"] == "files":
            yield _write_files(request["id"], arrays)
            if request["packages"]:
                sys.path.insert(1, os.path.abspath(request["packages"]))  # noqa: PTH100 - as below
        elif request["op"] == "hand":
            yield from self._answer_message(request)
        else:
            for number, call in enumerate(request["calls"]):
                yield self._answer_call(request["id"], number, call, arrays)

    def _run_cell(self, source: str) -> dict[str, Any]:
        outputs = self._shell.outputs
        outputs.begin_cell()
        process = os.getpid()
        started = time.perf_counter()
        with _Streams(outputs):
            result = self._shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        _end_fork(process, error)
        met = find_reported_limits(error)
        reply = {
            "outputs": [_to_plain_output(output) for output in outputs.items],
            "error": type(error).__name__[:80] if error else "",
            "truncated": outputs.truncated,
            "met": met,
            "seconds": time.perf_counter() - started,
        }
        if MEMORY in met:
            # The partial results of the failed computation occupy memory that later questions need.
            del result, error
            self._shell.forget_error()
            gc.collect()
        return reply

    def _answer_call(
        self, request_id: str, number: int, call: Any, arrays: Mapping[str, np.ndarray]
    ) -> list[Buffer]:
        """Return the frame of a call, sent before the next one begins.

        Output is dropped, even from code that kept a cell's streams, as loggers do.
        """
        encoder = GuestEncoder()
        with self._shell.outputs.drop_outputs(), _Streams(self._shell.outputs):
            observed = self._evaluate_call(call, arrays, encoder, self._max_reply)
        if MEMORY in observed.get("met", ()):
            gc.collect()
        return wire.pack({"id": request_id, "n": number, "observed": observed}, encoder.arrays)

    def _evaluate_call(
        self, call: Mapping[str, Any], arrays: Mapping[str, np.ndarray], encoder: GuestEncoder, room: int
    ) -> dict[str, Any]:
        process = os.getpid()
        try:
            value = self._compute_value(call, wire.Decoder(arrays, build_own_array, _refuse_tag))
            _end_fork(process)
            tree = encoder.encode(value)
            # Arrays of an answer that is refused must not be sent with the refusal.
            if _count_bytes(encoder.arrays) > room:
                encoder.arrays.clear()
                return self._describe_oversize()
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt too are only answers
            _end_fork(process, error)
            encoder.arrays.clear()
            return _describe_error(error)
        return {"v": tree}

    def _describe_oversize(self, *, text: bool = False) -> dict[str, Any]:
        most = "4 MB of text" if text else f"{self._max_reply >> 20} MB"
        return {"error": "ReplyTooLarge", "message": f"over {most} were returned", "met": ["reply-size"]}

    def _answer_message(self, request: Mapping[str, Any]) -> Iterator[list[Buffer]]:
        """Yield the reply of one endpoint of a test that runs elsewhere; nothing after `AbandonedTest`."""
        self._now = request["id"]
        encoded: Encoded = (None, {})
        observed: dict[str, Any] = {"v": None}
        process = os.getpid()
        try:
            with self._shell.outputs.drop_outputs(), _Streams(self._shell.outputs):
                encoded = self._run_operation(request)
            _end_fork(process)
            if _count_bytes(encoded[1]) > self._max_reply:
                observed = self._describe_oversize()
        except AbandonedTest:
            return
        except BaseException as error:  # noqa: BLE001 - as in `_evaluate_call`
            _end_fork(process, error)
            observed = _describe_error(error)
        if MEMORY in observed.get("met", ()):
            gc.collect()
        if not self._pipes.waiting:  # otherwise student code has caught `AbandonedTest`
            yield self._pack_reply(observed, encoded, asks=0)

    def _pack_reply(self, observed: Mapping[str, Any], encoded: Encoded, *, asks: int) -> list[Buffer]:
        message = {"id": self._now, "observed": observed, "asks": asks}
        if "v" not in observed:
            return wire.pack(message)
        written = wire.make_payload(*encoded)
        # Leaves room for the message around it in a frame of 4 MB.
        if len(written.tree) <= wire.MAX_TEXT:
            return wire.pack_payload(message, written)
        if asks:
            raise ValueError("over 4 MB of text go from one box to the other")
        # A larger frame would end the box, and with it all answers that the student has yet to give.
        return wire.pack({**message, "observed": self._describe_oversize(text=True)})

    def _run_operation(self, request: Mapping[str, Any]) -> Encoded:
        end = self._get_endpoint(request["target"])
        return (
            end.judge_test(request["begin"])
            if isinstance(end, Judge)
            else end.run_operation(*wire.read_payload(request["payload"]))
        )

    def _get_endpoint(self, name: str) -> Remote | Judge:
        """Return one endpoint of a test that runs where there is no student code; create it on first use."""
        if name not in self._ends:
            further = functools.partial(self._send_and_wait, name)
            forbid = self._recorder.forbid_functions
            end = Judge(further) if name == wire.JUDGE else Remote(self._shell, further, forbid)
            self._ends[name] = end
            if isinstance(end, Judge):
                end.prepare_process()
        return self._ends[name]

    def _send_and_wait(self, name: str, encoded: Encoded, depth: int = 0, *, box: int = 1) -> Encoded:
        """Answer the current call of a test, and wait for the call that follows from the answer.

        Args:
            name: of the endpoint that asks.
            encoded: the answer.
            depth: number of open calls of the test's functions, including this one.
            box: the number of the box that is asked.

        Raises:
            AbandonedTest: the next request is a different one: no call follows.
            ProtocolError: the message is not a tree.
        """
        if self._pipes.waiting:
            raise AbandonedTest
        self._pipes.write_frame(self._pack_reply({"v": None}, encoded, asks=box))
        request, other_arrays = self._pipes.read_request()
        if request.get("target") == name and not request["begin"]:
            self._now = request["id"]
            tree, arrays = wire.read_payload(request["payload"])
            # Another depth belongs to an outer call: then this call was abandoned.
            if not depth or tree[-1] == depth:
                return tree, arrays
        self._pipes.put_back((request, other_arrays))
        raise AbandonedTest

    def _compute_value(self, call: Mapping[str, Any], decoder: wire.Decoder) -> Any:
        target = call["target"]
        if target not in self._shell.user_ns:
            raise NameError(f"name '{target}' is not defined")
        value = self._shell.user_ns[target]
        if "read" in call:
            return value
        return value(*(decoder.decode(call["args"]) if "args" in call else ()))


def _write_files(request_id: str, files: Mapping[str, np.ndarray]) -> list[Buffer]:
    try:
        for name, content in files.items():
            _make_room(name)
            with open(name, "xb") as file:  # noqa: PTH123 - one import less in every box
                file.write(content.tobytes())
    except OSError as error:
        return wire.pack({"id": request_id, "error": str(error)})
    return wire.pack({"id": request_id})


def _make_room(name: str) -> None:
    """Make the folders of a file, and remove a file that the environment provides at its path.

    A provided folder is a link to a read-only place. It becomes a folder of the box, with links to its
    contents.
    """
    folder = ""
    for part in name.split("/")[:-1]:
        folder += part
        if os.path.islink(folder):  # noqa: PTH114 - as above
            source = os.readlink(folder)  # noqa: PTH115
            os.unlink(folder)  # noqa: PTH108
            os.mkdir(folder)  # noqa: PTH102
            for entry in os.listdir(source):  # noqa: PTH208
                os.symlink(f"{source}/{entry}", f"{folder}/{entry}")  # noqa: PTH211
        elif not os.path.isdir(folder):  # noqa: PTH112
            os.mkdir(folder)  # noqa: PTH102
        folder += "/"
    if os.path.islink(name):  # noqa: PTH114
        os.unlink(name)  # noqa: PTH108


def _to_plain_output(output: Mapping[str, Any]) -> dict[str, Any]:
    if output["kind"] == "stream":
        return {"kind": "stream", "name": output["name"], "data": {"text/plain": "".join(output["parts"])}}
    return {"kind": output["kind"], "name": output["data"].pop("name", ""), "data": output["data"]}


class _Streams:
    """Standard output and error of one request; set anew each time, whatever student code put there."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def __enter__(self) -> None:
        outputs = self._outputs
        sys.stdout, sys.stderr = CapturedStream(outputs, "stdout"), CapturedStream(outputs, "stderr")

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def _count_bytes(arrays: Mapping[str, np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays.values())


def _describe_error(error: BaseException) -> dict[str, Any]:
    met = find_reported_limits(error)
    return {"error": type(error).__name__[:80], "message": _format_error(error), "met": met}


def _format_error(error: BaseException) -> str:
    try:
        return str(error)[:MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 - a hostile __str__ is not worth a reply of its own
        return ""


def _refuse_tag(tag: str, tree: Mapping[str, Any]) -> Any:
    del tree
    raise wire.ProtocolError(f"unknown tag {tag!r}")


# ---------------------------------------------------------------- forbidden functions
# A `FunctionBlocker` is created before any student code runs, from torch's own parts as they are then.
# Forbidden operators fail in torch's dispatcher, which every way to an operator passes: another thread,
# ``torch.ops``, ``torch._C``, a function kept in a variable. A box in which something was forbidden cannot be
# used for anything else.


_KEYS = (
    "CPU",
    "AutogradCPU",
    "NestedTensorCPU",
    "AutogradNestedTensor",
    "FuncTorchBatched",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutograd",
)
"""Dispatch keys under which an operator may have a kernel that runs here."""
_REFUSAL = "forbidden here"
_function = types.FunctionType  # saved before student code runs, like the next two
_own_id, _send = os.getpid, os.kill


class FunctionBlocker:
    """Makes forbidden functions fail in the box of a check that forbids them."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._torch: Any = None
        if "torch" in sys.modules:
            self._prepare_torch()

    def forbid_functions(self, patterns: Sequence[str]) -> None:
        """Make operators and functions of torch fail from now on if their names contain one of these."""
        self._prepare_torch()
        if self._kept:  # by an earlier call in the same box
            return
        _end_other_processes()
        sought = re.compile("|".join(rf"(?<![A-Za-z]){re.escape(pattern)}(?![a-z])" for pattern in patterns))
        self._fail_operators(sought)
        _fail_functions(patterns)

    def _prepare_torch(self) -> None:
        if self._torch is not None:
            return
        import torch

        native = vars(torch)["_C"]
        self._torch = torch
        self._library, self._operators = (
            getattr(native, name) for name in ("_dispatch_library", "_dispatch_get_all_op_names")
        )

    def _fail_operators(self, sought: re.Pattern[str]) -> None:
        names = [name for name in self._operators() if name.startswith("aten::") and sought.search(name)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about replaced kernels, which is intended
            for key in _KEYS:
                library = self._library("IMPL", "aten", key, "", 0)
                self._kept.append(library)
                for name in names:
                    try:
                        kernel = self._build_failing_kernel(name)
                        library.impl(name.removeprefix("aten::"), key, kernel, False)  # noqa: FBT003
                    except RuntimeError:
                        continue  # an operator that cannot have a kernel there

    def _build_failing_kernel(self, name: str) -> Callable[..., Any]:
        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"{name} is forbidden here")

        return fail


def _end_other_processes() -> None:
    """End processes that the notebook's cells forked: forbidden functions would still work there.

    Processes that are forked later have them fail as well. Without its own namespace a box cannot stop
    other processes, and the same call would end those of others.
    """
    if _own_id() == 1:
        with contextlib.suppress(ProcessLookupError):
            _send(-1, signal.SIGKILL)


def _refuse_call(*_: Any, **__: Any) -> Any:
    raise RuntimeError("forbidden here")


def _fail_functions(names: Sequence[str]) -> None:
    """Make functions written in Python fail wherever they are known: their code objects are exchanged."""
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith("torch"):
            continue
        for name in names:
            function = getattr(module, "__dict__", {}).get(name)
            if isinstance(function, type):
                function = vars(function).get("forward")
            if type(function) is _function:
                said = {_REFUSAL: f"{name} is forbidden here"}
                code = _refuse_call.__code__
                code = code.replace(co_consts=tuple(said.get(part, part) for part in code.co_consts))
                try:
                    function.__code__ = code
                except ValueError:
                    continue  # a closure: its code has free variables
