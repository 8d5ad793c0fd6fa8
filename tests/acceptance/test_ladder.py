"""Gemini proxies that refuse tools, signatures or roles: one cure after the other, in both dialects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.through_gateway import DONE, SAYS, STOP
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import Answer, Seen, refusal, upstream

TOOL_TYPE = "GenerateContentRequest.tools[0].tool_type: required one_of 'tool_type' must have one initialized field"
SIGNATURE = "Unable to submit request because Thought signature is not valid"
ROLE = "Please use a valid role: user, model"

CHAT, NATIVE = "gemini-compatible", "gemini-native-compatible-strict"
MODEL = "gemini-2.5-pro"
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q":"a"}'}}
CONTINUED = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]
GEMINI_ANSWER = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Good."}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
}


def good(seen: Seen) -> Answer | None:
    """A good answer in the dialect and framing that was asked for."""
    if "streamGenerateContent" in seen.path:
        return 200, b"data: " + json.dumps(GEMINI_ANSWER).encode() + b"\r\n\r\n"
    if "generateContent" in seen.path:
        return 200, GEMINI_ANSWER
    return (200, SAYS + STOP + DONE) if seen.body.get("stream") else None


def refused(seen: Seen, message: str) -> Answer:
    if "enerateContent" in seen.path:
        return 400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    return 400, refusal(message)


def judged(ok: Callable[[Any], bool], message: str) -> Callable[[Seen], Answer | None]:
    return lambda seen: good(seen) if ok(seen.body) else refused(seen, message)


def run(folder: Path, profile: str, judge: Callable[[Seen], Answer | None], **more: Any) -> tuple[Any, list[Any]]:
    with upstream(judge) as behind:
        url = behind.url.removesuffix("/v1") if profile == NATIVE else behind.url
        models = {"m": {"target": f"p/{MODEL}"}}
        with gateway({"providers": {"p": provider(profile, url)}, "models": models}, folder) as running:
            answered = running.post("/v1/chat/completions", {"model": "m", "messages": CONTINUED, **more})
            return answered, behind.bodies()


def shape(body: Any) -> str | None:
    return next(name for name in body["tools"][0] if name != "type") if "tools" in body else None


@pytest.mark.parametrize("status", [422, 500, 502])
@pytest.mark.parametrize(
    ("message", "ok"),
    [
        (TOOL_TYPE, lambda body: shape(body) == "function_declarations"),
        (ROLE, lambda body: only_two_roles(body)),
    ],
)
def test_C1_C3_a_refusal_is_known_by_its_words_whatever_status_a_proxy_gives_it(
    tmp_path: Path, message: str, ok: Callable[[Any], bool], status: int
) -> None:
    def judge(seen: Seen) -> Answer | None:
        return good(seen) if ok(seen.body) else (status, refusal(message))

    answered, sent = run(tmp_path, "openai-compatible", judge, tools=TOOLS)
    assert answered.status_code == 200, (answered.text, sent)


LADDERS = {
    CHAT: ["function", "function_declarations", "functionDeclarations", None],
    NATIVE: ["functionDeclarations", "function_declarations", None],
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("profile", [CHAT, NATIVE])
@pytest.mark.parametrize("taken", [0, 1, -1])
def test_C1_C14_C15_C16_C48_the_wrapper_ladder(tmp_path: Path, profile: str, taken: int, stream: bool) -> None:
    ladder = LADDERS[profile]
    answered, sent = run(
        tmp_path, profile, judged(lambda body: shape(body) == ladder[taken], TOOL_TYPE), tools=TOOLS, stream=stream
    )
    assert answered.status_code == 200, answered.text
    assert [shape(body) for body in sent] == ladder[: ladder.index(ladder[taken]) + 1]
    if ladder[taken] is None:
        choice = sent[-1].get("tool_choice") or sent[-1]["toolConfig"]["functionCallingConfig"]["mode"]
        assert choice in ("none", "NONE")


@pytest.mark.parametrize("profile", [CHAT, NATIVE])
def test_C14_C16_the_last_resort_teaches_no_shape(tmp_path: Path, profile: str) -> None:
    """A proxy that refuses tools after results in every shape takes those of the next question as it did before."""
    ladder = LADDERS[profile]

    def judge(seen: Seen) -> Answer | None:
        continued = any(mark in seen.raw for mark in (b"tool_result", b"functionResponse"))
        ok = shape(seen.body) is None if continued else shape(seen.body) == ladder[0]
        return good(seen) if ok else refused(seen, TOOL_TYPE)

    with upstream(judge) as behind:
        url = behind.url.removesuffix("/v1") if profile == NATIVE else behind.url
        models = {"m": {"target": f"p/{MODEL}"}}
        with gateway({"providers": {"p": provider(profile, url)}, "models": models}, tmp_path) as running:
            for turns in (CONTINUED[:1], CONTINUED) * 2:
                behind.seen.clear()
                asked = {"model": "m", "messages": turns, "tools": TOOLS}
                assert running.post("/v1/chat/completions", asked).status_code == 200
                assert [shape(body) for body in behind.bodies()] == (ladder if turns is CONTINUED else ladder[:1])


@pytest.mark.parametrize("between", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("ladder", [LADDERS[NATIVE], ["function_declarations", "functionDeclarations"]])
def test_C16_C48_a_native_client_may_spell_it_either_way(
    tmp_path: Path, ladder: list[str | None], between: tuple[str, str]
) -> None:
    """The shape that is refused is the client's own: it is not sent a second time, with other spaces neither."""
    called = {"functionCall": {"name": "look", "args": {"q": "a"}}}
    asked = {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [called]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"ok": 1}}}]},
        ],
        "tools": [{ladder[0]: [{"name": "look", "parameters": SCHEMA}]}],
    }
    with upstream(judged(lambda body: shape(body) == ladder[-1], TOOL_TYPE)) as behind:
        config = {"providers": {"p": provider(NATIVE, behind.url.removesuffix("/v1"))}}
        with gateway({**config, "models": {"m": {"target": f"p/{MODEL}"}}}, tmp_path) as running:
            url = f"{running.url}/v1beta/models/m:generateContent"
            answered = running.http.post(url, content=json.dumps(asked, separators=between))
        assert answered.status_code == 200, answered.text
        assert [shape(body) for body in behind.bodies()] == ladder


