"""Members that a whole response of another vendor lacks."""

from __future__ import annotations

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.completion import CompleteObject, complete
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_responses import ID_PREFIX
from dragoman.dialects.openai_responses.response_members import DEFAULTS, repeated_members
from dragoman.dialects.parsing import vendor_id
from dragoman.dialects.raw_json import UNREADABLE, decode_members

FILTER_MARKS = frozenset({"content_filters"})
"""What Azure's content filter found."""
_COMPLETED = b'"completed"'
_STATUS = {"status": _COMPLETED}
_PART = CompleteObject(kinds={"output_text": CompleteObject(added={"annotations": b"[]", "logprobs": b"[]"})})
_ITEM = CompleteObject(
    kinds={
        "message": CompleteObject(added={"role": b'"assistant"', **_STATUS}, inside={"content": _PART}),
        "function_call": CompleteObject(added=_STATUS),
        "reasoning": CompleteObject(added={"summary": b"[]"}),
    }
)
_TOOL = CompleteObject(
    kinds={"function": CompleteObject(added={"description": b"null", "parameters": b"null", "strict": b"null"})}
)
_INPUT = {"cache_write_tokens": b"0", "cached_tokens": b"0"}
_OUTPUT = {"reasoning_tokens": b"0"}
_USAGE = CompleteObject(
    added={
        "input_tokens_details": b'{"cache_write_tokens":0,"cached_tokens":0}',
        "output_tokens_details": b'{"reasoning_tokens":0}',
    },
    inside={
        "input_tokens_details": CompleteObject(added=_INPUT),
        "output_tokens_details": CompleteObject(added=_OUTPUT),
    },
)
_REASONING = CompleteObject(added={"effort": b"null", "summary": b"null"})
_TEXT = CompleteObject(added={"format": b'{"type":"text"}'})


def _completed_at(body: bytes, context: AnswerContext) -> Json:
    """Now, for a completed answer that does not say when it was. Without a clock, when it was begun."""
    try:
        members = decode_members(body) if b'"completed_at"' not in body else {}
    except UNREADABLE:
        return b"null"
    if not members or bytes(members.get("status", _COMPLETED)) != _COMPLETED:
        return b"null"
    created = bytes(members.get("created_at", b"%d" % context.created))
    return created if context.clock is None else b"%d" % context.clock()


def complete_answer(body: bytes, context: AnswerContext) -> bytes:
    """The response with the members that OpenAI's types and Open Responses require."""
    added = {
        "id": quote(vendor_id(ID_PREFIX, context.id)),
        "object": b'"response"',
        "created_at": b"%d" % context.created,
        "model": quote(context.model),
        **_STATUS,
        "error": b"null",
        "incomplete_details": b"null",
        "usage": b"null",
        **DEFAULTS,
        **repeated_members(context.request),
        "completed_at": _completed_at(body, context),
    }
    inside = {"output": _ITEM, "tools": _TOOL, "usage": _USAGE, "reasoning": _REASONING, "text": _TEXT}
    return complete(body, CompleteObject(added=added, never=FILTER_MARKS, inside=inside))
