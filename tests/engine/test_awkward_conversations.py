"""Conversations that agents really hold, sent to strict emulators: how many sends they take, and what arrives."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec import Struct
from tests.engine.test_exchange import Driver
from tests.judges import JUDGES, served_path
from tests.targets import split

from dragoman.dialects.dialect import AnswerContext
from dragoman.emulators.catalogue import provider
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.emulators.signatures import mint
from dragoman.engine.exchange.destination import Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, Send
from dragoman.engine.library.adapt import choose, read

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "Hi"}
UNSIGNED = "ZHJhZ29tYW4xAFsidW5zaWduZWQiLCIiLCIiLCIiLCIiXQAiIg=="
"""The stand-in for a signature that Claude's clients keep beside thinking without one."""
SEALED = "c2VhbGVkIGJ5IGFub3RoZXIgcHJvdmlkZXI="
CODE: Wire = {"type": "code_execution_20250825", "name": "code_execution"}

SEARCH: Wire = {"type": "web_search_20260209", "name": "web_search"}


class Awkward(Struct, frozen=True):
    """A conversation, the targets that it is sent to, and what becomes of it."""

    dialect: str
    body: Wire
    targets: tuple[str, ...]
    sends: int = 1
    arrives: tuple[str, ...] = ()
    """Words that are in the last body."""
    gone: tuple[str, ...] = ()
    """Words that are not."""
    rules: tuple[str, ...] = ()
    """The rules that report a change."""
    emulator: str = ""
    """Who answers, if it is not the emulator of the target: a server that the profile knows nothing about."""


def asked(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": list(messages), **more}


def items(*given: Wire, **more: Any) -> Wire:
    return {"model": "m", "input": list(given), **more}


CLAUDE = ("anthropic/claude-sonnet-4-5", "anthropic-compatible/claude-sonnet-4-5", "azure-anthropic/claude-opus-4-8")
RESPONSES = ("openai-responses/gpt-5", "azure-openai-responses/gpt-5", "xai-responses/grok-4.3")

CASES: dict[str, Awkward] = {
    "a container that no tool uses": Awkward(
        "anthropic", asked(HI, max_tokens=9, container="c_1"), CLAUDE, gone=("c_1",), rules=("refused-setting",)
    ),
    "a container of its tool": Awkward(
        "anthropic", asked(HI, max_tokens=9, container="c_1", tools=[CODE]), CLAUDE, arrives=("c_1",)
    ),
    "a container of a search that filters by code": Awkward(
        "anthropic", asked(HI, max_tokens=9, container="c_1", tools=[SEARCH]), CLAUDE[:1], arrives=("c_1",)
    ),
    "skills that somebody chose": Awkward(
        "anthropic",
        asked(HI, max_tokens=9, container={"skills": [{"type": "anthropic", "skill_id": "pptx"}]}),
        CLAUDE,
        arrives=("pptx",),
    ),
    "a late system message of null": Awkward(
        "openai-chat",
        asked(HI, {"role": "assistant", "content": "Hello"}, {"role": "system", "content": None}, HI),
        ("cerebras/gpt-oss-120b", "groq/llama-3.3-70b-versatile", "openai/gpt-4o"),
        gone=("null",),
        rules=("null-content",),
    ),
    "a summary that another provider sealed": Awkward(
        "openai-responses",
        items({"type": "compaction", "id": "cmp_1", "encrypted_content": SEALED}, HI),
        RESPONSES,
        sends=2,
        gone=(SEALED,),
        rules=("refused-part",),
    ),
    "a thought that another provider sealed": Awkward(
        "openai-responses",
        items(
            HI,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [{"type": "output_text", "text": "Hello"}],
            },
            HI,
        ),
        RESPONSES,
        sends=2,
        gone=(SEALED,),
        rules=("foreign-reasoning",),
    ),
    "thinking of an unknown server that a client of Claude sends back": Awkward(
        "anthropic",
        asked(
            HI,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "A greeting.", "signature": UNSIGNED},
                    {"type": "text", "text": "Hello"},
                ],
            },
            HI,
            max_tokens=9,
        ),
        ("openai-compatible/m", "sglang/m"),
        arrives=('"reasoning_content":"A greeting."',),
        rules=("foreign-reasoning",),
    ),
    "a whole answer of a model that thinks in streams alone": Awkward(
        "openai-chat",
        asked(HI, stream=False),
        ("qwen/qwen3-32b",),
        arrives=('"stream":true', '"include_usage":true'),
    ),
    "a whole answer of a model in which thinking is off": Awkward(
        "openai-chat", asked(HI, enable_thinking=False), ("qwen/qwen3-32b",), gone=('"stream":true',)
    ),
    "an item that the provider does not have": Awkward(
        "openai-responses",
        items(
            HI, {"type": "agent_message", "author": "planner", "content": [{"type": "input_text", "text": "Go"}]}, HI
        ),
        RESPONSES[:2],
        sends=2,
        arrives=("planner", "Go"),
        rules=("refused-part",),
    ),
}


