"""Claude's replies, streams and errors: recorded ones, and the corners that recordings do not have."""

from __future__ import annotations

import jiter
import orjson
import pytest
from tests.corpus import sampled
from tests.event_streams import read_events
from tests.recorded_answers import Recording, cut, meaning, recordings

from dragoman.conversation.changes import Undo
from dragoman.conversation.collect import collect
from dragoman.conversation.envelope import unseal
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Failed,
    MediaDelta,
    OpaqueBlock,
    ReasoningDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import MediaKind, Opaque, Origin
from dragoman.conversation.replies import Choice, Reply, Stop, Usage
from dragoman.dialects.anthropic.answer_parse import parse_answer
from dragoman.dialects.anthropic.answer_render import render_answer, render_error
from dragoman.dialects.anthropic.stream import AnthropicStreamParser, AnthropicStreamRenderer
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation
from dragoman.wire.error_bodies import parse_failure

ANSWERING = AnswerContext(model="shown", id="msg_1")
DELTA = "content_block_delta"


def parsed(wire: bytes, size: int = 1 << 20) -> list[Event]:
    parser = AnthropicStreamParser()
    return [event for chunk in cut(wire, size) for event in parser.feed(chunk)] + parser.close()


def events_of(recording: Recording) -> list[Event]:
    return parsed(recording.wire) if recording.stream else parse_answer(recording.wire)


def rendered(events: list[Event]) -> list[dict[str, object]]:
    """The data of each frame of a rendered stream; names and types agree."""
    renderer = AnthropicStreamRenderer(ANSWERING)
    frames = (renderer.render(events) + renderer.close()).decode().split("\n\n")[:-1]
    told = []
    for frame in frames:
        name, data = frame.split("\n")
        told.append(orjson.loads(data.removeprefix("data: ")))
        assert told[-1]["type"] == name.removeprefix("event: ")
    return told


def test_a_recorded_answer_written_and_read_again_is_the_same() -> None:
    count = 0
    for recording in recordings("anthropic"):
        if not sampled(recording.id, 4):
            continue
        events = events_of(recording)
        reply = collect(events)
        assert isinstance(reply, Reply), recording.id
        renderer = AnthropicStreamRenderer(AnswerContext())
        streamed = collect(parsed(renderer.render(events) + renderer.close()))
        assert meaning(streamed) == meaning(reply), recording.id
        assert meaning(collect(parse_answer(render_answer(reply, AnswerContext())))) == meaning(reply), recording.id
        count += 1
    print(f"{count} recorded answers read, written and read again")


def test_usage_counts_the_cache_into_the_input_and_out_again() -> None:
    body = orjson.dumps(
        {
            "id": "msg_1",
            "model": "c",
            "content": [],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 15,
                "cache_read_input_tokens": 3935,
                "cache_creation_input_tokens": 50,
                "output_tokens": 9,
                "output_tokens_details": {"thinking_tokens": 4},
            },
        }
    )
    reply = collect(parse_answer(body))
    assert isinstance(reply, Reply)
    assert reply.usage is not None
    usage = reply.usage
    assert (usage.input, usage.cached, usage.cache_written, usage.output, usage.reasoning) == (4000, 3935, 50, 9, 4)
    written = orjson.loads(render_answer(reply, ANSWERING))["usage"]
    assert {key: count for key, count in written.items() if count is not None} == orjson.loads(body)["usage"]


SUMMARISED = {
    "input_tokens": 23000,
    "output_tokens": 1000,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 40,
    "iterations": [
        {"type": "compaction", "input_tokens": 1000, "output_tokens": 3500, "cache_read_input_tokens": 179000},
        {"type": "message", "input_tokens": 23000, "output_tokens": 1000, "cache_creation_input_tokens": 40},
    ],
}


