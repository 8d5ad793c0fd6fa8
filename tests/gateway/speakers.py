"""The official SDKs as speakers: each holds one conversation, in its own dialect and with its own objects.

A speaker is written once for the SDK's two clients: what the asynchronous one gives is awaited, what the other gives
is taken as it is. What the model said goes back the way users send it back: as the SDK's own objects.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import anthropic
import boto3
import cohere
import ollama
import openai
from botocore.config import Config as BotoConfig
from google import genai
from google.genai import types

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where"}},
    "required": ["city"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class ReceivedAnswer:
    """What a model's turn came to, in the client's eyes."""

    text: str
    calls: list[Call] = field(default_factory=list)
    reasoning: str = ""
    tokens: int = 0


@dataclass
class AskedFor:
    """What the conversation is to be held with."""

    stream: bool = False
    tools: bool = False
    thinking: bool = False
    schema: Mapping[str, Any] | None = None
    limit: int = 0  # tokens; an answer may end there, which the SDKs' own stream helpers take for an error


class Speaker(ABC):
    """One conversation; `model` may change between turns."""

    dialect: ClassVar[str]

    def __init__(self, url: str, model: str, wishes: AskedFor, *, is_async: bool = False, key: str = "any") -> None:
        self.model = model
        self.wishes = wishes
        self.history: list[Any] = []
        self.client = self._client(url, key, True) if is_async else _kept(type(self), url, key)

    async def say(self, text: str) -> ReceivedAnswer:
        self.history.append(self._user(text))
        return await self._turn()

    async def answer(self, results: Mapping[str, str], calls: list[Call]) -> ReceivedAnswer:
        """Hand in what the tools gave, by call id."""
        self._results(results, calls)
        return await self._turn()

    async def converse(self, text: str, result: str = "rain") -> ReceivedAnswer:
        """Ask, and run tools until the model has done with them."""
        heard = await self.say(text)
        while heard.calls:
            heard = await self.answer({call.id: result for call in heard.calls}, heard.calls)
        return heard

    @classmethod
    @abstractmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any: ...

    @abstractmethod
    def _user(self, text: str) -> Any: ...

    @abstractmethod
    def instruct(self, text: str) -> None:
        """A system message, here and now, as far as the dialect has such a thing."""

    @abstractmethod
    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None: ...

    @abstractmethod
    async def _turn(self) -> ReceivedAnswer: ...


class Chat(Speaker):
    dialect = "openai-chat"

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        made = openai.AsyncOpenAI if is_async else openai.OpenAI
        return made(base_url=f"{url}/v1", api_key=key, max_retries=0)

    def _user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def instruct(self, text: str) -> None:
        self.history.append({"role": "system", "content": text})

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        self.history += [{"role": "tool", "tool_call_id": key, "content": text} for key, text in results.items()]

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"model": self.model, "messages": self.history, **self._settings()}
        completions = self.client.chat.completions
        if self.wishes.stream and self.wishes.limit:
            chunks = each(await settled(completions.create(**asked, stream=True)))
            return self._read([chunk async for chunk in chunks])
        if self.wishes.stream:
            helper = completions.stream(**asked, stream_options={"include_usage": True})
            completion = await final(helper, "get_final_completion")
        else:
            completion = await settled(completions.create(**asked))
        message = completion.choices[0].message
        self.history.append(message.to_dict())
        calls = [
            Call(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()
        ]
        reasoning = getattr(message, "reasoning_content", None) or ""
        return ReceivedAnswer(message.content or "", calls, reasoning, completion.usage.completion_tokens)

    def _settings(self) -> dict[str, Any]:
        told: dict[str, Any] = {"max_tokens": self.wishes.limit} if self.wishes.limit else {}
        if self.wishes.tools:
            told["tools"] = [
                {"type": "function", "function": {"name": "weather", "parameters": WEATHER, "strict": True}}
            ]
        if self.wishes.thinking:
            told["reasoning_effort"] = "medium"
        if self.wishes.schema is not None:
            named = {"name": "answer", "schema": self.wishes.schema, "strict": True}
            told["response_format"] = {"type": "json_schema", "json_schema": named}
        return told

    def _read(self, chunks: list[Any]) -> ReceivedAnswer:
        """A stream without the helper: words alone."""
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        text = "".join(delta.content or "" for delta in deltas)
        self.history.append({"role": "assistant", "content": text})
        return ReceivedAnswer(text, tokens=len(deltas))


class Responses(Speaker):
    dialect = "openai-responses"

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        made = openai.AsyncOpenAI if is_async else openai.OpenAI
        return made(base_url=f"{url}/v1", api_key=key, max_retries=0)

    def _user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def instruct(self, text: str) -> None:
        self.history.append({"role": "developer", "content": text})

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        self.history += [
            {"type": "function_call_output", "call_id": key, "output": text} for key, text in results.items()
        ]

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"model": self.model, "input": self.history, "store": False, **self._settings()}
        if self.wishes.stream and self.wishes.limit:
            events = [event async for event in each(await settled(self.client.responses.create(**asked, stream=True)))]
            response = events[-1].response
        elif self.wishes.stream:
            response = await final(self.client.responses.stream(**asked), "get_final_response")
        else:
            response = await settled(self.client.responses.create(**asked))
        assert response.status != "completed" or response.completed_at >= response.created_at
        self.history += [item.to_dict() for item in response.output]
        calls = [
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in response.output
            if item.type == "function_call"
        ]
        thoughts = [item for item in response.output if item.type == "reasoning"]
        reasoning = "".join(part.text for item in thoughts for part in (*item.summary, *(item.content or ())))
        return ReceivedAnswer(response.output_text, calls, reasoning, response.usage.output_tokens)

    def _settings(self) -> dict[str, Any]:
        told: dict[str, Any] = {"max_output_tokens": self.wishes.limit} if self.wishes.limit else {}
        if self.wishes.tools:
            told["tools"] = [{"type": "function", "name": "weather", "parameters": WEATHER, "strict": True}]
        if self.wishes.thinking:
            told["reasoning"] = {"effort": "medium", "summary": "auto"}
            told["include"] = ["reasoning.encrypted_content"]
        if self.wishes.schema is not None:
            wanted = {"type": "json_schema", "name": "answer", "schema": self.wishes.schema, "strict": True}
            told["text"] = {"format": wanted}
        return told


class Claude(Speaker):
    dialect = "anthropic"

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        made = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return made(base_url=url, api_key=key, max_retries=0)

    def _user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def instruct(self, text: str) -> None:
        self.history.append({"role": "system", "content": text})

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": key, "content": text} for key, text in results.items()]
        self.history.append({"role": "user", "content": blocks})

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"model": self.model, "messages": self.history, **self._settings()}
        if self.wishes.stream:
            message = await final(self.client.messages.stream(**asked), "get_final_message")
        else:
            message = await settled(self.client.messages.create(**asked))
        self.history.append({"role": "assistant", "content": message.content})
        calls = [Call(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
        text = "".join(block.text for block in message.content if block.type == "text")
        reasoning = "".join(block.thinking for block in message.content if block.type == "thinking")
        return ReceivedAnswer(text, calls, reasoning, message.usage.output_tokens)

    def _settings(self) -> dict[str, Any]:
        told: dict[str, Any] = {"max_tokens": self.wishes.limit or 4096}
        if self.wishes.tools:
            told["tools"] = [{"name": "weather", "input_schema": WEATHER}]
        if self.wishes.thinking:
            told["thinking"] = {"type": "enabled", "budget_tokens": 2048}
        if self.wishes.schema is not None:
            told["output_config"] = {"format": {"type": "json_schema", "schema": self.wishes.schema}}
        return told


class Gemini(Speaker):
    dialect = "gemini"

    def __init__(self, url: str, model: str, wishes: AskedFor, *, is_async: bool = False, key: str = "any") -> None:
        super().__init__(url, model, wishes, is_async=is_async, key=key)
        self.system: str | None = None

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        whole = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=url))
        return whole.aio if is_async else whole

    def _user(self, text: str) -> Any:
        return types.Content(role="user", parts=[types.Part(text=text)])

    def instruct(self, text: str) -> None:
        self.system = text if self.system is None else f"{self.system}\n{text}"

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        given = [
            types.FunctionResponse(id=call.id, name=call.name, response={"result": results[call.id]}) for call in calls
        ]
        self.history.append(types.Content(role="user", parts=[types.Part(function_response=one) for one in given]))

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"model": self.model, "contents": self.history, "config": self._settings()}
        if self.wishes.stream:
            chunks = [chunk async for chunk in each(await settled(self.client.models.generate_content_stream(**asked)))]
        else:
            chunks = [await settled(self.client.models.generate_content(**asked))]
        parts = [part for chunk in chunks for part in _parts(chunk)]
        self.history.append(types.Content(role="model", parts=parts))
        return _heard_by_gemini(parts, chunks[-1].usage_metadata)

    def _settings(self) -> types.GenerateContentConfig:
        config = types.GenerateContentConfig(system_instruction=self.system)
        config.max_output_tokens = self.wishes.limit or None
        if self.wishes.tools:
            declared = types.FunctionDeclaration(name="weather", parameters_json_schema=WEATHER)
            config.tools = [types.Tool(function_declarations=[declared])]
        if self.wishes.thinking:
            config.thinking_config = types.ThinkingConfig(include_thoughts=True, thinking_budget=2048)
        if self.wishes.schema is not None:
            config.response_mime_type = "application/json"
            config.response_json_schema = self.wishes.schema
        return config


class Cohere(Speaker):
    dialect = "cohere"

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        made = cohere.AsyncClientV2 if is_async else cohere.ClientV2
        return made(base_url=url, api_key=key)

    def _user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def instruct(self, text: str) -> None:
        self.history.append({"role": "system", "content": text})

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        """As Cohere's guide hands results in: as documents."""
        for key, text in results.items():
            document = {"type": "document", "document": {"data": {"text": text}}}
            self.history.append({"role": "tool", "tool_call_id": key, "content": [document]})

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"model": self.model, "messages": self.history, **self._settings()}
        asked["request_options"] = {"max_retries": 0}
        if self.wishes.stream:
            events = [event async for event in each(await settled(self.client.chat_stream(**asked)))]
            message, usage = folded_by_cohere(events)
        else:
            answer = await settled(self.client.chat(**asked))
            message, usage = answer.message, answer.usage
        self.history.append(message)
        blocks = message.content or []
        called = [(call.id, call.function) for call in message.tool_calls or ()]
        calls = [Call(identity, function.name, json.loads(function.arguments)) for identity, function in called]
        text = "".join(block.text for block in blocks if block.type == "text") + (message.tool_plan or "")
        reasoning = "".join(block.thinking for block in blocks if block.type == "thinking")
        return ReceivedAnswer(text, calls, reasoning, int(usage.tokens.output_tokens))

    def _settings(self) -> dict[str, Any]:
        told: dict[str, Any] = {"max_tokens": self.wishes.limit} if self.wishes.limit else {}
        if self.wishes.tools:
            told["tools"] = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
        if self.wishes.thinking:
            told["thinking"] = {"type": "enabled", "token_budget": 2048}
        if self.wishes.schema is not None:
            told["response_format"] = {"type": "json_object", "json_schema": self.wishes.schema}
        return told


