"""Submit the saved files of a notebook's folder to the service, and report what it received and read."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import re
import secrets
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from autograder.messages.catalogue import format_sentence
from autograder.notebook.student.rendering import MARKS, as_html, as_text
from autograder.notebook.student.report import (
    PERSON,
    PROBLEM,
    READY,
    Report,
    ReportLine,
    find_worst_state,
    format_size,
)
from autograder.notebook.student.surroundings import find_bound_names
from autograder.notebook.student.transport import (
    KEY_REFUSED,
    ONCE,
    TransportError,
    encode_form,
    send_request,
)

VARIABLE = "NBEXAM_TOKEN"
"""Environment variable with the address and the key; the file is not read then."""
KEY_FILE = "~/.config/autograder/key"
_MOST_COURSES = 500
"""Courses of one person that are looked at."""
_MISSING = 404
MOST_BYTES = 64 << 20
"""Maximum size of all files together, as in the service."""
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_KEY = re.compile(r"(https?://[^\s#?]+)#([\x21-\x7e]{8,200})")
_TAG = r"</?(?:math|semantics|annotation|mrow|mo|mi|mn|mfrac|msup|msub|msubsup|msqrt|mtext|span)"
_MATHML = re.compile(
    rf"(?:[^<>]|{_TAG}(?: (?:xmlns|aria-label|encoding|linethickness|stretchy)=\"[^\"<>]*\")*>)*"
)
"""MathML as our own printer writes it: the notebook displays nothing else of a response as HTML."""


class _Key(NamedTuple):
    """Address of the service, and the key of an account."""

    address: str
    secret: str
    origin: str
    """``variable``, ``file`` or ``typed``."""


class _Folder(NamedTuple):
    """Files to submit."""

    path: Path
    notebooks: Mapping[str, bytes]
    others: Mapping[str, bytes]


def submit(
    specification: Mapping[str, Any], check: bytes, namespace: Mapping[str, Any], course: str, language: str
) -> tuple[str, str]:
    """Submit, and return what to tell the student, as plain text and as HTML.

    Args:
        specification: of the assignment.
        check: content of this ``coursecheck.py``, by which the service knows the course.
        namespace: the notebook's variables.
        course: name of the course in addresses; empty: the one that has this assignment.
        language: language of the messages.
    """
    assignment = str(specification["assignment"])
    try:
        reports = _submit_files(specification, check, namespace, course, language)
    except TransportError as error:
        # One sentence instead of a traceback: this is no fault of the student's code.
        reports = [Report(assignment, "", PROBLEM, (ReportLine(PROBLEM, error.describe(language)),))]
    return as_text(reports), as_html(reports)


def _submit_files(
    specification: Mapping[str, Any], check: bytes, namespace: Mapping[str, Any], course: str, language: str
) -> list[Report]:
    """Submit, and return the receipt and the service's readings.

    Raises:
        TransportError: nothing was submitted, or it is unknown whether it was.
    """
    assignment = str(specification["assignment"])
    folder = _read_folder(specification, namespace)
    contents = {**folder.notebooks, **folder.others}
    headers = {"Accept-Language": language}
    key, slug = _find_course(assignment, check, course, headers, language)
    for name, data in contents.items():
        if key.secret.encode() in data:
            raise TransportError("submit-key-in-file", name=name)
    # Before anything is sent: no fault of ours may hide a receipt.
    saving = tuple(_describe_saving(folder, specification, namespace, language))
    body, kind = encode_form(contents)
    place = f"{key.address}/api/courses/{quote(slug)}"
    address = f"{place}/assignments/{quote(assignment, safe='')}/attempts"
    headers_of_post = {**headers, "Content-Type": kind, ONCE: secrets.token_hex(16)}
    receipt = _parse_reply(send_request(address, key.secret, body=body, headers=headers_of_post), key)
    try:
        address = f"{place}/attempts/{quote(str(receipt['id']), safe='')}/readings"
        status = _parse_reply(send_request(address, key.secret, headers=headers), key)
        received, timing = str(status["received"]), [_read_timing(entry) for entry in status["timing"]]
        readings = list(_collect_readings(status))
    except (TransportError, KeyError, TypeError, ValueError):
        # The receipt is what matters, and it is there.
        received, readings = str(receipt.get("received", "–")), []
        timing = [ReportLine(PROBLEM, format_sentence("student.submit-no-readings", language))]
    lines = (*_describe_receipt(receipt, received, language), *timing, *saving)
    return [*readings, Report(assignment, "", find_worst_state(lines), lines)]


def _read_folder(specification: Mapping[str, Any], namespace: Mapping[str, Any]) -> _Folder:
    """Return the files of the assignment from the folder of the open notebook.

    Raises:
        TransportError: there is no notebook of the assignment, or a file cannot be submitted.
    """
    names = [f"{name}.ipynb" for name in specification["cells"]]
    current = _find_current_notebook(namespace)
    folders = dict.fromkeys(([current.parent] if current else []) + [Path.cwd()])
    # A renamed notebook keeps its old name in the session, but no file has that name any more.
    if current and current.name not in names and current.is_file():
        raise TransportError("submit-other-name", name=current.name, expected=", ".join(names))
    folder = next((path for path in folders if any((path / name).is_file() for name in names)), None)
    if folder is None:
        code = "submit-no-file-colab" if "google.colab" in sys.modules else "submit-no-file"
        raise TransportError(code, name=", ".join(names), folder=", ".join(map(str, folders)))
    notebooks = {name: _read_file(folder / name) for name in names if (folder / name).is_file()}
    entries = [entry for files in specification.get("files", {}).values() for entry in files]
    others = {}
    for entry in entries:
        if (folder / entry["path"]).is_file():
            name = entry["path"].rpartition("/")[2]
            others[name] = _read_file(folder / entry["path"], entry["most"])
    text = b"".join(notebooks.values())
    for path in sorted(folder.iterdir()):
        # Pictures beside the notebook belong to the texts that show them.
        if path.suffix.lower() in _PICTURES and path.is_file() and path.name.encode() in text:
            others.setdefault(path.name, _read_file(path))
    total = sum(map(len, (*notebooks.values(), *others.values())))
    if total > MOST_BYTES:
        raise TransportError(
            "submit-too-large", name=str(folder), found=format_size(total), limit=format_size(MOST_BYTES)
        )
    return _Folder(folder, notebooks, others)


def _find_current_notebook(namespace: Mapping[str, Any]) -> Path | None:
    """Return the path of the open notebook; None if the front end does not tell."""
    # Of VS Code, and of Jupyter's server.
    stated = namespace.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or ""
    path = Path(str(stated))
    return path if path.suffix == ".ipynb" and path.parent.is_dir() else None


def _read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        TransportError: it is too large or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size > most:
            raise TransportError(
                "submit-too-large", name=path.name, found=format_size(size), limit=format_size(most)
            )
        return path.read_bytes()
    except OSError as error:
        raise TransportError("submit-no-reading", name=path.name, reason=error.strerror or "–") from None


def _find_course(
    assignment: str, check: bytes, course: str, headers: Mapping[str, str], language: str
) -> tuple[_Key, str]:
    """Return the key and the course with the assignment; a key that was typed and is accepted is stored.

    Raises:
        TransportError: there is no accepted key, or no such course.
    """
    key = _load_key() or _ask_for_key(language)
    courses = _list_courses(key, assignment, headers)
    if courses is None and key.origin == "file":
        # The stored key was removed on the account page: ask for another one.
        key = _ask_for_key(language)
        courses = _list_courses(key, assignment, headers)
    if courses is None:
        raise TransportError("submit-key-refused", address=key.address)
    if key.origin == "typed":
        _store_key(key)
    return key, _choose_course(courses, assignment, check, course, key)


def _list_courses(key: _Key, assignment: str, headers: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the owner's courses with their files of the assignment; None: the key is not known."""
    place, courses = f"{key.address}/api/courses", {}
    try:
        listed = _parse_reply(
            send_request(f"{place}?limit={_MOST_COURSES}", key.secret, headers=headers), key
        )
        for slug in (str(entry["slug"]) for entry in listed.get("items", ()) if entry["student"]):
            offered = _find_assignment(f"{place}/{quote(slug)}/assignments", key, assignment, headers)
            courses[slug] = {assignment: offered} if offered and offered["open"] else {}
    except TransportError as error:
        if (error.code, error.status) == ("submit-refused", KEY_REFUSED):
            return None
        raise
    return courses


