"""Huge pages for a zygote: only private anonymous memory is gathered, and forks see the same data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.sandbox.base import Environment
from autograder.sandbox.inside.linux import find_anonymous_ranges
from autograder.sandbox.outside.namespaces import ENVIRONMENT
from tests.conftest import start_sandbox

MAPS = """\
55d0c0000000-55d0c0200000 r-xp 00000000 08:01 123 /usr/bin/python3
55d0c0400000-55d0c0600000 rw-p 00400000 08:01 123 /usr/bin/python3
55d0c1000000-55d0c1a00000 rw-p 00000000 00:00 0 [heap]
7f0000000000-7f0000800000 rw-p 00000000 00:00 0
7f0000800000-7f0000900000 ---p 00000000 00:00 0
7f0001000000-7f0001200000 rw-s 00000000 00:01 77 /dev/zero (deleted)
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]
"""
GATHER = """
import os, sys
from autograder.sandbox.inside import jail, linux
proc = jail.open_proc()
kept = [bytearray(os.urandom(1 << 20)) for _ in range(40)]
def huge():
    text = open('/proc/self/smaps_rollup').read()
    return int(text.partition('AnonHugePages:')[2].split()[0])
before, sums = huge(), [sum(one) for one in kept]
gathered = linux.gather_huge_pages(proc)
if pid := os.fork():
    _, status = os.waitpid(pid, 0)
else:
    kept[3][5] ^= 1  # one page of the child's own
    os._exit(sum(one != other for one, other in zip(sums, map(sum, kept))))
same = sums == [sum(one) for one in kept]
print(gathered, huge() - before, os.waitstatus_to_exitcode(status), same)
"""
SMALL = """
import sys
from autograder.sandbox.inside import linux
def huge():
    text = open('/proc/self/smaps_rollup').read()
    return int(text.partition('AnonHugePages:')[2].split()[0])
first = [bytearray(60_000) for _ in range(200)]
at_first = huge()
linux.prctl(linux.PR_SET_THP_DISABLE, 1)
later = [bytearray(60_000) for _ in range(200)]
print(at_first, huge() - at_first)
"""


def test_only_private_memory_of_no_file_is_gathered() -> None:
    """Code, file data, shared memory, guard pages and the stack are not gathered."""
    heap, mapped = (0x55D0C1000000, 0x55D0C1A00000), (0x7F0000000000, 0x7F0000800000)
    assert [heap, mapped] == find_anonymous_ranges(MAPS)


def test_what_was_gathered_is_still_private_to_each_process() -> None:
    """A child that writes gets a page of its own."""
    ran = subprocess.run([sys.executable, "-c", GATHER], capture_output=True, text=True, check=True)
    gathered, grown, differing, same = ran.stdout.split()
    assert ("1", "True") == (differing, same)
    if gathered == "False":
        pytest.skip("not applicable: this kernel does not gather pages on request")
    assert int(grown) >= 30 << 10


def test_what_comes_later_clears_no_huge_page_for_a_few_small_ones() -> None:
    """A zygote's imports use huge pages from the start; memory of its boxes does not."""
    began = [sys.executable, "-c", SMALL]
    package = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(began, capture_output=True, text=True, check=True, env=ENVIRONMENT | package)
    at_first, later = map(int, ran.stdout.split())
    assert 0 == later
    if not at_first:
        pytest.skip("not applicable: this system gives no huge pages to programs that ask for them")
    assert at_first >= 10_000


@pytest.mark.sandbox
def test_a_zygote_leaves_small_pages_to_its_boxes() -> None:
    """Each box inherits this setting."""
    sandbox = start_sandbox(Environment())
    try:
        (zygote,) = Path(f"/proc/{sandbox.pid}/task/{sandbox.pid}/children").read_text().split()
        assert "THP_enabled:\t0" in Path(f"/proc/{zygote}/status").read_text()
    finally:
        sandbox.close()
