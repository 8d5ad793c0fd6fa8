"""Paths of the vendors' APIs that nobody here serves: a 501 in the caller's dialect that says what to do."""

from __future__ import annotations

from pathlib import Path

import anthropic
import httpx
import httpx2
import openai
import pytest

from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import Log, LogLevel, ProviderErrors
from dragoman.config.schema.state import StateConfig
from dragoman.dialects.registry import find_unserved_path, list_dialects
from dragoman.gateway.app import Gateway
from dragoman.gateway.services import Services
from dragoman.integrations.sdk_transport import DragomanTransport

CLAUDE = {"anthropic-version": "2023-06-01"}
CASES = [
    ("GET", "/v1/responses/resp_1", {}, "openai-responses"),
    ("DELETE", "/v1/responses/resp_1", {}, "openai-responses"),
    ("POST", "/v1/responses/resp_1/cancel", {}, "openai-responses"),
    ("GET", "/v1/responses/resp_1/input_items", {}, "openai-responses"),
    ("POST", "/v1/conversations", {}, "openai-responses"),
    ("POST", "/conversations/conv_1/items", {}, "openai-responses"),
    ("GET", "/v1/conversations/conv_1/items/i", {}, "openai-responses"),
    ("POST", "/v1/batches", {}, "openai-chat"),
    ("GET", "/v1/files/f/content", {}, "openai-chat"),
    ("POST", "/v1/messages/batches", CLAUDE, "anthropic"),
    ("GET", "/v1/messages/batches/b/results", {}, "anthropic"),
    ("POST", "/v1/files", CLAUDE, "anthropic"),
    ("POST", "/v1beta/models/gemini-3:batchGenerateContent", {}, "gemini"),
    ("POST", "/v1beta/models/google/gemini-3:embedContent", {}, "gemini"),
    ("POST", "/v1beta/cachedContents", {}, "gemini"),
    ("GET", "/v1beta/files", {}, "gemini"),
    ("POST", "/upload/v1beta/files", {}, "gemini"),
    ("POST", "/v1beta/batches/b:cancel", {}, "gemini"),
    ("POST", "/v1beta/interactions", {}, "gemini"),
    ("GET", "/v1beta/interactions/i", {}, "gemini"),
    ("POST", "/v1beta/interactions/i/cancel", {}, "gemini"),
    ("POST", "/v1beta/fileSearchStores", {}, "gemini"),
    ("POST", "/v1/vector_stores", {}, "openai-chat"),
    ("GET", "/v1/containers/c", {}, "openai-chat"),
    ("POST", "/v1/uploads", {}, "openai-chat"),
]
SHAPES = {
    "openai-chat": ("error", "code", "not_implemented"),
    "openai-responses": ("error", "code", "not_implemented"),
    "anthropic": ("error", "type", "not_supported"),
    "gemini": ("error", "status", "UNIMPLEMENTED"),
}


@pytest.fixture
def app(tmp_path: Path) -> Gateway:
    quiet = Log(level=LogLevel.ERROR, provider_errors=ProviderErrors(path=None))
    return Gateway(Services(Loaded(config=Config(log=quiet, state=StateConfig(enabled=False)))), watch=False)


@pytest.mark.parametrize(("method", "path", "headers", "dialect"), CASES)
async def test_a_clear_refusal(app: Gateway, method: str, path: str, headers: dict[str, str], dialect: str) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        answer = await client.request(method, path, headers=headers, content=b"{}" if method == "POST" else None)
    outer, key, word = SHAPES[dialect]
    assert answer.status_code == 501
    assert answer.json()[outer][key] == word
    found = find_unserved_path(method, path, dialect)
    assert found is not None
    assert found.path.instead in answer.json()[outer]["message"]
    assert answer.headers["x-should-retry"] == "false"


def test_no_path_is_both_served_and_not() -> None:
    served = {(e.method, p + e.path) for one in list_dialects() for e in one.endpoints for p in one.prefixes}
    for method, path in served:
        assert find_unserved_path(method, path.replace("{model}", "m"), "openai-chat") is None


@pytest.mark.parametrize(
    "path", ["/v1/responses", "/v1/conversation", "/v1/responses/a/b/c", "/x/responses/a", "/v1/files//"]
)
def test_other_paths_are_not_meant(path: str) -> None:
    assert find_unserved_path("GET", path, "openai-chat") is None


def test_the_sdks_raise_at_once() -> None:
    """Their transports say the same as the gateway, and nobody tries it again."""
    client = openai.OpenAI(
        api_key="k", http_client=httpx.Client(transport=DragomanTransport("anthropic/claude-opus-4-8"))
    )
    with pytest.raises(openai.APIStatusError, match="nothing is stored here") as refused:
        client.responses.retrieve("resp_1")
    assert refused.value.status_code == 501
    transport = DragomanTransport("openai/gpt-5")
    claude = anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=transport))
    with pytest.raises(anthropic.APIStatusError, match="one by one") as told:
        claude.messages.batches.retrieve("b")
    assert told.value.status_code == 501
