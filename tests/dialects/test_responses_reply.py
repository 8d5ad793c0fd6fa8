"""Responses answers: every recorded one, and the odd ones by hand."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec import Raw
from tests.event_streams import read_events
from tests.openai_answers import ASKED, folded, parsed, recorded, rendered, sse
from tests.recorded_answers import meaning

from dragoman.conversation.collect import collect, tell
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Failed,
    MediaDelta,
    ReasoningDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import (
    Call,
    Citation,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Refusal,
    Text,
)
from dragoman.conversation.replies import Choice, Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat.dialect import DIALECT as CHAT
from dragoman.dialects.openai_responses import answer_render
from dragoman.dialects.openai_responses.answer_parse import parse_answer
from dragoman.dialects.openai_responses.answer_render import DEFAULTS
from dragoman.dialects.openai_responses.dialect import DIALECT
from dragoman.dialects.openai_responses.stream import render_answer

CODEC = DIALECT.answers

NO_ANSWERS = {
    "d7ca19906aeb369c": "says that a response was deleted",
    "f34688e4ea3509bd": "first and last frame are not JSON: written by hand and cut",
}


def events_in(wire: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(frame.split(b"data: ", 1)[1]) for frame in wire.split(b"\n\n") if frame]


def without_login(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool without what is meant for its server alone: no answer repeats that."""
    return {key: value for key, value in tool.items() if key not in ("authorization", "headers")}


def completed(reply: Reply) -> Any:
    """What a reply means, with the members that every response has: some recorded ones were made before they had.

    But for the time of its completion: a stream tells it at its end, and the reply has what was told at the beginning.
    """
    plain = meaning(reply)
    held = dict(plain.get("extras", {}).get("fields", {}))
    held.pop("completed_at", None)
    members = {key: orjson.loads(value) for key, value in DEFAULTS.items() if key != "service_tier"}
    given = {key: value for key, value in members.items() if value is not None}
    held = {**given, **held}
    if isinstance(held["reasoning"], dict):
        held["reasoning"] = {"effort": None, "summary": None, **held["reasoning"]}
    held["text"] = {"format": {"type": "text"}, **held["text"]}
    unsaid: dict[str, Any] = {"description": None, "parameters": None, "strict": None}
    held["tools"] = [
        {**unsaid, **tool} if tool["type"] == "function" else without_login(tool) for tool in held["tools"]
    ]
    return {"service_tier": "default", **plain, "extras": held}


def test_every_recorded_answer_is_read_written_and_read_again() -> None:
    count = unmade = 0
    for one in recorded("openai-responses"):
        if one.stream or one.id in NO_ANSWERS:
            continue
        events = parse_answer(one.wire)
        reply = folded(events)
        assert meaning(folded(tell(reply))) == meaning(reply), one.id
        written = render_answer(reply, ASKED)
        assert completed(folded(parse_answer(written))) == completed(reply), one.id
        known = orjson.loads(one.wire).get("completed_at")
        assert known is None or orjson.loads(written)["completed_at"] == known, one.id
        count += 1
        if not reply.choices:
            unmade += 1
            continue
        assert completed(folded(parsed(CODEC, rendered(CODEC, events)))) == completed(reply), one.id
    print(f"\nResponses: {count} whole answers, {unmade} of them still to be made and so no stream")
    assert count > 500


def test_every_recorded_stream_is_read_written_and_read_again() -> None:
    count = 0
    for one in recorded("openai-responses"):
        if one.stream and one.id not in NO_ANSWERS:
            events = parsed(CODEC, one.wire)
            reply = folded(events)
            wire = rendered(CODEC, events)
            assert completed(folded(parsed(CODEC, wire, 7))) == completed(reply), one.id
            _check_grammar(wire)
            count += 1
    print(f"\nResponses: {count} streams, {len(NO_ANSWERS)} answers that are none")
    assert count > 200


def _check_grammar(wire: bytes) -> None:
    """Numbers without a gap, every item added once and done once, the last event repeats what was done."""
    told = events_in(wire)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    added = [event["output_index"] for event in told if event["type"] == "response.output_item.added"]
    done = {event["output_index"]: event["item"] for event in told if event["type"] == "response.output_item.done"}
    assert added == sorted(done) == list(range(len(added)))
    assert told[-1]["response"]["output"] == [done[index] for index in sorted(done)]
    assert [event["type"] for event in told[:2]] == ["response.created", "response.in_progress"]


