"""A zygote's memory in huge pages: only private memory of no file, and a fork sees what it saw before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autograder.sandbox.inside import huge_pages

pytestmark = pytest.mark.alone

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
from autograder.sandbox.inside import jail, huge_pages
proc = jail.open_proc()
kept = [bytearray(os.urandom(1 << 20)) for _ in range(40)]
def huge():
    text = open('/proc/self/smaps_rollup').read()
    return int(text.partition('AnonHugePages:')[2].split()[0])
before, sums = huge(), [sum(one) for one in kept]
gathered = huge_pages.gather(proc)
if pid := os.fork():
    _, status = os.waitpid(pid, 0)
else:
    kept[3][5] ^= 1  # one page of the child's own
    os._exit(sum(one != other for one, other in zip(sums, map(sum, kept))))
same = sums == [sum(one) for one in kept]
print(gathered, huge() - before, os.waitstatus_to_exitcode(status), same)
"""


def test_only_private_memory_of_no_file_is_gathered() -> None:
    """Neither code, nor data of a file, nor shared memory, nor guard pages, nor the stack."""
    heap, mapped = (0x55D0C1000000, 0x55D0C1A00000), (0x7F0000000000, 0x7F0000800000)
    assert [heap, mapped] == huge_pages.anonymous(MAPS)


def test_what_was_gathered_is_still_private_to_each_process() -> None:
    """A child that writes gets a page of its own."""
    ran = subprocess.run([sys.executable, "-c", GATHER], capture_output=True, text=True, check=True)
    gathered, grown, differing, same = ran.stdout.split()
    assert ("1", "True") == (differing, same)
    if gathered == "0":
        pytest.skip("not applicable: this kernel does not gather pages on request")
    assert int(grown) >= int(gathered) * 1024
