"""The tables of the service. `Attempt` is the truth about a submission, whatever became of its job.

Times are UTC. Points are exact decimals, written as text: a mark has as many digits as a person typed.
"""

from __future__ import annotations

import enum
import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Lower

from autograder.service.telling import (  # noqa: F401 - Django finds them here
    ChosenAttempt,
    Comparison,
    SentScore,
    ShownMarks,
    StatedReason,
)


class Account(AbstractUser):
    """Somebody who can sign in. What they may do follows from their memberships (`Member`)."""

    language = models.CharField(max_length=8, blank=True)

    class Meta(AbstractUser.Meta):
        """A name is one person's, however it is spelt: signing in does not look at case."""

        constraints = (models.UniqueConstraint(Lower("username"), name="account_username"),)


class ProgramKey(models.Model):
    """A key with which a program hands in for an account; only its digest is kept."""

    account = models.ForeignKey(Account, models.CASCADE, related_name="keys")
    digest = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)


class Invitation(models.Model):
    """A link that works once: it makes an account, of an administrator or of a member, or a new password."""

    digest = models.CharField(max_length=64, primary_key=True)
    member = models.ForeignKey("Member", models.CASCADE, null=True, related_name="invitations")
    """Whose account it will be; None: an administrator of the whole service."""
    account = models.ForeignKey(Account, models.CASCADE, null=True, related_name="+")
    """Whose password is forgotten; None: an account is made."""
    expires_at = models.DateTimeField()


class Blob(models.Model):
    """Bytes by their SHA-256: notebooks, data, files of releases. Never changed, kept once."""

    digest = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    data = models.BinaryField(null=True)
    """None: it lies in the object store (`autograder.service.blobs`)."""


class CourseRecord(models.Model):
    """A course. Its secret is here because workers need it, and have nothing but the database."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    secret = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)


class Version(models.Model):
    """An assignment as it was taken over from a folder: rubric, sources, references, release, variants."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="versions")
    assignment = models.CharField(max_length=128)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    rubric_version = models.IntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Numbers count from one; the same files are the same version."""

        constraints = (
            models.UniqueConstraint(fields=["course", "assignment", "number"], name="version_number"),
            models.UniqueConstraint(fields=["course", "assignment", "digest"], name="version_digest"),
        )


class VersionFile(models.Model):
    """One file of a version, by its path in the course folder."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="files")
    path = models.CharField(max_length=500)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")

    class Meta:
        """A path occurs once."""

        constraints = (models.UniqueConstraint(fields=["version", "path"], name="version_path"),)


class Offer(models.Model):
    """An assignment that a course offers: which version, when, and what students see of it."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="offers")
    assignment = models.CharField(max_length=128)
    version = models.ForeignKey(Version, models.PROTECT, related_name="+")
    title = models.CharField(max_length=200)
    visible = models.BooleanField(default=False)
    """Students see it and can hand in."""
    published_at = models.DateTimeField(null=True)
    """Since when students see their marks; None: not."""
    times = models.JSONField(default=dict)
    """A table as in exams.toml (`autograder.course.schedule`); empty: no end."""
    groups = models.JSONField(default=dict)
    """Who hands in together, ids by the group's name; empty: everybody alone."""
    formed_here = models.BooleanField(default=False)
    """Staff formed the groups here: the folder's groups.csv is not looked at any more."""
    most_attempts = models.PositiveIntegerField(default=50)
    bonus = models.JSONField(default=dict)
    """Bonus points that the course gives besides, as text, by student: of the folder's bonus.csv."""
    requests_until = models.DateTimeField(null=True)
    """Until then students may ask for another look; None: they may not."""
    capped_on_platforms = models.BooleanField(default=False)
    """Learning platforms are told at most the possible points."""

    class Meta:
        """A course offers an assignment once."""

        constraints = (models.UniqueConstraint(fields=["course", "assignment"], name="offer_assignment"),)


class CourseFile(models.Model):
    """A file of the course beside its assignments: bonus points, settings of nbgrader."""

    course = models.ForeignKey(CourseRecord, models.CASCADE, related_name="files")
    path = models.CharField(max_length=100)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")

    class Meta:
        """A path occurs once."""

        constraints = (models.UniqueConstraint(fields=["course", "path"], name="course_file"),)


