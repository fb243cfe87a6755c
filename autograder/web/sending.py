"""Client of the service's API: submits files from a terminal or a notebook, and downloads files."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from autograder.core import atomic
from autograder.core.errors import ServiceError

KEY_FILE = "~/.config/autograder/key"
_SECONDS = 60


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
    body, kind = _encode_form(contents)
    request = urllib.request.Request(  # noqa: S310 - http and https alone, see `_get_api_address`
        _get_api_address(page), data=body, headers={"Authorization": f"Bearer {key}", "Content-Type": kind}
    )
    reply = _send_request(request, page, "not submitted: ").decode()
    atomic.write_bytes(receipt, reply.encode())
    facts = json.loads(reply)
    return f"submitted: attempt {facts['attempt']}, received {facts['received']}; receipt: {receipt}"


def fetch_reply(address: str, key_file: Path) -> bytes:
    """Return the service's response to the owner of a key.

    Raises:
        ServiceError: the key cannot be read, or the service cannot be reached or refused.
    """
    # urlopen would also open file: addresses.
    if urlsplit(address).scheme not in {"http", "https"}:
        raise ServiceError(f"{address}: expected an address such as https://exams.example.org")
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {_read_key(key_file)}"})  # noqa: S310
    return _send_request(request, address)


def _read_key(file: Path) -> str:
    try:
        return atomic.read_bytes(file).decode().strip()
    except (OSError, ValueError) as error:
        raise ServiceError(f"{file}: the key cannot be read: {error}") from error


def _send_request(request: urllib.request.Request, address: str, otherwise: str = "") -> bytes:
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise ServiceError(f"{otherwise}{_read_reason(error)}") from error
    except OSError as error:
        raise ServiceError(f"{otherwise}{address} cannot be reached: {error}") from error


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


def _encode_form(contents: dict[str, bytes]) -> tuple[bytes, str]:
    """Encode files as multipart form data (RFC 7578); return the body and its content type."""
    border = secrets.token_hex(16)
    parts = []
    for name, data in contents.items():
        # A quote or a line break in a name would end the header early.
        quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "")
        head = f'--{border}\r\nContent-Disposition: form-data; name="files"; filename="{quoted}"\r\n'
        parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + data + b"\r\n")
    return b"".join(parts) + f"--{border}--\r\n".encode(), f"multipart/form-data; boundary={border}"


def _read_reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the service responded with {error.code} {error.reason}"
