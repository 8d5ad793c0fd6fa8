"""Agents search the web on models whose provider cannot: each ends with the fact that only the search knew.

The gateway asks a stub of SearXNG, which answers in its documented JSON: SearXNG itself cannot be installed here.
Models with a search of their own use that, and their pages know other numbers.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.e2e.agents import AGENTS
from tests.e2e.installed import asked_for
from tests.gateway.running import gateway as running_gateway
from tests.gateway.running import provider

from dragoman.emulators.plausible.hosted_tools import reference_number
from dragoman.testing import emulator

pytestmark = asked_for
TOPIC = "the tallest tower of Lisbon"
SECRET = "7315502"
FOUND = {"title": "Towers of Lisbon", "url": "https://towers.example.org/lisbon", "content": f"Its code is {SECRET}."}


class _SearxngStub(BaseHTTPRequestHandler):
    queries: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        self.queries.append(asked["q"][0])
        body = json.dumps({"query": asked["q"][0], "results": [FOUND], "answers": [], "suggestions": []}).encode()
        self.send_response(200 if asked.get("format") == ["json"] else 403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def searxng() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _SearxngStub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@dataclass(frozen=True)
class SearchUpstream:
    """A model as the gateway names it, and whether its provider searches itself."""

    profile: str
    model: str
    searches: bool


@dataclass(frozen=True)
class SearchTask:
    """What an agent is asked to do."""

    upstream: SearchUpstream
    question: str = field(default=f'Use the web search tool to search the web for "{TOPIC}".')


CLAUDE = SearchUpstream("anthropic", "anthropic/claude-sonnet-5", True)
UPSTREAMS = [
    SearchUpstream("openai-responses", "openai-responses/gpt-5.1", True),
    SearchUpstream("gemini", "gemini/gemini-2.5-flash", True),
    SearchUpstream("mistral", "mistral/mistral-large-latest", False),
    SearchUpstream("deepseek", "deepseek/deepseek-chat", False),
    SearchUpstream("bedrock", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", False),
    SearchUpstream("ollama", "ollama/qwen3", False),
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, searxng: str) -> Iterator[str]:
    with ExitStack() as stack:
        houses = {name: stack.enter_context(emulator(name)) for name in {one.profile for one in (*UPSTREAMS, CLAUDE)}}
        config = {
            "providers": {name: provider(name, house.base_url) for name, house in houses.items()},
            "models": {one.profile: {"target": one.model} for one in UPSTREAMS}
            | {key: {"target": CLAUDE.model} for key in ("gemini-3-flash-preview", "gemini-2.5-flash")},
            "tools": {"search": {"url": searxng}},
        }
        served = stack.enter_context(running_gateway(config, tmp_path_factory.mktemp("gateway")))
        yield served.url


@pytest.mark.parametrize("asked", UPSTREAMS, ids=lambda one: one.profile)
def test_claude_code_searches_on_other_vendors(asked: SearchUpstream, gateway: str, npm: Path, tmp_path: Path) -> None:
    text = _ask("claude-code", asked, gateway, npm, tmp_path)
    assert (str(reference_number(TOPIC)) if asked.searches else SECRET) in text
    assert asked.searches or any(TOPIC in query for query in _SearxngStub.queries)


def test_gemini_cli_grounds_its_answers_on_claude(gateway: str, npm: Path, tmp_path: Path) -> None:
    upstream = SearchUpstream("gemini", "gemini-3-flash-preview", True)
    text = _ask("gemini-cli", upstream, gateway, npm, tmp_path)
    assert str(reference_number(TOPIC)) in text


def _ask(name: str, upstream: SearchUpstream, gateway: str, npm: Path, home: Path) -> str:
    (home / "room").mkdir()
    agent = AGENTS[name]
    said = agent.start(SearchTask(upstream), home, gateway, npm / "node_modules" / ".bin")
    return agent.read([json.loads(line) for line in said.splitlines() if line.startswith("{")])[0]