@pytest.mark.parametrize("profile", ["gemini", "openai-compatible-strict", "openrouter"])
def test_tools_are_kept_if_no_profile_gives_them_up(tmp_path: Path, profile: str) -> None:
    """X10."""
    with upstream(judged(lambda body: "tools" not in body, TOOL_TYPE)) as behind:
        url = behind.url.removesuffix("/v1") if profile == "gemini" else behind.url
        config = {"providers": {"p": provider(profile, url)}, "models": {"m": {"target": f"p/{MODEL}"}}}
        with gateway(config, tmp_path) as running:
            asked = {"model": "m", "messages": CONTINUED, "tools": TOOLS}
            assert running.post("/v1/chat/completions", asked).status_code == 400
        assert all("tools" in body for body in behind.bodies())


SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "c2lnbmF0dXJlLXNpZ25hdHVyZQ=="}}}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("profile", [NATIVE, "gemini", "gemini-openai", "openrouter", "openai-compatible-lenient"])
@pytest.mark.parametrize("stream", [False, True])
def test_C2_C48_refused_signatures_are_left_out(tmp_path: Path, profile: str, stream: bool) -> None:
    asked = [CONTINUED[0], {**CONTINUED[1], "tool_calls": [SIGNED]}, CONTINUED[2]]
    with upstream(judged(lambda body: "c2lnbmF0dXJl" not in json.dumps(body), SIGNATURE)) as behind:
        url = behind.url.removesuffix("/v1") if profile in (NATIVE, "gemini") else behind.url
        config = {"providers": {"p": provider(profile, url)}, "models": {"m": {"target": f"p/google/{MODEL}"}}}
        with gateway(config, tmp_path) as running:
            sent = {"model": "m", "messages": asked, "tools": TOOLS, "stream": stream}
            answered = running.post("/v1/chat/completions", sent)
        assert answered.status_code == 200, (answered.text, behind.bodies()[-1])


