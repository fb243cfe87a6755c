"""The levels of isolation as data: order, warnings, and effect on digests."""

from __future__ import annotations

from autograder.sandbox.levels import Isolation, compute_environment_digest, get_warning, list_levels_at_least


def test_the_levels_are_ordered() -> None:
    """Each level is no weaker than itself and every later one."""
    assert (Isolation.NAMESPACES,) == list_levels_at_least(Isolation.NAMESPACES)
    assert tuple(Isolation) == list_levels_at_least(Isolation.NONE)


def test_only_full_isolation_warns_of_nothing() -> None:
    """The warning about a weaker level says what is lost."""
    assert "" == get_warning(Isolation.NAMESPACES)
    assert "--isolation=none: NOTHING protects" in get_warning(Isolation.NONE)


def test_levels_have_digests_of_their_own() -> None:
    """The digest of full isolation equals the environment's; all digests differ."""
    digests = {compute_environment_digest("0" * 64, level) for level in Isolation}
    assert 2 == len(digests)
    assert "0" * 64 == compute_environment_digest("0" * 64, Isolation.NAMESPACES)
    assert {64} == {len(digest) for digest in digests}
