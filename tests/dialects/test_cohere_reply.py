"""Cohere answers: plan, thinking, citations, usage, stops and failures, whole and streamed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.conversation.collect import collect
from dragoman.conversation.events import Cited, Failed, Started, Stopped, TextDelta
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Call, Origin, Reasoning, Text
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.wire.error_bodies import parse_failure

COHERE = dialect("cohere").answers
CALL = {"id": "look_1", "type": "function", "function": {"name": "look", "arguments": "null"}}
USAGE = {
    "billed_units": {"input_tokens": 5, "output_tokens": 2},
    "tokens": {"input_tokens": 505, "output_tokens": 9, "reasoning_tokens": 4},
    "cached_tokens": 100,
}
CONTEXT = AnswerContext(model="m", id="req-1")


def whole(message: dict[str, Any], reason: str = "COMPLETE") -> bytes:
    told = {"id": "a-1", "message": {"role": "assistant", **message}, "finish_reason": reason, "usage": USAGE}
    return orjson.dumps(told)


def read(body: bytes) -> Reply:
    reply = collect(COHERE.parse(body))
    assert isinstance(reply, Reply)
    return reply


def streamed(*events: dict[str, Any], end: bytes = b"data: [DONE]\n\n") -> Reply | Failure:
    frames = [b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event)) for event in events]
    parser = COHERE.stream_parser()
    found = [event for frame in (*frames, end) for event in parser.feed(frame)]
    return collect([*found, *parser.close()])


def delta(kind: str, index: int | None, **message: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place, "delta": {"message": message}}


HEAD = {"type": "message-start", "id": "a-1", "delta": {"message": {"role": "assistant", "content": []}}}
END = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": USAGE}}


def test_a_plan_is_text_and_a_plan_again() -> None:
    body = whole({"tool_plan": "I will look.", "tool_calls": [CALL]}, "TOOL_CALL")
    reply = read(body)
    text, call = reply.choices[0].parts
    assert isinstance(text, Text)
    assert isinstance(call, Call)
    assert (text.text, call.arguments, reply.choices[0].stop) == ("I will look.", b"{}", Stop.CALLS)
    again = orjson.loads(COHERE.render(reply, CONTEXT))
    assert again["message"]["tool_plan"] == "I will look."
    assert "content" not in again["message"]
    events = COHERE.parse(body)
    stream = COHERE.stream_renderer(CONTEXT).render(events)
    assert b"tool-plan-delta" in stream
    assert b"content-start" not in stream
    chat = dialect("openai-chat").answers
    assert orjson.loads(chat.render(reply, CONTEXT))["choices"][0]["message"]["content"] == "I will look."


def test_a_call_without_arguments_has_no_delta() -> None:
    start = {**CALL, "function": {"name": "look", "arguments": ""}}
    events = (
        HEAD,
        delta("tool-plan-delta", None, tool_plan="I will"),
        delta("tool-plan-delta", None, tool_plan=" look."),
        delta("tool-call-start", 0, tool_calls=start),
        {"type": "tool-call-end", "index": 0},
        END,
    )
    assert streamed(*events) == read(whole({"tool_plan": "I will look.", "tool_calls": [CALL]}, "TOOL_CALL"))
    assert streamed(*events, end=b'data: "[DONE]"\n\n') == streamed(*events), "older servers quote the mark"


def test_thinking_comes_first_and_usage_is_what_the_model_saw() -> None:
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]
    reply = read(whole({"content": content}))
    thought, text = reply.choices[0].parts
    assert isinstance(thought, Reasoning)
    assert isinstance(text, Text)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.cached, reply.usage.reasoning) == (505, 9, 100, 4)
    again = orjson.loads(COHERE.render(reply, CONTEXT))
    assert again["message"]["content"] == content
    assert again["usage"] == USAGE


def citation(**source: Any) -> dict[str, Any]:
    document = {"type": "document", "id": "d1", "document": {"id": "d1", **source}}
    return {"start": 0, "end": 4, "text": "Dock", "type": "TEXT_CONTENT", "sources": [document]}


def test_a_citation_that_names_a_page_is_an_annotation_in_chat() -> None:
    cited = citation(url="https://example.com/d", title="Docks")
    reply = read(whole({"content": [{"type": "text", "text": "Dock Seven."}], "citations": [cited]}))
    chat = orjson.loads(dialect("openai-chat").answers.render(reply, CONTEXT))["choices"][0]["message"]
    assert chat["annotations"] == [
        {
            "type": "url_citation",
            "url_citation": {"start_index": 0, "end_index": 4, "url": "https://example.com/d", "title": "Docks"},
        }
    ]
    assert orjson.loads(COHERE.render(reply, CONTEXT))["message"]["citations"] == [cited]


def test_a_page_that_another_provider_cites_is_a_citation() -> None:
    note = b'{"type":"url_citation","url_citation":{"url":"https://e.com","title":"E","start_index":0,"end_index":4}}'
    events = [
        Started("x"),
        TextDelta(0, 0, quote("Dock ")),
        TextDelta(0, 0, quote("Seven.")),
        Cited(0, 0, note, Origin("openai-chat")),
        Stopped(0, Stop.END),
    ]
    stream = COHERE.stream_renderer(CONTEXT).render(events)
    frame = next(line for line in stream.split(b"\n") if b'"citation-start"' in line)
    made = orjson.loads(frame.removeprefix(b"data: "))["delta"]["message"]["citations"]
    assert (made["text"], made["sources"][0]["document"]["url"]) == ("Dock", "https://e.com")


def test_citations_within_a_stream_belong_to_the_text() -> None:
    found = streamed(
        HEAD,
        delta("content-start", 0, content={"type": "text", "text": ""}),
        delta("content-delta", 0, content={"text": "Dock Seven."}),
        delta("citation-start", 0, citations=citation(text="Dock Seven is amber.")),
        {"type": "citation-end", "index": 0},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": USAGE}},
    )
    text = {"content": [{"type": "text", "text": "Dock Seven."}], "citations": [citation(text="Dock Seven is amber.")]}
    assert found == read(whole(text))


@pytest.mark.parametrize(
    ("word", "stop"),
    [("COMPLETE", Stop.END), ("STOP_SEQUENCE", Stop.STOP_SEQUENCE), ("MAX_TOKENS", Stop.LENGTH), ("ERROR", Stop.ERROR)],
)
def test_stops(word: str, stop: Stop) -> None:
    reply = read(whole({"content": [{"type": "text", "text": "So"}]}, word))
    assert reply.choices[0].stop is stop
    assert orjson.loads(COHERE.render(reply, CONTEXT))["finish_reason"] == word


def test_a_failure_at_the_end_of_a_stream() -> None:
    broken = {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "The model broke."}}
    text = delta("content-delta", 0, content={"text": "So"})
    failed = streamed(HEAD, text, broken)
    assert isinstance(failed, Failure)
    assert failed.message == "The model broke."
    cut = streamed(HEAD, text, end=b"")
    assert isinstance(cut, Failure)
    assert cut.kind is FailureKind.BROKEN_STREAM


def test_a_failure_is_told_as_the_last_event() -> None:
    renderer = COHERE.stream_renderer(CONTEXT)
    stream = renderer.render([Started("x"), TextDelta(0, 0, quote("So"))])
    stream += renderer.render([Failed(Failure(FailureKind.SERVER, "It broke."))])
    assert stream.endswith(b"data: [DONE]\n\n")
    assert b'"finish_reason":"ERROR","error":"It broke."' in stream
    assert renderer.close() == b""


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"message":"invalid api token"}', b'{"message":{"content":[1]}}'])
def test_what_is_no_answer_is_a_failure(body: bytes) -> None:
    assert isinstance(collect(COHERE.parse(body)), Failure)


@pytest.mark.parametrize(
    ("status", "sentence", "kind"),
    [
        (401, "invalid api token", FailureKind.AUTH),
        (402, "Please add or update your payment method", FailureKind.QUOTA),
        (404, "model 'x' not found, make sure the correct model ID was used", FailureKind.NOT_FOUND),
        (422, "unknown field: parameter 'index' is not a valid field.", FailureKind.BAD_REQUEST),
        (429, "You are using a Trial key, which is limited to 40 API calls / minute.", FailureKind.RATE_LIMIT),
        (503, "unavailable", FailureKind.OVERLOADED),
    ],
)
def test_errors_keep_their_words(status: int, sentence: str, kind: FailureKind) -> None:
    failure = parse_failure(status, {}, orjson.dumps({"id": "e", "message": sentence}))
    assert (failure.kind, failure.message) == (kind, sentence)
    told, _, body = COHERE.render_error(failure, CONTEXT)
    assert (told, orjson.loads(body)) == (status, {"id": "req-1", "message": sentence})


def test_a_conversation_that_is_too_long_is_told_in_coheres_words() -> None:
    sentence = "too many tokens: size limit exceeded by 7 tokens. Try using shorter or fewer inputs."
    own = parse_failure(400, {}, orjson.dumps({"message": sentence, "error_type": "TOO_MANY_TOKENS"}))
    assert own.kind is FailureKind.CONTEXT_LENGTH
    other = Failure(FailureKind.CONTEXT_LENGTH, "prompt is too long", 400, tokens=210, limit=200)
    status, _, body = COHERE.render_error(other, CONTEXT)
    told = orjson.loads(body)
    assert (status, told["error_type"]) == (400, "TOO_MANY_TOKENS")
    assert told["message"].startswith("too many tokens: size limit exceeded by 10 tokens.")


def test_no_more_is_cached_than_was_sent() -> None:
    """Some providers report more cached tokens than input."""
    reply = Reply("x", usage=Usage(input=10, output=213, cached=161))
    assert orjson.loads(COHERE.render(reply, CONTEXT))["usage"]["cached_tokens"] == 10


def test_usage_of_another_provider_is_billed_as_it_is() -> None:
    reply = Reply("x", usage=Usage(input=7, output=3))
    assert orjson.loads(COHERE.render(reply, CONTEXT))["usage"] == {
        "billed_units": {"input_tokens": 7, "output_tokens": 3},
        "tokens": {"input_tokens": 7, "output_tokens": 3},
        "cached_tokens": 0,
    }


def test_log_probabilities_both_ways() -> None:
    told = orjson.loads(whole({"content": [{"type": "text", "text": "So"}]}))
    told["logprobs"] = [{"text": "So", "token_ids": [3], "logprobs": [-0.5]}]
    reply = read(orjson.dumps(told))
    chat = orjson.loads(dialect("openai-chat").answers.render(reply, CONTEXT))["choices"][0]["logprobs"]["content"]
    assert (chat[0]["token"], chat[0]["logprob"]) == ("So", -0.5)
    again = orjson.loads(COHERE.render(reply, CONTEXT))["logprobs"]
    assert again == [{"text": "So", "token_ids": [], "logprobs": [-0.5]}]
