"""The self-test before grading: run once, remembered in a private file, and failing closed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from autograder.core.errors import SandboxFault, SandboxUnavailable
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.proof import selftest
from autograder.sandbox.proof.selftest import FILE_NAME, Layer, ensure, read_last_proof
from autograder.sandbox.retry import MAX_FAULTS
from tests.conftest import start_sandbox
from tests.sandbox.fake_sandbox import FakeSandbox
from tests.support.broken_sandbox import tried_here
from tests.support.leftovers import zygote_pid

HOLDS = [Layer("no network", ok=True, found="nothing")]


class Examination:
    """A stand-in for `selftest.examine` that returns canned layers and counts its calls."""

    def __init__(self, *results: list[Layer]) -> None:
        self._results = results
        self.made = 0

    def __call__(self, make: selftest.Start, environment: Environment) -> list[Layer]:
        """Return the next result; repeat the last one."""
        del environment
        self.made += 1
        return self._results[min(self.made, len(self._results)) - 1]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Return a course's private folder."""
    folder = tmp_path / ".autograder"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def examination(monkeypatch: pytest.MonkeyPatch) -> Examination:
    """Return an examination in which every layer holds."""
    made = Examination(HOLDS)
    monkeypatch.setattr(selftest, "examine", made)
    return made


def never(environment: Environment) -> Sandbox:
    """Fail if a sandbox is started."""
    raise AssertionError("a sandbox was started")


def test_a_proof_is_made_once(private: Path, examination: Examination) -> None:
    """A second run on the same machine uses the stored proof, whose file only the owner can read."""
    first = ensure(never, private)
    assert first == ensure(never, private)
    assert 1 == examination.made
    assert 0o600 == (private / FILE_NAME).stat().st_mode & 0o777
    assert ("no network",) == first.canaries


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("platform.release", lambda: "another kernel"),
        ("sys.version", "another interpreter"),
        ("sys.executable", "/another/python"),
        ("os.getuid", lambda: 4711),
        ("autograder.sandbox.proof.selftest._hash_program", lambda: "another version"),
        ("autograder.sandbox.proof.selftest._describe_accounting", lambda: "another driver"),
        ("autograder.sandbox.proof.selftest._read_rights", lambda: ["CapEff:\tffff"]),
    ],
)
def test_another_machine_is_tested_again(
    monkeypatch: pytest.MonkeyPatch, private: Path, examination: Examination, place: str, value: object
) -> None:
    """A proof is valid only for the same kernel, interpreter, code, rights and accounting."""
    ensure(never, private)
    monkeypatch.setattr(place, value)
    ensure(never, private)
    assert 2 == examination.made


def test_the_proof_of_a_weaker_level_is_none_of_a_stronger(private: Path, examination: Examination) -> None:
    """Each isolation level needs its own proof."""
    ensure(never, private, isolation="none")
    ensure(never, private, isolation="namespaces")
    assert 2 == examination.made


def test_a_start_that_gives_another_level_is_refused(private: Path) -> None:
    """A sandbox with a weaker level than requested is refused."""
    with pytest.raises(SandboxUnavailable, match="expected isolation 'namespaces', got 'none'"):
        ensure(lambda environment: FakeSandbox(), private)
    assert read_last_proof(private) is None


def linked(path: Path) -> None:
    """Replace the proof by a link to a proof elsewhere."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def twice(path: Path) -> None:
    """Give the proof a second hard link, which another user may hold."""
    path.with_name("elsewhere").hardlink_to(path)


def a_folder(path: Path) -> None:
    """Replace the proof by a folder."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [
        linked,
        twice,
        a_folder,
        Path.unlink,
        lambda path: path.chmod(0o644),
        lambda path: path.chmod(0o620),
        lambda path: path.parent.chmod(0o777),
        lambda path: path.parent.chmod(0o770),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_bytes(b'{"standing": 1}'),
        lambda path: path.write_bytes(b" " * (selftest.MOST_BYTES + 1) + path.read_bytes()),
        lambda path: os.mkfifo(path.unlink() or path, 0o600),
    ],
)
def test_a_proof_that_others_could_have_written_is_not_believed(
    private: Path, examination: Examination, spoil: Callable[[Path], object]
) -> None:
    """With links, wrong permissions or damaged content the machine is tested again."""
    ensure(never, private)
    spoil(private / FILE_NAME)
    assert read_last_proof(private) is None
    ensure(never, private)
    assert 2 == examination.made


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can give a file away")
@pytest.mark.parametrize("of", ["file", "folder"])
def test_a_proof_of_another_user_is_not_believed(private: Path, examination: Examination, of: str) -> None:
    """Neither the file nor its folder may belong to another user."""
    ensure(never, private)
    os.chown(private / FILE_NAME if of == "file" else private, 60_000, 60_000)
    assert read_last_proof(private) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="not applicable: root may write everywhere")
def test_a_proof_that_cannot_be_kept_is_made_every_time(private: Path, examination: Examination) -> None:
    """If the folder is not writable, the self-test runs every time and grading continues."""
    private.chmod(0o500)
    ensure(never, private)
    ensure(never, private)
    assert 2 == examination.made


