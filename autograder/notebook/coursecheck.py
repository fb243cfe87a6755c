"""Checks the form of your answers: ``from coursecheck import check``, then ``check("task3-b")``.

It says whether an answer is there and can be read. Whether it is right is decided after you hand in.

This file needs nothing but Python. `autograder.notebook.student_check` writes each assignment's
questions into the line that begins with SPECIFICATION.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Iterable, Mapping

from autograder.notebook.timeleft import time_left

SPECIFICATION = "{}"

Sentence = tuple[str, dict[str, str]]
"""A key of `SENTENCES` and what its placeholders stand for."""

MAX_TEXT = 2000

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "unknown-question": {
        "en": "There is no question {name}. Is it spelt as in the notebook?{hint}",
        "de": "Es gibt keine Frage {name}. Ist sie wie im Notebook geschrieben?{hint}",
    },
    "person": {
        "en": "A person reads this answer; there is nothing to check here.",
        "de": "Diese Antwort liest ein Mensch; hier gibt es nichts zu prüfen.",
    },
    "not-assigned": {
        "en": "{name} does not exist yet. Give it a value in the answer cell, run that cell, then this one.",
        "de": "{name} gibt es noch nicht. Gib ihm in der Antwortzelle einen Wert, führe sie aus, dann diese.",
    },
    "still-empty": {
        "en": "{name} is still empty ({found}). Replace it by your answer and run the cell again.",
        "de": "{name} ist noch leer ({found}). Ersetze es durch deine Antwort und führe die Zelle neu aus.",
    },
    "wrong-type": {
        "en": "{name} is of type {found}; expected {expected}.",
        "de": "{name} ist vom Typ {found}; erwartet wird {expected}.",
    },
    "too-long": {
        "en": "{name} is longer than {limit} characters and will not be read.",
        "de": "{name} ist länger als {limit} Zeichen und wird nicht gelesen.",
    },
    "bracket-not-closed": {
        "en": "{name}: the bracket {found} at position {at} is never closed.",
        "de": "{name}: Die Klammer {found} an Stelle {at} wird nie geschlossen.",
    },
    "bracket-not-opened": {
        "en": "{name}: the bracket {found} at position {at} closes nothing.",
        "de": "{name}: Die Klammer {found} an Stelle {at} schließt nichts.",
    },
    "unknown-symbol": {
        "en": "{name}: the symbol {found} is not declared.{hint} Declared are: {known}.",
        "de": "{name}: Das Zeichen {found} ist nicht vereinbart.{hint} Vereinbart sind: {known}.",
    },
    "numbers-adjacent": {
        "en": "{name}: two numbers stand side by side ({found}). Write a sign between them.",
        "de": "{name}: Zwei Zahlen stehen nebeneinander ({found}). Schreibe ein Zeichen dazwischen.",
    },
    "ends-open": {
        "en": "{name} ends with {found}; something is missing after it.",
        "de": "{name} endet mit {found}; danach fehlt etwas.",
    },
    "equation-not-wanted": {
        "en": "{name} contains '='. Write only the formula, without the left-hand side.",
        "de": "{name} enthält '='. Schreibe nur die Formel, ohne die linke Seite.",
    },
    "equation-wanted": {
        "en": "{name} should be an equation or an inequality.",
        "de": "{name} soll eine Gleichung oder eine Ungleichung sein.",
    },
    "fine": {
        "en": "{name} looks readable ({found}). Whether it is right is decided after you hand in.",
        "de": "{name} sieht lesbar aus ({found}). Ob es stimmt, entscheidet sich nach der Abgabe.",
    },
    "no-check": {
        "en": "This answer could not be checked here. Hand it in all the same; that costs you nothing.",
        "de": "Diese Antwort ließ sich hier nicht prüfen. Gib sie trotzdem ab; das kostet dich nichts.",
    },
    "did-you-mean": {"en": " Did you mean {found}?", "de": " Meintest du {found}?"},
    "size-left-open": {
        "en": "{name}: {found} leaves a size open. Write the size it stands for.",
        "de": "{name}: {found} lässt eine Größe offen. Schreibe die Größe hin, für die es steht.",
    },
    "want-symbolic": {
        "en": "a text with a formula, or a number",
        "de": "ein Text mit einer Formel oder eine Zahl",
    },
    "want-count": {"en": "a whole number", "de": "eine ganze Zahl"},
    "want-shape": {"en": "a tuple such as (2, 3)", "de": "ein Tupel wie (2, 3)"},
    "want-quantity": {
        "en": "a number, or a text such as '4.5 MB'",
        "de": "eine Zahl oder ein Text wie '4.5 MB'",
    },
    "want-code": {"en": "a function or a class", "de": "eine Funktion oder eine Klasse"},
    "want-entries": {
        "en": "a dictionary such as {{'first': 1, 'second': 2}}, or a list",
        "de": "ein Dictionary wie {{'first': 1, 'second': 2}} oder eine Liste",
    },
    "want-table": {
        "en": "a list of tuples, a dictionary, or a text with bars as in Markdown",
        "de": "eine Liste von Tupeln, ein Dictionary oder ein Text mit Strichen wie in Markdown",
    },
    "want-choice": {
        "en": "a text, a number or a list of them",
        "de": "ein Text, eine Zahl oder eine Liste davon",
    },
}

WANTED: Mapping[str, str] = {
    "symbolic": "want-symbolic",
    "count": "want-count",
    "shape": "want-shape",
    "quantity": "want-quantity",
    "behaviour": "want-code",
    "implementation": "want-code",
    "repair": "want-code",
    "decoding": "want-code",
    "training": "want-code",
    "memorisation": "want-code",
    "choice": "want-choice",
    "entries": "want-entries",
    "table": "want-table",
}
FUNCTIONS = frozenset((
    "sqrt", "cbrt", "exp", "pow", "Pow", "log", "Log", "ln", "lg", "lb", "ld", "log2", "log10",
    "max", "min", "Max", "Min", "maximum", "minimum", "ceil", "ceiling", "floor",
    "factorial", "binomial", "binom", "comb", "O", "Theta", "Omega", "o", "pi", "e", "E",
    "Eq", "Equality", "Le", "Lt", "Ge", "Gt",
))  # fmt: skip
_MARKUP = (
    r"\\(?:text|mathrm|mathit|mathsf|mathbf|mathtt|mathnormal|mathcal|boldsymbol|bm|operatorname"
    r"|textit|textrm|textbf|textsf|texttt|textnormal|emph|mbox)\s*"
)
_NO_NAMES = re.compile(
    r"\\(?:begin|end)\{[a-z]+\*?\}|</?su[bp]>|&[a-z]+;|(?<![A-Za-z_])(?:math|np|numpy|sp|sympy|torch)\.(?=[a-z])"
    r"|[\t\f\x08\r](?:ext|imes|frac|rac|loor|binom|inom|ullet|egin|ig|ight|ceil|floor)"
    r"|(?<=\s)[xX](?=\s)|(?<=\d)[xX](?=\d)",
    re.IGNORECASE,
)
"""Words that name nothing; also LaTeX in an ordinary string, whose backslash and letter became one."""
_RELATION = re.compile(
    r"[=<>≤≥⩽⩾≦≧＝＜＞﹤﹥≔≙≡]|\\(?:[lg](?:eq?|t)|equiv|coloneqq)|&[lg][te];|\b(?:Eq|Equality|[LG][te])\s*\("
)
_BRACED = re.compile(r"\{([A-Za-z])\}(?=\s*\\?_)")
_RAISED_FIRST = re.compile(r"([A-Za-z])(\^\s*(?:\d|[{(]\s*\d+\s*[)}]))(\s*\\?_\s*(?=[A-Za-z{\\]))")
_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![A-Za-z0-9_]))?)"
    r"|(?P<name>(?:[A-Za-z\u0370-\u03ff][A-Za-z0-9\u0370-\u03ff]*|" + _MARKUP + r"\{[^{}]{1,60}\})"
    r"(?:\\?_[A-Za-z0-9]+|\s*\\?_\s*(?:\{(?:[^{}]|\{[^{}]{0,40}\}){1,60}\}|"
    + _MARKUP
    + r"\{[^{}]{1,60}\}))*'*)"
    r"|\\[A-Za-z]+"
)
_TWO_NUMBERS = re.compile(r"(?<![\w.,])\d+(?:\.\d+)? +\d+(?:\.\d+)?(?![\w.])")
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:(?: \d{3}){2,}| 0\d\d)(?!\d)")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ]+")
_LETTERS = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx")
_SHAPE_MARKUP = re.compile(r"torch\.Size|\bSize\b|\\mathbb\s*\{?\s*R\s*\}?\s*\^")
_BY = re.compile(r"(?<=[\d\s])x(?=[\d\s])")
_OPEN_SIZE = re.compile(r"(?:^|[(\[,×])\s*(-\s*1|None|\?|\.\.\.|…)\s*(?=$|[)\],×])")
_PAIRS = {")": "(", "]": "[", "}": "{"}


def check(question: str, language: str = "") -> None:
    """Print whether the answer to a question is there and can be read. Never raises, never grades."""
    try:
        namespace = sys._getframe(1).f_globals  # noqa: SLF001 - the notebook's own variables
        specification = json.loads(SPECIFICATION)
        lines = feedback(specification, question, namespace, language)
        lines += filter(None, [time_left(specification, language)])
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    except Exception:  # noqa: BLE001 - student values may raise from any method
        sys.stdout.write(SENTENCES["no-check"]["en"] + "\n")


def feedback(
    specification: Mapping[str, object], question: str, namespace: Mapping[str, object], language: str = ""
) -> list[str]:
    """The sentences for one question, given the notebook's variables."""
    chosen = language or str(specification.get("language", "en"))
    questions = specification.get("questions")
    known = questions if isinstance(questions, dict) else {}
    entry = known.get(question)
    if not isinstance(entry, dict):
        hint = _hint(str(question), known, chosen)
        return [_sentence("unknown-question", chosen, {"name": str(question)[:60], "hint": hint})]
    names = entry["names"]
    if not names or entry["kind"] == "written":
        return [f"{question}: {_sentence('person', chosen, {})}"]
    return [
        f"{question}: " + _sentence(key, chosen, {"name": name, **params})
        for name, form in names.items()
        for key, params in [_examine(name, form, entry, namespace, chosen)]
    ]


