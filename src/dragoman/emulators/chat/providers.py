"""What each provider of a Chat API checks, how it reports errors and how it answers: one
`CompatibleService` each, which the options of an emulator change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from dragoman.emulators.chat import hosted_types, reported
from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.answers import AnswerStyle, UsagePlace, detailed_usage
from dragoman.emulators.chat.azure import AZURE_FAULTS, AzureChat, FoundryModels, render_azure_error
from dragoman.emulators.chat.compatible import ROLES, UNNAMED, CompatibleService
from dragoman.emulators.chat.found_pages import search_results
from dragoman.emulators.chat.openai import emulator as openai
from dragoman.emulators.chat.openai.request_types import bracketed, mismatch_refusal
from dragoman.emulators.chat.openai.settings import KNOWN_PARAMETERS, check_tools_with_effort, lacks_json_word
from dragoman.emulators.chat.service import ChatRefusal, ChatService, ErrorRenderer, render_openai_error
from dragoman.emulators.chat.thought_signatures import sign_call
from dragoman.emulators.provider import EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    Shape,
    ShapeMismatch,
    complete,
    integer,
    items,
    nullable,
    tagged,
    text,
)
from dragoman.emulators.usage import GROK
from dragoman.emulators.wire import make_id

MESSAGE_FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls", "refusal"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
    "function": frozenset({"role", "content", "name"}),
}


def render_flat_error(refusal: ChatRefusal) -> Any:
    """Cerebras: no wrapper."""
    more = {"type": refusal.kind, "param": refusal.param, "code": refusal.code}
    return {"message": refusal.message, **more}


def unsupported_property(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    """Cerebras: a key that its types do not have, and anything else in OpenAI's words."""
    if mismatch.kind is not MismatchKind.UNKNOWN:
        return replace(mismatch_refusal(mismatch, request), code="wrong_api_format")
    place = ".".join(map(str, mismatch.path))
    return ChatRefusal(400, f"{place}: property '{place}' is unsupported", param=place, code="wrong_api_format")


def extra_input(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    """Fireworks: the key and its value."""
    if mismatch.kind is not MismatchKind.UNKNOWN:
        return mismatch_refusal(mismatch, request)
    shown = repr(mismatch.value)[:80]
    return ChatRefusal(
        400, f"Extra inputs are not permitted, field: '{bracketed(mismatch.path)}', value: {shown}", code=None
    )


def render_coded_text_error(refusal: ChatRefusal) -> Any:
    """xAI: a code and a sentence."""
    return {"code": refusal.code or "invalid-argument", "error": refusal.message}


def render_numbered_error(refusal: ChatRefusal) -> Any:
    """Perplexity: the code is the status."""
    return {"error": {"message": refusal.message, "type": refusal.kind, "code": refusal.status}}


def render_error_with_id(refusal: ChatRefusal) -> Any:
    """Together: an id beside the error."""
    return {"id": "emulated-request", **render_openai_error(refusal)}


def render_cohere_error(refusal: ChatRefusal) -> Any:
    """Cohere: an id and a sentence."""
    return {"id": "emulated-request", "message": refusal.message, **refusal.more}


def render_google_error(refusal: ChatRefusal) -> Any:
    """Gemini's compatible endpoint: the error in an array."""
    state = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}.get(
        refusal.status, "INVALID_ARGUMENT"
    )
    return [{"error": {"code": refusal.status, "message": refusal.message, "status": state}}]


def _illegal(name: str) -> ChatRefusal:
    """Z.AI: a parameter that it does not take."""
    return ChatRefusal(400, f"The {name} parameter is illegal. Please check the documentation.", code=1214)


def render_zai_error(refusal: ChatRefusal) -> Any:
    """Z.AI: numeric codes as text."""
    return {"error": {"code": str(refusal.code or 1210), "message": refusal.message}}


ERROR_RENDERERS: Mapping[str, ErrorRenderer] = {
    "openai": render_openai_error,
    "flat": render_flat_error,
    "coded-text": render_coded_text_error,
    "numbered": render_numbered_error,
    "with-id": render_error_with_id,
    "azure": render_azure_error,
    "cohere-openai": render_cohere_error,
    "google": render_google_error,
    "zai": render_zai_error,
}

