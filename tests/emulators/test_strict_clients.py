"""Every emulated provider's answers, as the strictest client of each dialect reads them.

Text, parallel calls, reasoning, a refusal, an answer that a limit cuts off, and structured output: whole and streamed,
by the compiled request and its way back, without a socket. Such a client ends up with what the model said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from tests.by_dialect import write_request
from tests.judges import JUDGES, judge_of, served_path
from tests.strict_readers import Result, read
from tests.targets import MODELS

from dragoman import adapt
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.emulators.provider import ErrorResponse, ModelCall, ModelTurn
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.profiles.profile import Profiles

TURNS: Mapping[str, ModelTurn] = {
    "text": ModelTurn(text="Hello there, how are you?"),
    "calls": ModelTurn(
        text="Let me look.",
        calls=(ModelCall("weather", {"city": "Paris"}), ModelCall("weather", {"city": "Oslo"})),
    ),
    "interleaved": ModelTurn(
        calls=(ModelCall("weather", {"city": "Paris"}), ModelCall("weather", {"city": "Oslo"})), interleave=True
    ),
    "reasoning": ModelTurn(reasoning="The user greets me.", text="Hello."),
    "refusal": ModelTurn(refusal="I cannot help with that."),
    "length": ModelTurn(text="This goes on and", stop="length"),
    "json": ModelTurn(json={"city": "Paris", "degrees": 21}),
}
ASKED = """@max_tokens 4096
@tool weather {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
user: Hi"""
PROFILES = [name for name in JUDGES if name != "strict-template"]


def asked(client: str, target: str, stream: bool) -> CompiledRequest:
    body = write_request(client, ASKED, stream)
    if client == "openai-chat" and stream:
        body["stream_options"] = {"include_usage": True}
    return adapt(body, target=target, source=client, stream=stream)


def answered(profile: str, model: str, adapted: CompiledRequest, turn: ModelTurn, stream: bool) -> bytes:
    """The bytes of the emulator's answer."""
    one = judge_of(profile, False)
    path, query = served_path(one, adapted.path, model)
    headers = {name.lower(): value for name, value in adapted.headers.items()}
    request = one.parse_request("POST", path, query, headers, adapted.body)
    assert not isinstance(request, ErrorResponse), request
    refusal = one.judge(request)
    assert refusal is None, refusal
    if stream:
        return b"".join(one.render_stream(request, turn))
    return json.dumps(one.render_answer(request, turn)).encode()


def seen(adapted: CompiledRequest, client: str, wire: bytes, stream: bool) -> Result:
    if not stream:
        answer = adapted.answer(wire, id="req_1", created=1_700_000_000)
        assert answer.failure is None, answer.failure
        return read(client, answer.body, False)
    translation = adapted.stream(id="req_1", created=1_700_000_000)
    told = translation.feed(wire) + translation.finish()
    assert translation.failure is None, translation.failure
    return read(client, told, True)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_strictest_client_gets_what_the_model_said(profile: str, name: str) -> None:
    turn = TURNS[name]
    model = MODELS.get(profile, ("some-model",))[0]
    upstream = Profiles().profile(profile).dialect
    for client in DIALECT_NAMES:
        for stream in (False, True):
            adapted = asked(client, f"{profile}/{model}", stream)
            own_thoughts = "thinking" in adapted.facts.block_kinds
            if client == upstream and (stream or adapted.facts.complete_answers or own_thoughts):
                continue  # relayed as it is, also thoughts as parts of the content
            result = seen(adapted, client, answered(profile, model, adapted, turn, stream), stream)
            where = (client, stream, result)
            if turn.json is not None:
                assert json.loads(result.last) == turn.json, where
            else:
                assert result.text == (turn.text or turn.refusal or ""), where
            calls = [(found, json.loads(text)) for _, found, text in result.calls]
            assert calls == [(call.name, call.arguments) for call in turn.calls], where
