"""What the checks of both audits of the translator share."""

import functools

from reference.checks.claims import Input, read_claims

INPUTS = (Input("source", "integers", 2), Input("target", "integers", 2))
UNPROVED = {
    "en": "No finding proves this: one has to name the place, with inputs on which this fault shows.",
    "de": "Kein Befund beweist das: Einer muss die Stelle nennen, mit Eingaben, auf denen es sich zeigt.",
}
WRONG_VERDICT = {
    "en": "The verdict is wrong, or no finding proves it.",
    "de": "Das Urteil ist falsch, oder kein Befund beweist es.",
}


@functools.cache  # each item asks for them
def claims_of(student, findings_of, audit):
    """Return what the findings of an answer claim."""
    return read_claims(student, findings_of, audit, INPUTS)