@pytest.mark.parametrize("client", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("undo", [Undo(), Undo(ids={"a": "b"})])
def test_tokens_of_a_summary_are_booked_though_the_counts_leave_them_out(client: str, undo: Undo) -> None:
    """Anthropic charges what its compaction takes. A client of its own finds that where Anthropic tells it."""
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": SUMMARISED}
    told = [{"type": "message_start", "message": {"usage": {"input_tokens": 9}}}, delta, {"type": "message_stop"}]
    streamed, whole = Translation("anthropic", client, undo), Translation("anthropic", client, undo)
    out = streamed.feed(b"".join([b"data: %b\n\n" % orjson.dumps(one) for one in told])) + streamed.close()
    answer = orjson.loads(whole.whole(orjson.dumps({"id": "m", "content": [], **delta["delta"], "usage": SUMMARISED})))
    for usage in (streamed.usage, whole.usage):
        assert usage is not None
        assert (usage.input, usage.cached, usage.cache_written, usage.output) == (203040, 179000, 40, 4500)
    if client == "anthropic":
        shown = next(data for data in read_events(out) if data["type"] == "message_delta")["usage"]
        for one in (answer["usage"], shown):
            assert {key: one[key] for key in SUMMARISED} == SUMMARISED
    else:
        assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (203040, 4500)


def test_tokens_of_advice_are_told_apart_by_their_model() -> None:
    """As recorded: Anthropic's advisor is another model, and has its own price."""
    advice = {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 2518, "output_tokens": 22}
    own = {"type": "message", "input_tokens": 1128, "output_tokens": 110}
    usage = {"input_tokens": 2390, "output_tokens": 121, "iterations": [own, advice, {**advice, "model": None}]}
    reply = collect(parse_answer(orjson.dumps({"id": "m", "content": [], "usage": usage})))
    assert isinstance(reply, Reply)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (2390, 121)
    assert reply.usage.others == (("claude-opus-4-8", Usage(input=2518, output=22)),)
    written = orjson.loads(render_answer(reply, ANSWERING))["usage"]
    assert {key: written[key] for key in usage} == usage


@pytest.mark.parametrize("rounds", [7, [7, {}], [{"type": "compaction", "input_tokens": -5, "output_tokens": "many"}]])
def test_rounds_that_nobody_can_read_change_no_count(rounds: object) -> None:
    reply = collect(
        parse_answer(orjson.dumps({"id": "m", "content": [], "usage": SUMMARISED | {"iterations": rounds}}))
    )
    assert isinstance(reply, Reply)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (23040, 1000)


def test_usage_at_the_end_overrules_the_start_and_keeps_what_it_leaves_out() -> None:
    usage = b'{"input_tokens":0,"cache_read_input_tokens":7,"output_tokens":0}'
    start = b'data: {"type":"message_start","message":{"usage":%b}}\n\n' % usage
    end = b"""data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},
data: "usage":{"input_tokens":12,"output_tokens":5}}

data: {"type":"message_stop"}

"""
    reply = collect(parsed(start + end))
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(input=19, output=5, cached=7)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", Stop.END),
        ("max_tokens", Stop.LENGTH),
        ("stop_sequence", Stop.STOP_SEQUENCE),
        ("tool_use", Stop.CALLS),
        ("pause_turn", Stop.PAUSE),
        ("compaction", Stop.PAUSE),
        ("refusal", Stop.REFUSAL),
        ("model_context_window_exceeded", Stop.CONTEXT),
    ],
)
def test_stop_reasons_go_in_and_come_out_as_they_were(said: str, reason: Stop) -> None:
    body = orjson.dumps({"id": "m", "model": "c", "content": [], "stop_reason": said, "usage": {}})
    reply = collect(parse_answer(body))
    assert isinstance(reply, Reply)
    assert reply.choices[0].stop is reason
    assert orjson.loads(render_answer(reply, ANSWERING))["stop_reason"] == said


@pytest.mark.parametrize("reason", list(Stop))
def test_every_stop_has_a_word_and_a_breakdown_is_never_a_success(reason: Stop) -> None:
    told = rendered([Started("m", "c"), Stopped(0, reason, "WORD"), Ended()])
    delta = next(frame["delta"] for frame in told if frame["type"] == "message_delta")
    assert isinstance(delta, dict)
    if reason in (Stop.ERROR, Stop.BROKEN_CALL):
        assert delta["stop_reason"] == "refusal"
        assert "WORD" in str(delta["stop_details"])
    else:
        assert delta["stop_reason"]


def test_calls_side_by_side_are_written_one_after_the_other() -> None:
    """The lowest open call streams; what belongs to others is held until it is complete (Q32)."""
    events: list[Event] = [
        Started("m", "c"),
        CallStarted(0, 0, "a", "first"),
        CallStarted(0, 1, "b", "second"),
        CallDelta(0, 1, b'"{\\"x\\":"'),
        CallDelta(0, 0, b'"{\\"y\\":1"'),
        CallDelta(0, 1, b'"2}"'),
        CallDelta(0, 0, b'"}"'),
    ]
    renderer = AnthropicStreamRenderer(ANSWERING)
    early = renderer.render(events)
    assert b"second" not in early
    assert b"first" in early
    late = renderer.render([CallEnded(0, 0), CallEnded(0, 1), Stopped(0, Stop.CALLS), Ended()])
    reply = collect(parsed(early + late))
    assert isinstance(reply, Reply)
    assert [(part.name, part.arguments) for part in reply.choices[0].parts] == [  # type: ignore[attr-defined]
        ("first", b'{"y":1}'),
        ("second", b'{"x":2}'),
    ]


