"""What is asked in each dialect, as data: one module has a dialect's questions and the form of its requests."""
