"""The tables of the service. `Attempt` is the truth about a submission, whatever happened to its job.

Times are UTC. Points are exact decimals, stored as text: a mark keeps the digits that a person typed.
"""

from __future__ import annotations

import enum
import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Lower
from django.utils.crypto import salted_hmac

from autograder.service import models_results  # noqa: F401 - Django finds its tables here


class Account(AbstractUser):
    """A person who can sign in. Their permissions follow from their memberships (`Member`)."""

    class Mail(models.TextChoices):
        """When a person gets e-mails about events (`autograder.service.notices`)."""

        EACH = "each"
        DAILY = "daily"
        NEVER = "never"

    language = models.CharField(max_length=8, blank=True)
    """Of e-mails; empty: English."""
    mail = models.CharField(max_length=8, choices=Mail.choices, default=Mail.EACH)
    access_number = models.PositiveIntegerField(default=0)
    """Part of the hash in each session: incrementing it ends all sessions of the account."""

    def get_session_auth_hash(self) -> str:
        """Return the value with which a session stays valid: it changes with password and `access_number`."""
        value = f"{self.access_number}:{self.password}"
        return salted_hmac("autograder.service.Account", value, algorithm="sha256").hexdigest()

    class Meta(AbstractUser.Meta):
        """A user name is unique regardless of case, because signing in ignores case."""

        constraints = (models.UniqueConstraint(Lower("username"), name="account_username"),)


class Scope(enum.StrEnum):
    """What a program may do with a key, within the permissions of the key's owner."""

    READ = "read"
    SUBMIT = "submit"
    MARK = "mark"
    MANAGE = "manage"


class ProgramKey(models.Model):
    """A key with which a program acts for an account (`autograder.web.rest`); only its digest is stored."""

    account = models.ForeignKey(Account, models.CASCADE, related_name="keys")
    digest = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=80)
    scopes = models.CharField(max_length=40, default=f"{Scope.READ} {Scope.SUBMIT}")
    """Values of `Scope`, separated by spaces."""
    course = models.ForeignKey("CourseRecord", models.CASCADE, null=True, related_name="+")
    """The only course in which it works; None: all courses of its owner."""
    expires_at = models.DateTimeField(null=True)
    """None: it works until it is removed."""
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)


class Invitation(models.Model):
    """A link that works once: it creates the account of an administrator or member, or resets a password."""

    digest = models.CharField(max_length=64, primary_key=True)
    member = models.ForeignKey("Member", models.CASCADE, null=True, related_name="invitations")
    """The member who gets the account; None: an administrator of the whole service."""
    account = models.ForeignKey(Account, models.CASCADE, null=True, related_name="+")
    """The account with the forgotten password; None: an account is created."""
    expires_at = models.DateTimeField()


class Blob(models.Model):
    """Bytes by their SHA-256: notebooks, data, files of releases. Immutable and stored once."""

    digest = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    data = models.BinaryField(null=True)
    """None: the bytes are in the object store (`autograder.service.blobs`)."""


class CourseRecord(models.Model):
    """A course. Its secret is stored here because workers need it and can reach only the database."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    secret = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)
    keep_days = models.PositiveIntegerField(null=True)
    """Days after the last activity until all students are erased (`protection.retention`); None: never."""
    mail_marks = models.BooleanField(default=False)
    """E-mails about published results state the points."""


class Version(models.Model):
    """An assignment as imported from a folder: rubric, sources, references, release, variants."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="versions")
    assignment = models.CharField(max_length=128)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    rubric_version = models.IntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Numbers start at one; the same files are the same version."""

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
        """Paths are unique."""

        constraints = (models.UniqueConstraint(fields=["version", "path"], name="version_path"),)


class Offer(models.Model):
    """An assignment that a course offers: its version, its times, and what students can see of it."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="offers")
    assignment = models.CharField(max_length=128)
    version = models.ForeignKey(Version, models.PROTECT, related_name="+")
    title = models.CharField(max_length=200)
    visible = models.BooleanField(default=False)
    """Students see it and can submit."""
    published_at = models.DateTimeField(null=True)
    """Time since which students see their marks; None: not published."""
    times = models.JSONField(default=dict)
    """A table as in exams.toml (`autograder.course.schedule`); empty: no deadline."""
    groups = models.JSONField(default=dict)
    """Student ids by group name; empty: everyone submits alone."""
    formed_here = models.BooleanField(default=False)
    """Staff formed the groups in the service: the folder's groups.csv is no longer read."""
    uploaded = models.BooleanField(default=False)
    """Staff uploaded the version in the browser: the server does not import the folder when it starts."""
    most_attempts = models.PositiveIntegerField(default=50)
    bonus = models.JSONField(default=dict)
    """Additional bonus points by student, as text: from the folder's bonus.csv."""
    requests_until = models.DateTimeField(null=True)
    """Deadline for regrade requests; None: they are not accepted."""
    capped_on_platforms = models.BooleanField(default=False)
    """Scores sent to learning platforms are capped at the possible points."""

    class Meta:
        """A course offers an assignment once."""

        constraints = (models.UniqueConstraint(fields=["course", "assignment"], name="offer_assignment"),)

    @property
    def marks(self) -> models.QuerySet[CellMark]:
        """The marks of all its cells and students."""
        return CellMark.objects.filter(place__course=self.course_id, place__assignment=self.assignment)

    @property
    def current_results(self) -> models.QuerySet[CurrentResult]:
        """The results of all its students that count."""
        return CurrentResult.objects.filter(course=self.course_id, assignment=self.assignment)


