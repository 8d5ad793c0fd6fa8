"""Answers translated between dialects; relayed streams; failures. What SDKs make of recorded answers is tested beside
the dialects (X11)."""

from __future__ import annotations

from collections import Counter

import anthropic
import ollama
import openai
import orjson
import pytest
from botocore.exceptions import EventStreamError
from google.genai import errors as gemini_errors
from tests.corpus import exchanges
from tests.counted_work import count_calls
from tests.recorded_answers import cut
from tests.sdk_readers import WITHOUT_IDS, Loopback, ReportedFailure, Seen

from dragoman.conversation.changes import Undo
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Reasoning
from dragoman.conversation.replies import Stop
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.engine.answer.reasoning_capture import text_key
from dragoman.engine.answer.translation import Translation
from dragoman.errors import TargetError
from dragoman.wire.error_bodies import parse_failure

ANSWERING = AnswerContext(model="shown", created=1_700_000_000, id="resp_made_up", include_usage=True)
FORCED = Undo(ids={"\0": ""})


def translated(upstream: str, client: str, wire: bytes, stream: bool, size: int = 1 << 20) -> bytes:
    translation = Translation(upstream, client, FORCED, ANSWERING)
    if not stream:
        out = translation.whole(wire)
    else:
        out = b"".join(map(translation.feed, cut(wire, size))) + translation.close()
    assert translation.failure is None, translation.failure
    return out


def test_ids_and_names_reach_the_sdk_as_the_client_knows_them(sdks: Loopback) -> None:
    body = orjson.dumps(
        {
            "id": "msg_1",
            "model": "c",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "a_b", "input": {"x": 1}}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 4},
        }
    )
    undo = Undo(names={"a_b": "a.b"}, ids={"toolu_1": "call:1"})
    for client in DIALECT_NAMES:
        seen = sdks.read(client, Translation("anthropic", client, undo, ANSWERING).whole(body), False)
        shown = "" if client in WITHOUT_IDS else "call:1"
        assert seen == Seen("", (("a.b", '{"x": 1}'),), "calls", (3, 4, 0), (shown,))


_ERROR = {"bedrock": b"xception"}
"""How a stream names an error, if it does not call it so."""
_SENTENCES = ("bedrock", "cohere")
"""Dialects whose errors are a sentence, and their kind a status or a header."""

# Relayed.


def sample(dialect: str) -> bytes:
    """A recorded-like stream of that dialect, made from a Claude stream."""
    start = b'data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":11}}}\n\n'
    text = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}\n\n'
    end = b"""data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":300}}

data: {"type":"message_stop"}

"""
    return translated("anthropic", dialect, start + text * 300 + end, True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dialect", DIALECT_NAMES)
@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_equal_dialects_relay_the_bytes_and_still_see_usage_and_stop(dialect: str, size: int) -> None:
    wire = sample(dialect)
    translation = Translation(dialect, dialect, context=ANSWERING)
    assert translation.relays
    out = [translation.feed(chunk) for chunk in cut(wire, size)]
    assert b"".join(out) == wire
    assert translation.close() == b""
    assert translation.failure is None
    assert translation.stop is Stop.LENGTH
    assert translation.usage is not None
    assert (translation.usage.input, translation.usage.output) == (11, 300)


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_relayed_stream_that_breaks_off_ends_with_an_error(dialect: str, share: float) -> None:
    wire = sample(dialect)
    translation = Translation(dialect, dialect, context=ANSWERING)
    part = wire[: int(len(wire) * share)]
    out = b"".join(map(translation.feed, cut(part, 70))) if part else b""
    out += translation.close()
    end = {"gemini": b"\n\r\n", "ollama": b"\n"}.get(dialect, b"\n\n")
    whole = b"" if dialect == "bedrock" else part[: part.rfind(end) + 1]  # frames go out whole
    assert out.startswith(whole)
    assert translation.failure is not None
    assert translation.failure.kind is FailureKind.BROKEN_STREAM
    assert _ERROR.get(dialect, b"error") in out[len(whole) :]


def test_an_error_in_place_of_an_answer_is_seen_with_the_first_chunk() -> None:
    wire = b'data: {"error":{"message":"Rate limit exceeded","code":429}}\n\n'
    translation = Translation("openai-chat", "openai-chat")
    translation.feed(wire)
    assert translation.failure is not None
    assert translation.failure.kind is FailureKind.RATE_LIMIT
    assert translation.close() == b"data: [DONE]\n\n"


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b'{"error":{"message":"Down","code":503}}'])
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
def test_a_plain_body_in_place_of_a_stream_gets_the_error_it_lacks(dialect: str, body: bytes) -> None:
    translation = Translation(dialect, dialect, context=ANSWERING)
    out = translation.feed(body) + translation.close()
    assert translation.failure is not None
    assert b"data: " in out


