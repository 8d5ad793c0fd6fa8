"""Refusals in the words of OpenAI's Responses."""

from __future__ import annotations

from dataclasses import replace

from dragoman.emulators.chat.openai.request_types import mismatch_refusal
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.request_shape import MismatchKind, Path, Shape, ShapeMismatch


class ResponsesRefusal(ChatRefusal):
    """The first error of a request."""

    def __init__(
        self,
        message: str,
        param: str | None = None,
        code: str | int | None = None,
        status: int = 400,
        kind: str = "invalid_request_error",
    ) -> None:
        super().__init__(status, message, kind, param, code)


def check_shape(shape: Shape, value: object, path: Path) -> None:
    """Refuse what does not fit, as Chat does; a wrong type of an item is told of the item."""
    try:
        shape(value, path)
    except ShapeMismatch as mismatch:
        is_tag = mismatch.kind is MismatchKind.TAG
        raise mismatch_refusal(replace(mismatch, path=mismatch.path[:-1]) if is_tag else mismatch) from None
