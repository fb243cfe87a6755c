from autograder.checking import check


@check(points=3, title="One step of the network")
def value(student, reference, draw):
    assert student.step
