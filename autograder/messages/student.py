"""Sentences of the check that students run; none of them depends on a right answer."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "student.unknown-question": "There is no question {name}. Is it spelt as in the notebook?{hint}",
    "student.did-you-mean": " Did you mean {found}?",
    "student.no-check": (
        "This answer could not be checked here. Hand it in all the same; that costs you nothing."
    ),
    "student.not-final": (
        "This looks at the form only; nothing here is your mark. Answers are graded after you hand in."
    ),
    "student.counted-all": "{ready} of {total} questions are answered.",
    "student.counted": "{ready} of {total} questions are answered; read by a person besides: {person}.",
    "student.cells-elsewhere": (
        "Whether a given cell was changed or deleted cannot be seen from inside a notebook."
    ),
    "student.person": "A person reads this answer; there is nothing to check here.",
    "student.text-cell": "This answer stands in a text cell, which cannot be seen from here.",
    "student.not-assigned": (
        "{name} does not exist yet. Give it a value in the answer cell, run that cell, then this one."
    ),
    "student.still-empty": (
        "{name} is still empty ({found}). Replace it by your answer and run the cell again."
    ),
    "student.as-given": "{name} is still as it was given. Write your answer, and run the cell again.",
    "student.no-body": "{name} has no body of its own yet. Write it, and run the cell again.",
    "student.gaps": "{name}: nothing stands yet at {found}.",
    "student.no-option": "{name}: “{found}” is none of the options that the notebook names.",
    "student.wrong-type": "{name} is of type {found}; expected {expected}.",
    "student.unreadable": "{name}: {found}",
    "student.read-as": "{name} is read as {found}",
    "student.there": "{name} is there ({found})",
    "student.size-left-open": "{name}: {found} leaves a size open. Write the size it stands for.",
    "student.no-size": "“{found}” is no size. Every size is a whole number from 0, or a formula.",
    "student.call-good": "{call} gives what it should",
    "student.call-form": "{call} runs, and gives a value of the form that is asked for",
    "student.call-raises": "{call} raises {found}",
    "student.call-type": "{call} gives a value of type {found}; expected {expected}",
    "student.call-shape": "{call} has the shape {found}; expected {expected}",
    "student.call-value": "{call} gives {found}; expected {expected}",
    "student.call-library": "{call} is tried as soon as your notebook has imported {found}",
    "student.parameters-good": "{name} takes the arguments that are asked for: {found}",
    "student.parameters-differ": "{name} takes the arguments {found}; expected {expected}",
    "student.file-missing": "{name} is missing. Put it beside the notebook, and hand it in as well.",
    "student.file-too-large": "{name} is larger than {limit}, and is not read.",
    "student.file-unreadable": "{name} cannot be read. Is it a file of its own, and not a link or a folder?",
    "student.file-as-given": "{name} is still as it was given.",
    "student.file-not-python": "{name} is not valid Python: line {line}.",
    "student.file-broken": "{name} cannot be read as a {form} file.",
    "student.file-not-defined": "{file} defines no {name}.",
    "student.file-by-notebook": "{name} is not there: your notebook has to write it.",
    "student.written": "Something is written. It is graded after you hand in.",
    "student.untouched": "Nothing is written yet.",
    "student.has-to-run": "{name} is given a value that only running the cell tells: {call} in the notebook.",
    "student.not-defined-in-cell": "{name} is given no value in the answer cell.",
    "student.no-answer-cell": (
        "The answer cell {name} is missing. Write your answer into a fresh copy of the notebook."
    ),
    "student.calls-in-notebook": "Its visible checks have to run: {call} in the notebook.",
    "student.cell-changed": (
        "The given cell {name} was changed. The original is used in its place, and your changes to it are "
        "not. Write code of your own into a cell of your own."
    ),
    "student.cell-deleted": "The given cell {name} was deleted. The original is put back; nothing is lost.",
    "student.cell-copied": (
        "{count} cells carry the mark of the answer {name}, because the answer cell was split or copied. "
        "They are run and read together, in their order. If they contradict each other, a person has to "
        "decide: put your answer into one of them, and delete the others."
    ),
    "student.asks-for-input": (
        "“{found}” waits for input. Nobody types anything while your notebook is graded, and the cell stops "
        "there or goes on without a value. Write the value into the code."
    ),
    "student.other-folder": (
        "“{found}” is a folder of your own computer. While your notebook is graded there are only the files "
        "that were given out or handed in with it, in the notebook's own folder: use their names alone."
    ),
    "student.runs-file": (
        "“{found}” runs another file. While your notebook is graded, it is there only if it was given out or "
        "is handed in with the notebook."
    ),
    "student.installs": (
        "“{found}” is skipped while your notebook is graded: nothing can be installed there. Use the "
        "packages that the course names, and delete this line."
    ),
    "student.colab-alone": (
        "“{found}” exists on Google Colab alone, and importing it fails while your notebook is graded. "
        "Delete the import and what uses it."
    ),
    "student.in-cell": "Cell {cell}: {found}",
    "student.cells-unknown": (
        "Whether these given cells were changed cannot be told, because some program took out their "
        "checksums: {name}."
    ),
    "student.marks-lost": (
        "Some program removed the marks of the cells. Code is graded by the names it defines, and texts by "
        "their places, which need manual review if they are not clear. Better write your answers into a "
        "fresh copy of the notebook."
    ),
    "student.not-found-by-name": "Whether this is answered cannot be told without the marks of the cells.",
    "student.cell-blank": "Nothing is written in the answer cell {name} yet.",
    "student.picture-absent": (
        "The text shows pictures that are not in the notebook: {names}. Paste them into the cell, or hand "
        "them in beside the notebook."
    ),
    "student.picture-not-shown": (
        "These pictures cannot be shown: {names}. Paste them as PNG, JPEG, GIF or WebP."
    ),
    "student.defined-again": (
        "Cell {cell} defines {name} as well as the answer cell {answer}. Keep one of the two: another value "
        "than you expect may be graded."
    ),
    "student.not-python": "Cell {cell}: line {line} is not valid Python, so nothing of this cell is run.",
    "student.cells-fine": "All given cells are as they were handed out.",
    "student.want-formula": "a text with a formula, or a number",
    "student.want-whole": "a whole number",
    "student.want-shape": "a tuple such as (2, 3)",
    "student.want-number": "a number, or a text such as '4.5 MB'",
    "student.want-code": "a function or a class",
    "student.want-entries": "a dictionary such as {{'first': 1, 'second': 2}}, or a list",
    "student.want-table": "a list of tuples, a dictionary, or a text with bars as in Markdown",
    "student.want-choice": "a text, a number or a list of them",
}
