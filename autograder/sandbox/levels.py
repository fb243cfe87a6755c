"""The levels of isolation: their names, and the protection that the weaker one gives up.

The weaker one is for experiments. It must be requested by name and is never a fallback; it is printed when a
run starts and ends, and stamped on every result.
"""

from __future__ import annotations

import enum
import hashlib


class Isolation(enum.StrEnum):
    """How student code is confined, strongest first."""

    NAMESPACES = "namespaces"
    NONE = "none"


def get_warning(isolation: Isolation) -> str:
    """Return the text to print before and after a run; empty for full isolation."""
    if isolation is Isolation.NAMESPACES:
        return ""
    return (
        f"--isolation={isolation.value}: NOTHING protects this machine, the gradebook or other submissions "
        "from student code; use it for notebooks you have written yourself."
    )


def list_levels_at_least(isolation: Isolation) -> tuple[Isolation, ...]:
    """Return the levels that are at least as strong, strongest first."""
    # The members are declared from strong to weak, so that their order is the comparison.
    every = tuple(Isolation)
    return every[: every.index(isolation) + 1]


def compute_environment_digest(environment: str, isolation: Isolation) -> str:
    """Return the digest of an environment at one level, so that no result counts for a stronger level.

    Args:
        environment: the digest of everything except the level; returned unchanged for full isolation.
        isolation: the level.
    """
    if isolation is Isolation.NAMESPACES:
        return environment
    return hashlib.sha256(f"{environment}\nisolation {isolation.value}".encode()).hexdigest()
