"""The service as a process: starting, stopping, and what one command includes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
import requests

from autograder.app import open_course
from autograder.app.classes import collect_standings
from autograder.core.errors import ServiceError
from autograder.service.receipts import Signer, verify_receipt
from autograder.web.maintenance import get_folder
from tests.cli.running import run
from tests.service import course
from tests.support import small_course
from tests.support.leftovers import descendants
from tests.support.served import Served, wait_for

pytestmark = pytest.mark.sandbox
NAME = small_course.NAME
STATE = "SELECT state, tries FROM service_attempt"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the small course with a release."""
    (tmp_path / "course").mkdir()
    return course.small(tmp_path / "course")


@pytest.mark.slow
def test_from_one_command_to_a_mark(folder: Path, tmp_path: Path) -> None:
    """A submission is graded once, SIGTERM ends all processes, and a restart keeps the data.

    The same holds for a backup, and for a folder exported for the other commands.
    """
    answers = course.answered(folder, mlp_answer='mlp_parameters = "8 d^2"')
    with Served(folder, "--workers", "1") as service:
        key = service.accounts(["ada"])["ada"]
        assert 1 == service.hand_in(NAME, key, answers, tmp_path / "ada")["attempt"]
        with pytest.raises(ServiceError, match="The API key is not known"):
            service.hand_in(NAME, "guessed", answers, tmp_path / "eve")
        wait_for(lambda: service.rows(STATE) == [("graded", 1)], 600, "not graded")
        results = [
            run("backup", str(tmp_path / "copy"), "--course", str(folder)),
            run("backup", str(tmp_path / "left"), "--course", str(folder), "--as-course", service.slug),
        ]
        processes = descendants(service.pid)
        assert [] == [name for name in ("worker", "database") if service.child(name) not in processes]
        assert 0 == service.end()
        assert [] == [pid for pid in processes if Path(f"/proc/{pid}").exists()]
        service.start()
        assert [("graded", 1)] == service.rows(STATE)
    assert [(0, ""), (0, "")] == [(result.returncode, result.stderr) for result in results]
    left = collect_standings(open_course(tmp_path / "left"), NAME)
    assert {"ada": (2, 0)} == {name: (row.points, row.pending) for name, row in left.rows.items()}
    _restored(tmp_path, folder)
    log = (folder / "serve.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert {"time", "level", "of"} <= set.intersection(*(set(line) for line in lines))
    assert key not in log
    assert 1 == len(re.findall(r"updating the tables from none to \d{4}_", log))
    assert "worker started: concurrency 1, isolation namespaces" in log


def _restored(folder: Path, at: Path) -> None:
    """Restore a backup into another course folder, and check that an existing service is not overwritten."""
    refused = run("restore", str(folder / "copy"), "--course", str(at))
    assert (3, True) == (refused.returncode, "there is already a service in this folder" in refused.stderr)
    shutil.copytree(at, folder / "other", ignore=shutil.ignore_patterns("service"))
    result = run("restore", str(folder / "copy"), "--course", str(folder / "other"))
    assert (0, "") == (result.returncode, result.stderr)
    receipt = (folder / "ada" / "receipt.json").read_text("utf-8")
    signer = Signer((get_folder(folder / "other") / "receipt-key").read_bytes())
    assert "ada" == verify_receipt(receipt, signer.public)["student"]
    with Served(folder / "other", "--workers", "-1") as service:
        assert [("graded", 1)] == service.rows(STATE)


@pytest.mark.slow
def test_behind_a_web_server(folder: Path) -> None:
    """With an https address, forwarded headers are trusted, cookies are secure and metrics restricted."""
    address = "https://exams.example.org"
    with Served(folder, "--workers", "-1", "--address", address) as service:
        passed_on = {
            "Host": "exams.example.org",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "192.0.2.7",
        }

        def ask(path: str, **headers: str) -> requests.Response:
            all_headers = {"Host": "exams.example.org"} | headers
            return requests.get(
                service.address(path), headers=all_headers, allow_redirects=False, timeout=300
            )

        shown = ask("app/accounts/login/", **passed_on)
        assert (200, True) == (shown.status_code, "secure" in shown.headers["Set-Cookie"].lower())
        plain = ask("app/accounts/login/")
        assert (301, f"{address}/app/accounts/login/") == (plain.status_code, plain.headers["Location"])
        assert [403, 200] == [ask("metrics", **passed_on).status_code, ask("metrics").status_code]
        assert 200 == ask("healthz", Host="127.0.0.1").status_code


@pytest.mark.slow
def test_slow_and_endless_uploads_keep_nobody_waiting(folder: Path) -> None:
    """Sixty slow uploads do not block other requests, and a too large one is rejected by its header."""
    head = "POST /app/accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
    with Served(folder, "--workers", "-1") as service, contextlib.ExitStack() as opened:

        def sender(length: int) -> socket.socket:
            connection = opened.enter_context(
                socket.create_connection(("127.0.0.1", service.port), timeout=300)
            )
            connection.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode())
            return connection

        slow = [sender(1_000_000) for _ in range(60)]
        for _ in range(5):
            for connection in slow:
                connection.sendall(b"x")
            assert 200 == requests.get(service.address("app/accounts/login/"), timeout=300).status_code
        assert b" 413 " in sender(10 << 30).recv(100)


def test_several_processes_answer(folder: Path) -> None:
    """Each process answers alone, is restarted if it is killed, and ends with the service."""
    with Served(folder, "--workers", "-1", "--processes", "3") as service:
        wait_for(lambda: len(service.pages()) == 3, 300, "not three processes")
        pids = service.pages()
        wait_for(lambda: all(_answer_alone(service, pid, pids) for pid in pids), 300, "one does not answer")
        counted = _count_health_checks(service)
        assert counted >= len(pids)
        os.kill(pids[1], signal.SIGKILL)
        wait_for(lambda: len(set(service.pages()) - {pids[1]}) == 3, 300, "it is not replaced")
        assert counted <= _count_health_checks(service)
        pids = service.pages()
        service.kill("web")
        service.start()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids[1:]), 300, "one goes on")
        pids = service.pages()
        assert 0 == service.end()
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def _count_health_checks(service: Served) -> int:
    """Return the number of health checks in the metrics of all processes."""
    metrics = requests.get(service.address("metrics"), timeout=300).text
    return int(re.findall(r'autograder_requests_total\{route="healthz",status="2xx"\} (\d+)', metrics)[0])


def _answer_alone(service: Served, wanted: int, pids: list[int]) -> bool:
    other_pids = [pid for pid in pids if pid != wanted]
    for pid in other_pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        return service.answers()
    finally:
        for pid in other_pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_web_server_nobody_was_told_of_opens_nothing(folder: Path) -> None:
    """Requests forwarded by an unconfigured proxy are recognised by their headers."""
    with Served(folder, "--workers", "-1") as service:
        headers = {"X-Forwarded-For": "192.0.2.7"}
        responses = [
            requests.get(service.address("metrics"), headers=sent, timeout=300) for sent in (headers, {})
        ]
        assert [403, 200] == [response.status_code for response in responses]
