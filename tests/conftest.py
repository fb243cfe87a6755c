"""Sandboxes that many tests share, nothing left to chance, and no skipped tests in CI.

Starting a sandbox costs a second, opening a box in it milliseconds.
"""

from __future__ import annotations

import functools
import gc
import os
import random
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import pytest
from hypothesis import settings

from autograder.errors import SandboxUnavailable
from autograder.sandbox import pool
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside.namespaces import NamespaceSandbox, ZygoteSandbox
from tests.support.secrecy import fixed

# Shared cores make deadlines flicker, a database of examples would be written beside the sources, and what is
# drawn must not decide whether a run is green. `--hypothesis-profile=explore` draws anew.
settings.register_profile("suite", deadline=None, database=None, derandomize=True)
settings.register_profile("explore", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

NOT_APPLICABLE = "Skipped: not applicable:"
"""How the reason of a skip begins that says nothing about the machine's equipment."""


ALONE = (
    "algebra/test_fuzz.py",
    "algebra/test_hostile.py",
    "cli/test_start.py",
    "grading/test_limits_pipeline.py",
    "grading/test_load.py",
    "redteam/test_boxes.py",
    "redteam/test_campaign.py",
    "sandbox/test_confinement.py",
    "sandbox/test_killed.py",
    "sandbox/test_leftovers.py",
    "sandbox/test_limits.py",
    "sandbox/test_limits_as_user.py",
    "sandbox/test_ordinary_user.py",
    "sandbox/test_orphans.py",
    "sandbox/test_pages.py",
    "sandbox/test_reduced.py",
    "sandbox/test_watch.py",
    "sandbox/test_watchdog.py",
    "survival",
)
"""Folders and files of tests that measure time, share out processors or memory, or look at what killed
graders left on the machine; the others run several at a time, see `make test`."""

FIRST = (
    "cli/test_course.py",
    "demo/test_gpt2.py",
    "grading/test_audit_pipeline.py",
    "grading/test_repair_pipeline.py",
    "grading/test_stages.py",
    "personal",
    "test_docs_authoring.py",
    "verify/test_shipped.py",
)
"""Folders and files with tests, or fixtures of a module, of ten seconds and more. A worker that has nothing
left takes over the end of what another one has: with these at the beginning all end together, and none is
divided between workers, each of which would make its fixtures."""


@functools.cache
def _is_in(path: Path, places: tuple[str, ...], root: Path) -> bool:
    return any(path.is_relative_to(root / "tests" / place) for place in places)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of which a part of `make test` runs nothing are not imported: that takes half a minute."""
    chosen = config.getoption("markexpr")
    if collection_path.is_file() and chosen.startswith(("alone", "not alone")):
        return _is_in(collection_path, ALONE, config.rootpath) is chosen.startswith("not") or None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that would disturb one another run with nothing beside them, and long ones before the others.

    Raises:
        UsageError: a test marks itself; no part of `make test` would run it.
    """
    for item in items:
        if item.get_closest_marker("alone"):
            raise pytest.UsageError(f"{item.nodeid}: name its file in ALONE in tests/conftest.py instead")
        if _is_in(item.path, ALONE, item.config.rootpath):
            item.add_marker("alone")
    items.sort(key=lambda item: not _is_in(item.path, FIRST, item.config.rootpath))


def pytest_collection_finish() -> None:
    """What libraries and tests keep is not searched for garbage again and again, half a second each time."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session", autouse=True)
def same_secret() -> Iterator[None]:
    """Every course that is made in a test has the same secret, so that a run can be repeated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.course.secrets", SimpleNamespace(token_bytes=fixed))
        yield


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """What a test draws does not depend on the tests that ran before it."""
    random.seed(1)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(1)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(1)  # the public function formats a stack trace each time