def folded_by_cohere(events: list[Any]) -> tuple[Any, Any]:
    """The message that a stream makes, and its usage. The SDK leaves it to its users to put the events together."""
    message: dict[str, Any] = {"role": "assistant", "content": [], "tool_calls": [], "tool_plan": ""}
    usage: Any = None
    for event in events:
        told = event.delta.message if getattr(event, "delta", None) and hasattr(event.delta, "message") else None
        match event.type:
            case "content-start":
                message["content"].append({"type": told.content.type, told.content.type: ""})
            case "content-delta":
                block = message["content"][event.index]
                block[block["type"]] += getattr(told.content, block["type"])
            case "tool-plan-delta":
                message["tool_plan"] += told.tool_plan
            case "tool-call-start":
                message["tool_calls"].append(told.tool_calls.dict())
            case "tool-call-delta":
                function = message["tool_calls"][event.index]["function"]
                function["arguments"] = (function["arguments"] or "") + told.tool_calls.function.arguments
            case "message-end":
                usage = event.delta.usage
                assert event.delta.error is None, event.delta.error
    for call in message["tool_calls"]:
        call["function"]["arguments"] = call["function"]["arguments"] or "{}"
    kept = {key: value for key, value in message.items() if value}
    return cohere.AssistantMessageResponse(**kept), usage