def unknown(server: str, model: str, body: Wire, sends: int = 2, **more: Any) -> Awkward:
    """A request of Chat to a server that nobody has described."""
    return Awkward("openai-chat", body, (f"openai-compatible/{model}",), sends, emulator=server, **more)


CALL: Wire = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
LOOK: Wire = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
LOOKED = (HI, {"role": "assistant", "content": None, "tool_calls": [CALL]})
FOUND: Wire = {"role": "tool", "tool_call_id": "call_1", "content": "a lake"}
LATE: Wire = {"role": "system", "content": "Answer in French."}
PICTURE: Wire = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SHOWN: Wire = {"role": "user", "content": [{"type": "text", "text": "See"}, PICTURE]}
SCHEMA: Wire = {"name": "place", "schema": {"type": "object", "properties": {"lake": {"type": "string"}}}}
ODD: Wire = {"type": "function", "function": {"name": "odd", "parameters": {"type": "object", "properties": []}}}

CHOOSING: Wire = {
    "type": "object",
    "properties": {
        "mode": {"enum": ["START", "END"]},
        "severity": {"type": "string", "anyOf": [{"enum": ["error"]}, {"enum": ["warning"]}]},
        "query": {"$ref": "#/$defs/Query", "description": "the query"},
        "old": {"$ref": "#/definitions/Query"},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
        "unit": {"type": "string", "enum": ["km", None]},
        "depth": {"enum": ["all", 1]},
    },
    "$defs": {"Query": {"type": "string", "description": "words"}},
    "definitions": {"Query": {"type": "string"}},
}

