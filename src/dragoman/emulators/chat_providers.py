"""The manners of services that speak Chat in their own accent: one row each, read from the contracts.

A fact that is not known is not a reason to refuse: `None` for a list of fields means that strays are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.emulators import openai
from dragoman.emulators.chat_answers import UsagePlace, Voice, detailed_usage
from dragoman.emulators.chat_service import Check, Complaint, Shape, openai_shape
from dragoman.emulators.openai_settings import KNOWN
from dragoman.emulators.provider import FaultKind
from dragoman.emulators.wire import token

ROLES = ("system", "user", "assistant", "tool")
WIDE_ROLES = (*ROLES, "developer", "function")
FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls", "refusal"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
    "function": frozenset({"role", "content", "name"}),
}


@dataclass(frozen=True, slots=True)
class Manner:
    """What one service insists on."""

    roles: tuple[str, ...] = WIDE_ROLES
    fields: Mapping[str, frozenset[str]] | None = None  # allowed message keys; None ignores strays
    field_words: str = "Unknown parameter: 'messages[{at}].{key}'."
    field_code: str | None = "unknown_parameter"
    top: frozenset[str] | None = None  # allowed top-level keys; None ignores strays
    alternation: str | None = None  # the words that refuse two turns of a side in a row
    system_first: str | None = None  # the words that refuse a later system message
    reasoning_required: str | None = None  # the words that miss `reasoning_content` on a turn with calls
    thinkers: str | None = None  # a pattern of the models that think; None: all
    empty_assistant: Complaint | None = None  # what is said to an assistant turn without anything
    unanswered: str | None = None  # the words for a call without its result
    orphaned: str | None = None  # the words for a result without its call
    parts: tuple[str, ...] | None = None  # kinds of content; None takes any
    null_content: bool = True  # whether content may be null without calls
    empty_lists: bool = True  # whether `tools: []` and `tool_calls: []` pass
    json_arguments: bool = False  # whether arguments must be JSON text
    shape: Shape = openai_shape
    root: str = "/v1"
    further_paths: tuple[str, ...] = ()
    needs_model: bool = True
    checks: tuple[Check, ...] | None = None  # in place of all that is said above
    voice: Voice = field(default_factory=lambda: Voice(usage_shape=detailed_usage))
    faults: Mapping[FaultKind, Complaint] = field(default_factory=dict)
    model: str = "some-model"


def flat(complaint: Complaint) -> Any:
    """Cerebras: no wrapper."""
    more = {"type": complaint.type, "param": complaint.param, "code": complaint.code}
    return {"message": complaint.message, **more}


def coded_text(complaint: Complaint) -> Any:
    """xAI: a code and a sentence."""
    return {"code": complaint.code or "invalid-argument", "error": complaint.message}


def numbered(complaint: Complaint) -> Any:
    """Perplexity: the code is the status."""
    return {"error": {"message": complaint.message, "type": complaint.type, "code": complaint.status}}


def with_id(complaint: Complaint) -> Any:
    """Together: an id beside the error."""
    return {"id": "emulated-request", **openai_shape(complaint)}


def azure(complaint: Complaint) -> Any:
    """Azure: a code in words or digits, and a message."""
    error = {"code": str(complaint.code or complaint.status), "message": complaint.message}
    return {"error": error if complaint.param is None else error | {"param": complaint.param, "type": complaint.type}}


def cohere(complaint: Complaint) -> Any:
    """Cohere: an id and a sentence."""
    return {"id": "emulated-request", "message": complaint.message, **complaint.more}


def google(complaint: Complaint) -> Any:
    """Gemini's compatible endpoint: the error in an array."""
    state = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}.get(
        complaint.status, "INVALID_ARGUMENT"
    )
    return [{"error": {"code": complaint.status, "message": complaint.message, "status": state}}]


def zai(complaint: Complaint) -> Any:
    """Z.AI: numeric codes as text."""
    return {"error": {"code": str(complaint.code or 1210), "message": complaint.message}}


