"""A gateway on emulators with the traffic of a working day, and Debian's Chromium to look at it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright
from tests.gateway.running import Running, gateway, provider

from dragoman.cli.demo_conversations import DEMO_CONVERSATIONS
from dragoman.gateway.console.static_files import static_files
from dragoman.testing import emulator

CHROMIUM = shutil.which("chromium")
VIEWS = re.findall(r'^  \{ id: "(\w+)", key:', static_files()["app.js"].content.decode(), re.M)
"""Those of the navigation."""
HOMES = {
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-v4-flash",
    "groq": "llama-3.3-70b-versatile",
}


@contextmanager
def working_gateway(folder: Path, **config: Any) -> Iterator[Running]:
    """Emulators as providers, models with fallbacks, a model whose first target always fails, and one at a server of
    which little is known."""
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(name)) for name in HOMES}
        providers = {name: provider(name, one.base_url) for name, one in emulators.items()}
        providers["down"] = provider("openai", "http://127.0.0.1:9")
        providers["stranger"] = provider("openai-compatible", emulators["deepseek"].base_url)
        models = {model: {"target": f"{name}/{model}"} for name, model in HOMES.items()}
        models["odd"] = {"target": "stranger/deepseek-v4-flash"}
        models["steady"] = {"target": "down/gpt-4o", "fallbacks": ["anthropic/claude-sonnet-4-6"]}
        made = {"providers": providers, "models": models, **config}
        yield stack.enter_context(gateway(made, folder))


def send_traffic(running: Running, **headers: str) -> None:
    """Every demonstration to every model; a stream, a refusal, a fallback and a lesson."""
    with httpx.Client(base_url=running.url, timeout=30, headers=headers) as client:
        for name, model in HOMES.items():
            for one in DEMO_CONVERSATIONS:
                path, body = one.request(f"{name}/{model}")
                client.post(path, content=body, headers={"content-type": "application/json"})
        hello = {"messages": [{"role": "user", "content": "Bonjour !"}]}
        client.post("/v1/chat/completions", json={"model": "claude-sonnet-4-6", "stream": True, **hello})
        client.post("/v1/chat/completions", json={"model": "no-such-model", **hello})
        client.post("/v1/chat/completions", json={"model": "steady", **hello})
        path, body = DEMO_CONVERSATIONS[2].request("odd")
        client.post(path, content=body, headers={"content-type": "application/json"})
        path, body = DEMO_CONVERSATIONS[0].request("mistral-large-latest")
        client.post(path, content=body, headers={"content-type": "application/json"})


HOSTILE = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1> \u202e evil \u0007 &amp;"


def send_hostile(running: Running) -> str:
    """A request whose every part is hostile; its id."""
    body = {
        "model": "claude-sonnet-4-6",
        "messages": [
            {"role": "user", "content": HOSTILE + "x" * 200_000},
            {"role": "assistant", "content": HOSTILE, HOSTILE: HOSTILE},
            {"role": "system", "content": HOSTILE},
            {"role": "user", "content": "\u05e9\u05dc\u05d5\u05dd " + HOSTILE},
        ],
        "metadata": {"__proto__": "x", "constructor": HOSTILE},
    }
    text = json.dumps(body)
    answer = httpx.post(f"{running.url}/v1/chat/completions", content=text, timeout=30)
    httpx.post(f"{running.url}/v1/chat/completions", json={**body, "model": HOSTILE[:150]}, timeout=30)
    return answer.headers["x-dragoman-request-id"]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page, and everything that went wrong on it."""

    def __init__(self, page: Page, root: str) -> None:
        self.page = page
        self.root = root
        self.errors: list[str] = []
        page.on("console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda fault: self.errors.append(str(fault)))
        page.on("requestfailed", self._failed)

    def _failed(self, request: Any) -> None:
        """A page that is left gives up what it waited for."""
        if request.failure != "net::ERR_ABORTED":
            self.errors.append(f"{request.url}: {request.failure}")

    def open(self, view: str) -> Page:
        self.page.goto(f"{self.root}/#/{view}")
        return self.page


@contextmanager
def page_of(browser: Browser, root: str, **options: Any) -> Iterator[Watched]:
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    try:
        yield Watched(context.new_page(), root)
    finally:
        context.close()
