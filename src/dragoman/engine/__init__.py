"""Decisions about a request and its answer, without I/O."""
