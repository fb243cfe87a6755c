"""Password hashing that leaves processors and memory to the pages."""

from __future__ import annotations

import threading

from django.contrib.auth.hashers import Argon2PasswordHasher

_LOCK = threading.Lock()


class SequentialArgon2Hasher(Argon2PasswordHasher):
    """Hashes one password at a time in each process, on one processor.

    A hash takes 100 MB and a third of a second. If a class signs in at once, simultaneous hashes would take
    all processors and gigabytes of memory, and nobody else would get a page. Memory and passes are Django's.
    More lanes would not make guessing harder: they only spread the same work over more threads.
    """

    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        """Return the hash of a new password."""
        with _LOCK:
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        """Decide whether a hash is that of a password."""
        with _LOCK:
            return super().verify(password, encoded)
