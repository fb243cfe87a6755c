"""Sentences of the check that students run; none of them depends on a right answer."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "student.unknown-question": "There is no question {name}. Is it spelt as in the notebook?{hint}",
    "student.did-you-mean": " Did you mean {found}?",
    "student.no-check": "This answer could not be checked here. Submit it anyway; that costs you nothing.",
    "student.not-final": (
        "This check looks at the form only and gives no marks. Answers are graded after you submit them."
    ),
    "student.counted-all": "Questions answered: {ready} of {total}.",
    "student.counted": (
        "Questions answered: {ready} of {total}. Questions that cannot be checked here: {person}."
    ),
    "student.cells-elsewhere": (
        "From inside the notebook, this check cannot see whether a given cell was changed or deleted."
    ),
    "student.person": "This answer cannot be checked here. It is graded after you submit it.",
    "student.text-cell": "This answer is in a text cell, which cannot be checked here.",
    "student.not-assigned": (
        "{name} does not exist yet. Give it a value in the answer cell, run that cell, then this one."
    ),
    "student.still-empty": (
        "{name} is still empty ({found}). Replace it with your answer and run the cell again."
    ),
    "student.as-given": "{name} is still as it was given. Write your answer, and run the cell again.",
    "student.no-body": "{name} has no body yet. Write it, and run the cell again.",
    "student.gaps": "{name}: nothing is written yet at {found}.",
    "student.no-option": "{name}: “{found}” is not one of the options that the notebook names.",
    "student.wrong-type": "{name} is of type {found}; expected {expected}.",
    "student.unreadable": "{name}: {found}",
    "student.read-as": "{name} is read as {found}",
    "student.there": "{name} is there ({found})",
    "student.size-left-open": "{name}: {found} leaves a size open. Write the size itself.",
    "student.no-size": (
        "“{found}” is not a size. Each size must be a whole number of at least 0, or a formula."
    ),
    "student.call-good": "{call} gives the expected result",
    "student.call-form": "{call} runs and gives a value of the expected form",
    "student.call-raises": "{call} raises {found}",
    "student.call-type": "{call} gives a value of type {found}; expected {expected}",
    "student.call-shape": "{call} has the shape {found}; expected {expected}",
    "student.call-value": "{call} gives {found}; expected {expected}",
    "student.call-library": "{call} is checked as soon as your notebook has imported {found}",
    "student.parameters-good": "{name} takes the expected arguments: {found}",
    "student.parameters-differ": "{name} takes the arguments {found}; expected {expected}",
    "student.file-missing": "{name} is missing. Put it beside the notebook, and submit it as well.",
    "student.file-too-large": "{name} is larger than {limit}, and is not read.",
    "student.file-unreadable": "{name} cannot be read. Is it a file of its own, and not a link or a folder?",
    "student.file-as-given": "{name} is still as it was given.",
    "student.file-not-python": "{name} is not valid Python: line {line}.",
    "student.file-broken": "{name} cannot be read as a {form} file.",
    "student.file-not-defined": "{file} defines no {name}.",
    "student.file-by-notebook": "{name} is not there: your notebook has to write it.",
    "student.written": "Something is written here. It is graded after you submit it.",
    "student.untouched": "Nothing is written here yet.",
    "student.has-to-run": "{name} is known only after the cell runs: use {call} in the notebook.",
    "student.not-defined-in-cell": "{name} has no value in the answer cell.",
    "student.no-answer-cell": (
        "The answer cell {name} is missing. Write your answer in a fresh copy of the notebook."
    ),
    "student.calls-in-notebook": "Its visible checks must run in the notebook: use {call} there.",
    "student.cell-changed": (
        "The given cell {name} was changed. The original is used instead, without your changes. Write your "
        "own code in a cell of your own."
    ),
    "student.cell-deleted": "The given cell {name} was deleted. The original is restored; nothing is lost.",
    "student.cell-copied": (
        "{count} cells are marked as the answer {name}, because the answer cell was split or copied. They "
        "are run and read together, in their order. If they contradict each other, your answer needs manual "
        "review: put it into one of them, and delete the others."
    ),
    "student.asks-for-input": (
        "“{found}” waits for input. There is no input during grading: the cell stops there or continues "
        "without a value. Write the value into the code."
    ),
    "student.other-folder": (
        "“{found}” may not exist during grading. Only files that were given out or submitted with the "
        "notebook are available, in the folder of the notebook: use their names alone."
    ),
    "student.runs-file": (
        "“{found}” runs another file. During grading, that file is available only if it was given out or is "
        "submitted with the notebook."
    ),
    "student.installs": (
        "“{found}” is skipped during grading, because nothing can be installed there. Use the packages that "
        "the course names, and delete this line."
    ),
    "student.colab-alone": (
        "“{found}” exists only on Google Colab; importing it fails during grading. Delete the import and the "
        "code that uses it."
    ),
    "student.in-cell": "Cell {cell}: {found}",
    "student.cells-unknown": (
        "It is not known whether these given cells were changed, because a program removed their checksums: "
        "{name}."
    ),
    "student.marks-lost": (
        "A program removed the marks of the cells. Code is graded by the names that it defines, and texts by "
        "their places; unclear places need manual review. It is better to write your answers in a fresh copy "
        "of the notebook."
    ),
    "student.not-found-by-name": "Without the marks of the cells, it is not known whether this is answered.",
    "student.cell-blank": "Nothing is written in the answer cell {name} yet.",
    "student.picture-absent": (
        "The text shows pictures that are not in the notebook: {names}. Paste them into the cell, or submit "
        "them beside the notebook."
    ),
    "student.picture-not-shown": (
        "These pictures cannot be shown: {names}. Paste them as PNG, JPEG, GIF or WebP."
    ),
    "student.not-python": "Cell {cell}: line {line} is not valid Python, so nothing of this cell is run.",
    "student.cells-fine": "All given cells are unchanged.",
    "student.submit-ask": "Paste your API key from the account page (it is not shown), and press Enter:",
    "student.submit-received": "Attempt {number} received: {moment} ({names})",
    "student.submit-digest": "SHA-256 of the submission: {digest}",
    "student.submit-saved": "{name} was saved at {moment}. Later changes are not submitted.",
    "student.submit-unsaved": (
        "The submitted file does not have cells as you ran them last{found}. Save the notebook (Ctrl+S), and "
        "run this cell again."
    ),
    "student.submit-no-readings": (
        "Your submission was received, but the service could not tell now how it was read. Look at the page "
        "of the assignment."
    ),
    "student.submit-failed": "Something went wrong. Submit on the page of the assignment.",
    "student.submit-no-key": (
        "Not submitted: there is no API key. Create one on the account page of the service, run this cell in "
        "a notebook, and paste the key when you are asked. It may also be in the environment variable "
        "{variable}."
    ),
    "student.submit-not-a-key": (
        "Not submitted: this is not an API key. Expected a text such as https://exams.example.org#…, as the "
        "account page shows it."
    ),
    "student.submit-not-encrypted": (
        "Not submitted: {address} is not encrypted. Expected an address with https://."
    ),
    "student.submit-key-refused": (
        "Not submitted: {address} does not know this API key. Create a new one on the account page, and run "
        "this cell again."
    ),
    "student.submit-key-in-file": (
        "Not submitted: your API key is written in {name}. Delete it there, save, and replace the key by a "
        "new one on the account page."
    ),
    "student.submit-no-file": (
        "Not submitted: {name} is not in the folder {folder}. Save the notebook under this name."
    ),
    "student.submit-no-file-colab": (
        "Not submitted: Colab does not keep {name} in the folder {folder}. Download the notebook as .ipynb "
        "with the menu File, and submit this file on the page of the assignment."
    ),
    "student.submit-other-name": (
        "Not submitted: this notebook is called {name}; expected {expected}. Rename it."
    ),
    "student.submit-no-reading": "Not submitted: {name} cannot be read ({reason}).",
    "student.submit-too-large": "Not submitted: {name} has {found}; at most {limit} are accepted.",
    "student.submit-larger-request": "Not submitted: the files are larger than the service accepts.",
    "student.submit-no-assignment": (
        "Not submitted: {address} has no open assignment {name} for you. Does your API key belong to the "
        "account with which you take this course?"
    ),
    "student.submit-which-course": (
        'Not submitted: several of your courses have an assignment {name}: {found}. Write submit("{first}") '
        "with the right one."
    ),
    "student.submit-refused": "Not submitted: {reason}",
    "student.submit-busy": (
        "{address} is busy (status {found}). Try again in a minute. If a submission arrived after all, it is "
        "in the list of attempts."
    ),
    "student.submit-unreachable": (
        "{address} cannot be reached: {reason}. Check your connection, and try again. If a submission "
        "arrived after all, it is in the list of attempts."
    ),
    "student.submit-certificate": (
        "Not submitted: the certificate of {address} cannot be verified ({reason}). Ask the course staff; do "
        "not switch verification off."
    ),
    "student.submit-redirect": (
        "Not submitted: {address} redirects to {found}, which is not followed. Check the address, which is "
        "the part of your API key before the #."
    ),
    "student.submit-no-service": (
        "Not submitted: {address} does not respond as the service does (status {found}). Check the address, "
        "and whether your network wants you to sign in first."
    ),
    "student.want-formula": "a text with a formula, or a number",
    "student.want-whole": "a whole number",
    "student.want-shape": "a tuple such as (2, 3)",
    "student.want-number": "a number, or a text such as '4.5 MB'",
    "student.want-code": "a function or a class",
    "student.want-entries": "a dictionary such as {{'first': 1, 'second': 2}}, or a list",
    "student.want-table": "a list of tuples, a dictionary, or a text with bars as in Markdown",
    "student.want-choice": "a text, a number or a list of them",
}
