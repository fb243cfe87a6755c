"""Shared sandboxes, fixed random numbers, and no skipped tests in CI.

Starting a sandbox costs a second, opening a box in it milliseconds.
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import random
import re
import reprlib
import sys
from collections.abc import Generator, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import settings

from autograder.core.errors import SandboxUnavailable
from autograder.course import Course
from autograder.sandbox import pool
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside.namespaces import ENVIRONMENT, NamespaceSandbox, ZygoteSandbox
from autograder.sandbox.proof import selftest
from autograder.sandbox.proof.selftest import Start
from autograder.sandbox.runtime import get_current_runtime
from autograder.service.postgres import EmbeddedPostgres
from tests.support import launching
from tests.support.secrecy import fixed
from tests.support.thorough import current_rotation, describe_rotation

# Shared cores make deadlines flicker, a database of examples would be written beside the sources, and random
# examples must not decide whether a run passes. `--hypothesis-profile=explore` draws new ones.
settings.register_profile("suite", deadline=None, database=None, derandomize=True)
settings.register_profile("explore", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")
pytest.register_assert_rewrite("tests.store.contract")  # detailed assertion messages

if TYPE_CHECKING:
    from autograder.grading.assignment import Assignment
    from autograder.service.models import CourseRecord

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

REFUSED = "test_refused_grading"
"""The test file in which the self-test is expected to find a hole."""
NOT_APPLICABLE = "Skipped: not applicable:"
"""Prefix of skip reasons that do not depend on the machine's equipment."""


@pytest.fixture(scope="module", name="pool")
def sandboxes() -> Iterator[pool.Pool]:
    """Share one pool between all courses of a file."""
    with pool.Pool() as made:
        yield made


def pytest_configure() -> None:
    """Choose the part of the rotating tests before worker processes start, because they inherit it."""
    current_rotation()


def pytest_report_header() -> str:
    """Report which part of the rotating tests is run."""
    return describe_rotation()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long tests first.

    Idle workers take over tests from the end of another worker's queue. So all workers finish together, and
    long files are not split between workers, each of which would create the fixtures.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name cases after their values, also for containers and large values, so that ``-k`` finds them.

    The name must be the same in every process, so values with an address in their text get pytest's number.
    """
    if not isinstance(val, list | tuple | dict | int | Decimal | Fraction):
        return None
    try:
        text = ascii(reprlib.repr(val))[1:-1]
    except ValueError:  # an integer with more digits than Python prints
        return type(val).__name__
    return None if re.search("x[0-9a-f]{6,}>", text) else text


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude objects of libraries and tests from garbage collection, during and after their import."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, fail a test that is skipped for a missing dependency."""
    report = yield
    return _refuse_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In CI, fail a file that is skipped for a missing dependency."""
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
    """Return a real sandbox; if the machine has none, skip the test, or fail in CI."""
    try:
        return NamespaceSandbox(environment)
    except SandboxUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


class Levels:
    """A real sandbox for each level of isolation, with or without torch, started on first use."""

    def __init__(self) -> None:
        self._running: dict[tuple[Isolation, bool], ZygoteSandbox] = {}

    def sandbox(self, isolation: Isolation, *, torch: bool = False) -> ZygoteSandbox:
        """Return the sandbox; if the machine cannot start it, skip the test, or fail in CI."""
        if (isolation, torch) not in self._running:
            environment = Environment(preload=("torch", "torch.optim") if torch else ())
            self._running[isolation, torch] = self.fresh(isolation, environment)
        return self._running[isolation, torch]

    @staticmethod
    def fresh(isolation: Isolation, environment: Environment | None = None) -> ZygoteSandbox:
        """Return a new sandbox that the caller closes."""
        try:
            return pool.start_sandbox(environment or Environment(), isolation)
        except SandboxUnavailable as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(error))

    def close(self) -> None:
        """Close all sandboxes."""
        for sandbox in self._running.values():
            sandbox.close()


@pytest.fixture(scope="module")
def levels() -> Iterator[Levels]:
    """Provide sandboxes of every level."""
    made = Levels()
    yield made
    made.close()


@pytest.fixture(scope="session")
def plain_sandbox() -> Iterator[NamespaceSandbox]:
    """Provide a real sandbox without preloaded modules."""
    made = start_sandbox(Environment())
    yield made
    made.close()


@pytest.fixture(scope="session")
def torch_sandbox() -> Iterator[NamespaceSandbox]:
    """Provide a real sandbox with torch preloaded."""
    made = start_sandbox(Environment(preload=("torch", "torch.optim")))
    yield made
    made.close()


@pytest.fixture(scope="session")
def zygote_templates() -> Iterator[str]:
    """Provide the address of templates that fork zygotes with torch already imported."""
    with launching.templates([*get_current_runtime().sys_path], ENVIRONMENT) as address:
        yield address


@pytest.fixture(scope="module", autouse=True)
def quick_zygotes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fork zygotes from templates, except in the tests of the sandbox and of its survival."""
    folder = request.path.relative_to(request.config.rootpath / "tests").parts[0]
    if folder in {"redteam", "sandbox", "survival"} or sys.platform != "linux":
        yield
        return
    with launching.forked_zygotes(request.getfixturevalue("zygote_templates")):
        yield


