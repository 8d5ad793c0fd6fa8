"""Well-formed requests of every dialect, by hand: together they hold every published member that clients use."""

from __future__ import annotations

from typing import Any

from tests.by_dialect import ByDialect
from tests.shapes.words import PAPER, PIXEL, SOUND

Wire = dict[str, Any]

SCHEMA: Wire = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED: Wire = {**SCHEMA, "additionalProperties": False}


def chat(*messages: Wire, **more: Any) -> Wire:
    return {"model": "gpt-4o", "messages": list(messages), **more}


_USER: Wire = {"role": "user", "content": "Hi"}
_TOOL: Wire = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA, "strict": False},
}
_CALL: Wire = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
_CALLS: Wire = {"role": "assistant", "content": "Looking.", "tool_calls": [_CALL]}
_RESULT: Wire = {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"}

CHAT: tuple[Wire, ...] = (
    chat(
        {"role": "system", "content": "Be brief.", "name": "admin"},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}], "name": "Ann"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello"}], "refusal": None},
        _USER,
    ),
    chat({"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}, _USER),
    chat(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"}},
            ],
        }
    ),
    chat(_USER, _CALLS, _RESULT, tools=[_TOOL], tool_choice="auto", parallel_tool_calls=True),
    chat(_USER, tools=[_TOOL], tool_choice={"type": "function", "function": {"name": "weather"}}),
    chat(_USER, _CALLS, {**_RESULT, "content": [{"type": "text", "text": "12 degrees"}]}, _USER),
    chat(
        _USER,
        temperature=0.5,
        top_p=0.9,
        max_tokens=100,
        stop=["END"],
        n=1,
        seed=7,
        user="u",
        metadata={"k": "v"},
        presence_penalty=0.5,
        frequency_penalty=0.5,
        logit_bias={"50256": -100},
        logprobs=True,
        top_logprobs=2,
        service_tier="auto",
        store=False,
    ),
    chat(_USER, stream=True, stream_options={"include_usage": True}, stop="END", max_completion_tokens=50),
    chat(
        _USER,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "answer", "description": "It.", "schema": CLOSED, "strict": True},
        },
    ),
    chat({"role": "user", "content": "Say JSON."}, response_format={"type": "json_object"}),
    {**chat(_USER, reasoning_effort="low", verbosity="low"), "model": "gpt-5"},
)


def claude(*messages: Wire, **more: Any) -> Wire:
    return {"model": "claude-sonnet-4-5", "max_tokens": 4000, "messages": list(messages), **more}


_CLAUDE_TOOL: Wire = {"name": "weather", "description": "Tells it.", "input_schema": SCHEMA}
_USE: Wire = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}},
    ],
}


def _told(content: Any) -> Wire:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": False}
    return {"role": "user", "content": [result]}


_IMAGE: Wire = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
_PAPER: Wire = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PAPER},
    "title": "A paper",
    "context": "Ours",
    "citations": {"enabled": True},
}

CLAUDE: tuple[Wire, ...] = (
    claude(_USER, {"role": "assistant", "content": "Hello"}, _USER, system="Be brief."),
    claude(
        {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    ),
    claude({"role": "user", "content": [_IMAGE, _PAPER, {"type": "text", "text": "Look."}]}),
    claude(
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Words."}},
            ],
        }
    ),
    claude(_USER, _USE, _told("12 degrees"), tools=[_CLAUDE_TOOL], tool_choice={"type": "auto"}),
    claude(_USER, _USE, _told([{"type": "text", "text": "12 degrees"}]), tools=[{**_CLAUDE_TOOL, "strict": False}]),
    claude(
        _USER,
        tools=[{**_CLAUDE_TOOL, "type": "custom", "cache_control": {"type": "ephemeral"}}],
        tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    ),
    claude(_USER, stop_sequences=["END"], metadata={"user_id": "u"}, service_tier="auto", stream=True),
    claude(_USER, thinking={"type": "enabled", "budget_tokens": 1024}),
    claude(_USER, output_config={"format": {"type": "json_schema", "schema": CLOSED}}),
    {**claude(_USER, thinking={"type": "adaptive"}, output_config={"effort": "high"}), "model": "claude-opus-4-8"},
)


