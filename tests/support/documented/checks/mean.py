"""The checks of the example in the rubric reference."""

from autograder.checking import assert_close, check, solution

solution(source="def mean(numbers):\n    return sum(numbers) / len(numbers)\n")


@check(points=3, title="The mean is right")
def mean(student, reference, draw):
    numbers = draw.normal(5).tolist()
    assert_close(student.mean(numbers), reference.mean(numbers))
