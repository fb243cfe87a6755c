"""Sentences about formulas that cannot be read. The check that students run says them as well."""

from __future__ import annotations

from autograder.errors import Unreadable
from autograder.records import Message, Text

EXCERPT = 24
"""Characters of a formula shown on either side of the place of an error."""
MARK = "▸"
SHOWN = 2000
"""Characters of the whole formula that are kept for a caret."""

_AT: Text = {
    "en": "Your formula could not be read at {mark} in “{excerpt}”: ",
    "de": "Ihre Formel konnte bei {mark} in „{excerpt}“ nicht gelesen werden: ",
}

_UNREADABLE: dict[str, Text] = {
    "empty": {
        "en": "there is no formula.",
        "de": "Da steht keine Formel.",
    },
    "too-long": {
        "en": "a formula may have at most {limit} characters.",
        "de": "Eine Formel darf höchstens {limit} Zeichen haben.",
    },
    "too-many-parts": {
        "en": "it has more than {limit} parts. Write it more briefly.",
        "de": "Sie hat mehr als {limit} Teile. Schreiben Sie sie kürzer.",
    },
    "too-deep": {
        "en": "more than {limit} brackets or powers are nested in one another.",
        "de": "Mehr als {limit} Klammern oder Potenzen sind ineinander geschachtelt.",
    },
    "number-too-long": {
        "en": "a number may have at most {limit} digits.",
        "de": "Eine Zahl darf höchstens {limit} Stellen haben.",
    },
    "number-too-large": {
        "en": "this number is too large.",
        "de": "Diese Zahl ist zu groß.",
    },
    "exponent-too-large": {
        "en": "a constant exponent may be at most {limit}.",
        "de": "Ein fester Exponent darf höchstens {limit} sein.",
    },
    "unknown-character": {
        "en": "the character “{character}” has no meaning in a formula.",
        "de": "Das Zeichen „{character}“ hat in einer Formel keine Bedeutung.",
    },
    "invisible-character": {
        "en": "here stands a character that cannot be seen, {number} ({name}). Delete it.",
        "de": "Hier steht ein Zeichen, das nicht zu sehen ist: {number} ({name}). Löschen Sie es.",
    },
    "unknown-letter": {
        "en": "the letter “{character}” is {number} ({name}), which has no meaning in a formula. Was another "
        "alphabet's letter copied?",
        "de": "Der Buchstabe „{character}“ ist {number} ({name}) und hat in einer Formel keine Bedeutung. "
        "Wurde er aus einem anderen Alphabet kopiert?",
    },
    "capital-e": {
        "en": "is “E” Euler's number? Then write e; otherwise use the symbols that the question names.",
        "de": "Ist „E“ die eulersche Zahl? Dann schreiben Sie e; sonst verwenden Sie die Symbole aus der "
        "Aufgabe.",
    },
    "unknown-command": {
        "en": "the command {name} is not known.",
        "de": "Der Befehl {name} ist nicht bekannt.",
    },
    "summation": {
        "en": "sums and products over an index, such as {name}, cannot be read. Write the value of the sum "
        "as a formula without an index.",
        "de": "Summen und Produkte über einen Index wie {name} können nicht gelesen werden. Schreiben Sie "
        "den Wert der Summe als Formel ohne Index.",
    },
    "unknown-name": {
        "en": "the name “{name}” is not known. Use the symbols that the question names.",
        "de": "Der Name „{name}“ ist nicht bekannt. Verwenden Sie die Symbole aus der Aufgabe.",
    },
    "unknown-name-near": {
        "en": "the name “{name}” is not known. Did you mean “{suggestion}”?",
        "de": "Der Name „{name}“ ist nicht bekannt. Meinten Sie „{suggestion}“?",
    },
    "ambiguous-name": {
        "en": "is “{name}” the product {product} or the symbol {symbol}? Write the one that you mean.",
        "de": "Ist „{name}“ das Produkt {product} oder das Symbol {symbol}? Schreiben Sie, was Sie meinen.",
    },
    "two-numbers": {
        "en": "two numbers stand side by side. Write the sign that belongs between them.",
        "de": "Zwei Zahlen stehen nebeneinander. Schreiben Sie das Zeichen dazwischen.",
    },
    "number-after-name": {
        "en": "is this number a factor or an exponent? Write * or ^ before it.",
        "de": "Ist diese Zahl ein Faktor oder ein Exponent? Schreiben Sie * oder ^ davor.",
    },
    "ambiguous-division": {
        "en": "does this factor belong below the fraction line? Write * or brackets.",
        "de": "Gehört dieser Faktor unter den Bruchstrich? Schreiben Sie * oder Klammern.",
    },
    "ambiguous-exponent": {
        "en": "does this belong to the exponent? Write brackets around the whole exponent, or around the "
        "power.",
        "de": "Gehört dies zum Exponenten? Setzen Sie Klammern um den ganzen Exponenten oder um die Potenz.",
    },
    "ambiguous-power": {
        "en": "is “{number}” one number with a power of ten, or is e a factor? Write * between factors.",
        "de": "Ist „{number}“ eine Zahl mit einer Zehnerpotenz, oder ist e ein Faktor? Schreiben Sie * "
        "zwischen Faktoren.",
    },
    "index": {
        "en": "are these square brackets an index or a factor? Write * before a factor, and a name without "
        "brackets for an entry.",
        "de": "Stehen diese eckigen Klammern für einen Index oder einen Faktor? Schreiben Sie * vor einen "
        "Faktor und einen Namen ohne Klammern für einen Eintrag.",
    },
    "ambiguous-function": {
        "en": "what belongs to {name}? Write brackets after {name}.",
        "de": "Was gehört zu {name}? Schreiben Sie Klammern hinter {name}.",
    },
    "ambiguous-comma": {
        "en": "is “{number}” one number, or does the comma separate two? Write {joined} for one number, or "
        "“{apart}” for two.",
        "de": "Ist „{number}“ eine Zahl, oder trennt das Komma zwei? Schreiben Sie {joined} für eine Zahl "
        "oder „{apart}“ für zwei.",
    },
    "ambiguous-comma-thousands": {
        "en": "is “{number}” one number, or does the comma separate two? Write {grouped} or {decimals} for "
        "one number, or “{apart}” for two.",
        "de": "Ist „{number}“ eine Zahl, oder trennt das Komma zwei? Schreiben Sie {grouped} oder {decimals} "
        "für eine Zahl oder „{apart}“ für zwei.",
    },
    "ambiguous-mark": {
        "en": "does “{number}” mean {grouped} or {decimals}? Write the one that you mean.",
        "de": "Bedeutet „{number}“ {grouped} oder {decimals}? Schreiben Sie, was Sie meinen.",
    },
    "comma": {
        "en": "a comma does not belong here. Decimals are written with a point.",
        "de": "Hierhin gehört kein Komma. Dezimalzahlen werden mit Punkt geschrieben.",
    },
    "argument-count": {
        "en": "{name} does not take {count} values.",
        "de": "{name} kann nicht mit {count} Werten stehen.",
    },
    "ends-early": {
        "en": "the formula ends where something is still missing.",
        "de": "Die Formel endet, wo noch etwas fehlt.",
    },
    "unexpected": {
        "en": "“{sign}” does not belong here.",
        "de": "„{sign}“ gehört nicht hierher.",
    },
    "not-equal": {
        "en": "does “{sign}” mean “is not equal to”? That is no formula. A factorial before an equals sign "
        "is written with a blank between them.",
        "de": "Bedeutet „{sign}“ „ist ungleich“? Das ist keine Formel. Zwischen eine Fakultät und ein "
        "Gleichheitszeichen gehört ein Leerzeichen.",
    },
    "unclosed": {
        "en": "this bracket is never closed; “{bracket}” is missing.",
        "de": "Diese Klammer wird nie geschlossen; „{bracket}“ fehlt.",
    },
    "unopened": {
        "en": "“{bracket}” closes a bracket that was never opened.",
        "de": "„{bracket}“ schließt eine Klammer, die nie geöffnet wurde.",
    },
    "unexpected-relation": {
        "en": "an equals sign does not belong here.",
        "de": "Ein Gleichheitszeichen gehört nicht hierher.",
    },
    "relation-expected": {
        "en": "an equation with exactly one equals sign is asked for.",
        "de": "Gefragt ist nach einer Gleichung mit genau einem Gleichheitszeichen.",
    },
    "landau-brackets": {
        "en": "write what grows in brackets: {sign}(…).",
        "de": "Schreiben Sie das, was wächst, in Klammern: {sign}(…).",
    },
    "landau-outside": {
        "en": "nothing but a sum of such terms may stand beside {sign}(…). Write all into the brackets.",
        "de": "Neben {sign}(…) darf höchstens eine Summe solcher Ausdrücke stehen. Schreiben Sie alles "
        "in die Klammern.",
    },
    "landau-mixed": {
        "en": "two different signs of growth stand in one answer. Decide for one.",
        "de": "In einer Antwort stehen zwei verschiedene Wachstumszeichen. Entscheiden Sie sich für eines.",
    },
    "several-formulas": {
        "en": "the answer contains several formulas between dollar signs; exactly one is asked for.",
        "de": "Die Antwort enthält mehrere Formeln zwischen Dollarzeichen; gefragt ist genau eine.",
    },
}

