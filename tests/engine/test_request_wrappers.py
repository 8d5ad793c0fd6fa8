"""A request that stands inside another object is read for what it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest, RequestError

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
CLAUDE: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
GOOGLE: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
LINE: dict[str, Any] = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions"}


@pytest.mark.parametrize(
    ("body", "source", "target", "at", "did", "loses"),
    [
        ({"request": CHAT}, "openai-chat", "openai/gpt-4o", "/request", "in request", "nothing"),
        ({"body": CHAT}, "openai-chat", "openai/gpt-4o", "/body", "in body", "nothing"),
        ({"json": CHAT}, "openai-chat", "openai-compatible-lenient/m", "/json", "in json", "nothing"),
        ({"body": json.dumps(CHAT)}, "openai-chat", "openai/gpt-4o", "/body", "in body", "nothing"),
        ({**LINE, "body": CHAT}, "openai-chat", "openai/gpt-4o", "/body", "without custom_id, method, url", "metadata"),
        (
            {"custom_id": "1", "params": CLAUDE},
            "anthropic",
            "anthropic/claude-sonnet-4-5",
            "/params",
            "without custom_id",
            "metadata",
        ),
        ({"key": "1", "request": GOOGLE}, "gemini", "gemini/gemini-2.5-flash", "/request", "without key", "metadata"),
        ({"a/b": {"input": "Hi"}}, "openai-responses", "openai-responses/gpt-5", "/a~1b", "in a~1b", "nothing"),
    ],
)
def test_the_request_in_it_is_sent(
    body: dict[str, Any], source: str, target: str, at: str, did: str, loses: str
) -> None:
    done = adapt(body, source=source, target=target)
    assert [(one.rule, one.at, one.loses) for one in done.changes] == [("off-schema", at, loses)]
    assert done.changes[0].did.endswith(did)
    name, _, model = target.partition("/")
    assert judge(name, model, done.path, done.headers, done.body) is None
    again = adapt(done.body, source=source, target=target)
    assert (again.body, again.changes) == (done.body, ())


def test_the_dialect_is_that_of_the_request_in_it() -> None:
    done = adapt({"body": GOOGLE}, source="auto", target="openai/gpt-4o")
    assert done.json["messages"] == [{"role": "user", "content": "Hi"}]


def test_what_stands_beside_it_and_is_meant_for_it() -> None:
    inner = {"messages": CHAT["messages"]}
    done = adapt(
        {"model": "m", "stream": True, "project": "p", "request": inner}, source="openai-chat", target="vllm/m"
    )
    assert done.json == {"model": "m", "stream": True, **inner}
    assert done.changes[0].did.endswith("without project")
    own = adapt({"stream": True, "body": {**CHAT, "stream": False}}, source="openai-chat", target="vllm/m")
    assert own.json["stream"] is False


def test_changes_point_into_what_the_client_sent() -> None:
    inner = {**CHAT, "messages": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]}
    done = adapt({"body": inner}, source="openai-chat", target="openai/gpt-4o")
    assert [one.at for one in done.changes] == ["/body", "/body/messages/0/content/0"]


def test_errors_point_into_what_the_client_sent() -> None:
    with pytest.raises(RequestError) as caught:
        adapt({"body": {"messages": "Hi", "stream": 7}}, source="openai-chat", target="openai/gpt-4o")
    assert caught.value.at == "/body/stream"


@pytest.mark.parametrize(
    "body",
    [
        {"a": CHAT, "b": CHAT},
        {"body": {"temperature": 1}},
        {"body": "{not json"},
        {"body": [CHAT]},
        {"body": {"body": CHAT}},
        {"model": "m"},
    ],
)
def test_what_is_not_clear_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(MalformedRequest) as caught:
        adapt(body, source="openai-chat", target="openai/gpt-4o")
    assert caught.value.at == "/messages"
    assert caught.value.hint


def test_a_path_names_the_model_of_some_dialects() -> None:
    done = adapt({"model": "m", "request": GOOGLE}, source="gemini", target="gemini/gemini-2.5-flash")
    assert done.json == GOOGLE
    assert done.changes[0].did.endswith("without model")
