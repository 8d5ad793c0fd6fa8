"""Tokens that a provider does not report, as a client of another dialect is told them."""

from __future__ import annotations

import pytest

from dragoman import adapt
from dragoman.conversation.collect import collect
from dragoman.conversation.replies import Reply
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation, translation_of
from dragoman.engine.tokens.token_estimate import estimate_request

CLIENTS = [one.name for one in registry.list_dialects() if one.name != "openai-chat"]
SAID = "It rains in Berlin, and it will rain tomorrow."
FRAMES = (
    '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    f'{{"role":"assistant","content":"{SAID}"}},"finish_reason":null}}]}}',
    '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},'
    '"finish_reason":"stop"}]}',
    "[DONE]",
)
STREAM = "".join(f"data: {frame}\n\n" for frame in FRAMES).encode()
WHOLE = (
    '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    f'{{"role":"assistant","content":"{SAID}"}},"finish_reason":"stop"}}]}}'
).encode()


def translation(client: str) -> tuple[Translation, int]:
    """An answer from a compatible server to this client, and the estimate of its prompt."""
    asked = adapt({"messages": [{"role": "user", "content": "Weather? " * 20}]}, target=f"{client}/m")
    adapted = adapt(asked.json, target="openai-compatible/m", source=client)
    tokens = estimate_request(adapted.ask.conversation, "m")
    return translation_of(adapted, AnswerContext(model="m", id="r", include_usage=True)), tokens


def usage_of(reply: object) -> tuple[int, int]:
    assert isinstance(reply, Reply)
    assert reply.usage is not None
    return reply.usage.input, reply.usage.output


@pytest.mark.parametrize("client", CLIENTS)
def test_D6_a_stream_without_usage_shows_the_estimate(client: str) -> None:
    back, tokens = translation(client)
    sent = back.feed(STREAM) + back.close()
    parser = registry.dialect(client).answers.stream_parser(None)
    assert usage_of(collect([*parser.feed(sent), *parser.close()])) == (tokens, back.output_tokens()[0])
    assert back.output_tokens()[1]
    assert back.usage is None  # what is booked is still marked as estimated


@pytest.mark.parametrize("client", CLIENTS)
def test_D6_a_whole_answer_without_usage_shows_the_estimate(client: str) -> None:
    back, tokens = translation(client)
    reply = collect(registry.dialect(client).answers.parse(back.whole(WHOLE)))
    assert usage_of(reply) == (tokens, back.output_tokens()[0])


def test_D6_what_the_provider_reports_stays() -> None:
    back, _ = translation("anthropic")
    used = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":9,"total_tokens":16}}\n\n'
    sent = back.feed(STREAM.replace(b"data: [DONE]", used + b"data: [DONE]")) + back.close()
    parser = registry.dialect("anthropic").answers.stream_parser(None)
    assert usage_of(collect([*parser.feed(sent), *parser.close()])) == (7, 9)


def test_what_the_provider_reported_of_a_stream_that_broke_off_is_booked() -> None:
    adapted = adapt({"messages": [{"role": "user", "content": "Hi"}]}, target="gemini/gemini-2.5-flash")
    back = translation_of(adapted, AnswerContext(model="m", id="r"))
    counted = '{"promptTokenCount":900,"candidatesTokenCount":2,"totalTokenCount":902,"cachedContentTokenCount":600}'
    said = f'{{"candidates":[{{"content":{{"parts":[{{"text":"{SAID}"}}]}}}}],"usageMetadata":{counted}}}'
    assert SAID.encode() in back.feed(f"data: {said}\r\n\r\n".encode())
    output, is_estimated = back.output_tokens()
    assert is_estimated
    assert output > 2
    assert back.usage is not None
    assert (back.usage.input, back.usage.cached) == (900, 600)
