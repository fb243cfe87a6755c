"""The self-test: healthy if confinement holds, with a clear report if not."""

from __future__ import annotations

import platform

import msgspec
import pytest

from autograder.core.errors import SandboxFault, SandboxUnavailable
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox, refuse_other_systems
from autograder.sandbox.proof import selftest
from autograder.sandbox.proof.canaries import CANARIES
from autograder.sandbox.proof.selftest import Layer, examine, is_healthy
from tests.conftest import start_sandbox


def by_name(layers: list[Layer]) -> dict[str, Layer]:
    """Return a layer by its name."""
    return {layer.name: layer for layer in layers}


def only(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Keep only one canary, with this code."""
    monkeypatch.setattr(selftest, "CANARIES", (msgspec.structs.replace(CANARIES[0], code=code),))


@pytest.mark.sandbox
def test_every_layer_holds_here() -> None:
    """On a machine that can grade, no canary reaches anything."""
    layers = examine(start_sandbox)
    assert [] == [layer for layer in layers if layer.required and not layer.ok]
    assert {canary.name for canary in CANARIES} <= set(by_name(layers))
    assert is_healthy(layers)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def canary():\n    return ['/etc/shadow']", "reached: ['/etc/shadow']"),
        ("def canary():\n    raise ValueError('odd')", "the canary failed: ValueError odd"),
        ("def canary():\n    import os\n    os._exit(0)", "the canary failed: exited"),
        ("syntax error", "the canary failed: SyntaxError"),
        ("import os\nos.abort()", "crashed"),
    ],
)
def test_a_canary_that_sings_is_reported(monkeypatch: pytest.MonkeyPatch, code: str, found: str) -> None:
    """Any result but None means that the layer does not hold, and is reported with a remedy."""
    only(monkeypatch, code)
    layers = examine(start_sandbox)
    assert not is_healthy(layers)
    layer = by_name(layers)["private file system"]
    assert found in layer.found
    assert layer.remedy


@pytest.mark.parametrize("error", [SandboxUnavailable("set this sysctl"), SandboxFault("no answer")])
def test_an_unavailable_sandbox_says_what_to_do(error: Exception) -> None:
    """The failure's message is the remedy, and no error is raised."""

    def refuse(environment: Environment) -> NamespaceSandbox:
        raise error

    layers = examine(refuse)
    assert not is_healthy(layers)
    assert str(error) == layers[-1].remedy


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_another_system_is_told_where_to_grade(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    """The message names the system, and what works nevertheless."""
    monkeypatch.setattr(platform, "system", lambda: system)
    with pytest.raises(SandboxUnavailable, match=f"this is {system}.*WSL 2.*works here"):
        refuse_other_systems()
    layers = examine()
    assert not by_name(layers)["system"].ok
    assert not is_healthy(layers)


def test_an_optional_layer_may_be_missing() -> None:
    """Only required layers decide."""
    assert is_healthy([Layer("a", ok=True, found=""), Layer("b", ok=False, found="", required=False)])
    assert not is_healthy([Layer("a", ok=False, found="")])
