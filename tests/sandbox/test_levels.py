"""The levels of isolation as data: their order, what they give up, and what they do to a digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.errors import SandboxUnavailable
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation, at_least, environment_digest, warning
from autograder.sandbox.outside import namespaces
from autograder.sandbox.outside.namespaces import NamespaceSandbox


def test_the_levels_are_ordered() -> None:
    """Each level is no weaker than itself and every later one."""
    assert (Isolation.NAMESPACES,) == at_least(Isolation.NAMESPACES)
    assert (Isolation.NAMESPACES, Isolation.REDUCED) == at_least(Isolation.REDUCED)
    assert tuple(Isolation) == at_least(Isolation.NONE)


def test_only_full_isolation_warns_of_nothing() -> None:
    """A weaker level is named together with what is lost."""
    assert "" == warning(Isolation.NAMESPACES)
    assert warning(Isolation.REDUCED).startswith("--isolation=reduced: student code has no")
    assert "NOTHING protects" in warning(Isolation.NONE)


def test_levels_have_digests_of_their_own() -> None:
    """That of full isolation is the environment's; no two are equal."""
    digests = {environment_digest("0" * 64, level) for level in Isolation}
    assert 3 == len(digests)
    assert "0" * 64 == environment_digest("0" * 64, Isolation.NAMESPACES)
    assert {64} == {len(digest) for digest in digests}


@pytest.mark.sandbox
def test_who_cannot_have_full_isolation_is_told_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the option and what is lost; the program never takes it by itself."""
    monkeypatch.setattr(namespaces, "explain_failure", lambda _: "unshare is refused here.")
    with pytest.raises(SandboxUnavailable, match=r"unshare is refused here.*--isolation=reduced") as caught:
        NamespaceSandbox(Environment(files=(("a.txt", Path("/nonexistent/a.txt")),)))
    assert "what every user of this machine may" in str(caught.value)
