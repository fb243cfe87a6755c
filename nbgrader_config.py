"""Makes this repository an nbgrader course: its sources lie in assignments/, beside the rubrics."""

c = get_config()  # noqa: F821 - nbgrader puts this name here

c.CourseDirectory.course_id = "autograder"
c.CourseDirectory.source_directory = "assignments"