def responses(*items: Wire, **more: Any) -> Wire:
    return {"model": "gpt-5", "input": list(items), **more}


_ASKED: Wire = {"role": "user", "content": "Hi"}
_FUNCTION: Wire = {
    "type": "function",
    "name": "weather",
    "description": "Tells it.",
    "parameters": SCHEMA,
    "strict": False,
}
_CALLED: Wire = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "weather",
    "arguments": "{}",
    "status": "completed",
}
_OUTPUT: Wire = {"type": "function_call_output", "call_id": "call_1", "output": "12 degrees"}

RESPONSES: tuple[Wire, ...] = (
    {"model": "gpt-4o", "input": "Hi", "instructions": "Be brief.", "temperature": 0.5, "top_p": 0.9},
    responses(
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look."},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
                {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"},
            ],
        },
    ),
    responses(
        _ASKED,
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
        },
        _ASKED,
    ),
    responses(_ASKED, {"role": "assistant", "content": "Hello"}, _ASKED, store=False, truncation="auto"),
    responses(_ASKED, _CALLED, _OUTPUT, tools=[_FUNCTION], tool_choice="auto", parallel_tool_calls=True),
    responses(
        _ASKED,
        _CALLED,
        {**_OUTPUT, "output": [{"type": "input_text", "text": "12 degrees"}]},
        tools=[_FUNCTION],
        tool_choice={"type": "function", "name": "weather"},
    ),
    responses(
        _ASKED,
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {**_CALLED},
        _OUTPUT,
        store=False,
        include=["reasoning.encrypted_content"],
        reasoning={"effort": "low", "summary": "auto"},
    ),
    responses(
        _ASKED,
        max_output_tokens=100,
        metadata={"k": "v"},
        user="u",
        service_tier="auto",
        stream=True,
        text={"verbosity": "low"},
        prompt_cache_key="k",
        max_tool_calls=2,
    ),
    responses(
        _ASKED,
        text={"format": {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}},
        tools=[{"type": "web_search"}, {"type": "custom", "name": "shell", "description": "Runs it."}],
    ),
)


def gemini(*contents: Wire, **more: Any) -> Wire:
    return {"contents": list(contents), **more}


_TURN: Wire = {"role": "user", "parts": [{"text": "Hi"}]}
_FUNCTION_CALL: Wire = {
    "role": "model",
    "parts": [{"text": "Looking."}, {"functionCall": {"id": "1", "name": "weather", "args": {"city": "Paris"}}}],
}
_RESPONSE: Wire = {
    "role": "user",
    "parts": [{"functionResponse": {"id": "1", "name": "weather", "response": {"output": "12 degrees"}}}],
}
_DECLARED: Wire = {
    "functionDeclarations": [
        {
            "name": "weather",
            "description": "Tells it.",
            "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
        }
    ]
}

GEMINI: tuple[Wire, ...] = (
    gemini(
        _TURN, {"role": "model", "parts": [{"text": "Hello"}]}, _TURN, systemInstruction={"parts": [{"text": "Be"}]}
    ),
    gemini({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}, {"text": "Look."}]}),
    gemini({"role": "user", "parts": [{"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a"}}]}),
    gemini(
        _TURN,
        _FUNCTION_CALL,
        _RESPONSE,
        tools=[_DECLARED],
        toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
    ),
    gemini(
        _TURN,
        generationConfig={
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 20,
            "maxOutputTokens": 100,
            "stopSequences": ["END"],
            "seed": 7,
            "candidateCount": 1,
            "presencePenalty": 0,
            "thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": True},
        },
        safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    ),
    gemini(
        _TURN,
        generationConfig={
            "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "STRING", "description": "It."}}},
        },
    ),
)


def bedrock(*messages: Wire, **more: Any) -> Wire:
    return {"messages": list(messages), **more}


