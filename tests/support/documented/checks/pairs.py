from autograder.checking import check


@check(points=2, title="How often one word follows another in the corpus")
def number(student, reference, draw):
    assert student.pairs