def test_what_is_held_is_bounded() -> None:
    """Q32."""
    renderer = AnthropicStreamRenderer(ANSWERING)
    renderer.render([Started("m", "c"), CallStarted(0, 0, "a", "f"), CallStarted(0, 1, "b", "g")])
    piece = CallDelta(0, 1, quote("x" * 1_000_000))
    out = b"".join(renderer.render([piece]) for _ in range(40))
    assert b"event: error" in out
    assert renderer.close() == b""


def test_state_alone_is_a_thinking_block_without_text() -> None:
    foreign = Opaque(kind="thought_signature", json=b'"AAAA"', origin=Origin("gemini"))
    own = Opaque(kind="signature", json=b'"c2ln"', origin=Origin("anthropic"))
    told = rendered(
        [
            Started("m", "c"),
            Signed(0, 0, own),
            CallStarted(0, 1, "a", "f"),
            Signed(0, 1, foreign),
            CallDelta(0, 1, b'"{}"'),
            CallEnded(0, 1),
            Stopped(0, Stop.CALLS),
            Ended(),
        ]
    )
    opened = [frame["content_block"]["type"] for frame in told if frame["type"] == "content_block_start"]  # type: ignore[index]
    assert opened == ["thinking", "thinking", "tool_use"]
    signed = [frame["delta"]["signature"] for frame in told if "signature_delta" in str(frame)]  # type: ignore[index]
    assert signed[0] == "c2ln"
    assert signed[1] != "AAAA"


def test_a_signature_that_comes_while_its_call_is_open_follows_that_call() -> None:
    early, late = (Opaque("thought_signature", json, Origin("gemini")) for json in (b'"AAAA"', b'"BBBB"'))
    told = rendered(
        [
            Started("m", "c"),
            CallStarted(0, 0, "a", "f"),
            CallDelta(0, 0, b'"{"'),
            CallStarted(0, 1, "b", "g"),
            CallDelta(0, 1, b'"{}"'),
            Signed(0, 0, early),
            CallDelta(0, 0, b'"}"'),
            Signed(0, 0, late),
            CallEnded(0, 0),
            Stopped(0, Stop.CALLS),
            Ended(),
        ]
    )
    blocks = [frame["content_block"] for frame in told if frame["type"] == "content_block_start"]
    assert [block.get("id", block["type"]) for block in blocks] == ["a", "thinking", "b"]  # type: ignore[attr-defined, index]
    carried = [frame["delta"]["signature"] for frame in told if "signature_delta" in str(frame)]  # type: ignore[index]
    assert [unseal(one) for one in carried] == [late]


def test_server_tools_are_kept_whole_though_their_input_streams() -> None:
    block = b'{"type":"server_tool_use","id":"s","name":"w","input":{}}'
    start = b'data: {"type":"content_block_start","index":0,"content_block":%b}\n\n' % block
    rest = b"""data: {"type":"content_block_delta","index":0,
data: "delta":{"type":"input_json_delta","partial_json":"{\\"q\\":"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"compaction","content":"a"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"compaction_delta","content":"b"}}

data: {"type":"content_block_stop","index":1}

"""
    kept = [event.opaque for event in parsed(start + rest) if isinstance(event, OpaqueBlock)]
    assert [(one.kind, orjson.loads(one.json)) for one in kept] == [
        ("server_tool_use", {"type": "server_tool_use", "id": "s", "name": "w", "input": {"q": 1}}),
        ("compaction", {"type": "compaction", "content": "ab"}),
    ]


def test_a_stream_that_breaks_off_is_a_failure_not_a_success() -> None:
    """X11."""
    begun = b'data: {"type":"message_start","message":{"id":"m","model":"c"}}\n\n'
    text = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
    stop = b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
    for wire in (b"", begun, begun + text, begun + text + stop):
        last = parsed(wire)[-1]
        assert isinstance(last, Failed), wire
        assert last.failure.kind is FailureKind.BROKEN_STREAM
    told = rendered([Started("m", "c"), TextDelta(0, 0, b'"Hi"')])
    assert told[-1]["type"] == "error"
    assert not any(frame["type"] == "message_stop" for frame in told)


