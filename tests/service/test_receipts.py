"""Receipts are signed and cannot be changed."""

from __future__ import annotations

import json

import pytest

from autograder.core.errors import ServiceError
from autograder.service.receipts import Signer, verify_receipt

SIGNER = Signer(bytes(range(32)))
FACTS = {
    "student": "ada",
    "attempt": 3,
    "received": "2031-02-03T04:05:06.789+00:00",
    "files": {"a.ipynb": "f" * 64},
}


def test_a_receipt_says_what_was_signed() -> None:
    """A receipt is one line with the facts and can be verified with the public key."""
    receipt = SIGNER.sign(FACTS)
    assert 1 == len(receipt.splitlines())
    assert {"format": "autograder-receipt-1", **FACTS} == verify_receipt(receipt, SIGNER.public)
    assert receipt == Signer(bytes(range(32))).sign(dict(reversed(FACTS.items())))


def test_what_is_nested_without_end_is_no_receipt() -> None:
    """Deep nesting is reported as an error."""
    with pytest.raises(ServiceError, match="this is not a receipt"):
        verify_receipt("[" * 200_000, SIGNER.public)


@pytest.mark.parametrize("name", ["student", "attempt", "received", "files", "format"])
def test_no_fact_can_be_changed(name: str) -> None:
    """Changing, adding or removing a fact invalidates the signature."""
    facts = json.loads(SIGNER.sign(FACTS))
    for changed in ({**facts, name: "other"}, {key: value for key, value in facts.items() if key != name}):
        with pytest.raises(ServiceError):
            verify_receipt(json.dumps(changed), SIGNER.public)


def test_another_service_has_another_key() -> None:
    """The error says that another service signed the receipt."""
    with pytest.raises(ServiceError, match="another service signed it"):
        verify_receipt(SIGNER.sign(FACTS), Signer(bytes(32)).public)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"signature": "x", "format": 1}', "a receipt", "1"]
)
def test_what_is_no_receipt_is_told(text: str) -> None:
    """The error says that this is not a receipt."""
    with pytest.raises(ServiceError, match="receipt"):
        verify_receipt(text, SIGNER.public)


@pytest.mark.parametrize("key", ["", "x", "AAAA", "é"])
def test_what_is_no_key_is_told(key: str) -> None:
    """The error says that the public key is invalid."""
    with pytest.raises(ServiceError, match="public key"):
        verify_receipt(SIGNER.sign(FACTS), key)
