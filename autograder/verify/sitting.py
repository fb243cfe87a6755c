"""Lets planted answers sit the exam in the place of the key's.

Each trial is one paper: the answer key with one answer changed. So whatever is lost was lost for that
answer. Where texts are enough nothing is run, and only the questions from the changed one on are judged
again; the others cannot see it. Everything else is a submission like any other.
"""

from __future__ import annotations

from autograder import scoring
from autograder.checks.base import Draw, Observations, Trial
from autograder.grading import Grader, Handed
from autograder.notebook.match import canonical
from autograder.records import Answer, Graded, Scenario, Score
from autograder.rubric import Question
from autograder.verify.papers import AnswerKey, with_sources


class Sitting:
    """The answer key of one assignment, ready to have answers planted in it. Thread safe."""

    def __init__(self, grader: Grader, key: AnswerKey) -> None:
        self._grader = grader
        self._key = key
        self._rubric = grader.assignment.rubric
        self._results = key.results()
        self._texts = {
            question.id
            for question in self._rubric.questions
            if (answer := self.answer(question)) is not None and self._plan(question, answer) == ()
        }
        """Questions for which the text of the key's answer is enough."""

    def answer(self, question: Question) -> Answer | None:
        """The answer key's answer; None when the release has no cell for it."""
        submission = self._key.submissions[question.notebook]
        return self._grader.assignment.answer(question, submission)

    def on_paper(self, question: Question, trial: Trial) -> Score | None:
        """The score of a paper with a planted answer; None when code would have to be run for it."""
        planted = self._planted(question, trial)
        for place, answer in planted.items():
            if self._plan(self._rubric.question(place), answer) != ():
                return None
        results = dict(self._results)
        before: list[str] = []
        changed = False
        for one in self._rubric.questions:
            changed = changed or one.id in planted
            given = planted.get(one.id) or self.answer(one)
            if changed and given is not None and (one.id in planted or one.id in self._texts):
                answers = {
                    **self._key.answers(one),
                    **{
                        planted[place].grade_id: planted[place]
                        for place in planted
                        if self._rubric.question(place).notebook == one.notebook
                    },
                }
                earlier = {place: results[place] for place in before}
                judged = self._grader.judge(one, given, answers=answers, earlier=earlier, ask=_nobody)
                results[one.id] = judged.results
            before.append(one.id)
        return scoring.score(trial.name, self._rubric, results)

    def in_box(self, question: Question, trial: Trial) -> Graded:
        """Grade a submission with a planted answer, as any student's."""
        changes: dict[str, dict[str, str]] = {}
        for place, answer in self._planted(question, trial).items():
            notebook = self._rubric.question(place).notebook
            changes.setdefault(notebook, {})[answer.grade_id] = answer.source
        notebooks = {
            name: with_sources(data, changes.get(name, {})) for name, data in self._key.sources.items()
        }
        return self._grader.grade(Handed(trial.name, notebooks))

    def _planted(self, question: Question, trial: Trial) -> dict[str, Answer]:
        """The answers that a trial changes, by question."""
        sources = {question.id: trial.source}
        for place, below in trial.earlier.items():
            key = self.answer(self._rubric.question(place))
            above = f"{key.source.rstrip()}\n" if key is not None and key.cell_type == "code" else ""
            sources[place] = above + below
        return {
            place: self._replaced(self._rubric.question(place), source) for place, source in sources.items()
        }

    def _replaced(self, question: Question, source: str) -> Answer:
        answer = self.answer(question)
        release = self._grader.assignment.releases[question.notebook]
        grade_id = release.answer_cell(question)
        stub = release.by_id[grade_id]
        cell_type = answer.cell_type if answer is not None else stub.cell_type
        return Answer(grade_id, cell_type, source, changed=canonical(source) != canonical(stub.source))

    def _plan(self, question: Question, answer: Answer) -> tuple[Scenario, ...]:
        grader = self._grader
        draw = Draw.for_question(grader.secret, self._rubric, question)
        return grader.assignment.checks[question.id].plan(answer, draw)


def _nobody(plan: tuple[Scenario, ...]) -> tuple[Observations, ...]:
    raise AssertionError(f"{len(plan)} scenarios are asked of a paper without a box")