def _parts(chunk: Any) -> list[Any]:
    content = chunk.candidates[0].content if chunk.candidates else None
    return list(content.parts or ()) if content is not None else []


def _heard_by_gemini(parts: list[Any], usage: Any) -> ReceivedAnswer:
    called = [part.function_call for part in parts if part.function_call]
    calls = [Call(call.id or call.name, call.name, call.args) for call in called]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    reasoning = "".join(part.text for part in parts if part.text and part.thought)
    return ReceivedAnswer(text, calls, reasoning, usage.candidates_token_count or 0)


@lru_cache(maxsize=16)
def _kept(speaker: type[Speaker], url: str, key: str) -> Any:
    """A client is slow to make; an asynchronous one belongs to its event loop and is made anew."""
    return speaker._client(url, key, False)


class Ollama(Speaker):
    """Its SDK keeps no ids of calls: results are told apart by the name of their tool and by their order."""

    dialect = "ollama"

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        made = ollama.AsyncClient if is_async else ollama.Client
        return made(host=url, headers={"authorization": f"Bearer {key}"})

    def _user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def instruct(self, text: str) -> None:
        self.history.append({"role": "system", "content": text})

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        names = {call.id: call.name for call in calls}
        self.history += [
            {"role": "tool", "tool_name": names[identity], "content": text} for identity, text in results.items()
        ]

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"model": self.model, "messages": self.history, **self._settings()}
        told = await settled(self.client.chat(stream=self.wishes.stream, **asked))
        answers = [answer async for answer in each(told)] if self.wishes.stream else [told]
        text = "".join(answer.message.content or "" for answer in answers)
        thinking = "".join(answer.message.thinking or "" for answer in answers)
        made = [call for answer in answers for call in answer.message.tool_calls or ()]
        message = ollama.Message(role="assistant", content=text, thinking=thinking or None, tool_calls=made or None)
        self.history.append(message)
        calls = [Call(f"#{at}", call.function.name, dict(call.function.arguments)) for at, call in enumerate(made)]
        return ReceivedAnswer(text, calls, thinking, answers[-1].eval_count or 0)

    def _settings(self) -> dict[str, Any]:
        told: dict[str, Any] = {"options": {"num_predict": self.wishes.limit}} if self.wishes.limit else {}
        if self.wishes.tools:
            function = {"name": "weather", "description": "Tells it", "parameters": WEATHER}
            told["tools"] = [{"type": "function", "function": function}]
        if self.wishes.thinking:
            told["think"] = "high"
        if self.wishes.schema is not None:
            told["format"] = dict(self.wishes.schema)
        return told