_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    " The following tool_call_ids did not have response messages: {ids}"
)
_ORPHANED = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
_ALTERNATE = (
    "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s)."
)
_NO_CONTENT = ChatRefusal(400, "Each message must have at least one content element.")
_KIMI_THINKS = r"think|k2[.-]?[5-9]|k3"
_ALGO = "<400> InternalError.Algo.InvalidParameter: "
_WITH_REASONING = AnswerStyle(render_usage=detailed_usage, reasoning_field="reasoning_content")
_TOGETHER_FAULTS = {
    FaultKind.AUTH: ChatRefusal(
        401,
        "Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.",
        code="invalid_api_key",
    )
}


def _common_faults(
    auth: str, model: str, context: str, status: int = 401, missing: int = 404
) -> dict[FaultKind, ChatRefusal]:
    return {
        FaultKind.AUTH: ChatRefusal(status, auth, code="invalid_api_key"),
        FaultKind.MODEL: ChatRefusal(missing, model, code="model_not_found"),
        FaultKind.CONTEXT: ChatRefusal(400, context, code="context_length_exceeded"),
    }


def _object_text(value: Any, path: Path) -> None:
    """The text of a JSON object, which arguments must be for the strict server."""
    text(value, path)
    try:
        is_object = isinstance(orjson.loads(value), dict)
    except orjson.JSONDecodeError:
        is_object = False
    if not is_object:
        at = bracketed(path)
        sentence = f"Invalid '{at}': expected the text of a JSON object."
        raise ChatRefusal(400, sentence, param=at, code="invalid_value")


def _object_tool(value: Any, path: Path) -> None:
    """xAI: the root of a tool's parameters is an object."""
    chat_types.typed_tool(value, path)
    function = value.get("function") or {}
    schema = function.get("parameters")
    if schema is not None and (not isinstance(schema, dict) or schema.get("type", "object") != "object"):
        raise ChatRefusal(400, f"Invalid tool `{function.get('name')}`: the root of its parameters is no object.")


# Which keys a message and the request may have is checked by the lists of fields, which options extend.
_STRICT_CALL = chat_types.FUNCTION_CALL.adding({"function": complete(name=text, arguments=_object_text)})
_STRICT_CALLS: Mapping[str, Shape] = {**chat_types.CALLS, "function": _STRICT_CALL}
_STRICT_ASSISTANT = chat_types.ASSISTANT.adding({"tool_calls": items(tagged("type", _STRICT_CALLS), nonempty=True)})
_STRICT_MESSAGES = {
    role: record.adding({"name": text}).opened()
    for role, record in {**chat_types.MESSAGES, "assistant": _STRICT_ASSISTANT}.items()
}
_STRICT_REQUEST = chat_types.REQUEST.adding(
    {"messages": chat_types.with_messages(_STRICT_MESSAGES), "top_k": nullable(integer)}, required=("messages",)
).opened()
_STRICT: Mapping[str, Any] = {
    "roles": ROLES,
    "message_fields": MESSAGE_FIELDS,
    "top_fields": KNOWN_PARAMETERS | {"top_k"},
    "unanswered_sentence": _UNANSWERED,
    "orphan_sentence": _ORPHANED,
    "null_content": False,
    "published": _STRICT_REQUEST,
    "empty_assistant_refusal": _NO_CONTENT,
}

