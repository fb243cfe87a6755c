"""Our own failures are retried a few times, and not more often."""

from __future__ import annotations

import pytest

from autograder.core.errors import BoxEnded, SandboxFault, SandboxUnavailable
from autograder.core.records import Ending
from autograder.sandbox import retry
from autograder.sandbox.retry import MAX_FAULTS, retry_infrastructure


class Action:
    """Fail in a given way a number of times, then succeed."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.left = failures
        self.calls = 0
        self._error = error

    def __call__(self) -> str:
        """Make one attempt."""
        self.calls += 1
        if self.calls <= self.left:
            raise self._error
        return "done"


@pytest.mark.parametrize("failures", range(MAX_FAULTS + 1))
def test_a_few_faults_are_made_up_for(failures: int) -> None:
    """Each fault costs one more attempt."""
    action = Action(failures, SandboxFault("killed"))
    assert "done" == retry_infrastructure(action)
    assert failures + 1 == action.calls


def test_one_fault_more_is_told() -> None:
    """The last fault is raised."""
    action = Action(MAX_FAULTS + 1, SandboxFault("killed"))
    with pytest.raises(SandboxFault, match="killed"):
        retry_infrastructure(action)
    assert MAX_FAULTS + 1 == action.calls


@pytest.mark.parametrize(
    "error", [SandboxUnavailable("no namespaces"), BoxEnded(Ending.EXITED), ValueError()]
)
def test_nothing_else_is_tried_again(error: Exception) -> None:
    """A missing layer and errors of student code are not retried."""
    action = Action(1, error)
    with pytest.raises(type(error)):
        retry_infrastructure(action)
    assert 1 == action.calls


def test_what_hangs_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure after a long time is reported immediately."""
    monkeypatch.setattr(retry, "SECONDS", -1.0)
    action = Action(1, SandboxFault("no answer"))
    with pytest.raises(SandboxFault, match="no answer"):
        retry_infrastructure(action)
    assert 1 == action.calls