def _examine(
    name: str, form: str, entry: Mapping[str, object], namespace: Mapping[str, object], language: str
) -> Sentence:
    if name not in namespace:
        return "not-assigned", {}
    value = namespace[name]
    kind = str(entry["kind"])
    found = "None" if value is None else "..." if value is ... else type(value).__name__
    if value is None or value is ... or (isinstance(value, str) and not value.strip()):
        return "still-empty", {"found": found if not isinstance(value, str) else "''"}
    if not _fits(kind, form, value):
        wanted = WANTED["entries" if form == "entries" else kind]
        return "wrong-type", {"found": found, "expected": _sentence(wanted, language, {})}
    if kind == "shape":
        left_open = _left_open(value)
        if left_open:
            return "size-left-open", {"found": left_open}
        value = _BY.sub("×", _SHAPE_MARKUP.sub(" ", value)) if isinstance(value, str) else value
    if isinstance(value, str) and kind in ("symbolic", "shape"):
        symbols = entry["symbols"]
        problem = _formula_problem(value, form, symbols if isinstance(symbols, dict) else {}, language)
        if problem:
            return problem
        return "fine", {"found": " ".join(value.split())}
    return "fine", {"found": found}


def _fits(kind: str, form: str, value: object) -> bool:
    """Whether a value is of a type that the question can be answered with; in doubt it is."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    several = isinstance(value, (tuple, list))
    symbolic = type(value).__module__.split(".")[0] == "sympy"
    if form == "entries":
        return several or isinstance(value, dict) or callable(value)
    if kind == "table":
        return several or isinstance(value, (dict, str))
    if kind == "symbolic":
        return whole or symbolic or isinstance(value, (str, float)) or (several and form in ("tuple", "any"))
    if kind == "count":
        digits = isinstance(value, str) and any(letter.isdigit() for letter in value)
        return (
            whole
            or symbolic
            or digits
            or callable(value)
            or (isinstance(value, float) and value.is_integer())
        )
    if kind == "shape":
        return several or isinstance(value, str) or hasattr(value, "shape") or callable(value)
    if kind == "quantity":
        text = isinstance(value, str) and any(letter.isdigit() for letter in value)
        number = hasattr(value, "__float__") and not isinstance(value, bool)
        return text or symbolic or callable(value) or number or several
    if WANTED.get(kind) == "want-code":
        return callable(value)
    if kind == "choice":
        return several or isinstance(value, (str, int, float, set, frozenset))
    return True


def _left_open(value: object) -> str:
    """A size that is left for somebody else to fill in; empty when there is none."""
    if isinstance(value, str):
        found = _OPEN_SIZE.search(value[:MAX_TEXT])
        return found[1] if found else ""
    entries = value[:100] if isinstance(value, (tuple, list)) else ()
    return next(
        (str(one) for one in entries if one is None or one is ... or (type(one) is int and one == -1)), ""
    )


def _formula_problem(
    text: str, form: str, symbols: Mapping[str, Iterable[str]], language: str
) -> Sentence | None:
    """What keeps a text from being read as a formula; the grader's own reader is at least as tolerant."""
    if len(text) > MAX_TEXT:
        return "too-long", {"limit": str(MAX_TEXT)}
    brackets = _bracket_problem(text)
    if brackets:
        return brackets
    if form in ("", "formula") and "=" in text:
        return "equation-not-wanted", {}
    if form == "relation" and not _RELATION.search(text):
        return "equation-wanted", {}
    known = {_plain(spelling) for name, others in symbols.items() for spelling in (name, *others)}
    for word in _names(text):
        letters = _letters(word, known)
        if word not in known and word not in FUNCTIONS and not letters and known:
            hint = _hint(word, known, language)
            return "unknown-symbol", {"found": word, "hint": hint, "known": ", ".join(symbols)}
    numbers = _TWO_NUMBERS.search(_GROUPED.sub("1", text))
    if numbers:
        return "numbers-adjacent", {"found": numbers.group()}
    last = text.strip(" \t\r\n$")[-1:]
    return ("ends-open", {"found": last}) if last and last in "+-*/^=·×−" else None


