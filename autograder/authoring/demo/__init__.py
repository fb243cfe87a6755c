"""Demo class: invented students who answer the shipped assignments in many ways."""

from __future__ import annotations

from autograder.authoring.demo.students import EXAM, GPT2, SUBJECTS, DemoStudent, Subject, write_class

__all__ = ["EXAM", "GPT2", "SUBJECTS", "DemoStudent", "Subject", "write_class"]