# The profile of an unknown server sends what the client wrote. What the server refuses is cured by its words, by care,
# or by both.
CASES |= {
    "a list as the answer, asked for by a schema": Awkward(
        "gemini",
        {
            "contents": [{"role": "user", "parts": [{"text": "Three lakes."}]}],
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseSchema": {"type": "ARRAY", "items": {"type": "STRING"}},
            },
        },
        ("anthropic/claude-opus-4-8", "openai/gpt-4o", "openai-responses/gpt-5", "cohere/command-a-03-2025"),
        arrives=("JSON schema", "array"),
        gone=("json_schema", "json_object"),
    ),
    "a thought in Mistral's form": Awkward(
        "openai-chat",
        asked(
            HI,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "A greeting."}]},
                    {"type": "text", "text": "Hello"},
                ],
            },
            HI,
        ),
        ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "groq/llama-3.3-70b-versatile"),
        arrives=("Hello",),
        gone=("A greeting.",),
        rules=("refused-part",),
    ),
    "a temperature above 1, and a tool that must be called, to a service that takes the choice": Awkward(
        "openai-chat",
        asked(HI, tools=[LOOK], tool_choice="required", temperature=1.5),
        ("zai/glm-4.6",),
        arrives=("look", '"tool_choice":"required"'),
        rules=("setting-range",),
    ),
    "a late instruction, to Gemini that breaks on it": unknown(  # three sends end with a 500
        "openrouter",
        "google/gemini-2.5-flash",
        asked(*LOOKED, FOUND, LATE, tools=[LOOK]),
        4,
        arrives=("[System] Answer in French.", "a lake"),
        rules=("late-system",),
    ),
    "an answer of Perplexity's, to OpenRouter": unknown(
        "openrouter",
        "openai/gpt-4o",
        asked(HI, {"role": "assistant", "content": "Rain.", "citations": ["https://e.example"]}, HI),
        arrives=("Rain.",),
        rules=("stray-field",),
    ),
    "a video, to a server of texts": unknown(
        "groq",
        "llama-3.3-70b-versatile",
        asked(
            {
                "role": "user",
                "content": [{"type": "text", "text": "See"}, {"type": "video_url", "video_url": {"url": "v"}}],
            }
        ),
        arrives=("See",),
        rules=("refused-part", "list-content"),
    ),
    "thoughts of another router, to Cerebras": unknown(
        "cerebras",
        "some-model",
        asked(
            LOOKED[0],
            {
                **LOOKED[1],
                "reasoning_details": [
                    {"type": "reasoning.encrypted", "data": "c2VhbGVkc2VhbGVkc2VhbGVkc2VhbGVk", "index": 0}
                ],
            },
            FOUND,
            tools=[LOOK],
        ),
        arrives=("a lake",),
        gone=("c2VhbGVkc2VhbGVkc2VhbGVkc2VhbGVk",),
        rules=("foreign-reasoning",),
    ),
    "a router's summary of thoughts, to a model that wants thoughts back": unknown(
        "moonshot",
        "kimi-k2-thinking",
        asked(
            LOOKED[0],
            {**LOOKED[1], "reasoning_details": [{"type": "reasoning.summary", "summary": "Look first.", "index": 0}]},
            FOUND,
            tools=[LOOK],
        ),
        arrives=('"reasoning_content":"Look first."',),
        gone=("reasoning_details",),
        rules=("foreign-reasoning",),
    ),
    "a picture, to a model that reads": unknown(
        "deepseek", "deepseek-chat", asked(SHOWN), arrives=("See", "[image: "), rules=("refused-part",)
    ),
    "a schema for the answer, to a server without": unknown(
        "deepseek",
        "deepseek-chat",
        asked(HI, response_format={"type": "json_schema", "json_schema": SCHEMA}),
        arrives=("lake",),
        rules=("refused-format",),
    ),
    "an odd schema of a tool, to OpenAI": unknown(
        "openai", "gpt-4o", asked(HI, tools=[LOOK, ODD]), arrives=("odd",), rules=("schema-keyword",)
    ),
    "too many stops, to OpenAI": unknown(
        "openai", "gpt-4o", asked(HI, stop=["1", "2", "3", "4", "5"]), arrives=("4",), rules=("setting-range",)
    ),
    "a choice among some tools": unknown(
        "vllm",
        "some-model",
        asked(
            HI,
            tools=[LOOK, ODD],
            tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [LOOK]}},
        ),
        1,
        arrives=("look",),
        gone=("odd",),
        rules=("tool-choice-form",),
    ),
    "a first turn of the assistant, to Gemini": unknown(
        "openrouter",
        "google/gemini-2.5-flash",
        asked({"role": "assistant", "content": "The battery is low."}),
        arrives=("The battery is low.", "[autonomous processing]"),
    ),
    "two instructions, to a template that has room for one": unknown(
        "strict-template",
        "m",
        asked({"role": "system", "content": "Be brief."}, LATE, HI),
        arrives=('"role":"system","content":"Be brief.\\n\\nAnswer in French."',),
        rules=("many-systems",),
    ),
    "a result without its call, and a picture that is none of the fault": unknown(
        "minimax",
        "m",
        asked(SHOWN, {"role": "assistant", "content": "A lake."}, FOUND, HI),
        arrives=("iVBORw0KGgo=", "a lake"),
        rules=("orphan-result",),
    ),
    "arguments that were cut, and a picture that is none of the fault": unknown(
        "vllm",
        "m",
        asked(
            SHOWN, {**LOOKED[1], "tool_calls": [{**CALL, "function": {"name": "look", "arguments": '{"at": "'}}]}, FOUND
        ),
        arrives=("iVBORw0KGgo=", "arguments"),
        rules=("bad-arguments",),
    ),
    "a history whose beginning was cut off, to a template that looks for the user": Awkward(
        "openai-chat",
        asked(LATE, *LOOKED[1:], FOUND, tools=[LOOK]),
        ("vllm/Qwen/Qwen3.6-27B", "lmstudio/qwen3.5-35b-a3b", "llamacpp/Qwen3.8-27B", "sglang/qwen3.5-27b"),
        arrives=("Please continue.", "a lake"),
    ),
    "two instructions and a late one": Awkward(
        "openai-chat",
        asked(
            {"role": "system", "content": "Be brief."}, LATE, HI, {"role": "assistant", "content": "Hello"}, LATE, HI
        ),
        ("minimax/MiniMax-M2.5",),
        arrives=('"Be brief.\\n\\nAnswer in French."', "[System] Answer in French."),
        rules=("late-system", "many-systems"),
    ),
    "arguments that were cut": Awkward(
        "anthropic",
        asked(
            HI,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": '{"at": "'}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a lake"}]},
            max_tokens=9,
        ),
        ("minimax/MiniMax-M3", "qwen/qwen-plus", "vllm/m"),
        arrives=("a lake", "arguments"),
        rules=("off-schema",),
    ),
    "a tool without parameters": Awkward(
        "openai-chat",
        asked(HI, tools=[{"type": "function", "function": {"name": "look"}}]),
        ("minimax/MiniMax-M2.7",),
        arrives=('"parameters":{"type":"object","properties":{}}',),
        rules=("schema-keyword",),
    ),
    "an answer of no words": Awkward(
        "openai-chat",
        asked(HI, {"role": "assistant", "content": ""}, HI),
        ("moonshot/kimi-k3", "zai/glm-5.2"),
        rules=("empty-content",),
    ),
    "a tool that must be called, to a model that thinks": Awkward(
        "anthropic",
        asked(
            HI,
            max_tokens=9,
            tools=[{"name": "look", "input_schema": {"type": "object", "properties": {}}}],
            tool_choice={"type": "any"},
        ),
        ("moonshot/kimi-k2.6",),
        arrives=('"tool_choice":"required"', '"thinking":{"type":"disabled"}'),
        rules=("forced-tool",),
    ),
    "a tool by its name, to models that always think": Awkward(
        "openai-chat",
        asked(HI, tools=[LOOK], tool_choice={"type": "function", "function": {"name": "look"}}),
        ("moonshot/kimi-k2.7-code",),
        arrives=('"tool_choice":"auto"',),
        gone=('"thinking"',),
        rules=("forced-tool",),
    ),
    "a tool by its name, to a model that takes none": Awkward(
        "openai-chat",
        asked(HI, tools=[LOOK], tool_choice={"type": "function", "function": {"name": "look"}}),
        ("moonshot/kimi-k3",),
        arrives=('"tool_choice":"required"',),
        rules=("tool-choice-form",),
    ),
    "a format without the word": Awkward(
        "openai-chat",
        asked(HI, response_format={"type": "json_object"}),
        ("qwen/qwen3-max",),
        arrives=("Answer in JSON.", "json_object"),
    ),
    "an opening of the developer, and no turn of the user": Awkward(
        "openai-chat",
        asked({"role": "developer", "content": "Be brief."}, {"role": "assistant", "content": "Hello"}),
        ("zai/glm-5.3-flash",),
        arrives=('"role":"system"', "Please continue."),
        rules=("developer-role",),
    ),
    "tools, to a model that searches": Awkward(
        "openai-chat",
        asked(*LOOKED, FOUND, HI, tools=[LOOK]),
        ("perplexity/sonar-pro",),
        arrives=("a lake",),
        gone=('"tools"',),
        rules=("refused-tools",),
    ),
    "schemas of MCP servers": Awkward(
        "openai-chat",
        asked(HI, tools=[{"type": "function", "function": {"name": "look", "parameters": CHOOSING}}]),
        ("moonshot/kimi-k3", "moonshot/kimi-k2.6"),
        arrives=('"anyOf":[{"', "START", "the query"),
        rules=("schema-keyword",),
    ),
    "schemas of MCP servers, to a router": unknown(
        "moonshot",
        "moonshotai/kimi-k2.6",
        asked(HI, tools=[{"type": "function", "function": {"name": "look", "parameters": CHOOSING}}]),
        arrives=('"anyOf":[{"', "START", "the query"),
        rules=("schema-keyword",),
    ),
    "thinking switched off by a client of Claude": Awkward(
        "anthropic",
        asked(HI, max_tokens=9, thinking={"type": "disabled"}),
        ("qwen/qwen3.5-plus", "qwen/qwen3-max"),
        arrives=('"enable_thinking":false',),
    ),
    "thinking switched off by a client of Claude, for a chat template": Awkward(
        "anthropic",
        asked(HI, max_tokens=9, thinking={"type": "disabled"}),
        ("vllm/Qwen/Qwen3-8B", "sglang/Qwen/Qwen3.5-27B", "llamacpp/Qwen3-8B"),
        arrives=('"chat_template_kwargs":{"enable_thinking":false}',),
    ),
    "thinking switched off for a chat template, to a service without": Awkward(
        "openai-chat",
        asked(HI, chat_template_kwargs={"enable_thinking": False}),
        ("zai/glm-4.6", "deepseek/deepseek-v4-flash", "moonshot/kimi-k2.6"),
        arrives=('"thinking":{"type":"disabled"}',),
        gone=("chat_template_kwargs",),
        rules=("setting-name",),
    ),
    "what else a chat template reads": Awkward(
        "openai-chat",
        asked(HI, chat_template_kwargs={"enable_thinking": True, "tone": "dry"}, reasoning_effort="low", top_k=3),
        ("vllm/Qwen/Qwen3-8B", "openai-compatible/m", "sglang/m"),
        arrives=('"enable_thinking":true', '"tone":"dry"', '"reasoning_effort":"low"'),
    ),
    "thinking switched off in DashScope's words": Awkward(
        "openai-chat",
        asked(HI, enable_thinking=False),
        ("zai/glm-4.6", "deepseek/deepseek-v4-flash", "moonshot/kimi-k2.6", "minimax/MiniMax-M3"),
        arrives=('"thinking":{"type":"disabled"}',),
        gone=("enable_thinking",),
        rules=("setting-name",),
    ),
    "a thinking budget in Claude's words": Awkward(
        "openai-chat",
        asked(HI, max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 2000}),
        ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"),
        arrives=("2000",),
    ),
    "a thinking budget in Claude's words, to a router": Awkward(
        "openai-chat",
        asked(HI, max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 2000}),
        ("openrouter/anthropic/claude-sonnet-4-5",),
        arrives=('"reasoning":{"max_tokens":2000,"enabled":true}',),
        rules=("setting-name",),
    ),
    "a tool that must be called, to Qwen": Awkward(
        "openai-chat",
        asked(HI, tools=[LOOK], tool_choice="required"),
        ("qwen/qwen3.6-plus",),
        arrives=('"tool_choice":"required"', '"enable_thinking":false'),
        rules=("forced-tool",),
    ),
    "two ways of asking a server to think that nobody knows": Awkward(
        "openai-chat",
        asked(HI, reasoning_effort="low", thinking={"type": "enabled"}),
        ("openai-compatible/m", "vllm/m"),
        arrives=('"reasoning_effort":"low"', '"thinking":{"type":"enabled"}'),
    ),
    "two refusals, of which care cures one": unknown(
        "mistral",
        "mistral-large-latest",
        asked(*LOOKED, {**FOUND, "content": {"seen": "a lake"}}, tools=[LOOK]),
        3,
        arrives=("a lake",),
        rules=("off-schema", "call-id-form"),
    ),
}


