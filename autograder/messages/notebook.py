"""Sentences for students about cells that were split, copied, merged or changed."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "notebook.not-graded": "Graded was the file {file}. These files were handed in and not graded: {files}.",
    "notebook.together": (
        "The cells {cells} are read together, in this order, as your answer {name}: the answer cell was "
        "split or copied, or you wrote into cells beside it."
    ),
    "notebook.unsure": (
        "The cells {cells} all carry the mark of your answer {name} and contradict each other. They need "
        "manual review, and whoever marks your answer sees all of them."
    ),
    "notebook.unsure.split": (
        "Your answer {name} was split in the middle of a statement, such as a function or class: the cells "
        "{cells} are run one by one, and not all of them are complete. They need manual review, and whoever "
        "marks your answer sees all of them."
    ),
    "notebook.unsure.blank": (
        "The answer cell {name} is empty or unchanged, and the cells {cells} define what it asks for in "
        "different ways. They need manual review, and whoever marks your answer sees all of them."
    ),
    "notebook.unsure.missing": (
        "The answer cell {name} is missing, and your answer may be in any of the cells {cells}. They need "
        "manual review, and whoever marks your answer sees all of them."
    ),
    "notebook.unsure.one": (
        "The answer cell {name} is missing, and this cell may contain your answer. It needs manual review, "
        "and whoever marks your answer sees this cell."
    ),
    "notebook.elsewhere": (
        "This cell is read as your answer {name}, because the answer cell itself is missing or unchanged."
    ),
    "notebook.found": "This answer cell is empty or unchanged. Your answer was found in the cells {cells}.",
    "notebook.found.one": "This answer cell is empty or unchanged. Your answer was found in cell {cells}.",
    "notebook.placeholder": (
        "The statement that marks an empty answer stands above your answer. It was not run, so that your "
        "answer below it counts. Delete it."
    ),
    "notebook.placeholder.below": (
        "What you were given as a placeholder, such as “...”, stands below your answer and would undo it. It "
        "was not run, so that your answer above it counts. Delete it."
    ),
    "notebook.reset": (
        "“%reset” deletes everything that the cells above it have defined. It was not run, so that your "
        "answers above it count. Delete it."
    ),
    "notebook.unassigned": (
        "These answers are blank, and this cell may contain one of them: {names}. They need manual review, "
        "and whoever marks them sees this cell."
    ),
    "notebook.damaged": (
        "The file holds no text for this cell: a program damaged it when it was saved. If this was an "
        "answer, it needs manual review."
    ),
    "notebook.unnamed": (
        "This cell assigns nothing to {names}. Comments, the text of an error and a value without a name are "
        "not read as an answer: remove the # or write the name and = in front of it."
    ),
    "notebook.further": (
        "This text stands in no answer cell and is read as no answer. Whoever marks {names} sees it below "
        "that answer."
    ),
    "notebook.rejoined": (
        "The cell below this one began with indented code, so it is read as the rest of this cell, as if the "
        "cell had been split."
    ),
    "notebook.rebound": (
        "This cell deletes {names} after your answer has defined it. What a name means at the end of the "
        "notebook may be what is graded."
    ),
    "notebook.reassigned": (
        "The cells {cells} assign the name that your answer {name} is asked for. The last assignment in the "
        "notebook counts, as in Jupyter, so cells below an answer can correct it or spoil it."
    ),
    "notebook.apart": (
        "This is a copy of the answer cell {name}. It is run or shown as a cell of your own, and is not read "
        "as that answer."
    ),
    "notebook.taken-apart": (
        "This stood in one cell with given text, as after merging cells. It is run or shown as a cell of "
        "your own, and is not read as an answer."
    ),
    "notebook.given-written": (
        "You wrote into this given cell. The original was used in its place, and what you wrote stands below "
        "it, as a cell of your own."
    ),
    "notebook.encoding": (
        "The file was not saved as UTF-8, so special letters may be wrong, also in your answers. Given cells "
        "were taken from the original. Save the notebook in Jupyter before you hand it in."
    ),
    "notebook.given-changed": (
        "You changed this given cell. The original was used in its place, and your changes to it were not."
    ),
}
