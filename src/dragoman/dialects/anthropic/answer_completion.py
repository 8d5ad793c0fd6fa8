"""Members that a whole answer of another vendor in Anthropic's dialect lacks."""

from __future__ import annotations

from dragoman.conversation.literals import quote
from dragoman.dialects.anthropic import ID_PREFIX
from dragoman.dialects.anthropic.message_fields import CALL_FIELDS, LATE_FIELDS
from dragoman.dialects.anthropic.usage import NO_USAGE
from dragoman.dialects.completion import CompleteObject, complete
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.parsing import vendor_id

_BLOCK = CompleteObject(
    kinds={
        "thinking": CompleteObject(added={"signature": b'""'}),
        "tool_use": CompleteObject(added=CALL_FIELDS),
    }
)
_USAGE = CompleteObject(
    added={
        **NO_USAGE,
        "cache_creation_input_tokens": b"null",
        "cache_read_input_tokens": b"null",
        "input_tokens": b"0",
        "output_tokens": b"0",
    }
)


def complete_answer(body: bytes, context: AnswerContext) -> bytes:
    """The answer with the members that Anthropic's types require."""
    added = {
        "id": quote(vendor_id(ID_PREFIX, context.id)),
        "type": b'"message"',
        "role": b'"assistant"',
        "model": quote(context.model),
        "diagnostics": b"null",
        **LATE_FIELDS,
    }
    return complete(body, CompleteObject(added=added, inside={"content": _BLOCK, "usage": _USAGE}))