class Sent(Struct, frozen=True):
    end: Any
    bodies: list[str]
    rules: tuple[str, ...]


def send(dialect: str, body: Wire, target: str, server: str = "") -> Sent:
    """One request to the strict emulator of a target, or to another server, as far as its end."""
    name, model = split(target)
    destination = Destination(name=target, provider=name, target=choose(target))
    ask = read(orjson.dumps(body), source=dialect)
    exchange = Exchange(ask, TargetRoute((destination,)), AnswerContext(model="m", id="req_1"))
    emulator, options = JUDGES[server or name]
    core = EmulatorCore(provider(emulator, signatures="strict", **options))

    def answer(step: Send[Destination]) -> tuple[int, bytes]:
        path, query = served_path(core.provider, step.request.path, model)
        planned = core.respond("POST", path, query, dict(step.request.headers), step.request.body)
        return planned.status, planned.body or b"".join(planned.frames or ())

    driver = Driver(exchange, answer)
    end = driver.run()
    bodies = [step.request.body.decode() for step in driver.steps if isinstance(step, Send)]
    return Sent(
        end, bodies, tuple(dict.fromkeys(change.rule for change in exchange.changes if change.kind == "repair"))
    )


# Libraries write unset members as null, and an answer's items go back as they were dumped.
SAID: Wire = {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": None}
DUMPED: Wire = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [SAID]}
ITEM_CALL: Wire = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": None}
CASES |= {
    "an answer with no probabilities": Awkward(
        "openai-responses", items(HI, DUMPED, HI), RESPONSES, arrives=("Hello",), gone=("null",), rules=("off-schema",)
    ),
    "an item without arguments": Awkward(
        "openai-responses",
        items(HI, ITEM_CALL, {"type": "function_call_output", "call_id": "call_1", "output": "a lake"}),
        RESPONSES,
        gone=("null",),
        rules=("off-schema",),
    ),
    "nulls beside a call": Awkward(
        "openai-chat",
        asked(HI, {"role": "assistant", "tool_calls": [{**CALL, "index": None, "extra_content": None}]}, FOUND),
        ("cerebras/m", "openrouter/openai/gpt-4o", "groq/llama-3.3-70b-versatile"),
        gone=("null",),
        rules=("null-field",),
    ),
    "a null among the parts": Awkward(
        "openai-chat",
        asked({"role": "user", "content": [None, {"type": "text", "text": "Hi"}]}),
        ("xai/grok-4", "zai/glm-4.6", "minimax/m", "llamacpp/m", "sglang/m", "ollama-openai/m", "openai/gpt-4o"),
        arrives=("Hi",),
        gone=("null",),
        rules=("off-schema",),
    ),
    "a second result after the user's turn": Awkward(
        "openai-chat",
        asked(*LOOKED, FOUND, {"role": "assistant", "content": "A lake."}, HI, {**FOUND, "content": "a pond"}),
        ("perplexity/sonar",),
        arrives=("a lake", "a pond"),
        rules=("repeated-result", "repeated-role"),
    ),
    "no token at all": Awkward(
        "openai-chat",
        asked(HI, max_tokens=0),
        ("bedrock/us.amazon.nova-lite-v1:0",),
        arrives=('"maxTokens":1',),
        rules=("setting-range",),
    ),
}


