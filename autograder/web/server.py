"""Starts and stops all processes of a service: the database, the web processes, and a worker."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from autograder.core.errors import ServiceError, describe_error
from autograder.course import Course
from autograder.sandbox.levels import Isolation
from autograder.service import setup
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.bench import Bench
from autograder.service.postgres import EmbeddedPostgres
from autograder.service.receipts import Signer
from autograder.web import identity, processes, site
from autograder.web.maintenance import get_folder
from autograder.web.processes import ServiceOptions
from autograder.web.request_metrics import RequestMetrics, SharedFile

LOG = logging.getLogger("autograder.web.server")
METRICS_KEY = "AUTOGRADER_METRICS_KEY"
_LOOK_SECONDS = 1.0
_NO_SANDBOX = 4
"""Exit code of commands if this machine lacks a sandbox (`autograder.cli.options.EXIT_NO_SANDBOX`)."""
_ENDING_SECONDS = 120.0
_BEHIND = 10
"""The niceness of the worker: users wait for the pages, so those have priority."""


_ADDRESS = re.compile(r"https?://[^\s/?#]+")
"""A public address: links append a path to it."""


class Service:
    """The service of a course folder, or of an empty one, as a context manager.

    `run` answers requests until the process is stopped.

    Raises:
        ServiceError: the database does not start, or an option or a file of the service is not usable.
        CourseError, RubricError: the course is not usable.
    """

    def __init__(
        self,
        options: ServiceOptions,
        folders: Mapping[str, Path] | None = None,
        metrics: SharedFile | None = None,
    ) -> None:
        """Read the service's files.

        Args:
            options: of the service.
            folders: course folders that the parent process has already imported.
            metrics: shared memory of the parent process; None: this is the first process.
        """
        if options.address and not _ADDRESS.fullmatch(options.address):
            raise ServiceError(
                f"--address: expected an address such as https://exams.example.org; got {options.address!r}"
            )
        self._options = options
        self._folder = get_folder(options.course)
        self.slug = options.slug
        self._ended = contextlib.ExitStack()
        self._folders: dict[str, Path] = dict(folders or {})
        self._stop = threading.Event()
        self._over = threading.Event()
        self._starting = threading.Lock()
        self._database: EmbeddedPostgres | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._sockets: list[socket.socket] = []
        self._beside: dict[int, subprocess.Popen[bytes]] = {}
        """Further processes that answer requests, by number; this one has the number 0."""
        self._metrics = metrics or SharedFile.create(processes.count_processes(options.processes))
        self._url = options.database_url or os.environ.get(setup.DATABASE_URL, "")
        self.address = options.address or f"http://{options.host}:{options.port}"
        self.signer = Signer(setup.load_or_create_key(self._folder, "receipt-key"))

    def __enter__(self) -> Self:
        # If a later step fails, everything that was opened is closed in reverse order.
        with contextlib.ExitStack() as opened:
            if not self._url:
                self._refuse_missing_url()
                self._database = opened.enter_context(EmbeddedPostgres(self._folder / "database"))
                self._url = self._database.url
            setup.check_database(self._url)
            loaded = AssignmentCache()
            opened.callback(loaded.close)
            bench = Bench()
            opened.callback(bench.close)
            running = site.ServiceContext(
                self.signer,
                loaded,
                self._folders,
                identity.read_providers(self._folder),
                identity.read_platforms(self._folder),
                os.environ.get(METRICS_KEY, ""),
                RequestMetrics(self._metrics),
                bench,
            )
            setup.configure_django(
                site.build_settings(
                    self._url,
                    secret_key=setup.load_or_create_key(self._folder, "session-key").hex(),
                    addresses=(self.address, "http://127.0.0.1", "http://localhost"),
                    running=running,
                    https=self.address.startswith("https://"),
                )
            )
            setup.migrate_tables()
            opened.callback(setup.close_connections)
            from autograder.service import blobs  # models need Django's settings, here and in the next line
            from autograder.web import lti

            blobs.get_named_store()
            lti.register_platforms(running.platforms.values())
            self._ended = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # Under the lock, the watcher cannot start another process that would never be ended.
        with self._starting:
            for process in self._beside.values():
                _end_process(process)
            if self._worker is not None:
                _end_process(self._worker)
        self._ended.close()
        self._over.set()

    def _refuse_missing_url(self) -> None:
        # The key of the sessions is created after the database: without an embedded one, it was another one.
        if (self._folder / "session-key").exists() and not (self._folder / "database").exists():
            raise ServiceError(
                f"{self._folder}: the service of this folder has a PostgreSQL database of its own; set "
                f"{setup.DATABASE_URL} to its URL (for a new service, serve another folder)"
            )

    def import_course(self) -> None:
        """Import the course's folder into the database, or update the database from it.

        An empty folder is a service whose courses are created in the browser. A folder without assignments,
        as after a restore, changes nothing in the database either.

        Raises:
            ServiceError: neither the folder nor the database has a course, and the folder has other files.
            CourseError: the folder is a course that is not usable.
        """
        from autograder.service import course_transfer
        from autograder.service.models import CourseRecord

        folder = self._options.course
        if not (folder / "rubrics").is_dir():
            # Hidden files are those of the service itself, and of file managers.
            others = any(not path.name.startswith(".") for path in folder.iterdir())
            if others and not CourseRecord.objects.exists():
                raise ServiceError(
                    f"{folder.resolve()}: this folder has files, but no course (assignments/ and rubrics/); "
                    "serve the folder of a course, or an empty folder, in which courses are created in the "
                    "browser"
                )
            LOG.info("%s contains no assignments; the courses in the database are served", folder)
            return
        self.slug = self.slug or setup.make_slug(folder)
        record = course_transfer.import_course(Course.from_folder(folder), self.slug, self.signer)
        self.slug = record.slug
        self._folders[record.slug] = folder.resolve()

    def invite_administrator(self) -> str:
        """Return the address at which the first administrator creates an account.

        Empty if there is one already.
        """
        from autograder.service.models import Account
        from autograder.web.account import create_invitation

        if Account.objects.filter(is_superuser=True).exists():
            return ""
        return f"{self.address}{create_invitation(None)[0]}"

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Answer requests until SIGTERM or SIGINT, then finish the running ones.

        Args:
            ready: is called when the first request can be answered.

        Raises:
            ServiceError: the port is taken.
        """
        self._sockets = processes.open_sockets(self._options.host, self._options.port)
        threading.Thread(target=self._watch_processes, daemon=True).start()
        processes.answer_requests(self._sockets, self._options, ready)

    def _watch_processes(self) -> None:
        """Restart the database, the worker and web processes when they end."""
        while not self._stop.is_set():
            try:
                with self._starting:
                    self._restart_ended()
            except Exception as error:  # noqa: BLE001 - the next round tries again
                LOG.warning("could not be started: %s", describe_error(error))
            self._stop.wait(_LOOK_SECONDS)
        self._over.wait()  # a child that ends with its parent ends with the thread that started it

    def _restart_ended(self) -> None:
        if self._stop.is_set():
            return
        if self._database is not None and not self._database.is_running():
            LOG.warning("the database ended; it is started again")
            self._database.start()
        # A worker that found no sandbox said so; it would find none again.
        ended = self._worker is None or self._worker.poll() not in (None, _NO_SANDBOX)
        if self._options.workers >= 0 and ended:
            self._start_worker()
        for number in range(1, self._metrics.processes):
            process = self._beside.get(number)
            if process is not None and process.poll() is None:
                continue
            if process is not None:
                LOG.warning("a process that answers requests ended; another one is started")
            options = processes.ProcessOptions(
                replace(self._options, database_url=""), self._folders, replace(self._metrics, process=number)
            )
            self._beside[number] = processes.start_process(self._sockets, options, self._url)

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "autograder", "worker", "--isolation", self._options.isolation.value]
        command += ["--workers", str(self._options.workers), "--until-input-ends"]
        self._worker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # its end of file stops the worker when this process ends
            env={setup.ADDRESS: self.address, **os.environ, setup.DATABASE_URL: self._url},
            start_new_session=True,
        )


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it has not ended after two minutes."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdin is not None:
        process.stdin.close()


