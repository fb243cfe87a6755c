"""Checks the form of your answers: ``from coursecheck import check``, then ``check("task3-b")``.

It shows whether there is an answer, how it is read, and whether the calls that the question prints give the
expected results; ``check()`` reports on all questions. Correctness is decided after you submit: in a course
with a service by ``from coursecheck import submit``, then ``submit()``.

This file needs only Python. Three lines of data follow below: SPECIFICATION, the questions of the assignment,
SENTENCES, all messages in every language, and SOURCES, the unchanged modules of the grading program that read
formulas.
"""

from __future__ import annotations

import builtins
import json
import math
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

_WITHOUT_CHECK = "This answer could not be checked here. Hand it in all the same; that costs you nothing.\n"


def check(question: Any = "", language: Any = "") -> None:
    """Show whether a question's answer is there and how it is read; without a name, of all questions.

    Never raises, never grades.
    """
    try:
        namespace = sys._getframe(1).f_globals  # noqa: SLF001 - the notebook's own variables
        plain, page = _render_reports(question, language, namespace)
        _display_report(plain, page)
    except Exception:  # noqa: BLE001 - student values may raise from any method
        # A failing check must not disturb students: their notebook keeps running.
        sys.stdout.write(_make_fallback_text(language))


def submit(course: Any = "", language: Any = "") -> None:
    """Submit the saved notebook and the files beside it to the course's service, and show what it received.

    Save the notebook first. The first time it asks for the key from the service's account page. Never raises.
    ``course`` is needed only if several of your courses have an assignment of this name.
    """
    try:
        specification = json.loads(SPECIFICATION)
        chosen = language if isinstance(language, str) and language else specification["language"]
        with open(__file__, "rb") as file:  # noqa: PTH123 - as short on students' computers
            this_file = file.read()
        namespace = sys._getframe(1).f_globals  # noqa: SLF001 - the notebook's own variables
        submission = _module("autograder.notebook.student.submission")
        _display_report(*submission.submit(specification, this_file, namespace, str(course), chosen))
    except KeyboardInterrupt:
        # Without the inner frames: IPython can show their variables, and one is the key.
        raise KeyboardInterrupt from None
    except Exception:  # noqa: BLE001 - errors could quote the key
        sys.stdout.write(_make_fallback_text(language, "student.submit-failed"))


def _make_fallback_text(language: Any, code: str = "student.no-check") -> str:
    """Return the message for an answer that could not be checked, or a notebook that was not submitted."""
    try:
        chosen = language if isinstance(language, str) and language else json.loads(SPECIFICATION)["language"]
        return _format_sentence(code, chosen) + "\n"
    except Exception:  # noqa: BLE001 - the data of this file may be damaged as well
        return _WITHOUT_CHECK


def failing(namespace: Mapping[str, Any], questions: list[str]) -> list[str]:
    """Return the problems with the form of answers to some questions, for authors of an assignment."""
    entries, look = json.loads(SPECIFICATION)["questions"], _module("autograder.notebook.student.report")
    reports = [look.examine(name, entries[name], namespace, "en") for name in questions]
    return [
        f"{report.question}: {line.text}"
        for report in reports
        for line in report.lines
        if line.state != look.READY
    ]


def _render_reports(question: Any, language: Any, namespace: Mapping[str, Any]) -> tuple[str, str]:
    """Return the reports as plain text and as HTML."""
    specification = json.loads(SPECIFICATION)
    chosen = language if isinstance(language, str) and language else specification["language"]
    look, show = (
        _module("autograder.notebook.student.report"),
        _module("autograder.notebook.student.rendering"),
    )
    reports = []
    for name in list(specification["questions"]) if question == "" else [question]:
        entry = look.question_of(specification, name, chosen)
        if isinstance(entry, look.ReportLine):
            return f"{entry.text}\n", show.as_html((), (entry.text,))
        reports.append(look.examine(name, entry, namespace, chosen))
    failing = _module("autograder.notebook.student.surroundings").find_in_history(namespace.get("In"), chosen)
    notes = (*failing, *show.closing(reports, chosen))
    return show.as_text(reports, notes), show.as_html(reports, notes)


def _display_report(plain: str, page: str) -> None:
    """Display HTML if a notebook can show it, else print text. IPython is used only if it is running."""
    # Importing IPython here would be slow and would fail where it is not installed.
    running = sys.modules.get("IPython")
    if running is None or running.get_ipython() is None:
        sys.stdout.write(plain)
        return
    sys.modules["IPython.display"].display({"text/plain": _Plain(plain), "text/html": page}, raw=True)


