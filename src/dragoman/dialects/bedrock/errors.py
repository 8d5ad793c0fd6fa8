"""Bedrock's errors: those of AWS."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.failures import Failure
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.families.aws_errors import ERROR_TYPE, render_error, render_exception
from dragoman.wire.error_bodies import parse_failure

__all__ = ["ERROR_TYPE", "parse_error", "render_error", "render_exception"]


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """A refusal, or an exception inside a stream (status 200), as a failure."""
    return parse_failure(status, headers, body, NAME)