def _frames(framing: Framing, wire: bytes) -> list[bytes]:
    if framing is Framing.EVENT_STREAM:
        cuts, frames = 0, []
        while cuts < len(wire):
            size = int.from_bytes(wire[cuts : cuts + 4], "big")
            frames.append(wire[cuts : cuts + size])
            cuts += size
        return frames
    end = b"\n" if framing is Framing.NDJSON else b"\r\n\r\n" if b"\r\n\r\n" in wire else b"\n\n"
    return [frame + end for frame in wire.split(end) if frame]


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_long_relay_holds_little(dialect: str) -> None:
    wire = sample(dialect)
    framing = registry.dialect(dialect).framing
    frames = _frames(framing, wire)
    translation = Translation(dialect, dialect)
    for _ in range(50):
        for frame in frames[3:200]:
            translation.feed(frame)
    assert translation._relayed is not None
    # binary frames are parsed as they go by, and none is held
    held = getattr(translation._relayed.observer, "_tail", None)
    assert (framing is Framing.EVENT_STREAM) is (held is None)
    assert sum(map(len, held or ())) < 32 * 1024


BEGINNINGS = {"bedrock": (0x7FFFFFFF).to_bytes(4, "big") * 2 + bytes(8), "ollama": b'{"message":{"content":"'}


@pytest.mark.parametrize("undo", [FORCED, Undo()], ids=["translated", "relayed"])
@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_an_event_without_end_ends_the_stream(dialect: str, undo: Undo) -> None:
    translation = Translation(dialect, dialect, undo, ANSWERING)
    out = translation.feed(BEGINNINGS.get(dialect, b'event: x\ndata: {"x":"'))
    piece, size = b"x" * (256 * 1024), 0
    while translation.failure is None and size < 64 * 1024 * 1024:
        out = translation.feed(piece)
        size += len(piece)
    assert size <= 33 * 1024 * 1024
    assert translation.failure is not None
    broken = dialect == "bedrock"  # no frame of AWS is so long: this is none
    assert translation.failure.kind is (FailureKind.BROKEN_STREAM if broken else FailureKind.ANSWER_TOO_LARGE)
    assert _ERROR.get(dialect, b"error") in out + translation.close()


def test_a_whole_reply_of_the_same_dialect_is_the_same_bytes() -> None:
    body = b'{"id":"m","model":"c", "content":[],"stop_reason":"end_turn",  "usage":{"input_tokens":2}}'
    translation = Translation("anthropic", "anthropic")
    assert translation.whole(body) is body
    assert translation.usage is not None
    assert (translation.usage.input, translation.stop) == (2, Stop.END)


def test_thinking_before_a_call_is_kept_though_the_stream_is_relayed() -> None:
    """Some providers want the thinking of a tool turn back, and a Chat client may not store it."""
    wire = b"""data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Hm."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1x","function":{"name":"f","arguments":"{}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

""".replace(b'"choices"', b'"object":"chat.completion.chunk","choices"')
    translation = Translation("openai-chat", "openai-chat", keep=True)
    assert b"".join(map(translation.feed, cut(wire, 9))) + translation.close() == wire
    (found,) = translation.kept["t1x"]
    assert isinstance(found, Reasoning)
    assert found.text is not None
    assert found.text.text == "Hm."


def _spoken(words: int) -> list[bytes]:
    """A streamed answer of Claude's that thinks and says so many words, without its end."""
    frames = [
        '{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"s"}}',
        '{"type":"content_block_stop","index":0}',
        '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}',
        *['{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" word"}}'] * words,
    ]
    return [f"data: {frame}\n\n".encode() for frame in frames]


_STOP = b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n'


def test_a_word_of_an_answer_with_state_to_keep_costs_as_much_as_any_other() -> None:
    def count_work(keep: bool) -> int:
        translation = Translation("anthropic", "openai-chat", keep=keep)
        return count_calls(lambda: [translation.feed(frame) for frame in _spoken(200)])

    count_work(True)
    assert count_work(True) - count_work(False) < 100


