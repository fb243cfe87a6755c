"""How many numbers a key-value cache holds."""

from autograder.checking import assert_equal, call, check, mutant, planted, solution

solution("variants_practice.py")

RIGHT = "n_layers * length * (d_model + d_model)"
GPT_2 = {"n_layers": 12, "length": 1024, "d_model": 768}


@check(
    points=2,
    title={
        "en": "How many numbers are kept for one text",
        "de": "Wie viele Zahlen für einen Text aufbewahrt werden",
    },
)
def function(student, reference, draw):
    """Compare the numbers of GPT-2 and of models with hidden sizes."""
    hidden = [
        {
            "n_layers": draw.integers(5, 25),
            "length": draw.integers(40, 200),
            "d_model": draw.integers(384, 1025),
        }
        for _ in range(2)
    ]
    for sizes in (GPT_2, *hidden):
        assert_equal(call(student.cached_numbers, **sizes), reference.cached_numbers(**sizes))


mutant("keys alone", old=RIGHT, new="n_layers * length * d_model", loses=["function"])
mutant("one layer", old=RIGHT, new="2 * length * d_model", loses=["function"])
mutant("all pairs of tokens", old=RIGHT, new="2 * n_layers * length**2 * d_model", loses=["function"])

planted(
    "added up",
    source="""\
def cached_numbers(n_layers, length, d_model):
    return sum(d_model + d_model for _ in range(n_layers * length))
""",
)
