"""The checks named on the page of the kind `faults`."""

from autograder.checking import assert_close, fault, solution

solution(
    source="""
def mean(numbers):
    numbers = [number for number in numbers if number is not None]
    return sum(numbers) / len(numbers)
"""
)


@fault("if number is not None", "if number", points=2, title={"en": "Zeros count"})
def zeros(student, reference, draw):
    assert student.mean([0, 8]) != student.mean([8])


@fault("/ len(numbers)", "/ (len(numbers) + 1)", points=1, title={"en": "The divisor is right"})
def divisor(student, reference, draw):
    assert_close(student.mean([2.0, 2.0]), 2.0)