def claude(*blocks: Wire, role: str = "assistant", **more: Any) -> Wire:
    """A request of Messages with these blocks in its second turn."""
    return asked(HI, {"role": role, "content": list(blocks)}, HI, max_tokens=9, **more)


def converse(*blocks: Wire, role: str = "assistant") -> Wire:
    """A request of Converse with these blocks in its second turn."""
    hi = {"role": "user", "content": [{"text": "Hi"}]}
    spec = {"name": "look", "inputSchema": {"json": {"type": "object", "properties": {}}}}
    messages = [hi, {"role": role, "content": list(blocks)}, hi]
    return {"messages": messages, "toolConfig": {"tools": [{"toolSpec": spec}]}}


SAYS: Wire = {"type": "text", "text": "Hello"}
USES: Wire = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
GIVES: Wire = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a lake"}
UPLOADED: Wire = {"type": "container_upload", "file_id": "file_1"}
DRAWN: Wire = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
PAGE: Wire = {"type": "web_search_result", "url": "https://e.example", "title": "Lakes", "encrypted_content": SEALED}
ON_BEDROCK = ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",)
PIXELS: Wire = {"source": {"bytes": "iVBORw0KGgo="}}
CASES |= {
    "a thought in the user's turn": Awkward(
        "gemini",
        {"contents": [{"role": "user", "parts": [{"text": "A greeting.", "thought": True}, {"text": "Hi"}]}]},
        ("ollama/qwen3:8b", "deepseek/deepseek-chat", "xai-responses/grok-4.3", "cohere/command-a-reasoning-08-2025"),
        arrives=("Hi",),
        gone=("A greeting.",),
        rules=("foreign-reasoning",),
    ),
    "ids on half of the calls": Awkward(
        "gemini",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {
                    "role": "model",
                    "parts": [{"functionCall": {"name": "look", "args": {}, **more}} for more in ({"id": "a"}, {})],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "look", "response": {"output": "a lake"}}},
                        {"functionResponse": {"name": "look", "response": {"output": "a pond"}, "id": "a"}},
                    ],
                },
            ]
        },
        ("groq/llama-3.3-70b-versatile", "ollama-openai/some-model"),
        arrives=('"tool_call_id":"a","content":"a pond"', "a lake"),
    ),
    "a picture of no byte": Awkward(
        "ollama",
        asked({**HI, "images": [""]}, stream=False),
        ("bedrock/us.amazon.nova-lite-v1:0", "anthropic/claude-sonnet-4-5"),
        arrives=("Hi", "[image"),
        rules=("refused-part",),
    ),
    "a picture of no byte, for a server that reads strings": Awkward(
        "ollama",
        asked({**HI, "images": [""]}, stream=False),
        ("openai/gpt-4o",),
        arrives=(r"[image: image/png]\nHi",),
        rules=("refused-part", "list-content"),
    ),
    "a result in the model's turn": Awkward(
        "anthropic",
        claude(USES, GIVES, SAYS),
        ("ollama/qwen3:8b", "ollama-openai/some-model"),
        arrives=("a lake", "Hello"),
        rules=("late-result", "mixed-parts"),
    ),
    "a result in a result": Awkward(
        "anthropic",
        asked(
            *claude(USES)["messages"][:2], {"role": "user", "content": [{**GIVES, "content": [GIVES]}]}, max_tokens=9
        ),
        (*CLAUDE, "openai/gpt-4o", "gemini/gemini-2.5-flash", "ollama/qwen3:8b"),
        arrives=("a lake",),
        rules=("off-schema",),
    ),
    "a file of a container in a result": Awkward(
        "anthropic",
        asked(
            *claude(USES)["messages"][:2], {"role": "user", "content": [{**GIVES, "content": [UPLOADED]}]}, max_tokens=9
        ),
        CLAUDE,
        sends=2,
        arrives=("file_1",),
        gone=('"type":"container_upload"',),
        rules=("refused-part",),
    ),
    "a thought whose words are null": Awkward(
        "anthropic",
        claude({"type": "thinking", "thinking": None, "signature": "c2hvcnQ="}, SAYS),
        (*CLAUDE, "openai/gpt-4o"),
        arrives=("Hello",),
        gone=("null",),
        rules=("off-schema", "foreign-reasoning"),
    ),
    "what a search found, without the search": Awkward(
        "anthropic",
        claude({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}, SAYS),
        CLAUDE,
        arrives=("Lakes - https://e.example",),
        gone=(SEALED,),
        rules=("provider-run",),
    ),
    "a picture among what an MCP server found": Awkward(
        "anthropic",
        claude(
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "draw", "server_name": "art", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": [SAYS, DRAWN]},
            SAYS,
        ),
        ("openai/gpt-4o", "groq/llama-3.3-70b-versatile"),
        arrives=("[art: draw]", "[image"),
        rules=("provider-run", "refused-part", "list-content"),
    ),
    "a hidden thought that another provider sealed": Awkward(
        "bedrock",
        converse({"reasoningContent": {"redactedContent": SEALED}}, {"text": "Hello"}),
        ON_BEDROCK,
        sends=2,
        arrives=("Hello",),
        gone=(SEALED,),
        rules=("foreign-reasoning",),
    ),
    "a cache point before all else": Awkward(
        "bedrock",
        converse({"cachePoint": {"type": "default"}}, {"text": "More"}, role="user"),
        ("bedrock/meta.llama3-3-70b-instruct-v1:0", "bedrock/mistral.mistral-large-2407-v1:0"),
        arrives=("More",),
        gone=("cachePoint",),
        rules=("refused-hint", "repeated-role"),
    ),
    "a picture of the format jpg": Awkward(
        "bedrock",
        converse({"image": {"format": "jpg", "source": {"bytes": "/9j/4AAQSkZJRg=="}}}, role="user"),
        (*ON_BEDROCK, "anthropic/claude-sonnet-4-5", "openai/gpt-4o"),
        arrives=("/9j/4AAQSkZJRg==", "jpeg"),
        rules=("off-schema",),
    ),
    "a picture without a format": Awkward(
        "bedrock",
        converse({"image": PIXELS}, role="user"),
        (*ON_BEDROCK, "gemini/gemini-2.5-flash"),
        arrives=("iVBORw0KGgo=", "png"),
        rules=("off-schema",),
    ),
    "a call of Converse without its input": Awkward(
        "bedrock",
        converse({"toolUse": {"toolUseId": "t1", "name": "look"}}),
        ON_BEDROCK,
        arrives=('"input":{}',),
        rules=("off-schema",),
    ),
    "a call of Cohere without its type": Awkward(
        "cohere",
        asked(
            HI,
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a lake"},
            tools=[LOOK],
        ),
        ("cohere/command-a-03-2025",),
        arrives=('"type":"function"', "a lake"),
        rules=("off-schema",),
    ),
}

