"""Chat answers of servers that speak the dialect in their own way (X11)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.openai_answers import folded, parsed, rendered, sse

from dragoman.conversation.changes import Undo
from dragoman.conversation.events import CallStarted, Ended, Event, Failed, Signed, Started, Stopped, TextDelta
from dragoman.conversation.failures import FailureKind
from dragoman.conversation.parts import Opaque, Origin, Reasoning, Text
from dragoman.conversation.replies import Stop
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat.answer_parse import parse_answer, peek_usage
from dragoman.dialects.openai_chat.answer_render import render_answer
from dragoman.dialects.openai_chat.dialect import DIALECT
from dragoman.engine.answer.translation import Translation
from dragoman.engine.library.adapt import adapt

CODEC = DIALECT.answers

BEGUN = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
STOPPED = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"error": {"message": "Down", "code": 503}}, FailureKind.OVERLOADED),
        ({"error": "Down"}, FailureKind.SERVER),
        ([{"error": {"message": "Down", "code": 429}}], FailureKind.RATE_LIMIT),
        ({"object": "error", "message": "Down", "type": "BadRequestError", "code": 400}, FailureKind.BAD_REQUEST),
        ({"type": "error", "message": "Down", "code": "server_error"}, FailureKind.SERVER),
        ({"message": "Down"}, FailureKind.SERVER),
        ({"detail": "Down"}, FailureKind.SERVER),
        ({"errors": [{"message": "Down"}]}, FailureKind.SERVER),
    ],
)
def test_an_error_of_any_form_ends_the_stream_though_its_end_marker_follows(error: Any, kind: FailureKind) -> None:
    failed = parsed(CODEC, sse(BEGUN, error, b"[DONE]"))[-1]
    assert isinstance(failed, Failed)
    assert (failed.failure.message, failed.failure.kind) == ("Down", kind)


@pytest.mark.parametrize("chunk", [{}, {"id": "c", "object": "chat.completion.chunk"}, {"usage": {"prompt_tokens": 1}}])
def test_a_chunk_that_says_nothing_is_no_error(chunk: dict[str, Any]) -> None:
    assert isinstance(parsed(CODEC, sse(BEGUN, chunk, STOPPED, b"[DONE]"))[-1], Ended)


def test_the_plain_text_of_old_completions_is_an_answer() -> None:
    body = {"id": "c", "object": "text_completion", "choices": [{"index": 0, "text": "Hi", "finish_reason": "length"}]}
    for events in (parse_answer(orjson.dumps(body)), parsed(CODEC, sse(body, b"[DONE]"))):
        (choice,) = folded(events).choices
        assert (choice.parts, choice.stop) == ((Text(literal=b'"Hi"'),), Stop.LENGTH)


def test_state_of_several_texts_is_told_in_a_stream_and_whole() -> None:
    """A message has one place for it; what is more is told with the thoughts."""
    states = [
        Opaque(kind="thought_signature", json=b'"%b"' % name, origin=Origin("gemini")) for name in (b"AAAA", b"BBBB")
    ]
    events: list[Event] = [Started("c", "m")]
    for part, state in enumerate(states):
        events += [TextDelta(0, part, b'"Hi"'), Signed(0, part, state)]
    events += [Stopped(0, Stop.END), Ended()]
    for again in (
        parsed(CODEC, rendered(CODEC, events)),
        parse_answer(render_answer(folded(events), AnswerContext())),
    ):
        parts = folded(again).choices[0].parts
        held = [part.state if isinstance(part, Reasoning) else part.signature for part in parts]  # type: ignore[attr-defined]
        assert {state.json for state in held if state} == {b'"AAAA"', b'"BBBB"'}


def test_a_plain_body_in_place_of_a_stream_may_be_spread_over_lines() -> None:
    call = {"id": "t", "function": {"name": "f", "arguments": "{}"}}
    body = {"id": "c", "choices": [{"index": 0, "message": {"tool_calls": [call]}, "extra": {"a": [1]}}]}
    events = parsed(CODEC, orjson.dumps(body, option=orjson.OPT_INDENT_2))
    assert [event.name for event in events if isinstance(event, CallStarted)] == ["f"]
    assert all(frame.count(b"\n") == 0 for frame in rendered(CODEC, events).split(b"\n\n"))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", Stop.END),
        ("STOP", Stop.END),
        ("eos", Stop.END),
        ("something_new", Stop.END),
        ("MAX_TOKENS", Stop.LENGTH),
        ("model_context_window_exceeded", Stop.CONTEXT),
        ("sensitive", Stop.FILTER),
        ("SAFETY", Stop.FILTER),
    ],
)
def test_words_for_the_end_that_only_some_servers_use(said: str, reason: Stop) -> None:
    body = {"id": "c", "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": said}]}
    assert folded(parse_answer(orjson.dumps(body))).choices[0].stop is reason


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"finish_reason": "insufficient_system_resource"}, "The provider stopped with insufficient_system_resource."),
        ({"finish_reason": "network_error"}, "The provider stopped with network_error."),
        ({"finish_reason": "error", "error": {"code": 502, "message": "Upstream died"}}, "Upstream died"),
        ({"finish_reason": "error"}, "The provider stopped with an error and gave no reason."),
    ],
)
def test_a_choice_that_broke_off_is_a_failure(choice: dict[str, Any], says: str) -> None:
    whole = orjson.dumps({"id": "c", "choices": [{"index": 0, "message": {"content": "Hi"}, **choice}]})
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, **choice}]}
    for events in (parse_answer(whole), parsed(CODEC, sse(chunk, b"[DONE]"))):
        failed = events[-1]
        assert isinstance(failed, Failed)
        assert failed.failure.message == says
    assert peek_usage(whole) is None


@pytest.mark.parametrize(("content", "fails"), [("", True), (None, True), ("Hi", False)])
def test_a_broken_connection_that_is_called_a_stop_is_a_failure(content: str | None, fails: bool) -> None:
    choice = {"index": 0, "finish_reason": "stop", "native_finish_reason": "network_error"}
    whole = orjson.dumps({"id": "c", "choices": [{**choice, "message": {"content": content}}]})
    stream = sse({"id": "c", "choices": [{**choice, "delta": {"role": "assistant", "content": content}}]}, b"[DONE]")
    for events in (parse_answer(whole), parsed(CODEC, stream)):
        assert isinstance(events[-1], Failed) is fails
    assert peek_usage(whole) is None
    fine = parse_answer(whole.replace(b'"network_error"', b'"STOP"'))
    assert not isinstance(fine[-1], Failed)


GRAMMAR = {"syntax": "lark", "definition": "start: /a+/"}


def test_the_grammar_of_a_custom_tool_has_each_dialects_nesting() -> None:
    nested = {"type": "custom", "custom": {"name": "q", "format": {"type": "grammar", "grammar": GRAMMAR}}}
    flat = {"type": "custom", "name": "q", "format": {"type": "grammar", **GRAMMAR}}
    chat = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}], "tools": [nested]}
    responses = {"model": "gpt-5", "input": "Hi", "tools": [flat]}
    assert adapt(chat, source="openai-chat", target="openai-responses/gpt-5").json["tools"] == [flat]
    assert adapt(responses, source="openai-responses", target="openai/gpt-5").json["tools"] == [nested]
    assert adapt(chat, source="openai-chat", target="openai/gpt-5").json == chat


@pytest.mark.parametrize("client", ["openai-responses", "anthropic"])
def test_of_several_choices_the_first_is_shown_though_another_one_speaks_first(client: str) -> None:
    def choice(index: int, content: str, finish: str | None = None) -> dict[str, Any]:
        delta = {"role": "assistant", "content": content}
        return {"id": "c", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}

    chunks = [choice(0, ""), choice(1, "No"), choice(0, "Yes"), choice(1, "", "stop"), choice(0, "", "stop")]
    told = Translation("openai-chat", client, Undo(), AnswerContext(model="m", id="r"))
    shown = told.feed(sse(*chunks, b"[DONE]")) + told.close()
    assert b'"Yes"' in shown
    assert b'"No"' not in shown


def _call(said: str, index: int | None = 0, **more: Any) -> dict[str, Any]:
    call = {"index": index, "function": {"arguments": said}, **more}
    return {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def _named(name: str, said: str, index: int | None = 0, **more: Any) -> dict[str, Any]:
    return _call(said, index, **{"function": {"name": name, "arguments": said}, **more})


A, B = '{"a": 1}', '{"a": 2}'


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ((_named("f", A), _named("f", B)), [("f", A), ("f", B)]),
        ((_named("f", A, None), _named("f", B, None)), [("f", A), ("f", B)]),
        ((_named("f", A, id="c1"), _named("f", B, id="c1")), [("f", A), ("f", B)]),
        ((_named("f", A), _named("g", B)), [("f", A), ("g", B)]),
        ((_named("f", ""), _named("g", "")), [("f", "{}"), ("g", "{}")]),
        ((_named("f", '{"a":'), _named("f", " 1}"), _named("f", B)), [("f", '{"a": 1}'), ("f", B)]),
        # A call that is told again from its beginning, as vLLM's parsers do at the end of a stream.
        ((_named("f", A), _named("f", A)), [("f", A)]),
        ((_named("f", '{"a":'), _call(" 1}"), _call(A)), [("f", A)]),
        ((_named("f", '{"a":'), _call(" 1"), _call(A)), [("f", A)]),
        ((_named("f", "{"), _call(A)), [("f", A)]),
        ((_named("f", '{"a":"b",'), _call('{"a": "b", "c": 1}')), [("f", '{"a":"b", "c": 1}')]),
        ((_named("f", '{"a":"b '), _call('{"a": "b  c"}')), [("f", '{"a":"b  c"}')]),
        ((_named("f", '{"a":'), _call("1}"), _call(A)), [("f", '{"a":1}')]),
        # What only looks like one.
        ((_named("f", '{"a": "'), _call('{x}"}')), [("f", '{"a": "{x}"}')]),
        ((_named("f", '{"":'), _call('{"":'), _call("1}}")), [("f", '{"":{"":1}}')]),
        ((_named("f", '{"a": '), _call(A), _call("}")), [("f", '{"a": {"a": 1}}')]),
        ((_named("f", '{"a": '), _named("f", '{"b": 1}'), _named("f", "}")), [("f", '{"a": {"b": 1}}')]),
    ],
)
def test_calls_under_one_number_are_told_apart(chunks: Any, calls: list[tuple[str, str]]) -> None:
    told = folded(parsed(CODEC, sse(*chunks, STOPPED, b"[DONE]"))).choices[0].parts
    assert [(call.name, call.arguments.decode()) for call in told] == calls  # type: ignore[attr-defined]
    assert len({call.id for call in told}) == len(calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("client", "mark"), [("anthropic", b'"type":"thinking"'), ("openai-responses", b'"type":"reasoning"')]
)
def test_the_signature_of_a_call_that_comes_whole_stands_before_it(client: str, mark: bytes) -> None:
    """As Google's compatible endpoint streams a call. Behind it, the next turn would not find it."""
    signed = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
    told = Translation("openai-chat", client, Undo(), AnswerContext(model="m", id="r"))
    shown = told.feed(sse(_named("f", A, id="c1", **signed), STOPPED, b"[DONE]")) + told.close()
    assert -1 < shown.index(mark) < shown.index(b'"c1"')


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (7, "7"),
        ({"a": 1}, '{"a":1}'),
        (["H", "i"], "Hi"),
        ([{"type": "text", "text": "Hi"}], "Hi"),
        (None, None),
        ({}, None),
    ],
)
def test_content_of_any_form_is_told(content: Any, text: str | None) -> None:
    body = {"id": "c", "choices": [{"index": 0, "message": {"content": content}, "finish_reason": "stop"}]}
    (choice,) = folded(parse_answer(orjson.dumps(body))).choices
    assert "".join(orjson.loads(part.literal) for part in choice.parts) == (text or "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}, (7, 3)),
        ({"prompt_tokens": "7", "completion_tokens": 3.0}, (7, 3)),
        ({"total_tokens": 10}, (0, 0)),
    ],
)
def test_counts_of_other_servers(usage: Any, tokens: tuple[int, int]) -> None:
    at_end = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
    in_choice = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    for last in (at_end, in_choice):
        found = folded(parsed(CODEC, sse(BEGUN, last, b"[DONE]"))).usage
        assert found is not None
        assert (found.input, found.output) == tokens


@pytest.mark.parametrize(
    ("number", "kind"),
    [(1002, FailureKind.RATE_LIMIT), (1004, FailureKind.AUTH), (1008, FailureKind.QUOTA), (1000, FailureKind.SERVER)],
)
@pytest.mark.parametrize("choices", [None, []])
def test_an_error_beside_no_choices(choices: Any, number: int, kind: FailureKind) -> None:
    body = {"id": "c", "choices": choices, "base_resp": {"status_code": number, "status_msg": "Not now"}}
    (failed,) = parse_answer(orjson.dumps(body))
    assert isinstance(failed, Failed)
    assert (failed.failure.message, failed.failure.kind) == ("Not now", kind)
