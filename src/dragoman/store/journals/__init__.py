"""Logs in files: exchanges, refusals, and the redaction of both."""
