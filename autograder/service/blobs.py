"""Bytes by their digest, stored once: in the database, or in an object store that the database refers to.

With ``AUTOGRADER_OBJECT_STORE`` new contents go there: ``s3://bucket/prefix?endpoint_url=…&region_name=…``,
with credentials as that store's library finds them, or ``file:///srv/blobs``, a folder that all machines
share. Contents already in the database stay there. Everything read from an object store is checked against
its digest.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.db import connection
from django.db.models import BinaryField
from django.db.models.functions import Substr

from autograder.core.errors import ServiceError, describe_error
from autograder.service.models import Blob

OBJECT_STORE = "AUTOGRADER_OBJECT_STORE"
LARGE = 8 << 20
"""Number of bytes read or written at once: a part of a large content, or several small contents."""
_OF_S3 = ("endpoint_url", "region_name", "addressing_style", "signature_version")
_EXPECTED = f"{OBJECT_STORE}: expected s3://bucket/prefix or file:///folder"


def store_blobs(contents: Iterable[bytes]) -> list[str]:
    """Store contents, skipping known ones; return their digests in order.

    Raises:
        ServiceError: an object store is configured and does not accept them.
    """
    by_digest: dict[str, bytes] = {}
    digests = []
    for data in contents:
        digest = hashlib.sha256(data).hexdigest()
        digests.append(digest)
        by_digest[digest] = data
        if sum(map(len, by_digest.values())) >= LARGE:
            _store_batch(by_digest)
            by_digest = {}
    _store_batch(by_digest)
    return digests


def _store_batch(by_digest: Mapping[str, bytes]) -> None:
    existing = set(Blob.objects.filter(digest__in=by_digest).values_list("digest", flat=True))
    # One order for all processes, so that concurrent inserts of the same rows cannot deadlock.
    new = {digest: data for digest, data in sorted(by_digest.items()) if digest not in existing}
    store = get_named_store()
    # Objects are stored before their rows, so that every row refers to an existing object.
    if store is not None:
        for digest, data in new.items():
            _save_object(store, digest, data)
    elif large := [digest for digest, data in new.items() if len(data) >= LARGE]:
        for digest in large:
            _insert_large(digest, new.pop(digest))
    Blob.objects.bulk_create(
        [
            Blob(digest=digest, size=len(data), data=data if store is None else None)
            for digest, data in new.items()
        ],
        ignore_conflicts=True,  # another process may store the same content concurrently
    )


def _insert_large(digest: str, data: bytes) -> None:
    """Write a large content with a binary parameter: as text in a statement it takes eight times its size."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(
            "INSERT INTO service_blob (digest, size, data) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (digest, len(data), data),
        )


def load_blobs(digests: Iterable[str]) -> dict[str, bytes]:
    """Return contents by digest.

    Raises:
        ServiceError: a content is in an object store and cannot be read from there unchanged.
    """
    rows = Blob.objects.filter(digest__in=set(digests)).values_list("digest", "data")
    return {digest: b"".join(_read_object(digest)) if data is None else bytes(data) for digest, data in rows}


def load_sizes(digests: Iterable[str]) -> dict[str, int]:
    """Return sizes in bytes by digest."""
    return dict(Blob.objects.filter(digest__in=set(digests)).values_list("digest", "size"))


def iterate_parts(digest: str) -> Iterator[bytes]:
    """Yield a stored content in parts, so that a large one is never in memory as a whole.

    Raises:
        ServiceError: as `load_blobs`; parts may have been yielded by then.
    """
    rows = Blob.objects.filter(digest=digest)
    for start in range(0, rows.values_list("size", flat=True).get(), LARGE):
        part = Substr("data", start + 1, LARGE, output_field=BinaryField())
        data = rows.values_list(part, flat=True).get()
        if data is None:
            yield from _read_object(digest)
            return
        yield bytes(data)


def pack_files(digests: Mapping[str, str], texts: Mapping[str, str] = MappingProxyType({})) -> IO[bytes]:
    """Pack stored contents and texts, by path, into a zip archive, positioned at its start.

    Raises:
        ServiceError: as `load_blobs`.
    """
    written = tempfile.SpooledTemporaryFile(LARGE)  # noqa: SIM115 - closed by the caller
    # Fast compression: the user waits for the archive.
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, text in texts.items():
            archive.writestr(path, text)
        for path, digest in digests.items():
            # `force_zip64`, because a member's size is unknown when its header is written.
            with archive.open(path, "w", force_zip64=True) as file:
                file.writelines(iterate_parts(digest))
    written.seek(0)
    return written


def get_named_store() -> Storage | None:
    """Return the object store that this process is configured with.

    Raises:
        ServiceError: see `open_object_store`.
    """
    return open_object_store(os.environ.get(OBJECT_STORE, ""))


@functools.cache
def open_object_store(address: str) -> Storage | None:
    """Return the object store at an address; None: contents go into the database.

    Raises:
        ServiceError: the address is not valid, or the library for it is not installed.
    """
    if not address:
        return None
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme == "file" and not parts.netloc and parts.path.strip("/") and not options:
        return FileSystemStorage(location=unquote(parts.path), file_permissions_mode=0o600)
    # Credentials come from the store's library, never from the address.
    if parts.scheme != "s3" or not parts.hostname or parts.username or not options.keys() <= set(_OF_S3):
        raise ServiceError(_EXPECTED)
    try:
        from storages.backends.s3 import S3Storage
    except ImportError as error:
        raise ServiceError(f"{OBJECT_STORE}: run first: pip install 'nbexam[objects]'") from error
    parameters: dict[str, Any] = {"default_acl": None, "file_overwrite": True, **options}
    return S3Storage(bucket_name=parts.netloc, location=parts.path.strip("/"), **parameters)


def delete_objects(digests: Iterable[str]) -> None:
    """Delete contents from the object store; the database no longer refers to them.

    Raises:
        ServiceError: the store does not delete one.
    """
    store = get_named_store()
    if store is None:
        return
    for digest in digests:
        try:
            store.delete(_build_key(digest))
        except Exception as error:  # each store raises different exceptions
            raise ServiceError(f"the object store cannot delete {digest}: {describe_error(error)}") from error


def _build_key(digest: str) -> str:
    return f"{digest[:2]}/{digest}"


def _save_object(store: Storage, digest: str, data: bytes) -> None:
    try:
        if not store.exists(_build_key(digest)):
            store.save(_build_key(digest), ContentFile(data))
    except Exception as error:  # each store raises different exceptions
        raise ServiceError(f"the object store cannot store {digest}: {describe_error(error)}") from error


def _read_object(digest: str) -> Iterator[bytes]:
    store = get_named_store()
    if store is None:
        raise ServiceError(f"{digest} is in an object store; set {OBJECT_STORE} here as well")
    hasher = hashlib.sha256()
    try:
        with store.open(_build_key(digest)) as file:
            while part := file.read(LARGE):
                hasher.update(part)
                yield bytes(part)
    except Exception as error:
        raise ServiceError(f"the object store cannot return {digest}: {describe_error(error)}") from error
    # Contents are streamed, so a mismatch can be detected only after the last part.
    if hasher.hexdigest() != digest:
        raise ServiceError(f"the object store returned other data for {digest}")
