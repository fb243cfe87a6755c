"""One command starts all of it: the database, the pages, a worker beside them; and ends all of it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from msgspec import Struct

from autograder.course import Course
from autograder.errors import describe_error
from autograder.sandbox.levels import Isolation
from autograder.service import setup
from autograder.service.bench import Bench
from autograder.service.loaded import Loaded
from autograder.service.postgres import EmbeddedPostgres
from autograder.service.receipts import Signer
from autograder.web import identity, pages, site
from autograder.web.maintenance import folder_of

LOG = logging.getLogger("autograder.web.server")
METRICS_KEY = "AUTOGRADER_METRICS_KEY"
_LOOK_SECONDS = 1.0
_ENDING_SECONDS = 120.0
_BEHIND = 10
"""How nice a worker is to the pages beside it: somebody waits for those."""


class ServiceOptions(Struct, frozen=True):
    """How a service is to run."""

    course: Path
    slug: str = ""
    """Of the course in addresses; default: from the folder's name."""
    host: str = "127.0.0.1"
    port: int = 8000
    address: str = ""
    """Under which people reach it; default: host and port."""
    proxy: str = ""
    """The address of a proxy in front, whose X-Forwarded-For and -Proto are believed; default: 127.0.0.1
    where people reach the service under another address."""
    database_url: str = ""
    """Default: a database of its own."""
    workers: int = 0
    """Submissions at a time of the worker beside it; 0: one per core. Below zero: none is started."""
    isolation: Isolation = Isolation.NAMESPACES
    processes: int = 0
    """That answer requests; 0: one per core, up to `autograder.web.pages.MOST`."""