class _Plain(str):
    """Text that is displayed without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self).rstrip("\n")


class _Union(tuple):  # type: ignore[type-arg]
    """Classes joined by ``|`` in a form that `isinstance` accepts; Python 3.9 has no such type."""

    __slots__ = ()

    def __or__(self, other: Any) -> _Union:
        return _Union((*self, *(other if isinstance(other, tuple) else (other,))))


class _Kind(type):
    """Metaclass of `_Struct`: accepts the class options and supports ``|``."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **_options: Any) -> _Kind:
        return super().__new__(mcs, name, bases, body)

    def __or__(cls, other: Any) -> Any:
        return _Union((cls,)) | other


class _Struct(metaclass=_Kind):
    """Replacement for the records of msgspec, a library that need not be installed here."""

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__.update(zip(type(self).__annotations__, values))  # noqa: B905 - Python 3.9
        self.__dict__.update(named)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))


class _Whole(int):
    """The part of flint's integers that the modules use."""

    fac_ui = staticmethod(math.factorial)
    bin_uiui = staticmethod(math.comb)


class _Message(_Struct):
    code: str
    params: Mapping[str, str] = {}


def _format_sentence(code: str, language: str, /, **params: Any) -> str:
    """Return a sentence of the grading program's catalogue; in English if it lacks the language."""
    texts = _load_sentences()[code]
    filled: str = texts.get(language, texts["en"]).format_map(params)
    return filled


def _load_sentences() -> Mapping[str, Any]:
    """Return all sentences, parsed at the first call."""
    if not _SAID:
        _SAID.update(json.loads(SENTENCES))
    return _SAID["sentences"]  # type: ignore[no-any-return]


def _has_decimal_comma(languages: Iterable[str]) -> bool:
    # Loads the data into _SAID.
    """Decide whether one of the languages writes a decimal comma."""
    _load_sentences()
    return any(language in _SAID["decimal-comma"] for language in languages)


_SAID: dict[str, Any] = {}
# Small replacements for modules that cannot travel: they need third-party libraries.
_STAND_INS: Mapping[str, Any] = {
    "msgspec": types.SimpleNamespace(Struct=_Struct),
    "flint": types.SimpleNamespace(fmpz=_Whole),
    "autograder.core.records": types.SimpleNamespace(Message=_Message),
    "autograder.messages.catalogue": types.SimpleNamespace(
        format_sentence=_format_sentence, load_sentences=_load_sentences
    ),
    "autograder.core.wording": types.SimpleNamespace(has_decimal_comma=_has_decimal_comma),
}
_LOADED: dict[str, Any] = {}
_TEXTS: dict[str, str] = {}


def _module(name: str) -> Any:
    """Return a module of SOURCES, run once under its own name, apart from an installed autograder."""
    if name in _STAND_INS:
        return _STAND_INS[name]
    # Loaded at first use: a notebook that never calls check() pays nothing.
    if name not in _LOADED:
        if not _TEXTS:
            _TEXTS.update(json.loads(SOURCES))
        code = compile(_TEXTS[name], f"<{name} in coursecheck>", "exec", dont_inherit=True)
        module = types.ModuleType(f"coursecheck:{name}")
        module_builtins = {**vars(builtins), "__import__": _import_module}
        if sys.version_info < (3, 10):  # noqa: UP036 - students' machines, not ours
            module_builtins["zip"] = _zip_rows
        module.__dict__["__builtins__"] = module_builtins
        sys.modules[module.__name__] = module  # records of the standard library look for themselves there
        exec(code, module.__dict__)  # noqa: S102 - the grading program's own modules, from this very file
        _LOADED[name] = module
    return _LOADED[name]


def _zip_rows(*rows: Any, strict: bool = False) -> Any:
    """Replace `zip`, which has no ``strict`` in Python 3.9."""
    del strict
    return zip(*rows)  # noqa: B905


def _import_module(name: str, *arguments: Any) -> Any:
    """Import a module for the travelling code: from SOURCES if it is ours, else from Python."""
    ours = name in _STAND_INS or name.startswith("autograder.")
    return _module(name) if ours else builtins.__import__(name, *arguments)


SPECIFICATION = "{}"
SENTENCES = "{}"
SOURCES = "{}"