def test_an_error_in_the_stream_is_told_as_one() -> None:
    wire = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    (failed,) = parsed(wire)
    assert isinstance(failed, Failed)
    assert (failed.failure.kind, failed.failure.message) == (FailureKind.OVERLOADED, "Overloaded")
    (frame,) = rendered([failed])
    assert frame["error"] == {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.parametrize(
    "wire",
    [
        b"data: {not json}\n\n" * 50,
        b"\x00\xff\xfe" * 1000,
        b":" + b"x" * 100_000,
        b": comment\n" * 10_000,
        b"<html><body>502 Bad Gateway</body></html>",
        b'data: {"type":"content_block_stop","index":5}\n\n',
        b'data: {"type":"content_block_delta","index":9,"delta":null}\n\n',
        b'data: {"type":"content_block_start","index":0}\n\ndata: {"type":"message_start"}\n\n',
        b'data: {"type":"message_delta","delta":[],"usage":7}\n\ndata: 7\n\ndata: null\n\n',
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":7,"text":{}}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}}\n\n',
        b'{"type":"message"',
    ],
)
def test_garbage_ends_in_a_failure_and_nothing_rises(wire: bytes) -> None:
    for size in (1 << 20, 3):
        assert isinstance(parsed(wire, size)[-1], Failed)
    assert isinstance(parse_answer(wire)[-1], Failed)


def test_a_frame_without_end_is_refused_before_it_fills_the_memory() -> None:
    parser = AnthropicStreamParser()
    events: list[Event] = []
    for _ in range(40):
        events += parser.feed(b"data: " + b"x" * 1_000_000)
    assert isinstance(events[-1], Failed)
    assert parser.close() == []


def test_unreadable_frames_are_skipped_and_counted() -> None:
    """D9."""
    parser = AnthropicStreamParser()
    wire = b"""data: {"type":"message_start","message":{}}

data: {oops

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

data: {"type":"message_stop"}

"""
    events = parser.feed(wire) + parser.close()
    assert parser.skipped == 1
    assert isinstance(events[-1], Ended)
    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta(0, 0, b'"Hi"')]


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (
            Failure(FailureKind.CONTEXT_LENGTH, "Too long.", tokens=213462, limit=200000),
            "prompt is too long: 213462 tokens > 200000 maximum (Too long.)",
        ),
        (
            Failure(FailureKind.CONTEXT_LENGTH, "prompt is too long: 5 tokens > 4 maximum", tokens=5, limit=4),
            "prompt is too long: 5 tokens > 4 maximum",
        ),
        (Failure(FailureKind.CONTEXT_LENGTH, "Too long."), "prompt is too long: Too long."),
        (Failure(FailureKind.BAD_REQUEST, "temperature: range: 0..1"), "temperature: range: 0..1"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_in_claudes_words(failure: Failure, message: str) -> None:
    """D12."""
    status, _, body = render_error(failure, ANSWERING)
    assert status == 400
    assert orjson.loads(body)["error"] == {"type": "invalid_request_error", "message": message}


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_of_failure_is_read_back_as_itself_or_its_nearest(kind: FailureKind) -> None:
    near = {
        FailureKind.CONTENT_FILTER: FailureKind.BAD_REQUEST,
        FailureKind.NETWORK: FailureKind.SERVER,
        FailureKind.BROKEN_STREAM: FailureKind.SERVER,
        FailureKind.ANSWER_TOO_LARGE: FailureKind.SERVER,
    }
    status, headers, body = render_error(Failure(kind, "Words.", retry_after=1.5), ANSWERING)
    assert headers["retry-after"] == "2"
    assert parse_failure(status, headers, body).kind in (kind, near.get(kind))


def test_pictures_and_sounds_become_links_that_hold_them() -> None:
    events: list[Event] = [
        Started("m", "c"),
        MediaDelta(0, 0, MediaKind.AUDIO, "audio/wav", b'""', b'"Hello"'),
        MediaDelta(0, 0, MediaKind.AUDIO, "audio/wav", b'"AAAA"'),
        MediaDelta(0, 0, MediaKind.AUDIO, "audio/wav", b'"BBBB"', b'" there"'),
        ReasoningDelta(0, 1, b'"Hm"'),
        Stopped(0, Stop.END),
        Used(Usage(1, 1)),
        Ended(),
    ]
    renderer = AnthropicStreamRenderer(ANSWERING)
    whole = collect(events)
    assert isinstance(whole, Reply)
    for reply in (collect(parsed(renderer.render(events))), collect(parse_answer(render_answer(whole, ANSWERING)))):
        assert isinstance(reply, Reply)
        text = reply.choices[0].parts[0].text  # type: ignore[attr-defined]
        assert text == "[audio](data:audio/wav;base64,AAAABBBB)\n\nHello there"


@pytest.mark.parametrize(
    ("fragments", "wanted"),
    [
        (['{"a":', "1}"], {"a": 1}),
        ([" ", '{"a":1}'], {"a": 1}),
        (["{", '"a":1}'], {"a": 1}),
        (["\n\t", "{}"], {}),
        ([], {}),
        (["nu", "ll"], {}),
        (["nul"], {"arguments": "nul"}),
        (["[1]"], {"arguments": "[1]"}),
        (['"x"'], {"arguments": '"x"'}),
        (["{", "'a': 1}"], {"arguments": "{'a': 1}"}),
        (["{"], {}),
        (['{"a": 1, "b": "x'], {"a": 1}),
        (['{"a": 1, "b": {"c": [1, 2', ", "], {"a": 1, "b": {"c": [1, 2]}}),
        (['{"a": tr'], {}),
    ],
)
def test_arguments_make_the_same_input_whole_and_streamed(fragments: list[str], wanted: object) -> None:
    """Read as the official SDK reads a stream: what breaks off is told as far as it is complete."""
    deltas = [CallDelta(0, 0, quote(fragment)) for fragment in fragments]
    events = [Started("m", "c"), CallStarted(0, 0, "a", "f"), *deltas, CallEnded(0, 0), Stopped(0, Stop.CALLS), Ended()]
    told = [frame["delta"].get("partial_json", "") for frame in rendered(events) if frame["type"] == DELTA]  # type: ignore[attr-defined]
    assert (jiter.from_json("".join(told).encode(), partial_mode=True) if told else {}) == wanted
    reply = collect(events)
    assert isinstance(reply, Reply)
    assert orjson.loads(render_answer(reply, ANSWERING))["content"][0]["input"] == wanted


def test_usage_adds_up_if_a_server_claims_to_have_cached_more_than_it_read() -> None:
    reply = Reply(choices=(Choice(()),), usage=Usage(input=10, output=2, cached=161, cache_written=5))
    usage = orjson.loads(render_answer(reply, ANSWERING))["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (0, 10, 0)


def test_a_call_without_an_id_gets_one_by_the_message_and_its_place() -> None:
    def ids(message: str) -> list[str]:
        call = {"type": "tool_use", "name": "f", "input": {}}
        body = orjson.dumps({"id": message, "model": "c", "content": [call, call], "stop_reason": "tool_use"})
        return [event.id for event in parse_answer(body) if isinstance(event, CallStarted)]

    assert len(set(ids("m1") + ids("m2"))) == 4
    assert ids("m1") == ids("m1")


def test_words_at_the_place_of_a_call_are_not_taken_for_its_arguments() -> None:
    block = b'{"type":"tool_use","id":"t","name":"f","input":{}}'
    wire = b'data: {"type":"content_block_start","index":0,"content_block":%b}\n\n' % block
    wire += b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
    wire += (
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}\n\n'
    )
    reply = collect(parsed(wire + b'data: {"type":"message_stop"}\n\n'))
    assert isinstance(reply, Reply)
    call, text = reply.choices[0].parts
    assert (call.arguments, text.text) == (b"{}", "Hi")  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", [b'{"error":{"message":"Down"}}', b'{"type":"odd","error":"Down"}'])
def test_an_error_of_another_form_keeps_its_words(error: bytes) -> None:
    (failed,) = parsed(b"data: " + error + b"\n\n")
    assert isinstance(failed, Failed)
    assert failed.failure.message == "Down"


@pytest.mark.parametrize(
    ("told", "first", "last"), [(None, 70, 70), (Usage(input=81, output=2), 70, 81), (Usage(output=2), 70, 70)]
)
def test_the_input_is_estimated_until_the_provider_counts_it(told: Usage | None, first: int, last: int) -> None:
    renderer = AnthropicStreamRenderer(AnswerContext(input_tokens=lambda: 70))
    used = [] if told is None else [Used(told)]
    events = [Started("a", "m"), TextDelta(0, 0, b'"Hi"'), Stopped(0, Stop.END), *used, Ended()]
    frames = read_events(renderer.render(events))
    assert frames[0]["message"]["usage"]["input_tokens"] == first
    assert frames[-2]["usage"]["input_tokens"] == last


def test_what_the_provider_counts_at_once_is_not_estimated() -> None:
    renderer = AnthropicStreamRenderer(AnswerContext(input_tokens=lambda: 70))
    wire = renderer.render([Started("a", "m"), Used(Usage(input=81)), TextDelta(0, 0, b'"Hi"')])
    assert b'"input_tokens":81' in wire
    assert b'"input_tokens":70' not in wire
