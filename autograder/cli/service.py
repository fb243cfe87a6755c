"""The commands of the service: run it, run a worker, submit, back up and restore."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.options import FULL, HERE, CourseOption, IsolationOption, WorkersOption
from autograder.core.errors import ServiceError

DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database-url",
        help="postgresql://user:password@host/name. Default: AUTOGRADER_DATABASE_URL, or an embedded one.",
    ),
]


def _require_packages() -> None:
    if importlib.util.find_spec("django") is None:
        raise ServiceError("the service is not installed; run: pip install 'nbexam[service]'")


def serve(
    course: Annotated[
        Path, typer.Argument(help="The course folder, or an empty one: courses are created in the browser.")
    ] = HERE,
    name: Annotated[
        str,
        typer.Option("--name", help="Name of a new course in addresses. Default: the name of the folder."),
    ] = "",
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8000,
    address: Annotated[
        str, typer.Option("--address", help="Public address, such as https://exams.example.org.")
    ] = "",
    proxy: Annotated[
        str,
        typer.Option("--proxy", help="Address of the reverse proxy. Default with --address: 127.0.0.1."),
    ] = "",
    database_url: DatabaseOption = "",
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=-1,
            help="Number of submissions to grade in parallel. 0: one per core; -1: none here.",
        ),
    ] = 0,
    isolation: IsolationOption = FULL,
    processes: Annotated[
        int,
        typer.Option("--processes", min=0, help="Number of web processes. 0: one per core, up to four."),
    ] = 0,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Create a course with an invented class, and accounts to try it."),
    ] = False,
) -> None:
    """Run the service: students submit and read their results in the browser, staff mark and publish.

    Nothing has to be set up: a database comes along, and a worker is started beside the pages.
    """
    _require_packages()
    from autograder.cli import report
    from autograder.web import logs, server
    from autograder.web.processes import ServiceOptions

    logs.configure_logging()
    if demo:
        _make_demo_course(course)
    options = ServiceOptions(
        course, name, host, port, address, proxy, database_url, workers, isolation, processes
    )
    with server.Service(options) as service:
        service.import_course()
        if demo:
            from autograder.web.demo_accounts import create_accounts

            for line in create_accounts(service.slug):
                report.print_line(line)
        elif first := service.invite_administrator():
            report.print_line(f"The first administrator makes an account here, once: {first}")
        service.run(lambda: report.print_line(f"Serving {course} at {service.address} (Ctrl-C ends it)"))


def _make_demo_course(course: Path) -> None:
    from autograder.app import demo_run

    # A restart keeps the course of the first start.
    if not (course / "rubrics").is_dir():
        with demo_run.remove_on_failure(course, students=12, seed=1):
            demo_run.make_course(course, students=12, seed=1)


def worker(
    database_url: DatabaseOption = "",
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    until_input_ends: Annotated[
        bool, typer.Option("--until-input-ends", help="Stop when standard input is closed.")
    ] = False,
) -> None:
    """Grade submissions of the service on this machine. It needs only the database."""
    _require_packages()
    from autograder.web import logs, server

    logs.configure_logging()
    server.run_worker(database_url, workers, isolation, until_input_ends=until_input_ends)


def submit(
    files: Annotated[list[Path], typer.Argument(help="The notebooks and other files to submit.")],
    to: Annotated[str, typer.Option("--to", help="Address of the page of the assignment in the service.")],
    key_file: Annotated[
        Path, typer.Option("--key-file", help="Holds the API key that was created on the account page.")
    ] = Path("~/.config/autograder/key"),
    receipt: Annotated[Path, typer.Option("--receipt", help="The file to write the receipt to.")] = Path(
        "receipt.json"
    ),
) -> None:
    """Submit files from a terminal or a notebook cell, and store the receipt."""
    from autograder.cli import report
    from autograder.web import api_client

    report.print_line(api_client.submit_files(files, to, key_file.expanduser(), receipt))


def backup(
    folder: Annotated[Path, typer.Argument(help="An empty folder for the backup.")],
    course: CourseOption = HERE,
    database_url: DatabaseOption = "",
    as_course: Annotated[
        str,
        typer.Option(
            "--as-course",
            metavar="NAME",
            help="Write this course as a course folder with gradebook.db instead.",
        ),
    ] = "",
) -> None:
    """Back up all data of the service, also while it runs."""
    _require_packages()
    from autograder.cli import report
    from autograder.web import maintenance

    if as_course:
        maintenance.export_course(folder, course, as_course, database_url)
        report.print_line(f"wrote {folder}: a course folder for every other command")
        return
    maintenance.create_backup(folder, course, database_url)
    report.print_line(f"wrote {folder}; it holds marks and keys: keep it where nobody else reads")


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    course: CourseOption = HERE,
    database_url: DatabaseOption = "",
) -> None:
    """Restore a backup into a course folder or database that has no data of a service yet."""
    _require_packages()
    from autograder.cli import report
    from autograder.web import maintenance

    database = maintenance.restore_backup(folder, course, database_url)
    report.print_line(f"restored into {course} and {database}; run: autograder serve {course}")
