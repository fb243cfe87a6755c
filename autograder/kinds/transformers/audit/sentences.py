"""Sentences about audits: what a counterexample showed, never where a fault is."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "audit.inputs": (
        "Finding {number}: the counterexample should return {names}, as a tuple in this order or as a "
        "dictionary, but returned {got}."
    ),
    "audit.input.type": "Finding {number}: {name} is missing or no array of the right sort: {got}.",
    "audit.input.axes": "Finding {number}: {name} should have {axes} axes, but is {got}.",
    "audit.input.entries": "Finding {number}: {name} is empty or too large for a counterexample: {got}.",
    "audit.input.finite": "Finding {number}: {name} contains NaN or infinity; that proves nothing.",
    "audit.input.large": (
        "Finding {number}: {name} should hold numbers of at most 100; with huge ones any code overflows."
    ),
    "audit.input.mask": "Finding {number}: {name} should hold True and False, or 1 and 0, and nothing else.",
    "audit.input.range": "Finding {number}: {name} holds whole numbers that are out of range.",
    "audit.refused": "The definition says nothing about these inputs.",
    "audit.nothing": "Finding {number}: on these inputs no output counts.",
    "audit.wild": (
        "Finding {number}: on these inputs the definition itself gives huge numbers or none; that proves "
        "nothing."
    ),
    "audit.unsteady": (
        "Finding {number}: on these inputs rounding alone decides what comes out; that proves nothing."
    ),
    "audit.same": "Finding {number}: on its inputs the listing gives exactly what the definition gives.",
    "audit.other": (
        "Finding {number}: on its inputs the listing does violate the definition, but not because of what is "
        "named ({place})."
    ),
    "audit.place": "The inputs of finding {number} expose this fault, but {place} is not where it is.",
    "audit.guesses": "More findings are unproved than proved; then none of them counts.",
    "audit.not-found": "None of the findings is about this.",
    "audit.no-findings": "There is no finding.",
    "audit.findings": "{name} should be a list of pairs: a place, and a function that returns inputs.",
    "audit.too-many": "{name} may have at most {most} entries.",
    "audit.verdict.unknown": "{name} should be “right” or “faulty”, but is {got}.",
    "audit.verdict.faulty": "There are inputs on which the listing violates its definition.",
    "audit.verdict.findings": "A listing that is right has no findings.",
    "audit.verdict.unproved": (
        "“Faulty” needs a proof: none of the findings has inputs that expose what it names."
    ),
    "audit.remarks": "{name} should be a list of places, but is {got}.",
    "audit.no-remarks": "{name} is empty.",
    "audit.remark.missing": "None of the remarks is about this.",
    "audit.remark.claimed": (
        "This deserves a remark, but it is no fault: it cannot stand among the findings as well."
    ),
    "audit.test.rejects": (
        "The test rejects {rejected} of {right} right classes and {caught} of {wrong} wrong ones."
    ),
    "audit.test.constant": "The test says the same of all classes.",
    "audit.test.no-answers": "For {none} of {all} classes the test gave neither True nor False: {got}.",
    "audit.missed.other": "The test accepts {missed} of {wrong} wrong classes.",
    "audit.missed.scaling": (
        "The test accepts {missed} of {wrong} wrong classes, among them one that scales its scores "
        "differently."
    ),
    "audit.missed.softmax": (
        "The test accepts {missed} of {wrong} wrong classes, among them one whose weights of a query do not "
        "sum to 1."
    ),
    "audit.missed.mask": (
        "The test accepts {missed} of {wrong} wrong classes, among them one in which a blocked key still "
        "matters or an allowed one does not."
    ),
    "audit.missed.sources": (
        "The test accepts {missed} of {wrong} wrong classes, among them one that confuses queries, keys and "
        "values or their projections."
    ),
    "audit.missed.heads": (
        "The test accepts {missed} of {wrong} wrong classes, among them one that splits or joins the heads "
        "wrongly."
    ),
    "audit.missed.batch": (
        "The test accepts {missed} of {wrong} wrong classes, among them one in which sequences of one batch "
        "influence each other."
    ),
}
