"""Sandboxes that many tests share, and no skipped tests in CI.

Starting a sandbox costs a second, opening a box in it milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TypeVar

import pytest
from hypothesis import settings

from autograder.errors import SandboxUnavailable
from autograder.sandbox import pool
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside.namespaces import NamespaceSandbox, ZygoteSandbox

# Shared cores make deadlines flicker, and a database of examples would be written beside the sources.
settings.register_profile("suite", deadline=None, database=None)
settings.load_profile("suite")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

NOT_APPLICABLE = "Skipped: not applicable:"
"""How the reason of a skip begins that says nothing about the machine's equipment."""


ALONE = ("redteam", "sandbox", "survival", "test_architecture.py")
"""Folders and files of tests that count processes, measure time or fill memory; the others may run
several at a time, see `make test`. Single files elsewhere mark themselves."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that would disturb one another run with nothing beside them."""
    for item in items:
        if item.path.relative_to(item.config.rootpath / "tests").parts[0] in ALONE:
            item.add_marker("alone")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that is skipped for a missing part fails."""
    report = yield
    return _refuse_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In CI a file that is skipped for a missing part fails."""
    report = yield
    return _refuse_skip(report)


def _refuse_skip(report: Report) -> Report:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not reason.startswith(NOT_APPLICABLE):
            report.outcome = "failed"
            report.longrepr = f"{reason}\nCI is set, and there no test is left out: install what is missing"
    return report


def start_sandbox(environment: Environment) -> NamespaceSandbox:
    """The real sandbox; where the machine has none the test is skipped, and in CI it fails."""
    try:
        return NamespaceSandbox(environment)
    except SandboxUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


class Levels:
    """One real sandbox per level of isolation, with torch or without, started when first asked for."""

    def __init__(self) -> None:
        self._running: dict[tuple[Isolation, bool], ZygoteSandbox] = {}

    def sandbox(self, isolation: Isolation, *, torch: bool = False) -> ZygoteSandbox:
        """The sandbox; where the machine cannot have it the test is skipped, and in CI it fails."""
        if (isolation, torch) not in self._running:
            environment = Environment(preload=("torch",) if torch else ())
            self._running[isolation, torch] = self.fresh(isolation, environment)
        return self._running[isolation, torch]

    @staticmethod
    def fresh(isolation: Isolation, environment: Environment | None = None) -> ZygoteSandbox:
        """A sandbox that the caller closes."""
        try:
            return pool.start_sandbox(environment or Environment(), isolation)
        except SandboxUnavailable as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(error))

    def close(self) -> None:
        """End them all."""
        for sandbox in self._running.values():
            sandbox.close()


@pytest.fixture(scope="module")
def levels() -> Iterator[Levels]:
    """Sandboxes of every level."""
    made = Levels()
    yield made
    made.close()


@pytest.fixture(scope="session")
def plain_sandbox() -> Iterator[NamespaceSandbox]:
    """The real sandbox without anything preloaded."""
    made = start_sandbox(Environment())
    yield made
    made.close()


@pytest.fixture(scope="session")
def torch_sandbox() -> Iterator[NamespaceSandbox]:
    """The real sandbox with torch imported ahead."""
    made = start_sandbox(Environment(preload=("torch",)))
    yield made
    made.close()
