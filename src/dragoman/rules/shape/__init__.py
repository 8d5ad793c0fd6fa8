"""Rules about the form of turns, and about what may stand side by side."""