class Boto(Speaker):
    """boto3, which has no asynchronous client. The gateway runs in a thread of its own."""

    dialect = "bedrock"

    @classmethod
    def _client(cls, url: str, key: str, is_async: bool) -> Any:
        return boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id=key,
            aws_secret_access_key=key,
            config=BotoConfig(retries={"total_max_attempts": 1}),
        )

    def _user(self, text: str) -> Any:
        return {"role": "user", "content": [{"text": text}]}

    def instruct(self, text: str) -> None:
        """Converse has one list of system texts, before all turns."""
        self.system.append({"text": text})

    def __init__(self, url: str, model: str, wishes: AskedFor, *, is_async: bool = False, key: str = "any") -> None:
        super().__init__(url, model, wishes, is_async=is_async, key=key)
        self.system: list[Any] = []

    def _results(self, results: Mapping[str, str], calls: list[Call]) -> None:
        blocks = [{"toolResult": {"toolUseId": key, "content": [{"text": text}]}} for key, text in results.items()]
        self.history.append({"role": "user", "content": blocks})

    async def _turn(self) -> ReceivedAnswer:
        asked: dict[str, Any] = {"modelId": self.model, "messages": self.history, **self._settings()}
        if self.system:
            asked["system"] = self.system
        if self.wishes.stream:
            message, usage = _gathered(self.client.converse_stream(**asked)["stream"])
        else:
            answer = self.client.converse(**asked)
            message, usage = answer["output"]["message"], answer["usage"]
        self.history.append(message)
        blocks = message["content"]
        used = [block["toolUse"] for block in blocks if "toolUse" in block]
        calls = [Call(one["toolUseId"], one["name"], one["input"]) for one in used]
        thoughts = [
            block["reasoningContent"].get("reasoningText", {}) for block in blocks if "reasoningContent" in block
        ]
        text = "".join(block.get("text", "") for block in blocks)
        return ReceivedAnswer(text, calls, "".join(one.get("text", "") for one in thoughts), usage["outputTokens"])

    def _settings(self) -> dict[str, Any]:
        told: dict[str, Any] = {"inferenceConfig": {"maxTokens": self.wishes.limit or 4096}}
        if self.wishes.tools:
            told["toolConfig"] = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": WEATHER}}}]}
        if self.wishes.thinking:
            told["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
        if self.wishes.schema is not None:
            structure = {"jsonSchema": {"schema": json.dumps(self.wishes.schema), "name": "answer"}}
            told["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": structure}}
        return told


def _gathered(events: Any) -> tuple[Any, Any]:
    """A stream as one message, as the users of boto3 put it together."""
    blocks: dict[int, Any] = {}
    usage: Any = {}
    for event in events:
        kind, payload = next(iter(event.items()))
        if kind == "contentBlockStart":
            blocks[payload["contentBlockIndex"]] = {"toolUse": {**payload["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            _add_piece(blocks.setdefault(payload["contentBlockIndex"], {}), payload["delta"])
        elif kind == "metadata":
            usage = payload["usage"]
    content = [blocks[index] for index in sorted(blocks)]
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return {"role": "assistant", "content": content}, usage


def _add_piece(block: Any, delta: Any) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta.get("reasoningContent", {}):
        block["reasoningContent"] = delta["reasoningContent"]
    elif "reasoningContent" in delta:
        inner = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
        for name, piece in delta["reasoningContent"].items():
            inner[name] = inner.get(name, "") + piece


SPEAKERS: Mapping[str, type[Speaker]] = {
    one.dialect: one for one in (Chat, Responses, Claude, Gemini, Cohere, Ollama, Boto)
}


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def each(items: Any) -> AsyncIterator[Any]:
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def final(helper: Any, ending: str) -> Any:
    """Read a stream through the SDK's own helper; what it made of it."""
    if hasattr(helper, "__aenter__"):
        async with helper as stream:
            return await getattr(stream, ending)()
    with helper as stream:
        return getattr(stream, ending)()
