"""The transport inside the three official SDKs: sync and async, whole and streamed, on providers of other dialects."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import types
from tests.gateway.test_early_turns import SECONDS, SERVED, TOOL
from tests.gateway.upstream import upstream

from dragoman import Policy, RequestLimits, TrimPolicy
from dragoman.errors import ConfigError, OptionError, TargetError
from dragoman.integrations.sdk_transport import AsyncDragomanTransport, DragomanTransport
from dragoman.testing import emulator

TARGETS = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "deepseek": "deepseek-chat",
}
LIBRARIES: list[Any] = [httpx, httpx2]
LATE = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "system", "content": "Answer in French."},
]


@pytest.fixture(scope="module")
def providers() -> Iterator[dict[str, Any]]:
    running = {name: emulator(name) for name in TARGETS}
    started = {name: one.__enter__() for name, one in running.items()}
    yield started
    for one in running.values():
        one.__exit__(None, None, None)


def transport(providers: dict[str, Any], name: str, kind: Any = DragomanTransport, **more: Any) -> Any:
    return kind(f"{name}/{TARGETS[name]}", api_key="k-123456", base_url=providers[name].base_url, **more)


def plain(library: Any) -> Any:
    """What sends: without the certificates that it would read anew for every test."""
    return library.HTTPTransport(verify=False)


def chat(client: openai.OpenAI, stream: bool) -> str:
    messages: Any = LATE
    if not stream:
        return client.chat.completions.create(model="m", messages=messages).choices[0].message.content or ""
    chunks = client.chat.completions.create(model="m", messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def responses(client: openai.OpenAI, stream: bool) -> str:
    if not stream:
        return client.responses.create(model="m", input="Hi").output_text
    with client.responses.stream(model="m", input="Hi") as events:
        for _ in events:
            pass
        return events.get_final_response().output_text


def messages(client: anthropic.Anthropic, stream: bool) -> str:
    asked: Any = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}
    if not stream:
        answer = client.messages.create(**asked)
    else:
        with client.messages.stream(**asked) as events:
            answer = events.get_final_message()
    return "".join(block.text for block in answer.content if block.type == "text")


def gemini(client: genai.Client, stream: bool) -> str:
    if not stream:
        return client.models.generate_content(model="m", contents="Hi").text or ""
    return "".join(chunk.text or "" for chunk in client.models.generate_content_stream(model="m", contents="Hi"))


def openai_sdk(http: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="unused", http_client=http, max_retries=0)


def anthropic_sdk(http: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="unused", http_client=http, max_retries=0)


def bedrock_sdk(http: Any) -> anthropic.AnthropicBedrock:
    return anthropic.AnthropicBedrock(api_key="unused", aws_region="us-east-1", http_client=http, max_retries=0)


def google_sdk(http: Any) -> genai.Client:
    return genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_client=http))


ASKED: list[tuple[str, Callable[[Any], Any], Callable[[Any, bool], str]]] = [
    ("openai", openai_sdk, chat),
    ("openai-responses", openai_sdk, responses),
    ("anthropic", anthropic_sdk, messages),
    ("anthropic-bedrock", bedrock_sdk, messages),
    ("gemini", google_sdk, gemini),
]


CASES = [
    pytest.param(sdk, ask, library, id=f"{name}-{library.__name__}")
    for name, sdk, ask in ASKED
    for library in LIBRARIES
    if sdk not in (anthropic_sdk, bedrock_sdk) or library is httpx2  # these refuse httpx
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("sdk", "ask", "library"), CASES)
def test_every_sdk_speaks_to_every_provider(
    providers: dict[str, Any], sdk: Any, ask: Any, library: Any, target: str, stream: bool
) -> None:
    http = library.Client(transport=transport(providers, target, wrap=plain(library)))
    said = ask(sdk(http), stream)
    assert "Hi" in said or "French" in said, said  # the emulators echo the last words they heard
    heard = providers[target].requests[-1]
    assert (heard.verdict, heard.model, heard.stream) == ("accepted", TARGETS[target], stream)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_async_sdks(providers: dict[str, Any], stream: bool, library: Any) -> None:
    async with library.AsyncClient(transport=transport(providers, "gemini", AsyncDragomanTransport)) as http:
        one = openai.AsyncOpenAI(api_key="unused", http_client=http, max_retries=0)
        asked: Any = {"model": "m", "messages": LATE}
        if stream:
            chunks = await one.chat.completions.create(**asked, stream=True)
            said = "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])
        else:
            said = (await one.chat.completions.create(**asked)).choices[0].message.content
        assert said
        if library is httpx:  # Anthropic's SDK takes httpx2 only
            return
        two = anthropic.AsyncAnthropic(api_key="unused", http_client=http, max_retries=0)
        wanted: Any = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}
        if stream:
            async with two.messages.stream(**wanted) as events:
                assert (await events.get_final_message()).content
        else:
            assert (await two.messages.create(**wanted)).content


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_async_google_sdk(providers: dict[str, Any], stream: bool, library: Any) -> None:
    async with library.AsyncClient(transport=transport(providers, "anthropic", AsyncDragomanTransport)) as http:
        three = genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_async_client=http))
        if stream:
            parts = await three.aio.models.generate_content_stream(model="m", contents="Hi")
            assert "".join([part.text or "" async for part in parts])
        else:
            assert (await three.aio.models.generate_content(model="m", contents="Hi")).text


def test_what_was_changed_is_told(providers: dict[str, Any]) -> None:
    seen: list[Any] = []
    http = httpx2.Client(transport=transport(providers, "anthropic", on_adapted=seen.append))
    asked: Any = {"model": "m", "messages": [*LATE, {"role": "assistant", "content": "Oui", "done": True}], "seed": 3}
    raw = openai_sdk(http).chat.completions.with_raw_response.create(**asked)
    assert "refused-setting" in raw.headers["x-dragoman-changes"]
    assert raw.headers["x-dragoman-model"] == "anthropic/claude-sonnet-4-5"
    assert raw.headers["x-dragoman-request-id"].startswith("req_")
    [adapted] = seen
    assert raw.http_response.extensions["dragoman"] is adapted
    assert "`refused-setting`" in adapted.summary()
    assert {change.rule for change in adapted.changes} >= {"refused-setting"}


FAULTS = [
    ("429", openai.RateLimitError, anthropic.RateLimitError),
    ("500", openai.InternalServerError, anthropic.InternalServerError),
    ("401", openai.AuthenticationError, anthropic.AuthenticationError),
]


@pytest.mark.parametrize(("fault", "openai_error", "anthropic_error"), FAULTS)
def test_a_refusal_is_the_sdks_own_exception(
    fault: str, openai_error: type[Exception], anthropic_error: type[Exception]
) -> None:
    with emulator("gemini", fault=fault) as one:
        http = httpx2.Client(transport=transport({"gemini": one}, "gemini"))
        with pytest.raises(openai_error):
            chat(openai_sdk(http), False)
        with pytest.raises(anthropic_error):
            messages(anthropic_sdk(http), True)


def test_a_broken_stream_is_an_error_and_never_a_short_answer() -> None:
    with emulator("anthropic", fault="stream-error;after=4") as one:
        http = httpx2.Client(transport=transport({"anthropic": one}, "anthropic"))
        with pytest.raises(openai.APIError):
            chat(openai_sdk(http), True)


def test_a_tool_loop_gives_the_clients_names_and_ids_back(providers: dict[str, Any]) -> None:
    name = "weather.today/now"  # a name that no provider takes
    tools: Any = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}]
    with emulator("anthropic", script=[{"calls": [{"name": "weather_today_now", "arguments": {}}]}, "Sun."]) as one:
        client = openai_sdk(httpx2.Client(transport=transport({"anthropic": one}, "anthropic")))
        history: Any = [{"role": "user", "content": "Weather?"}]
        call = client.chat.completions.create(model="m", messages=history, tools=tools).choices[0].message
        sent = one.requests[-1].body["tools"][0]["name"]
        assert sent != name
        history += [call.model_dump(exclude_none=True)]
        history += [{"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "sunny"}]
        last = client.chat.completions.create(model="m", messages=history, tools=tools)
        assert last.choices[0].message.content == "Sun."
        assert [request.verdict for request in one.requests] == ["accepted", "accepted"]


def test_counting_is_answered_and_other_paths_are_not(providers: dict[str, Any]) -> None:
    http = httpx2.Client(transport=transport(providers, "openai"))
    count = anthropic_sdk(http).messages.count_tokens(model="m", messages=[{"role": "user", "content": "Hi there"}])
    assert count.input_tokens > 0
    with pytest.raises(openai.NotFoundError, match="no conversation"):
        openai_sdk(http).models.list()


def test_a_repair_that_is_not_allowed_is_refused(providers: dict[str, Any]) -> None:
    http = httpx2.Client(transport=transport(providers, "gemini", policy=Policy(max_loss="nothing")))
    before = len(providers["gemini"].requests)
    with pytest.raises(openai.UnprocessableEntityError):
        chat(openai_sdk(http), False)
    assert len(providers["gemini"].requests) == before


def test_a_target_without_a_model_takes_the_sdks(providers: dict[str, Any]) -> None:
    one = DragomanTransport("gemini", api_key="k", base_url=providers["gemini"].base_url)
    client = openai_sdk(httpx2.Client(transport=one))
    client.chat.completions.create(model="gemini-2.5-pro", messages=[{"role": "user", "content": "Hi"}])
    assert providers["gemini"].requests[-1].model == "gemini-2.5-pro"


def test_the_whole_policy_counts(providers: dict[str, Any]) -> None:
    turns: Any = [{"role": role, "content": "word " * 400} for _ in range(30) for role in ("user", "assistant")]
    asked = [*turns, {"role": "user", "content": "Now?"}]
    policy = Policy(history=TrimPolicy(max_history_tokens=2000), limits=RequestLimits(messages=61))
    client = openai_sdk(httpx2.Client(transport=transport(providers, "openai", policy=policy)))
    for _ in range(2):
        client.chat.completions.create(model="m", messages=asked)
    first, second = (request.body["messages"] for request in providers["openai"].requests[-2:])
    assert first == second
    assert len(first) < 20
    with pytest.raises(openai.APIStatusError) as refused:
        client.chat.completions.create(model="m", messages=[asked[0], *asked])
    assert refused.value.status_code == 413


def test_care_can_be_asked_of_the_transport(providers: dict[str, Any]) -> None:
    """K20."""
    blank: Any = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": " "},
        {"role": "user", "content": "So?"},
    ]
    for policy, sent in ((None, True), (Policy(doubt="careful"), False)):
        http = httpx2.Client(transport=transport(providers, "openai", policy=policy))
        openai_sdk(http).chat.completions.create(model="m", messages=blank)
        assert (providers["openai"].requests[-1].body["messages"] == blank) is sent


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({}, TargetError),
        ({"rules": {"late-sytem": "user"}}, OptionError),
        ({"max_loss": "all"}, OptionError),
        ({"doubt": "none"}, OptionError),
        ({"rules": {"late-system": "no"}}, OptionError),
    ],
)
def test_mistakes_are_told_at_once(more: dict[str, Any], fault: type[Exception]) -> None:
    with pytest.raises(fault):
        DragomanTransport("nobody/m" if not more else "openai/gpt-4o", policy=Policy(**more))


def test_a_model_without_its_profile_is_told_what_to_write() -> None:
    with pytest.raises(TargetError, match="write anthropic/claude-sonnet-4-6"):
        DragomanTransport("claude-sonnet-4-6", api_key="k")


def test_a_vendors_key_goes_to_the_vendor_only(providers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    sent: list[Any] = []

    def seen(request: Any) -> Any:
        sent.append(request)
        return httpx2.Response(200, json={"choices": []})

    for url in ("http://127.0.0.1:9/v1", None):
        wrapped = DragomanTransport("openai/gpt-4o", base_url=url, wrap=httpx2.MockTransport(seen))
        httpx2.Client(transport=wrapped).post(
            "http://x/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
            headers={"authorization": "Bearer client-key"},
        )
    assert "authorization" not in sent[0].headers
    assert sent[1].headers["authorization"] == "Bearer sk-very-secret"
    assert sent[1].url.host == "api.openai.com"


def test_state_that_chat_cannot_carry_goes_back() -> None:
    """Gemini signs its calls; Chat has no place for it, so the transport keeps it for the next turn."""
    script: list[Any] = [{"reasoning": "hm", "calls": [{"name": "f", "arguments": {}}]}, "Done."]
    with emulator("gemini", script=script, signatures="strict") as one:
        wrapped = DragomanTransport("gemini/gemini-3-pro-preview", api_key="k", base_url=one.base_url)
        client = openai_sdk(httpx2.Client(transport=wrapped))
        tools: Any = [
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
        ]
        history: Any = [{"role": "user", "content": "Go"}]
        call = client.chat.completions.create(model="m", messages=history, tools=tools).choices[0].message
        answered = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "1"}
        history += [call.model_dump(exclude_none=True), answered]
        client.chat.completions.create(model="m", messages=history, tools=tools)
        parts = one.requests[-1].body["contents"][1]["parts"]
        assert one.requests[-1].verdict == "accepted"
        assert any(part.get("thoughtSignature") for part in parts), parts


@pytest.mark.parametrize("way", SERVED)
def test_state_is_kept_before_the_provider_closes_its_stream(way: str) -> None:
    """SDKs stop reading at the last event, and what comes after it is never asked for."""
    profile, model, events, wanted = SERVED[way]
    over = threading.Event()

    def held() -> Iterator[bytes]:
        yield from events()
        over.wait(SECONDS)

    with upstream(lambda seen: (200, held()) if len(seen.body["messages"]) == 1 else None) as behind:
        base = behind.url.removesuffix("/v1") if profile == "anthropic" else behind.url
        client = openai_sdk(
            httpx2.Client(transport=DragomanTransport(f"{profile}/{model}", api_key="k", base_url=base))
        )
        given: Any = {"model": "m", "tools": [TOOL], "reasoning_effort": "high"}
        asked: Any = {"role": "user", "content": "Look."}
        chunks = list(client.chat.completions.create(messages=[asked], stream=True, **given))
        calls = [call for chunk in chunks for one in chunk.choices for call in one.delta.tool_calls or ()]
        (identity,) = [call.id for call in calls if call.id]
        function = {"name": "look", "arguments": "{}"}
        called: Any = {"role": "assistant", "tool_calls": [{"id": identity, "type": "function", "function": function}]}
        result: Any = {"role": "tool", "tool_call_id": identity, "content": "Done."}
        with suppress(openai.APIError):
            client.chat.completions.create(messages=[asked, called, result], **given)
        over.set()
    assert wanted in json.dumps(behind.bodies()[1]["messages"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"api_key": "sk-ant-…"}, "^api_key contains characters that a header cannot carry"),
        ({"api_key": "k\n"}, "^api_key contains characters"),
        ({"api_key": "k", "base_url": "localhost:8000"}, "^base_url is not a valid URL"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        DragomanTransport("anthropic/claude-sonnet-4-6", **arguments)
