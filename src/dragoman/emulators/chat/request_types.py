"""The published types of a Chat Completions request, after the openai package 3.49.0.

Each provider takes these records and adds or removes what its own package, its documentation or recorded traffic
shows (`openai.py`, `groq.py`, `mistral.py`, ...).
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.emulators.request_shape import (
    RecordShape,
    Shape,
    anything,
    boolean,
    either,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    table,
    tagged,
    text,
)

STRING_OR_PARTS = "one of a string or array of objects"
DETAILS = ("auto", "low", "high", "original")

_breakpoint = RecordShape({"mode": one_of("explicit"), "ttl": one_of("30m", "12h")}, required=("mode",))
_cached: Mapping[str, Shape] = {"type": text, "prompt_cache_breakpoint": _breakpoint}
TEXT_PART = RecordShape({**_cached, "text": text}, required=("type", "text"))
REFUSAL_PART = RecordShape({"type": text, "refusal": text}, required=("type", "refusal"))
IMAGE_URL = RecordShape({"url": text, "detail": one_of(*DETAILS)}, required=("url",))
IMAGE_PART = RecordShape({**_cached, "image_url": IMAGE_URL}, required=("type", "image_url"))
_sound = RecordShape({"data": text, "format": one_of("wav", "mp3")}, required=("data", "format"))
AUDIO_PART = RecordShape({**_cached, "input_audio": _sound}, required=("type", "input_audio"))
_file = RecordShape({"file_data": text, "file_id": text, "filename": text})
FILE_PART = RecordShape({**_cached, "file": _file}, required=("type", "file"))
USER_PARTS: Mapping[str, Shape] = {
    "text": TEXT_PART,
    "image_url": IMAGE_PART,
    "input_audio": AUDIO_PART,
    "file": FILE_PART,
}


def content(parts: Mapping[str, Shape], nonempty: bool = False) -> Shape:
    """Text, or parts of these types."""
    return either(STRING_OR_PARTS, text=text, items=items(tagged("type", parts), nonempty))


_named_call = RecordShape({"name": text, "arguments": text}, required=("name", "arguments"))
FUNCTION_CALL = RecordShape({"id": text, "type": text, "function": _named_call}, required=("id", "type", "function"))
_custom_call = RecordShape({"name": text, "input": text}, required=("name", "input"))
CUSTOM_CALL = RecordShape({"id": text, "type": text, "custom": _custom_call}, required=("id", "type", "custom"))
CALLS: Mapping[str, Shape] = {"function": FUNCTION_CALL, "custom": CUSTOM_CALL}

_plain = content({"text": TEXT_PART})
SYSTEM = RecordShape({"role": text, "content": _plain, "name": text}, required=("role", "content"))
USER = RecordShape({"role": text, "content": content(USER_PARTS), "name": text}, required=("role", "content"))
ASSISTANT = RecordShape(
    {
        "role": text,
        "content": nullable(content({"text": TEXT_PART, "refusal": REFUSAL_PART})),
        "name": text,
        "refusal": nullable(text),
        "audio": nullable(RecordShape({"id": text}, required=("id",))),
        "function_call": nullable(_named_call),
        "tool_calls": items(tagged("type", CALLS), nonempty=True),
    },
    required=("role",),
)
TOOL_RESULT = RecordShape(
    {"role": text, "content": _plain, "tool_call_id": text}, required=("role", "content", "tool_call_id")
)
FUNCTION_RESULT = RecordShape(
    {"role": text, "content": nullable(text), "name": text}, required=("role", "content", "name")
)
MESSAGES: Mapping[str, RecordShape] = {
    "developer": SYSTEM,
    "system": SYSTEM,
    "user": USER,
    "assistant": ASSISTANT,
    "tool": TOOL_RESULT,
    "function": FUNCTION_RESULT,
}

FUNCTION = RecordShape(
    {"name": text, "description": text, "parameters": mapping, "strict": nullable(boolean)}, required=("name",)
)
FUNCTION_TOOL = RecordShape({"type": text, "function": FUNCTION}, required=("type", "function"))
_grammar = RecordShape({"definition": text, "syntax": one_of("lark", "regex")}, required=("definition", "syntax"))
_custom_format = tagged(
    "type",
    {
        "text": RecordShape({"type": text}),
        "grammar": RecordShape({"type": text, "grammar": _grammar}, required=("type", "grammar")),
    },
)
_custom = RecordShape({"name": text, "description": text, "format": _custom_format}, required=("name",))
CUSTOM_TOOL = RecordShape({"type": text, "custom": _custom}, required=("type", "custom"))
TOOLS: Mapping[str, Shape] = {"function": FUNCTION_TOOL, "custom": CUSTOM_TOOL}

_name = RecordShape({"name": text}, required=("name",))
_allowed = RecordShape(
    {"mode": one_of("auto", "required"), "tools": items(mapping)},
    required=("mode", "tools"),
)
NAMED_CHOICE = RecordShape({"type": text, "function": _name}, required=("type", "function"))
CHOICES: Mapping[str, Shape] = {
    "function": NAMED_CHOICE,
    "custom": RecordShape({"type": text, "custom": _name}, required=("type", "custom")),
    "allowed_tools": RecordShape({"type": text, "allowed_tools": _allowed}, required=("type", "allowed_tools")),
}


def tool_choice(words: tuple[str, ...], named: Mapping[str, Shape]) -> Shape:
    """A word, or an object that names a tool."""
    return either("one of a string or object", text=one_of(*words), keys=tagged("type", named))


JSON_SCHEMA = RecordShape(
    {"name": text, "description": text, "schema": mapping, "strict": nullable(boolean)}, required=("name",)
)
FORMATS: Mapping[str, Shape] = {
    "text": RecordShape({"type": text}),
    "json_object": RecordShape({"type": text}),
    "json_schema": RecordShape({"type": text, "json_schema": JSON_SCHEMA}, required=("type", "json_schema")),
}
_city = RecordShape({"city": text, "country": text, "region": text, "timezone": text})
_place = RecordShape({"type": one_of("approximate"), "approximate": _city}, required=("type", "approximate"))
_moderated = nullable(RecordShape({"mode": one_of("score", "block")}, required=("mode",)))

REQUEST = RecordShape(
    {
        "model": text,
        "messages": items(tagged("role", MESSAGES), nonempty=True),
        "audio": nullable(anything),
        "frequency_penalty": nullable(number),
        "function_call": anything,
        "functions": items(
            RecordShape({"name": text, "description": text, "parameters": mapping}, required=("name",)), nonempty=True
        ),
        "logit_bias": nullable(table(integer)),
        "logprobs": nullable(boolean),
        "max_completion_tokens": nullable(integer),
        "max_tokens": nullable(integer),
        "metadata": nullable(table(text)),
        "modalities": nullable(items(one_of("text", "audio"), expected="an array of strings")),
        "moderation": nullable(
            RecordShape(
                {"model": text, "policy": nullable(RecordShape({"input": _moderated, "output": _moderated}))},
                required=("model",),
            )
        ),
        "n": nullable(integer),
        "parallel_tool_calls": boolean,
        "prediction": nullable(
            RecordShape({"type": one_of("content"), "content": _plain}, required=("type", "content")),
        ),
        "presence_penalty": nullable(number),
        "prompt_cache_key": nullable(text),
        "prompt_cache_options": RecordShape({"mode": one_of("implicit", "explicit"), "ttl": one_of("30m")}),
        "prompt_cache_retention": nullable(one_of("in_memory", "24h")),
        "reasoning_effort": nullable(one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")),
        "response_format": tagged("type", FORMATS),
        "safety_identifier": nullable(text),
        "seed": nullable(integer),
        "service_tier": nullable(one_of("auto", "default", "flex", "scale", "priority", "fast")),
        "stop": nullable(either("one of a string or array", text=text, items=items(text, expected="a string"))),
        "store": nullable(boolean),
        "stream": nullable(boolean),
        "stream_options": nullable(RecordShape({"include_obfuscation": boolean, "include_usage": boolean})),
        "temperature": nullable(number),
        "tool_choice": tool_choice(("none", "auto", "required"), CHOICES),
        "tools": items(tagged("type", TOOLS), nonempty=True),
        "top_logprobs": nullable(integer),
        "top_p": nullable(number),
        "user": text,
        "verbosity": nullable(one_of("low", "medium", "high")),
        "web_search_options": RecordShape(
            {"search_context_size": one_of("low", "medium", "high"), "user_location": nullable(_place)}
        ),
    },
    required=("model", "messages"),
)


def with_messages(messages: Mapping[str, RecordShape]) -> Shape:
    """The `messages` of a request, with these records by role."""
    return items(tagged("role", messages), nonempty=True)