def _find_assignment(
    place: str, key: _Key, assignment: str, headers: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """Return an assignment of a course; None: there is none of this name for the owner."""
    try:
        address = f"{place}/{quote(assignment, safe='')}"
        return _parse_reply(send_request(address, key.secret, headers=headers), key)
    except TransportError as error:
        if (error.code, error.status) == ("submit-refused", _MISSING):
            return None
        raise


def _choose_course(courses: Mapping[str, Any], assignment: str, check: bytes, course: str, key: _Key) -> str:
    """Return the course that the release belongs to.

    Raises:
        TransportError: none has this assignment, or several have it and none of them this release.
    """
    having = [slug for slug, entries in courses.items() if assignment in entries and course in ("", slug)]
    if not having:
        raise TransportError("submit-no-assignment", name=assignment, address=key.address)
    digest = hashlib.sha256(check).hexdigest()
    same = [slug for slug in having if digest in courses[slug][assignment]["files"].values()]
    chosen = same if len(same) == 1 else having
    if len(chosen) > 1:
        raise TransportError("submit-which-course", name=assignment, found=", ".join(chosen), first=chosen[0])
    return chosen[0]


def _load_key() -> _Key | None:
    """Return the key of the environment or the file; None if there is none, or only one without address.

    Raises:
        TransportError: the environment's is not usable.
    """
    if os.environ.get(VARIABLE):
        return _parse_key(os.environ[VARIABLE], "variable")
    try:
        return _parse_key(Path(KEY_FILE).expanduser().read_text(encoding="utf-8"), "file")
    except (OSError, ValueError, RuntimeError, TransportError):
        return None


def _ask_for_key(language: str) -> _Key:
    """Ask for a key without showing it.

    Raises:
        TransportError: nobody can be asked, or the reply is not a key.
    """
    try:
        with warnings.catch_warnings():
            # Where input cannot be hidden, Python would only warn and show it.
            warnings.simplefilter("error", getpass.GetPassWarning)
            typed = getpass.getpass(format_sentence("student.submit-ask", language) + " ")
    # Without a front end that can ask, ipykernel raises NotImplementedError.
    except (NotImplementedError, EOFError, OSError, getpass.GetPassWarning):
        raise TransportError("submit-no-key", variable=VARIABLE) from None
    return _parse_key(typed, "typed")


def _parse_key(text: str, origin: str) -> _Key:
    """Return the address and the key in a text such as ``https://exams.example.org#…``.

    Raises:
        TransportError: it is not of this form, or its address is not encrypted. The text is not repeated.
    """
    parts = _KEY.fullmatch(text.strip())
    if parts is None:
        raise TransportError("submit-not-a-key")
    address = parts[1].rstrip("/")
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        raise TransportError("submit-not-a-key") from None
    if not address.startswith("https://") and host not in _LOCAL:
        raise TransportError("submit-not-encrypted", address=address)
    return _Key(address, parts[2], origin)


def _store_key(key: _Key) -> None:
    """Store a key for the next time, readable by its owner alone; a home that cannot be written is fine."""
    with contextlib.suppress(OSError, RuntimeError):
        path = Path(KEY_FILE).expanduser()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        # A new file has this mode from the start, whatever the mode of an old one is.
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
            file.write(f"{key.address}#{key.secret}\n")
        os.replace(fresh, path)  # noqa: PTH105 - as short on students' computers


def _parse_reply(reply: bytes, key: _Key) -> Mapping[str, Any]:
    """Return a response of the service.

    Raises:
        TransportError: something else answered, such as the page of a network that wants a sign-in.
    """
    try:
        facts = json.loads(reply)
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise TransportError("submit-no-service", address=key.address, found="200")
    return facts


def _describe_receipt(receipt: Mapping[str, Any], received: str, language: str) -> Iterator[ReportLine]:
    """Yield the lines about the receipt."""
    facts = {
        "number": str(receipt.get("attempt", "–")),
        "moment": received,
        "names": ", ".join(map(str, receipt.get("files", ()))),
    }
    yield ReportLine(READY, format_sentence("student.submit-received", language, **facts))
    digest = str(receipt.get("digest", "–"))
    yield ReportLine(READY, format_sentence("student.submit-digest", language, digest=digest))


def _describe_saving(
    folder: _Folder, specification: Mapping[str, Any], namespace: Mapping[str, Any], language: str
) -> Iterator[ReportLine]:
    """Yield a line for each notebook about when it was saved, and one about cells that no file has."""
    for name in folder.notebooks:
        with contextlib.suppress(OSError):
            moment = time.strftime("%H:%M:%S", time.localtime((folder.path / name).stat().st_mtime))
            yield ReportLine(
                READY, format_sentence("student.submit-saved", language, name=name, moment=moment)
            )
    saved = {source for data in folder.notebooks.values() for source in _list_sources(data)}
    names = {name for entry in specification["questions"].values() for name in entry["names"]}
    unsaved = find_unsaved_names(_get_history(namespace), saved, names)
    if unsaved is not None:
        listed = f" ({', '.join(unsaved)})" if unsaved else ""
        yield ReportLine(PROBLEM, format_sentence("student.submit-unsaved", language, found=listed))


def find_unsaved_names(history: Sequence[str], saved: set[str], names: set[str]) -> list[str] | None:
    """Return the answers whose cells no saved file has as they were run last.

    Args:
        history: cells that the kernel has run, in order; the last one is running.
        saved: cells of the saved notebooks.
        names: names of answers.

    Returns:
        Empty if only the running cell is not saved; None if everything is.
    """
    last_cells = {}
    for source in history:
        last_cells.update(dict.fromkeys(names & find_bound_names(source), _normalize(source)))
    unsaved = sorted(name for name, source in last_cells.items() if source not in saved)
    is_saved = not history or _normalize(history[-1]) in saved
    return None if is_saved and not unsaved else unsaved


def _get_history(namespace: Mapping[str, Any]) -> list[str]:
    """Return the cells that IPython has run, as they were written."""
    try:
        shell = namespace["get_ipython"]()
        return [str(source) for source in shell.history_manager.input_hist_raw if source]
    except (KeyError, TypeError, AttributeError):  # no notebook
        return []


def _list_sources(data: bytes) -> Iterator[str]:
    """Yield a notebook's code cells; none if it is not readable, which the service explains."""
    try:
        cells = [cell for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
        yield from [_normalize("".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        return


def _normalize(source: str) -> str:
    """Return a cell without blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in source.strip().split("\n"))


def _collect_readings(status: Mapping[str, Any]) -> Iterator[Report]:
    """Yield the service's remarks on each question and file, in the form of the check's own.

    Raises:
        KeyError, TypeError: the response has another form.
    """
    for file in status["checked"]:
        for answer in file["answers"]:
            lines = tuple(map(_read_line, answer["lines"]))
            yield Report(str(answer["question"]), str(answer["title"]), find_worst_state(lines), lines)
        lines = tuple(map(_read_line, file["cells"]))
        if file["reason"]:
            lines = (ReportLine(PROBLEM, str(file["reason"])), *lines)
        if lines:
            yield Report(str(file["name"]), "", find_worst_state(lines), lines)


def _read_timing(entry: Mapping[str, Any]) -> ReportLine:
    return ReportLine(PROBLEM if entry["late"] else READY, str(entry["text"]))


def _read_line(line: Mapping[str, Any]) -> ReportLine:
    text, reading, mathml = str(line["text"]), str(line["reading"]), str(line["mathml"])
    if not _MATHML.fullmatch(mathml):
        text, reading, mathml = text + reading, "", ""
    state = line["state"] if line["state"] in MARKS else PERSON
    return ReportLine(state, text, reading, mathml)
