"""Sentences about exceeded limits, shown at a question (``{what}`` is its answer) or at a cell.

Each states the limit and how the student can stay within it. None of them accuses the student of intent.
"""

from __future__ import annotations

from collections.abc import Mapping

# A call or the process was ended; shown at a question.
_ENDED: Mapping[str, str] = {
    "ending.exited": "{what} ended the whole Python process. Remove calls such as exit() or os._exit().",
    "ending.crashed": "{what} crashed the Python process. Run it on a small input to find where it fails.",
    "ending.protocol": (
        "{what} disturbed the connection to the grader. Do not use file descriptors that your code did not "
        "open."
    ),
    "ending.cell-time": (
        "{what}: a cell was stopped. A cell may compute for {limit} and take at most twice as long in total."
    ),
    "ending.call-time": (
        "{what} was stopped: it may compute for {limit} and take at most twice as long in total. Look for "
        "needless work, a loop that does not end, or something that is not available here, such as a "
        "download."
    ),
    "ending.submission-time": (
        "{what} was not finished: the whole notebook may compute for {limit} and take at most twice as long "
        "in total. Find the cells and functions that take long."
    ),
    "ending.not-asked": (
        "{what} was not run because other calls for this question were stopped or ended Python before. Fix "
        "these first."
    ),
    "ending.processor-time": (
        "{what} used more than the {limit} of computing time that the notebook has. Look for needless work "
        "or extra processes and threads."
    ),
    "ending.memory": (
        "{what} needed more than the allowed {limit} of memory. Look for arrays that grow with every step."
    ),
    "ending.output": "{what} printed more than the {limit} allowed for a notebook. Remove prints from loops.",
    "ending.reply-size": (
        "{what} returned more than allowed (limit: {limit}, or 4 MB as text). Check the size of what it "
        "returns."
    ),
    "ending.question-size": (
        "{what} was not accepted: all answers to this question together need more than the {limit} of memory "
        "that the grader has for them. Return only what is asked for."
    ),
    "ending.answers-size": (
        "{what} was not accepted: all answers of this notebook together exceed the {limit} that the grader "
        "reads. Return only what is asked for."
    ),
    "ending.restarts": (
        "{what} was not run because cells and calls had already ended Python too often (restarts allowed: "
        "{limit}). Fix these first."
    ),
}

# The student's code met a limit and stopped with an error; shown at a question.
_MET: Mapping[str, str] = {
    "limit.memory": (
        "{what} stopped with {error}: it requested more memory than was available; a notebook has {limit}. "
        "Use smaller arrays, or delete those no longer needed."
    ),
    "limit.processes": (
        "{what} stopped with {error}: at most {limit} processes and threads can run at the same time. Start "
        "fewer, and wait for those that were started."
    ),
    "limit.output": (
        "{what} stopped with {error}: at most {limit} of output is kept. Remove prints from loops."
    ),
    "limit.disk": (
        "{what} stopped with {error}: all files together may take {limit}. Write less, or remove files no "
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
        "{what} returned more than allowed (limit: {limit}, or 4 MB as text; {error}). Check the size of "
        "what it returns."
    ),
    "limit.network": (
        "{what} stopped with {error}: there is no network here, so nothing can be downloaded. If the "
        "assignment has models or data, they are beside the notebook; load them from there, by the names of "
        "their folders."
    ),
}

# As `_ENDED`, shown at the cell.
_CELL_ENDED: Mapping[str, str] = {
    "cell.ending.exited": "This cell ended Python, so its results are missing. Remove calls such as exit().",
    "cell.ending.crashed": (
        "This cell crashed Python, so its results are missing. Find the line where it fails."
    ),
    "cell.ending.protocol": (
        "This cell disturbed the connection to the grader, so its results are missing. Do not use file "
        "descriptors that your code did not open."
    ),
    "cell.ending.cell-time": (
        "This cell was stopped, so its results are missing. A cell may compute for {limit} and take at most "
        "twice as long in total. Look for needless work, a loop that does not end, or something that is not "
        "available here, such as a download."
    ),
    "cell.ending.call-time": (
        "A call of your code was stopped, so the results of this cell are missing. A call may compute for "
        "{limit} and take at most twice as long in total."
    ),
    "cell.ending.submission-time": (
        "During this cell, the whole notebook ran out of time: it may compute for {limit} and take at most "
        "twice as long in total. Find the cells that take long."
    ),
    "cell.ending.not-asked": "This cell was not run because others had ended Python before. Fix these first.",
    "cell.ending.processor-time": (
        "This cell used up the {limit} of computing time, so its results are missing. Look for needless work "
        "or extra processes and threads."
    ),
    "cell.ending.memory": (
        "This cell needed more than {limit} of memory, so its results are missing. Use smaller arrays."
    ),
    "cell.ending.output": (
        "This cell printed more than {limit} and was stopped, so its results are missing. Remove prints from "
        "loops."
    ),
    "cell.ending.reply-size": (
        "The output of this cell is larger than allowed (limit: {limit}, or 4 MB as text), so its results "
        "are missing. Show less."
    ),
    "cell.ending.question-size": (
        "The answers of your code to one question need more than {limit} of the grader's memory. Return only "
        "what is asked for."
    ),
    "cell.ending.answers-size": (
        "All answers of your code together exceed the {limit} that the grader reads. Return only what is "
        "asked for."
    ),
    "cell.ending.restarts": (
        "This cell was not run because others had ended Python too often (restarts allowed: {limit}). Fix "
        "these first."
    ),
}

# As `_MET`, shown at the cell.
_CELL_MET: Mapping[str, str] = {
    "cell.limit.memory": (
        "Memory is limited to {limit}, and this cell requested more than was available. Use smaller arrays, "
        "or delete those no longer needed."
    ),
    "cell.limit.processes": (
        "At most {limit} processes and threads can run at the same time, and this cell needed more. Start "
        "fewer, and wait for those that were started."
    ),
    "cell.limit.output": (
        "At most {limit} of output is kept for a notebook; the rest of this cell's output is not shown. "
        "Remove prints from loops."
    ),
    "cell.limit.disk": (
        "All files of a notebook together may take {limit}, and this cell reached that limit. Write less, or "
        "remove files no longer needed."
    ),
    "cell.limit.files": (
        "A notebook can create at most {limit} files and folders, and this cell reached that limit. Write "
        "fewer, or remove those no longer needed."
    ),
    "cell.limit.descriptors": (
        "At most {limit} files can be open at the same time, and this cell needed more. Close each after "
        "use, for example with “with open(…) as file:”."
    ),
    "cell.limit.reply-size": "The output of one cell is limited to {limit}, or 4 MB as text. Show less.",
    "cell.limit.network": (
        "There is no network here, and this cell tried to use it. If the assignment has models or data, they "
        "are beside the notebook; load them from there, by the names of their folders."
    ),
}

SENTENCES: Mapping[str, str] = {**_ENDED, **_MET, **_CELL_ENDED, **_CELL_MET}
