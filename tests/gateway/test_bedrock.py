"""Bedrock behind the gateway, and boto3 in front of it: credentials, exceptions, damaged streams."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import anthropic
import boto3
import httpx
import openai
import pytest
from botocore.config import Config as BotoConfig
from botocore.exceptions import ClientError, EventStreamError
from tests.gateway.running import Running, gateway, provider

import dragoman
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
LLAMA = "meta.llama3-3-70b-instruct-v1:0"
ASKED: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Hello"}]}]


@pytest.fixture
def bedrock() -> Iterator[RunningEmulator]:
    with emulator("bedrock", answers="echo") as running:
        yield running


@pytest.fixture
def served(bedrock: RunningEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """`keyed` has a key; `signed` has none, so that its requests are signed; `invoked` is InvokeModel."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDGATEWAY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    keyed = provider("bedrock", bedrock.base_url)
    signed = {key: value for key, value in keyed.items() if key != "api_key"}
    invoked = {**signed, "profile": "bedrock-anthropic"}
    models = {"keyed": {"target": f"keyed/{CLAUDE}"}, "signed": {"target": f"signed/{CLAUDE}"}}
    models |= {"invoked": {"target": f"invoked/{CLAUDE}"}, "llama": {"target": f"signed/{LLAMA}"}}
    config = {"providers": {"keyed": keyed, "signed": signed, "invoked": invoked}, "models": models}
    with gateway(config, tmp_path) as running:
        yield running


def boto(url: str) -> Any:
    config = BotoConfig(retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": "AKIDCLIENT", "aws_secret_access_key": "secret"}
    return boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, config=config, **keys)


def test_boto3_and_the_emulator_understand_each_other(bedrock: RunningEmulator) -> None:
    client = boto(bedrock.base_url)
    answer = client.converse(modelId=CLAUDE, messages=ASKED, system=[{"text": "Be brief."}])
    assert answer["output"]["message"]["content"][0]["text"].startswith("received: system user")
    events = list(client.converse_stream(modelId=CLAUDE, messages=ASKED)["stream"])
    assert [next(iter(event)) for event in (events[0], events[-1])] == ["messageStart", "metadata"]
    counted = client.count_tokens(modelId=CLAUDE, input={"converse": {"messages": ASKED}})
    assert counted["inputTokens"] > 0
    assert [record.verdict for record in bedrock.requests] == ["accepted"] * 3