def run_worker(
    database_url: str, workers: int, isolation: Isolation, *, until_input_ends: bool = False
) -> None:
    """Run a worker until SIGTERM or SIGINT; running jobs are finished first.

    Args:
        database_url: empty: from the environment.
        workers: submissions at a time; 0: one per core.
        isolation: of student code.
        until_input_ends: also stop when standard input ends.

    Raises:
        ServiceError: no database is configured, or it is not PostgreSQL.
        SandboxUnavailable: this machine lacks a layer of confinement.
    """
    url = database_url or os.environ.get(setup.DATABASE_URL, "")
    setup.check_database(url)
    setup.configure_django(site.build_offline_settings(url))
    setup.migrate_tables()
    from autograder.service import blobs
    from autograder.service.worker import Worker, run_worker

    blobs.get_named_store()
    stop = threading.Event()
    if until_input_ends:
        os.nice(_BEHIND)
        # Where the kernel divides processors by session first, that alone would change nothing: sched(7).
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(_BEHIND), encoding="ascii")
        threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
    concurrency = workers or os.cpu_count() or 1
    with processes.handle_signals(stop.set), Worker(isolation) as worker:
        LOG.info("worker started: concurrency %d, isolation %s", concurrency, isolation.value)
        run_worker(worker, concurrency=concurrency, stop=stop)
    setup.close_connections()


def _stop_at_end_of_input(stop: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    stop.set()