class CourseFile(models.Model):
    """A file of the course outside of its assignments: bonus points, nbgrader's settings."""

    course = models.ForeignKey(CourseRecord, models.CASCADE, related_name="files")
    path = models.CharField(max_length=100)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")

    class Meta:
        """Paths are unique."""

        constraints = (models.UniqueConstraint(fields=["course", "path"], name="course_file"),)


class Role(enum.StrEnum):
    """A member's role; each has all permissions of the roles before it, except for the student's."""

    STUDENT = "student"
    TA = "ta"
    HEAD_TA = "head-ta"
    INSTRUCTOR = "instructor"
    ADMINISTRATOR = "administrator"


class MemberManager(models.Manager["Member"]):
    """Finds the members who were not removed."""

    def get_queryset(self) -> models.QuerySet[Member]:
        """Return the members who were not removed."""
        return super().get_queryset().filter(removed_at=None)


class Member(models.Model):
    """A person in a course, with or without an account yet.

    A removed member stays as a row without an account: neither the course folder nor a learning platform can
    bring the person back, only staff.
    """

    objects = MemberManager()
    everyone: models.Manager[Member] = models.Manager()
    """Also finds removed members."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="members")
    account = models.ForeignKey(Account, models.PROTECT, null=True, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(entry.value, entry.value) for entry in Role])
    student = models.CharField(max_length=128, blank=True)
    """The id of a student; empty for other roles."""
    first_name = models.CharField(max_length=150, blank=True)
    last_name = models.CharField(max_length=150, blank=True)
    email = models.EmailField(blank=True)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        """An account and a student id occur once in a course."""

        constraints = (
            models.UniqueConstraint(
                fields=["course", "account"], condition=Q(account__isnull=False), name="member_account"
            ),
            models.UniqueConstraint(
                fields=["course", "student"], condition=~Q(student=""), name="member_student"
            ),
            # Students have an id, all other roles have none.
            models.CheckConstraint(condition=Q(role="student") ^ Q(student=""), name="member_student_id"),
        )


class State(enum.StrEnum):
    """State of an attempt."""

    WAITING = "waiting"
    RUNNING = "running"
    GRADED = "graded"
    FAILED = "failed"
    """It was tried the maximum number of times; `Attempt.problem` gives the reason. Staff can retry it."""


class Attempt(models.Model):
    """A submission. It has a result or a live job, or it failed for a stated reason."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    offer = models.ForeignKey(Offer, models.PROTECT, related_name="attempts")
    version = models.ForeignKey(Version, models.PROTECT, related_name="+")
    student = models.CharField(max_length=128)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    """Digest of the submitted files (`autograder.grading.pipeline.SubmittedFiles.compute_digest`)."""
    submitted_at = models.DateTimeField()
    queued_at = models.DateTimeField(auto_now_add=True)
    """Time since which it could be graded: later than its submission if it was imported from a folder."""
    by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    receipt = models.TextField()
    state = models.CharField(max_length=8, choices=[(entry, entry) for entry in State], default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    """Token of the worker that holds it: a result with another token is too late and discarded."""
    problem = models.TextField(blank=True)
    graded_at = models.DateTimeField(null=True)
    result = models.ForeignKey("StoredResult", models.PROTECT, null=True, related_name="+")

    class Meta:
        """Numbers start at one for each student."""

        constraints = (
            models.UniqueConstraint(fields=["offer", "student", "number"], name="attempt_number"),
            models.CheckConstraint(
                condition=Q(state="graded", result__isnull=False) | ~Q(state="graded"), name="attempt_result"
            ),
        )
        indexes = (
            # For the sweep, which looks for lost attempts.
            models.Index(fields=["state", "leased_until"], name="attempt_open"),
            models.Index(fields=["offer", "student"], name="attempt_of"),
        )


class AttemptFile(models.Model):
    """One file of an attempt."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="files")
    name = models.CharField(max_length=255)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="+")
    fault = models.TextField(null=True)  # why the notebook cannot be read; empty: it can; None: unchecked

    class Meta:
        """Names are unique."""

        constraints = (models.UniqueConstraint(fields=["attempt", "name"], name="attempt_file"),)


class StoredRun(models.Model):
    """A run of a grader; without an end it was interrupted."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    rubric_version = models.IntegerField()
    rubric = models.CharField(max_length=64)
    environment = models.CharField(max_length=64)
    isolation = models.CharField(max_length=32)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)


