"""The error codes, exception names and sentences of providers, and the kind of failure that each one means.

A code or a type is more reliable than a status: six providers report an unknown model with 400, two report a bad key
so. Sentences decide if there is no code. Only context-length sentences contain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dragoman.conversation.failures import FailureKind as Kind
from dragoman.wire.late_pattern import LatePattern

CODES: Mapping[str, Kind] = {
    "invalid_api_key": Kind.AUTH,
    "authentication_error": Kind.AUTH,
    "unauthenticated": Kind.AUTH,
    "unauthorized": Kind.AUTH,
    "api_key_invalid": Kind.AUTH,
    "access_token_expired": Kind.AUTH,
    "unrecognizedclientexception": Kind.AUTH,
    "expiredtokenexception": Kind.AUTH,
    "invalidsignatureexception": Kind.AUTH,
    "missingauthenticationtokenexception": Kind.AUTH,
    "incompletesignatureexception": Kind.AUTH,
    "permission_error": Kind.PERMISSION,
    "permission_denied": Kind.PERMISSION,
    "permission_denied_error": Kind.PERMISSION,
    "accessdeniedexception": Kind.PERMISSION,
    "forbidden": Kind.PERMISSION,
    "unsupported_country_region_territory": Kind.PERMISSION,
    "model_not_found": Kind.NOT_FOUND,
    "model_not_supported": Kind.NOT_FOUND,
    "not_found_error": Kind.NOT_FOUND,
    "not_found": Kind.NOT_FOUND,
    "notfounderror": Kind.NOT_FOUND,
    "invalid_model": Kind.NOT_FOUND,
    "deploymentnotfound": Kind.NOT_FOUND,
    "resourcenotfoundexception": Kind.NOT_FOUND,
    "insufficient_quota": Kind.QUOTA,
    "billing_error": Kind.QUOTA,
    "billing_hard_limit_reached": Kind.QUOTA,
    "billing_not_active": Kind.QUOTA,
    "usage_limit_reached": Kind.QUOTA,
    "usage_not_included": Kind.QUOTA,
    "freeusagelimiterror": Kind.QUOTA,
    "gousagelimiterror": Kind.QUOTA,
    "quota_exceeded": Kind.QUOTA,
    "quota_exhausted": Kind.QUOTA,
    "credit_balance_exhausted": Kind.QUOTA,
    "insufficient_credits": Kind.QUOTA,
    "payment_required": Kind.QUOTA,
    "servicequotaexceededexception": Kind.QUOTA,
    "rate_limit_exceeded": Kind.RATE_LIMIT,
    "rate_limit_error": Kind.RATE_LIMIT,
    "rate_limit_reached_error": Kind.RATE_LIMIT,
    "ratelimitreached": Kind.RATE_LIMIT,
    "too_many_requests": Kind.RATE_LIMIT,
    "resource_exhausted": Kind.RATE_LIMIT,
    "throttlingexception": Kind.RATE_LIMIT,
    "tokens": Kind.RATE_LIMIT,
    "requests": Kind.RATE_LIMIT,
    "overloaded_error": Kind.OVERLOADED,
    "overloaded": Kind.OVERLOADED,
    "engine_overloaded": Kind.OVERLOADED,
    "engine_overloaded_error": Kind.OVERLOADED,
    "server_is_overloaded": Kind.OVERLOADED,
    "slow_down": Kind.OVERLOADED,
    "unavailable": Kind.OVERLOADED,
    "unavailable_error": Kind.OVERLOADED,
    "model_capacity_exhausted": Kind.OVERLOADED,
    "serviceunavailableexception": Kind.OVERLOADED,
    "modelnotreadyexception": Kind.OVERLOADED,
    "context_length_exceeded": Kind.CONTEXT_LENGTH,
    "context_window_exceeded": Kind.CONTEXT_LENGTH,
    "exceed_context_size_error": Kind.CONTEXT_LENGTH,
    "too_many_prompt_tokens": Kind.CONTEXT_LENGTH,
    "too_many_tokens": Kind.CONTEXT_LENGTH,
    "tokens_limit_reached": Kind.CONTEXT_LENGTH,
    "model_max_prompt_tokens_exceeded": Kind.CONTEXT_LENGTH,
    "outofcontexterror": Kind.CONTEXT_LENGTH,
    "content_filter": Kind.CONTENT_FILTER,
    "content_policy_violation": Kind.CONTENT_FILTER,
    # The numbers of MiniMax, whose errors have the status 200 (platform.minimax.io/docs/api-reference/errorcode).
    "base_resp 1002": Kind.RATE_LIMIT,
    "base_resp 1004": Kind.AUTH,
    "base_resp 1008": Kind.QUOTA,
    "base_resp 1026": Kind.CONTENT_FILTER,
    "base_resp 1027": Kind.CONTENT_FILTER,
    "base_resp 1039": Kind.RATE_LIMIT,
    "base_resp 2013": Kind.BAD_REQUEST,
    "base_resp 2049": Kind.AUTH,
    "content_policy": Kind.CONTENT_FILTER,
    "responsibleaipolicyviolation": Kind.CONTENT_FILTER,
    "moderation_blocked": Kind.CONTENT_FILTER,
    "image_content_policy_violation": Kind.CONTENT_FILTER,
    "data_inspection_failed": Kind.CONTENT_FILTER,
    "request_too_large": Kind.TOO_LARGE,
    "payload_too_large": Kind.TOO_LARGE,
    "timeout": Kind.TIMEOUT,
    "timeout_error": Kind.TIMEOUT,
    "request_timeout": Kind.TIMEOUT,
    "deadline_exceeded": Kind.TIMEOUT,
    "modeltimeoutexception": Kind.TIMEOUT,
    "modelerrorexception": Kind.SERVER,
    "modelstreamerrorexception": Kind.SERVER,
}
"""Codes, types and exception names with one meaning for all providers, in lower case."""

WEAK_CODES: Mapping[str, Kind] = {
    "server_error": Kind.SERVER,
    "api_error": Kind.SERVER,
    "internal": Kind.SERVER,
    "internal_error": Kind.SERVER,
    "internal_server_error": Kind.SERVER,
    "internalserverexception": Kind.SERVER,
    "unknown": Kind.SERVER,
    "invalid_request_error": Kind.BAD_REQUEST,
    "invalid_argument": Kind.BAD_REQUEST,
    "failed_precondition": Kind.BAD_REQUEST,
    "bad_request": Kind.BAD_REQUEST,
    "badrequesterror": Kind.BAD_REQUEST,
    "invalid_prompt": Kind.BAD_REQUEST,
    "validationexception": Kind.BAD_REQUEST,
    "tool_use_failed": Kind.BAD_REQUEST,
    "previous_response_not_found": Kind.BAD_REQUEST,
}
"""Names that some providers use for every error. They count only if there is no status."""

STATUSES: Mapping[int, Kind] = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.PERMISSION,
    404: Kind.NOT_FOUND,
    408: Kind.TIMEOUT,
    413: Kind.TOO_LARGE,
    429: Kind.RATE_LIMIT,
    501: Kind.NOT_SERVED,
    503: Kind.OVERLOADED,
    504: Kind.TIMEOUT,
    529: Kind.OVERLOADED,
}


AUTH_SENTENCE = LatePattern(
    r"incorrect api key",
    r"invalid api key",
    r"api key not valid",
    r"api key is invalid",
    r"invalid x-api-key",
    r"authentication fails",
    r"authentication failed: please make sure your api key",
    r"no cookie auth",
    r"missing authentication header",
    r"security token included in the request",
    r"unregistered callers",
    r"invalid subscription key",
    r"no api key (?:found|provided)",
    r"you didn't provide an api key",
)
"""Some providers report a missing key as "permission denied"."""

SPENT_SENTENCE = LatePattern(
    r"balance is too low",
    r"requires more credits",
    r"insufficient (?:credits|balance|quota|funds)",
    r"spend(?:ing)? limit",
    r"(?:reached|exceeded) (?:your|its|the) (?:[\w-]{1,20} ){0,3}usage (?:limit|quota)",
    r"usage limit (?:has been )?reached",
    r"free usage exceeded",
    r"(?:out of|draw from your) extra usage",
    r"extra usage is required",
    r"free tier of the model has been exhausted",
    r"run out of available resources",
    r"models-per-day",
    r"too many tokens per day",
    r"余额不足",
    r"使用上限",
)
"""Some providers report what is spent as "permission denied" or as too many requests. Waiting a little is in vain."""

SENTENCES: tuple[tuple[LatePattern, Kind], ...] = (
    (AUTH_SENTENCE, Kind.AUTH),
    (SPENT_SENTENCE, Kind.QUOTA),
    (LatePattern(r"exceeded your current quota"), Kind.QUOTA),
    (
        LatePattern(
            r"rate limit",
            r"too many requests",
            r"(?:tokens|requests) per minute",
            r"request rate increased too quickly",
            r"total request limit reached",
        ),
        Kind.RATE_LIMIT,
    ),
    (
        LatePattern(
            r"\bmodel\b.{0,200}? does not exist",
            r"is not a valid model",
            r"\bmodel not found",
            r"\bmodel '[^']*' (?:not found|was removed)",
            r"^invalid model: ",
            r"provided model identifier is invalid",
            r"supported api model names are",
            r"^models/\S+ is not found",
            r"end of its life",
            r"has been deprecated, learn more",
        ),
        Kind.NOT_FOUND,
    ),
    (
        LatePattern(
            r"content management policy",
            r"content[ _-]filter",
            r"flagged (?:as|by|for)",
            r"safety (?:system|policies|settings|reasons)",
            r"output blocked by",
            r"usage policy",
            r"violates usage guidelines",
            r"content exists risk",
            r"considered high risk",
        ),
        Kind.CONTENT_FILTER,
    ),
    (
        LatePattern(
            r"\boverloaded\b",
            r"at capacity",
            r"no (?:healthy|available) (?:upstream|provider)",
            r"experiencing high demand",
            r"model is temporarily busy",
            r"degraded function cannot be invoked",
        ),
        Kind.OVERLOADED,
    ),
    (LatePattern(r"(?:image|audio|video) input is not supported"), Kind.BAD_REQUEST),
    (
        LatePattern(
            r"request (?:entity |body )?(?:is )?too large", r"payload too large", r"payload size exceeds the limit"
        ),
        Kind.TOO_LARGE,
    ),
    (LatePattern(r"\btimed? ?out\b"), Kind.TIMEOUT),
)
"""Sentences in the order in which they are tried."""

_N = r"(?P<tokens>[\d,]+)"
_L = r"(?P<limit>[\d,]+)"

CONTEXT: tuple[LatePattern, ...] = tuple(
    LatePattern(sentence, flags=re.DOTALL)
    for sentence in (
        rf"prompt is too long: {_N} tokens > {_L} maximum",
        rf"maximum context length is {_L} tokens.{{0,80}}?prompt contains (?:at least )?{_N} (?:input )?tokens",
        rf"maximum context length is {_L} tokens.{{0,80}}?(?:resulted in|requested)(?: about)? {_N}",
        rf"input token count \(?{_N}\)? exceeds the maximum number of tokens allowed \(?{_L}",
        rf"input token count exceeds the maximum number of tokens allowed \(?{_L}",
        rf"request \({_N} tokens\) exceeds the available context size \({_L} tokens",
        rf"maximum prompt length is {_L} but the request contains {_N} tokens",
        rf"exceeded model token limit: {_L} \(requested: {_N}\)",
        rf"current length is {_N} while limit is {_L}",
        rf"input length and `max_tokens` exceed context limit: {_N} \+ [\d,]+ > {_L}",
        rf"prompt contains {_N} tokens.{{0,60}}?too large for model with {_L} maximum context length",
        rf"input \({_N} tokens\) is longer than the model's context length \({_L} tokens",
        rf"range of input length should be \[1, ?{_L}\]",
        rf"maximum context length (?:is|of) {_L}",
        rf"too many tokens: size limit exceeded by.{{0,120}}?limit for this model is {_L}",
        rf"input length \(?{_N}\)? exceeds (?:the |model's )*maximum (?:allowed input length of|context length|length) "
        rf"\(?{_L}",
        rf"input token count is {_N} but model only supports up to {_L}",
        rf"max input tokens: {_L}, request input token count: {_N}",
        rf"number of input tokens {_N} cannot exceed the total tokens limit {_L}",
        rf"prompt token count of {_N} exceeds the limit of {_L}",
        rf"prompt has {_N} tokens?, but the configured context size is {_L}",
        rf"prompt \(length {_N}\) is longer than the maximum model length of {_L}",
        rf"keep the first {_N} tokens.{{0,80}}?loaded with context length of only {_L} tokens",
        rf"maximum output tokens \({_N}\) exceeded this model context window limit \({_L}\)",
        rf"input tokens exceed the configured limit of {_L} tokens.{{0,40}}?resulted in {_N} tokens",
        rf"max_total_tokens \({_N}\) must be less than or equal to max_seq_len \({_L}\)",
        rf"tokens \+ `max_new_tokens` must be <= {_L}\. given: {_N} `inputs` tokens",
        rf"request body too large for [\w./-]{{1,60}} model\. max size: {_L} tokens",
        rf"longer than the maximum model length of {_L}",
        r"max_(?:completion_)?tokens must be at least 1, got -\d\d",
        r"prompt is too long",
        r"prompt exceeds max length",
        r"input token length too long",
        r"tokens in request more than max tokens allowed",
        r"tokens of image and text exceed max message tokens",
        r"context size has been exceeded",
        r"prompt too long; exceeded max context length",
        r"prompt is longer than the context length",
        r"exceeds? the context window",
        r"context window exceeds limit",
        r"input is too long for requested model",
        r"input tokens exceeded",
        r"too many tokens: size limit exceeded",
        r"total length of all messages is too long",
        r"reduce the length of the (?:messages|prompt|input)",
        r"greater than the context length",
        r"exceeds? (?:the )?(?:model's )?(?:maximum|max|available) context",
    )
)
"""Sentences for a conversation that is too long. The first ones contain its length."""

_I, _M = r"(?P<input>[\d,]+)", r"(?P<answer>[\d,]+)"

OVERFLOW: tuple[LatePattern, ...] = tuple(
    LatePattern(sentence, flags=re.DOTALL)
    for sentence in (
        rf"input length and `max_tokens` exceed context limit: {_I} \+ {_M} > {_L}",
        rf"maximum context length is {_L} tokens.{{0,80}}?\({_I} (?:in the messages|of text input),? "
        rf"(?:(?P<more>[\d,]+) (?:in the functions|of tool input),? )?(?:and )?{_M} in the (?:completion|output)\)",
        rf"max_(?:completion_)?tokens'? is too large: {_M}\..{{0,40}}?maximum context length is {_L} tokens and your "
        rf"request has {_I} input tokens",
        rf"tokens \+ `max_new_tokens` must be <= {_L}\. Given: {_I} `inputs` tokens and {_M} `max_new_tokens`",
    )
)
"""Sentences that tell the tokens of a conversation apart from the room that is asked for its answer."""

_MOST_READ = 4096
_END_READ = 1024


def cut_matched_part(message: str) -> str:
    """What is searched of a provider's message: its beginning, and of a long one its end.

    A sentence that we know stands there. Between them are the values that it complains about.
    """
    if len(message) <= _MOST_READ:
        return message
    return f"{message[: _MOST_READ - _END_READ]} ... {message[-_END_READ:]}"


FORM_SENTENCE = LatePattern(
    r"\b(?:(?:Type|Key|Value|Attribute|Index|Undefined|Template|TemplateSyntax|Validation|JSONDecode)Error\b|NoneType\b"
    r"|jinja|chat.template|unmarshal|deseriali[sz]e|must (?:be|have|contain|alternate)\b"
    r"|is not (?:supported|callable)\b"
    r"|(?:invalid|unknown|unexpected|unsupported) (?:type|value|role|message|content|field|key|param)"
    r"|can only concatenate\b|(?:not|non) (?:iterable|subscriptable)\b)",
)
"""What servers say with status 500 when their code meets a form that it does not expect, such as the code of a chat
template."""
