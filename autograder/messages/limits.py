"""Sentences about exceeded limits, shown at a question (``{what}`` is its answer) or at a cell.

Each states the limit and how the student can stay within it. None of them accuses the student of intent.
"""

from __future__ import annotations

from collections.abc import Mapping

# A call or the process was ended; shown at a question.
_ENDED: Mapping[str, str] = {
    "ending.exited": "{what} ended the whole Python process. Remove calls such as exit() or os._exit().",
    "ending.crashed": "{what} crashed the Python process. Run it on a small input and look where it breaks.",
    "ending.protocol": (
        "{what} disturbed the connection to the grader. Do not use file descriptors that are not your own."
    ),
    "ending.cell-time": (
        "{what}: a cell was stopped: it may compute for {limit}, and wait for something twice as long."
    ),
    "ending.call-time": (
        "{what} was stopped: it may compute for {limit}, and wait for something twice as long. Look for "
        "needless work, a loop that does not end, or something not available here, such as a download."
    ),
    "ending.submission-time": (
        "{what} was not finished: the notebook as a whole may compute for {limit}, and take twice as long. "
        "Find the cells and functions that take long."
    ),
    "ending.not-asked": (
        "{what} was not tried: other calls for this question were stopped, or ended Python, before. Fix "
        "these first."
    ),
    "ending.processor-time": (
        "{what} used more than the {limit} of processor time that the notebook has. Look for needless work "
        "or extra processes and threads."
    ),
    "ending.memory": (
        "{what} needed more than the {limit} of memory it may use. Look for arrays that grow with every step."
    ),
    "ending.output": "{what} printed more than the {limit} that a notebook may. Remove prints from loops.",
    "ending.reply-size": (
        "{what} returned more than the {limit} (4 MB as text) that can be taken. Check the size of what it "
        "returns."
    ),
    "ending.question-size": (
        "{what} was not accepted: the answers to this question together need more than the {limit} of memory "
        "that the grader has for them. Return only what is asked for."
    ),
    "ending.answers-size": (
        "{what} was not accepted: the answers of this notebook altogether are more than the {limit} that the "
        "grader reads. Return only what is asked for."
    ),
    "ending.restarts": (
        "{what} was not asked: too many cells and calls had ended Python before ({limit} restarts are "
        "possible). Fix these first."
    ),
}

# The student's code met a limit and stopped with an error; shown at a question.
_MET: Mapping[str, str] = {
    "limit.memory": (
        "{what} stopped with {error}: it asked for more memory than there is; a notebook has {limit}. Use "
        "smaller arrays, or delete those no longer needed."
    ),
    "limit.processes": (
        "{what} stopped with {error}: at most {limit} processes and threads can run at the same time. Start "
        "fewer, and wait for those that were started."
    ),
    "limit.output": (
        "{what} stopped with {error}: at most {limit} of output are kept. Remove prints from loops."
    ),
    "limit.disk": (
        "{what} stopped with {error}: all files together can take {limit}. Write less, or remove files no "
        "longer needed."
    ),
    "limit.files": (
        "{what} stopped with {error}: there can be at most {limit} files and folders. Write fewer, or remove "
        "those no longer needed."
    ),
    "limit.descriptors": (
        "{what} stopped with {error}: at most {limit} files can be open at the same time. Close each after "
        "use, for example with “with open(…) as file:”."
    ),
    "limit.reply-size": (
        "{what} returned more than the {limit} that can be taken ({error}). Check the size of what it "
        "returns."
    ),
    "limit.network": (
        "{what} stopped with {error}: there is no network here, so nothing can be downloaded. Models and "
        "data of the assignment lie beside the notebook; load them from there, by the names of their folders."
    ),
}

# As `_ENDED`, shown at the cell.
_CELL_ENDED: Mapping[str, str] = {
    "cell.ending.exited": "This cell ended Python; the rest was run without it. Remove calls such as exit().",
    "cell.ending.crashed": (
        "This cell crashed Python; the rest was run without it. Look for the line where it breaks."
    ),
    "cell.ending.protocol": (
        "This cell disturbed the connection to the grader; the rest was run without it. Do not use file "
        "descriptors that are not your own."
    ),
    "cell.ending.cell-time": (
        "This cell was stopped; the rest was run without it. A cell may compute for {limit}, and wait for "
        "something twice as long. Look for needless work, a loop that does not end, or something not "
        "available here, such as a download."
    ),
    "cell.ending.call-time": (
        "A call of your code was stopped; the rest was run without this cell. A call may compute for "
        "{limit}, and wait for something twice as long."
    ),
    "cell.ending.submission-time": (
        "In this cell the time for the whole notebook was used up: it may compute for {limit}, and take "
        "twice as long. Find the cells that take long."
    ),
    "cell.ending.not-asked": "This cell was not run: others had ended Python before. Fix these first.",
    "cell.ending.processor-time": (
        "This cell used up the {limit} of processor time; the rest was run without it. Look for needless "
        "work or extra processes and threads."
    ),
    "cell.ending.memory": (
        "This cell needed more than {limit} of memory; the rest was run without it. Use smaller arrays."
    ),
    "cell.ending.output": (
        "This cell printed more than {limit} and was stopped; the rest was run without it. Remove prints "
        "from loops."
    ),
    "cell.ending.reply-size": (
        "What this cell shows is larger than {limit}; the rest was run without it. Show less."
    ),
    "cell.ending.question-size": (
        "What your code answered to one question needs more than {limit} of the grader's memory. Return only "
        "what is asked for."
    ),
    "cell.ending.answers-size": (
        "The answers of your code together are more than the {limit} that the grader reads. Return only what "
        "is asked for."
    ),
    "cell.ending.restarts": (
        "This cell was not run: others had ended Python too often ({limit} restarts are possible). Fix these "
        "first."
    ),
}

# As `_MET`, shown at the cell.
_CELL_MET: Mapping[str, str] = {
    "cell.limit.memory": (
        "Memory is limited to {limit}, and this cell asked for more than there was. Use smaller arrays, or "
        "delete those no longer needed."
    ),
    "cell.limit.processes": (
        "At most {limit} processes and threads can run at the same time, and this cell asked for more. Start "
        "fewer, and wait for those that were started."
    ),
    "cell.limit.output": (
        "At most {limit} of output are kept for a notebook; the rest of this cell's is not shown. Remove "
        "prints from loops."
    ),
    "cell.limit.disk": (
        "All files of a notebook together can take {limit}, and this cell met that. Write less, or remove "
        "files no longer needed."
    ),
    "cell.limit.files": (
        "A notebook can make at most {limit} files and folders, and this cell met that. Write fewer, or "
        "remove those no longer needed."
    ),
    "cell.limit.descriptors": (
        "At most {limit} files can be open at the same time, and this cell asked for more. Close each after "
        "use, for example with “with open(…) as file:”."
    ),
    "cell.limit.reply-size": "At most {limit} can be taken from one cell. Show less.",
    "cell.limit.network": (
        "There is no network here, and this cell asked for something from it. Models and data of the "
        "assignment lie beside the notebook; load them from there, by the names of their folders."
    ),
}

SENTENCES: Mapping[str, str] = {**_ENDED, **_MET, **_CELL_ENDED, **_CELL_MET}
