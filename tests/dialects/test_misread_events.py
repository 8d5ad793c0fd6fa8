"""A relayed Anthropic stream of another server, as Anthropic's SDK reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.corpus import exchanges, sampled
from tests.recorded_answers import make_recording
from tests.sdk_readers import Loopback, loopback

from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.translation import Translation


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


def _start(**more: Any) -> Any:
    usage = {"input_tokens": 7, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x", "usage": usage, **more}
    return {"type": "message_start", "message": message}


def _open(index: Any, **block: Any) -> Any:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _grow(index: Any, kind: str, member: str, words: Any) -> Any:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, member: words}}


def _say(words: Any, index: Any = 0) -> Any:
    return _grow(index, "text_delta", "text", words)


def _think(words: str, index: int = 0) -> Any:
    return _grow(index, "thinking_delta", "thinking", words)


def _fill(words: Any, index: int = 0) -> Any:
    return _grow(index, "input_json_delta", "partial_json", words)


def _close(index: Any) -> Any:
    return {"type": "content_block_stop", "index": index}


def _end(reason: str | None = "end_turn", usage: Any = None) -> Any:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or {"output_tokens": 3}}


TEXT, STOP = _open(0, type="text", text=""), {"type": "message_stop"}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
BARE_END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
STREAMS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "no usage": ((_start(usage=None), TEXT, _say("Hi"), _close(0), BARE_END, STOP), {"usage": (0, 0, 0)}),
    "half a usage": (
        (_start(usage={"input_tokens": 7}), TEXT, _say("Hi"), _close(0), _end(), STOP),
        {"usage": (7, 3, 0)},
    ),
    "a zero at the end": (
        (_start(), TEXT, _say("Hi"), _close(0), _end(usage={"input_tokens": 0, "output_tokens": 3}), STOP),
        {"usage": (7, 3, 0)},
    ),
    "no head": ((TEXT, _say("Hi"), _close(0), _end(), STOP), {}),
    "two heads": ((_start(), _start(), TEXT, _say("Hi"), _close(0), _end(), STOP), {}),
    "content that is null": ((_start(content=None), TEXT, _say("Hi"), _close(0), _end(), STOP), {}),
    "no head of a block": ((_start(), _say("Hi"), _end(), STOP), {}),
    "a block without text": ((_start(), _open(0, type="text"), _say("Hi"), _close(0), _end(), STOP), {}),
    "a text that is null": ((_start(), TEXT, _say(None), _say("Hi"), _close(0), _end(), STOP), {}),
    "no index": (
        (
            _start(),
            {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
            _say("Hi", None),
            STOP,
        ),
        {},
    ),
    "a text as index": ((_start(), _open("0", type="text", text=""), _say("Hi", "0"), _close("0"), _end(), STOP), {}),
    "thoughts and text in one block": (
        (_start(), _open(0, type="thinking"), _think("Hm"), _say("Hi"), _say("!"), _close(0), _end(), STOP),
        {"text": "Hi!", "thinking": "Hm"},
    ),
    "one index for two calls": (
        (
            *(_start(), TEXT, _say("Hi"), _close(0)),
            *(_open(1, **CALL), _fill('{"a":', 1), _fill(" 1}", 1), _close(1)),
            *(_open(1, **CALL | {"id": "b"}), _fill('{"a":', 1), _fill(" 2}", 1), _close(1), _end("tool_use"), STOP),
        ),
        {"calls": (("f", '{"a": 1}'), ("f", '{"a": 2}'))},
    ),
    "calls without ids": (
        (
            *(_start(), _say("Hi"), _open(1, type="tool_use", name="f", input=None), _fill({"a": 1}, 1), _close(1)),
            *(_open(2, type="tool_use", name="f", input='{"a": 2}'), _close(2), _end("tool_use"), STOP),
        ),
        {"calls": (("f", '{"a": 1}'), ("f", '{"a": 2}'))},
    ),
}


def _relayed(events: tuple[Any, ...]) -> bytes:
    relay = Translation("anthropic", "anthropic", context=AnswerContext(id="req_1"))
    out = [relay.feed(b"event: %b\ndata: %b\n\n" % (one["type"].encode(), json.dumps(one).encode())) for one in events]
    return b"".join(out) + relay.close()


@pytest.mark.parametrize("name", STREAMS)
def test_the_sdk_reads_a_stream_of_another_server(server: Loopback, name: str) -> None:
    events, meant = STREAMS[name]
    seen = server.read("anthropic", _relayed(events), stream=True)
    found = {member: getattr(seen, member) for member in ("text", "thinking", "calls", "usage")}
    assert {member: found[member] for member in {"text": "Hi", **meant}} == {"text": "Hi", **meant}
    assert len({*seen.ids}) == len(seen.calls)


@pytest.mark.parametrize("name", STREAMS)
def test_each_block_begins_and_ends_once(name: str) -> None:
    """Claude Code takes a block up when it ends, and loses one that never does."""
    told = [json.loads(line[6:]) for line in _relayed(STREAMS[name][0]).splitlines() if line.startswith(b"data: ")]
    kinds = [(one["type"], one.get("index")) for one in told if "block" in one["type"] and "delta" not in one["type"]]
    blocks = sorted({index for _, index in kinds})
    assert blocks == [*range(len(blocks))]
    for block in blocks:
        ends = [kind for kind, index in kinds if index == block]
        assert ends == ["content_block_start", "content_block_stop"]


def test_recorded_streams_are_relayed_byte_for_byte() -> None:
    count = 0
    for exchange in exchanges("anthropic.anthropic.jsonl"):
        if (
            exchange["response"]["kind"] != "sse"
            or exchange["response"]["status"] >= 400
            or not sampled(exchange["id"], 4)
        ):
            continue
        wire = make_recording(exchange["id"], exchange["response"], Framing.SSE).wire
        relay = Translation("anthropic", "anthropic")
        own = wire.removesuffix(b"event: data\ndata: [DONE]\n\n")  # OpenRouter's end, which is none of Anthropic's
        assert relay.feed(wire) + relay.close() == own, exchange["id"]
        count += 1
    assert count


def test_an_endless_number_of_open_blocks_is_not_remembered() -> None:
    make = dialect("anthropic").answers.chunk_rewrite
    assert make is not None
    rewrite: Any = make("seed", "")
    for index in range(3_000):
        rewrite.pieces(_open(index, type="text", text=""))
    assert len(rewrite.open) < 2_000
