"""Import assignments of nbgrader and otter into rubrics. The notebooks are only read, never run.

=================  =========================================================================================
module             contents =================
========================================================================================= `found`
records of the result, shared by both formats `settings`         nbgrader_config.py, read without running it
`nbgrader`         courses of nbgrader: sources, releases, and the hidden tests kept in the gradebook `otter`
otter's sources or generated autograders, and notebooks as grading needs them `otter_source`     otter's
source notebooks, converted as by ``otter assign`` `otter_tests`      otter's tests in source cells and in
files of a generated autograder `otter_settings`   otter's settings that change the code that runs: seeds and
plugins `modules`          modules that notebooks import `judged`           which tests can be judged outside
the student's sandbox `rubric_text`      the text of the rubric `peers`            marks given by nbgrader and
otter =================
=========================================================================================
"""