class Role(enum.StrEnum):
    """What somebody is in a course; each may do what those before it may, but for the student's own."""

    STUDENT = "student"
    TA = "ta"
    HEAD_TA = "head-ta"
    INSTRUCTOR = "instructor"
    ADMINISTRATOR = "administrator"


class Member(models.Model):
    """Somebody in a course, with or without an account yet."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="members")
    account = models.ForeignKey(Account, models.PROTECT, null=True, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(one.value, one.value) for one in Role])
    student = models.CharField(max_length=128, blank=True)
    """The id of a student; empty for others."""
    first_name = models.CharField(max_length=150, blank=True)
    last_name = models.CharField(max_length=150, blank=True)
    email = models.EmailField(blank=True)

    class Meta:
        """An account, and a student's id, occur once in a course."""

        constraints = (
            models.UniqueConstraint(
                fields=["course", "account"], condition=Q(account__isnull=False), name="member_account"
            ),
            models.UniqueConstraint(
                fields=["course", "student"], condition=~Q(student=""), name="member_student"
            ),
            models.CheckConstraint(condition=Q(role="student") ^ Q(student=""), name="member_student_id"),
        )


class State(enum.StrEnum):
    """What becomes of an attempt."""

    WAITING = "waiting"
    RUNNING = "running"
    GRADED = "graded"
    FAILED = "failed"
    """It was tried as often as it may be; `Attempt.problem` says why. A person can try it again."""


class Attempt(models.Model):
    """Something that was handed in. It has a result, or a live job, or is failed for a reason."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    offer = models.ForeignKey(Offer, models.PROTECT, related_name="attempts")
    version = models.ForeignKey(Version, models.PROTECT, related_name="+")
    student = models.CharField(max_length=128)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    """Of the files handed in (`autograder.grading.pipeline.SubmittedFiles.digest`)."""
    submitted_at = models.DateTimeField()
    queued_at = models.DateTimeField(auto_now_add=True)
    """Since when it could be graded: later than it was handed in, where it came from a folder."""
    by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    receipt = models.TextField()
    state = models.CharField(max_length=8, choices=[(one, one) for one in State], default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    """Who has it now: a result that comes with another one is too late."""
    problem = models.TextField(blank=True)
    graded_at = models.DateTimeField(null=True)
    result = models.ForeignKey("StoredResult", models.PROTECT, null=True, related_name="+")

    class Meta:
        """Numbers count from one for each student."""

        constraints = (
            models.UniqueConstraint(fields=["offer", "student", "number"], name="attempt_number"),
            models.CheckConstraint(
                condition=Q(state="graded", result__isnull=False) | ~Q(state="graded"), name="attempt_result"
            ),
        )
        indexes = (
            models.Index(fields=["state", "leased_until"], name="attempt_open"),
            models.Index(fields=["offer", "student"], name="attempt_of"),
        )


class AttemptFile(models.Model):
    """One file of an attempt."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="files")
    name = models.CharField(max_length=255)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")
    fault = models.TextField(null=True)  # why a notebook cannot be read; empty: it can; None: not looked at

    class Meta:
        """A name occurs once."""

        constraints = (models.UniqueConstraint(fields=["attempt", "name"], name="attempt_file"),)


class StoredRun(models.Model):
    """A run of a grader; one without an end was interrupted."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    rubric_version = models.IntegerField()
    rubric = models.CharField(max_length=64)
    environment = models.CharField(max_length=64)
    isolation = models.CharField(max_length=32)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)


class StoredResult(models.Model):
    """A result under all that it depends on (`autograder.store.Key`)."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    student = models.CharField(max_length=128)
    assignment = models.CharField(max_length=128)
    submission = models.CharField(max_length=64)
    rubric_version = models.IntegerField()
    rubric = models.CharField(max_length=64)
    environment = models.CharField(max_length=64)
    run = models.ForeignKey(StoredRun, models.PROTECT, null=True, related_name="+")
    recorded_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    graded = models.BinaryField()
    whole = models.BooleanField(default=True)
    """False: its notebooks are gone, since the student has newer results (`Budgets.attempts`)."""

    class Meta:
        """One result under one key."""

        constraints = (
            models.UniqueConstraint(
                fields=[
                    "course",
                    "assignment",
                    "student",
                    "submission",
                    "rubric_version",
                    "rubric",
                    "environment",
                ],
                name="result_key",
            ),
        )


