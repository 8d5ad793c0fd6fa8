"""Rules about reasoning that is sent back."""