@pytest.mark.parametrize("words", [5, 64, 65, 200])
def test_words_that_are_held_are_counted_and_kept(words: int) -> None:
    counts = []
    for frames in (_spoken(words), [b"".join(_spoken(words))]):
        whole, broken = [Translation("anthropic", "openai-chat", keep=True) for _ in range(2)]
        for frame in frames:
            broken.feed(frame)
            whole.feed(frame)
        whole.feed(_STOP)
        assert [*whole.kept] == [text_key("word" * words)]
        counts.append(broken.output_tokens())
    assert counts[0] == counts[1]
    assert counts[0][0] >= words


# Failures.


_ANTHROPIC: dict[FailureKind, type[Exception]] = {
    FailureKind.AUTH: anthropic.AuthenticationError,
    FailureKind.PERMISSION: anthropic.PermissionDeniedError,
    FailureKind.NOT_FOUND: anthropic.NotFoundError,
    FailureKind.QUOTA: anthropic.APIStatusError,
    FailureKind.RATE_LIMIT: anthropic.RateLimitError,
    FailureKind.CONTEXT_LENGTH: anthropic.BadRequestError,
    FailureKind.CONTENT_FILTER: anthropic.BadRequestError,
    FailureKind.BAD_REQUEST: anthropic.BadRequestError,
    FailureKind.SERVER: anthropic.InternalServerError,
    FailureKind.OVERLOADED: anthropic.InternalServerError,
}
_SERVER_SIDE = frozenset({FailureKind.SERVER, FailureKind.OVERLOADED})


def raised(sdks: Loopback, dialect: str, failure: Failure) -> Exception:
    """What the SDK raises if the failure comes with a status."""
    status, headers, body = registry.dialect(dialect).answers.render_error(failure, ANSWERING)
    sdks.serve(body, False, status, headers)
    with pytest.raises(Exception) as caught:
        sdks.read_served(dialect, False)
    return caught.value


@pytest.mark.parametrize("one_in", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_recorded_errors_are_raised_by_each_sdk_as_the_right_exception(sdks: Loopback, one_in: int) -> None:
    counts: Counter[str] = Counter()
    for exchange in list(exchanges("errors.jsonl"))[::one_in]:
        response = exchange["response"]
        body = response["body"]
        raw = body.encode() if isinstance(body, str) else orjson.dumps(body)
        failure = parse_failure(response["status"], response.get("headers") or {}, raw)
        for dialect in ("anthropic", "gemini"):
            error = raised(sdks, dialect, failure)
            if dialect == "anthropic":
                assert isinstance(error, _ANTHROPIC[failure.kind]), (exchange["id"], failure, error)
            else:
                wanted = gemini_errors.ServerError if failure.kind in _SERVER_SIDE else gemini_errors.ClientError
                assert isinstance(error, wanted), (exchange["id"], failure, error)
            told = error.message if isinstance(error, gemini_errors.APIError) else error.body["error"]["message"]  # type: ignore[attr-defined]
            assert failure.message in told
            counts[f"{dialect} {failure.kind.value}"] += 1
    print(dict(counts))
    assert sum(counts.values()) >= 2 * 130 // one_in


RAISED = (
    anthropic.APIError,
    openai.APIError,
    gemini_errors.APIError,
    AttributeError,
    ollama.ResponseError,
    EventStreamError,
    ReportedFailure,
)
"""What a client of some dialect sees of a failure within a stream."""


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_E13_a_failure_after_the_first_event_is_raised_by_the_sdk(sdks: Loopback, dialect: str) -> None:
    start = b'data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":11}}}\n\n'
    text = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}\n\n'
    error = b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    for wire in (start + text + error, start + text):
        translation = Translation("anthropic", dialect, FORCED, ANSWERING)
        out = translation.feed(wire) + translation.close()
        assert translation.started
        assert translation.failure is not None
        sdks.serve(out, True)
        with pytest.raises(RAISED):
            sdks.read_served(dialect, True)


@pytest.mark.parametrize("client", DIALECT_NAMES)
@pytest.mark.parametrize("upstream", DIALECT_NAMES)
def test_garbage_ends_in_the_clients_own_error_and_nothing_rises(upstream: str, client: str) -> None:
    for wire in (b"", b"\x00\xff" * 5000, b"data: {]\n\n" * 20, b": x\n" * 9000, b"<html>bad gateway</html>"):
        translation = Translation(upstream, client, FORCED, ANSWERING)
        out = b"".join(map(translation.feed, cut(wire, 999))) + translation.close()
        assert translation.failure is not None
        assert _ERROR.get(client, b"error") in out
        whole = Translation(upstream, client, FORCED, ANSWERING)
        assert (b'"message":"' if client in _SENTENCES else b"error") in whole.whole(wire)
        assert whole.failure is not None


