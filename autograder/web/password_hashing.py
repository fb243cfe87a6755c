"""Password hashing that leaves processors and memory to the pages."""

from __future__ import annotations

import threading

from django.contrib.auth.hashers import Argon2PasswordHasher

_LOCK = threading.Lock()


class SequentialArgon2Hasher(Argon2PasswordHasher):
    """Hashes one password at a time in each process, on one processor.

    If a class signs in at once, simultaneous hashes would take all processors and much memory, and nobody
    else would get a page. For the same reason memory, passes and lanes are those that OWASP's Password
    Storage Cheat Sheet recommends first (46 MiB, one pass, one lane), a sixth of the time of Django's.
    Passwords stored with other values are hashed anew when their owners sign in.
    """

    memory_cost = 47_104
    """Kibibytes."""
    time_cost = 1
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        """Return the hash of a new password."""
        with _LOCK:
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        """Decide whether a hash is that of a password."""
        with _LOCK:
            return super().verify(password, encoded)
