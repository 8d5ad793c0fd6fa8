"""Recorded exchanges of Claude in a cloud: by InvokeModel on Bedrock, and by rawPredict on Vertex AI.

Requests go out to their own cloud as they came in, and every other provider accepts them. Answers read the same in
every SDK, the one for that cloud among them.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import orjson
import pytest
from msgspec.structs import replace
from tests.corpus import exchanges
from tests.judges import judge
from tests.recorded_answers import cut
from tests.sdk_readers import Loopback, Seen, read_invoked
from tests.targets import ONE_OF_EACH, split

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.dialects.dialect import AnswerContext, Framing, Route
from dragoman.dialects.registry import route
from dragoman.engine.answer.translation import Translation
from dragoman.engine.compile.cloud_requests import parse_routed
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.compile.envelopes import ChunkReader
from dragoman.profiles.profile import Profiles

OWN = {"bedrock.bedrock-invoke.jsonl": ("bedrock-anthropic", 31), "vertex.anthropic.jsonl": ("vertex-anthropic", 5)}
"""Whose files these are, and how many exchanges of Claude they hold."""
PROFILES = Profiles()
SHOWN = AnswerContext(model="shown", created=1_700_000_000, id="resp_made_up", include_usage=True)
FRAMED = replace(SHOWN, framing=Framing.EVENT_STREAM)


def recorded(files: str) -> Iterator[dict[str, Any]]:
    for exchange in exchanges(files):
        asked = exchange["request"]
        if asked and "anthropic_version" in asked["body"]:
            yield exchange


def routed(exchange: dict[str, Any]) -> Route:
    found = route("POST", unquote(exchange["request"]["path"]), {})
    assert found is not None, exchange["request"]["path"]
    return found


def compiled(exchange: dict[str, Any], target: str | None, own: str) -> CompiledRequest:
    """The request of a cloud's client as a target gets it; without a target, as its own cloud does."""
    asked, at = exchange["request"], routed(exchange)
    ask = parse_routed(at, orjson.dumps(asked["body"]), asked["headers"] or {})
    return compile_ask(ask, PROFILES.target(target or f"{own}/{at.model}"), Options())


@pytest.mark.parametrize("files", OWN)
def test_requests_go_out_to_their_own_cloud_as_they_came_in(files: str) -> None:
    own, least = OWN[files]
    count = 0
    for exchange in recorded(files):
        sent = compiled(exchange, None, own)
        assert sent.changes == (), exchange["id"]
        wanted = dict(exchange["request"]["body"])
        if own == "vertex-anthropic" and routed(exchange).stream:
            wanted["stream"] = True
        assert orjson.loads(sent.body) == wanted, exchange["id"]
        assert unquote(sent.path).rpartition("/")[2] == unquote(exchange["request"]["path"]).rpartition("/")[2]
        count += 1
    assert count >= least


@pytest.mark.parametrize("files", OWN)
def test_requests_are_accepted_by_all(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    own, _ = OWN[files]
    judged, wrong = 0, []
    for exchange in recorded(files):
        for target in ONE_OF_EACH:
            name, model = split(target)
            sent = compiled(exchange, target, own)
            refused = judge(name, model, sent.path, sent.headers, sent.body, strict=False)
            judged += 1
            if refused is not None:
                wrong.append((exchange["id"], target, refused.body))
    with capsys.disabled():
        print(f"\n{files}: {judged} requests judged, {len(wrong)} refused")
    assert wrong == []


def answered(exchange: dict[str, Any]) -> tuple[bytes, bool]:
    """The answer as it came over the wire, and whether it is a stream."""
    response = exchange["response"]
    if response["kind"] == "json":
        return orjson.dumps(response["body"]), False
    framed = response["kind"] == "eventstream-b64"
    return (b64decode(response["body"]) if framed else response["body"].encode()), True


def translated(wire: bytes, stream: bool, client: str, context: AnswerContext, framed: bool) -> bytes:
    unwrap = ChunkReader() if framed and stream else None
    translation = Translation("anthropic", client, context=context, unwrap=unwrap)
    if not stream:
        return translation.whole(wire)
    told = b"".join(map(translation.feed, cut(wire, 500))) + translation.close()
    assert translation.failure is None, translation.failure
    return told


@pytest.mark.slow
@pytest.mark.parametrize("files", OWN)
def test_answers_read_the_same_in_every_sdk(sdks: Loopback, files: str, capsys: pytest.CaptureFixture[str]) -> None:
    framed = files.startswith("bedrock")
    counts: Counter[str] = Counter()
    for exchange in recorded(files):
        wire, stream = answered(exchange)
        wanted = read_invoked(sdks, wire, stream) if framed else sdks.read("anthropic", wire, stream)
        again = translated(wire, stream, "anthropic", FRAMED if stream else SHOWN, framed)
        assert read_invoked(sdks, again, stream) == wanted, exchange["id"]
        counts["anthropic-bedrock"] += 1
        for client in DIALECT_NAMES:
            seen = sdks.read(client, translated(wire, stream, client, SHOWN, framed), stream)
            assert compared(seen) == compared(replace(wanted, text=wanted.set_off)), (exchange["id"], client)
            counts[client] += 1
    with capsys.disabled():
        print(f"\n{files}: answers read alike: {dict(counts)}")
    assert min(counts.values()) >= OWN[files][1]


def compared(seen: Seen) -> Seen:
    """What every dialect shows: Ollama's has no count of cached tokens, and its SDK shows no ids. How the texts are set
    off is in the text of a translated answer."""
    return replace(seen, usage=(*seen.usage[:2], 0), ids=(), thinking="", set_off="", set_off_but_for_code="")
