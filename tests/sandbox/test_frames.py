"""Frames on pipes: complete, late, closed, too long and malformed ones are distinguished."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.sandbox.exchange import wire

FORESEEN = (wire.ProtocolError, wire.ClosedError, wire.DeadlineError)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return the read and write end of a pipe; the write end does not block."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    yield read, write
    for end in (read, write):
        with contextlib.suppress(OSError):
            os.close(end)


def receive(
    read: int, seconds: float = 0.2, most: int = 100, reader: wire.FrameReader | None = None
) -> tuple[bytes, bytes]:
    """Return a frame received within a deadline."""

    def wait(left: float) -> bool:
        return bool(select.select([read], [], [], left)[0])

    reader = reader or wire.FrameReader(read)
    return reader.read_frame(max_json=most, max_tensors=most, deadline=time.monotonic() + seconds, wait=wait)


def drain(read: int) -> None:
    """Read one frame after another, without end."""
    reader = wire.FrameReader(read)
    while True:
        receive(read, reader=reader)


def test_a_frame_crosses_a_pipe(pipe: tuple[int, int]) -> None:
    """Two frames in a row stay separate, and `ahead` tells whether part of the second was read."""
    read, write = pipe
    reader = wire.FrameReader(read)
    wire.write_frame(
        write, [*wire.pack({"id": "a"}), *wire.pack({"id": "b"})], deadline=time.monotonic() + 60
    )
    assert b'{"id":"a"}' == receive(read, reader=reader)[0]
    assert reader.ahead
    assert b'{"id":"b"}' == receive(read, reader=reader)[0]
    assert not reader.ahead


@given(st.binary(min_size=wire.HEADER.size, max_size=60))
def test_any_beginning_is_foreseen(start: bytes) -> None:
    """Random bytes end in one of the defined errors, or wait for more."""
    read, write = os.pipe()
    try:
        os.write(write, start)
        os.close(write)
        with pytest.raises(FORESEEN):
            drain(read)
    finally:
        os.close(read)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"XX" + bytes(12), wire.ProtocolError),
        (wire.HEADER.pack(b"AG", 101, 0), wire.OversizeError),
        (wire.HEADER.pack(b"AG", 1, 1 << 60), wire.OversizeError),
        (wire.HEADER.pack(b"AG", 50, 0) + b"{", wire.DeadlineError),
        (b"", wire.DeadlineError),
    ],
)
def test_a_bad_frame_names_its_fault(pipe: tuple[int, int], sent: bytes, error: type[Exception]) -> None:
    """Magic, sizes and completeness each have a separate error."""
    read, write = pipe
    os.write(write, sent)
    with pytest.raises(error):
        receive(read)


def test_a_closed_pipe_is_told_from_a_late_one(pipe: tuple[int, int]) -> None:
    """This holds in the middle of a frame, too."""
    read, write = pipe
    os.write(write, wire.HEADER.pack(b"AG", 50, 0) + b"{")
    os.close(write)
    with pytest.raises(wire.ClosedError):
        receive(read)


def test_a_frame_that_trickles_meets_the_deadline(pipe: tuple[int, int]) -> None:
    """The deadline applies to the whole frame, not to each byte."""
    read, write = pipe
    os.write(write, wire.HEADER.pack(b"AG", 90, 0))
    stop = threading.Event()

    def trickle() -> None:
        while not stop.wait(0.02):
            os.write(write, b" ")

    thread = threading.Thread(target=trickle)
    thread.start()
    with pytest.raises(wire.DeadlineError):
        receive(read, 0.3)
    stop.set()
    thread.join()


def test_writing_to_one_who_does_not_read_meets_the_deadline(pipe: tuple[int, int]) -> None:
    """A full pipe does not block the trusted side."""
    with pytest.raises(wire.DeadlineError):
        wire.write_frame(pipe[1], [bytes(1 << 22)], deadline=time.monotonic() + 0.2)


def test_a_write_without_a_deadline_waits(pipe: tuple[int, int]) -> None:
    """This holds also if the pipe is non-blocking, as student code can make it."""
    read, write = pipe
    thread = threading.Thread(target=wire.write_frame, args=(write, [bytes(1 << 22)]))
    thread.start()
    left = 1 << 22
    while left:
        left -= len(os.read(read, 1 << 20))
    thread.join(5)
    assert not thread.is_alive()