@pytest.mark.parametrize(
    "layers",
    [
        [Layer("no network", ok=False, found="reached: connected", remedy="do not grade")],
        [Layer("bounded time", ok=False, found="the box was not opened", remedy="see", finished=False)],
        [*HOLDS, Layer("namespaces and mounts", ok=False, found="not available", remedy="set this sysctl")],
    ],
)
def test_whatever_does_not_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch, private: Path, layers: list[Layer]
) -> None:
    """The error names layer, finding and remedy, and no proof is stored."""
    monkeypatch.setattr(selftest, "examine", Examination(layers))
    with pytest.raises(SandboxUnavailable) as refused:
        ensure(never, private)
    missing = layers[-1]
    for text in (missing.name, missing.found, missing.remedy, "nothing was graded"):
        assert text in str(refused.value)
    assert [] == list(private.iterdir())


@pytest.mark.parametrize("faults", [1, MAX_FAULTS])
def test_faults_of_ours_are_made_up_for(monkeypatch: pytest.MonkeyPatch, private: Path, faults: int) -> None:
    """An unfinished examination says nothing about the machine, and is retried."""
    unfinished = [Layer("no network", ok=False, found="the zygote is gone", finished=False)]
    examination = Examination(*[unfinished] * faults, HOLDS)
    monkeypatch.setattr(selftest, "examine", examination)
    assert ("no network",) == ensure(never, private).canaries
    assert faults + 1 == examination.made


def test_a_self_test_that_is_never_finished_is_a_refusal(
    monkeypatch: pytest.MonkeyPatch, private: Path
) -> None:
    """After a few unfinished attempts the self-test is refused with the last finding."""
    examination = Examination([Layer("no network", ok=False, found="the zygote is gone", finished=False)])
    monkeypatch.setattr(selftest, "examine", examination)
    with pytest.raises(SandboxUnavailable, match="no network: the zygote is gone"):
        ensure(never, private)
    assert MAX_FAULTS + 1 == examination.made


def test_what_was_reached_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, private: Path) -> None:
    """A hole that was found is not retried."""
    examination = Examination([Layer("no network", ok=False, found="reached: connected")], HOLDS)
    monkeypatch.setattr(selftest, "examine", examination)
    with pytest.raises(SandboxUnavailable, match="reached: connected"):
        ensure(never, private)
    assert 1 == examination.made


def test_a_hole_is_not_forgotten_over_a_fault(monkeypatch: pytest.MonkeyPatch, private: Path) -> None:
    """A hole found in an unfinished attempt is a refusal, whatever a later attempt finds."""
    both = [
        Layer("no network", ok=False, found="reached: connected"),
        Layer("bounded time", ok=False, found="the zygote is gone", finished=False),
    ]
    monkeypatch.setattr(selftest, "examine", Examination(both, HOLDS))
    with pytest.raises(SandboxUnavailable, match="reached: connected"):
        ensure(never, private)


def test_an_optional_layer_is_not_missed(monkeypatch: pytest.MonkeyPatch, private: Path) -> None:
    """A missing optional layer neither refuses grading nor counts as proven."""
    absent = Layer("Landlock", ok=False, found="not in this kernel", required=False)
    monkeypatch.setattr(selftest, "examine", Examination([*HOLDS, absent]))
    assert ("no network",) == ensure(never, private).canaries


def test_what_is_remembered_is_told(
    monkeypatch: pytest.MonkeyPatch, private: Path, examination: Examination
) -> None:
    """Reports no proof, a valid one with its time, or an outdated one; no sandbox is started."""
    assert "none is remembered; the next grading makes one" == selftest.describe_last_proof(private)
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    ensure(never, private)
    assert "1 layers held at 2023-11-14 22:13:20+00:00, and it counts" == selftest.describe_last_proof(
        private
    )
    monkeypatch.setattr("platform.release", lambda: "another kernel")
    assert selftest.describe_last_proof(private).endswith(
        "of another boot or configuration; the next grading makes a new one"
    )


@pytest.mark.sandbox
def test_this_machine_is_proven(private: Path) -> None:
    """Every canary is part of the stored proof, and reading the proof starts no sandbox."""
    proof = ensure(start_sandbox, private)
    assert {canary.name for canary in tried_here()} <= set(proof.canaries)
    assert proof == ensure(never, private)
    assert proof == msgspec.json.decode((private / FILE_NAME).read_bytes(), type=selftest.Proof)


@pytest.mark.sandbox
def test_a_zygote_killed_during_the_self_test_is_replaced(private: Path) -> None:
    """The first sandbox dies before its first canary; the second one proves the machine."""
    started: list[Sandbox] = []

    def start(environment: Environment) -> Sandbox:
        sandbox = start_sandbox(environment)
        if not started:
            os.kill(zygote_pid(sandbox), signal.SIGKILL)
            # Wait until it has ended; on a busy machine canaries might run before.
            os.waitid(os.P_PID, zygote_pid(sandbox), os.WEXITED | os.WNOWAIT)
        started.append(sandbox)
        return sandbox

    proof = ensure(start, private)
    assert 2 == len(started)
    assert {canary.name for canary in tried_here()} <= set(proof.canaries)


def test_a_sandbox_that_never_starts_is_a_refusal(private: Path) -> None:
    """Repeated faults mean that the sandbox is unavailable, and are not an error of the program."""

    def start(environment: Environment) -> Sandbox:
        raise SandboxFault("the zygote did not start")

    with pytest.raises(SandboxUnavailable, match="the zygote did not start"):
        ensure(start, private)
