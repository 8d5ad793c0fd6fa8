"""Bedrock behind the gateway, and boto3 in front of it: credentials, exceptions, damaged streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import boto3
import openai
import pytest
from botocore.config import Config as BotoConfig
from botocore.exceptions import ClientError, EventStreamError
from tests.gateway.running import Running, gateway, provider

from dragoman.emulators.background_server import RunningEmulator
from dragoman.testing import emulator

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
LLAMA = "meta.llama3-3-70b-instruct-v1:0"
ASKED: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Hello"}]}]


@pytest.fixture
def bedrock() -> Iterator[RunningEmulator]:
    with emulator("bedrock") as running:
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
    assert "The security token included in the request is expired" in answer.text
    assert len(bedrock.requests) == sends


def test_boto3_reads_our_errors(served: Running, bedrock: RunningEmulator) -> None:
    client = boto(served.url)
    bedrock.script(*[{"fault": "429"}] * 9)
    with pytest.raises(client.exceptions.ThrottlingException, match="Too many requests"):
        client.converse(modelId="keyed", messages=ASKED)
    with pytest.raises(client.exceptions.ResourceNotFoundException, match='no model is called "nobody"'):
        client.converse(modelId="nobody", messages=ASKED)
    with pytest.raises(ClientError) as refused:
        client.converse(modelId="keyed", messages=[{"role": "user", "content": []}])
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
