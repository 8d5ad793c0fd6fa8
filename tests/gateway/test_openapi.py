"""The OpenAPI document says what is served, and everything it says is served."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import Log, LogLevel, ProviderErrors
from dragoman.gateway.app import Gateway
from dragoman.gateway.http.openapi import write_document
from dragoman.gateway.services import Services

DOCUMENT = json.loads(write_document())
CALLS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


@pytest.fixture
def app(tmp_path: Path) -> Gateway:
    quiet = Log(level=LogLevel.ERROR, provider_errors=ProviderErrors(path=None))
    return Gateway(Services(Loaded(config=Config(log=quiet))), watch=False)


@pytest.mark.parametrize(("path", "method"), CALLS)
async def test_every_path_is_served(app: Gateway, path: str, method: str) -> None:
    """A request that is wrong gets an error about itself, never `there is nothing here`."""
    url = path.replace("{model}", "m").replace("{id}", "req_0").replace("{id1}", "a").replace("{id2}", "b")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.request(method.upper(), url, content=b"{}" if method == "post" else None)
    assert "there is nothing at" not in answer.text
    assert answer.status_code != 405
    assert answer.headers["x-dragoman-request-id"]
    documented = DOCUMENT["paths"][path][method]["responses"]
    assert documented.keys() & {str(answer.status_code), f"{answer.status_code // 100}XX"}, answer.text


async def test_it_is_served_itself(app: Gateway) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/openapi.json")
    assert answer.json() == DOCUMENT
    assert answer.json()["openapi"].startswith("3.")


def test_streams_of_a_cloud_are_described_as_the_cloud_frames_them() -> None:
    answers = DOCUMENT["paths"]["/v1/model/{model}/invoke-with-response-stream"]["post"]["responses"]["200"]
    assert "application/vnd.amazon.eventstream" in answers["content"]
