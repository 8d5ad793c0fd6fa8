"""A whole Cohere answer from our reply."""

from __future__ import annotations

from dragoman.conversation.collect import text_of_arguments
from dragoman.conversation.literals import EMPTY, joined, quote
from dragoman.conversation.parts import (
    Call,
    Citation,
    Inline,
    Json,
    Media,
    Part,
    Reasoning,
    Refusal,
    Remote,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Stop
from dragoman.dialects.cohere import NAME
from dragoman.dialects.cohere.citations import CitedText, render_citation
from dragoman.dialects.cohere.logprobs import render_logprobs
from dragoman.dialects.cohere.media_links import media_link
from dragoman.dialects.cohere.stop_reasons import render_stop
from dragoman.dialects.cohere.usage import render_usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ownership import own_fields
from dragoman.wire.json_reader import render_list, render_object


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one object. This dialect has one choice: the first."""
    choice = reply.choices[0] if reply.choices else Choice(())
    body: dict[str, Json] = {
        "id": quote(reply.id or context.id),
        "message": _message(choice),
        "finish_reason": quote(render_stop(choice.stop or Stop.END, choice.word)),
        "usage": render_usage(reply.usage),
    }
    logprobs = render_logprobs(choice.logprobs) if choice.logprobs is not None else None
    if logprobs is not None:
        body["logprobs"] = logprobs
    return render_object({**body, **own_fields(reply.extras, NAME)})


def _message(choice: Choice) -> Json:
    content: list[Json] = []
    plans: list[Json] = []
    calls: list[Json] = []
    citations: list[Json] = []
    text = CitedText()
    for part in choice.parts:
        if isinstance(part, Call):
            calls.append(_call(part))
        elif isinstance(part, Citation):
            cited = render_citation(part.json, part.origin, text, max(len(content) - 1, 0))
            citations += [cited] if cited is not None else []
        elif is_plan(part):
            plans.append(_text(part))
        else:
            text = CitedText()
            text.add(_text(part))
            content += _block(part)
    message: dict[str, Json] = {"role": b'"assistant"'}
    if content or not (calls or plans):
        message["content"] = render_list(content)
    if plans:
        message["tool_plan"] = joined("", plans)
    if calls:
        message["tool_calls"] = render_list(calls)
    if citations:
        message["citations"] = render_list(citations)
    return render_object(message)


def is_plan(part: Part) -> bool:
    """Whether a text is Cohere's plan before its calls."""
    return type(part) is Text and "tool_plan" in own_fields(part.extras, NAME)


def _text(part: Part) -> Json:
    return part.literal if isinstance(part, (Text, Refusal)) else EMPTY


def _call(call: Call) -> Json:
    function = render_object({"name": quote(call.name), "arguments": text_of_arguments(call)})
    return render_object({"id": quote(call.id), "type": b'"function"', "function": function})


def _block(part: Part) -> list[Json]:
    """A part as content. Opaque state has no place in this dialect; the store keeps it."""
    if isinstance(part, Reasoning):
        return [b'{"type":"thinking","thinking":' + part.text.literal + b"}"] if part.text is not None else []
    literal = _media(part) if isinstance(part, Media) else _text(part)
    return [b'{"type":"text","text":' + literal + b"}"] if literal != EMPTY else []


def _media(part: Media) -> Json:
    source = part.source
    url = source.url if isinstance(source, Remote) else ""
    content = source.data if isinstance(source, Inline) else EMPTY
    media_type = source.media_type if isinstance(source, (Inline, Remote)) else ""
    words = [part.transcript] if part.transcript not in (None, EMPTY) else []
    return joined("\n\n", [*media_link(part.kind, media_type, content, url), *[word for word in words if word]])
