"""Sentences about audits: what a counterexample showed, never where a fault is."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {
    "audit.inputs": {
        "en": "Finding {number}: the counterexample should return {names}, as a tuple in this order or as "
        "a dictionary, but returned {got}.",
        "de": "Befund {number}: Das Gegenbeispiel soll {names} liefern, als Tupel in dieser Reihenfolge oder "
        "als Dictionary, lieferte aber {got}.",
    },
    "audit.input.type": {
        "en": "Finding {number}: {name} is missing or no array of the right sort: {got}.",
        "de": "Befund {number}: {name} fehlt oder ist kein Array der richtigen Art: {got}.",
    },
    "audit.input.axes": {
        "en": "Finding {number}: {name} should have {axes} axes, but is {got}.",
        "de": "Befund {number}: {name} soll {axes} Achsen haben, ist aber {got}.",
    },
    "audit.input.entries": {
        "en": "Finding {number}: {name} is empty or too large for a counterexample: {got}.",
        "de": "Befund {number}: {name} ist leer oder zu groß für ein Gegenbeispiel: {got}.",
    },
    "audit.input.finite": {
        "en": "Finding {number}: {name} contains NaN or infinity; that proves nothing.",
        "de": "Befund {number}: {name} enthält NaN oder Unendlich; das beweist nichts.",
    },
    "audit.input.large": {
        "en": "Finding {number}: {name} should hold numbers of at most 100; "
        "with huge ones any code overflows.",
        "de": "Befund {number}: {name} soll Zahlen bis 100 enthalten; bei riesigen läuft jeder Code über.",
    },
    "audit.input.mask": {
        "en": "Finding {number}: {name} should hold True and False, or 1 and 0, and nothing else.",
        "de": "Befund {number}: {name} soll True und False oder 1 und 0 enthalten und nichts anderes.",
    },
    "audit.input.range": {
        "en": "Finding {number}: {name} holds whole numbers that are out of range.",
        "de": "Befund {number}: {name} enthält ganze Zahlen außerhalb des erlaubten Bereichs.",
    },
    "audit.refused": {
        "en": "The definition says nothing about these inputs.",
        "de": "Über diese Eingaben sagt die Definition nichts.",
    },
    "audit.nothing": {
        "en": "Finding {number}: on these inputs no output counts.",
        "de": "Befund {number}: Bei diesen Eingaben zählt keine Ausgabe.",
    },
    "audit.wild": {
        "en": "Finding {number}: on these inputs the definition itself gives huge numbers or none; "
        "that proves nothing.",
        "de": "Befund {number}: Bei diesen Eingaben gibt schon die Definition riesige oder gar keine Zahlen; "
        "das beweist nichts.",
    },
    "audit.unsteady": {
        "en": "Finding {number}: on these inputs rounding alone decides what comes out; that proves nothing.",
        "de": "Befund {number}: Bei diesen Eingaben entscheidet schon das Runden über das Ergebnis; "
        "das beweist nichts.",
    },
    "audit.same": {
        "en": "Finding {number}: on its inputs the listing gives exactly what the definition gives.",
        "de": "Befund {number}: Auf seinen Eingaben gibt das Listing genau das, was die Definition gibt.",
    },
    "audit.other": {
        "en": "Finding {number}: on its inputs the listing does violate the definition, "
        "but not because of what is named ({place}).",
        "de": "Befund {number}: Auf seinen Eingaben verletzt das Listing die Definition, "
        "aber nicht wegen der genannten Stelle ({place}).",
    },
    "audit.place": {
        "en": "The inputs of finding {number} expose this fault, but {place} is not where it is.",
        "de": "Die Eingaben von Befund {number} decken diesen Fehler auf, aber er liegt nicht bei {place}.",
    },
    "audit.guesses": {
        "en": "More findings are unproved than proved; then none of them counts.",
        "de": "Mehr Befunde sind unbewiesen als bewiesen; dann zählt keiner.",
    },
    "audit.not-found": {
        "en": "None of the findings is about this.",
        "de": "Keiner der Befunde betrifft das.",
    },
    "audit.no-findings": {
        "en": "There is no finding.",
        "de": "Es gibt keinen Befund.",
    },
    "audit.findings": {
        "en": "{name} should be a list of pairs: a place, and a function that returns inputs.",
        "de": "{name} soll eine Liste von Paaren sein: eine Stelle und eine Funktion, die Eingaben liefert.",
    },
    "audit.too-many": {
        "en": "{name} may have at most {most} entries.",
        "de": "{name} darf höchstens {most} Einträge haben.",
    },
    "audit.verdict.unknown": {
        "en": "{name} should be “right” or “faulty”, but is {got}.",
        "de": "{name} soll „right“ oder „faulty“ sein, ist aber {got}.",
    },
    "audit.verdict.faulty": {
        "en": "There are inputs on which the listing violates its definition.",
        "de": "Es gibt Eingaben, auf denen das Listing seine Definition verletzt.",
    },
    "audit.verdict.findings": {
        "en": "A listing that is right has no findings.",
        "de": "Ein richtiges Listing hat keine Befunde.",
    },
    "audit.verdict.unproved": {
        "en": "“Faulty” needs a proof: none of the findings has inputs that expose what it names.",
        "de": "„Faulty“ braucht einen Beweis: Kein Befund hat Eingaben, die aufdecken, was er nennt.",
    },
    "audit.remarks": {
        "en": "{name} should be a list of places, but is {got}.",
        "de": "{name} soll eine Liste von Stellen sein, ist aber {got}.",
    },
    "audit.no-remarks": {
        "en": "{name} is empty.",
        "de": "{name} ist leer.",
    },
    "audit.remark.missing": {
        "en": "None of the remarks is about this.",
        "de": "Keine der Anmerkungen betrifft das.",
    },
    "audit.remark.claimed": {
        "en": "This deserves a remark, but it is no fault: it cannot stand among the findings as well.",
        "de": "Das verdient eine Anmerkung, ist aber kein Fehler: Unter den Befunden kann es nicht stehen.",
    },
    "audit.test.rejects": {
        "en": "The test rejects {rejected} of {right} right classes and {caught} of {wrong} wrong ones.",
        "de": "Der Test verwirft {rejected} von {right} richtigen Klassen und {caught} von {wrong} falschen.",
    },
    "audit.test.constant": {
        "en": "The test says the same of all classes.",
        "de": "Der Test sagt über alle Klassen dasselbe.",
    },
    "audit.test.no-answers": {
        "en": "For {none} of {all} classes the test gave neither True nor False: {got}.",
        "de": "Für {none} von {all} Klassen gab der Test weder True noch False: {got}.",
    },
    "audit.missed.other": {
        "en": "The test accepts {missed} of {wrong} wrong classes.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch.",
    },
    "audit.missed.scaling": {
        "en": "The test accepts {missed} of {wrong} wrong classes, among them one "
        "that scales its scores differently.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch, darunter eine, "
        "die Scores anders skaliert.",
    },
    "audit.missed.softmax": {
        "en": "The test accepts {missed} of {wrong} wrong classes, among them one whose weights "
        "of a query do not sum to 1.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch, darunter eine, "
        "deren Gewichte einer Query nicht die Summe 1 haben.",
    },
    "audit.missed.mask": {
        "en": "The test accepts {missed} of {wrong} wrong classes, among them one in which "
        "a blocked key still matters or an allowed one does not.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch, darunter eine, "
        "in der ein gesperrter Key noch zählt oder ein erlaubter nicht.",
    },
    "audit.missed.sources": {
        "en": "The test accepts {missed} of {wrong} wrong classes, among them one that confuses "
        "queries, keys and values or their projections.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch, darunter eine, "
        "die Queries, Keys und Values oder ihre Projektionen verwechselt.",
    },
    "audit.missed.heads": {
        "en": "The test accepts {missed} of {wrong} wrong classes, among them one that splits or joins "
        "the heads wrongly.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch, darunter eine, "
        "die die Köpfe falsch trennt oder zusammensetzt.",
    },
    "audit.missed.batch": {
        "en": "The test accepts {missed} of {wrong} wrong classes, among them one in which sequences "
        "of one batch influence each other.",
        "de": "Der Test lässt {missed} von {wrong} falschen Klassen durch, darunter eine, "
        "in der sich die Folgen eines Batches beeinflussen.",
    },
}
