"""Conversations as text that people write: script notation, and plain JSON for what it has no word for."""
