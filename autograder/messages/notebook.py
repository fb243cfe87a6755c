"""Sentences for students about cells that were split, copied, merged or changed."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "notebook.not-graded": "The file {file} was graded. Submitted but not graded: {files}.",
    "notebook.together": (
        "The cells {cells} are read together, in this order, as your answer {name}: the answer cell was "
        "split or copied, or you wrote into cells beside it."
    ),
    "notebook.unsure": (
        "The cells {cells} are all marked as your answer {name} and contradict each other. They need manual "
        "review; the grader sees all of them."
    ),
    "notebook.unsure.split": (
        "Your answer {name} was split in the middle of a statement, such as a function or class: the cells "
        "{cells} are run one by one, and not all of them are complete. They need manual review; the grader "
        "sees all of them."
    ),
    "notebook.unsure.blank": (
        "The answer cell {name} is empty or unchanged, and your answer may be in another cell (cells: "
        "{cells}). This needs manual review; the grader sees these cells."
    ),
    "notebook.unsure.missing": (
        "The answer cell {name} is missing, and your answer may be in any of the cells {cells}. They need "
        "manual review; the grader sees all of them."
    ),
    "notebook.unsure.one": (
        "The answer cell {name} is missing, and this cell may contain your answer. It needs manual review; "
        "the grader sees this cell."
    ),
    "notebook.elsewhere": (
        "This cell is read as your answer {name}, because the answer cell itself is missing, empty or "
        "unchanged."
    ),
    "notebook.found": "This answer cell is empty or unchanged. Your answer was found in the cells {cells}.",
    "notebook.found.one": "This answer cell is empty or unchanged. Your answer was found in cell {cells}.",
    "notebook.placeholder": (
        "The placeholder that marks an empty answer is still above your answer. It was not run, so that your "
        "answer below it counts. Delete it."
    ),
    "notebook.placeholder.below": (
        "A given placeholder, such as “...”, is still below your answer and would undo it. It was not run, "
        "so that your answer above it counts. Delete it."
    ),
    "notebook.reset": (
        "“%reset” deletes everything that the cells above it have defined. It was not run, so that your "
        "answers above it count. Delete it."
    ),
    "notebook.unassigned": (
        "This cell may contain an answer whose own cell is blank ({names}). It needs manual review; the "
        "grader sees this cell."
    ),
    "notebook.damaged": (
        "The file contains no text for this cell, probably because it was damaged when it was saved. If this "
        "was an answer, it needs manual review."
    ),
    "notebook.unnamed": (
        "This cell assigns nothing to {names}. Comments, the text of an error and a value without a name are "
        "not read as an answer. Remove the #, or write the name and = in front of the value."
    ),
    "notebook.further": (
        "This text is not in an answer cell and is not read as an answer. The grader of {names} sees it."
    ),
    "notebook.rejoined": (
        "The cell below this one began with indented code, so it is read as the rest of this cell, as if the "
        "cell had been split."
    ),
    "notebook.rebound": (
        "This cell deletes names that your answer above defined ({names}). The grade may depend on what a "
        "name means at the end of the notebook."
    ),
    "notebook.reassigned": (
        "The cells {cells} assign the names of your answer {name} more than once. The last assignment in the "
        "notebook counts, as in Jupyter, so cells below an answer can correct it or spoil it."
    ),
    "notebook.apart": (
        "This is a copy of the answer cell {name}. It is run or shown as your own cell and is not read as "
        "that answer."
    ),
    "notebook.taken-apart": (
        "This was in one cell with given text, as after merging cells. It is run or shown as your own cell "
        "and is not read as an answer."
    ),
    "notebook.given-written": (
        "Text was added to this given cell. The original was used instead, and your text follows it as a "
        "cell of your own."
    ),
    "notebook.encoding": (
        "The file was not saved as UTF-8, so special letters may be wrong, also in your answers. Given cells "
        "were taken from the original. Save the notebook in Jupyter before you submit it."
    ),
    "notebook.given-changed": (
        "This given cell was changed. The original was used instead, without your changes."
    ),
}
