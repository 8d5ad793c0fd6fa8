"""What each Chat emulator refuses, and in which words. A row: the change to a good request, status, leading words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from dragoman.emulators.catalogue import provider
from dragoman.emulators.echo_answer import echo
from dragoman.emulators.provider import ErrorResponse, ReceivedRequest

USER = {"role": "user", "content": "Hi"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
SAID = {"role": "assistant", "content": "Hello"}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "42"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SYSTEM = {"role": "system", "content": "Be brief."}
MASKED = "call_REDACTED_" + "1" * 40  # the true id was shorter
GPT56, GPT4O = {"model": "gpt-5.6-terra"}, {"model": "gpt-4o-mini"}


def part(**value: Any) -> dict[str, Any]:
    return {"role": "user", "content": [value]}


def judged(name: str, body: dict[str, Any], **options: Any) -> ErrorResponse | None:
    one = provider(name, **options)
    path, example = one.example
    call = one.parse_request("POST", path, {}, {}, orjson.dumps({**example, **body}))
    assert isinstance(call, ReceivedRequest)
    return one.judge(call)


def sentence_of(refused: ErrorResponse) -> str:
    body = refused.body[0] if isinstance(refused.body, list) else refused.body
    error = body.get("error")
    if isinstance(error, str):
        return error
    inner = error if isinstance(error, dict) else body
    raw = (inner.get("metadata") or {}).get("raw")
    message = inner.get("message")
    if isinstance(message, dict):  # Mistral's validation errors
        return str(message["detail"])
    return str(raw or message or inner.get("detail"))


def talk(*messages: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"messages": list(messages), **rest}


LIST = {"properties": {"x": {"type": "array"}}}


def strict_tool(**schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "strict": True, "parameters": schema}}


PAIR = {**CALLS, "tool_calls": [CALL, {**CALL, "id": "call_2"}]}

OPENAI = [
    ({"model": None}, "you must provide a model parameter"),
    ({"messages": None}, "Missing required parameter: 'messages'."),
    ({"messages": []}, "Invalid 'messages': empty array. Expected an array with minimum length 1"),
    ({"messages": "Hi"}, "Invalid type for 'messages': expected an array of objects, but got a string instead."),
    ({"zzz": 1, **GPT56}, "Unknown parameter: 'zzz'."),
    ({"stopp": 1, **GPT56}, "Unknown parameter: 'stopp'. Did you mean 'stop'"),
    ({"frobnicate": 1, **GPT4O}, "Unrecognized request argument supplied: frobnicate"),
    (talk({"role": "bogus", "content": "x"}), "Invalid value: 'bogus'. Supported values are: 'system', 'assistant',"),
    (talk({"role": "user"}), "Invalid value for 'content': expected a string, got null."),
    (talk({"role": "developer"}), "Missing required parameter: 'messages[0].content'."),
    (talk({"role": "developer", "content": None}), "Invalid type for 'messages[0].content': expected one of a string"),
    (talk({"role": "user", "content": 3}), "Invalid type for 'messages[0].content': expected one of a string or array"),
    (talk(USER, {"role": "assistant", "content": None}), "Invalid value for 'content': expected a string, got null."),
    (talk(USER, {"role": "assistant", "content": "x", "tool_calls": []}), "Invalid 'messages[1].tool_calls': empty"),
    (talk({**USER, "tool_calls": [CALL]}), "Unknown parameter: 'messages[0].tool_calls'."),
    (talk(part(type="text", text="x", cache_control={})), "Unknown parameter: 'messages[0].content[0].cache_control'."),
    (talk(part(type="file", file={"data": "x"})), "Unknown parameter: 'messages[0].content[0].file.data'."),
    (talk(part(type="file", file={"file_data": "x"})), "Missing required parameter: 'messages[0].content[0].file.f"),
    (
        talk(USER, CALLS, {**RESULT, "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}),
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role",
    ),
    (talk(part(type="image_url", image_url={"url": "data:image/png;base64,SGVsbG8gd29ybGQsIGhlbGxv"})), "You uploaded"),
    (talk({**USER, "name": "a b"}), "Invalid 'messages[0].name': string does not match pattern."),
    (talk(USER, CALLS), "An assistant message with 'tool_calls' must be followed by tool messages responding to each"),
    (talk(USER, CALLS, USER, RESULT), "An assistant message with 'tool_calls' must be followed by tool messages"),
    (talk(USER, RESULT), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"),
    (talk(USER, {**CALLS, "tool_calls": [{**CALL, "id": "x" * 41}]}), "Invalid 'messages[1].tool_calls[0].id': string"),
    ({"tools": []}, "Invalid 'tools': empty array. Expected an array with minimum length 1"),
    (
        {"tool_choice": "auto"},
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    ),
    ({"tools": [TOOL], "tool_choice": "maybe"}, "Invalid value: 'maybe'. Supported values are: 'none', 'auto', and"),
    (
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}},
        "Invalid value for 'function_call': no function named 'x' was specified in the 'functions' parameter.",
    ),
    ({"tools": [{"type": "function", "function": {"name": "f" * 74}}]}, "Invalid 'tools[0].function.name': string too"),
    ({"max_tokens": 20480, "model": "gpt-4o"}, "max_tokens is too large: 20480. This model supports at most 16384"),
    ({"tools": [{"type": "function", "function": {"name": ""}}]}, "Invalid 'tools[0].function.name': empty string."),
    ({"tools": [{"type": "function", "function": {"name": "a.b"}}]}, "Invalid 'tools[0].function.name': string does"),
    ({"tools": [{"name": "f", "input_schema": {}}]}, "Missing required parameter: 'tools[0].type'."),
    (
        {"tools": [strict_tool(type="object", properties={})]},
        "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be",
    ),
    (
        {"tools": [strict_tool(type="object", properties={"unit": {}}, required=[], additionalProperties=False)]},
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array",
    ),
    (
        {
            "tools": [
                {"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "array"}}}}}
            ]
        },
        "Invalid schema for function 'f': In context=('properties', 'x'), array schema missing items.",
    ),
    (
        {"tools": [strict_tool(anyOf=[])]},
        "Invalid schema for function 'f': schema must have type 'object' and not have",
    ),
    ({"temperature": -1}, "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1"),
    ({"temperature": 99}, "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0"),
    ({"temperature": "hot"}, "Invalid type for 'temperature': expected a decimal, but got a string instead."),
    ({"n": "1"}, "Invalid type for 'n': expected an integer, but got a string instead."),
    ({"max_tokens": 0}, "Invalid 'max_tokens': integer below minimum value."),
    (
        {"max_tokens": 9, "model": "o4-mini"},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use",
    ),
    ({"temperature": 0.5, **GPT56}, "Unsupported value: 'temperature' does not support 0.5 with this model. Only the"),
    ({"top_p": 0.5, **GPT56}, "Unsupported parameter: 'top_p' is not supported with this model."),
    ({"stop": ["x"], "model": "gpt-5-mini"}, "Unsupported parameter: 'stop' is not supported with this model."),
    ({"stop": list("abcde")}, "Invalid 'stop': array too long."),
    (
        talk(USER, {**CALLS, "tool_calls": CALLS["tool_calls"] * 129}),
        "Invalid 'messages[1].tool_calls': array too long. Expected an array with maximum length 128, but got an array",
    ),
    ({"logit_bias": {}, **GPT56}, "Unsupported parameter: 'logit_bias' is not supported with this model."),
    ({"logprobs": True, **GPT56}, "Unsupported parameter: 'logprobs' is not supported with this model."),
    (
        {"logprobs": True, "top_logprobs": 6, "reasoning_effort": "none", **GPT56},
        "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 5",
    ),
    ({"modalities": ["text"], **GPT56}, "Unknown parameter: 'modalities'."),
    ({"n": 9, **GPT56}, "Invalid 'n': integer above maximum value. Expected a value <= 8"),
    ({"reasoning_effort": "minimal", **GPT56}, "Unsupported value: 'reasoning_effort' does not support 'minimal'"),
    (
        {"reasoning_effort": "high", "tools": [TOOL], "model": "gpt-5.4"},
        "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions.",
    ),
    ({"response_format": {"type": "yaml"}}, "Invalid value: 'yaml'. Supported values are: 'text', 'json_object', and"),
    ({"response_format": {"type": "json_object"}}, "'messages' must contain the word 'json' in some form"),
    ({"stream_options": {"include_usage": True}}, "The 'stream_options' parameter is only allowed when 'stream'"),
    ({"stream": True, "stream_options": {"x": 1}}, "Unknown parameter: 'stream_options.x'."),
    ({"web_search_options": {}}, "Web search options not supported with this model."),
    (talk(SYSTEM, USER, model="o1-mini"), "Unsupported value: 'messages[0].role' does not support 'system' with this"),
    (
        talk(part(type="input_audio", input_audio={"data": "", "format": "wav"}), model="gpt-5-mini"),
        "Invalid 'messages[0]'. Content blocks are expected to be either text or image_url type.",
    ),
]

MISTRAL = [
    ({"messages": []}, 400, "Conversation must have at least one message"),
    (talk({"role": "developer", "content": "x"}), 422, "[{'type': 'union_tag_invalid'"),
    (talk({**USER, "name": "a"}), 422, "[{'type': 'extra_forbidden', 'loc': ['body', 'messages', 0, 'user', 'name']"),
    (talk(USER, {"role": "assistant", "content": "x", "reasoning_content": "y"}, USER), 422, "[{'type': 'extra_forb"),
    (talk(USER, {"role": "assistant", "content": "x"}, SYSTEM, USER), 400, "Unexpected role 'system' after role 'ass"),
    (talk(USER, RESULT), 400, "Unexpected role 'tool' after role 'user'"),
    (
        talk(USER, {"role": "assistant", "content": "x"}),
        400,
        "Expected last role User or Tool (or Assistant with prefi",
    ),
    (talk(USER, {"role": "assistant", "content": ""}, USER), 400, "Assistant message must have either content or tool"),
    (talk({"role": "system", "content": ""}, USER), 400, "System prompt must have content"),
    (talk(USER, {**SAID, "prefix": True}, USER), 400, "Assistant message with prefix True must be last message"),
    (talk(USER, CALLS, USER), 400, "Not the same number of function calls and responses"),
    (
        talk(USER, {"role": "assistant", "content": "x"}, RESULT),
        400,
        "Not the same number of function calls and responses",
    ),
    (talk(USER, CALLS, {**RESULT, "tool_call_id": "other"}), 400, "Unexpected tool call id other in tool results"),
    (talk(USER, CALLS, RESULT, model="mistral-large-latest"), 400, "Tool call id was call_1 but must be a-z, A-Z, 0-9"),
    ({"logprobs": True}, 400, "Logprobs are not enabled for this model"),
    ({"tool_choice": "maybe"}, 422, "[{'type': 'enum'"),
]

OPEN_OBJECT = {"type": "object", "properties": {"unit": {"type": "string"}}}
OPEN_ANSWER = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": OPEN_OBJECT}}

DEEPSEEK = [
    ({"tools": [TOOL, TOOL]}, "Tool names must be unique."),
    (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
        "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: null'.",
    ),
    (
        talk({"role": "function", "content": "x"}),
        "Failed to deserialize the JSON body into the target type: messages[0]",
    ),
    (
        talk({"role": "developer", "content": "x"}),
        "Failed to deserialize the JSON body into the target type: messages[",
    ),
    (
        talk(part(type="image_url", image_url={"url": "x"})),
        "Failed to deserialize the JSON body into the target type: m",
    ),
    ({"tools": [TOOL], "tool_choice": "required"}, "Thinking mode does not support this tool_choice"),
    (talk(USER, CALLS, RESULT), "The reasoning_content in the thinking mode must be passed back to the API."),
    (
        talk(USER, {**CALLS, "reasoning_content": "x"}, RESULT, SAID, USER),
        "The reasoning_content in the thinking mode must be passed back to the API.",
    ),
    (
        talk(USER, CALLS, RESULT, model="deepseek-reasoner"),
        "Missing `reasoning_content` field in the assistant message at message index 1.",
    ),
    (
        talk(USER, CALLS, RESULT, model="deepseek-chat", thinking={"type": "enabled"}),
        "Missing `reasoning_content` field in the assistant message at message index 1.",
    ),
    (
        {"tools": [TOOL], "tool_choice": "required", "model": "deepseek-reasoner"},
        "deepseek-reasoner does not support this tool_choice",
    ),
    (talk(USER, RESULT), "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    (
        talk(USER, PAIR, RESULT, USER, {**RESULT, "tool_call_id": "call_2"}, thinking={"type": "disabled"}),
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ),
    ({"user_id": "u" * 513}, "Invalid 'user_id': string too long. Expected a string with maximum length 512"),
    (talk(USER, CALLS, USER, thinking={"type": "disabled"}), "An assistant message with 'tool_calls' must be followed"),
]

GROQ = [
    (
        {"tools": [strict_tool(**OPEN_OBJECT)]},
        "invalid JSON schema for tool f, tools[0].function.parameters: additionalProperties:false must be set",
    ),
    (
        {"response_format": OPEN_ANSWER, "model": "openai/gpt-oss-120b"},
        "invalid JSON schema for response_format: 'answer': additionalProperties:false must be set on every object",
    ),
    ({"store": True}, "property 'store' is unsupported, did you mean 'stop'?"),
    ({"reasoning": {}}, "property 'reasoning' is unsupported"),
    (
        talk(USER, {"role": "assistant", "content": "x", "reasoning_content": "y"}, USER),
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property"
        " 'reasoning_content' is unsupported",
    ),
    (talk(USER, {"role": "assistant", "content": "x", "reasoning": "y"}, USER), "'messages.1' : for 'role:assistant'"),
    (
        talk({**USER, "done": True}),
        "'messages.0' : for 'role:user' the following must be satisfied[('messages.0' : prop",
    ),
    ({"temperature": 3}, "'temperature' : number must be at most 2"),
]

GEMINI, CLAUDE, HAIKU = (
    {"model": "google/gemini-2.5-flash"},
    {"model": "anthropic/claude-opus-4.8"},
    {"model": "anthropic/claude-haiku-4.5"},
)
OPENROUTER = [
    (talk(USER, SYSTEM, USER, **GEMINI), 500, '{"error":{"code":500,"message":"Internal error encountered."'),
    (
        talk(SYSTEM, CALLS, RESULT, **GEMINI),
        400,
        '{"error":{"code":400,"message":"Please ensure that function call turn',
    ),
    (talk({**USER, "done": True}, **GEMINI), 400, '{"error":{"code":400,"message":"Invalid JSON payload received.'),
    (talk(USER, RESULT, **GEMINI), 400, '{"error":{"code":400,"message":"Please ensure that the number of function'),
    (talk({"role": "user", "content": ""}, **HAIKU), 400, '{"type":"error","error":{"type":"invalid_request_error"'),
    (
        talk(USER, SAID, **CLAUDE),
        400,
        '{"type":"error","error":{"type":"invalid_request_error","message":"This model do',
    ),
    (talk(USER, RESULT, model="mistralai/mistral-small"), 400, '{"object":"error","message":"Unexpected role \'tool\''),
    (talk({"role": "user", "content": None}), 400, "Invalid input"),
    ({"reasoning": {"effort": "low"}, "reasoning_effort": "high"}, 400, '"reasoning.effort" and "reasoning_effort"'),
]

OTHERS = [
    (
        "perplexity",
        talk(USER, USER),
        "After the (optional) system message(s), user or tool message(s) should alternate",
    ),
    ("perplexity", talk(USER, SAID), "Last message must have role `user` or `tool`."),
    ("perplexity", talk(USER, SYSTEM), "After the (optional) system message(s)"),
    ("groq", {**talk(USER), "tools": [TOOL] * 129}, "'tools' : maximum number of items is 128"),
    ("moonshot", talk(USER, RESULT, model="kimi-k2-0905"), "Invalid request: tool_call_id  is not found"),
    ("moonshot", talk(USER, CALLS, USER, model="kimi-k2-0905"), "Invalid request: an assistant message with 'tool_c"),
    ("moonshot", talk(USER, CALLS, RESULT), "thinking is enabled but reasoning_content is missing in assistant tool"),
    (
        "xai",
        talk(USER, {"role": "assistant", "content": ""}, USER),
        "Each message must have at least one content elemen",
    ),
    ("xai", {"model": "grok-4.6", "presence_penalty": 0}, "Model grok-4.6 does not support parameter presencePenalty."),
    ("xai", {"model": "grok-4", "stop": ["x"]}, "Model grok-4 does not support parameter stop."),
    ("qwen", {"model": "qwen-plus", "thinking_budget": 60000}, "<400> InternalError.Algo.InvalidParameter: The thinki"),
    ("qwen", {"model": "qwen3-32b"}, "parameter.enable_thinking must be set to false for non-streaming calls"),
    ("zai", talk(USER, {"role": "assistant", "content": ""}, USER), "The messages parameter is illegal."),
    ("zai", {**talk(USER), "model": "glm-5.3", "tools": [TOOL], "tool_choice": "required"}, "Tool choice must be auto"),
    ("zai", talk(USER, temperature=1.5), "The temperature parameter is illegal."),
    (
        "cerebras",
        talk(USER, {**SAID, "reasoning_content": "x"}, USER),
        "messages.1.assistant.reasoning_content: property",
    ),
    (
        "cerebras",
        {"tools": [strict_tool(**OPEN_OBJECT), TOOL]},
        "Tools with mixed values for 'strict' are not allowed.",
    ),
    ("cerebras", {"response_format": {"type": "json_object"}, "tools": [TOOL]}, '"tools" is incompatible with'),
    ("cerebras", {"response_format": OPEN_ANSWER}, "'additionalProperties' is required to be supplied and set to"),
    ("cerebras", {"store": True}, "store: property 'store' is unsupported"),
    ("cerebras", {"reasoning_effort": "xhigh"}, "Invalid value: 'xhigh'. Supported values are: 'none', 'low'"),
    ("fireworks", {"store": True}, "Extra inputs are not permitted, field: 'store', value: True"),
    ("fireworks", talk({**USER, "name": "Ann"}), "Extra inputs are not permitted, field: 'messages[0].name'"),
    ("together", talk({"role": "developer", "content": "x"}, USER), "Invalid value: 'developer'."),
    ("together", talk({**SAID, "content": [{"type": "text", "text": "x"}]}, USER), "Invalid type for 'messages[0].c"),
    ("minimax", talk({"role": "user", "content": ""}), "invalid params, chat content is empty (2013)"),
    ("minimax", talk(SYSTEM), "invalid params, chat content is empty (2013)"),
    ("minimax", talk(USER, CALLS, USER), "invalid params, tool call result does not follow tool call (2013)"),
    ("minimax", talk(USER, RESULT), "invalid params, tool result's tool id(call_1) not found (2013)"),
    (
        "qwen",
        talk(USER, CALLS, USER),
        '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls"',
    ),
    ("qwen", talk(USER, RESULT), '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be'),
    ("azure-openai", talk(USER, RESULT), "Invalid parameter: messages with role 'tool' must be a response to a"),
    ("azure-openai", {"zzz": 1}, "Unrecognized request argument supplied: zzz"),
    ("compatible", talk({**USER, "done": True}), "Unknown parameter: 'messages[0].done'."),
    ("compatible", {"zzz": 1}, "Unknown parameter: 'zzz'."),
    ("compatible", talk({"role": "developer", "content": "x"}, USER), "Invalid value: 'developer'."),
    ("compatible", talk(USER, RESULT), "messages with role 'tool' must be a response"),
    ("compatible", talk(USER, {"role": "assistant", "content": None}, USER), "Each message must have at least one"),
    ("llamacpp", talk({"role": "user"}), "All non-assistant messages must contain 'content'"),
    ("llamacpp", talk(USER, {"role": "assistant"}), "Assistant message must contain either 'content' or 'tool_calls'!"),
    ("llamacpp", talk(part(type="file", file={})), "unsupported content[].type"),
    ("llamacpp", talk(USER, SAID, SAID), "Cannot have 2 or more assistant messages at the end of the list."),
    (
        "llamacpp",
        {"temperature": "hot"},
        "Field 'temperature': [json.exception.type_error.302] type must be number, but",
    ),
    ("llamacpp", {"tool_choice": "maybe"}, "Invalid tool_choice: maybe"),
    (
        "lmstudio",
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        "Invalid tool_choice type: 'object'.",
    ),
    ("llamacpp", {"messages": None}, "'messages' is required"),
    ("vllm", {"tools": []}, "`tools` must not be an empty array."),
    ("vllm", {"tool_choice": "auto"}, "When using `tool_choice`, `tools` must be set."),
    ("vllm", {"stream_options": {}}, "Stream options can only be defined when `stream=True`."),
    ("vllm", talk(part(type="file", file={})), "Unsupported chat content part type: 'file'."),
    ("sglang", {"messages": []}, "Messages cannot be empty."),
    ("sglang", {"tool_choice": "required"}, "Tools cannot be empty if tool choice is set to required."),
    ("ollama-openai", talk({"role": "user", "content": None}), "invalid message content type: <nil>"),
    (
        "ollama-openai",
        talk(part(type="image_url", image_url={"url": "https://x/y.png"})),
        "image URLs are not currently suppor",
    ),
    ("ollama-openai", {"reasoning_effort": "huge"}, "invalid reasoning value: 'huge'"),
    ("ollama-openai", {"model": "llama3.1", "reasoning_effort": "low"}, '"llama3.1" does not support thinking'),
    (
        "ollama-openai",
        {"model": "gemma3:4b", "tools": [TOOL]},
        "registry.ollama.ai/library/gemma3:4b does not support t",
    ),
    (
        "gemini-openai",
        {"frequency_penalty": 0, "seed": 1},
        'Invalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.\n'
        'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
    ),
    ("template", talk(USER, SYSTEM), "System message must be at the beginning."),
    ("template", talk({"role": "developer", "content": "x"}), "Unexpected message role."),
]


@pytest.mark.parametrize(("change", "sentence"), OPENAI)
def test_openai_refuses(change: dict[str, Any], sentence: str) -> None:
    refused = judged("openai", change)
    assert refused is not None
    assert refused.status == 400
    assert sentence_of(refused).startswith(sentence)
    assert refused.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("change", "status", "sentence"), MISTRAL)
def test_mistral_refuses(change: dict[str, Any], status: int, sentence: str) -> None:
    refused = judged("mistral", change)
    assert refused is not None
    assert (refused.status, sentence_of(refused)[: len(sentence)]) == (status, sentence)


@pytest.mark.parametrize(("change", "sentence"), DEEPSEEK)
def test_deepseek_refuses(change: dict[str, Any], sentence: str) -> None:
    refused = judged("deepseek", change)
    assert refused is not None
    assert sentence_of(refused).startswith(sentence)
    assert refused.body["error"]["code"] == "invalid_request_error"


@pytest.mark.parametrize(("change", "sentence"), GROQ)
def test_groq_refuses(change: dict[str, Any], sentence: str) -> None:
    refused = judged("groq", change)
    assert refused is not None
    assert sentence_of(refused).startswith(sentence)


@pytest.mark.parametrize(("change", "status", "sentence"), OPENROUTER)
def test_openrouter_refuses(change: dict[str, Any], status: int, sentence: str) -> None:
    refused = judged("openrouter", change)
    assert refused is not None
    assert (refused.status, sentence_of(refused)[: len(sentence)]) == (status, sentence)
    assert refused.body["error"]["code"] == status


@pytest.mark.parametrize(("name", "change", "sentence"), OTHERS)
def test_others_refuse(name: str, change: dict[str, Any], sentence: str) -> None:
    refused = judged(name, change)
    assert refused is not None
    assert sentence_of(refused)[: len(sentence)] == sentence


ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("openai", talk(CALLS, RESULT, USER)),
    ("openai", talk(USER, SYSTEM, {"role": "developer", "content": "x"}, USER, SAID)),
    ("openai", talk({"role": "user", "content": ""}, {"role": "user", "content": []})),
    ("openai", {"tools": None, "response_format": None, "temperature": None}),
    ("openai", {"temperature": 0.2, "reasoning_effort": "none", "model": "gpt-5.6"}),
    ("openai", {"tools": [TOOL], "model": "gpt-5.4"}),
    ("openai", talk(USER, {**CALLS, "tool_calls": [{**CALL, "id": MASKED}]}, {**RESULT, "tool_call_id": MASKED})),
    ("mistral", talk(USER, CALLS, RESULT, USER)),
    ("mistral", talk(SAID, USER)),
    ("mistral", talk(USER, {**SAID, "prefix": True})),
    ("deepseek", talk(USER, {**CALLS, "reasoning_content": ""}, RESULT)),
    ("deepseek", talk(USER, {**CALLS, "reasoning_content": ""}, RESULT, {**SAID, "reasoning_content": ""}, USER, SAID)),
    ("deepseek", talk(USER, CALLS, RESULT, model="deepseek-chat")),
    ("deepseek", talk(USER, CALLS, RESULT, thinking={"type": "disabled"})),
    ("deepseek", talk({**USER, "stray": 1})),
    ("groq", talk(USER, {**SAID, "reasoning": "x"}, USER, model="openai/gpt-oss-120b")),
    ("groq", talk(USER, tools=[{"type": "mcp", "server_label": "a", "server_url": "https://a.example/mcp"}])),
    ("openrouter", talk(SYSTEM, SYSTEM, USER, **GEMINI)),
    ("openrouter", talk(USER, SYSTEM, SAID, USER, **CLAUDE)),
    ("openrouter", talk(USER, SAID, **HAIKU)),
    ("moonshot", talk(USER, CALLS, RESULT, model="kimi-k2-0905")),
    ("perplexity", talk(SYSTEM, SYSTEM, USER, SAID, USER)),
    ("compatible-lenient", talk({**USER, "done": True}, USER, zzz=1)),
    ("template", talk(SYSTEM, USER, USER, CALLS, RESULT, USER)),
    ("ollama-openai", {"messages": []}),
    ("zai", talk({**USER, "done": True})),
    ("fireworks", talk({**USER, "reasoning_content": None})),
    ("together", talk({**USER, "done": True}, store=True)),
    ("azure-openai", {"model": None}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), ACCEPTED)
def test_accepts(name: str, change: dict[str, Any]) -> None:
    assert judged(name, change) is None


ALTERNATE = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."


@pytest.mark.parametrize(
    ("template", "messages", "sentence"),
    [
        ("alternating", [SYSTEM, USER, SAID, USER], None),
        ("alternating", [USER, CALLS, RESULT, SAID, USER], None),
        ("alternating", [USER, CALLS, RESULT, USER], ALTERNATE),
        ("alternating", [USER, USER], ALTERNATE),
        ("alternating", [USER, SYSTEM], ALTERNATE),
        ("no-system", [USER, SAID, USER], None),
        ("no-system", [SYSTEM, USER], "System role not supported"),
        ("open", [USER, SYSTEM, USER, RESULT], None),
        ("{% if messages|length > 1 %}{{ raise_exception('one at most') }}{% endif %}", [USER, USER], "one at most"),
    ],
)
def test_template_speaks_for_itself(template: str, messages: list[Any], sentence: str | None) -> None:
    refused = judged("template", {"messages": messages}, template=template)
    assert (refused and sentence_of(refused)) == sentence


@pytest.mark.parametrize(
    ("options", "change", "refused"),
    [
        ({"extra_fields": ["zzz"]}, {"zzz": 1}, False),
        ({"extra_message_fields": ["done"]}, talk({**USER, "done": 1}), False),
        ({"alternation": True}, talk(USER, USER), True),
        ({"system_first": True}, talk(USER, SYSTEM), True),
        ({"reasoning_required": True}, talk(USER, CALLS, RESULT), True),
        ({"empty_assistant": False}, talk(USER, {"role": "assistant", "content": ""}, USER), False),
        ({"pairing": False}, talk(USER, RESULT), False),
        ({"roles": ["user"]}, talk(SYSTEM, USER), True),
        ({"strict": False}, talk({**USER, "done": 1}, zzz=1), False),
        ({"models": ["a"]}, {"model": "b"}, True),
    ],
)
def test_options_of_the_compatible_server(options: dict[str, Any], change: dict[str, Any], refused: bool) -> None:
    assert (judged("compatible", change, **options) is not None) is refused


ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [1], ["x"], [[]], {}, {"type": 1}, {"role": []}, {"a": None}]


def _spoiled(value: Any, put: Callable[[Any], Any]) -> list[Any]:
    """Bodies in which one node is something else."""
    found = [put(odd) for odd in ODD]
    if isinstance(value, dict):
        for key in value:
            found += _spoiled(value[key], lambda odd, key=key: put({**value, key: odd}))
    if isinstance(value, list):
        for at in range(len(value)):
            found += _spoiled(value[at], lambda odd, at=at: put([*value[:at], odd, *value[at + 1 :]]))
    return found


NAMES = ("openai", "openrouter", "mistral", "deepseek", "groq", "compatible", "perplexity", "moonshot", "template")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*NAMES, "llamacpp", "vllm", "sglang", "ollama-openai"])
def test_odd_values_are_judged_and_answered_without_a_crash(name: str) -> None:
    one = provider(name)
    path, example = one.example
    body = {
        **example,
        "messages": [SYSTEM, part(type="image_url", image_url={"url": "https://x/y.png"}), CALLS, RESULT, USER],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {}}},
        "stream_options": {"include_usage": True},
        "metadata": {"a": "b"},
        "reasoning": {"effort": "low"},
        "thinking": {"type": "enabled"},
        "stop": ["x"],
    }
    for spoiled in _spoiled(body, lambda odd: odd):
        call = one.parse_request("POST", path, {}, {}, orjson.dumps(spoiled))
        refused = call if isinstance(call, ErrorResponse) else one.judge(call)
        assert refused is None or 400 <= refused.status <= 500
        if refused is None and isinstance(call, ReceivedRequest):
            one.render_answer(call, echo(call))
            assert b"".join(one.render_stream(call, echo(call)))
