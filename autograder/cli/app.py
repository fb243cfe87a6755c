"""The command-line application. Each command collects its inputs, runs a use case, and prints the result.

Heavy libraries are imported inside the commands, so that --help answers at once.
"""

from __future__ import annotations

import gc
import importlib.metadata
import io
import logging
import os
import sys
from typing import Annotated, NoReturn

import typer

from autograder.cli.analysis import similar, statistics
from autograder.cli.classes import feedback, grade, regrade
from autograder.cli.grades import export_marks, grades, import_marks
from autograder.cli.inspection import check, demo, doctor, formula
from autograder.cli.options import EXIT_NO_SANDBOX, EXIT_REFUSED
from autograder.cli.platforms import adopt, collect, roster
from autograder.cli.preparation import generate, new, print_, verify
from autograder.cli.service import backup, restore, serve, submit, worker
from autograder.core.errors import AutograderError, SandboxUnavailable

EXIT_INTERRUPTED = 130

EPILOG = (
    "Exit codes: 0 done · 1 done, and something was found that needs attention · 2 wrong usage · "
    "3 the course, a rubric, a notebook or the gradebook is not usable · "
    "4 student code cannot be confined here · 130 interrupted (run the same command again to go on)."
)

app = typer.Typer(
    name="autograder",
    help="Exams and assignments in Jupyter notebooks, graded in a sandbox: exact marks, explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
)

COMMANDS = (
    (adopt, "adopt my-course"),
    (new, "new my-sheet --kinds formula,shape,code,written"),
    (generate, "generate dl4nlp-exam"),
    (verify, "verify dl4nlp-exam"),
    (roster, "roster participants.csv"),
    (collect, "collect dl4nlp-exam submissions.zip"),
    (grade, "grade dl4nlp-exam --student ada --student alan"),
    (feedback, "feedback dl4nlp-exam --language de"),
    (grades, "grades dl4nlp-exam --to grades.csv --format canvas"),
    (regrade, "regrade dl4nlp-exam --dry-run"),
    (statistics, "statistics dl4nlp-exam --names"),
    (similar, "similar dl4nlp-exam --given lecture.ipynb"),
    (export_marks, "mark export dl4nlp-exam --to marks.csv"),
    (import_marks, "mark import marks.csv --dry-run"),
    (serve, "serve demo-course --demo"),
    (worker, "worker --database-url postgresql://…"),
    (submit, "submit exam.ipynb --to https://exams.example.org/app/c/dl/a/exam/"),
    (backup, "backup copies/monday --course demo-course"),
    (restore, "restore copies/monday --course new-course"),
    (print_, "print dl4nlp-exam --language de --solutions"),
    (check, "check exam.ipynb"),
    (doctor, "doctor --json"),
    (demo, "demo --students 12 --seed 7 --folder /tmp/course"),
    (formula, 'formula "12 L d²" --symbols L,d_model:d --equals "12*L*d_model^2"'),
)
"""In the order of ``--help``, each with an example."""

GROUPS = {
    "mark": typer.Typer(
        help="Mark in a spreadsheet: export a sheet of answers, import the marks.",
        no_args_is_help=True,
        epilog="Example: autograder mark export dl4nlp-exam --to marks.csv",
    ),
}
"""Commands of two words, by the first word."""


def _print_version(show_version: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if show_version:
        typer.echo(f"autograder {importlib.metadata.version('nbexam')}")
        raise typer.Exit


@app.callback()
def _handle_options(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """What can stand before a command."""


# An example begins with the command's name, or with its group and name.
for _command, _example in COMMANDS:
    _first, _second, *_ = _example.split()
    _group = GROUPS.get(_first)
    _name = _first if _group is None else _second
    (app if _group is None else _group).command(_name, epilog=f"Example: autograder {_example}")(_command)
    # A group is added with its first command, so that --help keeps the order of `COMMANDS`.
    if _group is not None and len(_group.registered_commands) == 1:
        app.add_typer(_group, name=_first)


def main() -> None:
    """Run the command line. Expected errors become one sentence and an exit code."""
    # nbformat logs every oddity of old notebooks; our own notes contain what matters.
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal's encoding may lack characters
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except SandboxUnavailable as error:
        _exit_with_error(error, EXIT_NO_SANDBOX)
    except AutograderError as error:
        _exit_with_error(error, EXIT_REFUSED)
    except SystemExit as ended:
        if ended.code != EXIT_INTERRUPTED:  # typer exits with it after Ctrl-C
            raise
        _exit_interrupted()
    except KeyboardInterrupt:
        _exit_interrupted()
    except BrokenPipeError:  # the reader of our output, such as head, has ended
        # Python flushes standard output once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        # Otherwise Python searches all modules for cycles when it ends: 0.28 s of processor time of a command
        # with a gradebook (importing `app.classes` and `store.gradebook.book` takes
        # 0.80 s with this line, 1.08 s without).
        gc.freeze()


def _exit_interrupted() -> NoReturn:
    """Report that the run can be resumed, and exit."""
    sys.stderr.write("interrupted; what was graded is kept. Run the same command again to go on.\n")
    sys.exit(EXIT_INTERRUPTED)


def _exit_with_error(error: AutograderError, code: int) -> None:
    sys.stderr.write(f"autograder: {error}\n")
    sys.exit(code)