@pytest.fixture(scope="session")
def proofs() -> dict[str, selftest.Proof]:
    """Return the self-tests of this process, by what they depend on."""
    return {}


@pytest.fixture(scope="module", autouse=True)
def selftest_once(request: pytest.FixtureRequest, proofs: dict[str, selftest.Proof]) -> Iterator[None]:
    """Run the self-test once for all courses, except in the tests of the sandbox itself.

    Otherwise every course would repeat it, which takes a second. A pool that starts sandboxes differently,
    such as a broken one, is tested separately.
    """
    folder = request.path.relative_to(request.config.rootpath / "tests").parts[0]
    ensure = selftest.ensure

    def ensure_once(
        start: Start,
        private: Path,
        *,
        isolation: str = "namespaces",
        packages: Sequence[tuple[str, Path]] = (),
    ) -> selftest.Proof:
        tested = getattr(start, "__self__", None)
        if not isinstance(tested, pool.Pool) or not isinstance(tested._start, functools.partial):
            return ensure(start, private, isolation=isolation, packages=packages)
        standing = selftest.hash_sandbox_basis(isolation, Environment(packages=tuple(packages)))
        if standing not in proofs:
            proofs[standing] = ensure(start, private, isolation=isolation, packages=packages)
        return proofs[standing]

    with pytest.MonkeyPatch.context() as patch:
        if folder not in {"redteam", "sabotage", "sandbox", "survival"} and request.path.stem != REFUSED:
            patch.setattr(selftest, "ensure", ensure_once)
        yield


def quick_passwords(patch: pytest.MonkeyPatch) -> None:
    """Hash passwords with a hundredth of the memory, because the service's setting takes 0.1 s each."""
    from django.contrib.auth.hashers import Argon2PasswordHasher

    patch.setattr(Argon2PasswordHasher, "memory_cost", 1024)
    patch.setattr(Argon2PasswordHasher, "parallelism", 1)


@pytest.fixture(scope="session")
def service_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """Provide the service's database with its tables, and configure Django for it in this process."""
    from autograder.service import postgres, setup
    from autograder.web import site
    from tests.service.course import SIGNER

    with postgres.EmbeddedPostgres(tmp_path_factory.mktemp("database")) as running:
        pages = site.ServiceContext(SIGNER, site.AssignmentCache(), {})
        setup.configure_django(
            site.build_settings(
                running.url, secret_key="of the tests", addresses=("http://testserver",), running=pages
            )
        )
        setup.migrate_tables()
        with pytest.MonkeyPatch.context() as patch:
            # The API's schemas are read with `inspect`, which fails if a test replaced a course's package.
            for name in [name for name in sys.modules if name.partition(".")[0] == "reference"]:
                patch.delitem(sys.modules, name)
            importlib.import_module("autograder.web.urls")
        with pytest.MonkeyPatch.context() as patch:
            quick_passwords(patch)
            yield running
        pages.loaded.close()
        setup.close_connections()


@pytest.fixture(scope="session")
def essays_loaded(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """Return the released course of essays."""
    from autograder.grading import assignment as assignments
    from tests.support import essays

    return assignments.load_assignment(
        Course.from_folder(essays.essays(tmp_path_factory.mktemp("essays"))), essays.NAME
    )


@pytest.fixture
def service_course(service_database: EmbeddedPostgres) -> CourseRecord:
    """Return an empty course of the service."""
    from autograder.service.models import CourseRecord

    number = CourseRecord.objects.count() + 1
    return CourseRecord.objects.create(slug=f"course-{number}", title=f"Course {number}", secret=fixed(32))


@pytest.fixture(scope="session", autouse=True)
def same_secret() -> Iterator[None]:
    """Use the same secret for every course of a test, so that runs are reproducible."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.course.secrets", SimpleNamespace(token_bytes=fixed))
        yield


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Seed random numbers, so that they do not depend on earlier tests."""
    random.seed(1)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(1)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(1)  # the public function formats a stack trace each time
