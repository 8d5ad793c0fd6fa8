"""The published types of hosted Chat services: after cerebras_cloud_sdk 1.91.0, fireworks-ai 1.2.30 and together 3.0.0.

Together is not known to refuse keys that its types lack, so its records are open.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.request_shape import (
    RecordShape,
    Shape,
    anything,
    boolean,
    complete,
    either,
    integer,
    items,
    mapping,
    nullable,
    number,
    of_type,
    one_of,
    optional,
    table,
    tagged,
    text,
    text_among,
)

_TEXT_PART = complete(type=text, text=text)
_TEXTS = chat_types.content({"text": _TEXT_PART})
_PICTURE = RecordShape({"url": text, "detail": nullable(text)}, required=("url",))
_STOP = either("one of a string or array", text=text, items=items(text, expected="a string"))
_TIER = one_of("auto", "default", "flex", "priority")


_number_or_switch = of_type("an integer", int, bool)


# Cerebras

_PARTS: Mapping[str, Shape] = {
    "text": _TEXT_PART,
    "image_url": complete(type=text, image_url=_PICTURE),
    "image": complete(type=text, image=text),
}
_PLAIN_MESSAGE = complete(role=text, content=chat_types.content(_PARTS)).adding(optional(name=text))
_CALL = RecordShape({**chat_types.FUNCTION_CALL.fields, "index": nullable(integer)}, chat_types.FUNCTION_CALL.required)
CEREBRAS_MESSAGES = {
    "system": _PLAIN_MESSAGE,
    "developer": _PLAIN_MESSAGE,
    "user": _PLAIN_MESSAGE,
    "assistant": complete(role=text).adding(
        optional(content=_TEXTS, name=text, reasoning=_TEXTS, tool_calls=items(tagged("type", {"function": _CALL})))
    ),
    "tool": complete(role=text, content=_TEXTS, tool_call_id=text).adding(optional(name=text)),
}
_NAMED = complete(type=text, function=complete(name=text))
_FUNCTION = complete(name=text).adding({**optional(description=text, parameters=mapping), "strict": boolean})
_TOOL = complete(type=text, function=_FUNCTION)
_SCHEMA = RecordShape({"name": text, **optional(description=text, schema=mapping, strict=boolean)}, required=("name",))
_FORMATS: Mapping[str, Shape] = {
    **chat_types.FORMATS,
    "json_schema": complete(type=text, json_schema=_SCHEMA),
}
CEREBRAS = complete(model=text, messages=chat_types.with_messages(CEREBRAS_MESSAGES)).adding(
    {
        **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "top_p"), nullable(number)),
        **dict.fromkeys(("max_tokens", "max_completion_tokens", "min_tokens"), nullable(integer)),
        **dict.fromkeys(("min_completion_tokens", "n", "seed", "top_logprobs"), nullable(integer)),
        **dict.fromkeys(("clear_thinking", "disable_reasoning", "logprobs"), nullable(boolean)),
        **dict.fromkeys(("parallel_tool_calls", "stream"), nullable(boolean)),
        **optional(
            logit_bias=table(number),
            model_parameters=mapping,
            prediction=complete(type=one_of("content"), content=_TEXTS),
            prompt_cache_key=text,
            reasoning_effort=one_of("none", "low", "medium", "high"),
            response_format=tagged("type", _FORMATS),
            service_tier=_TIER,
            stop=_STOP,
            stream_options=RecordShape(optional(include_usage=boolean)),
            tool_choice=either("one of a string or object", text=one_of("none", "auto", "required"), keys=_NAMED),
            tools=items(_TOOL),
            user=text,
        ),
        "reasoning_format": one_of("none", "parsed", "text_parsed", "raw", "hidden"),
    }
)

# Fireworks: one message for all roles, one part for all kinds

_FILM = complete(url=text).adding(optional(detail=text, max_frames=integer, sample_fps=number, spatial_limit=integer))
_PART = RecordShape({"type": text, **optional(text=text, image_url=_PICTURE, video_url=_FILM)}, required=("type",))
_CONTENT = either(chat_types.STRING_OR_PARTS, text=text, items=items(_PART))
_CALLED = RecordShape(optional(name=text, arguments=either("one of a string or object", text=text, keys=mapping)))
_OPEN_CALL = complete(function=either("one of a string or object", text=text, keys=_CALLED)).adding(
    {"id": nullable(text), "type": text}
)
_MESSAGE = complete(role=text).adding(
    optional(content=_CONTENT, reasoning_content=text, tool_call_id=text, tool_calls=items(_OPEN_CALL))
)
_DECLARED = complete(name=text).adding({**optional(description=text, strict=boolean), "parameters": mapping})
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
        **dict.fromkeys(
            ("frequency_penalty", "presence_penalty", "repetition_penalty", "temperature"), nullable(number)
        ),
        **dict.fromkeys(("min_p", "mirostat_lr", "mirostat_target", "top_p", "typical_p"), nullable(number)),
        **dict.fromkeys(("echo_last", "max_completion_tokens", "max_tokens", "prompt_truncate_len"), nullable(integer)),
        **dict.fromkeys(("seed", "top_k", "top_logprobs"), nullable(integer)),
        **dict.fromkeys(("echo", "parallel_tool_calls", "perf_metrics_in_response", "raw_output"), nullable(boolean)),
        **dict.fromkeys(("return_token_ids", "safe_tokenization", "stream"), nullable(boolean)),
        **dict.fromkeys(("prompt_cache_isolation_key", "prompt_cache_key", "user"), nullable(text)),
        **dict.fromkeys(("function_call", "prediction", "speculation"), anything),
        **optional(
            logit_bias=table(number),
            logprobs=_number_or_switch,
            metadata=table(text),
            reasoning_effort=text_among("low", "medium", "high", "none"),
            reasoning_history=one_of("disabled", "interleaved", "preserved"),
            response_format=complete(type=one_of("json_object", "json_schema", "grammar", "text")).adding(
                optional(grammar=text, json_schema=_SCHEMA_TEXT, schema=_SCHEMA_TEXT)
            ),
            stop=_STOP,
            thinking=tagged("type", _THINKING),
        ),
    },
    required=("model", "messages"),
)

# Together

_SOUND = complete(data=text, format=one_of("wav")).opened()
_LINK = complete(url=text).opened()
_TOGETHER_PARTS: Mapping[str, Shape] = {
    "text": _TEXT_PART.opened(),
    "image_url": RecordShape({"type": text, "image_url": _LINK}, required=("type",)).opened(),
    "video_url": complete(type=text, video_url=_LINK).opened(),
    "audio_url": complete(type=text, audio_url=_LINK).opened(),
    "input_audio": complete(type=text, input_audio=_SOUND).opened(),
}
_ONE_TEXT = RecordShape({"role": text, "content": text, "name": nullable(text)}, ("role", "content"), open=True)
_TOGETHER_MESSAGES = {
    "system": _ONE_TEXT,
    "user": _ONE_TEXT.adding({"content": chat_types.content(_TOGETHER_PARTS)}),
    "assistant": RecordShape(
        {
            "role": text,
            **optional(content=text, name=text, reasoning=text, reasoning_content=text),
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
        "reasoning": RecordShape({"enabled": boolean}).opened(),
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
