"""Password hashing that leaves the processors to the pages."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.hashers import Argon2PasswordHasher

_NICENESS = 5
"""Between the pages and the worker (`autograder.web.server`)."""


def _lower_priority() -> None:
    # On Linux this changes one thread, and the threads that it starts: Argon2 has one for each lane.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


_HASHING = ThreadPoolExecutor(1, "password-hashing", _lower_priority)


class QueuedArgon2Hasher(Argon2PasswordHasher):
    """Hashes one password at a time in each process, with lower priority.

    A hash takes 100 MB and eight lanes. If a class signs in at once, simultaneous hashes would take all
    processors and gigabytes of memory, and nobody else would get a page. The hash itself is Django's.
    """

    def encode(self, password: str, salt: str) -> str:
        """Return the hash of a new password."""
        return _HASHING.submit(super().encode, password, salt).result()

    def verify(self, password: str, encoded: str) -> bool:
        """Decide whether a hash is that of a password."""
        return _HASHING.submit(super().verify, password, encoded).result()