SHAPES: Mapping[str, Shape] = {
    "openai": openai_shape,
    "flat": flat,
    "coded-text": coded_text,
    "numbered": numbered,
    "with-id": with_id,
    "azure": azure,
    "cohere": cohere,
    "google": google,
    "zai": zai,
}

_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    " The following tool_call_ids did not have response messages: {ids}"
)
_ORPHANED = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
_ALTERNATE = (
    "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s)."
)
_SILENT = Complaint(400, "Each message must have at least one content element.")
_REASONED = Voice(usage_shape=detailed_usage, reasoning="reasoning_content")
_KEYLESS = {
    FaultKind.AUTH: Complaint(
        401,
        "Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.",
        code="invalid_api_key",
    )
}


def _words(auth: str, model: str, context: str, status: int = 401, missing: int = 404) -> dict[FaultKind, Complaint]:
    return {
        FaultKind.AUTH: Complaint(status, auth, code="invalid_api_key"),
        FaultKind.MODEL: Complaint(missing, model, code="model_not_found"),
        FaultKind.CONTEXT: Complaint(400, context, code="context_length_exceeded"),
    }


COMPATIBLE = Manner(
    roles=ROLES,
    fields=FIELDS,
    top=KNOWN | {"top_k"},
    unanswered=_UNANSWERED,
    orphaned=_ORPHANED,
    parts=("text", "image_url", "input_audio", "file"),
    null_content=False,
    empty_lists=False,
    json_arguments=True,
    empty_assistant=_SILENT,
)