@pytest.mark.parametrize("client", DIALECT_NAMES)
def test_a_connection_that_dies_is_told_once(client: str) -> None:
    translation = Translation("anthropic", client, FORCED, ANSWERING)
    translation.feed(b'data: {"type":"message_start","message":{"id":"m","model":"c"}}\n\n')
    out = translation.fail(Failure(FailureKind.TIMEOUT, "No answer for 60 s."))
    assert b"No answer for 60 s." in out
    assert translation.fail(Failure(FailureKind.NETWORK, "again")) == b""
    assert translation.close() == b""


_WHOLE = {
    "anthropic": b'data: {"type":"message_start","message":{"id":"m","model":"c"}}\n\n'
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
    b'data: {"type":"content_block_stop","index":0}\n\n'
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}\n\n'
    b'data: {"type":"message_stop"}\n\n',
    "openai-chat": b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
    b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n",
}


@pytest.mark.parametrize("undo", [FORCED, Undo()], ids=["translated", "relayed"])
@pytest.mark.parametrize("client", DIALECT_NAMES)
@pytest.mark.parametrize("upstream", _WHOLE)
def test_a_connection_that_dies_after_the_whole_answer_adds_no_error(upstream: str, client: str, undo: Undo) -> None:
    """As when the gateway stops while a provider has not yet closed its connection."""
    closed, died = (Translation(upstream, client, undo, ANSWERING) for _ in range(2))
    proper = closed.feed(_WHOLE[upstream]) + closed.close()
    assert died.feed(_WHOLE[upstream]) + died.fail(Failure(FailureKind.NETWORK, "cut")) == proper
    assert died.failure is None
    before_its_stop = Translation(upstream, client, undo, ANSWERING)
    before_its_stop.feed(_WHOLE[upstream].rsplit(b"data: ", 2)[0])
    assert b"cut" in before_its_stop.fail(Failure(FailureKind.NETWORK, "cut"))
    assert before_its_stop.failure is not None


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("undo", [FORCED, Undo()], ids=["translated", "relayed"])
@pytest.mark.parametrize("client", DIALECT_NAMES)
def test_a_chat_answer_that_said_why_it_stopped_is_whole_without_its_mark(client: str, undo: Undo, dies: bool) -> None:
    whole, lacking = (Translation("openai-chat", client, undo, ANSWERING) for _ in range(2))
    proper = whole.feed(_WHOLE["openai-chat"]) + whole.close()
    out = lacking.feed(_WHOLE["openai-chat"].rpartition(b"data: ")[0])
    out += lacking.fail(Failure(FailureKind.NETWORK, "cut")) if dies else lacking.close()
    assert lacking.failure is None
    assert (lacking.stop, lacking.ended) == (Stop.END, True)
    is_relayed = client == "openai-chat" and undo is not FORCED
    assert out == (proper.removesuffix(b"data: [DONE]\n\n") if is_relayed else proper)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("undo", [FORCED, Undo()], ids=["translated", "relayed"])
@pytest.mark.parametrize("client", DIALECT_NAMES)
def test_an_answer_of_claude_without_its_last_event_is_broken(client: str, undo: Undo, dies: bool) -> None:
    lacking = Translation("anthropic", client, undo, ANSWERING)
    lacking.feed(_WHOLE["anthropic"].rpartition(b"data: ")[0])
    assert lacking.fail(Failure(FailureKind.NETWORK, "cut")) if dies else lacking.close()
    assert lacking.failure is not None


def test_an_answer_of_gemini_that_said_why_it_stopped_outlives_its_connection() -> None:
    chunk = b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}\n\n'
    for client in DIALECT_NAMES:
        closed, died = (Translation("gemini", client, FORCED, ANSWERING) for _ in range(2))
        proper = closed.feed(chunk) + closed.close()
        assert died.feed(chunk) + died.fail(Failure(FailureKind.NETWORK, "cut")) == proper
        assert died.failure is None


def test_an_unknown_dialect_is_named_with_its_nearest() -> None:
    with pytest.raises(TargetError, match='Did you mean "anthropic"'):
        Translation("antropic", "gemini")


BROKEN = {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "OTHER"}
WAITING = {"id": "r", "object": "response", "model": "m", "status": "queued", "output": []}


