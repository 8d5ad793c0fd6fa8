"""What each provider of a Chat API checks, how it reports errors and how it answers: one `ProviderSpec` each.

What is not known to be refused is accepted: `None` for a list of fields means that unknown ones are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from dragoman.emulators.chat import hosted_types
from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.answers import AnswerStyle, UsagePlace, detailed_usage
from dragoman.emulators.chat.found_pages import search_results
from dragoman.emulators.chat.openai import emulator as openai
from dragoman.emulators.chat.openai.request_types import bracketed, mismatch_refusal
from dragoman.emulators.chat.openai.settings import KNOWN_PARAMETERS, check_tools_with_effort
from dragoman.emulators.chat.service import ChatRefusal, Check, ErrorRenderer, MismatchWords, render_openai_error
from dragoman.emulators.chat.thought_signatures import sign_call
from dragoman.emulators.provider import FaultKind, ReceivedRequest
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

UNNAMED = "some-model"
ROLES = ("system", "user", "assistant", "tool")
WIDE_ROLES = (*ROLES, "developer", "function")
MESSAGE_FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls", "refusal"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
    "function": frozenset({"role", "content", "name"}),
}


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """The checks, errors and answer style of one provider."""

    roles: tuple[str, ...] | None = WIDE_ROLES  # None: they are not known to be checked
    message_fields: Mapping[str, frozenset[str]] | None = None  # allowed fields by role; None ignores unknown ones
    unknown_field_sentence: str = "Unknown parameter: 'messages[{at}].{key}'."
    unknown_field_code: str | None = "unknown_parameter"
    top_fields: frozenset[str] | None = None  # allowed top-level fields; None ignores unknown ones
    refused_fields: frozenset[str] = frozenset()  # top-level fields that it refuses although it ignores unknown ones
    alternation_sentence: str | None = None  # refuses two turns of one side in a row
    system_first_sentence: str | None = None  # refuses a system message after the first turn
    reasoning_required_sentence: str | None = None  # refuses a turn with calls and no `reasoning_content`
    signed_calls: bool = False  # Gemini 3 signs calls and wants its signatures back
    thinking_models: str | None = None  # a pattern for the models that think; None: all
    empty_assistant_refusal: ChatRefusal | None = None  # refuses an assistant turn without content and calls
    unanswered_sentence: str | None = None  # refuses a call without its result
    orphan_sentence: str | None = None  # refuses a result without its call
    sound_refusal: ChatRefusal | None = None  # refuses the base64 of a sound without the head of a data URL
    null_content: bool = True  # whether content may be null without calls
    published: Shape = chat_types.TYPED  # the types of the whole request
    mismatch: MismatchWords = mismatch_refusal  # how it refuses what does not fit these types
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of settings, beside those of the dialect
    range_refusal: Callable[[str], ChatRefusal] | None = None  # how it refuses a value outside of them
    render_error: ErrorRenderer = render_openai_error
    root: str = "/v1"
    further_paths: tuple[str, ...] = ()
    needs_model: bool = True
    checks: tuple[Check, ...] | None = None  # if set, these replace all checks above
    style: AnswerStyle = field(default_factory=lambda: AnswerStyle(render_usage=detailed_usage))
    faults: Mapping[FaultKind, ChatRefusal] = field(default_factory=dict)
    model: str = UNNAMED


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


def render_azure_error(refusal: ChatRefusal) -> Any:
    """Azure: a code in words or digits, and a message."""
    error = {"code": str(refusal.code or refusal.status), "message": refusal.message}
    return {"error": error if refusal.param is None else error | {"param": refusal.param, "type": refusal.kind}}


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


_AZURE_FAULTS = {
    FaultKind.AUTH: ChatRefusal(
        401,
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key"
        " for an active subscription and use a correct regional API endpoint for your resource.",
    ),
    FaultKind.MODEL: ChatRefusal(
        404, "The API deployment for this resource does not exist.", code="DeploymentNotFound"
    ),
    FaultKind.RATE: ChatRefusal(429, "Requests have exceeded the call rate limit.", code="RateLimitReached"),
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
COMPATIBLE = ProviderSpec(
    roles=ROLES,
    message_fields=MESSAGE_FIELDS,
    top_fields=KNOWN_PARAMETERS | {"top_k"},
    unanswered_sentence=_UNANSWERED,
    orphan_sentence=_ORPHANED,
    null_content=False,
    published=_STRICT_REQUEST,
    empty_assistant_refusal=_NO_CONTENT,
)

PROVIDER_SPECS: Mapping[str, ProviderSpec] = {
    "compatible": COMPATIBLE,
    "lenient": ProviderSpec(roles=None, published=chat_types.BARE, refused_fields=frozenset({"store"})),
    "azure-openai": ProviderSpec(
        root="/openai/v1",
        further_paths=(r"/openai/deployments/(?P<model>[^/]+)/chat/completions", "/models/chat/completions"),
        needs_model=False,
        # the deployment in the path names the model, and a prompt may be cached in memory
        checks=(*openai.CHECKS[2:], check_tools_with_effort),
        render_error=render_azure_error,
        faults=_AZURE_FAULTS,
        model="gpt-4o-mini",
    ),
    "azure-foundry": replace(COMPATIBLE, root="/models", render_error=render_azure_error, faults=_AZURE_FAULTS),
    "cerebras": ProviderSpec(
        roles=tuple(hosted_types.CEREBRAS_MESSAGES),
        message_fields={role: frozenset(one.fields) for role, one in hosted_types.CEREBRAS_MESSAGES.items()},
        published=hosted_types.CEREBRAS,
        mismatch=unsupported_property,
        unknown_field_sentence="messages.{at}.{role}.{key}: property 'messages.{at}.{role}.{key}' is unsupported",
        unknown_field_code="wrong_api_format",
        render_error=render_flat_error,
        style=AnswerStyle(render_usage=detailed_usage, reasoning_field="reasoning"),
        faults=_common_faults(
            "Wrong API Key",
            "Model {model} does not exist.",
            "Current length is {tokens} while limit is {limit[131072]}",
        ),
        model="gpt-oss-120b",
    ),
    "cohere-openai": ProviderSpec(
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
        model="command-a-03-2025",
    ),
    "fireworks": ProviderSpec(
        root="/inference/v1",
        further_paths=("/v1/chat/completions",),
        published=hosted_types.FIREWORKS,
        mismatch=extra_input,
        style=_WITH_REASONING,
        model="accounts/fireworks/models/kimi-k2",
    ),
    "gemini-openai": ProviderSpec(
        root="/v1beta/openai",
        signed_calls=True,
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
        model="gemini-2.5-flash",
    ),
    "minimax": ProviderSpec(
        orphan_sentence="invalid params, tool result's tool id({id}) not found (2013)",
        faults=_common_faults(
            "login fail (1004)", "unknown model (2013)", "invalid params, context window exceeds limit (2013)"
        ),
        model="MiniMax-M2",
    ),
    "moonshot": ProviderSpec(
        roles=None,
        published=chat_types.BARE,
        reasoning_required_sentence=(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}"
        ),
        thinking_models=r"think|k2[.-]?[5-9]|k3",
        style=_WITH_REASONING,
        faults=_common_faults(
            "Invalid Authentication",
            "Not found the model {model} or Permission denied",
            "Invalid request: Your request exceeded model token limit: {limit[262144]} (requested: {tokens})",
        ),
        model="kimi-k2-thinking",
    ),
    "perplexity": ProviderSpec(
        roles=None,
        published=chat_types.BARE,
        root="",
        further_paths=("/v1/chat/completions",),
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
        model="sonar",
    ),
    "qwen": ProviderSpec(
        roles=None,
        published=chat_types.BARE,
        root="/compatible-mode/v1",
        further_paths=("/v1/chat/completions",),
        unanswered_sentence=(
            '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool'
            ' messages responding to each "tool_call_id". The following tool_call_ids did not have response messages:'
            " message[{at}].role"
        ),
        # seen 2026-06-12, Operit#601
        sound_refusal=ChatRefusal(
            400, "<400> InternalError.Algo.InvalidParameter: The provided URL does not appear to be valid."
        ),
        style=_WITH_REASONING,
        faults=_common_faults(
            "Incorrect API key provided.",
            "The model `{model}` does not exist or you do not have access to it.",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {limit[129024]}]",
        ),
        model="qwen-plus",
    ),
    "together": ProviderSpec(
        roles=ROLES,
        published=hosted_types.TOGETHER,
        render_error=render_error_with_id,
        style=AnswerStyle(usage_place=UsagePlace.FINISH),
        faults=_TOGETHER_FAULTS,
        model="meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
    "xai": ProviderSpec(
        published=chat_types.TYPED.adding({"tools": nullable(items(_object_tool))}),
        empty_assistant_refusal=_NO_CONTENT,
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
        model="grok-4",
    ),
    "zai": ProviderSpec(
        root="/api/paas/v4",
        further_paths=("/api/coding/paas/v4/chat/completions", "/v1/chat/completions"),
        empty_assistant_refusal=_illegal("messages"),
        ranges={"temperature": (0, 1), "top_p": (0.01, 1)},
        range_refusal=_illegal,
        render_error=render_zai_error,
        style=AnswerStyle(
            usage_place=UsagePlace.FINISH,
            render_usage=detailed_usage,
            reasoning_field="reasoning_content",
            empty_content="",
        ),
        model="glm-4.6",
    ),
}
