"""Assignments of nbgrader and otter as they are: what they ask, read for a rubric. Nothing of them is run.

==============  ============================================================================================
module          what
==============  ============================================================================================
`found`         what was found, as records that both formats share
`settings`      nbgrader_config.py read without running it
`nbgrader`      a course of nbgrader's: sources, releases, hidden tests kept in its gradebook
`otter`         otter's sources, what it generated from them, and its tests; notebooks as grading wants them
`rubric_text`   the rubric's text
`asked`         what a test asks of an answer, read from its text; with `stated`, the values in it
`stronger`      questions of other kinds that ask the same and more; `key_module`, what they compare with
`mutants`       mistakes planted in an answer key
==============  ============================================================================================
"""