PROVIDERS: Mapping[str, CompatibleService] = {
    "compatible": CompatibleService(**_STRICT),
    "lenient": CompatibleService(roles=None, published=chat_types.BARE, refused_fields=frozenset({"store"})),
    "azure-openai": AzureChat(
        root="/openai/v1",
        further_paths=(r"/openai/deployments/(?P<model>[^/]+)/chat/completions", "/models/chat/completions"),
        checks=(*openai.DEPLOYED, check_tools_with_effort),
        render_error=render_azure_error,
        faults=AZURE_FAULTS,
        example_model="gpt-4o-mini",
    ),
    "azure-foundry": FoundryModels(**_STRICT, root="/models", render_error=render_azure_error, faults=AZURE_FAULTS),
    "cerebras": CompatibleService(
        roles=tuple(hosted_types.CEREBRAS_MESSAGES),
        message_fields={role: frozenset(one.fields) for role, one in hosted_types.CEREBRAS_MESSAGES.items()},
        published=hosted_types.CEREBRAS,
        mismatch=unsupported_property,
        unknown_field_sentence="messages.{at}.{role}.{key}: property 'messages.{at}.{role}.{key}' is unsupported",
        unknown_field_code="wrong_api_format",
        reported=(
            reported.refusing(
                "Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or "
                "'strict: false'",
                reported.has_mixed_strict,
                code="wrong_api_format",
            ),
            reported.refusing('"tools" is incompatible with "response_format"', reported.has_format_beside_tools),
            reported.refusing(
                "'additionalProperties' is required to be supplied and set to false.",
                reported.has_open_schema,
                code="wrong_api_format",
            ),
        ),
        render_error=render_flat_error,
        style=AnswerStyle(render_usage=detailed_usage, reasoning_field="reasoning"),
        faults=_common_faults(
            "Wrong API Key",
            "Model {model} does not exist.",
            "Current length is {tokens} while limit is {limit[131072]}",
        ),
        example_model="gpt-oss-120b",
    ),
    "cohere-openai": CompatibleService(
        root="/compatibility/v1",
        further_paths=("/v1/chat/completions",),
        render_error=render_cohere_error,
        faults={
            FaultKind.AUTH: ChatRefusal(401, "Incorrect API key provided: ****"),
            FaultKind.MODEL: ChatRefusal(
                404,
                "model '{model}' not found, make sure the correct model ID was used and that you have access to the"
                " model.",
            ),
            FaultKind.CONTEXT: ChatRefusal(
                400,
                "too many tokens: size limit exceeded by {excess} tokens.",
                more={"error_type": "TOO_MANY_TOKENS"},
            ),
        },
        example_model="command-a-03-2025",
    ),
    "fireworks": CompatibleService(
        root="/inference/v1",
        further_paths=("/v1/chat/completions",),
        published=hosted_types.FIREWORKS,
        mismatch=extra_input,
        reported=(
            reported.refusing_pictures(
                "Cannot preprocess image len(combined_imgs) = 1, len(image_ranges) = 0, please provide valid images",
                r"deepseek|qwen3-(?:235b|coder)|gpt-oss|llama-v3p[13]",
            ),
        ),
        style=_WITH_REASONING,
        example_model="accounts/fireworks/models/kimi-k2",
    ),
    "gemini-openai": CompatibleService(
        root="/v1beta/openai",
        signed_calls=True,
        reported=(
            reported.refusing_names(
                frozenset({"frequency_penalty", "google", "reasoning", "seed", "size", "store", "top_k"})
            ),
        ),
        style=AnswerStyle(render_usage=detailed_usage, call_fields=sign_call),
        render_error=render_google_error,
        faults={
            FaultKind.AUTH: ChatRefusal(400, "API key not valid. Please pass a valid API key."),
            FaultKind.MODEL: ChatRefusal(
                404, "models/{model} is not found for API version v1main, or is not supported"
            ),
            FaultKind.RATE: ChatRefusal(429, "You exceeded your current quota. Please retry in 48.9s."),
            FaultKind.CONTEXT: ChatRefusal(
                400, "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit[1048576]})."
            ),
        },
        example_model="gemini-2.5-flash",
    ),
    "minimax": CompatibleService(
        unanswered_sentence="invalid params, tool call result does not follow tool call (2013)",
        orphan_sentence="invalid params, tool result's tool id({id}) not found (2013)",
        reported=(
            reported.refusing("invalid params, invalid chat setting (2013)", reported.has_many_systems),
            reported.refusing(
                "invalid params, chat content has invalid message role: system (2013)", reported.has_late_system
            ),
            reported.refusing_arguments(
                "invalid params, invalid function arguments json string, tool_call_id: {id} (2013)"
            ),
            reported.refusing(
                "invalid params, function parameters is empty (2013)", reported.has_tool_without_parameters
            ),
            reported.refusing("invalid params, chat content is empty (2013)", reported.has_empty_user),
            reported.refusing_pictures("invalid params, chat content is empty (2013)", r"minimax-m[12]"),
            reported.refusing("invalid params, chat content is empty (2013)", reported.has_only_systems),
        ),
        faults=_common_faults(
            "login fail (1004)", "unknown model (2013)", "invalid params, context window exceeds limit (2013)"
        ),
        example_model="MiniMax-M2",
    ),
    "moonshot": CompatibleService(
        roles=None,
        published=chat_types.BARE,
        reasoning_required_sentence=(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}"
        ),
        thinking_models=_KIMI_THINKS,
        unanswered_sentence=(
            "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to"
            " each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        ),
        orphan_sentence="Invalid request: tool_call_id  is not found",
        empty_assistant_refusal=ChatRefusal(
            400, "Invalid request: the message at position 1 with role 'assistant' must not be empty"
        ),
        reported=(
            reported.refuse_unflavored_schemas,
            reported.refusing_stops("Invalid request: stop has too many items", 5),  # the words are not known
            reported.refusing_pictures(
                "Image input not supported for model", r"kimi-k2(?:-|$)|moonshot-v1-(?:8k|32k|128k|auto)$"
            ),
            reported.refusing(
                "Invalid request: unsupported image url", reported.has_image_url
            ),  # the words are not known
            reported.refusing_forced_choice(
                "tool_choice '{choice}' is incompatible with thinking enabled",
                lambda request: reported.thinks_unless_disabled(request, _KIMI_THINKS),
            ),
        ),
        style=_WITH_REASONING,
        faults=_common_faults(
            "Invalid Authentication",
            "Not found the model {model} or Permission denied",
            "Invalid request: Your request exceeded model token limit: {limit[262144]} (requested: {tokens})",
        ),
        example_model="kimi-k2-thinking",
    ),
    "perplexity": CompatibleService(
        roles=None,
        published=chat_types.BARE,
        root="",
        further_paths=("/v1/chat/completions",),
        reported=(
            reported.refusing("Tool calling is not supported for this model", reported.has_tools),
            reported.refusing(
                "Last message must have role `user` or `tool`.", reported.ends_with_model, kind="invalid_message"
            ),
        ),
        alternation_sentence=_ALTERNATE,
        system_first_sentence=_ALTERNATE,
        render_error=render_numbered_error,
        style=AnswerStyle(
            answer_id=lambda seed: make_id("", 32, seed, alphabet="0123456789abcdef"),
            usage_place=UsagePlace.EVERY,
            done=None,
            repeats_message=True,
            logprobs=False,
            page_fields=search_results,
        ),
        faults={
            FaultKind.AUTH: ChatRefusal(401, "Invalid API key provided.", "invalid_api_key"),
            FaultKind.MODEL: ChatRefusal(400, "Invalid model '{model}'.", "invalid_model"),
            FaultKind.CONTEXT: ChatRefusal(
                400, "The total length of all messages is too long.", "too_many_prompt_tokens"
            ),
        },
        example_model="sonar",
    ),
    "qwen": CompatibleService(
        roles=None,
        published=chat_types.BARE,
        root="/compatible-mode/v1",
        further_paths=("/v1/chat/completions",),
        unanswered_sentence=(
            _ALGO + 'An assistant message with "tool_calls" must be followed by tool'
            ' messages responding to each "tool_call_id". The following tool_call_ids did not have response messages:'
            " message[{at}].role"
        ),
        orphan_sentence=_ALGO
        + 'messages with role "tool" must be a response to a preceeding message with "tool_calls".',
        # seen 2026-06-12, Operit#601
        sound_refusal=ChatRefusal(400, _ALGO + "The provided URL does not appear to be valid."),
        reported=(
            reported.refusing_arguments(
                _ALGO + 'The "function.arguments" parameter of the code model must be in JSON format.'
            ),
            reported.refusing(
                _ALGO + "'messages' must contain the word 'json' in some form, to use"
                " 'response_format' of type 'json_object'.",
                lacks_json_word,
            ),
            reported.refusing(
                "parameter.enable_thinking must be set to false for non-streaming calls", reported.thinks_in_no_stream
            ),
            reported.refusing(
                _ALGO + "The thinking_budget parameter must be a positive integer and not greater than 38912",
                reported.has_great_budget,
            ),
            reported.refusing_forced_choice(
                _ALGO + "The tool_choice parameter does not support being set to required or object in thinking mode",
                reported.thinks_unless_switched_off,
            ),
        ),
        style=_WITH_REASONING,
        faults=_common_faults(
            "Incorrect API key provided.",
            "The model `{model}` does not exist or you do not have access to it.",
            _ALGO + "Range of input length should be [1, {limit[129024]}]",
        ),
        example_model="qwen-plus",
    ),
    "together": CompatibleService(
        roles=ROLES,
        published=hosted_types.TOGETHER,
        render_error=render_error_with_id,
        style=AnswerStyle(usage_place=UsagePlace.FINISH),
        faults=_TOGETHER_FAULTS,
        example_model="meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
    "xai": CompatibleService(
        published=chat_types.TYPED.adding({"tools": nullable(items(_object_tool))}),
        empty_assistant_refusal=_NO_CONTENT,
        reported=(
            reported.refuse_settings_of_grok,
            reported.refusing_pictures(
                "Invalid request content: Image inputs are not supported by this model.", r"grok-(?:3|composer)"
            ),
        ),
        render_error=render_coded_text_error,
        style=AnswerStyle(
            overhead=GROK,
            call_id=lambda seed, index: make_id("call_", 8, seed, index, alphabet="0123456789"),
            render_usage=detailed_usage,
            reasoning_field="reasoning_content",
            whole_calls=True,
            empty_content="",
            logprobs=False,
            top_fields={"system_fingerprint": "fp_emulated_xai"},
        ),
        faults=_common_faults(
            "Incorrect API key provided. You can obtain an API key from https://console.x.ai.",
            "Model not found: {model}",
            "This model's maximum prompt length is {limit[131072]} but the request contains {tokens} tokens",
            status=400,
            missing=400,
        ),
        example_model="grok-4",
    ),
    "zai": CompatibleService(
        root="/api/paas/v4",
        further_paths=("/api/coding/paas/v4/chat/completions", "/v1/chat/completions"),
        empty_assistant_refusal=_illegal("messages"),
        roles=ROLES,
        reported=(
            reported.refusing(
                "The messages parameter is illegal. Please check the documentation.", reported.has_no_user, code=1214
            ),
            reported.refusing("Tool choice must be auto", reported.has_choice_of_glm),
            reported.refusing_stops("stop:最大只能有4个停止词", 4, code=1214),
            reported.refusing("API 调用参数有误，请检查文档。", reported.has_odd_pattern, code=1210),
            reported.refusing_limits(
                "max_tokens参数非法：限制数值范围[1,1024]", 1024, r"glm-4v(?:-flash|$)", code=1210
            ),
            reported.refusing_pictures(
                "Invalid API parameter, please check the documentation.",
                r"glm-(?:4\.[5-7]|5(?:\.[0-2])?)(?:-|$)",
                code=1210,
            ),
        ),
        ranges={"temperature": (0, 1), "top_p": (0.01, 1)},
        range_refusal=_illegal,
        render_error=render_zai_error,
        style=AnswerStyle(
            usage_place=UsagePlace.FINISH,
            render_usage=detailed_usage,
            reasoning_field="reasoning_content",
            empty_content="",
        ),
        example_model="glm-4.6",
    ),
}

# option: the field of the service that it sets, and the value of the field if the option is on
_SWITCHES: dict[str, dict[str, Any]] = {
    "alternation": {"alternation_sentence": _ALTERNATE},
    "system_first": {"system_first_sentence": "System message must be at the beginning."},
    "reasoning_required": {"reasoning_required_sentence": PROVIDERS["moonshot"].reasoning_required_sentence},
    "empty_assistant": {"empty_assistant_refusal": _NO_CONTENT},
    "pairing": {"unanswered_sentence": _UNANSWERED, "orphan_sentence": _ORPHANED},
}


def with_options(service: CompatibleService, more: Mapping[str, Any]) -> CompatibleService:
    """The service with the caller's options applied."""
    changes: dict[str, Any] = {}
    if more.get("extra_fields") is not None and service.top_fields is not None:
        changes["top_fields"] = service.top_fields | set(more["extra_fields"])
    if more.get("extra_message_fields") is not None and service.message_fields is not None:
        extra = frozenset(more["extra_message_fields"])
        changes["message_fields"] = {role: known | extra for role, known in service.message_fields.items()}
    for option, switched in _SWITCHES.items():
        if option in more:
            changes |= switched if more[option] else dict.fromkeys(switched)
    if more.get("reported") is False:
        changes["reported"] = ()
    if "roles" in more:
        changes["roles"] = tuple(more["roles"])
    if "error_shape" in more:
        changes["render_error"] = ERROR_RENDERERS[more["error_shape"]]
    if "done" in more:
        changes["style"] = replace(service.style, done="[DONE]" if more["done"] else None)
    return replace(service, **changes)


def provider(options: EmulatorOptions) -> ChatService:
    """The emulator of the provider that the options name."""
    name = options.more.get("provider", "compatible")
    service = with_options(PROVIDERS[name], options.more)
    is_known = service.example_model != UNNAMED and not service.has_free_names
    return replace(
        service,
        name=name if name != "lenient" else "compatible-lenient",
        options=options,
        known_models=(service.example_model,) if is_known else (),
    )