SENTENCES: dict[str, Text] = {
    f"unreadable.{code}": {language: _AT[language] + text for language, text in texts.items()}
    for code, texts in _UNREADABLE.items()
}


def unreadable(error: Unreadable, text: str) -> Message:
    """The sentence about a formula that could not be read.

    Its parameters hold ``text`` and ``offset``, for a caret below the formula, and ``excerpt``, the
    neighbourhood with a mark at the place, which the sentence itself shows. An error about a part that was
    handed in as a text of its own carries that text.
    """
    code, text = _code(error), error.params.get("text", text)
    offset = min(max(error.offset, 0), len(text))
    before, after = text[max(0, offset - EXCERPT) : offset], text[offset : offset + EXCERPT]
    excerpt = f"{'…' if offset > EXCERPT else ''}{before}{MARK}{after}"
    shown = {name: _visible(value[:80]) for name, value in error.params.items()}
    place = {"text": _visible(text[:SHOWN]), "offset": str(offset), "excerpt": _visible(excerpt)}
    return Message(f"unreadable.{code}", {**shown, **place, "mark": MARK})


def reason(error: Unreadable) -> str:
    """The same in English without the place, for whoever wrote the formula into a rubric."""
    return _UNREADABLE[_code(error)]["en"].format_map(error.params)


def _code(error: Unreadable) -> str:
    is_near = error.code == "unknown-name" and error.params.get("suggestion")
    return "unknown-name-near" if is_near else error.code


def _visible(text: str) -> str:
    """One line without control characters; lone surrogates cannot be written to a page."""
    return "".join(
        character if character.isprintable() and not character.isspace() else " " for character in text
    )
