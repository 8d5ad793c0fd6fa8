"""SDKs and frameworks: one process per client holds all its loops, one after the other."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.installed import CLIENTS as SCRIPTS
from tests.e2e.installed import run
from tests.e2e.matrix import ClientReport
from tests.e2e.plot import Case
from tests.e2e.upstreams import UPSTREAMS

_SECONDS = 240
"""For all loops of one client; they take a few seconds."""


@dataclass(frozen=True)
class Client:
    """A script, the interpreter that runs it, and what it is told to speak."""

    title: str
    runs_on: str  # "node", "venv" (this environment) or "frameworks"
    script: str
    kind: str
    shows_thoughts: bool = True


_KINDS = {"chat": "OpenAI Chat", "responses": "OpenAI Responses", "anthropic": "Anthropic", "google": "Google"}


def _family(name: str, title: str, runs_on: str, script: str) -> dict[str, Client]:
    """These frameworks do not read the reasoning of a Chat answer."""
    return {
        f"{name}-{kind}": Client(f"{title}, {words}", runs_on, script, kind, kind != "chat")
        for kind, words in _KINDS.items()
    }


CLIENTS: Mapping[str, Client] = {
    "py-chat": Client("openai (Python), Chat", "venv", "openai_chat.py", "chat"),
    "py-responses": Client("openai (Python), Responses", "venv", "openai_responses.py", "responses"),
    "py-anthropic": Client("anthropic (Python)", "venv", "anthropic_messages.py", "anthropic"),
    "py-google": Client("google-genai (Python)", "venv", "google_genai.py", "google"),
    "js-chat": Client("openai (JavaScript), Chat", "node", "openai_chat.mjs", "chat"),
    "js-responses": Client("openai (JavaScript), Responses", "node", "openai_responses.mjs", "responses"),
    "js-anthropic": Client("@anthropic-ai/sdk", "node", "anthropic_messages.mjs", "anthropic"),
    "js-google": Client("@google/genai", "node", "genai.mjs", "google"),
    **_family("vercel", "Vercel AI SDK", "node", "vercel.mjs"),
    **_family("langchain", "LangChain", "frameworks", "with_langchain.py"),
    **_family("pydantic", "pydantic-ai", "frameworks", "with_pydantic_ai.py"),
}


class ClientRuns:
    """What every client heard in every loop. A client runs when somebody asks for it first."""

    def __init__(self, url: str, npm: Path, frameworks: Path, homes: Path) -> None:
        self._url = url
        self._npm = npm
        self._pythons = {"venv": sys.executable, "frameworks": str(frameworks)}
        self._homes = homes
        self._told: dict[str, dict[str, Any]] = {}

    def heard(self, case: Case) -> ClientReport:
        if case.client not in self._told:
            self._told[case.client] = {}  # a client that fails as a whole runs once
            self._told[case.client] = self._run(case.client)
        told = self._told[case.client].get(case.tag)
        assert told is not None, f"{case.client} said nothing about {case.tag}"
        assert "error" not in told, f"the client failed: {told['error'].strip()[-1500:]}"
        client = CLIENTS[case.client]
        thoughts = told["thoughts"] if client.shows_thoughts else None
        return ClientReport(told["text"], told["calls"], thoughts, tuple(told["usage"]))

    def _run(self, name: str) -> dict[str, Any]:
        client = CLIENTS[name]
        cases = [Case(name, upstream, way) for upstream in UPSTREAMS for way in ("whole", "streamed")]
        orders = [
            {"tag": one.tag, "model": one.upstream.model, "question": one.question, "way": one.way} for one in cases
        ]
        home = self._homes / name
        home.mkdir()
        said = run([*self._program(client), self._url, json.dumps(orders), client.kind], home, _SECONDS)
        told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return {one["tag"]: one for one in told}

    def _program(self, client: Client) -> list[str]:
        if client.runs_on != "node":
            return [self._pythons[client.runs_on], str(SCRIPTS / client.script)]
        shutil.copytree(SCRIPTS, self._npm / "clients", dirs_exist_ok=True)  # where node finds the packages
        return ["node", str(self._npm / "clients" / client.script)]
