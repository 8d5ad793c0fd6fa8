"""Chat answers: every recorded one, and the odd ones by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest
from msgspec.structs import replace
from tests.corpus import sampled
from tests.event_streams import read_events
from tests.openai_answers import ASKED, folded, parsed, recorded, rendered, sse
from tests.recorded_answers import meaning

from dragoman.conversation.collect import collect, tell
from dragoman.conversation.events import (
    CallStarted,
    Cited,
    Ended,
    Failed,
    ReasoningDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Call, Media, MediaKind, Opaque, Origin, Reasoning, Refusal, Remote, Text
from dragoman.conversation.replies import Choice, Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.openai_usage import count_chat_usage, parse_chat_usage
from dragoman.dialects.openai_chat.answer_parse import parse_answer
from dragoman.dialects.openai_chat.answer_render import render_answer
from dragoman.dialects.openai_chat.dialect import DIALECT

CODEC = DIALECT.answers

NO_ANSWERS = {"aa1ca13508201a38": "an echo of the request, by a test server"}


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "model": "m", "created": 5, "choices": [choice], **more}


def told(*deltas: dict[str, Any], finish: str = "stop") -> bytes:
    return sse(*[chunk(delta) for delta in deltas], chunk({}, finish), b"[DONE]")


def call(index: int | None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    entry = {"function": function, **fields}
    return {"tool_calls": [entry if index is None else {"index": index, **entry}]}


def test_every_recorded_answer_is_read_written_and_read_again() -> None:
    count = 0
    for one in recorded("openai-chat"):
        if one.stream or one.id in NO_ANSWERS or not sampled(one.id, 3):
            continue
        events = parse_answer(one.wire)
        reply = folded(events)
        assert meaning(folded(tell(reply))) == meaning(reply), one.id
        assert meaning(folded(parse_answer(render_answer(reply, ASKED)))) == meaning(reply), one.id
        assert meaning(folded(parsed(CODEC, rendered(CODEC, events)))) == meaning(reply), one.id
        count += 1
    print(f"\nChat: {count} whole answers, {len(NO_ANSWERS)} that are none")
    assert count > 300


def test_every_recorded_stream_is_read_written_and_read_again() -> None:
    count = 0
    for one in recorded("openai-chat"):
        if one.stream:
            events = parsed(CODEC, one.wire)
            reply = folded(events)
            assert meaning(folded(parsed(CODEC, rendered(CODEC, events), 7))) == meaning(reply), one.id
            count += 1
    print(f"\nChat: {count} streams")
    assert count > 300


def test_every_cut_of_one_stream_gives_the_same_events() -> None:
    one = min((one for one in recorded("openai-chat") if one.stream and b"tool_calls" in one.wire), key=_size)
    events = parsed(CODEC, one.wire)
    for size in range(1, min(4096, len(one.wire))):
        assert parsed(CODEC, one.wire, size) == events, size


def _size(one: Any) -> int:
    return len(one.wire)


def test_the_number_of_an_annotation_belongs_to_its_stream() -> None:
    notes: list[dict[str, Any]] = [{"type": "url_citation", "url_citation": {"url": page}} for page in ("a", "b")]
    numbered = [{"content": "x", "annotations": [{"index": at, **note}]} for at, note in enumerate(notes)]
    cited = [event for event in parsed(CODEC, told(*numbered)) if isinstance(event, Cited)]
    assert [orjson.loads(event.json) for event in cited] == notes


CALLS = [
    (
        "fragments",
        [call(0, id="a", name="f", arguments=""), call(0, arguments='{"x"'), call(0, arguments=":1}")],
        [("a", "f", b'{"x":1}')],
    ),
    (
        "interleaved",
        [
            call(0, id="a", name="f"),
            call(1, id="b", name="g", arguments='{"y'),
            call(0, arguments="{}"),
            call(1, arguments='":2}'),
        ],
        [("a", "f", b"{}"), ("b", "g", b'{"y":2}')],
    ),
    ("no arguments", [call(0, id="a", name="f")], [("a", "f", b"{}")]),
    ("arguments as an object", [call(0, id="a", name="f", arguments={"x": 1})], [("a", "f", b'{"x":1}')]),
    (
        "all numbered alike",
        [call(0, id="a", name="f", arguments="{}"), call(0, id="b", name="g", arguments="{}")],
        [("a", "f", b"{}"), ("b", "g", b"{}")],
    ),
    (
        "not numbered at all",
        [call(None, id="a", name="f", arguments="{"), call(None, id="a", arguments="}"), call(None, id="b", name="g")],
        [("a", "f", b"{}"), ("b", "g", b"{}")],
    ),
    (
        "the id on every piece",
        [call(0, id="a", name="f", arguments="{"), call(0, id="a", name="f", arguments="}")],
        [("a", "f", b"{}")],
    ),
    (
        "the name behind the id",
        [call(0, id="a"), call(0, arguments="{"), call(0, name="f", arguments="}")],
        [("a", "f", b"{}")],
    ),
    ("arguments that are no JSON", [call(0, id="a", name="f", arguments="15 * 4")], [("a", "f", b'"15 * 4"')]),
]


@pytest.mark.parametrize(("name", "deltas", "expected"), CALLS, ids=[row[0] for row in CALLS])
def test_calls(name: str, deltas: list[dict[str, Any]], expected: list[tuple[str, str, bytes]]) -> None:
    choice = folded(parsed(CODEC, told(*deltas))).choices[0]
    assert [(part.id, part.name, part.arguments) for part in choice.parts if isinstance(part, Call)] == expected
    assert choice.stop is Stop.CALLS


def test_a_missing_id_comes_from_the_answer_and_the_place() -> None:
    """Q11."""
    wire = told(call(0, name="f"), call(1, name="f"))
    ids = [event.id for event in parsed(CODEC, wire) if isinstance(event, CallStarted)]
    again = [event.id for event in parsed(CODEC, wire, 3) if isinstance(event, CallStarted)]
    other = [
        event.id
        for event in parsed(CODEC, wire.replace(b"chatcmpl-1", b"chatcmpl-2"))
        if isinstance(event, CallStarted)
    ]
    assert ids == again
    assert len(set(ids + other)) == 4
    assert all(identity.startswith("call_") and len(identity) == 29 for identity in ids)


STOPS = [
    ("stop", {"content": "x"}, Stop.END),
    ("stop", call(0, id="a", name="f"), Stop.CALLS),
    ("tool_calls", {"content": "x"}, Stop.END),
    ("", call(0, id="a", name="f"), Stop.CALLS),
    ("length", call(0, id="a", name="f"), Stop.LENGTH),
    ("content_filter", {"content": "x"}, Stop.FILTER),
    ("stop", {"refusal": "no"}, Stop.REFUSAL),
    ("eos", {"content": "x"}, Stop.END),
    ("function_call", {"function_call": {"name": "f", "arguments": "{}"}}, Stop.CALLS),
]


@pytest.mark.parametrize(("said", "delta", "reason"), STOPS)
def test_the_stop_is_what_the_answer_says(said: str, delta: dict[str, Any], reason: Stop) -> None:
    choice = folded(parsed(CODEC, told(delta, finish=said))).choices[0]
    assert (choice.stop, choice.word) == (reason, said)


REASONING = [
    ("plain", [{"reasoning_content": "a"}, {"reasoning_content": "b"}, {"content": "c"}], [("ab", None), "c"]),
    (
        "Copilot",
        [{"reasoning_text": "a"}, {"reasoning_text": "b", "reasoning": ""}, {"content": "c"}],
        [("ab", None), "c"],
    ),
    ("the other field", [{"reasoning": "a", "content": None}, {"content": "c", "reasoning": None}], [("a", None), "c"]),
    (
        "details beside the field",
        [
            {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "signature": "S", "index": 0}]},
            {"content": "c"},
        ],
        [("a", {"type": "reasoning.text", "text": "a", "signature": "S", "index": 0}), "c"],
    ),
    (
        "a summary and its encrypted form",
        [
            {"reasoning_details": [{"type": "reasoning.summary", "summary": "s", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "E", "id": "rs", "index": 0}]},
        ],
        [("s", None), (None, {"type": "reasoning.encrypted", "data": "E", "id": "rs", "index": 0})],
    ),
    (
        "chunks of content",
        [
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]},
            {"content": [{"type": "text", "text": "c"}]},
        ],
        [("a", None), "c"],
    ),
]


@pytest.mark.parametrize(("name", "deltas", "expected"), REASONING, ids=[row[0] for row in REASONING])
def test_reasoning(name: str, deltas: list[dict[str, Any]], expected: list[Any]) -> None:
    events = parsed(CODEC, told(*deltas))
    assert [_shown(part) for part in folded(events).choices[0].parts] == expected
    again = parsed(CODEC, rendered(CODEC, events))
    assert [_shown(part) for part in folded(again).choices[0].parts] == expected


def _shown(part: Any) -> Any:
    if isinstance(part, Reasoning):
        return part.text.text if part.text else None, orjson.loads(part.state.json) if part.state else None
    return part.text


THINK = [
    ("<think>a</think>b", [("a", None), "b"]),
    ("<think>\nlong\nthought\n</think>\n\nanswer", [("long\nthought", None), "answer"]),
    ("  <think>a</think>", [("a", None)]),
    ("no tags", ["no tags"]),
    ("a <think> in the middle", ["a <think> in the middle"]),
    ("<think>never closed", [("never closed", None)]),
    ("<thinking>is another tag", ["<thinking>is another tag"]),
    ("<th", ["<th"]),
    ("<think>a < b</thin</think>c", [("a < b</thin", None), "c"]),
]


@pytest.mark.parametrize(("text", "expected"), THINK)
def test_think_tags_in_any_cut(text: str, expected: list[Any]) -> None:
    for size in range(1, len(text) + 1):
        deltas = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
        reply = folded(parsed(CODEC, told(*deltas), think_tags=True))
        assert [_shown(part) for part in reply.choices[0].parts] == expected, size
    assert folded(parsed(CODEC, told({"content": text}))).choices[0].parts == (Text(literal=orjson.dumps(text)),)


USAGE = [
    (
        "OpenAI",
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        (10, 5, 4, 0, 3),
    ),
    (
        "cache writes",
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 6},
        },
        (10, 5, 4, 6, 0),
    ),
    (
        "cache writes of DashScope",
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "cache_creation_input_tokens": 6,
                "cache_creation": {"ephemeral_5m_input_tokens": 6},
                "cache_type": "ephemeral",
            },
        },
        (10, 5, 0, 6, 0),
    ),
    (
        "cache writes of New API",
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4, "cached_creation_tokens": 6},
        },
        (10, 5, 4, 6, 0),
    ),
    (
        "thinking outside the output",
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 115,
            "completion_tokens_details": {"reasoning_tokens": 100},
        },
        (10, 105, 0, 0, 100),
    ),
    (
        "thinking charged and not told",
        {"prompt_tokens": 66, "completion_tokens": 6, "total_tokens": 100},
        (66, 34, 0, 0, 28),
    ),
    (
        "cache hits and misses",
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_cache_hit_tokens": 7,
            "prompt_cache_miss_tokens": 3,
        },
        (10, 5, 7, 0, 0),
    ),
    (
        "cached at the top",
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "num_cached_tokens": 7},
        (10, 5, 7, 0, 0),
    ),
    (
        "sounds outside the prompt",
        {
            "prompt_tokens": 9,
            "completion_tokens": 248,
            "total_tokens": 632,
            "prompt_tokens_details": {"audio_tokens": 375},
        },
        (384, 248, 0, 0, 0),
    ),
    ("nulls", {"prompt_tokens": 26, "completion_tokens": None, "total_tokens": None}, (26, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("name", "usage", "counts"), USAGE, ids=[row[0] for row in USAGE])
def test_usage_adds_up(name: str, usage: dict[str, Any], counts: tuple[int, ...]) -> None:
    wire = sse(chunk({"content": "x"}, usage=usage), chunk({}, "stop"), b"[DONE]")
    found = folded(parsed(CODEC, wire)).usage
    assert found is not None
    assert (found.input, found.output, found.cached, found.cache_written, found.reasoning) == counts
    again = folded(parsed(CODEC, rendered(CODEC, parsed(CODEC, wire)))).usage
    assert again is not None
    assert (again.input, again.output, again.cached, again.cache_written, again.reasoning) == counts


def test_usage_is_told_in_a_stream_only_when_asked() -> None:
    events = tell(Reply("i", "m", (Choice((Text(literal=b'"x"'),), Stop.END),), Usage(3, 4)))
    assert b"usage" not in rendered(CODEC, events, AnswerContext(model="m"))
    frames = rendered(CODEC, events, AnswerContext(model="m", include_usage=True)).split(b"\n\n")
    assert frames[-2] == b"data: [DONE]"
    last = orjson.loads(frames[-3][6:])
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 7
    assert all(b'"usage":null' in frame for frame in frames[:-3])


def test_usage_before_the_stop_is_no_harm() -> None:
    events = [Started("i", "m"), Used(Usage(3, 4)), TextDelta(0, 0, b'"x"'), Stopped(0, Stop.END), Ended()]
    reply = folded(parsed(CODEC, rendered(CODEC, events)))
    assert (reply.usage, reply.choices[0].stop) == (Usage(3, 4), Stop.END)


SIGNATURES = [
    Opaque(kind="thought_signature", json=b'"c2lnbmVk"', origin=Origin("openai-chat", "", "m")),
    Opaque(kind="thought_signature", json=b'"c2lnbmVk"', origin=Origin("gemini", "google", "gemini-3-pro")),
]


@pytest.mark.parametrize("state", SIGNATURES, ids=["own", "foreign"])
def test_a_signature_of_a_call_goes_with_it(state: Opaque) -> None:
    reply = Reply("i", "m", (Choice((Call(id="1", name="f", arguments=b"{}", signature=state),), Stop.CALLS),))
    whole = render_answer(reply, ASKED)
    first = orjson.loads(whole)["choices"][0]["message"]["tool_calls"][0]
    told_signature = first["extra_content"]["google"]["thought_signature"]
    assert (told_signature == "c2lnbmVk") is (state.origin.dialect == "openai-chat")
    assert meaning(folded(parse_answer(whole))) == meaning(reply)
    assert meaning(folded(parsed(CODEC, rendered(CODEC, tell(reply))))) == meaning(reply)
    assert rendered(CODEC, tell(reply)).count(b"tool_calls") == 3


FOREIGN = [
    Reasoning(
        text=Text(literal=b'"so"'), state=Opaque(kind="signature", json=b'"S+/="', origin=Origin("anthropic", "p", "c"))
    ),
    Reasoning(state=Opaque(kind="redacted_thinking", json=b'"R"', origin=Origin("anthropic", "p", "c")), redacted=True),
    Reasoning(state=Opaque(kind="encrypted_content", json=b'"E"', origin=Origin("openai-responses", "p", "g", "acc"))),
    Reasoning(
        text=Text(literal=b'"so"'),
        state=Opaque(kind="encrypted_content", json=b'"E"', origin=Origin("openai-responses")),
    ),
]


@pytest.mark.parametrize("thought", FOREIGN)
def test_foreign_state_comes_back_as_it_went(thought: Reasoning) -> None:
    """Q6."""
    reply = Reply("i", "m", (Choice((thought, Text(literal=b'"x"')), Stop.END),))
    assert meaning(folded(parse_answer(render_answer(reply, ASKED)))) == meaning(reply)
    assert meaning(folded(parsed(CODEC, rendered(CODEC, tell(reply))))) == meaning(reply)


def test_a_picture_a_sound_and_a_refusal() -> None:
    message = {
        "content": None,
        "refusal": "no",
        "audio": {"id": "a1", "data": "QUJD", "transcript": "abc", "expires_at": 9},
        "images": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}},
        ],
    }
    body = orjson.dumps(
        {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    )
    reply = folded(parse_answer(body))
    refusal, sound, inline, remote = reply.choices[0].parts
    assert refusal == Refusal(literal=b'"no"')
    assert isinstance(sound, Media)
    assert (sound.kind, sound.transcript) == (MediaKind.AUDIO, b'"abc"')
    assert isinstance(inline, Media)
    assert inline.source.media_type == "image/png"
    assert isinstance(remote, Media)
    assert remote.source == Remote("https://x.org/a.png")
    assert meaning(folded(parse_answer(render_answer(reply, ASKED)))) == meaning(reply)


def test_several_choices_interleave() -> None:
    wire = sse(
        chunk({"content": "a"}, index=0),
        chunk({"content": "b"}, index=1),
        chunk({"content": "A"}, index=0),
        chunk({}, "length", index=1),
        chunk({}, "stop", index=0),
        b"[DONE]",
    )
    reply = folded(parsed(CODEC, wire))
    assert [(choice.parts, choice.stop) for choice in reply.choices] == [
        ((Text(literal=b'"aA"'),), Stop.END),
        ((Text(literal=b'"b"'),), Stop.LENGTH),
    ]
    assert meaning(folded(parsed(CODEC, rendered(CODEC, parsed(CODEC, wire))))) == meaning(reply)


def test_the_old_function_call_stays_what_it_was() -> None:
    wire = told({"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}})
    reply = folded(parsed(CODEC, wire))
    message = orjson.loads(render_answer(reply, ASKED))["choices"][0]
    assert message["message"]["function_call"] == {"name": "f", "arguments": "{}"}
    assert "tool_calls" not in message["message"]
    assert message["finish_reason"] == "function_call"


def test_a_client_of_the_old_kind_gets_a_function_call() -> None:
    reply = Reply("i", "m", (Choice((Call(id="1", name="f", arguments=b"{}"),), Stop.CALLS),))
    old = AnswerContext(model="m", request={"functions": b"[]"})
    assert b'"function_call":{"name":"f"' in render_answer(reply, old)
    assert b"tool_calls" not in rendered(CODEC, tell(reply), old)


def test_a_pair_cut_between_chunks_is_whole_again() -> None:
    """Q37."""
    plain = told({"content": "HALF1"}, {"content": "HALF2"})
    wire = plain.replace(b"HALF1", b"a\\ud83c").replace(b"HALF2", b"\\udf0db")
    assert folded(parsed(CODEC, wire)).choices[0].parts == (Text(literal=b'"a\\ud83c\\udf0db"'),)
    alone = plain.replace(b"HALF1", b"a").replace(b"HALF2", b"b\\ud83c")
    assert folded(parsed(CODEC, alone)).choices[0].parts[0].text == "ab\ufffd"  # type: ignore[attr-defined]


def test_a_finish_without_the_marker_is_an_end() -> None:
    """D9."""
    wire = sse(chunk({"content": "x"}), chunk({}, "stop"))
    assert isinstance(parsed(CODEC, wire)[-1], Ended)


def test_no_finish_and_no_marker_is_a_broken_stream() -> None:
    """D9."""
    events = parsed(CODEC, sse(chunk({"content": "x"})))
    assert isinstance(events[-1], Failed)
    assert events[-1].failure.kind is FailureKind.BROKEN_STREAM


def test_unreadable_frames_are_skipped_and_counted() -> None:
    """D9."""
    parser = CODEC.stream_parser()
    wire = sse(chunk({"content": "x"}), b'{"cut":', b"\xff\xfe", b'{"choices":7}', chunk({}, "stop"), b"[DONE]")
    events = parser.feed(wire) + parser.close()
    assert parser.skipped == 3
    assert folded(events).choices[0].parts == (Text(literal=b'"x"'),)


ERRORS = [
    sse(chunk({"content": "x"}), {"error": {"message": "gone", "code": 502}}, b"[DONE]"),
    sse(chunk({"content": "x"})) + b'event: error\ndata: {"error":{"message":"gone","status_code":400}}\n\n',
    sse({**chunk({"content": ""}, "error"), "error": {"message": "gone", "code": 502}}),
    b'{"error":{"message":"gone","code":502}}',
]


@pytest.mark.parametrize("wire", ERRORS)
def test_an_error_in_a_stream_is_its_last_event(wire: bytes) -> None:
    last = parsed(CODEC, wire)[-1]
    assert isinstance(last, Failed)
    assert last.failure.message == "gone"


def test_a_whole_answer_may_be_an_error() -> None:
    failure = collect(parse_answer(b'{"error":{"message":"gone","code":429}}'))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message) == (FailureKind.RATE_LIMIT, "gone")


def test_a_finish_that_says_error_is_no_success() -> None:
    assert isinstance(parsed(CODEC, told({"content": "x"}, finish="error"))[-1], Failed)


def test_E13_a_failure_is_an_error_frame_and_then_the_marker() -> None:
    """X11."""
    failure = Failure(FailureKind.OVERLOADED, "busy", 529)
    wire = rendered(CODEC, [Started("i", "m"), TextDelta(0, 0, b'"x"'), Failed(failure)])
    frames = wire.split(b"\n\n")
    assert orjson.loads(frames[-3][6:])["error"]["message"] == "busy"
    assert frames[-2] == b"data: [DONE]"
    assert b'finish_reason":"' not in wire


def test_a_stream_that_is_not_ended_fails() -> None:
    """X11."""
    renderer = CODEC.stream_renderer(ASKED)
    renderer.render([Started("i", "m"), TextDelta(0, 0, b'"x"')])
    assert b'"error"' in renderer.close()
    assert renderer.render([TextDelta(0, 0, b'"late"')]) == b""
    assert renderer.close() == b""


def test_nothing_follows_a_stop() -> None:
    events = [
        Started("i", "m"),
        TextDelta(0, 0, b'"x"'),
        Stopped(0, Stop.END),
        ReasoningDelta(0, 1, b'"late"'),
        Ended(),
    ]
    assert b"late" not in rendered(CODEC, events)


def test_log_probabilities_come_through() -> None:
    tokens = [{"token": "x", "logprob": -0.1, "bytes": [120], "top_logprobs": []}]
    one = chunk({"content": "x"})
    one["choices"][0]["logprobs"] = {"content": tokens, "refusal": None}
    reply = folded(parsed(CODEC, sse(one, chunk({}, "stop"), b"[DONE]")))
    assert orjson.loads(reply.choices[0].logprobs or b"") == tokens
    assert orjson.loads(render_answer(reply, ASKED))["choices"][0]["logprobs"]["content"] == tokens
    assert meaning(folded(parsed(CODEC, rendered(CODEC, tell(reply))))) == meaning(reply)


DETAILED = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 1, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3, "accepted_prediction_tokens": 0},
}


@pytest.mark.parametrize("usage", [{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, DETAILED])
def test_tokens_are_counted_alike_with_and_without_the_rest(usage: object) -> None:
    raw = msgspec.json.encode(usage)
    whole, quick = parse_chat_usage(raw, "openai-chat"), count_chat_usage(raw)
    assert whole is not None
    assert quick is not None
    assert replace(quick, extras=None) == replace(whole, extras=None)
    assert whole.audio == (1 if usage is DETAILED else 0)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9},
        {"prompt_tokens": 3, "completion_tokens": 4},
        {"prompt_tokens": -3, "completion_tokens": 4.0, "total_tokens": None},
        {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "prompt_cache_hit_tokens": 5},
        {
            "prompt_tokens": 9,
            "completion_tokens": 4,
            "total_tokens": 13,
            "prompt_tokens_details": {"cache_creation_input_tokens": 5},
        },
        {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "prompt_tokens_details": None},
        {},
        [],
    ],
)
def test_counts_that_are_not_as_openai_writes_them_are_not_counted_quickly(usage: object) -> None:
    assert count_chat_usage(msgspec.json.encode(usage)) is None


def test_the_role_stands_alone_before_the_first_thought() -> None:
    """As OpenAI sends it: frameworks skip the chunk with the role, and lost the beginning of each thought."""
    events = (
        Started("a", "m"),
        ReasoningDelta(0, 0, b'"Let me"'),
        TextDelta(0, 1, b'"Hi"'),
        Stopped(0, Stop.END),
        Ended(),
    )
    renderer = DIALECT.answers.stream_renderer(AnswerContext(model="m", id="a", created=1))
    chunks = read_events(renderer.render(events))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert (deltas[0], deltas[2]) == ({"role": "assistant", "content": ""}, {"content": "Hi"})
    assert (deltas[1]["reasoning_content"], "role" in deltas[1]) == ("Let me", False)
