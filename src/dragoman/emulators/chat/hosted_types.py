"""The published types of hosted Chat services: after cerebras_cloud_sdk 1.91.0, fireworks-ai 1.2.30 and together 3.0.0.

Together is not known to refuse keys that its types lack, so its records are open.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.request_shape import (
    RecordShape,
    Shape,
    ShapeMismatch,
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

_TEXT_PART = RecordShape({"type": text, "text": text}, required=("type", "text"))
_TEXTS = chat_types.content({"text": _TEXT_PART})
_PICTURE = RecordShape({"url": text, "detail": nullable(text)}, required=("url",))
_STOP = either("one of a string or array", text=text, items=items(text, expected="a string"))
_TIER = one_of("auto", "default", "flex", "priority")


def _number_or_switch(value: object, path: tuple[str | int, ...]) -> ShapeMismatch | None:
    return None if isinstance(value, bool) else integer(value, path)


def _optional(**shapes: Shape) -> dict[str, Shape]:
    return {name: nullable(shape) for name, shape in shapes.items()}


# Cerebras

_PARTS: Mapping[str, Shape] = {
    "text": _TEXT_PART,
    "image_url": RecordShape({"type": text, "image_url": _PICTURE}, required=("type", "image_url")),
    "image": RecordShape({"type": text, "image": text}, required=("type", "image")),
}
_PLAIN_MESSAGE = RecordShape(
    {"role": text, "content": chat_types.content(_PARTS), "name": nullable(text)}, required=("role", "content")
)
_CALL = RecordShape({**chat_types.FUNCTION_CALL.fields, "index": nullable(integer)}, chat_types.FUNCTION_CALL.required)
CEREBRAS_MESSAGES = {
    "system": _PLAIN_MESSAGE,
    "developer": _PLAIN_MESSAGE,
    "user": _PLAIN_MESSAGE,
    "assistant": RecordShape(
        {
            "role": text,
            **_optional(
                content=_TEXTS, name=text, reasoning=_TEXTS, tool_calls=items(tagged("type", {"function": _CALL}))
            ),
        },
        required=("role",),
    ),
    "tool": RecordShape(
        {"role": text, "content": _TEXTS, "tool_call_id": text, "name": nullable(text)},
        required=("role", "content", "tool_call_id"),
    ),
}
_NAMED = RecordShape({"type": text, "function": RecordShape({"name": text}, required=("name",))}, ("type", "function"))
_FUNCTION = RecordShape(
    {"name": text, **_optional(description=text, parameters=mapping), "strict": boolean}, required=("name",)
)
_TOOL = RecordShape({"type": text, "function": _FUNCTION}, required=("type", "function"))
_SCHEMA = RecordShape({"name": text, **_optional(description=text, schema=mapping, strict=boolean)}, required=("name",))
_FORMATS: Mapping[str, Shape] = {
    **chat_types.FORMATS,
    "json_schema": RecordShape({"type": text, "json_schema": _SCHEMA}, required=("type", "json_schema")),
}
CEREBRAS = RecordShape(
    {
        "model": text,
        "messages": chat_types.with_messages(CEREBRAS_MESSAGES),
        "reasoning_format": one_of("none", "parsed", "text_parsed", "raw", "hidden"),
        **_optional(
            clear_thinking=boolean,
            disable_reasoning=boolean,
            frequency_penalty=number,
            logit_bias=table(number),
            logprobs=boolean,
            max_completion_tokens=integer,
            max_tokens=integer,
            min_completion_tokens=integer,
            min_tokens=integer,
            model_parameters=mapping,
            n=integer,
            parallel_tool_calls=boolean,
            prediction=RecordShape({"type": one_of("content"), "content": _TEXTS}, required=("type", "content")),
            presence_penalty=number,
            prompt_cache_key=text,
            reasoning_effort=one_of("none", "low", "medium", "high"),
            response_format=tagged("type", _FORMATS),
            seed=integer,
            service_tier=_TIER,
            stop=_STOP,
            stream=boolean,
            stream_options=RecordShape(_optional(include_usage=boolean)),
            temperature=number,
            tool_choice=either("one of a string or object", text=one_of("none", "auto", "required"), keys=_NAMED),
            tools=items(_TOOL),
            top_logprobs=integer,
            top_p=number,
            user=text,
        ),
    },
    required=("model", "messages"),
)

# Fireworks: one message for all roles, one part for all kinds

_FILM = RecordShape(
    {"url": text, **_optional(detail=text, max_frames=integer, sample_fps=number, spatial_limit=integer)},
    required=("url",),
)
_PART = RecordShape({"type": text, **_optional(text=text, image_url=_PICTURE, video_url=_FILM)}, required=("type",))
_CONTENT = either(chat_types.STRING_OR_PARTS, text=text, items=items(_PART))
_CALLED = RecordShape(_optional(name=text, arguments=either("one of a string or object", text=text, keys=mapping)))
_OPEN_CALL = RecordShape(
    {"id": nullable(text), "type": text, "function": either("one of a string or object", text=text, keys=_CALLED)},
    required=("function",),
)
_MESSAGE = RecordShape(
    {
        "role": text,
        **_optional(content=_CONTENT, reasoning_content=text, tool_call_id=text, tool_calls=items(_OPEN_CALL)),
    },
    required=("role",),
)
_DECLARED = RecordShape(
    {"name": text, "parameters": mapping, **_optional(description=text, strict=boolean)}, required=("name",)
)
_SCHEMA_TEXT = either("one of a string or object", text=text, keys=mapping)
_THINKING = {
    "enabled": RecordShape({"type": text, "budget_tokens": nullable(integer)}),
    "disabled": RecordShape({"type": text}),
}
FIREWORKS = RecordShape(
    {
        "model": text,
        "messages": items(_MESSAGE, nonempty=True),
        "context_length_exceeded_behavior": one_of("error", "truncate"),
        "functions": items(_DECLARED),
        "ignore_eos": boolean,
        "n": integer,
        "service_tier": _TIER,
        # not in the types; sent by LangChain since April and by the AI SDK since June 2026, which reports its effect
        "stream_options": nullable(RecordShape({"include_usage": boolean})),
        "tool_choice": either(
            "one of a string or object",
            text=one_of("auto", "none", "any", "required"),
            keys=RecordShape({"type": one_of("function"), "function": nullable(_NAMED.fields["function"])}, ("type",)),
        ),
        "tools": items(RecordShape({"type": one_of("function"), "function": nullable(_DECLARED)}, required=("type",))),
        **_optional(
            echo=boolean,
            echo_last=integer,
            frequency_penalty=number,
            function_call=anything,
            logit_bias=table(number),
            logprobs=_number_or_switch,
            max_completion_tokens=integer,
            max_tokens=integer,
            metadata=table(text),
            min_p=number,
            mirostat_lr=number,
            mirostat_target=number,
            parallel_tool_calls=boolean,
            perf_metrics_in_response=boolean,
            prediction=anything,
            presence_penalty=number,
            prompt_cache_isolation_key=text,
            prompt_cache_key=text,
            prompt_truncate_len=integer,
            raw_output=boolean,
            reasoning_effort=lambda value, path: (
                one_of("low", "medium", "high", "none")(value, path) if isinstance(value, str) else None
            ),
            reasoning_history=one_of("disabled", "interleaved", "preserved"),
            repetition_penalty=number,
            response_format=RecordShape(
                {
                    "type": one_of("json_object", "json_schema", "grammar", "text"),
                    **_optional(grammar=text, json_schema=_SCHEMA_TEXT, schema=_SCHEMA_TEXT),
                },
                required=("type",),
            ),
            return_token_ids=boolean,
            safe_tokenization=boolean,
            seed=integer,
            speculation=anything,
            stop=_STOP,
            stream=boolean,
            temperature=number,
            thinking=tagged("type", _THINKING),
            top_k=integer,
            top_logprobs=integer,
            top_p=number,
            typical_p=number,
            user=text,
        ),
    },
    required=("model", "messages"),
)

# Together

_SOUND = RecordShape({"data": text, "format": one_of("wav")}, required=("data", "format")).opened()
_LINK = RecordShape({"url": text}, required=("url",)).opened()
_TOGETHER_PARTS: Mapping[str, Shape] = {
    "text": _TEXT_PART.opened(),
    "image_url": RecordShape({"type": text, "image_url": _LINK}, required=("type",)).opened(),
    "video_url": RecordShape({"type": text, "video_url": _LINK}, required=("type", "video_url")).opened(),
    "audio_url": RecordShape({"type": text, "audio_url": _LINK}, required=("type", "audio_url")).opened(),
    "input_audio": RecordShape({"type": text, "input_audio": _SOUND}, required=("type", "input_audio")).opened(),
}
_ONE_TEXT = RecordShape({"role": text, "content": text, "name": nullable(text)}, ("role", "content"), open=True)
_TOGETHER_MESSAGES = {
    "system": _ONE_TEXT,
    "user": _ONE_TEXT.adding({"content": chat_types.content(_TOGETHER_PARTS)}),
    "assistant": RecordShape(
        {
            "role": text,
            **_optional(content=text, name=text, reasoning=text, reasoning_content=text),
            "tool_calls": nullable(items(tagged("type", {"function": chat_types.FUNCTION_CALL.opened()}))),
        },
        required=("role",),
    ).opened(),
    "tool": _ONE_TEXT.adding({"tool_call_id": text}, required=("role", "content", "tool_call_id")),
}
TOGETHER = RecordShape(
    {
        "model": text,
        "messages": chat_types.with_messages(_TOGETHER_MESSAGES),
        "reasoning_effort": one_of("low", "medium", "high"),
        "context_length_exceeded_behavior": one_of("truncate", "error"),
        **dict.fromkeys(
            ("frequency_penalty", "min_p", "presence_penalty", "repetition_penalty", "temperature", "top_p"), number
        ),
        **dict.fromkeys(("max_tokens", "n", "seed", "top_k"), integer),
        "logit_bias": table(number),
        "stream": boolean,
        "tools": items(RecordShape({"type": text, "function": _FUNCTION.opened()}).opened()),
        "response_format": tagged("type", chat_types.FORMATS),
    },
    required=("model", "messages"),
    open=True,
)
