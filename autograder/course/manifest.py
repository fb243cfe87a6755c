"""What was handed out: each student's variant and notebooks, signed, in the course's private folder.

A variant is drawn again whenever it is needed, and must agree with what stands here. So a rubric that is
changed afterwards is noticed, instead of grading students on what they were never asked.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder import atomic
from autograder.errors import CourseError
from autograder.variants.drawing import Fault, Variant, canonical_id

_FORMAT = 1
_PURPOSE = b"manifest of variants\0"
_FILE = "manifest.json"


class StudentRelease(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one student was given."""

    variant: Variant
    notebooks: dict[str, str]
    """SHA-256 of each released notebook, by its name."""
    drawn_for: str = ""
    """By whose id it was drawn, where a group has one variant; empty: the student's own."""


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a class was given for one assignment."""

    assignment: str
    catalogues: dict[str, tuple[Fault, ...]]
    """The faults as they were offered when the variants were drawn."""
    students: dict[str, StudentRelease]
    """By id, in Unicode's composed form."""
    format: int = _FORMAT

    def of(self, student: str) -> StudentRelease | None:
        """What a student was given; None when it was nothing of their own."""
        return self.students.get(canonical_id(student))

    def digest(self) -> str:
        """SHA-256 of everything in it."""
        return hashlib.sha256(_canonical(self)).hexdigest()


class _Signed(Struct, frozen=True, forbid_unknown_fields=True):
    signature: str
    """HMAC-SHA256 of the manifest with the course secret, in hexadecimal."""
    manifest: Manifest


def load(folder: Path, secret: bytes) -> Manifest | None:
    """The manifest of an assignment; None when nothing personal was handed out.

    Args:
        folder: `Course.variants` of the assignment.
        secret: the course's.

    Raises:
        CourseError: it is damaged, or was not written with this secret.
    """
    path = folder / _FILE
    try:
        data = atomic.read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        signed = msgspec.json.decode(data, type=_Signed)
    except msgspec.MsgspecError as error:
        raise CourseError(f"{path}: damaged ({error}); restore it from a copy") from error
    if not hmac.compare_digest(signed.signature.encode(), _signature(signed.manifest, secret).encode()):
        raise CourseError(
            f"{path}: its signature does not fit: it was changed, or belongs to another course secret; "
            "restore both from a copy"
        )
    return signed.manifest


def store(folder: Path, manifest: Manifest, notebooks: dict[str, bytes], secret: bytes) -> None:
    """Keep a manifest and the notebooks it names, readable by their owner alone.

    The manifest is written last, so that it never names what is not there.

    Args:
        folder: `Course.variants` of the assignment.
        manifest: what was handed out.
        notebooks: contents by SHA-256; those that lie in the folder already need not be given again.
        secret: the course's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for digest, content in notebooks.items():
        path = _notebook(folder, digest)
        if not path.exists():
            atomic.write(path, content, mode=0o600)
    signed = _Signed(_signature(manifest, secret), manifest)
    atomic.write(folder / _FILE, msgspec.json.format(msgspec.json.encode(signed), indent=1), mode=0o600)


def notebook(folder: Path, digest: str) -> bytes:
    """A notebook as it was handed out.

    Raises:
        CourseError: it is missing or was changed.
    """
    path = _notebook(folder, digest)
    try:
        content = atomic.read(path)
    except OSError as error:
        raise CourseError(f"{path}: a notebook that was handed out is missing: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise CourseError(f"{path}: a notebook that was handed out was changed; restore it from a copy")
    return content


def _notebook(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.ipynb"


def _canonical(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest, order="sorted")


def _signature(manifest: Manifest, secret: bytes) -> str:
    return hmac.new(secret, _PURPOSE + _canonical(manifest), hashlib.sha256).hexdigest()
