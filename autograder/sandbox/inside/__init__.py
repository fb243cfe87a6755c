"""The side of student code: confinement, the zygote, and the code that answers requests in a box."""
