"""Rules about the order and the shape of turns."""
