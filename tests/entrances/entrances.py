"""Every way into Dragoman, behind one function: ask, and see what came of it.

An entrance shows what its user sees: a status, a body, the report. What the provider saw is asked of the provider.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider

import dragoman
from dragoman.cli import cli
from dragoman.engine.library.report_summary import report_headers
from dragoman.integrations.sdk_transport import AsyncDragomanTransport, DragomanTransport

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:{method}",
}
KEY = "pk-entrances-0123456789"


@dataclass(frozen=True)
class Stage:
    """One provider, and how it is asked."""

    target: str
    url: str
    dialect: str = "openai-chat"
    folder: Path = Path()
    models: Mapping[str, Any] = field(default_factory=dict)
    providers: Mapping[str, str] = field(default_factory=dict)

    @property
    def profile(self) -> str:
        return self.target.partition("/")[0]

    def path(self, stream: bool) -> str:
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return PATHS[self.dialect].format(model=self.target, method=method)


@dataclass(frozen=True)
class Question:
    """A request as the client writes it, and what it sets besides."""

    body: Any
    stream: bool = False
    max_loss: dragoman.LossName | None = None
    doubt: dragoman.DoubtName | None = None

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        in_body = self.stream and "contents" not in self.body
        return json.dumps({**self.body, "stream": True} if in_body else self.body).encode()

    @property
    def headers(self) -> dict[str, str]:
        set_ = {"x-dragoman-max-loss": self.max_loss, "x-dragoman-doubt": self.doubt}
        return {"content-type": "application/json", **{name: value for name, value in set_.items() if value}}


@dataclass(frozen=True)
class Seen:
    """What the user of an entrance sees. None: this entrance does not show it."""

    status: int | None
    body: str | None
    changes: str = ""
    compiled: Any = None
    request_id: str = ""
    error: str = ""

    @property
    def message(self) -> str:
        """The error's words, wherever the entrance and the dialect put them."""
        if self.error:
            return self.error
        found = re.search(r'"message":\s*"((?:[^"\\]|\\.)*)"', self.body or "")
        return str(json.loads(f'"{found[1]}"')) if found else self.body or ""


def plain(text: str) -> str:
    """A body without what no two requests share; nor a Gemini answer's model, whose name the library is not told."""
    text = re.sub(r"req_[0-9a-f]+", "req", text)
    text = re.sub(r'"((?:item_)?id)":\s*"(resp|msg)_\w+"', r'"\1":"\2"', text)
    text = re.sub(r'"modelVersion":"[^"]*"', "", text)
    return re.sub(r'"(created|created_at|completed_at)":\s*\d+', r'"\1":0', text)


class Entrance:
    """One way in."""

    name = ""
    sends = True
    streams = True

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def ask(self, question: Question) -> Seen:
        raise NotImplementedError


class Library(Entrance):
    """`dragoman.adapt`, plain httpx, `adapted.answer` and `adapted.stream`."""

    name = "library"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.state = dragoman.State()

    def ask(self, question: Question) -> Seen:
        try:
            adapted = self._adapt(question, {})
            if adapted.media_to_fetch:
                adapted = self._adapt(question, {url: httpx.get(url).content for url in adapted.media_to_fetch})
        except dragoman.errors.DragomanError as fault:
            return Seen(fault.status, None, error=str(fault))
        changes = report_headers(adapted.changes).changes.decode()
        headers = {**adapted.headers, "authorization": f"Bearer {KEY}", "x-api-key": KEY, "x-goog-api-key": KEY}
        asked = {"url": self.stage.url + adapted.path, "content": adapted.body, "headers": headers}
        with httpx.stream("POST", **asked, timeout=120) as response:
            if question.stream and response.status_code == 200:
                stream = adapted.stream()
                body = b"".join([stream.feed(chunk) for chunk in response.iter_bytes()]) + stream.finish()
                self.state = self.state.after(stream)
                return Seen(200, body.decode(), changes, adapted.json)
            answer = adapted.answer(response.read(), response.status_code, response.headers)
        self.state = self.state.after(answer)
        return Seen(answer.status, answer.body.decode(), changes, adapted.json)

    def _adapt(self, question: Question, media: Mapping[str, bytes]) -> dragoman.AdaptedRequest:
        return dragoman.adapt(
            question.content,
            source=self.stage.dialect,
            target=self.stage.target,
            stream=question.stream if self.stage.dialect == "gemini" else None,
            policy=dragoman.Policy(max_loss=question.max_loss or "content", doubt=question.doubt or "faithful"),
            state=replace(self.state, media=media),
        )


class Sdk(Entrance):
    """The transport inside an SDK, driven by a bare client."""

    name = "sdk"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.transport = self.made()

    def made(self) -> Any:
        return DragomanTransport(self.stage.target, api_key=KEY, base_url=self.stage.url)

    def ask(self, question: Question) -> Seen:
        with httpx.Client(transport=_Kept(self.transport), timeout=120) as client:
            url = "http://sdk" + self.stage.path(question.stream)
            return seen(client.post(url, content=question.content, headers=question.headers))


