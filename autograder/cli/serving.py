"""The commands of the service: ``serve``, ``worker``, ``submit``, ``receipt``, ``export``."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.options import FULL, HERE, CourseOption, IsolationOption, WorkersOption
from autograder.errors import ServiceError

DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database-url",
        help="postgresql://user:password@host/name; default: AUTOGRADER_DATABASE_URL, or one of its own.",
    ),
]


def serve(
    course: Annotated[Path, typer.Argument(help="The course folder.")] = HERE,
    name: Annotated[
        str, typer.Option("--name", help="Of the course in addresses; default: the folder's.")
    ] = "",
    host: Annotated[str, typer.Option("--host", help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8000,
    address: Annotated[
        str, typer.Option("--address", help="Under which people reach it, such as https://exams.example.org.")
    ] = "",
    database_url: DatabaseOption = "",
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=-1, help="Submissions at the same time; 0: one per core; -1: none here."
        ),
    ] = 0,
    isolation: IsolationOption = FULL,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Make a course with an invented class first, and accounts to try it."),
    ] = False,
) -> None:
    """Serve a course: students hand in and see what can be seen within a second; staff publish marks.

    Nothing has to be set up: a database comes along, and a worker is started beside the pages.
    """
    from autograder.cli import report
    from autograder.service import setup
    from autograder.web import server

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    if demo:
        _demo_course(course)
    options = server.ServiceOptions(
        course, name or setup.slug_of(course), host, port, address, database_url, workers, isolation
    )
    with server.Service(options) as service:
        service.take_over()
        if demo:
            from autograder.web.trial import accounts

            for line in accounts(options.slug):
                report.say(line)
        elif first := service.first_administrator():
            report.say(f"The first administrator makes an account here, once: {first}")
        service.run(lambda: report.say(f"Serving {course} at {service.address} (Ctrl-C ends it)"))


def _demo_course(course: Path) -> None:
    from autograder.app import demo_run

    if not (course / "rubrics").is_dir():
        demo_run.make(course, students=12, seed=1)


def worker(
    database_url: DatabaseOption = "", workers: WorkersOption = 0, isolation: IsolationOption = FULL
) -> None:
    """Grade what students hand in, on this machine; it needs nothing but the database."""
    from autograder.web import server

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    server.work(database_url, workers, isolation)


def submit(
    files: Annotated[list[Path], typer.Argument(help="Notebooks, and whatever goes with them.")],
    to: Annotated[str, typer.Option("--to", help="Address of the assignment's page in the service.")],
    key_file: Annotated[
        Path, typer.Option("--key-file", help="Holds the key that was made on the page 'Account'.")
    ] = Path("~/.config/autograder/key"),
    receipt: Annotated[Path, typer.Option("--receipt", help="Where the receipt is written.")] = Path(
        "receipt.json"
    ),
) -> None:
    """Hand in from a terminal or a notebook cell, and keep the receipt."""
    from autograder.cli import report
    from autograder.web import sending

    report.say(sending.submit(files, to, key_file.expanduser(), receipt))


def receipt(
    file: Annotated[Path, typer.Argument(help="A receipt.")],
    key: Annotated[
        str,
        typer.Option("--key", help="The service's public key, from its page receipt-key; default: --course."),
    ] = "",
    course: CourseOption = HERE,
) -> None:
    """Verify a receipt: whether the service signed it, and what it says."""
    from autograder import atomic
    from autograder.cli import report
    from autograder.course import PRIVATE
    from autograder.service import receipts, setup

    if not key:
        folder = course / PRIVATE / "service"
        if not (folder / "receipt-key").is_file():
            raise ServiceError(f"{folder}: there is no service of this course; give its key: --key")
        key = receipts.Signer(setup.kept_key(folder, "receipt-key")).public
    try:
        text = atomic.read(file).decode("utf-8", errors="replace")
    except OSError as error:
        raise ServiceError(f"{file}: cannot be read: {error.strerror}") from error
    for name, value in receipts.verify(text, key).items():
        report.say(f"{name}: {value}")


def export(
    folder: Annotated[Path, typer.Argument(help="An empty folder.")],
    name: Annotated[
        str, typer.Option("--name", help="Of the course in addresses; default: that of --course.")
    ] = "",
    course: CourseOption = HERE,
    database_url: DatabaseOption = "",
) -> None:
    """Write a course of the service into a folder, with gradebook.db, as the other commands know it."""
    from autograder.cli import report
    from autograder.course import PRIVATE
    from autograder.service import setup
    from autograder.service.postgres import running_database

    url = database_url or os.environ.get("AUTOGRADER_DATABASE_URL", "")
    with running_database(course.resolve() / PRIVATE / "service" / "database", url) as found:
        setup.configure(setup.Wanted(found))
        setup.migrate()
        from autograder.service import moving
        from autograder.service.models import CourseRecord

        slug = name or setup.slug_of(course)
        record = CourseRecord.objects.filter(slug=slug).first()
        if record is None:
            raise ServiceError(f"there is no course {slug!r} in the database")
        moving.leave(record, folder)
        setup.close()
    report.say(f"wrote {folder}")