class StoredResult(models.Model):
    """A result, keyed by everything it depends on (`autograder.grading.store.ResultKey`)."""

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
    """False: its notebooks were pruned, because the student has newer results (`Budgets.attempts`)."""

    class Meta:
        """One result per key."""

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
    """The student's result that counts."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    student = models.CharField(max_length=128)
    result = models.ForeignKey(StoredResult, models.PROTECT, related_name="+")

    class Meta:
        """One per student."""

        constraints = (
            models.UniqueConstraint(fields=["course", "assignment", "student"], name="current_result"),
        )


class CellPlace(models.Model):
    """A grade cell of an assignment, from rubric and release."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    notebook = models.CharField(max_length=128)
    cell = models.CharField(max_length=128)

    class Meta:
        """Cells are unique."""

        constraints = (
            models.UniqueConstraint(fields=["course", "assignment", "notebook", "cell"], name="cell_place"),
        )


class CellMark(models.Model):
    """The marks of one student's cell: the automatic one and the one from people."""

    place = models.ForeignKey(CellPlace, models.CASCADE, related_name="marks")
    student = models.CharField(max_length=128)
    automatic = models.CharField(max_length=40, null=True)
    pending = models.BooleanField(default=True)
    """An item waits for manual review."""
    points = models.CharField(max_length=40, null=True)
    extra = models.CharField(max_length=40, default="0")
    again = models.BooleanField(default=False)
    comment = models.TextField(blank=True)
    decided = models.CharField(max_length=40, null=True)
    touched = models.BooleanField(default=False)
    """A person entered something, or removed it again."""
    revision = models.PositiveIntegerField(default=0)
    """Incremented by each change: a save must name the revision that the marker saw."""
    answered = models.BooleanField(default=False)
    """There is an answer that a person may have to read."""
    text = models.TextField(blank=True)
    """Contents of the cell, or of its question's answer cell."""
    equal = models.CharField(max_length=64, blank=True)
    """Shared by equal answers, see `autograder.pages.feedback.answers.MarkedCell`; empty: no equal one."""
    computed = models.CharField(max_length=64, blank=True)
    """Digest of the grading outcome of the whole question: equal for equal outcomes."""
    gathered = models.CharField(max_length=40, blank=True)
    """The group that people put it into; empty: it belongs to the answers equal to it."""
    shuffled = models.CharField(max_length=32, blank=True)
    """Position in the marking order, derived from the course's secret."""
    verdicts = models.JSONField(default=dict)
    """By item of the cell: the points from grading, as text, or None if it needs manual review."""
    items = models.JSONField(default=dict)
    """By item: the points that a person gave, and the item's worth; both as text."""
    remarks = models.JSONField(default=dict)
    """By item: people's remarks on it alone; ``comment`` is about the whole cell."""
    annotations = models.JSONField(default=list)
    """Remarks on lines of ``text``: ``first`` and ``last`` line, counted from 1, and ``text``."""
    worth = models.JSONField(default=dict)
    """By item of the cell: its maximum points as text, by the rubric of the current result."""
    flagged = models.BooleanField(default=False)
    suggested = models.BooleanField(default=False)
    """Keywords in the answer, or equal answers with marks, suggest a mark."""
    stage = models.CharField(max_length=8, blank=True)
    """``second``: another person has to mark it too; ``conflict``: two marks differ; empty: neither."""
    marked_by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    marked_at = models.DateTimeField(null=True)
    assignee = models.ForeignKey(Account, models.SET_NULL, null=True, related_name="+")
    """Who is to mark it (`autograder.service.marking.assignees`); None: everybody."""

    class Meta:
        """One row per student and cell."""

        constraints = (models.UniqueConstraint(fields=["place", "student"], name="cell_mark"),)
        indexes = (
            models.Index(fields=["student"], name="cell_mark_student"),
            models.Index(fields=["place", "shuffled"], name="cell_mark_order"),
            models.Index(fields=["place", "equal"], name="cell_mark_equal"),
        )