class CurrentResult(models.Model):
    """Which result of a student counts."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    student = models.CharField(max_length=128)
    result = models.ForeignKey(StoredResult, models.PROTECT, related_name="+")

    class Meta:
        """One for each student."""

        constraints = (
            models.UniqueConstraint(fields=["course", "assignment", "student"], name="current_result"),
        )


class CellPlace(models.Model):
    """A grade cell of an assignment, as rubric and release have it."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    notebook = models.CharField(max_length=128)
    cell = models.CharField(max_length=128)

    class Meta:
        """A cell occurs once."""

        constraints = (
            models.UniqueConstraint(fields=["course", "assignment", "notebook", "cell"], name="cell_place"),
        )


class CellMark(models.Model):
    """What one student's cell got: automatically, and from people."""

    place = models.ForeignKey(CellPlace, models.CASCADE, related_name="marks")
    student = models.CharField(max_length=128)
    automatic = models.CharField(max_length=40, null=True)
    pending = models.BooleanField(default=True)
    """Some of it waits for a person."""
    points = models.CharField(max_length=40, null=True)
    extra = models.CharField(max_length=40, default="0")
    again = models.BooleanField(default=False)
    comment = models.TextField(blank=True)
    decided = models.CharField(max_length=40, null=True)
    touched = models.BooleanField(default=False)
    """A person gave something, or took it back."""
    revision = models.PositiveIntegerField(default=0)
    """Grows with each change: whoever saves says which one they saw."""
    answered = models.BooleanField(default=False)
    """There is something to read, and a person may have to."""
    text = models.TextField(blank=True)
    """What was written into the cell, or the answer cell of its question."""
    equal = models.CharField(max_length=64, blank=True)
    """Equal answers have the same name (`autograder.feedback.answers.MarkedCell.group`); empty: none has."""
    computed = models.CharField(max_length=64, blank=True)
    """Digest of what grading found out about the whole question: the same where it did the same."""
    gathered = models.CharField(max_length=40, blank=True)
    """The group that people put it into; empty: it stands with those that are equal."""
    shuffled = models.CharField(max_length=32, blank=True)
    """Its place in the order of marking; follows from the course's secret."""
    verdicts = models.JSONField(default=dict)
    """By item of the cell: the points that grading gave, as text, or None where a person decides."""
    items = models.JSONField(default=dict)
    """By item: the points that a person gave, and of how many; both as text."""
    remarks = models.JSONField(default=dict)
    """By item: what people wrote about it alone; ``comment`` is about the whole cell."""
    worth = models.JSONField(default=dict)
    """By item of the cell: of how many points, as text, by the rubric of the result that counts."""
    flagged = models.BooleanField(default=False)
    suggested = models.BooleanField(default=False)
    """Its words, or equal answers that have marks, suggest what it gets."""
    stage = models.CharField(max_length=8, blank=True)
    """``second``: another person has to mark it too; ``conflict``: two differ; empty: neither."""
    marked_by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    marked_at = models.DateTimeField(null=True)

    class Meta:
        """One row for each student and cell."""

        constraints = (models.UniqueConstraint(fields=["place", "student"], name="cell_mark"),)
        indexes = (
            models.Index(fields=["student"], name="cell_mark_student"),
            models.Index(fields=["place", "shuffled"], name="cell_mark_order"),
            models.Index(fields=["place", "equal"], name="cell_mark_equal"),
        )


class IndependentMark(models.Model):
    """What one person gave one answer, where it is not the mark by itself (`autograder.service.marking`)."""

    mark = models.ForeignKey(CellMark, models.CASCADE, related_name="readings")
    account = models.ForeignKey(Account, models.PROTECT, related_name="+")
    items = models.JSONField()
    """As `CellMark.items`."""
    comment = models.TextField(blank=True)
    remarks = models.JSONField(default=dict)
    submission = models.CharField(max_length=64, blank=True)
    """Digest of the text that was read."""
    at = models.DateTimeField(auto_now=True)

    class Meta:
        """One person reads an answer once."""

        constraints = (models.UniqueConstraint(fields=["mark", "account"], name="independent_mark"),)


class MarkingPlan(models.Model):
    """How a cell is marked: which share of its answers by two people."""

    place = models.OneToOneField(CellPlace, models.CASCADE, related_name="plan")
    twice_percent = models.PositiveSmallIntegerField(default=0)


