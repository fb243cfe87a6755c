"""Sentences about limits that were met: beside a question (``{what}`` is its answer), and beside a cell.

Each says how much was allowed and what the student can do. None of them says that it was done on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

_ENDED: Mapping[str, Text] = {
    "ending.exited": {
        "en": "{what} ended the whole Python process. Remove calls such as exit() or os._exit().",
        "de": "{what} beendete den ganzen Python-Prozess. Bitte Aufrufe wie exit() oder os._exit() "
        "entfernen.",
    },
    "ending.crashed": {
        "en": "{what} crashed the Python process. Run it on a small input and look where it breaks.",
        "de": "{what} brachte den Python-Prozess zum Absturz. Bitte mit kleiner Eingabe suchen, wo es "
        "bricht.",
    },
    "ending.protocol": {
        "en": "{what} disturbed the connection to the grader. Do not use file descriptors that are not your "
        "own.",
        "de": "{what} störte die Verbindung zur Bewertung. Bitte keine fremden Dateideskriptoren benutzen.",
    },
    "ending.cell-time": {
        "en": "{what}: a cell was stopped: it may compute for {limit}, and wait for something twice as long.",
        "de": "{what}: eine Zelle wurde beendet: erlaubt sind {limit} Rechenzeit und doppelt so langes "
        "Warten.",
    },
    "ending.call-time": {
        "en": "{what} was stopped: it may compute for {limit}, and wait for something twice as long. "
        "Look for needless work, a loop that does not end, or something that cannot be had here, such as a "
        "download.",
        "de": "{what} wurde beendet: erlaubt sind {limit} Rechenzeit und doppelt so langes Warten. Bitte "
        "nach unnötiger Arbeit suchen, nach einer endlosen Schleife, oder nach etwas, das es hier nicht "
        "gibt, etwa einem Download.",
    },
    "ending.submission-time": {
        "en": "{what} was not finished: the notebook as a whole may compute for {limit}, and take twice "
        "as long. Find the cells and functions that take long.",
        "de": "{what} wurde nicht fertig: das Notebook als Ganzes hat {limit} Rechenzeit und darf doppelt "
        "so lange dauern. Bitte die langsamen Zellen und Funktionen suchen.",
    },
    "ending.not-asked": {
        "en": "{what} was not tried: other calls for this question were stopped, or ended Python, before. "
        "Mend those first.",
        "de": "{what} wurde nicht ausprobiert: andere Aufrufe für diese Aufgabe wurden vorher beendet oder "
        "haben Python beendet. Bitte zuerst diese in Ordnung bringen.",
    },
    "ending.processor-time": {
        "en": "{what} used more than the {limit} of processor time that the notebook has. Look for needless "
        "work or extra processes and threads.",
        "de": "{what} verbrauchte mehr als die {limit} Rechenzeit, die das Notebook hat. Bitte nach "
        "unnötiger Arbeit oder zusätzlichen Prozessen und Threads suchen.",
    },
    "ending.memory": {
        "en": "{what} needed more than the {limit} of memory it may use. Look for arrays that grow with "
        "every step.",
        "de": "{what} brauchte mehr als die erlaubten {limit} Speicher. Bitte nach Arrays suchen, die mit "
        "jedem Schritt wachsen.",
    },
    "ending.disk": {
        "en": "{what} wrote more files than there is room for, which is {limit}. Write less, or remove files "
        "no longer needed.",
        "de": "{what} schrieb mehr Dateien, als Platz haben; das sind {limit}. Bitte weniger schreiben oder "
        "nicht mehr benötigte löschen.",
    },
    "ending.output": {
        "en": "{what} printed more than the {limit} that a notebook may. Remove prints from loops.",
        "de": "{what} gab mehr aus als die {limit}, die einem Notebook erlaubt sind. Bitte Ausgaben aus "
        "Schleifen entfernen.",
    },
    "ending.reply-size": {
        "en": "{what} returned more than the {limit} (4 MB as text) that can be taken. Check the size of "
        "what it returns.",
        "de": "{what} gab mehr zurück als die {limit} (4 MB als Text), die angenommen werden. Bitte die "
        "Größe des Ergebnisses prüfen.",
    },
    "ending.question-size": {
        "en": "{what} was not taken: the answers to this question together need more than the {limit} of "
        "memory that the grader has for them. Return only what is asked for.",
        "de": "{what} wurde nicht angenommen: die Antworten auf diese Aufgabe brauchen zusammen mehr als die "
        "{limit} Speicher, die die Bewertung dafür hat. Bitte nur zurückgeben, was gefragt ist.",
    },
    "ending.answers-size": {
        "en": "{what} was not taken: the answers of this notebook altogether are more than the {limit} that "
        "the grader reads. Return only what is asked for.",
        "de": "{what} wurde nicht angenommen: die Antworten dieses Notebooks sind insgesamt mehr als die "
        "{limit}, die die Bewertung liest. Bitte nur zurückgeben, was gefragt ist.",
    },
    "ending.restarts": {
        "en": "{what} was not asked: too many cells and calls had ended Python before ({limit} restarts are "
        "possible). Mend those first.",
        "de": "{what} wurde nicht gefragt: zu viele Zellen und Aufrufe hatten Python vorher beendet "
        "({limit} Neustarts sind möglich). Bitte zuerst diese in Ordnung bringen.",
    },
}

_MET: Mapping[str, Text] = {
    "limit.memory": {
        "en": "{what} stopped with {error}: it asked for more memory than there is; a notebook has {limit}. "
        "Use smaller arrays, or let go of those no longer needed.",
        "de": "{what} brach ab mit {error}: angefordert war mehr Speicher, als da ist; ein Notebook hat "
        "{limit}. Bitte kleinere Arrays verwenden oder nicht mehr benötigte freigeben.",
    },
    "limit.processes": {
        "en": "{what} stopped with {error}: at most {limit} processes and threads can run at the same time. "
        "Start fewer, and wait for those that were started.",
        "de": "{what} brach ab mit {error}: höchstens {limit} Prozesse und Threads können gleichzeitig "
        "laufen. Bitte weniger starten und auf gestartete warten.",
    },
    "limit.output": {
        "en": "{what} stopped with {error}: at most {limit} of output are kept. Remove prints from loops.",
        "de": "{what} brach ab mit {error}: höchstens {limit} Ausgabe werden aufbewahrt. Bitte Ausgaben aus "
        "Schleifen entfernen.",
    },
    "limit.disk": {
        "en": "{what} stopped with {error}: all files together can take {limit}. Write less, or remove "
        "files no longer needed.",
        "de": "{what} brach ab mit {error}: alle Dateien zusammen dürfen {limit} belegen. Bitte weniger "
        "schreiben oder nicht mehr benötigte Dateien löschen.",
    },
    "limit.files": {
        "en": "{what} stopped with {error}: there can be at most {limit} files and folders. Write fewer, or "
        "remove those no longer needed.",
        "de": "{what} brach ab mit {error}: höchstens {limit} Dateien und Ordner sind möglich. Bitte "
        "weniger anlegen oder nicht mehr benötigte löschen.",
    },
    "limit.descriptors": {
        "en": "{what} stopped with {error}: at most {limit} files can be open at the same time. Close each "
        "after use, for example with “with open(…) as file:”.",
        "de": "{what} brach ab mit {error}: höchstens {limit} Dateien können gleichzeitig offen sein. Bitte "
        "jede nach Gebrauch schließen, zum Beispiel mit „with open(…) as file:“.",
    },
    "limit.reply-size": {
        "en": "{what} returned more than the {limit} that can be taken ({error}). Check the size of what it "
        "returns.",
        "de": "{what} gab mehr zurück als die {limit}, die angenommen werden ({error}). Bitte die Größe des "
        "Ergebnisses prüfen.",
    },
}

_CELL_ENDED: Mapping[str, Text] = {
    "cell.ending.exited": {
        "en": "This cell ended Python; the rest was run without it. Remove calls such as exit().",
        "de": "Diese Zelle hat Python beendet; der Rest lief ohne sie. Bitte Aufrufe wie exit() entfernen.",
    },
    "cell.ending.crashed": {
        "en": "This cell crashed Python; the rest was run without it. Look for the line where it breaks.",
        "de": "Diese Zelle hat Python zum Absturz gebracht; der Rest lief ohne sie. Bitte die Zeile suchen, "
        "in der es bricht.",
    },
    "cell.ending.protocol": {
        "en": "This cell disturbed the connection to the grader; the rest was run without it. Do not use "
        "file descriptors that are not your own.",
        "de": "Diese Zelle störte die Verbindung zur Bewertung; der Rest lief ohne sie. Bitte keine fremden "
        "Dateideskriptoren benutzen.",
    },
    "cell.ending.cell-time": {
        "en": "This cell was stopped; the rest was run without it. A cell may compute for {limit}, and wait "
        "for something twice as long. Look for needless work, a loop that does not end, or something "
        "that cannot be had here, such as a download.",
        "de": "Diese Zelle wurde angehalten; der Rest lief ohne sie. Erlaubt sind {limit} Rechenzeit und "
        "doppelt so langes Warten. Bitte nach unnötiger Arbeit suchen, nach einer endlosen Schleife, oder "
        "nach etwas, das es hier nicht gibt, etwa einem Download.",
    },
    "cell.ending.call-time": {
        "en": "A call of your code was stopped; the rest was run without this cell. A call may compute for "
        "{limit}, and wait for something twice as long.",
        "de": "Ein Aufruf Ihres Codes wurde angehalten; der Rest lief ohne diese Zelle. Erlaubt sind {limit} "
        "Rechenzeit und doppelt so langes Warten.",
    },
    "cell.ending.submission-time": {
        "en": "In this cell the time for the whole notebook was used up: it may compute for {limit}, and "
        "take twice as long. Find the cells that take long.",
        "de": "In dieser Zelle war die Zeit für das ganze Notebook aufgebraucht: {limit} Rechenzeit, und "
        "doppelt so lange insgesamt. Bitte die langsamen Zellen suchen.",
    },
    "cell.ending.not-asked": {
        "en": "This cell was not run: others had ended Python before. Mend those first.",
        "de": "Diese Zelle lief nicht: andere hatten Python vorher beendet. Bitte zuerst diese in Ordnung "
        "bringen.",
    },
    "cell.ending.processor-time": {
        "en": "This cell used up the {limit} of processor time; the rest was run without it. Look for "
        "needless work or extra processes and threads.",
        "de": "Diese Zelle hat die {limit} Rechenzeit aufgebraucht; der Rest lief ohne sie. Bitte nach "
        "unnötiger Arbeit oder zusätzlichen Prozessen und Threads suchen.",
    },
    "cell.ending.memory": {
        "en": "This cell needed more than {limit} of memory; the rest was run without it. Use smaller "
        "arrays.",
        "de": "Diese Zelle brauchte mehr als {limit} Speicher; der Rest lief ohne sie. Bitte kleinere "
        "Arrays verwenden.",
    },
    "cell.ending.disk": {
        "en": "This cell wrote more files than there is room for, which is {limit}; the rest was run without "
        "it. Write less, or remove files no longer needed.",
        "de": "Diese Zelle schrieb mehr Dateien, als Platz haben; das sind {limit}. Der Rest lief ohne sie. "
        "Bitte weniger schreiben oder nicht mehr benötigte löschen.",
    },
    "cell.ending.output": {
        "en": "This cell printed more than {limit} and was stopped; the rest was run without it. Remove "
        "prints from loops.",
        "de": "Diese Zelle gab mehr als {limit} aus und wurde angehalten; der Rest lief ohne sie. Bitte "
        "Ausgaben aus Schleifen entfernen.",
    },
    "cell.ending.reply-size": {
        "en": "What this cell shows is larger than {limit}; the rest was run without it. Show less.",
        "de": "Was diese Zelle zeigt, ist größer als {limit}; der Rest lief ohne sie. Bitte weniger zeigen.",
    },
    "cell.ending.question-size": {
        "en": "What your code answered to one question needs more than {limit} of the grader's memory. "
        "Return only what is asked for.",
        "de": "Was Ihr Code auf eine Aufgabe antwortete, braucht mehr als {limit} Speicher der Bewertung. "
        "Bitte nur zurückgeben, was gefragt ist.",
    },
    "cell.ending.answers-size": {
        "en": "What your code answered altogether is more than the {limit} that the grader reads. Return "
        "only what is asked for.",
        "de": "Was Ihr Code insgesamt antwortete, ist mehr als die {limit}, die die Bewertung liest. Bitte "
        "nur zurückgeben, was gefragt ist.",
    },
    "cell.ending.restarts": {
        "en": "This cell was not run: others had ended Python too often ({limit} restarts are possible). "
        "Mend those first.",
        "de": "Diese Zelle lief nicht: andere hatten Python zu oft beendet ({limit} Neustarts sind "
        "möglich). Bitte zuerst diese in Ordnung bringen.",
    },
}

_CELL_MET: Mapping[str, Text] = {
    "cell.limit.memory": {
        "en": "Memory is limited to {limit}, and this cell asked for more than there was. Use smaller "
        "arrays, or let go of those no longer needed.",
        "de": "Der Speicher ist auf {limit} begrenzt, und diese Zelle verlangte mehr, als da war. Bitte "
        "kleinere Arrays verwenden oder nicht mehr benötigte freigeben.",
    },
    "cell.limit.processes": {
        "en": "At most {limit} processes and threads can run at the same time, and this cell asked for "
        "more. Start fewer, and wait for those that were started.",
        "de": "Höchstens {limit} Prozesse und Threads können gleichzeitig laufen, und diese Zelle verlangte "
        "mehr. Bitte weniger starten und auf gestartete warten.",
    },
    "cell.limit.output": {
        "en": "At most {limit} of output are kept for a notebook; the rest of this cell's is not shown. "
        "Remove prints from loops.",
        "de": "Höchstens {limit} Ausgabe werden für ein Notebook aufbewahrt; der Rest aus dieser Zelle "
        "fehlt. Bitte Ausgaben aus Schleifen entfernen.",
    },
    "cell.limit.disk": {
        "en": "All files of a notebook together can take {limit}, and this cell met that. Write less, or "
        "remove files no longer needed.",
        "de": "Alle Dateien eines Notebooks zusammen dürfen {limit} belegen, und diese Zelle stieß daran. "
        "Bitte weniger schreiben oder nicht mehr benötigte Dateien löschen.",
    },
    "cell.limit.files": {
        "en": "A notebook can make at most {limit} files and folders, and this cell met that. Write fewer, "
        "or remove those no longer needed.",
        "de": "Ein Notebook kann höchstens {limit} Dateien und Ordner anlegen, und diese Zelle stieß daran. "
        "Bitte weniger anlegen oder nicht mehr benötigte löschen.",
    },
    "cell.limit.descriptors": {
        "en": "At most {limit} files can be open at the same time, and this cell asked for more. Close each "
        "after use, for example with “with open(…) as file:”.",
        "de": "Höchstens {limit} Dateien können gleichzeitig offen sein, und diese Zelle verlangte mehr. "
        "Bitte jede nach Gebrauch schließen, zum Beispiel mit „with open(…) as file:“.",
    },
    "cell.limit.reply-size": {
        "en": "At most {limit} can be taken from one cell. Show less.",
        "de": "Höchstens {limit} werden von einer Zelle angenommen. Bitte weniger zeigen.",
    },
}

SENTENCES: Mapping[str, Text] = {**_ENDED, **_MET, **_CELL_ENDED, **_CELL_MET}
