"""Refusals of every shape, read into one closed set of kinds."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import orjson
import pytest
from tests.corpus import exchanges

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.failures import FailureKind as Kind
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.client_failures import render_failure
from dragoman.wire.error_bodies import UNREADABLE, parse_failure

# Every recorded refusal by its id; those that are not named are bad requests.
RECORDED = {
    Kind.NOT_FOUND: """
        0260ef330eeae69c 090820004129cc3a 0d97a2ee9cd24cc8 1abb5499e422a931 1bb5e9ed2ba38046 2f06d97565b22a3f
        3eaa3fc7b9ef045c 420991448de61723 45c6b108d4f3f2f8 4986820b24b0341c 58d130cb9d77e08c 58e6581084f9cd14
        62bb6928f0f00d45 65ef1fedb1165c9a 6c97e3aca7be938d 77ffcb574be66d42 7c77e89fcc1a6e9a 88261c58dc547672
        883bbfe9276fded9 8dc122a40db16ecb 8f31d63dfad72a85 921ad73c13ad812d 94491fdcc76cc461 985822c3200459d3
        9b26f4a174727e62 a286741d6a6316a0 a3319023b8aedffc b1621f63d27ab2da b793a7720ab3f2a8 b83bba4575a5557c
        bce0a24f92e64f35 bd57a98746d5d985 bf19d44b1904e81b c3497101205ca497 c9fee58f05894ead cb7b1e0147c3e693
        d2ed6948f7c5ee2f e724f33be6a049fd eb8b2dd91f14d295 f03807e6ee0eb479 f779940816ffa967 fb71229f0b6cd870
    """,
    Kind.AUTH: """
        078a08204251cc0e 0cbc8af6c6007fa4 0d7af8093183c67d 130354662860f4ea 14e578ae4392203e 16f30f6a353e5997
        2556faa1f748b7d9 26b0f1b6d350f94a 26ed799ccf2dd27a 2edbaa615a8c9be3 3c0db5aed54f0e1b 429a0ce2c24032b3
        47cf2f951c7675f4 52b0c3b29f94398b 53c04057e3748941 5439354ac6769d71 7ec25f086bede403 8d04e95dabffe6bf
        8e57fa214ff5f91a 8e88a550c63ee091 98fb3ffe769f9719 9d69fb6b419954a4 a24c1577adc37fc2 a521f9f06b4f2a4d
        b54efa2940d6b73d c2004420b0b9ebdd c3089dc8870a4946 d00da5b374962392 dd040b703ea4cffc e10794a988bc5bf5
        ebc6baf45b995b53 ed3974d4133e7a2e
    """,
    Kind.PERMISSION: """
        1bae76edbfa8bcfe 5094961b4439e67e 6d8a6fca9fd25048 9564ed641d9c0053 a436038f17b93662
    """,
    Kind.CONTEXT_LENGTH: """
        4bb3094781c25f2a bf6c30c8783dab2c
    """,
    Kind.SERVER: """
        a07d663b173a452c
    """,
    Kind.RATE_LIMIT: """
        58cbea5475c6009d b95b1b40e32371ca
    """,
    Kind.QUOTA: """
        729d884b8bf558ae
    """,
}


def test_every_recorded_refusal_is_the_kind_it_is() -> None:
    kinds = {identity: kind for kind, ids in RECORDED.items() for identity in ids.split()}
    count: Counter[str] = Counter()
    for exchange in exchanges("errors.jsonl"):
        response = exchange["response"]
        body = response["body"] if isinstance(response["body"], str) else json.dumps(response["body"])
        failure = parse_failure(response["status"], response["headers"], body.encode())
        if response["status"] >= 400:
            assert failure.kind is kinds.get(exchange["id"], Kind.BAD_REQUEST), (exchange["id"], failure)
            assert failure.message in body.encode().decode("unicode_escape", "replace") or failure.message in body
            count[failure.kind] += 1
    print(f"\n{sum(count.values())} recorded refusals: {dict(count)}")
    assert sum(count.values()) == 132


def wrapped(**error: Any) -> bytes:
    return orjson.dumps({"error": error})


NESTED = orjson.dumps({"error": {"message": "the very words", "code": 429, "status": "RESOURCE_EXHAUSTED"}}).decode()

MESSAGES = [
    ("OpenAI", wrapped(message="the very words", type="t", param="p", code="c")),
    ("Anthropic", b'{"type":"error","error":{"type":"api_error","message":"the very words"},"request_id":"r"}'),
    ("a list", b'[{"error":{"code":400,"message":"the very words","status":"INVALID_ARGUMENT"}}]'),
    ("a bare sentence in error", b'{"error":"the very words"}'),
    ("a code beside it", b'{"code":"invalid-argument","error":"the very words"}'),
    ("flat", b'{"message":"the very words","type":"t","code":"c"}'),
    ("flat, by another name", b'{"object":"error","message":"the very words","raw_status_code":400}'),
    ("detail", b'{"detail":"the very words"}'),
    ("faults of a validator", b'{"detail":[{"loc":["body","x"],"msg":"the very words"}]}'),
    ("raw text of the upstream", wrapped(message="Provider returned error", metadata={"raw": NESTED})),
    ("raw text that says the same", wrapped(message="the very words", metadata={"raw": NESTED})),
    ("raw plain text", wrapped(message="Provider returned error", metadata={"raw": "the very words"})),
    ("raw object", wrapped(message="Provider returned error", metadata={"raw": {"message": "the very words"}})),
    ("a body as the message", wrapped(message=NESTED)),
    ("a body behind a prefix", wrapped(message="litellm.BadRequestError: x - " + NESTED)),
    ("a page", b"<html><head><title>the very words</title></head><body>nginx</body></html>"),
    ("a page without a title", b"<!DOCTYPE html><style>a{}</style><p>the very&#32;words</p>"),
    ("plain text", b"the very words"),
    ("an event", b'event: error\ndata: {"error":{"message":"the very words"}}\n\n'),
    ("a failed response", b'{"type":"response.failed","response":{"error":{"code":"c","message":"the very words"}}}'),
    ("a flat event", b'{"type":"error","sequence_number":1,"code":"c","message":"the very words"}'),
]


@pytest.mark.parametrize(("name", "body"), MESSAGES, ids=[row[0] for row in MESSAGES])
def test_the_innermost_words_are_kept(name: str, body: bytes) -> None:
    failure = parse_failure(400, {}, body)
    assert failure.message.removeprefix("body.x: ") == "the very words"
    assert failure.raw == body


def test_json_in_which_there_is_no_sentence_is_kept_whole() -> None:
    raw = '{"reason_of_the_upstream": 7}'
    assert parse_failure(400, {}, wrapped(message="Provider returned error", metadata={"raw": raw})).message == raw


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"   "])
def test_E5_nothing_to_read_has_a_text_too(body: bytes) -> None:
    assert parse_failure(500, {}, body).message in (UNREADABLE, body.decode())


KINDS = [
    (429, {}, wrapped(message="Rate limit reached", code="rate_limit_exceeded"), Kind.RATE_LIMIT),
    (429, {}, wrapped(message="You exceeded your current quota", code="insufficient_quota"), Kind.QUOTA),
    (402, {}, wrapped(message="This request requires more credits", code=402), Kind.QUOTA),
    (
        400,
        {},
        wrapped(message="Your credit balance is too low to access the API", type="invalid_request_error"),
        Kind.QUOTA,
    ),
    (529, {}, wrapped(message="Overloaded", type="overloaded_error"), Kind.OVERLOADED),
    (503, {}, b"no healthy upstream", Kind.OVERLOADED),
    (504, {}, b"<html><h1>504 Gateway Time-out</h1></html>", Kind.TIMEOUT),
    (502, {}, b"bad gateway", Kind.SERVER),
    (413, {}, wrapped(message="Request too large", type="request_too_large"), Kind.TOO_LARGE),
    (
        400,
        {},
        wrapped(
            message="The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            code="content_filter",
        ),
        Kind.CONTENT_FILTER,
    ),
    (403, {}, wrapped(message="Input was flagged by moderation", code=403), Kind.CONTENT_FILTER),
    (403, {}, wrapped(message="Method doesn't allow unregistered callers", status="PERMISSION_DENIED"), Kind.AUTH),
    (
        400,
        {"x-amzn-errortype": "ThrottlingException:http://x"},
        b'{"message":"Too many tokens, wait"}',
        Kind.RATE_LIMIT,
    ),
    (424, {"x-amzn-errortype": "ModelStreamErrorException"}, b'{"message":"Retry your request."}', Kind.SERVER),
    (424, {"x-amzn-errortype": "ModelErrorException"}, b'{"message":"The model failed."}', Kind.SERVER),
    (424, {}, wrapped(message="Missing required parameter: 'x'."), Kind.BAD_REQUEST),
    (429, {}, wrapped(message="No credits left", code="credit_balance_exhausted"), Kind.QUOTA),
    (429, {}, wrapped(message="Not in your plan", type="usage_not_included"), Kind.QUOTA),
    (200, {}, wrapped(message="Provider returned error", code=429), Kind.RATE_LIMIT),
    (200, {}, wrapped(message="x", type="overloaded_error"), Kind.OVERLOADED),
    (200, {}, wrapped(message="x", type="invalid_request_error"), Kind.BAD_REQUEST),
    (200, {}, wrapped(message="x"), Kind.SERVER),
    (422, {}, wrapped(message="Extra inputs are not permitted"), Kind.BAD_REQUEST),
    (
        429,
        {},
        wrapped(
            message="Quota exceeded",
            status="RESOURCE_EXHAUSTED",
            details=[{"violations": [{"quotaId": "GenerateRequestsPerDay-Free"}]}],
        ),
        Kind.QUOTA,
    ),
]


SAYS: list[tuple[Kind, list[tuple[int, str, dict[str, Any]]]]] = [
    (
        Kind.QUOTA,
        [
            (400, "You have reached your specified API usage limits. You will regain access on 2026-04-01.", {}),
            (400, "You're out of extra usage. Add more at claude.ai/settings/usage and keep going.", {}),
            (400, "Third-party apps now draw from your extra usage, not your plan limits.", {}),
            (429, "Extra usage is required for long context requests.", {"type": "rate_limit_error"}),
            (429, "[1113][Insufficient balance or no resource package.]", {"type": "rate_limit_error"}),
            (429, "余额不足或无可用资源包,请充值。", {"code": "1113"}),
            (429, "已达到 5 小时的使用上限。您的限额将在 2026-08-25 07:41:44 重置。", {"code": "1308"}),
            (429, "Usage limit reached for 5 hour. Your limit will reset at 2026-09-04 19:01:25", {"code": "1308"}),
            (429, "You have exceeded the 5-hour usage quota. It will reset at 2026-07-30 16:11:46 +0800 CST.", {}),
            (403, "You've reached your usage limit for this billing cycle.", {"type": "permission_error"}),
            (403, "You have either run out of available resources or do not have an active Grok subscription.", {}),
            (400, "The free tier of the model has been exhausted.", {}),
            (403, "The free tier of the model has been exhausted.", {"code": "AllocationQuota.FreeTierOnly"}),
            (429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 requests", {"code": 429}),
            (429, "Rate limit exceeded. Please try again later.", {"type": "FreeUsageLimitError"}),
            (429, "Free usage exceeded, add credits https://opencode.ai/zen", {}),
            (429, "you've reached your hourly usage limit, please wait or upgrade to continue", {}),
            (429, "you (ae2055838) have reached your session usage limit, upgrade for higher limits", {}),
            (429, "Too many tokens per day, please wait before trying again.", {"type": "ThrottlingException"}),
            (404, "Model 'x' requires available credits. Your account balance is too low to use paid models", {}),
            (402, "API key USD spend limit exceeded.", {}),
            (429, "You have no quota", {"code": "quota_exceeded"}),
            (
                429,
                "Individual quota reached. Resets in 9h22m20s.",
                {"status": "RESOURCE_EXHAUSTED", "details": [{"reason": "QUOTA_EXHAUSTED"}]},
            ),
        ],
    ),
    (
        Kind.RATE_LIMIT,
        [
            (500, "ResourceExhausted: Worker local total request limit reached (32/32)", {}),
            (400, "Upstream error from Alibaba: Request rate increased too quickly.", {}),
            (429, "This request would exceed your account's rate limit.", {"type": "rate_limit_error"}),
            (429, "Too many tokens, please wait before trying again.", {"type": "ThrottlingException"}),
            (429, "You exceeded your current quota. Please retry in 11.6s.", {"status": "RESOURCE_EXHAUSTED"}),
            (429, "Rate limit reached on tokens per day (TPD). Please try again in 9m38.016s.", {"type": "tokens"}),
            (429, "Sorry, you have exceeded your Copilot token usage.", {"code": "rate_limited"}),
            (429, "Tokens per minute limit exceeded - too many tokens processed.", {}),
        ],
    ),
    (
        Kind.OVERLOADED,
        [
            (200, "This model is currently experiencing high demand. Please try again later.", {}),
            (400, "The model is temporarily busy. Please try again in a moment.", {}),
            (400, "Selected model is at capacity. Please try a different model.", {}),
            (400, "Function id '87ea0ddc': DEGRADED function cannot be invoked", {}),
            (
                429,
                "No capacity available for model gemini-3-pro-preview on the server",
                {"status": "RESOURCE_EXHAUSTED", "details": [{"reason": "MODEL_CAPACITY_EXHAUSTED"}]},
            ),
        ],
    ),
    (
        Kind.CONTENT_FILTER,
        [
            (400, "Content Exists Risk", {"code": "invalid_request_error"}),
            (400, "The request was rejected because it was considered high risk", {}),
            (403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO", {}),
            (
                200,
                "Invalid prompt: we've limited access to this content for safety reasons.",
                {"code": "invalid_prompt"},
            ),
            (
                400,
                "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
                {"code": "invalid_prompt"},
            ),
        ],
    ),
    (
        Kind.BAD_REQUEST,
        [
            (400, "invalid params, tool result's tool id(c_1) not found (2013)", {"code": "invalid_prompt"}),
            (400, "max_tokens exceeds the usage of this model; see the usage guidelines", {}),
        ],
    ),
    (
        Kind.NOT_FOUND,
        [(400, "The requested model is not supported.", {"code": "model_not_supported", "param": "model"})],
    ),
    (Kind.PERMISSION, [(403, "this model requires a subscription, upgrade for access", {"type": "permission_error"})]),
]


@pytest.mark.parametrize(("kind", "said"), SAYS, ids=[row[0] for row in SAYS])
def test_what_providers_of_2025_and_2026_say(kind: Kind, said: list[tuple[int, str, dict[str, Any]]]) -> None:
    for status, message, more in said:
        assert parse_failure(status, {}, wrapped(message=message, **more)).kind is kind, message


@pytest.mark.parametrize(("status", "headers", "body", "kind"), KINDS)
def test_kinds(status: int, headers: dict[str, str], body: bytes, kind: Kind) -> None:
    assert parse_failure(status, headers, body).kind is kind


CONTEXT = [
    ("prompt is too long: 213462 tokens > 200000 maximum", 213462, 200000),
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 9000, 8192),
    (
        "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens",
        1250025,
        1048565,
    ),
    (
        "This endpoint's maximum context length is 200000 tokens. However, you requested about 2500021 tokens",
        2500021,
        200000,
    ),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576),
    ("The input token count exceeds the maximum number of tokens allowed 1048576.", None, 1048576),
    ("request (2009 tokens) exceeds the available context size (512 tokens), try increasing it", 2009, 512),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 537812, 131072),
    ("Your request exceeded model token limit: 8192 (requested: 9001)", 9001, 8192),
    ("Current length is 9000 while limit is 8192", 9000, 8192),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    ("Input is too long for requested model.", None, None),
    ("The model returned the following errors: Input Tokens Exceeded: x", None, None),
    ("too many tokens: size limit exceeded by 25836 tokens.", None, None),
    (
        "too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs."
        " The limit for this model is 288000 tokens.",
        None,
        288000,
    ),
    ("The total length of all messages is too long.", None, None),
    ("prompt too long; exceeded max context length by 9 tokens", None, None),
    ("the prompt is longer than the context length currently available to the model; shorten it", None, None),
    ("Please reduce the length of the messages or completion.", None, None),
    ("invalid params, context window exceeds limit", None, None),
    ("tokens to keep from the initial prompt is greater than the context length", None, None),
    ("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131393, 131040),
    ("Input length (265330) exceeds model's maximum context length (262144).", 265330, 262144),
    (
        "Unable to submit request because the input token count is 32825 but model only supports up to 32768. Reduce"
        " the input token count and try again.",
        32825,
        32768,
    ),
    ("Too many input tokens. Max input tokens: 128000, request input token count: 140000", 140000, 128000),
    ("the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model", 9000, 8192),
    ("prompt token count of 202345 exceeds the limit of 128000", 202345, 128000),
    ("Prompt has 256468 tokens, but the configured context size is 256000 tokens", 256468, 256000),
    ("The decoder prompt (length 12324) is longer than the maximum model length of 8192.", 12324, 8192),
    ("input is longer than the maximum model length of 32768", None, 32768),
    (
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context"
        " length of only 4096 tokens, which is not enough.",
        9000,
        4096,
    ),
    (
        "5021: The estimated number of input and maximum output tokens (8810) exceeded this model context window limit"
        " (8192)",
        8810,
        8192,
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280000 tokens.",
        280000,
        272000,
    ),
    ("max_total_tokens (53000) must be less than or equal to max_seq_len (32768)", 53000, 32768),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4500 `inputs` tokens and"
        " 512 `max_new_tokens`",
        4500,
        4096,
    ),
    ("Request body too large for gpt-4o model. Max size: 8000 tokens.", None, 8000),
    ("max_tokens must be at least 1, got -46771. (parameter=max_tokens, value=-46771)", None, None),
    ("Prompt exceeds max length", None, None),
    ("Input token length too long", None, None),
    ("tokens in request more than max tokens allowed", None, None),
    ("Total tokens of image and text exceed max message tokens. Request id: 1", None, None),
    ("Context size has been exceeded.", None, None),
    ("Your messages exceed the model's maximum context length", None, None),
]


@pytest.mark.parametrize(("message", "tokens", "limit"), CONTEXT)
def test_a_context_that_is_too_long_and_its_numbers(message: str, tokens: int | None, limit: int | None) -> None:
    """D12."""
    failure = parse_failure(400, {}, wrapped(message=message))
    assert (failure.kind, failure.tokens, failure.limit) == (Kind.CONTEXT_LENGTH, tokens, limit)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 100000000 > 128000, which is the maximum allowed number of output tokens for claude-sonnet-5",
        "max_tokens must be at least 1, got -1",
        "max_tokens must be at least 1, got 0",
        "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 90.",
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        "tools: maximum number of items 128 exceeded",
    ],
)
def test_other_limits_are_no_context_length(message: str) -> None:
    assert parse_failure(400, {}, wrapped(message=message)).kind is not Kind.CONTEXT_LENGTH


def test_a_rate_limit_that_speaks_of_tokens_is_no_context_length() -> None:
    message = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."
    assert parse_failure(429, {}, wrapped(message=message, code="rate_limit_exceeded")).kind is Kind.RATE_LIMIT


WAITS = [
    ({"retry-after-ms": "1500", "retry-after": "9"}, "x", 1.5),
    ({"Retry-After": "59"}, "x", 59.0),
    ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, "x", 30.0),
    ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, "x", None),
    ({}, "Please retry in 48.9s.", 48.9),
    ({}, "Please try again in 1.898s. Visit", 1.898),
    ({}, "Please try again in 6m0s.", 360.0),
    ({}, "Please try again in 120ms.", 0.12),
    ({}, "You have exhausted your capacity on this model. Your quota will reset after 4h28m20s.", 16100.0),
    ({}, "Individual quota reached. Resets in 9h22m20s.", 33740.0),
    ({}, "Weekly usage limit reached. Resets in 6hr 29min.", 23340.0),
    ({}, "Please retry after 20 seconds.", 20.0),
    ({}, "Usage limit reached. Access resets at 10:57 PM GMT-3.", None),
    ({}, "Try again in 5 months.", None),
    ({}, "Presets in 20s of film", None),
    ({}, "no hint", None),
    ({"retry-after": "soon"}, "x", None),
    ({"retry-after": "-5"}, "x", None),
]


@pytest.mark.parametrize(("headers", "message", "seconds"), WAITS)
def test_how_long_to_wait(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert parse_failure(429, headers, wrapped(message=message)).retry_after == seconds


def test_a_wait_in_the_details() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}]
    failure = parse_failure(429, {}, wrapped(message="x", status="RESOURCE_EXHAUSTED", details=details))
    assert failure.retry_after == 34.4


def test_a_wait_in_seconds_until_a_limit_is_reset() -> None:
    body = wrapped(message="The usage limit has been reached", type="usage_limit_reached", resets_in_seconds=13872)
    failure = parse_failure(429, {}, body)
    assert (failure.kind, failure.retry_after) == (Kind.QUOTA, 13872.0)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"error":' * 5000,
        b'{"error":{"message":{"a":[1]}}}',
        b'{"error":{"code":true,"message":7}}',
    ],
)
def test_garbage_is_a_failure_too(body: bytes) -> None:
    assert parse_failure(500, {}, body).kind is Kind.SERVER


HUGE = "9" * 4400


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, f"Please try again in {HUGE}s."),
        ({}, f"Please try again in {HUGE}h{HUGE}m{HUGE}s"),
        ({}, f"Please try again in {HUGE[:300]}ms"),
        ({}, f"maximum context length is {HUGE} tokens, however you requested {HUGE} tokens"),
        ({}, f"maximum context length is {HUGE[:400]} tokens. However, your messages resulted in {HUGE[:400]} tokens"),
        ({}, f'{{"error": {{"message": "x", "n_ctx": 1e400, "n_prompt_tokens": {HUGE[:300]}}}}}'),
        ({}, f'{{"error": {{"message": "x", "code": {HUGE[:300]}, "status_code": 99999}}}}'),
        ({}, f'{{"error": {{"message": "x", "resets_in_seconds": {HUGE[:300]}}}}}'),
        ({}, f'{{"error": {{"message": "x", "details": [{{"retryDelay": "{HUGE[:500]}s"}}]}}}}'),
        ({"retry-after": HUGE[:500]}, "slow down"),
        ({"retry-after": "1e308"}, "slow down"),
        ({"retry-after": "inf"}, "slow down"),
        ({"retry-after": "nan"}, "slow down"),
        ({"retry-after-ms": "1e308"}, "slow down"),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT", "date": "Mon, 01 Jan 0001 00:00:00 GMT"}, "slow down"),
        ({"retry-after": "Fri, 31 Dec 2026 23:59:59 -9999999999", "date": "Mon, 01 Jan 2026 00:00:00 GMT"}, "x"),
    ],
)
@pytest.mark.parametrize("status", [400, 429, 200, 0])
def test_no_number_in_an_error_breaks_its_reader_or_any_writer(status: int, headers: dict[str, str], body: str) -> None:
    found = parse_failure(status, headers, body.encode())
    assert found.retry_after is None or 0 <= found.retry_after <= 31 * 86_400
    assert found.status < 600
    assert max(found.tokens or 0, found.limit or 0) <= 10**15
    for dialect in DIALECT_NAMES:
        told = render_failure(dialect, found, AnswerContext(id="r"))
        assert max(map(len, told.headers.values()), default=0) < 100


REDIRECTS = {
    "https://login.example/?key=secret": "to login.example",
    "/v2/chat": "to another path of the same host",
    "https://[": "to another path of the same host",
    "": "and does not say where to",
}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("location", REDIRECTS)
def test_a_redirect_names_the_host_and_what_to_do(status: int, location: str) -> None:
    failure = parse_failure(status, {"Location": location}, b"<title>Moved</title>")
    assert f"redirects ({status}) {REDIRECTS[location]}." in failure.message
    assert "base_url" in failure.message
    assert "secret" not in failure.message
    assert (failure.kind, failure.status, failure.code) == (Kind.NOT_FOUND, 404, "redirect")


WAITS = {"0.5": "0.5s", "20": "20s", "90": "90s", "5400": "1h30m", "3661": "1h1m1s", str(10**12): "744h"}


@pytest.mark.parametrize("given", WAITS)
def test_a_wait_is_told_in_plain_words(given: str) -> None:
    failure = parse_failure(429, {"retry-after": given}, wrapped(message="Slow down."))
    told = render_failure("openai-chat", failure, AnswerContext(id="r"))
    assert f"Please try again in {WAITS[given]}.".encode() in told.body


@pytest.mark.parametrize(
    ("client", "said"),
    [("openai-responses", "Please retry in 20s. Please try again in 20s."), ("gemini", "Please retry in 20s.")],
)
def test_a_wait_in_another_vendors_words_is_told_in_the_clients(client: str, said: str) -> None:
    failure = parse_failure(429, {"retry-after": "20"}, wrapped(message="Slow. Please retry in 20s."))
    told = orjson.loads(render_failure(client, failure, AnswerContext(id="r")).body)
    assert told["error"]["message"] == f"Slow. {said}"


def test_geminis_delay_has_no_exponent() -> None:
    failure = parse_failure(429, {"retry-after": str(10**12)}, wrapped(message="Slow down."))
    assert b'"2678400s"' in render_failure("gemini", failure, AnswerContext(id="r")).body