class MarkingAction(models.Model):
    """What somebody did while marking, with what stood before and after, so that it can be undone."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    account = models.ForeignKey(Account, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    action = models.CharField(max_length=16)
    changes = models.JSONField()
    """A list: the answer's number, and its fields before and after."""
    undone_at = models.DateTimeField(null=True)

    class Meta:
        """Looked for by who did it."""

        indexes = (models.Index(fields=["course", "assignment", "account", "-id"], name="marking_action"),)


class Looking(models.Model):
    """Who looks at an answer now."""

    mark = models.ForeignKey(CellMark, models.CASCADE, related_name="+")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        """Once for each person."""

        constraints = (models.UniqueConstraint(fields=["mark", "account"], name="looking"),)


class ReusableComment(models.Model):
    """A comment that is offered again."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    cell = models.CharField(max_length=128, blank=True)
    """Where it is offered; empty: in all of the assignment."""
    text = models.TextField()
    used = models.PositiveIntegerField(default=0)
    by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")

    class Meta:
        """A text is offered once in a place."""

        constraints = (
            models.UniqueConstraint("course", "assignment", "cell", MD5("text"), name="reusable_comment"),
        )


class RegradeRequest(models.Model):
    """A student asks for another look at one item, once until it is answered."""

    offer = models.ForeignKey(Offer, models.PROTECT, related_name="requests")
    student = models.CharField(max_length=128)
    question = models.CharField(max_length=128)
    item = models.CharField(max_length=128)
    reason = models.TextField()
    made_at = models.DateTimeField(auto_now_add=True)
    points = models.CharField(max_length=40, null=True)
    """What the item had then, as text; None: a mark of its whole cell stood."""
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True)
    answered_by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    points_after = models.CharField(max_length=40, null=True)

    class Meta:
        """One open request for an item."""

        constraints = (
            models.UniqueConstraint(
                fields=["offer", "student", "question", "item"],
                condition=Q(answered_at__isnull=True, withdrawn_at__isnull=True),
                name="open_request",
            ),
        )


class VersionTrial(models.Model):
    """A new version of an assignment that is tried on the class before it is offered."""

    offer = models.ForeignKey(Offer, models.PROTECT, related_name="trials")
    version = models.ForeignKey(Version, models.PROTECT, related_name="+")
    base = models.ForeignKey(Version, models.PROTECT, related_name="+")
    """What was offered when it began: a trial against an older one cannot be applied."""
    by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    """None: the server, when it started."""
    made_at = models.DateTimeField(auto_now_add=True)
    settled = models.CharField(max_length=8, blank=True)
    """``applied`` or ``dropped``; empty: it is being tried."""
    settled_at = models.DateTimeField(null=True)


class TrialResult(models.Model):
    """What an attempt that counts gets by a trial."""

    trial = models.ForeignKey(VersionTrial, models.CASCADE, related_name="results")
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="+")
    result = models.ForeignKey(StoredResult, models.PROTECT, null=True, related_name="+")
    problem = models.TextField(blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    """Until then a worker has it; None: nobody has."""
    graded_at = models.DateTimeField(null=True)

    class Meta:
        """One for each attempt."""

        constraints = (models.UniqueConstraint(fields=["trial", "attempt"], name="trial_result"),)


class PlatformCourse(models.Model):
    """A course of a learning platform that is a course here (`autograder.service.platforms`)."""

    context = models.OneToOneField("lti_tool.LtiContext", models.CASCADE, related_name="+")
    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="platforms")
    problem = models.TextField(blank=True)
    """Why the platform could not be told the marks, the last time; empty: it could."""


class PlatformMember(models.Model):
    """A person of a learning platform who is a member here."""

    user = models.ForeignKey("lti_tool.LtiUser", models.CASCADE, related_name="+")
    member = models.ForeignKey(Member, models.CASCADE, related_name="platforms")

    class Meta:
        """Nobody of a platform is a member twice."""

        constraints = (models.UniqueConstraint(fields=["user", "member"], name="platform_member"),)


class AuditEntry(models.Model):
    """Who did what, when; each entry holds the digest of the one before (`autograder.service.audit`)."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField()
    who = models.CharField(max_length=150)
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=300)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)
