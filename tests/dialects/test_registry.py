"""Which dialect a path, a caller or a body belongs to, and what every dialect says of itself."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import dialects
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.events import CallStarted
from dragoman.conversation.near_misses import LISTS
from dragoman.conversation.parts import Call
from dragoman.conversation.replies import Choice, Reply
from dragoman.dialects.dialect import AnswerContext, CodecPart, Dialect, Framing, Job, ListedModel, RenderOptions, Route
from dragoman.dialects.registry import (
    caller_dialect,
    dialect,
    find_token_count,
    list_dialects,
    list_served_paths,
    model_listing,
    recognise,
    route,
)
from dragoman.errors import TargetError

every_dialect = pytest.mark.parametrize("one", list_dialects(), ids=lambda one: one.name)
GEMINI = "/v1beta/models/m"


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/v1/chat/completions", {}, Route("openai-chat", Job.GENERATE)),
        ("/responses", {}, Route("openai-responses", Job.GENERATE)),
        ("/v1/messages", {}, Route("anthropic", Job.GENERATE)),
        ("/v1/messages/count_tokens", {}, Route("anthropic", Job.COUNT_TOKENS)),
        (f"{GEMINI}:generateContent", {}, Route("gemini", Job.GENERATE, "m", False)),
        (f"{GEMINI}:streamGenerateContent", {"alt": "sse"}, Route("gemini", Job.GENERATE, "m", True)),
        (
            f"{GEMINI}:streamGenerateContent",
            {"alt": "json"},
            Route("gemini", Job.GENERATE, "m", True, Framing.JSON_ARRAY),
        ),
        (f"{GEMINI}:countTokens", {}, Route("gemini", Job.COUNT_TOKENS, "m")),
        ("/models/a/b:c:generateContent", {}, Route("gemini", Job.GENERATE, "a/b:c", False)),
        ("/v1alpha/models/:generateContent", {}, None),
        ("/v2/chat/completions", {}, None),
        ("/v1/chat/completions/1", {}, None),
        ("/v1/models/m:embedContent", {}, None),
    ],
)
def test_a_path_says_what_is_asked_in_which_dialect(path: str, query: dict[str, str], expected: Route | None) -> None:
    assert route("POST", path, query) == expected


@every_dialect
def test_the_list_of_messages_has_one_name(one: Dialect) -> None:
    """A request is read, written, remembered and cut down by it."""
    codec = import_module(f"dragoman.dialects.{one.name.replace('-', '_')}.request")
    assert {codec.LAYOUT.list_name, codec.FORM.list_name, codec.MEMBERS.messages} == {one.list_name}
    assert one.list_name in LISTS, "LISTS of conversation/near_misses.py tells a request from another object"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/proxy/openai/deployments/d/chat/completions", "openai-chat"),
        ("/api/v1/responses", "openai-responses"),
        ("/messages/v1/messages", "anthropic"),
        ("/v3/projects/p/locations/l/publishers/google/models/m:generateContent", "gemini"),
        ("/v1/embeddings", None),
    ],
)
def test_an_sdk_may_have_any_prefix(path: str, name: str | None) -> None:
    found = route("POST", path, {}, any_prefix=True)
    assert (found.dialect if found is not None else None) == name
    assert route("POST", path, {}) is None


def test_a_path_is_for_one_method() -> None:
    assert route("GET", "/v1/messages", {}) is None
    assert route("POST", "/v1/models/m", {}) is None
    shown = route("GET", "/v1/models/a/b", {})
    assert shown is not None
    assert (shown.job, shown.model) == (Job.SHOW_MODEL, "a/b")


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/v1/models", {}, "openai-chat"),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, "anthropic"),
        ("/v1/models", {"x-goog-api-key": "k"}, "gemini"),
        ("/v1beta/models", {"anthropic-version": "2023-06-01"}, "gemini"),
        ("/v1alpha/models/m", {}, "gemini"),
    ],
)
def test_a_caller_is_known_by_path_and_headers(path: str, headers: dict[str, str], name: str) -> None:
    assert caller_dialect(path, headers) == name


BLOCK = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({}, "openai-chat"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "openai-chat"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}, "openai-chat"),
        ({"input": "Hi"}, "openai-responses"),
        ({"input": "Hi", "tools": [{"name": "f", "input_schema": {}}]}, "openai-responses"),
        ({"contents": []}, "gemini"),
        ({"contents": [], "system": "x"}, "gemini"),
        ({"messages": [], "system": "x"}, "anthropic"),
        ({"messages": [], "stop_sequences": []}, "anthropic"),
        ({"messages": [], "tools": [{"name": "f", "input_schema": {}}]}, "anthropic"),
        ({"messages": [BLOCK]}, "anthropic"),
        ({"messages": b'[{"role":"user","content":[{"type":"image","source":{}}]}]'}, "anthropic"),
        ({"messages": 1, "tools": 2}, "openai-chat"),
    ],
)
def test_a_body_is_recognised_by_its_members(body: dict[str, Any], name: str) -> None:
    assert recognise(body) == name


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(TargetError, match="anthropic"):
        dialect("antropic")


def test_a_dialect_without_a_counting_endpoint_says_so() -> None:
    with pytest.raises(TargetError, match="counts tokens"):
        find_token_count("openai-chat")


@every_dialect
def test_a_dialect_is_whole(one: Dialect) -> None:
    jobs = [endpoint.job for endpoint in one.endpoints]
    assert Job.GENERATE in jobs
    assert (Job.COUNT_TOKENS in jobs) is (one.token_count is not None)
    assert one.title
    assert all(header == header.lower() for header in (*one.headers, *one.passed_headers, *one.caller_headers))
    assert ("m" in re.split("[/:]", one.request_path(RenderOptions("m", False), ""))) is one.model_in_path
    assert one.request_path(RenderOptions("m", True), "/custom/{model}") == "/custom/m"
    assert one.requests is one.requests
    assert one.answers is one.answers


@every_dialect
def test_every_dialect_lists_models(one: Dialect) -> None:
    models = [ListedModel("a", "A model", 1, 1000), ListedModel("b")]
    listing = model_listing(one.name)
    assert b'"A model"' in listing.render_models(models, None) or b'"a"' in listing.render_models(models, None)
    assert listing.render_model(models[1]).count(b'b"') >= 1
    assert listing.render_models([], None) != listing.render_models(models, None)


def test_the_names_are_those_of_the_packages() -> None:
    assert tuple(one.name for one in list_dialects()) == DIALECT_NAMES


def test_no_path_of_a_client_is_claimed_twice() -> None:
    posted = [served.path for served in list_served_paths(Job.GENERATE, Job.COUNT_TOKENS)]
    assert len(posted) == len(set(posted))


@pytest.mark.parametrize("framing", Framing)
def test_every_framing_has_a_content_type(framing: Framing) -> None:
    assert "/" in framing.content_type


CALLING = Reply(choices=(Choice(parts=(Call("call-1", "f", b"{}"),)),))


def without_ids(value: Any) -> Any:
    """An answer in which nothing has an id."""
    if isinstance(value, dict):
        return {name: without_ids(inner) for name, inner in value.items() if not name.lower().endswith("id")}
    return [without_ids(inner) for inner in value] if isinstance(value, list) else value


@every_dialect
def test_a_call_without_an_id_gets_one_that_no_other_answer_has(one: Dialect) -> None:
    def ids(seed: str) -> list[str]:
        body = msgspec.json.encode(without_ids(msgspec.json.decode(one.answers.render(CALLING, AnswerContext()))))
        events = one.answers.parse(body, seed=seed)
        parser = one.answers.stream_parser(seed=seed)
        streamed = [*parser.feed(body), *parser.close()]
        found = [event.id for event in (*events, *streamed) if isinstance(event, CallStarted)]
        assert len(found) == 2, "whole, and as a plain body in answer to a request for a stream"
        return sorted(set(found))

    assert len(ids("one")) == 1
    assert ids("one") != ids("another")


@every_dialect
def test_a_dialect_has_the_parts_for_which_there_are_modules(one: Dialect) -> None:
    parts = {name: part for name, part in vars(Dialect).items() if isinstance(part, CodecPart)}
    package = Path(dialects.__file__).parent / one.name.replace("-", "_")
    there = {name for name, part in parts.items() if (package / f"{part.module.replace('.', '/')}.py").is_file()}

    assert {"requests", "answers", *one.parts} == there
    assert all(getattr(one, name) is not None for name in there)
    assert all(getattr(one, name) is None for name in parts.keys() - there)