class IndependentMark(models.Model):
    """One person's mark of an answer that two people mark (`autograder.service.marking`)."""

    mark = models.ForeignKey(CellMark, models.CASCADE, related_name="readings")
    account = models.ForeignKey(Account, models.PROTECT, related_name="+")
    items = models.JSONField()
    """As `CellMark.items`."""
    comment = models.TextField(blank=True)
    remarks = models.JSONField(default=dict)
    annotations = models.JSONField(default=list)
    """As `CellMark.annotations`."""
    submission = models.CharField(max_length=64, blank=True)
    """Digest of the text that was read."""
    at = models.DateTimeField(auto_now=True)

    class Meta:
        """One per answer and person."""

        constraints = (models.UniqueConstraint(fields=["mark", "account"], name="independent_mark"),)


class MarkingPlan(models.Model):
    """How a cell is marked: the share of its answers that two people mark."""

    place = models.OneToOneField(CellPlace, models.CASCADE, related_name="plan")
    twice_percent = models.PositiveSmallIntegerField(default=0)


class MarkingAction(models.Model):
    """An action of a marker with the state before and after, so that it can be undone."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    account = models.ForeignKey(Account, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    action = models.CharField(max_length=16)
    changes = models.JSONField()
    """A list of answer numbers with their fields before and after."""
    undone_at = models.DateTimeField(null=True)

    class Meta:
        """Queried by account."""

        indexes = (models.Index(fields=["course", "assignment", "account", "-id"], name="marking_action"),)


class Looking(models.Model):
    """A marker who is viewing an answer."""

    mark = models.ForeignKey(CellMark, models.CASCADE, related_name="+")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        """Once per person."""

        constraints = (models.UniqueConstraint(fields=["mark", "account"], name="looking"),)


class ReusableComment(models.Model):
    """A comment that is offered for reuse."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="+")
    assignment = models.CharField(max_length=128)
    cell = models.CharField(max_length=128, blank=True)
    """The cell it is offered for; empty: all of the assignment."""
    text = models.TextField()
    used = models.PositiveIntegerField(default=0)
    by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")

    class Meta:
        """A text is offered once per cell."""

        constraints = (
            # The digest of the text, because PostgreSQL limits the size of an index entry.
            models.UniqueConstraint("course", "assignment", "cell", MD5("text"), name="reusable_comment"),
        )


class RegradeRequest(models.Model):
    """A student's request for another look at one item; one is open at a time."""

    offer = models.ForeignKey(Offer, models.PROTECT, related_name="requests")
    student = models.CharField(max_length=128)
    question = models.CharField(max_length=128)
    item = models.CharField(max_length=128)
    reason = models.TextField()
    made_at = models.DateTimeField(auto_now_add=True)
    points = models.CharField(max_length=40, null=True)
    """The item's points at that time, as text; None: its cell had a mark as a whole."""
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True)
    answered_by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    points_after = models.CharField(max_length=40, null=True)

    class Meta:
        """One open request per item."""

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
    """The version offered when the trial began: a trial against an outdated one cannot be applied."""
    by = models.ForeignKey(Account, models.PROTECT, null=True, related_name="+")
    """None: the server, when it started."""
    made_at = models.DateTimeField(auto_now_add=True)
    settled = models.CharField(max_length=8, blank=True)
    """``applied`` or ``dropped``; empty: the trial is active."""
    settled_at = models.DateTimeField(null=True)


class TrialResult(models.Model):
    """The result of a counting attempt in a trial."""

    trial = models.ForeignKey(VersionTrial, models.CASCADE, related_name="results")
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="+")
    result = models.ForeignKey(StoredResult, models.PROTECT, null=True, related_name="+")
    problem = models.TextField(blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    """End of a worker's lease; None: it is not leased."""
    graded_at = models.DateTimeField(null=True)

    class Meta:
        """One per attempt."""

        constraints = (models.UniqueConstraint(fields=["trial", "attempt"], name="trial_result"),)


class PlatformCourse(models.Model):
    """A course of a learning platform that is linked to a course here (`autograder.service.platforms`)."""

    context = models.OneToOneField("lti_tool.LtiContext", models.CASCADE, related_name="+")
    course = models.ForeignKey(CourseRecord, models.PROTECT, related_name="platforms")
    problem = models.TextField(blank=True)
    """Why the marks could not be sent to the platform the last time; empty: they could."""


class PlatformMember(models.Model):
    """A person of a learning platform who is a member here."""

    user = models.ForeignKey("lti_tool.LtiUser", models.CASCADE, related_name="+")
    member = models.ForeignKey(Member, models.CASCADE, related_name="platforms")

    class Meta:
        """A person of a platform is linked to a member once."""

        constraints = (models.UniqueConstraint(fields=["user", "member"], name="platform_member"),)


class AuditEntry(models.Model):
    """An audited action; the entry includes its predecessor's digest (`autograder.service.audit`)."""

    course = models.ForeignKey(CourseRecord, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField()
    who = models.CharField(max_length=150)
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=300)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)
