"""Converse answers: blocks, usage, stops, exceptions and damaged frames, whole and streamed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.conversation.collect import collect
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Call, Reasoning, Text
from dragoman.conversation.replies import Reply, Stop
from dragoman.dialects.anthropic import answer_parse, answer_render
from dragoman.dialects.bedrock import answer_parse as bedrock_parse
from dragoman.dialects.bedrock import answer_render as bedrock_render
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.wire.aws_event_stream import render_frame
from dragoman.wire.error_bodies import parse_failure

BEDROCK = dialect("bedrock").answers
CONTEXT = AnswerContext(model="m", id="req-1")
USAGE = {"inputTokens": 3, "outputTokens": 9, "totalTokens": 2086, "cacheReadInputTokens": 2074}
CALL = {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": {"city": "Köln"}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}


def whole(*blocks: dict[str, Any], stop: str = "end_turn") -> bytes:
    message = {"role": "assistant", "content": list(blocks)}
    return orjson.dumps(
        {"output": {"message": message}, "stopReason": stop, "usage": USAGE, "metrics": {"latencyMs": 5}}
    )


def read(body: bytes) -> Reply:
    reply = collect(BEDROCK.parse(body))
    assert isinstance(reply, Reply)
    return reply


def frame(kind: str, payload: dict[str, Any], message: str = "event") -> bytes:
    named = ":event-type" if message == "event" else ":exception-type"
    headers = {named: kind, ":content-type": "application/json", ":message-type": message}
    return render_frame(headers, orjson.dumps({**payload, "p": "abcdef"}))


START = frame("messageStart", {"role": "assistant"})
END = frame("messageStop", {"stopReason": "tool_use"}) + frame(
    "metadata", {"usage": USAGE, "metrics": {"latencyMs": 5}}
)
STREAM = b"".join(
    [
        START,
        frame("contentBlockDelta", {"delta": {"reasoningContent": {"text": "Hm."}}, "contentBlockIndex": 0}),
        frame("contentBlockDelta", {"delta": {"reasoningContent": {"signature": "c2ln"}}, "contentBlockIndex": 0}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
        frame("contentBlockDelta", {"delta": {"text": "Let me "}, "contentBlockIndex": 1}),
        frame("contentBlockDelta", {"delta": {"text": "look."}, "contentBlockIndex": 1}),
        frame("contentBlockStop", {"contentBlockIndex": 1}),
        frame(
            "contentBlockStart",
            {"start": {"toolUse": {"toolUseId": "tooluse_1", "name": "look"}}, "contentBlockIndex": 2},
        ),
        frame("contentBlockDelta", {"delta": {"toolUse": {"input": ""}}, "contentBlockIndex": 2}),
        frame("contentBlockDelta", {"delta": {"toolUse": {"input": '{"city":"K'}}, "contentBlockIndex": 2}),
        frame("contentBlockDelta", {"delta": {"toolUse": {"input": 'öln"}'}}, "contentBlockIndex": 2}),
        frame("contentBlockStop", {"contentBlockIndex": 2}),
        END,
    ]
)


def streamed(wire: bytes, size: int = 4096) -> Reply | Failure:
    parser = BEDROCK.stream_parser()
    found = [event for at in range(0, len(wire), size) for event in parser.feed(wire[at : at + size])]
    return collect([*found, *parser.close()])


def test_a_whole_answer_and_its_parts() -> None:
    reply = read(whole(THOUGHT, {"text": "Let me look."}, CALL, stop="tool_use"))
    thought, text, call = reply.choices[0].parts
    assert isinstance(thought, Reasoning)
    assert isinstance(text, Text)
    assert isinstance(call, Call)
    assert (text.text, reply.choices[0].stop) == ("Let me look.", Stop.CALLS)
    assert orjson.loads(call.arguments) == {"city": "Köln"}
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (2077, 9, 2074)
    again = orjson.loads(BEDROCK.render(reply, CONTEXT))
    assert again["output"]["message"]["content"] == [THOUGHT, {"text": "Let me look."}, CALL]
    assert {key: again["usage"][key] for key in USAGE} == USAGE


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_a_stream_in_any_cut_is_the_whole_answer(size: int) -> None:
    reply = streamed(STREAM, size)
    assert isinstance(reply, Reply)
    same = read(whole(THOUGHT, {"text": "Let me look."}, CALL, stop="tool_use"))
    assert reply.choices[0].parts == same.choices[0].parts
    assert (reply.choices[0].stop, reply.usage) == (same.choices[0].stop, same.usage)


def test_what_is_streamed_reads_back_equal() -> None:
    events = BEDROCK.parse(whole(THOUGHT, {"text": "Hi."}, CALL, stop="tool_use"))
    renderer = BEDROCK.stream_renderer(CONTEXT)
    again = streamed(renderer.render(events) + renderer.close())
    assert isinstance(again, Reply)
    assert again.choices[0].parts == read(whole(THOUGHT, {"text": "Hi."}, CALL)).choices[0].parts


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.STOP_SEQUENCE),
        ("max_tokens", Stop.LENGTH),
        ("guardrail_intervened", Stop.FILTER),
        ("content_filtered", Stop.FILTER),
    ],
)
def test_stops(word: str, stop: Stop) -> None:
    assert read(whole({"text": "Hi."}, stop=word)).choices[0].stop is stop


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("throttlingException", FailureKind.RATE_LIMIT),
        ("serviceUnavailableException", FailureKind.OVERLOADED),
        ("internalServerException", FailureKind.SERVER),
        ("validationException", FailureKind.BAD_REQUEST),
    ],
)
def test_an_exception_in_the_stream_is_a_failure(name: str, kind: FailureKind) -> None:
    failed = streamed(START + frame(name, {"message": "Not now."}, "exception"))
    assert isinstance(failed, Failure)
    assert (failed.kind, failed.message) == (kind, "Not now.")


@pytest.mark.parametrize("damage", ["cut", "crc", "length"])
def test_a_damaged_stream_is_never_a_success(damage: str) -> None:
    wire = {
        "cut": STREAM[:-7],
        "crc": STREAM[:-20] + b"\0" + STREAM[-19:],
        "length": b"\xff" + STREAM[1:],
    }[damage]
    failed = streamed(wire)
    assert isinstance(failed, Failure)
    assert failed.kind is FailureKind.BROKEN_STREAM


def test_a_stream_without_its_metadata_is_broken() -> None:
    assert isinstance(
        streamed(START + frame("contentBlockDelta", {"delta": {"text": "x"}, "contentBlockIndex": 0})), Failure
    )


@pytest.mark.parametrize(
    ("status", "name", "body", "kind"),
    [
        (429, "ThrottlingException", {"message": "Too many requests"}, FailureKind.RATE_LIMIT),
        (403, "AccessDeniedException", {"message": "You don't have access to the model"}, FailureKind.PERMISSION),
        (403, "", {"Message": "Authentication failed: Please make sure your API Key is valid."}, FailureKind.AUTH),
        (400, "ValidationException", {"message": "Input is too long for requested model."}, FailureKind.CONTEXT_LENGTH),
        (400, "ValidationException", {"message": "The text field is blank."}, FailureKind.BAD_REQUEST),
    ],
)
def test_errors_and_their_classes(status: int, name: str, body: dict[str, str], kind: FailureKind) -> None:
    headers = {"x-amzn-errortype": f"{name}:http://internal.amazon.com/coral/"} if name else {}
    failure = parse_failure(status, headers, orjson.dumps(body))
    assert failure.kind is kind
    assert failure.message == next(iter(body.values()))
    told, named, words = BEDROCK.render_error(failure, CONTEXT)
    assert (told >= 400, named["x-amzn-errortype"].endswith("Exception")) == (True, True)
    assert failure.message in orjson.loads(words)["message"]


LIFETIMES = [({"5m": 10, "1h": 30}, 10, 30), ({"5m": 40}, 40, 0), ({"1h": 40}, 0, 40)]


@pytest.mark.parametrize(("kept", "short", "long"), LIFETIMES)
def test_lifetimes_of_cached_tokens_are_written_in_the_words_of_both_platforms(
    kept: dict[str, int], short: int, long: int
) -> None:
    details = [{"ttl": name, "inputTokens": tokens} for name, tokens in kept.items()]
    usage = bedrock_parse.parse_usage(orjson.dumps({**USAGE, "cacheWriteInputTokens": 40, "cacheDetails": details}))
    assert usage is not None
    assert (usage.kept_short, usage.kept_long) == (short, long)
    written = orjson.loads(answer_render.render_usage(usage))
    assert written["cache_creation"] == {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long}
    counter = answer_parse.UsageCounter()
    counter.add(orjson.dumps(written))
    back = orjson.loads(bedrock_render.render_usage(counter.usage()))
    assert {one["ttl"]: one["inputTokens"] for one in back["cacheDetails"]} == kept


def test_lifetimes_that_nobody_states_are_not_written() -> None:
    usage = bedrock_parse.parse_usage(orjson.dumps({**USAGE, "cacheWriteInputTokens": 40}))
    assert orjson.loads(answer_render.render_usage(usage))["cache_creation"] is None
    assert "cacheDetails" not in orjson.loads(bedrock_render.render_usage(usage))
