from autograder.checking import check


@check(points=1, title="What follows “the”, as the numbers that were handed in")
def numbers(student, reference, draw):
    assert student.probabilities
