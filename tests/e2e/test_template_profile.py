"""A real llama.cpp server with strict templates: its `/props` make a profile, and with that profile it takes the tool
history of every client. Its weights are noise and call no tools: what counts is that it takes the request.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from tests.e2e.installed import asked_for
from tests.e2e.model_server import model_server
from tests.gateway.running import Running, gateway, provider

from dragoman.probe.profile_file import FoundProfile, render_profile
from dragoman.probe.template.prober import TemplateFindings, probe_template
from dragoman.probe.template.sources import from_props

pytestmark = asked_for
TEMPLATES = ("llama-3.1", "mistral-v3", "gemma-1", "deepseek-r1")
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
WORDS = ("sun", "ball", "moon")


class ProbedHouse(msgspec.Struct, frozen=True):
    """A model server, what its template told, and a gateway before it that uses the profile."""

    template: str
    url: str
    found: TemplateFindings
    running: Running


@pytest.fixture(scope="module", params=TEMPLATES)
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProbedHouse]:
    folder = tmp_path_factory.mktemp("house")
    with model_server(folder, request.param) as url:
        found = probe_template(from_props(httpx.get(f"{url}/props", timeout=30).json()))
        profile = FoundProfile(
            name="house",
            facts=found.facts,
            findings=found.findings,
            questions=found.questions,
            losses=found.losses,
            like=found.like,
            seen=datetime.date(2026, 11, 16),
            source="the template of the server",
        )
        path = folder / "house.toml"
        path.write_text(render_profile(profile), "utf-8")
        patient = {"timeouts": {"connect": 5, "first_byte": 60, "idle": 60, "total": 120}}
        config = {
            "profiles": [str(path)],
            "providers": {"house": provider("house", f"{url}/v1", **patient)},
            "models": {"noise": {"target": "house/noise"}},
        }
        with gateway(config, folder) as running:
            yield ProbedHouse(request.param, url, found, running)


def chat() -> dict[str, Any]:
    """Three turns: words and two calls at once, a call alone, and one more question."""

    def call(word: str) -> dict[str, Any]:
        function = {"name": "lookup", "arguments": msgspec.json.encode({"word": word}).decode()}
        return {"id": f"call_{word}_0123456789", "type": "function", "function": function}

    def result(word: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": f"call_{word}_0123456789", "content": f"It is a {word}."}

    return {
        "model": "noise",
        "max_tokens": 4,
        "tools": [
            {"type": "function", "function": {"name": "lookup", "description": "Looks up.", "parameters": SCHEMA}}
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What are a sun and a ball?"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [call("sun"), call("ball")]},
            result("sun"),
            result("ball"),
            {"role": "assistant", "content": "One is a star, one is a toy."},
            {"role": "user", "content": "And a moon?"},
            {"role": "assistant", "content": None, "tool_calls": [call("moon")]},
            result("moon"),
            {"role": "user", "content": "Thank you."},
            {"role": "user", "content": "And now?"},
        ],
    }


def claude() -> dict[str, Any]:
    def use(word: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{word}_0123456789", "name": "lookup", "input": {"word": word}}

    def result(word: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": f"toolu_{word}_0123456789", "content": f"It is a {word}."}

    return {
        "model": "noise",
        "max_tokens": 4,
        "system": "Be brief.",
        "tools": [{"name": "lookup", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": "What are a sun and a ball?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, use("sun"), use("ball")]},
            {"role": "user", "content": [result("sun"), result("ball")]},
            {"role": "assistant", "content": "One is a star, one is a toy."},
            {"role": "user", "content": "And a moon?"},
            {"role": "assistant", "content": [use("moon")]},
            {"role": "user", "content": [result("moon"), {"type": "text", "text": "And now?"}]},
        ],
    }


def responses() -> dict[str, Any]:
    def call(word: str) -> dict[str, Any]:
        arguments = msgspec.json.encode({"word": word}).decode()
        return {"type": "function_call", "call_id": f"call_{word}", "name": "lookup", "arguments": arguments}

    def result(word: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": f"call_{word}", "output": f"It is a {word}."}

    return {
        "model": "noise",
        "max_output_tokens": 16,
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "lookup", "parameters": SCHEMA}],
        "input": [
            {"role": "user", "content": "What are a sun and a ball?"},
            call("sun"),
            call("ball"),
            result("sun"),
            result("ball"),
            {"role": "assistant", "content": "One is a star, one is a toy."},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "And a moon?"},
            call("moon"),
            result("moon"),
            {"role": "user", "content": "And now?"},
        ],
    }


def gemini() -> dict[str, Any]:
    def call(word: str) -> dict[str, Any]:
        return {"functionCall": {"name": "lookup", "args": {"word": word}}}

    def result(word: str) -> dict[str, Any]:
        return {"functionResponse": {"name": "lookup", "response": {"result": f"It is a {word}."}}}

    return {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"maxOutputTokens": 4},
        "tools": [{"functionDeclarations": [{"name": "lookup", "parameters": SCHEMA}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "What are a sun and a ball?"}]},
            {"role": "model", "parts": [{"text": "Let me see."}, call("sun"), call("ball")]},
            {"role": "user", "parts": [result("sun"), result("ball")]},
            {"role": "model", "parts": [{"text": "One is a star, one is a toy."}]},
            {"role": "user", "parts": [{"text": "And a moon?"}]},
            {"role": "model", "parts": [call("moon")]},
            {"role": "user", "parts": [result("moon")]},
        ],
    }


CLIENTS = {
    "/v1/chat/completions": chat,
    "/v1/messages": claude,
    "/v1/responses": responses,
    "/v1beta/models/noise:generateContent": gemini,
}


def test_the_server_refuses_the_history_of_a_plain_client(house: ProbedHouse) -> None:
    """Or takes it and drops a part of it, as one template does: without the profile it would be lost in silence."""
    answer = httpx.post(f"{house.url}/v1/chat/completions", json=chat(), timeout=60)
    dropping = house.found.facts.get("text_beside_calls") == "refuses"
    assert answer.status_code >= 400 or dropping


@pytest.mark.parametrize("path", CLIENTS)
def test_it_takes_the_history_of_every_client(house: ProbedHouse, path: str) -> None:
    answer = house.running.post(path, CLIENTS[path]())
    assert answer.status_code == 200, answer.text


def test_what_it_drops_is_reported(house: ProbedHouse) -> None:
    answer = house.running.post("/v1/chat/completions", chat())
    drops = "tools" in house.found.facts.get("drops", ())
    assert ("unseen-content" in answer.headers["x-dragoman-changes"]) is drops
