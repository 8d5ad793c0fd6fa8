"""Bodies that are no stream, or no answer, in place of one: what can be read is, and what cannot is named."""

from __future__ import annotations

import pytest
from tests.by_dialect import TEXT_DIALECTS
from tests.sdk_readers import Loopback

from dragoman.conversation.collect import collect
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.events import Ended, Event, Started, Stopped, TextDelta, Used
from dragoman.conversation.failures import FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation

ANSWERING = AnswerContext(model="m", created=1_700_000_000, id="resp_1", include_usage=True)
EVENTS: list[Event] = [
    Started("resp_1", "m", 1_700_000_000),
    TextDelta(0, 0, quote("All of it. " * 10_000)),
    Stopped(0, Stop.END),
    Used(Usage(5, 20)),
    Ended(),
]
BOM = b"\xef\xbb\xbf"
PAGE = b"<!doctype html>\n<html><head><title>Please log in</title></head>\n\n" + b"<p>Use your card.</p>\n" * 500


def _whole(dialect: str) -> bytes:
    reply = collect(EVENTS)
    assert isinstance(reply, Reply)
    return registry.dialect(dialect).answers.render(reply, ANSWERING)


def _stream(translation: Translation, body: bytes, size: int) -> bytes:
    fed = [translation.feed(body[at : at + size]) for at in range(0, len(body), size)]
    return b"".join(fed) + translation.close()


@pytest.mark.parametrize("mark", [b"", BOM])
@pytest.mark.parametrize("size", [1000, 1 << 20])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_E4_a_whole_answer_to_a_stream_reaches_the_sdk_as_a_stream(
    dialect: str, size: int, mark: bytes, sdks: Loopback
) -> None:
    translation = Translation(dialect, dialect, context=ANSWERING)
    seen = sdks.read(dialect, _stream(translation, mark + _whole(dialect), size), stream=True)
    assert seen == sdks.read(dialect, _whole(dialect), stream=False)
    assert seen.text.endswith("All of it. ")
    assert translation.ended


@pytest.mark.parametrize("client", ["openai-chat", "anthropic"])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_byte_order_mark_before_a_whole_answer_is_no_part_of_it(dialect: str, client: str) -> None:
    wholes = [Translation(dialect, client, context=ANSWERING).whole(mark + _whole(dialect)) for mark in (b"", BOM)]
    assert wholes[0] == wholes[1]
    assert b"All of it." in wholes[0]


UNREADABLE = {
    "a page": (PAGE, "The provider answered with a page for browsers (Please log in"),
    "a text": (b"no such model", 'The provider\'s answer cannot be read: "no such model"'),
}


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("client", ["same", "anthropic", "openai-chat"])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named_and_a_fault_of_the_provider(
    name: str, dialect: str, client: str, streamed: bool
) -> None:
    body, words = UNREADABLE[name]
    translation = Translation(dialect, dialect if client == "same" else client, context=ANSWERING)
    out = _stream(translation, body, 1000) if streamed else translation.whole(body)
    assert translation.failure is not None
    assert (translation.failure.kind, translation.failure.status) == (FailureKind.BROKEN_STREAM, 502)
    assert translation.failure.message.startswith(words)
    assert PAGE[:40] not in out


@pytest.mark.parametrize("body", [b'{"foo": 1}', b'{"half": '])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_json_that_is_no_answer_is_a_fault_of_the_provider(dialect: str, streamed: bool, body: bytes) -> None:
    if (dialect, streamed) == ("bedrock", True):
        pytest.skip("its streams are binary")
    translation = Translation(dialect, "openai-chat", context=ANSWERING)
    _stream(translation, body, 1000) if streamed else translation.whole(body)
    assert translation.failure is not None
    assert translation.failure.kind is FailureKind.BROKEN_STREAM


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_an_error_that_such_a_body_tells_is_told(dialect: str, streamed: bool) -> None:
    translation = Translation(dialect, "openai-chat", context=ANSWERING)
    body = b'{"error": {"message": "the model is loading"}}'
    _stream(translation, body, 1000) if streamed else translation.whole(body)
    assert translation.failure is not None
    assert translation.failure.message == "the model is loading"


def test_a_list_of_chunks_in_place_of_a_whole_answer_is_read_whole(sdks: Loopback) -> None:
    """Gemini streams a list unless events are asked for."""
    renderer = registry.dialect("gemini").answers.stream_renderer(ANSWERING)
    chunks = (renderer.render(EVENTS) + renderer.close()).split(b"data: ")[1:]
    body = b"[" + b",".join([chunk.strip() for chunk in chunks]) + b"]"
    seen = sdks.read("gemini", Translation("gemini", "gemini", context=ANSWERING).whole(body), stream=False)
    assert seen.text.endswith("All of it. ")


STRAY_ERRORS = {
    "openai-chat": b'error: {"code":500,"message":"Boom happened","type":"server_error"}\n\n',
    "gemini": b'[{"error":{"code":503,"message":"Boom happened","status":"UNAVAILABLE"}}]',
}


@pytest.mark.parametrize("dialect", STRAY_ERRORS)
def test_an_error_outside_of_any_event_reaches_the_client_of_a_relayed_stream(dialect: str, sdks: Loopback) -> None:
    renderer = registry.dialect(dialect).answers.stream_renderer(ANSWERING)
    translation = Translation(dialect, dialect, context=ANSWERING)
    out = _stream(translation, renderer.render(EVENTS[:2]) + STRAY_ERRORS[dialect], 1 << 20)
    assert translation.failure is not None
    assert translation.failure.message == "Boom happened"
    with pytest.raises(Exception, match="Boom happened"):
        sdks.read(dialect, out, stream=True)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("client", ["same", "anthropic", "openai-chat"])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_a_stream_in_place_of_a_whole_answer_is_read_whole(
    dialect: str, client: str, end: bytes, sdks: Loopback
) -> None:
    """Some servers stream whatever is asked of them, as Ollama does unless it is told not to."""
    client = dialect if client == "same" else client
    renderer = registry.dialect(dialect).answers.stream_renderer(ANSWERING)
    body = (renderer.render(EVENTS) + renderer.close()).replace(b"\n", end)
    translation = Translation(dialect, client, context=ANSWERING)
    seen = sdks.read(client, translation.whole(body), stream=False)
    expected = sdks.read(client, Translation(dialect, client, context=ANSWERING).whole(_whole(dialect)), stream=False)
    assert (seen.text, seen.stop, seen.usage) == (expected.text, expected.stop, expected.usage)
    assert (translation.failure, translation.ended) == (None, True)
