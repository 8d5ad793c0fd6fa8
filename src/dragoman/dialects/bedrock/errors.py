"""Bedrock's errors: those of AWS."""

from __future__ import annotations

from dragoman.dialects.families.aws_errors import ERROR_TYPE, render_error, render_exception

__all__ = ["ERROR_TYPE", "render_error", "render_exception"]
