"""Client of the service's API: submits files from a terminal or a notebook, and downloads files."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from autograder.core import atomic
from autograder.core.errors import ServiceError
from autograder.notebook.student import transport


def submit_files(files: Sequence[Path], page: str, key_file: Path, receipt: Path) -> str:
    """Submit files, write the receipt, and return a message about the attempt.

    Args:
        files: the files to submit.
        page: the address of the assignment's page.
        key_file: holds the key of the account.
        receipt: where the receipt is written.

    Raises:
        ServiceError: a file cannot be read, the address is not that of an assignment, or the submission was
            refused.
    """
    key = _read_key(key_file)
    try:
        contents = {path.name: atomic.read_bytes(path) for path in files}
    except (OSError, ValueError) as error:
        raise ServiceError(f"a file cannot be read: {error}") from error
    if len(contents) != len(files):
        raise ServiceError("two files have the same name; submit only one of them")
    body, kind = transport.encode_form(contents)
    headers = {"Content-Type": kind, transport.ONCE: secrets.token_hex(16)}
    reply = _send_request(_get_api_address(page), key, "not submitted: ", body=body, headers=headers).decode()
    atomic.write_bytes(receipt, reply.encode())
    facts = json.loads(reply)
    return f"submitted: attempt {facts['attempt']}, received {facts['received']}; receipt: {receipt}"


def fetch_reply(address: str, key_file: Path) -> bytes:
    """Return the service's response to the owner of a key.

    Raises:
        ServiceError: the key cannot be read, or the service cannot be reached or refused.
    """
    # urllib would also open file: addresses.
    if urlsplit(address).scheme not in {"http", "https"}:
        raise ServiceError(f"{address}: expected an address such as https://exams.example.org")
    return _send_request(address, _read_key(key_file))


def _read_key(file: Path) -> str:
    try:
        # The account page shows the service's address before the key.
        return atomic.read_bytes(file).decode().strip().rpartition("#")[2]
    except (OSError, ValueError) as error:
        raise ServiceError(f"{file}: the key cannot be read: {error}") from error


def _send_request(address: str, key: str, otherwise: str = "", **content: Any) -> bytes:
    try:
        return transport.send_request(address, key, **content)
    except transport.TransportError as error:
        # The service's own reason is a whole message; our sentences say themselves what did not happen.
        refused = error.code == "submit-refused"
        reason = f"{otherwise}{error.params['reason']}" if refused else error.describe("en")
        raise ServiceError(reason) from error


def _get_api_address(page: str) -> str:
    """Return the API address for that of an assignment's page: ``…/app/c/<course>/a/<assignment>/``."""
    parts = urlsplit(page)
    match parts.path.strip("/").split("/"):
        case ["app", "c", course, "a", assignment, *_] if parts.scheme in {"http", "https"} and parts.netloc:
            return f"{parts.scheme}://{parts.netloc}/api/courses/{course}/assignments/{assignment}/attempts"
    raise ServiceError(
        f"--to {page}: expected the address of an assignment's page, such as "
        "https://exams.example.org/app/c/<course>/a/<assignment>/"
    )
