"""Bytes by their digest, kept once: in the database, or in an object store that it points into.

With ``AUTOGRADER_OBJECT_STORE`` what is new goes there: ``s3://bucket/prefix?endpoint_url=…&region_name=…``,
its credentials as the library of that store finds them, or ``file:///srv/blobs``, a folder that all machines
share. What is in the database already stays there. Whatever comes out of a store is compared with its digest.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.db import connection
from django.db.models import BinaryField
from django.db.models.functions import Substr

from autograder.errors import ServiceError, describe_error
from autograder.service.models import Blob

OBJECT_STORE = "AUTOGRADER_OBJECT_STORE"
LARGE = 8 << 20
"""Bytes that are read and written together: so much of a large one at a time, or so many small ones."""
_OF_S3 = ("endpoint_url", "region_name", "addressing_style", "signature_version")
_EXPECTED = f"{OBJECT_STORE}: expected s3://bucket/prefix or file:///folder"


def put(contents: Iterable[bytes]) -> list[str]:
    """Keep contents; what is known already is not written again. Returns their digests, in order.

    Raises:
        ServiceError: there is an object store, and it does not take them.
    """
    by_digest: dict[str, bytes] = {}
    digests = []
    for data in contents:
        digest = hashlib.sha256(data).hexdigest()
        digests.append(digest)
        by_digest[digest] = data
        if sum(map(len, by_digest.values())) >= LARGE:
            _keep(by_digest)
            by_digest = {}
    _keep(by_digest)
    return digests


def _keep(by_digest: Mapping[str, bytes]) -> None:
    known = set(Blob.objects.filter(digest__in=by_digest).values_list("digest", flat=True))
    new = {digest: data for digest, data in sorted(by_digest.items()) if digest not in known}
    store = named_store()
    if store is not None:
        for digest, data in new.items():
            _save(store, digest, data)
    elif large := [digest for digest, data in new.items() if len(data) >= LARGE]:
        for digest in large:
            _insert(digest, new.pop(digest))
    Blob.objects.bulk_create(
        [
            Blob(digest=digest, size=len(data), data=data if store is None else None)
            for digest, data in new.items()
        ],
        ignore_conflicts=True,  # another one may keep the same just now
    )


def _insert(digest: str, data: bytes) -> None:
    """Write large contents as they are: in the text of a statement they take eight times their room."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(
            "INSERT INTO service_blob (digest, size, data) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (digest, len(data), data),
        )


def get(digests: Iterable[str]) -> dict[str, bytes]:
    """Contents by digest.

    Raises:
        ServiceError: something is in an object store, and cannot be had from there as it was.
    """
    rows = Blob.objects.filter(digest__in=set(digests)).values_list("digest", "data")
    return {digest: b"".join(_stored_parts(digest)) if data is None else bytes(data) for digest, data in rows}


def sizes(digests: Iterable[str]) -> dict[str, int]:
    """How many bytes there are, by digest."""
    return dict(Blob.objects.filter(digest__in=set(digests)).values_list("digest", "size"))


def parts(digest: str) -> Iterator[bytes]:
    """Contents that are kept, in parts, so that large ones are never in memory as a whole.

    Raises:
        ServiceError: as `get`; parts may have been given by then.
    """
    rows = Blob.objects.filter(digest=digest)
    for start in range(0, rows.values_list("size", flat=True).get(), LARGE):
        part = Substr("data", start + 1, LARGE, output_field=BinaryField())
        data = rows.values_list(part, flat=True).get()
        if data is None:
            yield from _stored_parts(digest)
            return
        yield bytes(data)


def named_store() -> Storage | None:
    """The object store that this process has been told of.

    Raises:
        ServiceError: see `object_store`.
    """
    return object_store(os.environ.get(OBJECT_STORE, ""))


@functools.cache
def object_store(address: str) -> Storage | None:
    """The store at an address; None: the database.

    Raises:
        ServiceError: it is no address of one, or the library for it is not installed.
    """
    if not address:
        return None
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme == "file" and not parts.netloc and parts.path.strip("/") and not options:
        return FileSystemStorage(location=unquote(parts.path), file_permissions_mode=0o600)
    if parts.scheme != "s3" or not parts.hostname or parts.username or not options.keys() <= set(_OF_S3):
        raise ServiceError(_EXPECTED)
    try:
        from storages.backends.s3 import S3Storage
    except ImportError as error:
        raise ServiceError(f"{OBJECT_STORE}: pip install 'autograder[objects]' first") from error
    given: dict[str, Any] = {"default_acl": None, "file_overwrite": True, **options}
    return S3Storage(bucket_name=parts.netloc, location=parts.path.strip("/"), **given)


def _place(digest: str) -> str:
    return f"{digest[:2]}/{digest}"


def _save(store: Storage, digest: str, data: bytes) -> None:
    try:
        if not store.exists(_place(digest)):
            store.save(_place(digest), ContentFile(data))
    except Exception as error:  # each store has errors of its own
        raise ServiceError(f"the object store does not take {digest}: {describe_error(error)}") from error


def _stored_parts(digest: str) -> Iterator[bytes]:
    store = named_store()
    if store is None:
        raise ServiceError(f"{digest} is in an object store; name it here as well: {OBJECT_STORE}")
    found = hashlib.sha256()
    try:
        with store.open(_place(digest)) as file:
            while part := file.read(LARGE):
                found.update(part)
                yield bytes(part)
    except Exception as error:
        raise ServiceError(f"the object store does not give {digest}: {describe_error(error)}") from error
    if found.hexdigest() != digest:
        raise ServiceError(f"the object store gave something else for {digest}")