_SAID: Wire = {"role": "user", "content": [{"text": "Hi"}]}
_TOOL_USE: Wire = {"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {"city": "Paris"}}}
_USING: Wire = {"role": "assistant", "content": [{"text": "Looking."}, _TOOL_USE]}
_SPEC: Wire = {"toolSpec": {"name": "weather", "description": "Tells it.", "inputSchema": {"json": SCHEMA}}}


def _gave(*content: Wire) -> Wire:
    result = {"toolUseId": "tooluse_1", "content": list(content), "status": "success"}
    return {"role": "user", "content": [{"toolResult": result}]}


BEDROCK: tuple[Wire, ...] = (
    bedrock(_SAID, {"role": "assistant", "content": [{"text": "Hello"}]}, _SAID, system=[{"text": "Be brief."}]),
    bedrock(
        {
            "role": "user",
            "content": [
                {"image": {"format": "png", "source": {"bytes": PIXEL}}},
                {"document": {"format": "pdf", "name": "a paper", "source": {"bytes": PAPER}}},
                {"text": "Look."},
            ],
        }
    ),
    bedrock(_SAID, _USING, _gave({"text": "12 degrees"}), toolConfig={"tools": [_SPEC], "toolChoice": {"auto": {}}}),
    bedrock(_SAID, _USING, _gave({"json": {"degrees": 12}}), toolConfig={"tools": [_SPEC]}),
    bedrock(_SAID, toolConfig={"tools": [_SPEC], "toolChoice": {"tool": {"name": "weather"}}}),
    bedrock(
        _SAID,
        inferenceConfig={"maxTokens": 100, "temperature": 0.5, "stopSequences": ["END"]},
    ),
    bedrock(
        _SAID,
        inferenceConfig={"maxTokens": 4000},
        additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
)


def ollama(*messages: Wire, **more: Any) -> Wire:
    return {"model": "qwen3:8b", "messages": list(messages), "stream": False, **more}


_OLLAMA_CALL: Wire = {"function": {"name": "weather", "arguments": {"city": "Paris"}}}
_OLLAMA_CALLS: Wire = {"role": "assistant", "content": "Looking.", "tool_calls": [_OLLAMA_CALL]}
_OLLAMA_TOOL: Wire = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA},
}

OLLAMA: tuple[Wire, ...] = (
    ollama({"role": "system", "content": "Be brief."}, _USER, {"role": "assistant", "content": "Hello"}, _USER),
    ollama({"role": "user", "content": "Look.", "images": [PIXEL]}),
    ollama(
        _USER,
        _OLLAMA_CALLS,
        {"role": "tool", "tool_name": "weather", "content": "12 degrees"},
        tools=[_OLLAMA_TOOL],
    ),
    ollama(
        _USER,
        options={"temperature": 0.5, "top_p": 0.9, "top_k": 20, "num_predict": 100, "stop": ["END"], "seed": 7},
        keep_alive="5m",
    ),
    ollama(_USER, format="json"),
    ollama(_USER, format=SCHEMA, think=True),
)


def cohere(*messages: Wire, **more: Any) -> Wire:
    return {"model": "command-a-03-2025", "messages": list(messages), **more}


COHERE: tuple[Wire, ...] = (
    cohere({"role": "system", "content": "Be brief."}, _USER, {"role": "assistant", "content": "Hello"}, _USER),
    cohere({"role": "user", "content": [{"type": "text", "text": "Hi"}]}),
    cohere(
        _USER,
        {"role": "assistant", "tool_plan": "Looking.", "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"},
        tools=[_OLLAMA_TOOL],
    ),
    cohere(_USER, tools=[_OLLAMA_TOOL], tool_choice="REQUIRED"),
    cohere(
        _USER,
        temperature=0.5,
        p=0.9,
        k=20,
        max_tokens=100,
        stop_sequences=["END"],
        seed=7,
        frequency_penalty=0.5,
    ),
    cohere(_USER, response_format={"type": "json_object", "json_schema": SCHEMA}),
)

SAMPLES: dict[str, tuple[Wire, ...]] = ByDialect(
    "SAMPLES of tests/shapes/wellformed.py, accepted requests",
    {
        "openai-chat": CHAT,
        "openai-responses": RESPONSES,
        "anthropic": CLAUDE,
        "gemini": GEMINI,
        "bedrock": BEDROCK,
        "ollama": OLLAMA,
        "cohere": COHERE,
    },
)
