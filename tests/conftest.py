"""Sandboxes that many tests share: starting one costs a second, opening a box in it milliseconds."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from autograder.errors import SandboxUnavailable
from autograder.sandbox.base import Environment
from autograder.sandbox.namespaces import NamespaceSandbox


def start_sandbox(environment: Environment) -> NamespaceSandbox:
    """The real sandbox; where the machine has none the test is skipped, and in CI it fails."""
    try:
        return NamespaceSandbox(environment)
    except SandboxUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


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
