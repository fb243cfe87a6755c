"""What runs on the side of student code: confinement, the zygote, and what answers in a box."""
