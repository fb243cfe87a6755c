"""What the marker's bench says; see `autograder.web.words`."""

from __future__ import annotations

from collections.abc import Mapping

BENCH: Mapping[str, str | tuple[str, str]] = {
    "web.bench": "Bench",
    "web.bench-told": "Each input meets a fresh copy of the finished notebook: what one does, the next one "
    "does not see. It is confined as while grading, and changes no marks.",
    "web.bench-notebook": "Notebook",
    "web.bench-change": "Choose",
    "web.bench-input": "An expression or a call",
    "web.bench-try": "Try",
    "web.bench-results": "What came of it",
    "web.bench-value": "Value",
    "web.bench-none": "No value (None)",
    "web.bench-output": "Printed",
    "web.bench-error": "Exception",
    "web.bench-took": "{number} ms",
    "web.bench-cut": "There was more output than is kept.",
    "web.bench-ready": "Ready",
    "web.bench-keep": "Try as a new case on the class",
    "web.bench-preparing": "The notebook's cells are being run. Send the input again in a moment.",
    "web.bench-failed": "There is nothing to try: the notebook's cells could not be run to a state that "
    "answers.",
    "web.bench-unreadable": "There is nothing to try: {reason}",
    "web.bench-unavailable": "The bench is not available here: this machine cannot confine students' code.",
    "web.bench-busy": "The machine is busy. Send the input again in a moment.",
    "web.bench-often": "You have sent many inputs within a minute. Wait a little.",
    "web.bench-empty": "Write an input first.",
    "web.bench-long": "The input is too long: {number} characters, at most {most}.",
    "web.bench-ended-time": "Ended: it took too long.",
    "web.bench-ended-memory": "Ended: it needed too much memory.",
    "web.bench-ended-output": "Ended: it printed too much.",
    "web.bench-ended-exited": "Ended: the program exited.",
    "web.bench-ended-other": "Ended: the program crashed, or broke a rule of the sandbox.",
}