def test_the_events_of_an_answer_in_full() -> None:
    state = Opaque(kind="encrypted_content", json=b'"E"', origin=Origin("openai-responses"))
    events: list[Event] = [
        Started("resp_1", "m", 5),
        ReasoningDelta(0, 0, b'"so"'),
        Signed(0, 0, state),
        TextDelta(0, 1, b'"hi"'),
        CallStarted(0, 2, "call_1", "f"),
        CallDelta(0, 2, b'"{}"'),
        CallEnded(0, 2),
        Stopped(0, Stop.CALLS),
        Used(Usage(3, 4, 1, 0, 2)),
        Ended(),
    ]
    wire = rendered(CODEC, events)
    _check_grammar(wire)
    told = events_in(wire)
    assert [event["type"].removeprefix("response.") for event in told] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    final = told[-1]["response"]
    assert final["status"] == "completed"
    assert final["usage"]["input_tokens_details"] == {"cache_write_tokens": 0, "cached_tokens": 1}
    assert final["usage"]["output_tokens_details"] == {"reasoning_tokens": 2}
    assert [item["type"] for item in final["output"]] == ["reasoning", "message", "function_call"]
    assert final["output"][0]["encrypted_content"] == "E"
    assert final["output"][2]["arguments"] == "{}"


ANTHROPIC = Origin("anthropic", "p", "c")
PARTS: dict[str, tuple[Part, ...]] = {
    "foreign thinking": (
        Reasoning(text=Text(literal=b'"so"'), state=Opaque(kind="signature", json=b'"S"', origin=ANTHROPIC)),
    ),
    "hidden thinking": (
        Reasoning(state=Opaque(kind="redacted_thinking", json=b'"R"', origin=ANTHROPIC), redacted=True),
    ),
    "custom call": (Call(id="c", name="f", arguments=b'"plain text"', custom=True),),
    "refusal": (Refusal(literal=b'"no"'),),
    "text around a call": (Call(id="c", name="f", arguments=b"{}"), Call(id="d", name="f", arguments=b'{"a":1}')),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_written_is_read(name: str) -> None:
    stop = Stop.CALLS if isinstance(PARTS[name][0], Call) else Stop.REFUSAL if name == "refusal" else Stop.END
    reply = Reply("resp_1", "m", (Choice(PARTS[name], stop),), Usage(1, 2))
    for again in (
        parse_answer(render_answer(reply, ASKED)),
        parsed(CODEC, rendered(CODEC, tell(reply))),
    ):
        assert _bare(folded(again)) == _bare(reply)


def _bare(reply: Reply) -> list[Any]:
    """Without the ids that items have here and nowhere else."""
    return [_without_extras(part) for part in meaning(reply)["choices"][0]["parts"]]


def _without_extras(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "extras"}


def test_the_signature_of_a_call_goes_ahead_of_it() -> None:
    """Q6."""
    state = Opaque(kind="thought_signature", json=b'"T"', origin=Origin("gemini", "g", "gemini-3-pro"))
    reply = Reply("r", "m", (Choice((Call(id="1", name="f", arguments=b"{}", signature=state),), Stop.CALLS),))
    for again in (
        parse_answer(render_answer(reply, ASKED)),
        parsed(CODEC, rendered(CODEC, tell(reply))),
    ):
        first, second = folded(again).choices[0].parts
        assert isinstance(first, Reasoning)
        assert first.state == state
        assert isinstance(second, Call)


STOPS = [
    (Stop.END, "completed", None),
    (Stop.LENGTH, "incomplete", "max_output_tokens"),
    (Stop.CONTEXT, "incomplete", "max_output_tokens"),
    (Stop.FILTER, "incomplete", "content_filter"),
    (Stop.REFUSAL, "incomplete", "content_filter"),
    (Stop.ERROR, "failed", None),
]


@pytest.mark.parametrize(("reason", "status", "why"), STOPS)
def test_the_status_says_how_it_ended(reason: Stop, status: str, why: str | None) -> None:
    reply = Reply("r", "m", (Choice((Text(literal=b'"x"'),), reason),))
    whole = orjson.loads(render_answer(reply, ASKED))
    last = events_in(rendered(CODEC, tell(reply)))[-1]
    for response in (whole, last["response"]):
        assert response["status"] == status
        assert (response["incomplete_details"] or {}).get("reason") == why
    assert last["type"] == f"response.{status}"


def test_the_response_repeats_the_request() -> None:
    asked = AnswerContext(
        model="shown", id="resp_9", created=7, request={"tools": b'[{"type":"function"}]', "input": b'"x"'}
    )
    response = orjson.loads(render_answer(Reply(choices=(Choice((), Stop.END),)), asked))
    assert (response["id"], response["created_at"], response["model"]) == ("resp_9", 7, "shown")
    assert response["tools"] == [{"type": "function", "description": None, "parameters": None, "strict": None}]
    assert response["parallel_tool_calls"] is True
    assert "input" not in response


def test_functions_that_a_client_nests_are_repeated_flat() -> None:
    nested = b'{"type":"function","function":{"name":"f","parameters":{}}}'
    request = {"tools": b"[%b]" % nested, "tool_choice": b'{"type":"function","function":{"name":"f"}}'}
    repeated = answer_render.repeated_members(request)
    assert orjson.loads(repeated["tools"]) == [
        {"type": "function", "name": "f", "parameters": {}, "description": None, "strict": None}
    ]
    assert orjson.loads(repeated["tool_choice"]) == {"type": "function", "name": "f"}
    assert answer_render.repeated_members({"tool_choice": b'"auto"'}) == {"tool_choice": b'"auto"'}


def test_the_same_tools_are_completed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent sends dozens of large ones on every turn, and every answer repeats them."""
    completed: list[bytes] = []
    complete = answer_render._render_tool

    def note(given: bytes) -> bytes:
        completed.append(given)
        return complete(given)

    monkeypatch.setattr(answer_render, "_render_tool", note)
    for _ in range(3):
        asked = AnswerContext(request={"tools": Raw(b'[{"type":"function","name":"completed_once"}]')})
        response = orjson.loads(render_answer(Reply(choices=(Choice((), Stop.END),)), asked))
        assert response["tools"][0]["description"] is None
    assert completed == [b'{"type":"function","name":"completed_once"}']


def test_hosted_tools_are_kept_and_pictures_shown() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    picture = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "QUJD"}
    body = {"id": "r", "object": "response", "model": "m", "status": "completed", "output": [search, picture]}
    reply = folded(parse_answer(orjson.dumps(body)))
    kept, shown = reply.choices[0].parts
    assert isinstance(kept, Opaque)
    assert kept.kind == "web_search_call"
    assert isinstance(shown, Media)
    assert (shown.kind, shown.source) == (MediaKind.IMAGE, Inline("image/png", b'"QUJD"'))
    assert orjson.loads(render_answer(reply, ASKED))["output"] == [search, picture]


def test_citations_of_other_makes_become_annotations() -> None:
    cited = Citation(json=b'{"type":"web_search_result_location","url":"https://x.org","title":"X"}', origin=ANTHROPIC)
    reply = Reply("r", "m", (Choice((Text(literal=b'"x"'), cited), Stop.END),))
    expected = {"type": "url_citation", "url": "https://x.org", "title": "X", "start_index": 0, "end_index": 0}
    whole = orjson.loads(render_answer(reply, ASKED))
    assert whole["output"][0]["content"][0]["annotations"] == [expected]
    told = events_in(rendered(CODEC, tell(reply)))
    assert next(event for event in told if "annotation" in event)["annotation"] == expected
    assert told[-1]["response"]["output"] == whole["output"]


def test_several_summaries_are_paragraphs_whole_and_streamed() -> None:
    parts = [{"type": "summary_text", "text": text} for text in ("a", "b")]
    item = {"type": "reasoning", "id": "rs_1", "summary": parts, "encrypted_content": "E"}
    response = {"id": "r", "model": "m", "status": "completed", "output": [item]}
    whole = folded(parse_answer(orjson.dumps(response)))
    deltas = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index, "delta": text}
        for index, text in enumerate("ab")
    ]
    added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}}
    created = {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    wire = sse(created, added, *deltas, done, {"type": "response.completed", "response": response})
    assert meaning(folded(parsed(CODEC, wire))) == meaning(whole)
    thought = whole.choices[0].parts[0]
    assert isinstance(thought, Reasoning)
    assert thought.text == Text(literal=b'"a\\n\\nb"')


def test_what_is_known_only_at_the_end_is_said_at_the_end() -> None:
    """The tier that was asked for stands at the beginning, and the one that served the answer at the end."""
    head = {"id": "resp_1", "created_at": 1, "model": "m", "output": [], "store": False, "completed_at": None}
    late = {"service_tier": "flex", "completed_at": 9, "content_filters": [{"blocked": False}]}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    wire = sse(
        {"type": "response.created", "response": {**head, "status": "in_progress", "service_tier": "auto"}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"},
        {"type": "response.completed", "response": {**head, "status": "completed", "usage": usage, **late}},
    )
    events = parsed(CODEC, wire)
    first, *_, last = [event["response"] for event in events_in(rendered(CODEC, events)) if "response" in event]
    assert (first["service_tier"], first["completed_at"], "content_filters" in first) == ("auto", None, False)
    assert {key: last[key] for key in late} == late
    assert last["store"] is False
    whole = orjson.loads(render_answer(folded(events), ASKED))
    assert {key: whole[key] for key in late} == late
    chunks = events_in(rendered(CHAT.answers, events).removesuffix(b"data: [DONE]\n\n"))
    assert [chunks[0]["service_tier"], chunks[-1]["service_tier"]] == ["auto", "flex"]
    assert {chunk["id"] for chunk in chunks} == {chunks[0]["id"]}


def test_a_stream_may_tell_only_whole_items_or_only_the_end() -> None:
    content = [{"type": "output_text", "text": "hi", "annotations": []}]
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    response = {"id": "r", "model": "m", "status": "completed", "output": [item]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    end = {"type": "response.completed", "response": response}
    bare = {"type": "response.completed", "response": {**response, "output": []}}
    for wire in (sse(done, end), sse(end), sse({"type": "response.created", "response": response}, done, bare)):
        assert folded(parsed(CODEC, wire)).choices[0].parts[0].text == "hi"  # type: ignore[attr-defined]


ERRORS = [
    sse({"type": "error", "sequence_number": 2, "code": "server_error", "message": "gone"}),
    sse({"type": "error", "error": {"type": "server_error", "code": "x", "message": "gone"}}),
    sse({"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": "gone"}}}),
    b'{"detail":"gone"}',
    b'{"error":{"message":"gone"}}',
]


@pytest.mark.parametrize("wire", ERRORS)
def test_an_error_in_a_stream_is_its_last_event(wire: bytes) -> None:
    last = parsed(CODEC, wire)[-1]
    assert isinstance(last, Failed)
    assert last.failure.message == "gone"


def test_a_stream_without_its_last_event_is_broken() -> None:
    """D9."""
    start = {"type": "response.created", "response": {"id": "r", "model": "m"}}
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "x"}
    last = parsed(CODEC, sse(start, delta))[-1]
    assert isinstance(last, Failed)
    assert last.failure.kind is FailureKind.BROKEN_STREAM


def test_a_failure_is_an_error_and_a_failed_response() -> None:
    """X11."""
    failure = Failure(FailureKind.QUOTA, "spent", 429)
    told = events_in(rendered(CODEC, [Started("r", "m"), TextDelta(0, 0, b'"x"'), Failed(failure)]))
    error, failed = told[-2:]
    assert error["type"] == "error"
    assert error["message"] == error["error"]["message"] == "spent"
    assert failed["type"] == "response.failed"
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["error"] == {"code": "insufficient_quota", "message": "spent"}


def test_a_stream_that_is_not_ended_fails() -> None:
    """X11."""
    renderer = CODEC.stream_renderer(ASKED)
    renderer.render([Started("r", "m"), TextDelta(0, 0, b'"x"')])
    assert events_in(renderer.close())[-1]["type"] == "response.failed"
    assert renderer.close() == b""


def test_a_failed_response_is_a_failure() -> None:
    failure = collect(
        parse_answer(b'{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}')
    )
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.RATE_LIMIT


def test_a_pair_cut_between_events_is_whole_again() -> None:
    """Q37."""
    start = {"type": "response.created", "response": {"id": "r", "model": "m"}}
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    end = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
    wire = sse(start, {**delta, "delta": "HALF1"}, {**delta, "delta": "HALF2"}, end)
    wire = wire.replace(b"HALF1", b"a\\ud83c").replace(b"HALF2", b"\\udf0db")
    assert folded(parsed(CODEC, wire)).choices[0].parts[0].text == "a🌍b"  # type: ignore[attr-defined]


def test_an_error_without_a_type_keeps_its_words() -> None:
    failed = parsed(CODEC, sse({"error": {"message": "Down", "code": 503}}))[-1]
    assert isinstance(failed, Failed)
    assert failed.failure.message == "Down"


def test_fragments_that_come_after_their_call_are_not_told_twice() -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "t", "name": "f", "arguments": "{}"}
    wire = sse(
        {"type": "response.output_item.added", "output_index": 0, "item": {**call, "arguments": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [call]}},
    )
    (found,) = folded(parsed(CODEC, wire)).choices[0].parts
    assert found.arguments == b"{}"  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_was_not_finished_is_a_failure_though_it_names_no_error(status: str) -> None:
    """X11."""
    body = {"id": "r", "object": "response", "status": status, "error": None, "output": []}
    (failed,) = parse_answer(orjson.dumps(body))
    assert isinstance(failed, Failed)
    assert status in failed.failure.message


def test_the_words_of_a_sound_are_text() -> None:
    pieces = [(b'"AAAA"', b'"Hello"'), (b'"BBBB"', b'" there"')]
    told: list[Event] = [MediaDelta(0, 0, MediaKind.AUDIO, "", data, words) for data, words in pieces]
    events = [Started("r", "m"), *told, Stopped(0, Stop.END), Ended()]
    for again in (
        parsed(CODEC, rendered(CODEC, events)),
        parse_answer(render_answer(folded(events), ASKED)),
    ):
        assert [part.text for part in folded(again).choices[0].parts] == ["Hello there"]  # type: ignore[attr-defined]


ENDS = {Stop.END: 1700000007, Stop.LENGTH: None, Stop.FILTER: None}


@pytest.mark.parametrize("reason", ENDS)
def test_only_a_completed_response_says_when_it_was(reason: Stop) -> None:
    """As OpenAI's own: null while it is in progress and if it is incomplete, whole seconds if it is completed."""
    ticking = AnswerContext(model="m", created=1700000000, clock=lambda: 1700000007.9)
    events = [Started("r", "m"), TextDelta(0, 0, b'"Hi"'), Stopped(0, reason), Ended()]
    whole = orjson.loads(render_answer(folded(events), ticking))
    streamed = DIALECT.answers.stream_renderer(ticking).render(events)
    frames = read_events(streamed)
    told = [frame["response"]["completed_at"] for frame in frames if "response" in frame]
    assert (whole["completed_at"], told) == (ENDS[reason], [None, None, ENDS[reason]])


def test_a_response_is_not_completed_before_it_is_created() -> None:
    events = [Started("r", "m", 1700000009), TextDelta(0, 0, b'"Hi"'), Stopped(0, Stop.END), Ended()]
    late = AnswerContext(model="m", clock=lambda: 1700000000.0)
    assert orjson.loads(render_answer(folded(events), late))["completed_at"] == 1700000009
    assert orjson.loads(render_answer(folded(events), AnswerContext()))["completed_at"] == 1700000009


@pytest.mark.parametrize(
    ("body", "completed_at"),
    [
        ({"status": "completed"}, 1700000007),
        ({}, 1700000007),
        ({"status": "incomplete"}, None),
        ({"status": "completed", "completed_at": None}, None),
        ({"status": "completed", "completed_at": 5}, 5),
    ],
)
def test_a_completed_response_of_another_vendor_says_when_it_was(body: Any, completed_at: int | None) -> None:
    ticking = AnswerContext(model="m", created=1700000000, clock=lambda: 1700000007.9)
    completed = orjson.loads(DIALECT.answers.complete(orjson.dumps({"id": "resp_1", **body}), ticking))
    assert completed["completed_at"] == completed_at


def ended_by(kind: str, status: str) -> bytes:
    return sse({"type": kind, "response": {"id": "r", "status": status, "output": [], "error": None}})


def text_event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.output_text.{kind}", "output_index": 0, "content_index": 0, **more}


@pytest.mark.parametrize(("status", "kinds"), [("completed", [Ended]), ("incomplete", [Ended]), ("failed", [Failed])])
def test_a_stream_may_end_as_one_of_the_realtime_api_does(status: str, kinds: list[type[Event]]) -> None:
    events = parsed(CODEC, sse(text_event("delta", delta="Hi")) + ended_by("response.done", status))
    assert [type(event) for event in events if type(event) in (Ended, Failed)] == kinds


REST = [
    ("Hel", "Hello.", "Hello."),
    ("Hel", "Hel", "Hel"),
    ("Hello.", "Hel", "Hello."),
    ("Hel", "Other words.", "Hel"),
    ("\u00e9", "\u00e9\u00e9 \\n", "\u00e9\u00e9 \\n"),
]


@pytest.mark.parametrize("event", ["text", "item"])
@pytest.mark.parametrize(("streamed", "whole", "expected"), REST)
def test_the_rest_of_a_text_that_its_pieces_left_out_is_told(
    event: str, streamed: str, whole: str, expected: str
) -> None:
    content = {"type": "output_text", "text": whole, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [content]}
    done = text_event("done", text=whole) if event == "text" else {}
    done = done or {"type": "response.output_item.done", "output_index": 0, "item": item}
    pieces = [text_event("delta", delta=piece) for piece in (streamed[:1], streamed[1:]) if piece]
    wire = b"".join([sse(one) for one in (*pieces, done)]) + ended_by("response.completed", "completed")
    reply = collect(parsed(CODEC, wire))
    assert isinstance(reply, Reply)
    assert reply.choices[0].parts == (Text(quote(expected)),)