def _names(text: str) -> list[str]:
    """The names in a formula, in plain spelling; numbers and LaTeX commands are none."""
    lowered = _LOWERED.sub(lambda found: "_" + found.group().translate(_LETTERS), _NO_NAMES.sub(" ", text))
    lowered = _RAISED_FIRST.sub(r"\1\3", _BRACED.sub(r" \1", lowered))
    words = [_plain(found.group()) for found in _TOKEN.finditer(lowered) if found.lastgroup == "name"]
    return [word for word in words if not word.startswith("log_")]


def _letters(word: str, known: Iterable[str]) -> bool:
    """Whether a word may be known letters side by side, the last perhaps with a subscript."""
    before = len(word.partition("_")[0]) - 1 if "_" in word else len(word)
    below = word[before:]
    return before <= 8 and all(letter in known for letter in word[:before]) and (not below or below in known)


def _plain(name: str) -> str:
    r"""A name without markup: ``d_{\text{model}}`` and ``d\_model`` are ``d_model``."""
    return re.sub(r"_+", "_", re.sub(r"[{}\s\\]", "", re.sub(_MARKUP, "", name))).strip("_")


def _bracket_problem(text: str) -> Sentence | None:
    opened: list[tuple[str, int]] = []
    for at, letter in enumerate(text, start=1):
        if letter in "([{":
            opened.append((letter, at))
        elif letter in _PAIRS and (not opened or opened.pop()[0] != _PAIRS[letter]):
            return "bracket-not-opened", {"found": letter, "at": str(at)}
    return ("bracket-not-closed", {"found": opened[-1][0], "at": str(opened[-1][1])}) if opened else None


def _hint(word: str, known: Iterable[str], language: str) -> str:
    close = difflib.get_close_matches(word[:64], list(known), n=1)
    return _sentence("did-you-mean", language, {"found": close[0]}) if close else ""


def _sentence(key: str, language: str, params: Mapping[str, str]) -> str:
    texts = SENTENCES[key]
    return texts.get(language, texts["en"]).format_map(params)