class Service:
    """The service of one course folder, as a context manager; `run` answers requests until it is ended.

    Raises:
        ServiceError: the database does not start, or a file of the service is not usable.
        CourseError, RubricError: the course is not usable.
    """

    def __init__(self, options: ServiceOptions, folders: Mapping[str, Path] | None = None) -> None:
        """Read what the service has in files.

        Args:
            options: how it is to run.
            folders: what was taken over already, by the process that has started this one.
        """
        self._options = options
        self._folder = folder_of(options.course)
        self.slug = options.slug or setup.slug_of(options.course)
        self._ended = contextlib.ExitStack()
        self._folders: dict[str, Path] = dict(folders or {})
        self._stop = threading.Event()
        self._over = threading.Event()
        self._starting = threading.Lock()
        self._database: EmbeddedPostgres | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._sockets: list[socket.socket] = []
        self._beside: list[subprocess.Popen[bytes]] = []
        """Processes that answer requests, too."""
        self._url = options.database_url or os.environ.get(setup.DATABASE_URL, "")
        self.address = options.address or f"http://{options.host}:{options.port}"
        self.signer = Signer(setup.kept_key(self._folder, "receipt-key"))

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            if not self._url:
                self._database = opened.enter_context(EmbeddedPostgres(self._folder / "database"))
                self._url = self._database.url
            loaded = Loaded()
            opened.callback(loaded.close)
            bench = Bench()
            opened.callback(bench.close)
            running = site.Running(
                self.signer,
                loaded,
                self._folders,
                identity.read(self._folder),
                identity.read_platforms(self._folder),
                os.environ.get(METRICS_KEY, ""),
                bench,
            )
            setup.configure(
                site.wanted(
                    self._url,
                    secret_key=setup.kept_key(self._folder, "session-key").hex(),
                    addresses=(self.address, "http://127.0.0.1", "http://localhost"),
                    running=running,
                    https=self.address.startswith("https://"),
                )
            )
            setup.migrate()
            opened.callback(setup.close)
            from autograder.service import blobs  # its tables ask for Django's settings, as those of the next
            from autograder.web import lti

            blobs.named_store()
            lti.register(running.platforms.values())
            self._ended = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with self._starting:
            for one in self._beside:
                _end(one)
            if self._worker is not None:
                _end(self._worker)
        self._ended.close()
        self._over.set()

    def take_over(self) -> None:
        """Bring the course's folder into the database, or up to date with it.

        A folder without assignments, as after a restore, adds nothing to what the database has.

        Raises:
            CourseError: it has none, and neither has the database.
        """
        from autograder.service import moving
        from autograder.service.models import CourseRecord

        folder = self._options.course
        if not (folder / "rubrics").is_dir() and CourseRecord.objects.exists():
            LOG.warning("%s holds no assignments; what was taken over before is served", folder)
            return
        record = moving.take_over(Course.at(folder), self.slug, self.signer)
        self.slug = record.slug
        self._folders[record.slug] = folder.resolve()

    def first_administrator(self) -> str:
        """The address at which the first administrator makes an account; empty where there is one."""
        from autograder.service.models import Account
        from autograder.web.account import invite

        if Account.objects.filter(is_superuser=True).exists():
            return ""
        return f"{self.address}{invite(None)[0]}"

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Answer requests until SIGTERM or SIGINT. What is under way is finished first.

        Args:
            ready: is called when the first request can be answered.

        Raises:
            OSError: the port is taken.
        """
        self._sockets = pages.listening(self._options.host, self._options.port)
        threading.Thread(target=self._watch, daemon=True).start()
        pages.answer(self._sockets, self._answering(), ready)

    def _answering(self) -> pages.Answering:
        one = self._options
        folders = {slug: str(folder) for slug, folder in self._folders.items()}
        return pages.Answering(str(one.course.resolve()), one.host, one.port, one.address, one.proxy, folders)

    def _watch(self) -> None:
        """Start again what ended: the database, the worker."""
        while not self._stop.is_set():
            try:
                with self._starting:
                    self._start_what_ended()
            except Exception as error:  # noqa: BLE001 - the next round tries again
                LOG.warning("could not be started: %s", describe_error(error))
            self._stop.wait(_LOOK_SECONDS)
        self._over.wait()  # a program that ends with its parent ends with the thread that started it

    def _start_what_ended(self) -> None:
        if self._stop.is_set():
            return
        if self._database is not None and not self._database.running():
            LOG.warning("the database ended; it is started again")
            self._database.start()
        if self._options.workers >= 0 and (self._worker is None or self._worker.poll() is not None):
            self._start_worker()
        living = [one for one in self._beside if one.poll() is None]
        if self._beside and len(living) < len(self._beside):
            LOG.warning("a process that answers requests ended; another one is started")
        lacking = pages.wanted(self._options.processes) - 1 - len(living)
        new = [pages.started(self._sockets, self._answering(), self._url) for _ in range(lacking)]
        self._beside = [*living, *new]

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "autograder", "worker", "--isolation", self._options.isolation.value]
        command += ["--workers", str(self._options.workers), "--until-input-ends"]
        self._worker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # ends with this process, however that ends
            env={**os.environ, setup.DATABASE_URL: self._url},
            start_new_session=True,
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end; it has two minutes for what it has begun."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdin is not None:
        process.stdin.close()


def work(database_url: str, workers: int, isolation: Isolation, *, until_input_ends: bool = False) -> None:
    """Be a worker until SIGTERM or SIGINT; what is under way is finished first.

    Args:
        database_url: empty: the environment names it.
        workers: submissions at a time; 0: one per core.
        isolation: how student code is confined.
        until_input_ends: or until standard input does.

    Raises:
        ServiceError: no database is named, or it is not one of PostgreSQL.
    """
    setup.configure(setup.Wanted(database_url or os.environ.get(setup.DATABASE_URL, "")))
    setup.migrate()
    from autograder.service import blobs
    from autograder.service.worker import Worker, run

    blobs.named_store()
    stop = threading.Event()
    if until_input_ends:
        os.nice(_BEHIND)
        threading.Thread(target=_at_end_of_input, args=(stop,), daemon=True).start()
    with pages.ended_by_signals(stop.set), Worker(isolation) as worker:
        run(worker, concurrency=workers or os.cpu_count() or 1, stop=stop)
    setup.close()


def _at_end_of_input(stop: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    stop.set()