RUN: Wire = {"type": "local_shell_call", "call_id": "c1", "status": "completed"}
FIND: Wire = {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "lakes"}}
THOUGHT: Wire = {"type": "reasoning", "summary": [], "encrypted_content": mint("openai-responses", "Hm", url_safe=True)}
TURN: Wire = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
OPENAI = RESPONSES[:2]
CASES |= {
    "a call of a local shell that nobody answered": Awkward(
        "openai-responses",
        items(HI, {**RUN, "id": "lsh_1", "action": {"type": "exec", "command": ["ls"], "env": {}}}, HI),
        OPENAI,
        arrives=("ls", "no result was recorded"),
        rules=("client-tool",),
    ),
    "a search for tools that nobody answered": Awkward(
        "openai-responses",
        items(HI, FIND, HI),
        OPENAI,
        arrives=("lakes", "no result was recorded"),
        rules=("client-tool",),
    ),
    "a search that the provider ran": Awkward(
        "openai-responses", items(HI, {**FIND, "execution": "server"}, HI), OPENAI, arrives=("lakes",)
    ),
    "the status of a thought": Awkward(
        "openai-responses",
        items(HI, {**THOUGHT, "status": "completed"}, TURN, HI),
        OPENAI,
        arrives=(THOUGHT["encrypted_content"],),
        rules=("refused-reasoning",),
    ),
    "no status of a thought": Awkward(
        "openai-responses",
        items(HI, {**THOUGHT, "status": None}, TURN, HI),
        OPENAI,
        arrives=(THOUGHT["encrypted_content"],),
        gone=("null",),
        rules=("off-schema",),
    ),
    "an answer that holds nothing": Awkward(
        "openai-responses",
        items(HI, {**DUMPED, "content": []}, HI),
        RESPONSES,
        gone=("assistant",),
        rules=("null-content",),
    ),
    "the words of a sealed thought": Awkward(
        "openai-responses",
        items(HI, {**THOUGHT, "content": [{"type": "reasoning_text", "text": "A greeting."}]}, TURN, HI),
        OPENAI,
        arrives=("A greeting.", THOUGHT["encrypted_content"]),
        gone=("reasoning_text",),
        rules=("refused-reasoning",),
    ),
}

