"""The commands ``demo`` and ``doctor``: what a new user tries first."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.grading import grade_class, tell_faults, write_feedback
from autograder.cli.options import (
    EXIT_FINDINGS,
    EXIT_NO_SANDBOX,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    PagesLanguageOption,
    WorkersOption,
)


def demo(
    students: Annotated[int, typer.Option("--students", min=1, max=5000, help="How many.")] = 60,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, another class.")] = 1,
    folder: Annotated[Path, typer.Option("--folder", help="Where the course is made.")] = Path("demo-course"),
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    language: PagesLanguageOption = "",
    json: JsonOption = False,
) -> None:
    """Make a course with a class that answers in many ways, grade it, and write gradebook and feedback."""
    from autograder.cli import report
    from autograder.demo import course as demo_course

    place, classes = demo_course.make(folder, students=students, seed=seed)
    console = report.console()
    found, outcomes = {}, {}
    exact = True
    with report.at_isolation(isolation):
        for name, people in classes.items():
            started = time.monotonic()
            outcomes[name] = grade_class(place, name, [], workers, isolation).outcomes
            graded = time.monotonic()
            pages, _ = write_feedback(place, name, language)
            verdict = demo_course.compare(people, outcomes[name])
            troubled = tell_faults(outcomes[name], name) or any(page.trouble for page in pages)
            exact = exact and verdict.exact and not troubled
            found[name] = {
                **report.grading_summary(outcomes[name], graded - started),
                "seconds for the feedback pages": round(time.monotonic() - graded, 2),
                **verdict.figures(),
            }
            if not json:
                title = f"{name}: {len(people)} invented students"
                console.print(report.grading_table(outcomes[name], title))
                console.print(report.summary_table(found[name], f"{name}, this run"))
        if json:
            report.print_json({"course": str(place.root), "assignments": found})
        else:
            for line in demo_course.where_to_look(place, outcomes):
                console.print(line, soft_wrap=True, markup=False)
    raise typer.Exit(0 if exact else EXIT_FINDINGS)


def doctor(course: CourseOption = HERE, json: JsonOption = False) -> None:
    """Test the sandbox of this machine afresh: each layer, what was found, and what to do."""
    import msgspec

    from autograder.cli import report
    from autograder.course import PRIVATE
    from autograder.sandbox.proof import doctor as examination
    from autograder.sandbox.proof import selftest

    layers = examination.examine()
    healthy = examination.healthy(layers)
    remembered = selftest.remembered(course / PRIVATE)
    if json:
        layers_found = msgspec.to_builtins(layers)
        report.print_json({"healthy": healthy, "layers": layers_found, "self-test of the course": remembered})
    else:
        report.console().print(report.layers_table(layers))
        report.console().print(f"self-test of this course: {remembered}", soft_wrap=True, markup=False)
    raise typer.Exit(0 if healthy else EXIT_NO_SANDBOX)