@pytest.mark.parametrize(
    ("upstream", "body", "says"),
    [
        ("gemini", {"candidates": [BROKEN]}, "The model broke off: OTHER."),
        ("gemini", {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, "MALFORMED_FUNCTION_CALL"),
        ("gemini", {"candidates": [BROKEN | {"finishMessage": "No such tool: x."}]}, "OTHER. No such tool: x."),
        ("openai-chat", {"choices": [{"message": {"content": "Hi"}, "finish_reason": "error"}]}, "with an error"),
        ("openai-responses", WAITING, "has not answered it yet"),
    ],
)
def test_a_breakdown_is_no_success_in_any_other_dialect(
    sdks: Loopback, upstream: str, body: dict[str, object], says: str
) -> None:
    wire = orjson.dumps(body)
    for client in set(DIALECT_NAMES) - {upstream}:
        whole = Translation(upstream, client, FORCED, ANSWERING)
        assert says in whole.whole(wire).decode()
        assert whole.failure is not None
        streaming = Translation(upstream, client, FORCED, ANSWERING)
        out = streaming.feed(b"data: " + wire + b"\n\n" if upstream in ("gemini", "openai-chat") else wire)
        sdks.serve(out + streaming.close(), True)
        assert streaming.failure is not None
        with pytest.raises(RAISED):
            sdks.read_served(client, True)


def test_a_breakdown_in_the_clients_own_dialect_keeps_its_word() -> None:
    translation = Translation("gemini", "gemini", FORCED, ANSWERING)
    out = orjson.loads(translation.whole(orjson.dumps({"candidates": [BROKEN]})))
    assert out["candidates"][0]["finishReason"] == "OTHER"
    assert (translation.stop, translation.failure) == (Stop.ERROR, None)


LONE = {
    "openai-chat": (
        {"choices": [{"index": 1, "delta": {"content": "Hi"}}]},
        {"choices": [{"index": 1, "delta": {"content": " there"}, "finish_reason": "stop"}]},
    ),
    "gemini": ({"candidates": [{"index": 1, "content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},),
}


@pytest.mark.parametrize("upstream", LONE)
@pytest.mark.parametrize("client", DIALECT_NAMES)
def test_a_lone_choice_is_shown_whatever_its_number(upstream: str, client: str) -> None:
    frames = [*map(orjson.dumps, LONE[upstream]), b"[DONE]"]
    translation = Translation(upstream, client, FORCED, ANSWERING)
    out = translation.feed(b"".join(b"data: " + frame + b"\n\n" for frame in frames)) + translation.close()
    assert translation.failure is None
    assert all(word in out for word in ([b'"Hi"', b'" there"'] if upstream == "openai-chat" else [b'"Hi"']))


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_an_event_that_is_too_deep_is_skipped(dialect: str) -> None:
    """What comes before and after it is read as if it were not there."""
    first, *rest = _frames(dialect, sample(dialect))
    deep = b'data: {"a":' + b"[" * 3000 + b"]" * 3000 + b"}\n\n"
    for client in DIALECT_NAMES:
        plain, spoiled = b"".join([first, *rest]), b"".join([first, deep, *rest])
        assert translated(dialect, client, spoiled, True) == translated(dialect, client, plain, True)


DETAILS = {"type": "refusal", "category": "cyber", "explanation": "Not for you."}
DECLINED = {
    "anthropic": {
        "content": [],
        "stop_reason": "refusal",
        "stop_details": DETAILS,
        "usage": {"input_tokens": 1, "output_tokens": 0},
    },
    "gemini": {"candidates": [{"finishReason": "SAFETY", "finishMessage": "Not for you."}]},
}
"""Whole answers in which the model declined and said nothing. Their providers tell why in a place of their own."""


@pytest.mark.parametrize("client", DIALECT_NAMES)
@pytest.mark.parametrize("upstream", DECLINED)
def test_the_sdk_gets_the_reason_of_a_refusal_that_has_no_words(upstream: str, client: str, sdks: Loopback) -> None:
    """Without it the client has an empty answer."""
    translation = Translation(upstream, client, context=ANSWERING)
    seen = sdks.read(client, translation.whole(orjson.dumps(DECLINED[upstream])), stream=False)
    assert (seen.text, seen.stop) == ("" if client == upstream else "Not for you.", "filter")


@pytest.mark.parametrize("client", [name for name in DIALECT_NAMES if name != "anthropic"])
@pytest.mark.parametrize("words", ["", "Well, "])
def test_the_reason_of_a_refusal_adds_nothing_to_words(words: str, client: str, sdks: Loopback) -> None:
    block = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}
    events = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        block,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": DETAILS}, "usage": {}},
        {"type": "message_stop"},
    ]
    wire = b"".join([b"data: %b\n\n" % orjson.dumps(event) for event in events])
    seen = sdks.read(client, translated("anthropic", client, wire, stream=True, size=40), stream=True)
    assert (seen.text, seen.stop) == (words or "Not for you.", "filter")