NAMED_LOOK: Wire = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
CASES |= {
    "thinking switched off, on models that always think": Awkward(
        "anthropic",
        asked(HI, max_tokens=2000, thinking={"type": "disabled"}),
        ("openrouter/openai/gpt-5", "openrouter/google/gemini-3.7-flash"),
        arrives=('"reasoning":{"effort":"low"}',),
        rules=("thinking-form",),
    ),
    "an effort of none, on models that always think": Awkward(
        "openai-chat",
        asked(HI, reasoning_effort="none"),
        ("openrouter/openai/gpt-5", "openrouter/deepseek/deepseek-r1", "openrouter/minimax/minimax-m2.5"),
        arrives=('"reasoning":{"effort":"low"}',),
        rules=("thinking-form",),
    ),
    "a picture as base64 alone": Awkward(
        "openai-chat",
        asked({"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"iVBORw0KGgo{'A' * 81}="}}]}),
        ("openai/gpt-4o", "azure-openai/gpt-4o"),
        arrives=("data:image/png;base64,iVBORw0KGgoAAAA",),
        rules=("media-form",),
    ),
    "a picture as base64 alone, among items": Awkward(
        "openai-responses",
        items({"role": "user", "content": [{"type": "input_image", "image_url": f"/9j/4AAQSkZJRg{'A' * 50}"}]}),
        OPENAI,
        arrives=("data:image/jpeg;base64,/9j/4AAQSkZJRg",),
        rules=("media-form",),
    ),
    "a path in place of a picture": Awkward(
        "openai-responses",
        items(
            HI,
            NAMED_LOOK,
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_image", "image_url": "/a/b.png"}],
            },
        ),
        (*OPENAI, "openai/gpt-4o"),
        arrives=("[image: /a/b.png]",),
        rules=("refused-part",),
    ),
    "a file of the same provider, in its other API": Awkward(
        "openai-chat",
        asked({"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}, tools=[LOOK]),
        ("openai/gpt-5.6",),
        arrives=('{"type":"input_file","file_id":"file-1"}',),
    ),
    "metadata of all kinds": Awkward(
        "openai-chat",
        asked(HI, metadata={"user": 17, "beta": True, "team": None, "tags": ["a"], "word": "null"}),
        ("openai/gpt-4o", "openai-responses/gpt-5", "azure-openai/gpt-4o"),
        arrives=('{"user":"17","beta":"true","tags":"[\\"a\\"]","word":"null"}',),
        rules=("off-schema",),
    ),
    "JSON that nobody spoke of": Awkward(
        "openai-responses",
        items(HI, text={"format": {"type": "json_object"}}),
        OPENAI,
        arrives=("Answer in JSON.",),
    ),
    "few words from a model that knows one length": Awkward(
        "openai-chat",
        asked(HI, verbosity="low"),
        ("openai/gpt-4o", "azure-openai/gpt-4o"),
        gone=("verbosity",),
        rules=("refused-setting",),
    ),
    "a budget in Claude's words": Awkward(
        "openai-chat",
        asked(HI, max_tokens=4000, thinking={"type": "enabled", "budget_tokens": 1500}),
        ("openrouter/anthropic/claude-sonnet-4.5",),
        arrives=('"max_tokens":1500',),
        rules=("setting-name",),
    ),
    "a budget for a model that knows efforts": Awkward(
        "openai-chat",
        asked(HI, thinking={"type": "enabled", "budget_tokens": 20000}),
        ("openai/gpt-5.6",),
        arrives=('"reasoning_effort":"high"',),
        rules=("thinking-form", "setting-name"),
    ),
    "a model that only Responses has": Awkward(
        "openai-chat", asked(HI), ("openai/gpt-5-codex", "openai/o3-pro"), arrives=('"input":',), gone=("messages",)
    ),
    "few words from a model of Codex": Awkward(
        "openai-responses",
        items(HI, text={"verbosity": "low"}),
        ("openai-responses/gpt-5.2-codex", "azure-openai-responses/gpt-5.1-codex-max"),
        gone=("verbosity",),
        rules=("refused-setting",),
    ),
}
NAMED: Wire = {**NAMED_LOOK, "namespace": "maps"}
GIVEN: Wire = {"type": "function_call_output", "call_id": "c1", "output": "a lake"}
BARE: Wire = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}
MAPS: Wire = {"type": "namespace", "name": "maps", "description": "Maps.", "tools": [BARE]}
PATCH: Wire = {"type": "apply_patch_call", "call_id": "c1", "status": "completed"}
SOUGHT: Wire = {
    "type": "custom_tool_call",
    "call_id": "xs_call_1",
    "name": "x_keyword_search",
    "input": '{"query": "lakes"}',
    "status": "completed",
}
XAI = RESPONSES[2:]
CASES |= {
    "tools in a namespace": Awkward(
        "openai-responses",
        items(HI, NAMED, GIVEN, HI, tools=[MAPS]),
        (*XAI, "openrouter/openai/gpt-4o"),
        arrives=("maps__look", "a lake"),
        gone=("namespace",),
        rules=("client-tool",),
    ),
    "tools in a namespace, given late": Awkward(
        "openai-responses",
        items(HI, {"type": "additional_tools", "role": "developer", "tools": [MAPS]}, HI),
        XAI,
        arrives=("maps__look",),
        gone=("namespace", "additional_tools"),
        rules=("client-tool",),
    ),
    "a patch": Awkward(
        "openai-responses",
        items(
            HI,
            {**PATCH, "operation": {"type": "delete_file", "path": "a.py"}},
            {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"},
            tools=[{"type": "apply_patch"}],
        ),
        XAI,
        arrives=("a.py", '"name":"apply_patch"'),
        gone=("apply_patch_call",),
        rules=("client-tool",),
    ),
    "a tool that takes text": Awkward(
        "openai-responses",
        items(
            HI,
            {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.py"},
            tools=[{"type": "custom", "name": "run"}],
        ),
        XAI,
        arrives=("ls", "a.py"),
        gone=("custom",),
        rules=("custom-tool",),
    ),
    "a search as Codex declares it": Awkward(
        "openai-responses",
        items(HI, tools=[{"type": "web_search", "external_web_access": True, "search_context_size": "low"}]),
        XAI,
        arrives=('[{"type":"web_search"}]',),
        rules=("native-tool",),
    ),
    "an interpreter in a container": Awkward(
        "openai-responses",
        items(HI, tools=[{"type": "code_interpreter", "container": {"type": "auto"}}]),
        XAI,
        arrives=('[{"type":"code_interpreter"}]',),
        rules=("native-tool",),
    ),
    "a choice without tools": Awkward(
        "openai-responses", items(HI, tool_choice="auto"), XAI, gone=("tool_choice",), rules=("tool-choice-form",)
    ),
    "a search that xAI ran among its own posts": Awkward(
        "openai-responses",
        items(HI, SOUGHT, TURN, HI, tools=[{"type": "x_search"}]),
        XAI,
        arrives=("xs_call_1", "lakes"),
    ),
    "a search that xAI ran, to another provider": Awkward(
        "openai-responses",
        items(HI, SOUGHT, TURN, HI),
        (*OPENAI, "openai/gpt-4o", "anthropic/claude-opus-4-8"),
        arrives=("[web search: lakes]", "Hello"),
        gone=("xs_call_1",),
        rules=("provider-run",),
    ),
    "a tool of xAI's Responses in its Chat": Awkward(
        "openai-chat",
        asked(HI, tools=[{"type": "x_search"}]),
        ("xai/grok-4.3",),
        gone=("x_search",),
        rules=("native-tool",),
    ),
}


@pytest.mark.parametrize(
    ("case", "target"),
    [pytest.param(case, target, id=f"{name}, {target}") for name, case in CASES.items() for target in case.targets],
)
def test_it_is_accepted_and_whole(case: Awkward, target: str) -> None:
    sent = send(case.dialect, case.body, target, case.emulator)
    assert (type(sent.end), len(sent.bodies)) == (Answered, case.sends), sent.end
    last = sent.bodies[-1]
    assert [word for word in case.arrives if word not in last] == []
    assert [word for word in case.gone if word in last] == []
    assert sent.rules == case.rules