MANNERS: Mapping[str, Manner] = {
    "compatible": COMPATIBLE,
    "lenient": Manner(),
    "azure-openai": Manner(
        root="/openai/v1",
        further_paths=(r"/openai/deployments/(?P<model>[^/]+)/chat/completions", "/models/chat/completions"),
        needs_model=False,
        checks=openai.CHECKS[1:],  # the deployment may stand for the model
        shape=azure,
        faults={
            FaultKind.AUTH: Complaint(
                401,
                "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key"
                " for an active subscription and use a correct regional API endpoint for your resource.",
            ),
            FaultKind.MODEL: Complaint(
                404, "The API deployment for this resource does not exist.", code="DeploymentNotFound"
            ),
            FaultKind.RATE: Complaint(429, "Requests have exceeded the call rate limit.", code="RateLimitReached"),
        },
        model="gpt-4o-mini",
    ),
    "cerebras": Manner(
        fields={**FIELDS, "assistant": FIELDS["assistant"] | {"reasoning"}},
        field_words="messages.{at}.{role}.{key}: property 'messages.{at}.{role}.{key}' is unsupported",
        field_code="wrong_api_format",
        shape=flat,
        voice=Voice(usage_shape=detailed_usage, reasoning="reasoning"),
        faults=_words(
            "Wrong API Key", "Model {model} does not exist.", "Current length is {tokens} while limit is 131072"
        ),
        model="gpt-oss-120b",
    ),
    "cohere": Manner(
        root="/compatibility/v1",
        further_paths=("/v1/chat/completions",),
        shape=cohere,
        faults={
            FaultKind.AUTH: Complaint(401, "Incorrect API key provided: ****"),
            FaultKind.MODEL: Complaint(
                404,
                "model '{model}' not found, make sure the correct model ID was used and that you have access to the"
                " model.",
            ),
            FaultKind.CONTEXT: Complaint(
                400,
                "too many tokens: size limit exceeded by {tokens} tokens.",
                more={"error_type": "TOO_MANY_TOKENS"},
            ),
        },
        model="command-a-03-2025",
    ),
    "fireworks": Manner(
        root="/inference/v1",
        further_paths=("/v1/chat/completions",),
        voice=_REASONED,
        model="accounts/fireworks/models/kimi-k2",
    ),
    "gemini-openai": Manner(
        root="/v1beta/openai",
        shape=google,
        faults={
            FaultKind.AUTH: Complaint(400, "API key not valid. Please pass a valid API key."),
            FaultKind.MODEL: Complaint(404, "models/{model} is not found for API version v1main, or is not supported"),
            FaultKind.RATE: Complaint(429, "You exceeded your current quota. Please retry in 48.9s."),
            FaultKind.CONTEXT: Complaint(
                400, "The input token count ({tokens}) exceeds the maximum number of tokens allowed (1048576)."
            ),
        },
        model="gemini-2.5-flash",
    ),
    "minimax": Manner(
        orphaned="invalid params, tool result's tool id({id}) not found (2013)",
        faults=_words(
            "login fail (1004)", "unknown model (2013)", "invalid params, context window exceeds limit (2013)"
        ),
        model="MiniMax-M2",
    ),
    "moonshot": Manner(
        reasoning_required=(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}"
        ),
        thinkers=r"think|k2[.-]?[5-9]|k3",
        voice=_REASONED,
        faults=_words(
            "Invalid Authentication",
            "Not found the model {model} or Permission denied",
            "Invalid request: Your request exceeded model token limit: 262144 (requested: {tokens})",
        ),
        model="kimi-k2-thinking",
    ),
    "perplexity": Manner(
        root="",
        further_paths=("/v1/chat/completions",),
        alternation=_ALTERNATE,
        system_first=_ALTERNATE,
        shape=numbered,
        voice=Voice(
            answer_id=lambda seed: token("", 32, seed, alphabet="0123456789abcdef"),
            usage=UsagePlace.EVERY,
            done=None,
            repeats_message=True,
            logprobs=False,
            top={"citations": [], "search_results": []},
        ),
        faults={
            FaultKind.AUTH: Complaint(401, "Invalid API key provided.", "invalid_api_key"),
            FaultKind.MODEL: Complaint(400, "Invalid model '{model}'.", "invalid_model"),
            FaultKind.CONTEXT: Complaint(
                400, "The total length of all messages is too long.", "too_many_prompt_tokens"
            ),
        },
        model="sonar",
    ),
    "qwen": Manner(
        root="/compatible-mode/v1",
        further_paths=("/v1/chat/completions",),
        unanswered=(
            '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool'
            ' messages responding to each "tool_call_id". The following tool_call_ids did not have response messages:'
            " message[{at}].role"
        ),
        voice=_REASONED,
        faults=_words(
            "Incorrect API key provided.",
            "The model `{model}` does not exist or you do not have access to it.",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        ),
        model="qwen-plus",
    ),
    "together": Manner(
        shape=with_id,
        voice=Voice(usage=UsagePlace.FINISH),
        faults=_KEYLESS,
        model="meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
    "xai": Manner(
        empty_assistant=_SILENT,
        shape=coded_text,
        voice=Voice(
            call_id=lambda seed, index: token("call_", 8, seed, index, alphabet="0123456789"),
            usage_shape=detailed_usage,
            reasoning="reasoning_content",
            whole_calls=True,
            empty_content="",
            logprobs=False,
            top={"system_fingerprint": "fp_emulated_xai"},
        ),
        faults=_words(
            "Incorrect API key provided. You can obtain an API key from https://console.x.ai.",
            "Model not found: {model}",
            "This model's maximum prompt length is 131072 but the request contains {tokens} tokens",
            status=400,
            missing=400,
        ),
        model="grok-4",
    ),
    "zai": Manner(
        root="/api/paas/v4",
        further_paths=("/api/coding/paas/v4/chat/completions", "/v1/chat/completions"),
        empty_assistant=Complaint(400, "The messages parameter is illegal. Please check the documentation.", code=1214),
        shape=zai,
        voice=Voice(
            usage=UsagePlace.FINISH, usage_shape=detailed_usage, reasoning="reasoning_content", empty_content=""
        ),
        model="glm-4.6",
    ),
}
