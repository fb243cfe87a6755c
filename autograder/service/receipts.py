"""Receipts for submissions: files, time, and the service's signature (Ed25519, RFC 8032).

A receipt is one line of JSON. Anyone with the service's public key can verify that it was not changed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from autograder.core.errors import ServiceError

FORMAT = "autograder-receipt-1"
_SIGNATURE = "signature"


class Signer:
    """Signs receipts.

    Args:
        key: 32 bytes of a private key.
    """

    def __init__(self, key: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key)

    @property
    def public(self) -> str:
        """The public key for verification: 32 bytes in base64."""
        return _encode_base64(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, facts: Mapping[str, Any]) -> str:
        """Return a signed receipt of these facts."""
        signed_facts = {"format": FORMAT, **facts}
        return _format_line(
            {**signed_facts, _SIGNATURE: _encode_base64(self._key.sign(_format_line(signed_facts).encode()))}
        )


def verify_receipt(receipt: str, public: str) -> dict[str, Any]:
    """Verify a receipt and return its facts.

    Raises:
        ServiceError: it is not a receipt, it was not signed with this key, or it was changed.
    """
    try:
        facts = json.loads(receipt)
        # The signature covers all other facts.
        signature = base64.b64decode(facts.pop(_SIGNATURE), validate=True)
        has_known_format = facts["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ServiceError("this is not a receipt: expected the downloaded line of JSON") from error
    if not has_known_format:
        raise ServiceError(f"this receipt has another format: expected {FORMAT}, got {facts['format']!r}")
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
    except ValueError as error:
        raise ServiceError("the public key is not valid: expected 32 bytes in base64") from error
    try:
        key.verify(signature, _format_line(facts).encode())
    except InvalidSignature as error:
        raise ServiceError(
            "the signature is not valid: the receipt was changed, or another service signed it"
        ) from error
    return dict(facts)


def _format_line(facts: Mapping[str, Any]) -> str:
    """Serialise facts in canonical form, which signing and verifying must share."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