SKIP = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
TAILED = {**CALL, "id": "c1__thought__c2lnbmF0dXJlLXNpZ25hdHVyZQ=="}
TAILED_TURNS = [CONTINUED[0], {**CONTINUED[1], "tool_calls": [TAILED]}, {**CONTINUED[2], "tool_call_id": TAILED["id"]}]
SIGNED_TURNS = [CONTINUED[0], {**CONTINUED[1], "tool_calls": [SIGNED]}, CONTINUED[2]]


def rung(body: Any) -> str:
    """How far down the ladder a request is."""
    text = json.dumps(body)
    if "c2lnbmF0dXJl" in text:
        return "the client's"
    if "[tool_call name=look" in text:
        return "text"
    return "skip" if SKIP in text else "none"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("turns", [TAILED_TURNS, SIGNED_TURNS], ids=["in its id", "beside it"])
@pytest.mark.parametrize(
    ("profile", "model"),
    [
        ("gemini-native-compatible", "gemini-3-pro-preview"),
        (NATIVE, "gemini-3-pro-preview"),
        ("openrouter", "google/gemini-3-pro-preview"),
        ("openai-compatible", "gemini-3-pro"),
        ("openai-compatible-strict", "gemini-3-pro"),
        ("gemini-openai", "gemini-3-pro-preview"),
    ],
)
@pytest.mark.parametrize("taken", ["skip", "none", "text"])
def test_C2_C48_the_ladder_of_signatures(
    tmp_path: Path, profile: str, model: str, taken: str, turns: list[Any]
) -> None:
    with upstream(judged(lambda body: rung(body) == taken, SIGNATURE)) as behind:
        url = behind.url.removesuffix("/v1") if "native" in profile else behind.url
        config = {"providers": {"p": provider(profile, url)}, "models": {"m": {"target": f"p/{model}"}}}
        with gateway(config, tmp_path) as running:
            answered = running.post("/v1/chat/completions", {"model": "m", "messages": turns, "tools": TOOLS})
        sent = [rung(body) for body in behind.bodies()]
        assert answered.status_code == 200, (answered.text, sent)
        assert sent[-1] == taken
        assert taken != "text" or "skip" in sent, sent
        assert len({json.dumps(body) for body in behind.bodies()}) == len(sent)


def only_two_roles(body: Any) -> bool:
    turns = body.get("contents") or body["messages"]
    return all(turn.get("role") in ("user", "model", "assistant") for turn in turns)


LATE = [
    {"role": "user", "content": "Hi"},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "So?"},
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("profile", [CHAT, "openai-compatible-strict", "openai-compatible-lenient", "openrouter"])
@pytest.mark.parametrize("asked", [LATE, CONTINUED])
def test_C3_C48_roles_are_put_right_wherever_the_refusal_arrives(
    tmp_path: Path, profile: str, asked: list[Any]
) -> None:
    answered, sent = run(tmp_path, profile, judged(only_two_roles, ROLE), messages=asked)
    assert answered.status_code == 200, (answered.text, sent)
    text = json.dumps(sent[-1])
    assert "Be brief." in text or "ok" in text


@pytest.mark.parametrize("stream", [False, True])
def test_C49_a_fallback_follows_an_exhausted_ladder(tmp_path: Path, stream: bool) -> None:
    def judge(seen: Seen) -> Answer | None:
        return good(seen) if seen.body["model"] == "clean" else refused(seen, TOOL_TYPE)

    with upstream(judge) as behind:
        providers = {"p": provider(CHAT, behind.url), "q": provider("openai-compatible-strict", behind.url)}
        models = {"m": {"target": f"p/{MODEL}", "fallbacks": ["q/clean"]}}
        running: Running
        with gateway({"providers": providers, "models": models}, tmp_path) as running:
            asked = {"model": "m", "messages": CONTINUED, "tools": TOOLS, "stream": stream}
            answered = running.post("/v1/chat/completions", asked)
            assert answered.status_code == 200, answered.text
            assert answered.headers["x-dragoman-model"] == "q/clean"
        assert behind.bodies()[-1]["messages"] == CONTINUED, "compiled for the fallback from the client's original"


def test_C49_without_a_fallback_the_provider_keeps_the_word(tmp_path: Path) -> None:
    answered, _ = run(tmp_path, CHAT, judged(lambda body: False, TOOL_TYPE), tools=TOOLS)
    assert answered.status_code == 400
    assert TOOL_TYPE in answered.json()["error"]["message"]