def test_the_sdk_of_anthropic_for_bedrock_and_the_emulator_understand_each_other(bedrock: RunningEmulator) -> None:
    client = anthropic.AnthropicBedrock(
        base_url=bedrock.base_url,
        aws_region="us-east-1",
        aws_access_key="AKID",
        aws_secret_key="secret",
        max_retries=0,
    )
    asked: dict[str, Any] = {"model": CLAUDE, "max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]}
    assert client.messages.create(**asked).content[0].text.startswith("received: user")
    streamed = [event.type for event in client.messages.create(stream=True, **asked)]
    assert (streamed[0], streamed[-1]) == ("message_start", "message_stop")
    assert [record.verdict for record in bedrock.requests] == ["accepted"] * 2


@pytest.mark.parametrize("model", ["keyed", "signed", "invoked"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_every_way_of_asking(served: Running, bedrock: RunningEmulator, model: str, stream: bool) -> None:
    bedrock.script("It rains.")
    body = {"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    answer = served.post("/v1/messages", body, anthropic_beta="context-1m-2025-08-07")
    assert answer.status_code == 200
    assert "It rains." in answer.text or ("It " in answer.text and stream)
    sent = bedrock.requests[-1]
    assert "authorization" in sent.headers
    assert ("x-amz-date" in sent.headers) is (model != "keyed")
    if model == "invoked":
        assert sent.body["anthropic_version"] == "bedrock-2023-05-31"
        assert sent.body["anthropic_beta"] == ["context-1m-2025-08-07"]
        assert not sent.body.keys() & {"model", "stream"}


def test_a_token_that_expires_on_the_way_costs_one_retry(served: Running, bedrock: RunningEmulator) -> None:
    bedrock.script({"fault": "401"}, "Here I am.")
    body = {"model": "signed", "messages": [{"role": "user", "content": "Hi"}]}
    answer = served.post("/v1/chat/completions", body)
    assert answer.json()["choices"][0]["message"]["content"] == "Here I am."
    assert len(bedrock.requests) == 2


STATUSES = {"/v1/chat/completions": 401, "/v1/messages": 401, f"/model/{'{model}'}/converse": 403}


@pytest.mark.parametrize("path", STATUSES)
@pytest.mark.parametrize(("model", "sends"), [("keyed", 1), ("signed", 2)])
def test_bad_credentials_are_told_in_the_clients_dialect(
    served: Running, bedrock: RunningEmulator, path: str, model: str, sends: int
) -> None:
    bedrock.script(*[{"fault": "401"}] * 4)
    body: dict[str, Any] = {"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    answer = served.post(path.replace("{model}", model), {"messages": ASKED} if "{model}" in path else body)
    assert answer.status_code == STATUSES[path]
    assert "The security token included in the request is invalid." in answer.text
    assert len(bedrock.requests) == sends


@pytest.mark.slow
def test_boto3_reads_our_errors(served: Running, bedrock: RunningEmulator) -> None:
    client = boto(served.url)
    bedrock.script(*[{"fault": "429"}] * 9)
    with pytest.raises(client.exceptions.ThrottlingException, match="Too many requests"):
        client.converse(modelId="keyed", messages=ASKED)
    with pytest.raises(client.exceptions.ResourceNotFoundException, match='no model is called "nobody"'):
        client.converse(modelId="nobody", messages=ASKED)
    with pytest.raises(ClientError) as refused:
        client.converse(modelId="keyed", messages=[])
    assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize("fault", ["stream-error;after=4", "cut;after=4"])
def test_a_stream_that_breaks_ends_with_an_exception(served: Running, bedrock: RunningEmulator, fault: str) -> None:
    """What breaks before the client has seen anything is tried again, so it breaks every time."""
    bedrock.fault(fault)
    with pytest.raises((EventStreamError, ClientError)) as broken:
        list(boto(served.url).converse_stream(modelId="keyed", messages=ASKED)["stream"])
    assert broken.value.response["Error"]["Message"]


WORDS = {
    "stream-error;after=4": "Bedrock is unable to process your request",
    "cut;after=4": "connection|stream|closed",
    "bad-json;after=4": "checksum",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", WORDS)
@pytest.mark.parametrize("model", ["keyed", "invoked"])
def test_a_stream_that_breaks_is_told_to_other_clients(
    served: Running, bedrock: RunningEmulator, fault: str, model: str
) -> None:
    """A frame that is damaged has a wrong checksum: `bad-json` takes bytes out of one."""
    bedrock.fault(fault)
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with pytest.raises(openai.APIError, match=WORDS[fault]):
        list(served.openai().chat.completions.create(**body))


THROTTLED = {"/v1/chat/completions": 429, "/v1/messages": 429, "/v2/chat": 429, "/api/chat": 429}


@pytest.mark.slow
@pytest.mark.parametrize("path", THROTTLED)
def test_throttling_is_told_in_the_clients_dialect(served: Running, bedrock: RunningEmulator, path: str) -> None:
    bedrock.fault("429")
    body: dict[str, Any] = {"model": "keyed", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    answer = served.post(path, body)
    assert answer.status_code == THROTTLED[path]
    assert "Too many requests, please wait before trying again." in answer.text


class _ClockwatchedBedrock(BaseHTTPRequestHandler):
    """A server whose clock is an hour ahead: it refuses a signature that is older than five minutes."""

    ahead = 3600.0
    signed: ClassVar[list[float]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        made = datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
        self.signed.append(time.time() + self.ahead - made)
        if self.signed[-1] < 300:
            message = {"role": "assistant", "content": [{"text": "In time."}]}
            usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
            self._answer(200, {"output": {"message": message}, "stopReason": "end_turn", "usage": usage})
        else:
            self._answer(403, {"message": "Signature expired: 20260101T000000Z is now earlier than 20260101T010000Z"})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("x-amzn-errortype", "InvalidSignatureException")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(time.time() + self.ahead)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def clockwatched() -> Iterator[tuple[str, list[float]]]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), _ClockwatchedBedrock)
    _ClockwatchedBedrock.signed.clear()
    threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{served.server_address[1]}", _ClockwatchedBedrock.signed
    finally:
        served.shutdown()
        served.server_close()


def test_a_clock_that_is_wrong_costs_one_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDGATEWAY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with clockwatched() as (url, signed):
        config = {"providers": {"bedrock": {"base_url": url}}, "models": {"m": {"target": f"bedrock/{CLAUDE}"}}}
        with gateway(config, tmp_path) as running:
            for _ in range(2):
                assert (
                    running.openai()
                    .chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
                    .choices[0]
                    .message.content
                    == "In time."
                )
        assert [late > 300 for late in signed] == [True, False, False]


def test_a_wrong_clock_inside_an_sdk_costs_one_retry_of_the_sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDGATEWAY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with clockwatched() as (url, signed):
        http = httpx.Client(transport=DragomanTransport(f"bedrock/{CLAUDE}", base_url=url))
        client = openai.OpenAI(api_key="unused", http_client=http, max_retries=0)
        for _ in range(2):
            asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
            assert asked.choices[0].message.content == "In time."
        assert [late > 300 for late in signed] == [True, False, False]


def test_llama_with_tools_is_asked_for_a_whole_answer_which_comes_as_a_stream(
    served: Running, bedrock: RunningEmulator
) -> None:
    bedrock.script({"calls": [{"name": "f", "arguments": {"a": 1}}]})
    tools = [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]
    stream = boto(served.url).converse_stream(modelId="llama", messages=ASKED, toolConfig={"tools": tools})["stream"]
    events = list(stream)
    assert [event["messageStop"]["stopReason"] for event in events if "messageStop" in event] == ["tool_use"]
    assert bedrock.requests[-1].path.endswith("/converse")
    assert bedrock.requests[-1].verdict == "accepted"


# InvokeModel in front of the gateway: clients that are made for Claude on Bedrock reach every model.


class Everywhere:
    """A gateway before Bedrock, by Converse (`keyed`) and by InvokeModel (`invoked`), Claude and Gemini."""

    def __init__(self, running: Running, upstreams: dict[str, RunningEmulator]) -> None:
        self.url = running.url
        self.upstreams = upstreams

    @contextmanager
    def failing(self, model: str, fault: str) -> Iterator[None]:
        self.upstreams[model].fault(fault)
        try:
            yield
        finally:
            self.upstreams[model].fault(None)


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everywhere]:
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(emulator(name, answers="echo")) for name in ("bedrock", "anthropic", "gemini")
        }
        keyed = provider("bedrock", started["bedrock"].base_url)
        config: dict[str, Any] = {
            "providers": {
                "bedrock": keyed,
                "bedrock-anthropic": {**keyed, "profile": "bedrock-anthropic"},
                "anthropic": provider("anthropic", started["anthropic"].base_url),
                "gemini": provider("gemini", started["gemini"].base_url),
            },
            "models": {
                "keyed": {"target": f"bedrock/{CLAUDE}"},
                "invoked": {"target": f"bedrock-anthropic/{CLAUDE}"},
                "claude": {"target": "anthropic/claude-sonnet-4-5"},
                "gemini": {"target": "gemini/gemini-2.5-flash"},
            },
        }
        running = stack.enter_context(gateway(config, tmp_path_factory.mktemp("everywhere")))
        upstreams = {"keyed": started["bedrock"], "invoked": started["bedrock"]}
        yield Everywhere(running, {**upstreams, "claude": started["anthropic"], "gemini": started["gemini"]})


ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MESSAGES: dict[str, Any] = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello"}],
}


def claude_on_bedrock(url: str) -> anthropic.AnthropicBedrock:
    keys: dict[str, Any] = {"aws_access_key": "AKID", "aws_secret_key": "secret", "aws_region": "us-east-1"}
    return anthropic.AnthropicBedrock(base_url=url, max_retries=0, **keys)


def beta_asked(client: Any, stream: bool, **asked: Any) -> Any:
    if not stream:
        return client.beta.messages.create(betas=["context-1m-2025-08-07"], **asked)
    with client.beta.messages.stream(betas=["context-1m-2025-08-07"], **asked) as events:
        return events.get_final_message()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", ["keyed", "invoked", "claude", "gemini"])
def test_a_tool_loop_of_anthropics_client_for_bedrock(everywhere: Everywhere, model: str, stream: bool) -> None:
    upstream = everywhere.upstreams[model]
    upstream.script({"calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}, "It pours.")
    before = len(upstream.requests)
    tools: Any = [{"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    turns: list[Any] = [{"role": "user", "content": "Does it rain in Köln?"}]
    client = claude_on_bedrock(everywhere.url)
    called = beta_asked(client, stream, model=model, max_tokens=500, messages=turns, tools=tools)
    (use,) = [block for block in called.content if block.type == "tool_use"]
    assert (use.input, called.stop_reason) == ({"city": "Köln"}, "tool_use")
    turns += [
        {"role": "assistant", "content": called.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "yes"}]},
    ]
    told = beta_asked(client, stream, model=model, max_tokens=500, messages=turns, tools=tools)
    assert [block.text for block in told.content if block.type == "text"] == ["It pours."]
    assert told.usage.output_tokens > 0
    asked = upstream.requests[before:]
    assert [one.verdict for one in asked] == ["accepted", "accepted"]
    if model == "invoked":
        assert asked[-1].body["anthropic_beta"] == ["context-1m-2025-08-07"]
    if model == "claude":
        assert asked[-1].headers["anthropic-beta"] == "context-1m-2025-08-07"
        assert not asked[-1].body.keys() & {"anthropic_beta", "anthropic_version"}


@pytest.mark.parametrize("fault", ["stream-error;after=4", "cut;after=4"])
@pytest.mark.parametrize("model", ["invoked", "claude", "gemini"])
def test_a_stream_that_breaks_is_an_exception_for_clients_of_invoke_model(
    everywhere: Everywhere, model: str, fault: str
) -> None:
    """What breaks at once may be an error before any frame."""
    body = json.dumps(MESSAGES)
    with everywhere.failing(model, fault):
        with pytest.raises(anthropic.APIError):
            list(claude_on_bedrock(everywhere.url).messages.create(stream=True, model=model, **PLAIN))
        with pytest.raises((EventStreamError, ClientError)) as broken:
            list(boto(everywhere.url).invoke_model_with_response_stream(modelId=model, body=body)["body"])
    assert broken.value.response["Error"]["Code"].endswith("Exception")
    assert broken.value.response["Error"]["Message"]


PLAIN: dict[str, Any] = {"max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]}


def test_boto3_invokes_claude(everywhere: Everywhere) -> None:
    everywhere.upstreams["claude"].script("Bonjour.", "Encore.")
    client = boto(everywhere.url)
    body = json.dumps({**MESSAGES, "anthropic_beta": ["context-1m-2025-08-07"]})
    answer = json.loads(client.invoke_model(modelId="claude", body=body)["body"].read())
    assert answer["content"][0]["text"] == "Bonjour."
    chunks = client.invoke_model_with_response_stream(modelId="claude", body=body)["body"]
    events = [json.loads(event["chunk"]["bytes"]) for event in chunks]
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
    assert "ping" not in {event["type"] for event in events}
    sent = everywhere.upstreams["claude"].requests[-1]
    assert sent.headers["anthropic-beta"] == "context-1m-2025-08-07"
    assert not sent.body.keys() & {"anthropic_beta", "anthropic_version"}


@pytest.mark.slow
def test_errors_of_invoke_model_are_aws_s(everywhere: Everywhere) -> None:
    client = boto(everywhere.url)
    with pytest.raises(client.exceptions.ResourceNotFoundException, match='no model is called "nobody"'):
        client.invoke_model(modelId="nobody", body=json.dumps(MESSAGES))
    with pytest.raises(client.exceptions.ValidationException, match="there are no messages"):
        client.invoke_model(modelId="claude", body=json.dumps({"inputText": "Titan's own form"}))
    with pytest.raises(client.exceptions.ValidationException, match="anthropic_beta is not a list"):
        client.invoke_model(modelId="claude", body=json.dumps({**MESSAGES, "anthropic_beta": 7}))
    with pytest.raises(anthropic.NotFoundError, match="nobody"):
        claude_on_bedrock(everywhere.url).messages.create(model="nobody", **PLAIN)
    with everywhere.failing("claude", "429"), pytest.raises(client.exceptions.ThrottlingException):
        client.invoke_model(modelId="claude", body=json.dumps(MESSAGES))


@pytest.mark.parametrize("model", [ARN, CLAUDE, "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"])
def test_ids_with_slashes_and_colons_are_one_step_of_the_path(everywhere: Everywhere, model: str) -> None:
    upstream = everywhere.upstreams["keyed"]
    upstream.script("Hi.", "Hi.")
    before = len(upstream.requests)
    answer = boto(everywhere.url).converse(modelId=model, messages=ASKED)
    assert answer["output"]["message"]["content"][0]["text"] == "Hi."
    if "claude" in model:
        assert claude_on_bedrock(everywhere.url).messages.create(model=model, **PLAIN).content[0].text == "Hi."
    for one in upstream.requests[before:]:
        assert one.verdict == "accepted"
        assert one.path.rpartition("/")[0] == f"/model/{model}"


@pytest.mark.parametrize("profile", ["bedrock", "bedrock-anthropic"])
def test_an_id_is_one_step_of_the_path_that_is_asked(profile: str) -> None:
    asked = dragoman.adapt({"model": "m", **PLAIN}, source="anthropic", target=f"{profile}/{ARN}")
    assert unquote(asked.path.split("/")[2]) == ARN


def test_tokens_are_counted_by_bedrock(everywhere: Everywhere) -> None:
    upstream = everywhere.upstreams["invoked"]
    answer = httpx.post(f"{everywhere.url}/v1/messages/count_tokens", json={"model": "invoked", **PLAIN})
    assert answer.json()["input_tokens"] > 0
    assert "x-dragoman-estimate" not in answer.headers
    asked = upstream.requests[-1]
    assert (asked.path.rpartition("/")[2], asked.verdict) == ("count-tokens", "accepted")
    client = boto(everywhere.url)
    for model in ("invoked", "claude", "gemini"):
        inner = {"invokeModel": {"body": json.dumps(MESSAGES).encode()}}
        assert client.count_tokens(modelId=model, input=inner)["inputTokens"] > 0
    with pytest.raises(client.exceptions.ValidationException, match="JSON"):
        client.count_tokens(modelId="keyed", input={"invokeModel": {"body": b"no json"}})
