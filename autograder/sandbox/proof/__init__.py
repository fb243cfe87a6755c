"""The proof that the sandbox holds on this machine, made before student code runs."""
