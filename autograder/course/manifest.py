"""The signed record of the variants and notebooks that students got, in the course's private folder.

A variant is drawn again whenever it is needed, and must agree with this record. So a later change of the
rubric is detected, instead of grading students on questions that they never got.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.rubric.variants.draws import Fault, Variant, normalise_id

_FORMAT = 1
_PURPOSE = b"manifest of variants\0"
_FILE = "manifest.json"


class StudentRelease(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Variant and notebooks of one student."""

    variant: Variant
    notebooks: dict[str, str]
    """SHA-256 of each released notebook, by its name."""
    drawn_for: str = ""
    """The id it was drawn for, if a group has one variant; empty: the student's own."""


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """All variants of a class for one assignment."""

    assignment: str
    catalogues: dict[str, tuple[Fault, ...]]
    """The available faults at the time when the variants were drawn."""
    students: dict[str, StudentRelease]
    """By id, in Unicode's composed form."""
    format: int = _FORMAT

    def get_release(self, student: str) -> StudentRelease | None:
        """Return a student's release; None if the student has no personal one."""
        return self.students.get(normalise_id(student))

    def compute_digest(self) -> str:
        """Return the SHA-256 of the whole manifest."""
        return hashlib.sha256(_encode_canonical(self)).hexdigest()


class _SignedManifest(Struct, frozen=True, forbid_unknown_fields=True):
    signature: str
    """HMAC-SHA256 of the manifest with the course secret, in hexadecimal."""
    manifest: Manifest


def load_manifest(folder: Path, secret: bytes) -> Manifest | None:
    """Load the manifest of an assignment; None if nothing personal was given out.

    Args:
        folder: `Course.locate_variants` of the assignment.
        secret: the course's.

    Raises:
        CourseError: it is damaged, or was not written with this secret.
    """
    path = folder / _FILE
    try:
        data = atomic.read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        signed = msgspec.json.decode(data, type=_SignedManifest)
    except msgspec.MsgspecError as error:
        raise CourseError(f"{path}: damaged ({error}); restore it from a copy") from error
    # The signature keeps anyone without the secret from assigning other variants.
    if not hmac.compare_digest(signed.signature.encode(), _sign_manifest(signed.manifest, secret).encode()):
        raise CourseError(
            f"{path}: its signature does not fit: it was changed, or belongs to another course secret; "
            "restore both from a copy"
        )
    return signed.manifest


def store_manifest(folder: Path, manifest: Manifest, notebooks: dict[str, bytes], secret: bytes) -> None:
    """Store a manifest and the notebooks it names, readable by their owner alone.

    The manifest is written last, so that it never names a missing notebook.

    Args:
        folder: `Course.locate_variants` of the assignment.
        manifest: the variants that were given out.
        notebooks: contents by SHA-256; those already in the folder may be omitted.
        secret: the course's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for digest, content in notebooks.items():
        # Named by digest: equal notebooks are stored once, and a changed file is detected.
        path = _locate_notebook(folder, digest)
        if not path.exists():
            atomic.write_bytes(path, content, mode=0o600)
    signed = _SignedManifest(_sign_manifest(manifest, secret), manifest)
    atomic.write_bytes(folder / _FILE, msgspec.json.format(msgspec.json.encode(signed), indent=1), mode=0o600)


def read_notebook(folder: Path, digest: str) -> bytes:
    """Read a notebook that was given out.

    Raises:
        CourseError: it is missing or was changed.
    """
    path = _locate_notebook(folder, digest)
    try:
        content = atomic.read_bytes(path)
    except OSError as error:
        raise CourseError(f"{path}: a notebook that was handed out is missing: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise CourseError(f"{path}: a notebook that was handed out was changed; restore it from a copy")
    return content


def _locate_notebook(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.ipynb"


def _encode_canonical(manifest: Manifest) -> bytes:
    # Sorted keys: the signature must not depend on the order in which students were drawn.
    return msgspec.json.encode(manifest, order="sorted")


def _sign_manifest(manifest: Manifest, secret: bytes) -> str:
    return hmac.new(secret, _PURPOSE + _encode_canonical(manifest), hashlib.sha256).hexdigest()
