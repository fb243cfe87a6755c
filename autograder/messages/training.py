"""Sentences about training: losses, what was learned, and what a checkpoint lacks."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

_SEEN: Mapping[str, Text] = {
    "training.no-losses": {
        "en": "{what}.train returns a “{form}”; the losses of its steps are asked for, as numbers.",
        "de": "{what}.train gibt „{form}“ zurück; gefragt sind die Verluste der Schritte als Zahlen.",
    },
    "training.count": {
        "en": "{what}.train was asked for {count} steps and returned losses of the shape {shape}.",
        "de": "{what}.train sollte {count} Schritte machen und gab Verluste der Form {shape} zurück.",
    },
    "training.not-finite": {
        "en": "{what}.train returns losses that are NaN or infinite.",
        "de": "{what}.train gibt Verluste zurück, die NaN oder unendlich sind.",
    },
    "training.loss": {
        "en": "{what}: the very first loss, before any update, is not the right one.",
        "de": "{what}: Schon der erste Verlust, vor jeder Änderung der Gewichte, stimmt nicht.",
    },
    "training.updates": {
        "en": "{what}: the losses are not the right ones from step {step} on.",
        "de": "{what}: Die Verluste stimmen ab Schritt {step} nicht.",
    },
    "training.updates-dropout": {
        "en": "{what}: without dropout the losses are right; with dropout they are not, from step {step} on.",
        "de": "{what}: Ohne Dropout stimmen die Verluste; mit Dropout stimmen sie ab Schritt {step} nicht.",
    },
    "training.learns": {
        "en": "{what}: the model's loss on the training texts was {before} before and is {after} after "
        "training. It should fall further.",
        "de": "{what}: Der Verlust des Modells auf den Trainingstexten war vorher {before} und ist nach dem "
        "Training {after}. Er sollte weiter fallen.",
    },
    "training.no-change": {
        "en": "{what}: training does not change the model at all.",
        "de": "{what}: Das Training ändert das Modell überhaupt nicht.",
    },
    "training.no-logits": {
        "en": "{what}: after training the model no longer gives finite logits.",
        "de": "{what}: Nach dem Training gibt das Modell keine endlichen Logits mehr.",
    },
    "training.resume": {
        "en": "{what}: after a checkpoint, the losses are not those of a training without interruption, from "
        "its step {step} on.",
        "de": "{what}: Nach einem Checkpoint sind die Verluste ab dessen Schritt {step} nicht die eines "
        "Trainings ohne Unterbrechung.",
    },
    "training.resume-model": {
        "en": "{what}: after a checkpoint the losses are right, but the model ends up as another one.",
        "de": "{what}: Nach einem Checkpoint stimmen die Verluste, am Ende ist das Modell aber ein anderes.",
    },
}

_MISTAKES: Mapping[str, Text] = {
    "training.not-shifted": {
        "en": "{what}: the logits at a position are compared with the token at the same position. They "
        "predict the next one.",
        "de": "{what}: Die Logits einer Position werden mit dem Token derselben Position verglichen. Sie "
        "sagen das nächste voraus.",
    },
    "training.padding-counted": {
        "en": "{what}: padding is counted in the loss.",
        "de": "{what}: Padding wird im Verlust mitgezählt.",
    },
    "training.loss-summed": {
        "en": "{what}: the loss is a sum over the tokens; their mean is asked for.",
        "de": "{what}: Der Verlust ist eine Summe über die Token; gefragt ist ihr Mittelwert.",
    },
    "training.gradients-kept": {
        "en": "{what}: gradients of earlier steps are added to those of the next one.",
        "de": "{what}: Gradienten früherer Schritte werden zu denen des nächsten addiert.",
    },
    "training.evaluation-mode": {
        "en": "{what}: the model is in evaluation mode while it is trained, so dropout does nothing.",
        "de": "{what}: Das Modell ist beim Training im Auswertungsmodus; Dropout bewirkt so nichts.",
    },
    "training.schedule-forgotten": {
        "en": "{what}: the learning rate stays the same; the schedule never takes a step.",
        "de": "{what}: Die Lernrate bleibt gleich; der Zeitplan macht keinen Schritt.",
    },
    "training.never-updated": {
        "en": "{what}: the optimizer never takes a step.",
        "de": "{what}: Der Optimierer macht keinen Schritt.",
    },
    "training.weights-lost": {
        "en": "{what}: the model's weights do not come back from the checkpoint.",
        "de": "{what}: Die Gewichte des Modells kommen nicht aus dem Checkpoint zurück.",
    },
    "training.moments-lost": {
        "en": "{what}: what the optimizer remembers (its moments and steps) does not come back from the "
        "checkpoint.",
        "de": "{what}: Was der Optimierer sich merkt (Momente und Schritte), kommt nicht aus dem Checkpoint "
        "zurück.",
    },
    "training.schedule-lost": {
        "en": "{what}: the learning rate's schedule starts again after a checkpoint.",
        "de": "{what}: Der Zeitplan der Lernrate beginnt nach einem Checkpoint von vorn.",
    },
    "training.order-restarts": {
        "en": "{what}: after a checkpoint the batches start again from the beginning.",
        "de": "{what}: Nach einem Checkpoint beginnen die Batches wieder von vorn.",
    },
    "training.random-lost": {
        "en": "{what}: the state of the random numbers does not come back, so dropout drops something else.",
        "de": "{what}: Der Zustand der Zufallszahlen kommt nicht zurück; Dropout verwirft so anderes.",
    },
    "training.shared-memory": {
        "en": "{what}: the checkpoint changes when training goes on: it holds the live tensors, not copies.",
        "de": "{what}: Der Checkpoint ändert sich beim weiteren Training: Er enthält die lebenden Tensoren "
        "statt Kopien.",
    },
}

SENTENCES: Mapping[str, Text] = {**_SEEN, **_MISTAKES}
