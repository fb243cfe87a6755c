"""What is made of a box's replies: plain records, capped, and refused where they have another shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.records import CellOutput, CellRun, Observation
from autograder.sandbox.exchange import values, wire

MAX_OUTPUTS = 2000
_MOST_WORDS = 8


def observations(
    reply: Mapping[str, Any], arrays: Mapping[str, np.ndarray], number: int, calls: int
) -> tuple[Observation, ...]:
    """The answers to one scenario.

    Raises:
        ProtocolError: the reply has another shape than the scenario asked for.
    """
    answers = reply["observations"]
    if reply.get("n") != number or not isinstance(answers, list) or len(answers) != calls:
        raise wire.ProtocolError("the reply does not fit the scenario")
    decoder = values.trusted_decoder(arrays)
    return tuple(_in_order([values.decode_observation(answer, decoder) for answer in answers]))


def _in_order(told: Iterable[Observation]) -> Iterator[Observation]:
    """Only what follows a failure was skipped; an exception that bears this name is an exception.

    Otherwise student code could have a wrong answer pass for one that was never asked, which is our fault.
    """
    failed = False
    for observation in told:
        if observation.error == "Skipped" and not failed:
            yield Observation(ok=False, error="Exception", message=observation.message)
        else:
            yield observation
        failed = failed or not observation.ok


def told(answer: object) -> tuple[str, ...]:
    """What an answer says of limits it met: a few short words, or none where something else stands."""
    words = answer.get("met") if isinstance(answer, dict) else None
    return tuple(values.word(word, 20) for word in words[:_MOST_WORDS]) if isinstance(words, list) else ()


def told_by_calls(reply: Mapping[str, Any]) -> tuple[str, ...]:
    """What the answers to one scenario say of limits they met."""
    return tuple(word for answer in reply["observations"] for word in told(answer))


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
    for output in reply["outputs"][:MAX_OUTPUTS]:
        data = {values.word(mime, 80): wire.well_formed(text) for mime, text in output["data"].items()}
        outputs.append(CellOutput(kind=values.word(output["kind"], 20), data=data))
    if printed:
        # Printed past the shell, by C code or a forked process.
        outputs.append(CellOutput(kind="stream", data={"text/plain": printed.decode(errors="replace")}))
    return CellRun(
        outputs=tuple(outputs),
        error=values.word(reply["error"], 80),
        seconds=believable_seconds(reply["seconds"]),
        truncated=reply["truncated"] is True,
    )
