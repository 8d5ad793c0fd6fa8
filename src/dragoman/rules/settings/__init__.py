"""Rules about settings."""
