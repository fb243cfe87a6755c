"""Sentences about shapes: what is wrong with one, without saying a size that is right."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {
    "shape.form": {
        "en": "{what} is a “{form}”; a shape is asked for, such as (2, 3).",
        "de": "{what} ist ein „{form}“; gefragt ist eine Form wie (2, 3).",
    },
    "shape.entry": {
        "en": "{what}: an entry of the shape is a “{form}”; every entry is a whole number or a formula.",
        "de": "{what}: ein Eintrag der Form ist ein „{form}“; jeder Eintrag ist eine ganze Zahl oder Formel.",
    },
    "shape.axis-count": {
        "en": "{what} has more than {limit} entries; no shape has.",
        "de": "{what} hat mehr als {limit} Einträge; so viele hat keine Form.",
    },
    "shape.placeholder": {
        "en": "{what}: “{sign}” leaves a size open, as in view or reshape. Write the size it stands for.",
        "de": "{what}: „{sign}“ lässt eine Größe offen, wie in view oder reshape. Bitte die Größe "
        "hinschreiben, für die es steht.",
    },
    "shape.ellipsis": {
        "en": "{what}: “{sign}” leaves out axes. Write every size.",
        "de": "{what}: „{sign}“ lässt Achsen aus. Bitte jede Größe hinschreiben.",
    },
    "shape.no-size": {
        "en": "{what}: every size is a whole number from 0, or a formula; “{value}” has another number "
        "in it.",
        "de": "{what}: jede Größe ist eine ganze Zahl ab 0 oder eine Formel; in „{value}“ steht eine "
        "andere Zahl.",
    },
    "shape.early": {
        "en": "{what}: {shape} is right only under a relation between the symbols that this part does not "
        "grant. Write the sizes as they are.",
        "de": "{what}: {shape} stimmt nur mit einer Beziehung zwischen den Symbolen, die in diesem Teil "
        "nicht vorausgesetzt ist. Bitte die Größen schreiben, wie sie sind.",
    },
    "shape.permuted": {
        "en": "{what}: {shape} has the right sizes, but the axes are in another order.",
        "de": "{what}: {shape} hat die richtigen Größen, aber die Achsen in anderer Reihenfolge.",
    },
    "shape.swapped": {
        "en": "{what}: {shape} has the right sizes, but axes {axes} are swapped.",
        "de": "{what}: {shape} hat die richtigen Größen, aber die Achsen {axes} sind vertauscht.",
    },
    "shape.last-two-swapped": {
        "en": "{what}: {shape} has the right sizes, but the last two axes are swapped. Is a transposition "
        "too many or missing?",
        "de": "{what}: {shape} hat die richtigen Größen, aber die letzten beiden Achsen sind vertauscht. "
        "Ist eine Transposition zu viel oder fehlt eine?",
    },
    "shape.heads-not-moved": {
        "en": "{what}: {shape} is the shape after the heads were split off, before their axis was moved.",
        "de": "{what}: {shape} ist die Form nach dem Abtrennen der Köpfe, bevor ihre Achse verschoben wird.",
    },
    "shape.missing": {
        "en": "{what}: {shape} lacks one axis.",
        "de": "{what}: in {shape} fehlt eine Achse.",
    },
    "shape.batch-missing": {
        "en": "{what}: {shape} is the shape for one example; the batch has an axis of its own.",
        "de": "{what}: {shape} ist die Form für ein einzelnes Beispiel; der Batch hat eine eigene Achse.",
    },
    "shape.heads-missing": {
        "en": "{what}: {shape} is the shape for one head; all heads are computed together.",
        "de": "{what}: {shape} ist die Form für einen Kopf; alle Köpfe werden gemeinsam berechnet.",
    },
    "shape.extra": {
        "en": "{what}: {shape} has one axis too many.",
        "de": "{what}: {shape} hat eine Achse zu viel.",
    },
    "shape.extra-one": {
        "en": "{what}: {shape} has an axis of size 1 too many, as keepdim=True or unsqueeze leave one.",
        "de": "{what}: {shape} hat eine Achse der Größe 1 zu viel, wie sie keepdim=True oder unsqueeze "
        "lassen.",
    },
    "shape.not-split": {
        "en": "{what}: in {shape} axis {axes} should be split into two.",
        "de": "{what}: in {shape} sollte Achse {axes} in zwei zerlegt sein.",
    },
    "shape.heads-not-split": {
        "en": "{what}: in {shape} the heads are still side by side in one axis; here they have one of their "
        "own.",
        "de": "{what}: in {shape} stehen die Köpfe noch nebeneinander in einer Achse; hier haben sie eine "
        "eigene.",
    },
    "shape.product": {
        "en": "{what}: {shape} is one size, the product of several. Write them one by one, with commas.",
        "de": "{what}: {shape} ist eine einzige Größe, das Produkt mehrerer. Bitte einzeln schreiben, mit "
        "Kommas.",
    },
    "shape.not-joined": {
        "en": "{what}: in {shape} axes {axes} should be one.",
        "de": "{what}: in {shape} sollten die Achsen {axes} eine sein.",
    },
    "shape.heads-not-joined": {
        "en": "{what}: in {shape} the heads still have an axis of their own; here their results are side by "
        "side.",
        "de": "{what}: in {shape} haben die Köpfe noch eine eigene Achse; hier stehen ihre Ergebnisse "
        "nebeneinander.",
    },
    "shape.one-head": {
        "en": "{what}: in {shape} the size of axis {axes} is that of a single head, but all heads count.",
        "de": "{what}: in {shape} ist die Größe der Achse {axes} die eines Kopfes, es zählen aber alle.",
    },
    "shape.all-heads": {
        "en": "{what}: in {shape} the size of axis {axes} counts all heads, but a single one is meant.",
        "de": "{what}: in {shape} zählt die Größe der Achse {axes} alle Köpfe, gemeint ist ein einzelner.",
    },
    "shape.axis": {
        "en": "{what}: {shape} has the right number of axes; the size of axis {axes} is wrong.",
        "de": "{what}: {shape} hat die richtige Anzahl Achsen; die Größe der Achse {axes} ist falsch.",
    },
    "shape.axes": {
        "en": "{what}: {shape} has the right number of axes; the sizes of these are wrong: {axes}.",
        "de": "{what}: {shape} hat die richtige Anzahl Achsen; falsch sind die Größen von: {axes}.",
    },
    "shape.count": {
        "en": "{what}: {shape}: the number of axes, {count}, is not right.",
        "de": "{what}: {shape}: die Anzahl der Achsen, {count}, stimmt nicht.",
    },
}
