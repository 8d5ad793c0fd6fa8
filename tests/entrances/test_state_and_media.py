"""Kept reasoning, remote media and counts: what needs more than one request, or a server besides the provider."""

from __future__ import annotations

import json
import re
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.entrances.entrances import Entrance, Question, Stage, all_entrances

from dragoman.testing import emulator

GEMINI = "gemini/gemini-3-pro-preview"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
SCRIPT: list[Any] = [{"reasoning": "Hm.", "calls": [{"name": "f", "arguments": {}}]}, "Done."]


def turn(history: list[Any], stream: bool) -> Question:
    return Question({"model": GEMINI, "messages": history, "tools": TOOLS}, stream)


def signature(body: Any) -> str | None:
    """The proof of thinking that came back to the provider with its call."""
    parts = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
    return parts[0].get("thoughtSignature") if parts else None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", ["library", "sdk", "async sdk", "gateway"])
def test_reasoning_that_chat_cannot_carry_comes_back(name: str, stream: bool, tmp_path: Path) -> None:
    with (
        emulator("gemini", signatures="strict") as google,
        all_entrances(Stage(GEMINI, google.base_url, folder=tmp_path)) as opened,
    ):
        google.script(*SCRIPT)
        history: list[Any] = [{"role": "user", "content": "Go."}]
        first = opened[name].ask(turn(history, stream))
        call = {"id": _call_id(first.body or ""), "type": "function", "function": {"name": "f", "arguments": "{}"}}
        history += [{"role": "assistant", "tool_calls": [call]}]
        history += [{"role": "tool", "tool_call_id": call["id"], "content": "1"}]
        shown = opened["dry run"].ask(turn(history, stream)) if name == "gateway" else None
        second = opened[name].ask(turn(history, stream))
        assert second.status == 200, second
        assert [one.verdict for one in google.requests] == ["accepted", "accepted"]
        assert "missing-signature" not in second.changes
        assert signature(google.requests[-1].body)
        if shown is not None:  # the dry run knows what the gateway keeps
            assert shown.compiled == google.requests[-1].body


def _call_id(body: str) -> str:
    found = re.search(r'"tool_calls":\[\{(?:"index":0,)?"id":"([^"]*)"', body)
    assert found is not None, body
    return found[1]


PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def picture() -> Iterator[str]:
    """The address of a picture on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "image/png")
            self.send_header("content-length", str(len(PIXEL)))
            self.end_headers()
            self.wfile.write(PIXEL)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/pixel.png"
    server.shutdown()
    server.server_close()


CLAUDE = "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_media_that_the_target_does_not_fetch(picture: str, stream: bool, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": picture}}]
    question = Question({"model": CLAUDE, "messages": [{"role": "user", "content": parts}]}, stream)
    with emulator("anthropic") as one, all_entrances(Stage(CLAUDE, one.base_url, folder=tmp_path)) as opened:
        fetched = {name: _sent(opened[name], question, one) for name in ("library", "gateway", "dry run")}
        named = {name: _sent(opened[name], question, one) for name in ("sdk", "async sdk", "command line")}
        assert {one.verdict for one in one.requests} == {"accepted"}
    for sent in (fetched, named):
        assert len({json.dumps(body, sort_keys=True) for body, _ in sent.values()}) == 1, sent
    body, changes = fetched["gateway"]
    assert body["messages"][0]["content"][1]["source"]["data"] == b64encode(PIXEL).decode()
    assert "remote-media;n=1" in changes
    body, changes = named["sdk"]
    assert picture in body["messages"][0]["content"][1]["text"]
    assert "refused-part;n=1" in changes


def _sent(entrance: Entrance, question: Question, provider: Any) -> tuple[Any, str]:
    """The body for the provider, and the report."""
    shown = entrance.ask(question)
    return shown.compiled if not entrance.sends else provider.requests[-1].body, shown.changes


COUNTED = {"max_tokens": 9, "messages": [{"role": "user", "content": "How long am I?"}]}


def test_a_provider_of_the_same_dialect_counts(tmp_path: Path) -> None:
    question = Question({"model": CLAUDE, **COUNTED})
    with emulator("anthropic") as one, all_entrances(Stage(CLAUDE, one.base_url, "anthropic", tmp_path)) as opened:
        shown = {name: opened[name].ask(question) for name in ("counting", "sdk counting")}
        assert [request.path for request in one.requests] == ["/v1/messages/count_tokens"] * 2
    counts = {name: json.loads(one.body or "{}")["input_tokens"] for name, one in shown.items()}
    assert len(set(counts.values())) == 1, counts


def test_otherwise_the_count_is_an_estimate(tmp_path: Path) -> None:
    question = Question({"model": "openai/gpt-4o", **COUNTED})
    with (
        emulator("openai") as one,
        all_entrances(Stage("openai/gpt-4o", one.base_url, "anthropic", tmp_path)) as opened,
    ):
        shown = {name: opened[name].ask(question) for name in ("counting", "sdk counting")}
        assert one.requests == []
    assert len({one.body for one in shown.values()}) == 1, shown
