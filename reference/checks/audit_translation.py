"""What the checks of both audits of the translator share."""

import functools

from reference.checks.claims import Input, read_claims

INPUTS = (Input("source", "integers", 2), Input("target", "integers", 2))


@functools.cache  # each item asks for them
def claims_of(student, findings_of, audit):
    """Return what the findings of an answer claim."""
    return read_claims(student, findings_of, audit, INPUTS)
