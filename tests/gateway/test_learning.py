"""Lessons through the gateway: refused once, corrected, remembered, told; and never refused that way again (K19)."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, Upstream, refusal, upstream

from dragoman.testing import emulator

TOOL_TYPE = "* GenerateContentRequest.tools[0].tool_type: required one_of 'tool_type' must have one initialized field"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
CALLED = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CONTINUED = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]
PATH = "/v1/chat/completions"
LEARNT = {"p/some-model": {"tool_wrapper": "functionDeclarations", "tool_wrappers": []}}


def config(profile: str, behind: Upstream, **more: Any) -> dict[str, Any]:
    store = {"kind": "sqlite", "path": more.pop("store")} if "store" in more else {"kind": "memory"}
    return {
        "providers": {"p": provider(profile, behind.url, **more)},
        "models": {"m": {"target": "p/some-model"}},
        "store": store,
    }


def ask(running: Running, **fields: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
    answered = running.post(PATH, body)
    assert answered.status_code == 200, answered.text
    return answered


def shape_of(body: Any) -> str | None:
    """How the tools are wrapped."""
    return next(name for name in body["tools"][0] if name != "type") if "tools" in body else None


def wants(*shapes: str | None) -> Callable[[Seen], Answer | None]:
    """An upstream that takes tools only in these shapes."""
    return lambda seen: None if shape_of(seen.body) in shapes else (400, refusal(TOOL_TYPE))


@pytest.mark.parametrize(
    ("taken", "shapes", "lessons"),
    [
        ("function", ["function"], ()),
        ("function_declarations", ["function", "function_declarations"], ("tool-wrapper",)),
        (
            "functionDeclarations",
            ["function", "function_declarations", "functionDeclarations"],
            ("tool-wrapper", "tool-wrapper"),
        ),
        (
            None,
            ["function", "function_declarations", "functionDeclarations", None],
            ("tool-wrapper", "tool-wrapper", "tools-dropped"),
        ),
    ],
)
def test_C1_C14_C15_C16_tools_in_one_shape_after_the_other(
    tmp_path: Path, taken: str | None, shapes: list[str | None], lessons: tuple[str, ...]
) -> None:
    with upstream(wants(taken)) as behind, gateway(config("gemini-compatible", behind), tmp_path) as running:
        answered = ask(running, messages=CONTINUED, tools=TOOLS)
        assert [shape_of(body) for body in behind.bodies()] == shapes
        entry = running.entry(answered)
        assert entry.lessons == lessons
        assert entry.attempts == len(shapes)
        if taken is None:
            assert "refused-tools" in answered.headers["x-dragoman-changes"]


def test_C16_the_last_resort_is_not_for_a_client_that_chose(tmp_path: Path) -> None:
    with upstream(wants(None)) as behind, gateway(config("gemini-compatible", behind), tmp_path) as running:
        body = {"model": "m", "messages": CONTINUED, "tools": TOOLS, "tool_choice": "auto"}
        refused = running.post(PATH, body)
        assert refused.status_code == 400
        assert TOOL_TYPE in refused.json()["error"]["message"]
        assert len(behind.seen) == 3


def test_a_lesson_is_remembered_shown_and_applied_at_once(tmp_path: Path) -> None:
    where = str(tmp_path / "store.sqlite3")
    with upstream(wants("functionDeclarations")) as behind:
        with gateway(config("gemini-compatible", behind, store=where), tmp_path) as running:
            ask(running, tools=TOOLS)
            assert len(behind.seen) == 3
            second = ask(running, tools=TOOLS)
            assert len(behind.seen) == 4
            assert running.entry(second).lessons == ()
            assert running.get("/health").json()["lessons"] == LEARNT
        with gateway(config("gemini-compatible", behind, store=where), tmp_path) as running:
            ask(running, tools=TOOLS)
            assert len(behind.seen) == 5


def test_what_is_not_lasting_is_not_remembered(tmp_path: Path) -> None:
    with upstream(wants(None)) as behind, gateway(config("gemini-compatible", behind), tmp_path) as running:
        ask(running, messages=CONTINUED, tools=TOOLS)
        assert running.get("/health").json()["lessons"] == {}, "no shape of tools was accepted"
        before = len(behind.seen)
        ask(running, messages=CONTINUED, tools=TOOLS)
        shapes = ["function", "function_declarations", "functionDeclarations", None]
        assert [shape_of(body) for body in behind.bodies()[before:]] == shapes


def test_what_did_not_help_is_not_remembered(tmp_path: Path) -> None:
    with upstream(wants()) as behind, gateway(config("gemini-compatible", behind), tmp_path) as running:
        assert running.post(PATH, {"model": "m", "messages": CONTINUED, "tools": TOOLS}).status_code == 400
        assert len(behind.seen) == 4
        assert running.get("/health").json()["lessons"] == {}


# the provider's sentence, its status, when it says so, what the client asks, what is sent in the end
SAID: list[tuple[str, int, Callable[[Any], bool], dict[str, Any], Callable[[Any], bool]]] = [
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        400,
        lambda body: "max_tokens" in body,
        {"max_tokens": 7},
        lambda body: body["max_completion_tokens"] == 7,
    ),
    (
        "max_tokens: should be at most 4",
        422,
        lambda body: "max_tokens" in body,
        {"max_tokens": 7},
        lambda body: "max_tokens" not in body and "max_completion_tokens" not in body,
    ),
    (
        "Unrecognized request argument supplied: frobnicate",
        400,
        lambda body: "frobnicate" in body,
        {"frobnicate": 1},
        lambda body: "frobnicate" not in body,
    ),
    (
        "Unsupported parameter: 'stop' is not supported with this model.",
        400,
        lambda body: "stop" in body,
        {"stop": ["x"]},
        lambda body: "stop" not in body,
    ),
    (
        "Extra inputs are not permitted, field: 'messages[0].mood'",
        400,
        lambda body: any("mood" in message for message in body["messages"]),
        {"messages": [{"role": "user", "content": "Hi", "mood": "good"}]},
        lambda body: "mood" not in body["messages"][0],
    ),
    (
        "System role not supported",
        400,
        lambda body: any(message["role"] == "system" for message in body["messages"]),
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]},
        lambda body: body["messages"][0]["role"] == "user" and "Be brief." in body["messages"][0]["content"],
    ),
    (
        "Please use a valid role: user, model",
        400,
        lambda body: any(message["role"] == "system" for message in body["messages"][1:]),
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]},
        lambda body: body["messages"][-1]["content"].startswith("[System] "),
    ),
    (
        "System message must be at the beginning.",
        500,
        lambda body: any(message["role"] == "system" for message in body["messages"][1:]),
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]},
        lambda body: body["messages"][-1]["content"].startswith("[System] "),
    ),
    (
        "registry.ollama.ai/library/x does not support tools",
        400,
        lambda body: "tools" in body,
        {"tools": TOOLS},
        lambda body: "tools" not in body,
    ),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("says", "status", "when", "asked", "sent"), SAID, ids=[row[0][:50] for row in SAID])
def test_C3_C22_a_refusal_is_understood_and_put_right(
    tmp_path: Path,
    says: str,
    status: int,
    when: Callable[[Any], bool],
    asked: dict[str, Any],
    sent: Callable[[Any], bool],
) -> None:
    def judge(seen: Seen) -> Answer | None:
        return (status, refusal(says)) if when(seen.body) else None

    with upstream(judge) as behind, gateway(config("openai-compatible-lenient", behind), tmp_path) as running:
        answered = ask(running, **asked)
        assert len(behind.seen) == 2
        assert when(behind.bodies()[0])
        assert sent(behind.bodies()[-1])
        assert len(running.entry(answered).lessons) == 1
        assert answered.headers["x-dragoman-changes"]


FAKED = b64encode(b"\x0a\x14drgm\x01\x1bfaked" + bytes(9)).decode()
"""It has the form of a signature that the emulator makes, and is none."""


def test_C2_a_signature_that_is_refused_is_left_out(tmp_path: Path) -> None:
    with emulator("gemini") as google:
        settings = {
            "providers": {"google": provider("gemini", google.base_url)},
            "models": {"m": {"target": "google/gemini-2.5-flash"}},
        }
        with gateway(settings, tmp_path) as running:
            call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": FAKED}
            contents = [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {"role": "model", "parts": [call]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"is": "ok"}}}]},
            ]
            tools = [{"functionDeclarations": [{"name": "f"}]}]
            answered = running.post("/v1beta/models/m:generateContent", {"contents": contents, "tools": tools})
            assert answered.status_code == 200, answered.text
            assert [one.verdict for one in google.requests] == ["refused", "accepted"]
            assert running.entry(answered).lessons == ("signature-refused",)
            assert running.get("/health").json()["lessons"] == {}


MOODY = [{"role": "user", "content": "Hi", "mood": "good"}]


def dislikes_moods(seen: Seen) -> Answer | None:
    """A provider that does not say what it refuses."""
    return (400, refusal("I do not like it.")) if "mood" in seen.body["messages"][0] else None


def keyed(behind: Upstream, **store: Any) -> dict[str, Any]:
    """A gateway of three callers, the first of them an admin, to a provider of which nobody knows all."""
    names = {"ann": True, "bob": False, "eve": False}
    keys = {
        name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), "admin": admin} for name, admin in names.items()
    }
    return {**config("together", behind, **store), "keys": keys}


def sends(running: Running, behind: Upstream, key: str) -> int:
    before = len(behind.seen)
    answered = running.post(PATH, {"model": "m", "messages": MOODY}, key=key)
    assert answered.status_code == 200, answered.text
    assert answered.headers["x-dragoman-changes"] == "stray-field;n=1"
    return len(behind.seen) - before


def test_what_care_proved_is_for_its_caller_and_then_for_all(tmp_path: Path) -> None:
    facts = {"p/some-model": {"unknown_fields": "refuses"}}
    where = str(tmp_path / "store.sqlite3")
    with upstream(dislikes_moods) as behind:
        with gateway(keyed(behind, store=where), tmp_path) as running:
            assert [sends(running, behind, "ann") for _ in range(2)] == [2, 1]
            shown = running.get("/health", key="ann").json()
            assert (shown["lessons"], shown["tentative_lessons"]) == ({}, facts)
        with gateway(keyed(behind, store=where), tmp_path) as running:  # and a restart forgets nothing
            assert sends(running, behind, "ann") == 1
            assert [sends(running, behind, "bob") for _ in range(2)] == [2, 1]
            assert sends(running, behind, "eve") == 1
            shown = running.get("/health", key="ann").json()
            assert shown["lessons"] == facts


def test_it_is_in_the_log_and_in_the_report(tmp_path: Path) -> None:
    with upstream(dislikes_moods) as behind, gateway(config("together", behind), tmp_path) as running:
        answered = ask(running, messages=MOODY)
        entry = running.entry(answered)
        assert (entry.lessons, entry.attempts) == (("careful",), 2)
        wait_for(lambda: '"event":"lesson"' in running.log.getvalue())
        line = next(json.loads(line) for line in running.log.getvalue().splitlines() if '"event":"lesson"' in line)
        assert (line["lesson"], line["facts"], line["tentative"]) == ("careful", {"unknown_fields": "refuses"}, True)
        wait_for(lambda: running.errors.exists() and running.errors.read_text().count("\n") == 1)
        failed = json.loads(running.errors.read_text())
        assert failed["sent_request"]["messages"] == MOODY


def test_what_is_wrong_with_every_body_is_told_as_at_first(tmp_path: Path) -> None:
    count = iter(range(1, 9))
    with (
        upstream(lambda seen: (422, refusal(f"Refusal {next(count)}."))) as behind,
        gateway(config("together", behind), tmp_path) as running,
    ):
        refused = running.post(PATH, {"model": "m", "messages": MOODY})
        assert (refused.status_code, refused.json()["error"]["message"]) == (422, "Refusal 1.")
        assert len(behind.seen) == 2
        assert running.get("/health").json()["tentative_lessons"] == {}
