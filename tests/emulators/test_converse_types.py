"""Converse requests by model family against botocore's service model and the emulator of the family."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from botocore.session import Session
from botocore.validate import ParamValidator
from tests.judges import judge
from tests.shapes.wellformed import SAMPLES
from tests.shapes.words import PIXEL
from tests.strategies import SHAPES, request
from tests.targets import signer

from dragoman.engine.library.adapt import AdaptedRequest, adapt
from dragoman.errors import RequestError

Wire = dict[str, Any]
FAMILIES = (
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.amazon.nova-lite-v1:0",
    "us.amazon.nova-micro-v1:0",
    "meta.llama3-3-70b-instruct-v1:0",
    "us.meta.llama4-scout-17b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "us.mistral.pixtral-large-2502-v1:0",
    "deepseek.r1-v1:0",
    "openai.gpt-oss-120b-1:0",
    "moonshot.kimi-k2-thinking",
)


@cache
def converse_shape() -> Any:
    model = Session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def as_parameters(value: Any, shape: Any) -> Any:
    """A body as botocore takes it: bytes instead of JSON's base64."""
    match shape.type_name:
        case "structure" if isinstance(value, dict) and not getattr(shape, "is_document_type", False):
            members = shape.members
            return {key: as_parameters(one, members[key]) if key in members else one for key, one in value.items()}
        case "list" if isinstance(value, list):
            return [as_parameters(one, shape.member) for one in value]
        case "blob" if isinstance(value, str):
            return b64decode(value)
    return value


def misfits(body: Wire, model: str) -> str:
    report = ParamValidator().validate({"modelId": model, **as_parameters(body, converse_shape())}, converse_shape())
    return str(report.generate_report())


def adapted(body: Wire, source: str, model: str) -> AdaptedRequest:
    return adapt(orjson.dumps(body), source=source, target=f"bedrock/{model}")


def refusal(sent: AdaptedRequest, model: str) -> Any:
    refused = judge("bedrock", model, sent.path, sent.headers, sent.body, strict=False)
    return refused and refused.body


def asked(model: str) -> Iterator[tuple[str, str, Wire]]:
    hand = signer(f"bedrock/{model}")
    for dialect in SAMPLES:
        yield from ((f"{dialect} sample {at}", dialect, body) for at, body in enumerate(SAMPLES[dialect]))
    for dialect in SHAPES:
        seeds = range(12 if dialect == "bedrock" else 4)
        yield from ((f"{dialect} {seed}", dialect, orjson.loads(request(dialect, seed, hand).body)) for seed in seeds)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("model", FAMILIES)
def test_what_the_compiler_writes_fits_the_service_model_and_the_family(model: str) -> None:
    wrong: dict[str, Any] = {}
    for name, dialect, body in asked(model):
        try:
            sent = adapted(body, dialect, model)
        except RequestError:
            continue
        unfit, refused = misfits(orjson.loads(sent.body), model), refusal(sent, model)
        if unfit or refused is not None:
            wrong[name] = (unfit, refused)
    assert wrong == {}


PICTURE: Wire = {"image": {"format": "png", "source": {"bytes": PIXEL}}}
POINT: Wire = {"cachePoint": {"type": "default"}}
SPEC: Wire = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
THOUGHT: Wire = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "EuYBCkQYAiJAabcdEuYBCkQYAiJAabcd"}}}
OF_CLAUDE: Wire = {
    "messages": [
        {"role": "user", "content": [{"text": "Look"}, PICTURE]},
        {"role": "user", "content": [{"text": "and"}]},
        {"role": "assistant", "content": [THOUGHT, {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}, PICTURE]}}]},
    ],
    "toolConfig": {"tools": [SPEC, SPEC, POINT]},
}
"""A conversation that Claude had in Bedrock's own dialect."""

BLIND = (
    "us.amazon.nova-micro-v1:0",
    "meta.llama3-3-70b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "deepseek.r1-v1:0",
    "openai.gpt-oss-120b-1:0",
)


@pytest.mark.parametrize("model", [model for model in FAMILIES if "claude" not in model])
def test_a_conversation_of_claude_goes_to_another_family(model: str) -> None:
    sent = adapted(OF_CLAUDE, "bedrock", model)
    assert refusal(sent, model) is None
    text = sent.body.decode()
    assert "reasoningContent" not in text
    assert '"cachePoint"' not in text
    assert (PIXEL in text) == (model not in BLIND)
    assert {"foreign-reasoning", "refused-hint"} <= {change.rule for change in sent.changes}


REFUSALS = {
    "us.amazon.nova-lite-v1:0": "doesn't support the reasoningContent content block",
    "us.amazon.nova-micro-v1:0": "doesn't support the image content block",
    "meta.llama3-3-70b-instruct-v1:0": "must alternate between user and assistant roles",
    "mistral.mistral-large-2407-v1:0": "must alternate between user and assistant roles",
}


@pytest.mark.parametrize("model", REFUSALS)
def test_the_emulator_refuses_it_as_it_was(model: str) -> None:
    refused = judge("bedrock", model, f"/model/{model}/converse", {}, orjson.dumps(OF_CLAUDE), strict=False)
    assert refused is not None
    assert REFUSALS[model] in refused.body["message"]


def test_llama_does_not_go_on_with_its_own_turn() -> None:
    model = "meta.llama3-3-70b-instruct-v1:0"
    body = {"messages": [{"role": role, "content": [{"text": "Hi"}]} for role in ("user", "assistant")]}
    refused = judge("bedrock", model, f"/model/{model}/converse", {}, orjson.dumps(body))
    assert refused is not None
    assert "requires the last turn in the conversation to be a user message" in refused.body["message"]


def test_nova_refuses_a_cache_point_among_its_tools_alone() -> None:
    model = "us.amazon.nova-lite-v1:0"
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}, POINT]}], "system": [{"text": "S"}, POINT]}
    assert judge("bedrock", model, f"/model/{model}/converse", {}, orjson.dumps(body)) is None
    tooled = {**body, "toolConfig": {"tools": [SPEC, POINT]}}
    refused = judge("bedrock", model, f"/model/{model}/converse", {}, orjson.dumps(tooled))
    assert refused is not None
    assert "#/toolConfig/tools/1: extraneous key [cachePoint]" in refused.body["message"]
    sent = adapted(tooled, "bedrock", model)
    assert orjson.loads(sent.body) == {**body, "toolConfig": {"tools": [SPEC]}}
    assert [(change.rule, change.loses) for change in sent.changes] == [("refused-hint", "metadata")]
