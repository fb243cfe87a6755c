"""What is made of a box's replies: plain records, capped, and refused where they have another shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.limits import BYTES_OF_DESCRIPTION, BYTES_OF_TEXT, BYTES_OF_VALUE
from autograder.records import CellOutput, CellRun, Observation
from autograder.sandbox.exchange import tensors as layout
from autograder.sandbox.exchange import values, wire
from autograder.sandbox.exchange.tensors import Buffer

MAX_OUTPUTS = 2000
MAX_VALUES = 1_000_000
"""In one reply: five for each part that a value may have, as a tensor of one number takes."""
_MOST_WORDS = 8
_OF_CELL = frozenset(("id", "outputs", "error", "truncated", "met", "seconds"))
_OF_OUTPUT = frozenset(("kind", "name", "data"))
_OF_CALL = frozenset(("id", "n", "call", "observed", "seconds"))
_OF_ANSWER = frozenset(("v", "error", "kinds", "message", "met"))


SKIPPED = Observation(ok=False, error="Skipped")
"""Of a call that follows a failed one. Only this side says so."""


def weight(body: Buffer, tensors: Buffer) -> int:
    """How much memory a reply takes when it is read, in bytes; counted before anything is built from it.

    Raises:
        ProtocolError: it has more values than any answer may have.
    """
    number = wire.values_in(body)
    if number > MAX_VALUES:
        raise wire.ProtocolError("the reply has too many parts")
    described = min(layout.described(tensors), len(tensors))
    return (
        len(tensors) + BYTES_OF_DESCRIPTION * described + BYTES_OF_TEXT * len(body) + BYTES_OF_VALUE * number
    )


def _only(table: object, known: frozenset[str]) -> None:
    """Refuse what nobody reads: it would only cost time."""
    if not isinstance(table, dict) or not table.keys() <= known:
        raise wire.ProtocolError("the reply has a key that nothing reads")


def observation(
    reply: Mapping[str, Any], arrays: Mapping[str, np.ndarray], number: int, call: int
) -> Observation:
    """The answer to one call of one scenario.

    An exception of that name does not pass for a call that was never made, which would be our fault.

    Raises:
        ProtocolError: the reply has another shape than the scenario asked for.
    """
    answer = reply["observed"]
    _only(reply, _OF_CALL)
    _only(answer, _OF_ANSWER)
    if (reply.get("n"), reply.get("call")) != (number, call) or not isinstance(answer, dict):
        raise wire.ProtocolError("the reply does not fit the scenario")
    found = values.decode_observation(answer, values.trusted_decoder(values.SingleUseArrays(arrays)))
    if found.error == SKIPPED.error:
        return Observation(ok=False, error="Exception", message=found.message)
    return found


def reported_limits(answer: object) -> tuple[str, ...]:
    """What an answer says of limits it met: a few short words, or none where something else stands."""
    words = answer.get("met") if isinstance(answer, dict) else None
    return (
        tuple(values.bounded_text(word, 20) for word in words[:_MOST_WORDS])
        if isinstance(words, list)
        else ()
    )


def believable_seconds(told: object) -> float:
    """What a reply says it took, where that is believable."""
    return float(told) if isinstance(told, int | float) and 0 <= told < 1e6 else 0.0


def cell_run(reply: Mapping[str, Any], printed: bytes) -> CellRun:
    """What a cell gave.

    Args:
        reply: the guest's.
        printed: what arrived on the raw output pipe meanwhile.
    """
    outputs = []
    _only(reply, _OF_CELL)
    for output in reply["outputs"][:MAX_OUTPUTS]:
        _only(output, _OF_OUTPUT)
        data = {
            values.bounded_text(mime, 80): wire.well_formed(text) for mime, text in output["data"].items()
        }
        outputs.append(CellOutput(kind=values.bounded_text(output["kind"], 20), data=data))
    if printed:
        # Printed past the shell, by C code or a forked process.
        outputs.append(CellOutput(kind="stream", data={"text/plain": printed.decode(errors="replace")}))
    return CellRun(
        outputs=tuple(outputs),
        error=values.bounded_text(reply["error"], 80),
        seconds=believable_seconds(reply["seconds"]),
        truncated=reply["truncated"] is True,
    )