class AsyncSdk(Sdk):
    name = "async sdk"

    def made(self) -> Any:
        return None

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.loop = asyncio.new_event_loop()
        self.transport = AsyncDragomanTransport(stage.target, api_key=KEY, base_url=stage.url)

    def ask(self, question: Question) -> Seen:
        return self.loop.run_until_complete(self._ask(question))

    async def _ask(self, question: Question) -> Seen:
        url = "http://sdk" + self.stage.path(question.stream)
        client = httpx.AsyncClient(transport=self.transport, timeout=120)
        return seen(await client.post(url, content=question.content, headers=question.headers))


class _Kept(httpx.BaseTransport):
    """A transport that outlives the clients that use it."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answered: httpx.Response = self._transport.handle_request(request)
        return answered


class Gateway(Entrance):
    """`dragoman serve`, over HTTP."""

    name = "gateway"

    def __init__(self, stage: Stage, running: Running) -> None:
        super().__init__(stage)
        self.running = running

    def ask(self, question: Question) -> Seen:
        return seen(self.answered(question))

    def answered(self, question: Question) -> httpx.Response:
        url = self.running.url + self.stage.path(question.stream)
        return self.running.http.post(url, content=question.content, headers=question.headers)


class DryRun(Gateway):
    """`POST /dragoman/adapt`."""

    name = "dry run"
    sends = False

    def answered(self, question: Question) -> httpx.Response:
        content = question.content
        given: dict[str, Any] = {"max_loss": question.max_loss, "doubt": question.doubt}
        given |= {"stream": question.stream} if self.stage.dialect == "gemini" else {}
        asked = {"from": self.stage.dialect, "to": self.stage.target, **{k: v for k, v in given.items() if v}}
        head = json.dumps(asked).encode()[:-1] + b', "request": '
        return self.running.http.post(self.running.url + "/dragoman/adapt", content=head + content + b"}")

    def ask(self, question: Question) -> Seen:
        answered = self.answered(question)
        if answered.status_code != 200:
            return seen(answered)
        told = answered.json()
        return Seen(200, None, _summary(told["changes"]), told["body"])


class Counting(Gateway):
    """`count_tokens`, at the gateway."""

    name = "counting"
    sends = False

    def answered(self, question: Question) -> httpx.Response:
        url = self.running.url + self.stage.path(False) + "/count_tokens"
        return self.running.http.post(url, content=question.content, headers=question.headers)


class SdkCounting(Sdk):
    """`count_tokens`, inside an SDK."""

    name = "sdk counting"
    sends = False

    def ask(self, question: Question) -> Seen:
        with httpx.Client(transport=_Kept(self.transport), timeout=120) as client:
            url = "http://sdk" + self.stage.path(False) + "/count_tokens"
            return seen(client.post(url, content=question.content, headers=question.headers))


class CommandLine(Entrance):
    """`dragoman adapt`."""

    name = "command line"
    sends = False

    def ask(self, question: Question) -> Seen:
        options = ["--from", self.stage.dialect, "--to", self.stage.target, "--json"]
        options += ["--stream"] if question.stream and self.stage.dialect == "gemini" else []
        options += ["--max-loss", question.max_loss] if question.max_loss else []
        options += ["--doubt", question.doubt] if question.doubt else []
        done = CliRunner().invoke(cli, ["adapt", "-", *options], input=question.content)
        if done.exit_code:
            return Seen(None, None, error=done.output.strip())
        told = json.loads(done.stdout)
        return Seen(None, None, _summary(told["changes"]), told["body"])


class Replay(Entrance):
    """`dragoman replay --send` of the recorded request."""

    name = "replay"
    streams = False

    def __init__(self, stage: Stage, running: Running) -> None:
        super().__init__(stage)
        self.running = running

    def ask(self, question: Question) -> Seen:
        line = {"timestamp": "", "provider": "p", "stage": "request", "target": self.stage.target}
        line |= {"client_dialect": self.stage.dialect, "input_request": json.loads(question.content)}
        done = CliRunner().invoke(cli, ["replay", json.dumps(line), "--send", "--config", str(self.running.file)])
        refused = re.search(r"provider +refuses it: (\d+) (.*)", done.output)
        answered = re.search(r"provider +answers: (.*)", done.output)
        assert refused or answered, done.output
        if refused:
            return Seen(int(refused[1]), None, error=refused[2])
        return Seen(200, None)


def seen(answered: httpx.Response) -> Seen:
    headers = answered.headers
    changes, request_id = headers.get("x-dragoman-changes", ""), headers["x-dragoman-request-id"]
    return Seen(answered.status_code, answered.text, changes, request_id=request_id)


def _summary(changes: list[dict[str, Any]]) -> str:
    return report_headers(tuple(dragoman.Change(**change) for change in changes)).changes.decode()


@contextmanager
def all_entrances(stage: Stage) -> Iterator[dict[str, Entrance]]:
    """All of them, each with a memory of its own."""
    providers = {stage.profile: provider(stage.profile, stage.url, api_key=KEY)}
    providers |= {name: provider(name, url, api_key=KEY) for name, url in stage.providers.items()}
    config = {"providers": providers, "models": dict(stage.models), "media": {"allow": ["127.0.0.1"]}}
    with gateway(config, stage.folder) as running:
        made: list[Entrance] = [Library(stage), Sdk(stage), AsyncSdk(stage), CommandLine(stage), SdkCounting(stage)]
        made += [Gateway(stage, running), DryRun(stage, running), Counting(stage, running), Replay(stage, running)]
        yield {entrance.name: entrance for entrance in made}
