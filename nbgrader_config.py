"""Makes this folder a course of nbgrader's, and keeps nbgrader from grading it."""

from nbconvert.exporters import NotebookExporter
from nbgrader.converters.base import NbGraderException

c = get_config()  # noqa: F821 - nbgrader puts this name here

# Without this, formgrader lists no assignment.
c.CourseDirectory.source_directory = "assignments"


class Refused(NotebookExporter):
    """What autograde makes before it does anything else: so nothing is run, and nothing is written."""

    def __init__(self, parent, **_options):
        folders = parent.coursedir
        student = "" if folders.student_id == "*" else f" --student {folders.student_id}"
        sentence = (
            "nbgrader's autograde is switched off in this course: it would run student code without a "
            "sandbox and replace automatic scores by 0. Nothing was run or changed. Grade with this command, "
            f"in the folder of the course: autograder grade {folders.assignment_id}{student}"
        )
        parent.log.error(sentence)
        raise NbGraderException(sentence)


# Asked by `nbgrader autograde` and by the button of formgrader.
c.Autograde.exporter_class = Refused
c.CourseDirectory.course_id = "autograder"
