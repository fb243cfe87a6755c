"""The levels of isolation: what they are called, and what a weaker one gives up.

The weaker ones are for machines that cannot do better. They are chosen by name and never fallen back to,
printed when a run starts and ends, and stamped on every result.
"""

from __future__ import annotations

import enum
import hashlib


class Isolation(enum.StrEnum):
    """How student code is confined, strongest first."""

    NAMESPACES = "namespaces"
    REDUCED = "reduced"
    NONE = "none"


LOST = {
    Isolation.NAMESPACES: "",
    Isolation.REDUCED: (
        "student code has no file system, process list and network namespace of its own: it may see which "
        "processes run here, use what every user of this machine may, and fill this machine's disk faster "
        "than it is noticed"
    ),
    Isolation.NONE: (
        "NOTHING protects this machine, the gradebook or other submissions from student code; use it for "
        "notebooks you have written yourself"
    ),
}
"""What each level gives up, as half a sentence; empty for full isolation."""

ALTERNATIVE = (
    "If none of this can be changed, --isolation=reduced needs no namespaces; then "
    f"{LOST[Isolation.REDUCED]} (docs/security.md)."
)
"""Told to whoever cannot have full isolation."""


def warning(isolation: Isolation) -> str:
    """What to say before and after a run; empty for full isolation."""
    return LOST[isolation] and f"--isolation={isolation.value}: {LOST[isolation]}."


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
