"""The published types of a Chat Completions request, after the openai package 3.49.0.

Each provider takes these records and adds or removes what its own package, its documentation or recorded traffic
shows (`openai.py`, `groq.py`, `mistral.py`, ...).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.emulators.request_shape import (
    CheckOrder,
    Path,
    RecordShape,
    Shape,
    anything,
    boolean,
    bounded,
    complete,
    either,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    optional,
    table,
    tagged,
    text,
)

STRING_OR_PARTS = "one of a string or array of objects"
DETAILS = ("auto", "low", "high", "original")

_breakpoint = RecordShape({"mode": one_of("explicit"), "ttl": one_of("30m", "12h")}, required=("mode",))
_cached: Mapping[str, Shape] = {"type": text, "prompt_cache_breakpoint": _breakpoint}
TEXT_PART = RecordShape({**_cached, "text": text}, required=("type", "text"))
REFUSAL_PART = complete(type=text, refusal=text)
IMAGE_URL = RecordShape({"url": text, "detail": one_of(*DETAILS)}, required=("url",))
IMAGE_PART = RecordShape({**_cached, "image_url": IMAGE_URL}, required=("type", "image_url"))
_sound = complete(data=text, format=one_of("wav", "mp3"))
AUDIO_PART = RecordShape({**_cached, "input_audio": _sound}, required=("type", "input_audio"))
FILE = RecordShape({"file_data": text, "file_id": text, "filename": text})
FILE_PART = RecordShape({**_cached, "file": FILE}, required=("type", "file"))
USER_PARTS: Mapping[str, Shape] = {
    "text": TEXT_PART,
    "image_url": IMAGE_PART,
    "input_audio": AUDIO_PART,
    "file": FILE_PART,
}


def content(parts: Mapping[str, Shape], nonempty: bool = False) -> Shape:
    """Text, or parts of these types."""
    return either(STRING_OR_PARTS, text=text, items=items(tagged("type", parts), nonempty))


_named_call = complete(name=text, arguments=text)
FUNCTION_CALL = complete(id=text, type=text, function=_named_call)
_custom_call = complete(name=text, input=text)
CUSTOM_CALL = complete(id=text, type=text, custom=_custom_call)
CALLS: Mapping[str, Shape] = {"function": FUNCTION_CALL, "custom": CUSTOM_CALL}

_plain = content({"text": TEXT_PART})
SYSTEM = RecordShape({"role": text, "content": _plain, "name": text}, required=("role", "content"))
USER = RecordShape({"role": text, "content": content(USER_PARTS), "name": text}, required=("role", "content"))
ASSISTANT = complete(role=text).adding(
    {
        "content": nullable(content({"text": TEXT_PART, "refusal": REFUSAL_PART})),
        "name": text,
        "refusal": nullable(text),
        "audio": nullable(complete(id=text)),
        "function_call": nullable(_named_call),
        "tool_calls": items(tagged("type", CALLS), nonempty=True),
    }
)
TOOL_RESULT = complete(role=text, content=_plain, tool_call_id=text)
FUNCTION_RESULT = complete(role=text, content=nullable(text), name=text)
MESSAGES: Mapping[str, RecordShape] = {
    "developer": SYSTEM,
    "system": SYSTEM,
    "user": USER,
    "assistant": ASSISTANT,
    "tool": TOOL_RESULT,
    "function": FUNCTION_RESULT,
}

FUNCTION = complete(name=text).adding({"description": text, "parameters": mapping, "strict": nullable(boolean)})
FUNCTION_TOOL = complete(type=text, function=FUNCTION)
_grammar = complete(definition=text, syntax=one_of("lark", "regex"))
_custom_format = tagged(
    "type",
    {
        "text": RecordShape({"type": text}),
        "grammar": complete(type=text, grammar=_grammar),
    },
)
CUSTOM = RecordShape({"name": text, "description": text, "format": _custom_format}, required=("name",))
CUSTOM_TOOL = complete(type=text, custom=CUSTOM)
TOOLS: Mapping[str, Shape] = {"function": FUNCTION_TOOL, "custom": CUSTOM_TOOL}

_name = complete(name=text)
_allowed = complete(mode=one_of("auto", "required"), tools=items(mapping))
NAMED_CHOICE = complete(type=text, function=_name)
CHOICES: Mapping[str, Shape] = {
    "function": NAMED_CHOICE,
    "allowed_tools": complete(type=text, allowed_tools=_allowed),
    "custom": complete(type=text, custom=_name),
}


def tool_choice(words: tuple[str, ...], named: Mapping[str, Shape]) -> Shape:
    """A word, or an object that names a tool."""
    return either("one of a string or object", text=one_of(*words), keys=tagged("type", named))


JSON_SCHEMA = complete(name=text).adding({"description": text, "schema": mapping, "strict": nullable(boolean)})
FORMATS: Mapping[str, Shape] = {
    "text": RecordShape({"type": text}),
    "json_object": RecordShape({"type": text}),
    "json_schema": complete(type=text, json_schema=JSON_SCHEMA),
}
_city = RecordShape({"city": text, "country": text, "region": text, "timezone": text})
_place = complete(type=one_of("approximate"), approximate=_city)
_moderated = nullable(complete(mode=one_of("score", "block")))

_functions = RecordShape({"name": text, "description": text, "parameters": mapping}, required=("name",))
_policy = RecordShape({"input": _moderated, "output": _moderated})
# in the order in which OpenAI checks them
REQUEST = RecordShape(
    {
        "model": text,
        "messages": items(tagged("role", MESSAGES), nonempty=True),
        "tools": items(tagged("type", TOOLS), nonempty=True),
        "tool_choice": tool_choice(("none", "auto", "required"), CHOICES),
        "functions": items(_functions, nonempty=True),
        "function_call": anything,
        "parallel_tool_calls": boolean,
        **dict.fromkeys(("max_completion_tokens", "max_tokens"), nullable(bounded(integer, 1))),
        "temperature": nullable(bounded(number, 0, 2)),
        "top_p": nullable(bounded(number, 0, 1)),
        "n": nullable(bounded(integer, 1, 128)),
        "stop": nullable(either("one of a string or array", text=text, items=items(text, expected="a string"))),
        **dict.fromkeys(("presence_penalty", "frequency_penalty"), nullable(bounded(number, -2, 2))),
        "logit_bias": nullable(table(integer)),
        "logprobs": nullable(boolean),
        "top_logprobs": nullable(bounded(integer, 0, 20)),
        "seed": nullable(integer),
        "user": text,
        "safety_identifier": nullable(text),
        "reasoning_effort": nullable(one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")),
        "modalities": nullable(items(one_of("text", "audio"), expected="an array of strings")),
        "audio": nullable(mapping),
        "prediction": nullable(complete(type=one_of("content"), content=_plain)),
        "web_search_options": RecordShape(
            {"search_context_size": one_of("low", "medium", "high"), "user_location": nullable(_place)}
        ),
        "prompt_cache_key": nullable(text),
        "prompt_cache_retention": nullable(one_of("in_memory", "24h")),
        "prompt_cache_options": RecordShape({"mode": one_of("implicit", "explicit"), "ttl": one_of("30m")}),
        "service_tier": nullable(one_of("auto", "default", "flex", "priority", "fast")),
        "stream": nullable(boolean),
        "stream_options": nullable(RecordShape({"include_obfuscation": boolean, "include_usage": boolean})),
        "store": nullable(boolean),
        "metadata": nullable(table(text)),
        "verbosity": nullable(one_of("low", "medium", "high")),
        "moderation": nullable(complete(model=text).adding(optional(policy=_policy))),
        "response_format": tagged("type", FORMATS),
    },
    required=("model", "messages"),
    order=CheckOrder.UNKNOWN_FIRST,
)


def with_messages(messages: Mapping[str, Shape]) -> Shape:
    """The `messages` of a request, with these records by role."""
    return items(tagged("role", messages), nonempty=True)


BARE = RecordShape(
    {
        "messages": items(RecordShape({"tool_calls": nullable(items(anything))}, open=True), nonempty=True),
        "tools": nullable(items(mapping)),
    },
    required=("messages",),
    open=True,
)
"""What every server needs that writes messages into a template."""


def typed_tool(value: Any, path: Path) -> None:
    """A tool of any kind; a function has its declaration."""
    mapping(value, path)
    if value.get("type", "function") == "function":
        complete(function=mapping).opened()(value, path)


_called = complete(function=complete(name=text).opened()).opened()
_typed_message = RecordShape(
    {
        "content": nullable(either(STRING_OR_PARTS, text=text, items=items(mapping))),
        "tool_calls": nullable(items(_called)),
    },
    open=True,
)
TYPED = BARE.adding({"messages": items(_typed_message, nonempty=True), "tools": nullable(items(typed_tool))})
"""The same, of one that reads the types of content, parts, calls and tools."""
