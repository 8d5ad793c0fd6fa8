"""Gemini's replies, streams and errors: recorded ones, and the corners that recordings do not have."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.corpus import sampled
from tests.recorded_answers import Recording, cut, meaning, recordings
from tests.sdk_readers import Loopback

from dragoman.conversation.changes import NOTHING_TO_UNDO
from dragoman.conversation.collect import UNFINISHED, collect
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    MediaDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Call, MediaKind, Opaque, Origin, Reasoning, Text
from dragoman.conversation.replies import Choice, Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.gemini.answer_render import render_answer, render_error
from dragoman.dialects.gemini.stream import GeminiStreamParser, GeminiStreamRenderer, parse_whole
from dragoman.engine.answer.translation import Translation
from dragoman.wire.error_bodies import parse_failure

ANSWERING = AnswerContext(model="shown", id="resp_1")
ARRAY = AnswerContext(model="shown", id="resp_1", framing=Framing.JSON_ARRAY)


def parsed(wire: bytes, size: int = 1 << 20, seed: str = "") -> list[Event]:
    parser = GeminiStreamParser(seed=seed)
    return [event for chunk in cut(wire, size) for event in parser.feed(chunk)] + parser.close()


def events_of(recording: Recording) -> list[Event]:
    return parsed(recording.wire) if recording.stream else parse_whole(recording.wire)


def whole(*parts: dict[str, Any], finish: str = "STOP", **others: Any) -> bytes:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "finishReason": finish}
    return orjson.dumps({"candidates": [candidate], "responseId": "r", **others})


def read(body: bytes) -> Reply:
    reply = collect(parse_whole(body))
    assert isinstance(reply, Reply), reply
    return reply


@pytest.mark.parametrize("answering", [AnswerContext(), AnswerContext(framing=Framing.JSON_ARRAY)])
def test_a_recorded_answer_written_and_read_again_is_the_same(answering: AnswerContext) -> None:
    count = 0
    for recording in recordings("gemini"):
        if not sampled(recording.id, 4):
            continue
        events = events_of(recording)
        reply = collect(events)
        assert isinstance(reply, Reply), recording.id
        renderer = GeminiStreamRenderer(answering)
        assert meaning(collect(parsed(renderer.render(events) + renderer.close()))) == meaning(reply), recording.id
        assert meaning(collect(parse_whole(render_answer(reply, answering)))) == meaning(reply), recording.id
        count += 1
    print(f"{count} recorded answers read, written and read again")


def test_a_tool_call_ends_with_STOP_and_is_told_by_its_parts() -> None:
    reply = read(whole({"functionCall": {"name": "f", "args": {"a": 1}}}))
    assert reply.choices[0].stop is Stop.CALLS
    assert orjson.loads(render_answer(reply, ANSWERING))["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("STOP", Stop.END),
        ("MAX_TOKENS", Stop.LENGTH),
        ("SAFETY", Stop.FILTER),
        ("RECITATION", Stop.FILTER),
        ("BLOCKLIST", Stop.FILTER),
        ("PROHIBITED_CONTENT", Stop.FILTER),
        ("SPII", Stop.FILTER),
        ("MODEL_ARMOR", Stop.FILTER),
        ("IMAGE_SAFETY", Stop.FILTER),
        ("MALFORMED_FUNCTION_CALL", Stop.BROKEN_CALL),
        ("UNEXPECTED_TOOL_CALL", Stop.BROKEN_CALL),
        ("CONTINUATION", Stop.PAUSE),
        ("OTHER", Stop.ERROR),
        ("MISSING_THOUGHT_SIGNATURE", Stop.ERROR),
        ("ESCALATION", Stop.FILTER),
        ("PUP_LIMITED_DISABLED", Stop.FILTER),
        ("SOMETHING_NEW", Stop.END),
    ],
)
def test_finish_reasons(said: str, reason: Stop) -> None:
    reply = read(whole({"text": "Hi"}, finish=said))
    assert reply.choices[0].stop is reason
    written = orjson.loads(render_answer(reply, ANSWERING))["candidates"][0]["finishReason"]
    assert written == (said if said != "SOMETHING_NEW" else "STOP")


def test_a_finish_that_we_do_not_know_is_a_breakdown_if_nothing_was_said() -> None:
    assert read(whole(finish="SOMETHING_NEW")).choices[0].stop is Stop.ERROR


@pytest.mark.parametrize(
    ("cached", "audio"), [(None, 100), ([{"modality": "AUDIO", "tokenCount": 30}], 70), ([7, {"modality": 7}], 100)]
)
def test_tokens_of_sound_are_counted_as_some_of_the_input(cached: object, audio: int) -> None:
    details = [{"modality": "TEXT", "tokenCount": 20}, {"modality": "AUDIO", "tokenCount": 100}]
    told = {"promptTokenCount": 120, "candidatesTokenCount": 5, "totalTokenCount": 125, "promptTokensDetails": details}
    reply = read(whole({"text": "Hi"}, usageMetadata=told | ({"cacheTokensDetails": cached} if cached else {})))
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.audio) == (120, audio)


@pytest.mark.parametrize("candidates", [{}, {"candidates": []}, {"candidates": None}])
def test_an_answer_without_a_candidate_is_a_failure_however_it_comes(candidates: dict[str, Any]) -> None:
    """Whole it was an empty answer that had ended well, which agents take for the end of their work."""
    body = orjson.dumps({**candidates, "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4}})
    assert collect(parse_whole(body)) == collect(parsed(b"data: " + body + b"\r\n\r\n")) == UNFINISHED


def test_a_blocked_prompt_is_a_filter_without_a_candidate() -> None:
    body = orjson.dumps({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}})
    reply = read(body)
    assert (reply.choices[0].stop, reply.choices[0].word, reply.choices[0].parts) == (Stop.FILTER, "SAFETY", ())
    again = orjson.loads(render_answer(reply, ANSWERING))
    assert "candidates" not in again
    assert again["promptFeedback"] == {"blockReason": "SAFETY"}
    assert isinstance(parsed(b"data: " + body + b"\r\n\r\n")[-1], Ended)


def test_usage_holds_thoughts_beside_the_answer_and_tool_results_beside_the_prompt() -> None:
    told = {
        "promptTokenCount": 31,
        "candidatesTokenCount": 12,
        "thoughtsTokenCount": 51,
        "toolUsePromptTokenCount": 984,
        "totalTokenCount": 1078,
        "cachedContentTokenCount": 5,
    }
    reply = read(whole({"text": "Hi"}, usageMetadata=told))
    assert reply.usage is not None
    usage = reply.usage
    assert (usage.input, usage.output, usage.reasoning, usage.cached) == (1015, 63, 51, 5)
    assert orjson.loads(render_answer(reply, ANSWERING))["usageMetadata"] == told


def test_a_call_without_an_id_gets_one_by_the_response_and_its_number() -> None:
    """Q11."""

    def ids(body: bytes, seed: str = "") -> list[str]:
        return [event.id for event in parse_whole(body, seed=seed) if isinstance(event, CallStarted)]

    two = [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}]
    first = ids(whole(*two))
    assert len(set(first)) == 2
    assert first == ids(whole(*two))
    assert set(first).isdisjoint(ids(whole(*two, responseId="another")))
    assert set(ids(whole(*two, responseId=""), "seed-1")).isdisjoint(ids(whole(*two, responseId=""), "seed-2"))
    assert ids(whole({"functionCall": {"name": "f", "id": "own"}})) == ["own"]


def test_signatures_stay_with_the_part_they_came_on() -> None:
    reply = read(
        whole(
            {"text": "Hm", "thought": True, "thoughtSignature": "AAA="},
            {"text": "Hi", "thoughtSignature": "BBB="},
            {"functionCall": {"name": "f"}, "thoughtSignature": "CCC="},
            {"text": "", "thoughtSignature": "DDD="},
        )
    )
    thought, text, call, empty = reply.choices[0].parts
    assert isinstance(thought, Reasoning)
    assert isinstance(text, Text)
    assert isinstance(call, Call)
    assert isinstance(empty, Text)
    held = [thought.state, text.signature, call.signature, empty.signature]
    assert [state.json for state in held if state] == [b'"AAA="', b'"BBB="', b'"CCC="', b'"DDD="']
    parts = orjson.loads(render_answer(reply, ANSWERING))["candidates"][0]["content"]["parts"]
    assert [part["thoughtSignature"] for part in parts] == ["AAA=", "BBB=", "CCC=", "DDD="]


def test_arguments_that_stream_as_values_at_paths_are_put_together() -> None:
    def chunk(call: dict[str, Any], **others: Any) -> bytes:
        candidate = {"content": {"parts": [{"functionCall": call}]}, **others}
        return b"data: " + orjson.dumps({"candidates": [candidate], "responseId": "r"}) + b"\r\n\r\n"

    pieces = [
        {"name": "f", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.a", "stringValue": "y"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.list[1].price", "numberValue": 0.5}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.yes", "boolValue": True}, {"jsonPath": "$.no"}], "willContinue": True},
        {},
        {"name": "g"},
    ]
    wire = b"".join(map(chunk, pieces)) + chunk({"name": "h", "args": {"b": 2}}, finishReason="STOP")
    reply = collect(parsed(wire, 9))
    assert isinstance(reply, Reply)
    calls = [part for part in reply.choices[0].parts if isinstance(part, Call)]
    assert [(call.name, orjson.loads(call.arguments)) for call in calls] == [
        ("f", {"a": "xy", "list": [None, {"price": 0.5}], "yes": True, "no": None}),
        ("g", {}),
        ("h", {"b": 2}),
    ]


def test_pictures_code_and_sources_are_kept() -> None:
    parts: list[dict[str, Any]] = [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "U0lH"},
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "Hi"},
    ]
    body = orjson.loads(whole(*parts))
    body["candidates"][0]["groundingMetadata"] = {"groundingChunks": [{"web": {"uri": "https://a.example"}}]}
    events = parse_whole(orjson.dumps(body))
    assert [event.kind for event in events if isinstance(event, MediaDelta)] == [MediaKind.IMAGE]
    assert [event.json for event in events if isinstance(event, Cited)] == [b'{"web":{"uri":"https://a.example"}}']
    candidate = orjson.loads(render_answer(read(orjson.dumps(body)), ANSWERING))["candidates"][0]
    assert candidate["content"]["parts"] == parts
    assert candidate["groundingMetadata"] == body["candidates"][0]["groundingMetadata"]


@pytest.mark.parametrize("answering", [ANSWERING, ARRAY])
def test_a_stream_that_breaks_off_ends_with_an_error(answering: AnswerContext) -> None:
    """X11."""
    renderer = GeminiStreamRenderer(answering)
    wire = renderer.render([Started("r", "g"), TextDelta(0, 0, b'"Hi"')]) + renderer.close()
    last = parsed(wire)[-1]
    assert isinstance(last, Failed)
    assert b'"finishReason"' not in wire
    if answering.framing is Framing.JSON_ARRAY:
        assert [next(iter(one)) for one in orjson.loads(wire)] == ["candidates", "error"]
    else:
        assert wire.endswith(b"\r\n\r\n")
        assert b"[DONE]" not in wire


def test_an_array_stream_is_one_json_value() -> None:
    renderer = GeminiStreamRenderer(ARRAY)
    events: list[Event] = [Started("r", "g"), TextDelta(0, 0, b'"H"'), TextDelta(0, 0, b'"i"'), Stopped(0, Stop.END)]
    wire = b"".join(renderer.render([event]) for event in [*events, Used(Usage(1, 2)), Ended()]) + renderer.close()
    texts = [one["candidates"][0]["content"]["parts"][0]["text"] for one in orjson.loads(wire)]
    assert texts == ["H", "i"]
    assert parse_whole(wire) == parsed(wire)
    assert isinstance(parse_whole(wire)[-1], Ended)


def test_calls_are_written_whole_and_in_their_order() -> None:
    state = Opaque(kind="signature", json=b'"c2ln"', origin=Origin("anthropic"))
    events: list[Event] = [
        Started("r", "g"),
        CallStarted(0, 0, "a", "first"),
        Signed(0, 0, state),
        CallStarted(0, 1, "b", "second"),
        CallDelta(0, 1, b'"{\\"x\\":2}"'),
        CallEnded(0, 1),
        TextDelta(0, 2, b'"Hi"'),
        CallDelta(0, 0, b'"{\\"y\\":1}"'),
        CallEnded(0, 0),
        Stopped(0, Stop.CALLS),
        Ended(),
    ]
    renderer = GeminiStreamRenderer(ANSWERING)
    reply = collect(parsed(renderer.render(events)))
    assert isinstance(reply, Reply)
    first, second, text = reply.choices[0].parts
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    assert isinstance(text, Text)
    assert (first.arguments, second.arguments, text.text) == (b'{"y":1}', b'{"x":2}', "Hi")
    assert first.signature == state


@pytest.mark.parametrize(
    "wire",
    [
        b"data: {not json}\r\n\r\n" * 50,
        b"\x00\xff\xfe" * 1000,
        b": comment\n" * 10_000,
        b"<html><body>502 Bad Gateway</body></html>",
        b"[" * 5000,
        b'[{"candidates":[{"content":{"parts":[{"text":"Hi"',
        b'{"candidates": 7}',
        b'data: {"candidates":[{"content":{"parts":[{"text":7},{"functionCall":{}},{}]}}]}\n\n',
        b'data: {"candidates":[{"content":{"parts":[{"inlineData":7},{"odd":[]}]},"index":-3}]}\n\n',
        b'data: {"candidates":[{"content":{"parts":[{"text":"\xff"}]}}]}\n\n',
        b'data: {"usageMetadata":7}\n\ndata: null\n\ndata: [1]\n\n',
        b'data: {"error":{"code":503,"message":"Down","status":"UNAVAILABLE"}}\r\n\r\n',
    ],
)
def test_garbage_ends_in_a_failure_and_nothing_rises(wire: bytes) -> None:
    for size in (1 << 20, 3):
        assert isinstance(parsed(wire, size)[-1], Failed)
    assert isinstance(parse_whole(wire)[-1], Failed)


@pytest.mark.parametrize("start", [b"data: ", b"[{"])
def test_a_chunk_without_end_is_refused_before_it_fills_the_memory(start: bytes) -> None:
    parser = GeminiStreamParser()
    events = parser.feed(start)
    for _ in range(40):
        events += parser.feed(b"x" * 1_000_000)
    assert isinstance(events[-1], Failed)
    assert parser.close() == []


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (
            Failure(FailureKind.CONTEXT_LENGTH, "Too long.", tokens=12, limit=10),
            "The input token count (12) exceeds the maximum number of tokens allowed (10). Too long.",
        ),
        (
            Failure(FailureKind.CONTEXT_LENGTH, "Too long."),
            "The input token count exceeds the maximum number of tokens allowed. Too long.",
        ),
    ],
)
def test_a_prompt_that_is_too_long_is_told_in_geminis_words(failure: Failure, message: str) -> None:
    """D12."""
    status, _, body = render_error(failure, ANSWERING)
    assert (status, orjson.loads(body)["error"]["message"]) == (400, message)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_of_failure_is_read_back_as_itself_or_its_nearest(kind: FailureKind) -> None:
    near = {
        FailureKind.CONTENT_FILTER: FailureKind.BAD_REQUEST,
        FailureKind.CONTEXT_LENGTH: FailureKind.BAD_REQUEST,
        FailureKind.NETWORK: FailureKind.OVERLOADED,
        FailureKind.BROKEN_STREAM: FailureKind.OVERLOADED,
        FailureKind.ANSWER_TOO_LARGE: FailureKind.SERVER,
        FailureKind.QUOTA: FailureKind.RATE_LIMIT,
        FailureKind.TOO_LARGE: FailureKind.BAD_REQUEST,
    }
    status, headers, body = render_error(Failure(kind, "Words.", retry_after=1.5), ANSWERING)
    assert headers["retry-after"] == "2"
    assert parse_failure(status, headers, body).kind in (kind, near.get(kind))
    assert parse_failure(status, {}, body).retry_after == 1.5


def test_usage_adds_up_if_a_server_claims_to_have_thought_more_than_it_wrote() -> None:
    reply = Reply(choices=(Choice(()),), usage=Usage(input=1, output=16, reasoning=19))
    told = orjson.loads(render_answer(reply, ANSWERING))["usageMetadata"]
    assert (told["candidatesTokenCount"], told["thoughtsTokenCount"], told["totalTokenCount"]) == (0, 16, 17)


@pytest.mark.parametrize("said", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "SOMETHING_NEW"])
def test_a_broken_call_is_a_breakdown_if_nothing_but_thoughts_was_said(said: str) -> None:
    reply = read(whole({"text": "Hm", "thought": True}, finish=said))
    assert reply.choices[0].stop is Stop.ERROR
    written = orjson.loads(render_answer(reply, ANSWERING))["candidates"][0]["finishReason"]
    assert written == (said if said != "SOMETHING_NEW" else "OTHER")


def test_what_is_spread_over_lines_is_written_into_frames_of_one() -> None:
    """Arguments that another dialect holds as text, and the chunks of an array, may have line ends in them."""
    renderer = GeminiStreamRenderer(ANSWERING)
    events: list[Event] = [Started("r", "g"), CallStarted(0, 0, "a", "f"), CallDelta(0, 0, b'"{\\n  \\"x\\": 1\\n}"')]
    wire = renderer.render([*events, CallEnded(0, 0), Stopped(0, Stop.CALLS), Ended()])
    chunk = orjson.dumps(orjson.loads(whole({"executableCode": {"code": "1"}})), option=orjson.OPT_INDENT_2)
    parser, again = GeminiStreamParser(), GeminiStreamRenderer(ANSWERING)
    wire += again.render([*parser.feed(b"[" + chunk + b"]"), *parser.close()])
    frames = wire.split(b"\r\n\r\n")[:-1]
    assert len(frames) == 2
    assert all(frame.startswith(b"data: {") and b"\n" not in frame for frame in frames)


@pytest.mark.parametrize("odd", ["x", [1], {"a": 1}, -1, None])
def test_counts_and_probabilities_of_the_wrong_kind_harm_nothing(odd: Any) -> None:
    reply = read(whole({"text": "Hi"}, usageMetadata={"promptTokenCount": 3, "toolUsePromptTokenCount": odd}))
    assert orjson.loads(render_answer(reply, ANSWERING))["usageMetadata"]["promptTokenCount"] == 3
    picture = {"inlineData": {"mimeType": "image/png", "data": odd if odd != "x" else 0}}
    assert read(whole(picture)).choices[0].parts == ()
    tokens = orjson.dumps([{"token": "Hi", "logprob": -1, "top_logprobs": odd if isinstance(odd, list) else [odd]}])
    renderer = GeminiStreamRenderer(ANSWERING)
    assert b"chosenCandidates" in renderer.render([Started("r", "g"), TextDelta(0, 0, b'"Hi"', tokens), Ended()])


def test_a_text_that_is_signed_in_its_first_piece_stays_one_text() -> None:
    """Gemini 2.5 signs the first piece of a streamed text. Clients take the last message or block for it (K22)."""
    pieces = [{"text": "Ra", "thoughtSignature": "c2lnbmF0dXJlLW9mLXRleHQ="}, {"text": "in"}, {"text": " here."}]
    chunks: list[Any] = [{"candidates": [{"content": {"role": "model", "parts": [piece]}}]} for piece in pieces]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    wire = b"".join(b"data: " + orjson.dumps(chunk) + b"\r\n\r\n" for chunk in chunks)
    for client in ("openai-responses", "anthropic", "openai-chat"):
        translation = Translation("gemini", client, NOTHING_TO_UNDO, AnswerContext(model="m"))
        shown = translation.feed(wire) + translation.close()
        assert shown.count(b'"response.content_part.added"') <= 2  # the event's name and its type
        assert shown.count(b'"content_block":{"type":"text"') <= 1
    parser = GeminiStreamParser()
    events = parser.feed(wire) + parser.close()
    signed = [at for at, event in enumerate(events) if isinstance(event, Signed)]
    texts = [at for at, event in enumerate(events) if isinstance(event, TextDelta)]
    assert len(signed) == 1
    assert signed[0] > texts[-1]
    assert {events[at].part for at in (*texts, *signed)} == {events[signed[0]].part}


def test_probabilities_belong_to_the_text_and_not_to_the_thought_before_it() -> None:
    probable = {"chosenCandidates": [{"token": "Hi", "logProbability": -0.5}]}
    candidate = {
        "content": {"role": "model", "parts": [{"text": "A greeting.", "thought": True}, {"text": "Hi"}]},
        "finishReason": "STOP",
        "logprobsResult": probable,
    }
    [choice] = read(orjson.dumps({"candidates": [candidate]})).choices
    assert choice.logprobs is not None
    assert [token["token"] for token in orjson.loads(choice.logprobs)] == ["Hi"]


def test_the_sdk_reads_texts_with_letters_that_end_a_line(sdks: Loopback) -> None:
    """It takes a stream line by line, and finds more ends of lines than JSON has."""
    words = "a\u2028b\u2029c\x85d"
    renderer = GeminiStreamRenderer(AnswerContext(model="m"))
    out = renderer.render([TextDelta(0, 0, quote(words)), Stopped(0, Stop.END), Ended()])
    assert sdks.read("gemini", out, stream=True).text == words
