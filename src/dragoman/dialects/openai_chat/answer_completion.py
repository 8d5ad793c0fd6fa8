"""Members that a whole Chat answer of another vendor lacks."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote
from dragoman.dialects.completion import CompleteObject, complete
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat import ID_PREFIX
from dragoman.dialects.openai_chat.filter_marks import IN_ANSWER, IN_CHOICE
from dragoman.dialects.parsing import vendor_id
from dragoman.dialects.raw_json import ABSENT, UNREADABLE

_CALL = CompleteObject(added={"type": b'"function"'})
_MESSAGE = CompleteObject(
    added={"role": b'"assistant"', "content": b"null", "refusal": b"null"},
    never_null=frozenset({"annotations", "tool_calls"}),
    inside={"tool_calls": _CALL},
)
_LOGPROBS = CompleteObject(added={"content": b"null", "refusal": b"null"})
_CHOICE = CompleteObject(
    added={"logprobs": b"null"}, never=IN_CHOICE, inside={"message": _MESSAGE, "logprobs": _LOGPROBS}
)
_MARK = b"_filter_results"


class _WholeCall(msgspec.Struct, gc=False):
    type: Raw


class _WholeMessage(msgspec.Struct, gc=False):
    role: Raw
    content: Raw
    refusal: Raw
    tool_calls: list[_WholeCall] = []
    annotations: Raw = ABSENT


class _WholeLogprobs(msgspec.Struct, gc=False):
    content: Raw
    refusal: Raw


class _WholeChoice(msgspec.Struct, gc=False):
    message: _WholeMessage
    logprobs: _WholeLogprobs | None


class _WholeAnswer(msgspec.Struct, gc=False):
    id: Raw
    object: Raw
    created: Raw
    model: Raw
    choices: list[_WholeChoice]


_decode_whole = msgspec.json.Decoder(_WholeAnswer).decode


def complete_answer(body: bytes, context: AnswerContext) -> bytes:
    """The answer with the members that OpenAI's types require, and without a null that they do not allow."""
    if _is_whole(body):
        return body
    head = {
        "id": quote(vendor_id(ID_PREFIX, context.id)),
        "object": b'"chat.completion"',
        "created": b"%d" % context.created,
        "model": quote(context.model),
    }
    return complete(body, CompleteObject(added=head, never=IN_ANSWER, inside={"choices": _CHOICE}))


def _is_whole(body: bytes) -> bool:
    """A quick look: most answers of most vendors need nothing."""
    if _MARK in body:
        return False
    try:
        answer = _decode_whole(body)
    except UNREADABLE:
        return False
    return all(bytes(choice.message.annotations) != b"null" for choice in answer.choices)
