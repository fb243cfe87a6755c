"""The levels of isolation: what they are called, and what the weaker one gives up.

The weaker one is for trying things out. It is chosen by name and never fallen back to, printed when a run
starts and ends, and stamped on every result.
"""

from __future__ import annotations

import enum
import hashlib


class Isolation(enum.StrEnum):
    """How student code is confined, strongest first."""

    NAMESPACES = "namespaces"
    NONE = "none"


def warning(isolation: Isolation) -> str:
    """What to say before and after a run; empty for full isolation."""
    if isolation is Isolation.NAMESPACES:
        return ""
    return (
        f"--isolation={isolation.value}: NOTHING protects this machine, the gradebook or other submissions "
        "from student code; use it for notebooks you have written yourself."
    )


def at_least(isolation: Isolation) -> tuple[Isolation, ...]:
    """The levels that are no weaker, the strongest first."""
    every = tuple(Isolation)
    return every[: every.index(isolation) + 1]


def environment_digest(environment: str, isolation: Isolation) -> str:
    """The digest of an environment at one level, so that no result passes for one of a stronger level.

    Args:
        environment: the digest of everything else; that of full isolation is this one unchanged.
        isolation: the level.
    """
    if isolation is Isolation.NAMESPACES:
        return environment
    return hashlib.sha256(f"{environment}\nisolation {isolation.value}".encode()).hexdigest()
