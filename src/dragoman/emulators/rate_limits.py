"""Rate limits: how much one key may use in a minute, and how each vendor tells it.

Limits are set by `--limits requests=50,tokens=30000` or in Python by `limits={"requests": 50}`. What is used comes back
little by little, a whole limit in a minute. Without set limits nothing is refused, and the headers tell those of
recorded answers. A vendor's `LimitForm` writes the headers of answers, and what a refusal says about waiting.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dragoman.emulators.faults import known_names
from dragoman.emulators.provider import ErrorResponse, Excess, Level, LimitForm, Standing

KINDS = ("requests", "tokens", "input", "output")
_MINUTE = 60.0
_MOST_KEYS = 10_000


class BadLimitError(ValueError):
    """A limit that cannot be parsed. The message names the mistake and what is known."""


def parse_limits(source: str | Mapping[str, int] | None) -> dict[str, int]:
    """Limits from `requests=50,tokens=30000`, or from a mapping."""
    if not source:
        return {}
    pairs = [piece.partition("=")[::2] for piece in source.split(",")] if isinstance(source, str) else source.items()
    limits = {}
    for name, value in pairs:
        kind = str(name).strip()
        if kind not in KINDS:
            raise BadLimitError(f'no limit is named "{kind}". {known_names(kind, KINDS)}')
        number = int(value) if str(value).strip().isdecimal() else 0
        if not 0 < number <= 10**12:
            raise BadLimitError(f'the limit "{kind}" must be a positive number, not "{value}"')
        limits[kind] = number
    return limits


class RateMeter:
    """What each key has used of the limits."""

    def __init__(self, limits: Mapping[str, int], clock: Callable[[], float]) -> None:
        self._limits = dict(limits)
        self._clock = clock
        self._used: OrderedDict[tuple[str, str, str], tuple[float, float]] = OrderedDict()

    def find_excess(self, account: str, model: str, prompt: int) -> Excess | None:
        """The limit that a request of so many tokens would exceed."""
        asked = {"requests": 1, "tokens": prompt, "input": prompt, "output": 1}
        for kind, limit in self._limits.items():
            used = self._count_used(account, model, kind)
            excess = used + asked[kind] - limit
            if excess > 0:
                return Excess(
                    kind, limit, round(used), asked[kind], excess * _MINUTE / limit, model=model, now=self._clock()
                )
        return None

    def count(self, account: str, model: str, prompt: int, output: int, usual: Mapping[str, int]) -> Standing:
        """Count an answered request. `usual` are the limits to tell of if none are set: they are never used up."""
        spent = {"requests": 1, "tokens": prompt + output, "input": prompt, "output": output}
        levels = {}
        for kind, limit in {**usual, **self._limits}.items():
            used: float = spent[kind]
            if kind in self._limits:
                used += self._count_used(account, model, kind)
                self._used[account, model, kind] = (used, self._clock())
                self._used.move_to_end((account, model, kind))
            levels[kind] = Level(limit, limit - used, used * _MINUTE / limit)
        while len(self._used) > _MOST_KEYS:
            self._used.popitem(last=False)
        return Standing(levels, self._clock(), model, prompt + output)

    def _count_used(self, account: str, model: str, kind: str) -> float:
        used, since = self._used.get((account, model, kind), (0.0, 0.0))
        return max(0.0, used - (self._clock() - since) * self._limits[kind] / _MINUTE)


def render_duration(seconds: float) -> str:
    """A duration as OpenAI writes it: `0s`, `6ms`, `8.64s`, `6m0s`."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms" if round(seconds * 1000) else "0s"
    if seconds < _MINUTE:
        return f"{round(seconds, 3):g}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s"


def _with_message(error: ErrorResponse, sentence: str, **more: Any) -> ErrorResponse:
    """The error with another sentence."""
    body = {**error.body, "error": {**error.body["error"], "message": sentence, **more}}
    return replace(error, body=body)


def _waiting(error: ErrorResponse, seconds: float, in_ms: bool = False) -> ErrorResponse:
    """The error with the time to wait: whole seconds, rounded up."""
    headers = {**error.headers, "retry-after": str(math.ceil(seconds))}
    if in_ms:
        headers["retry-after-ms"] = str(math.ceil(seconds * 1000))
    return replace(error, headers=headers)


EXHAUSTED_ON_VERTEX = (
    "Resource exhausted. Please try again later. Please refer to "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."
)
_ORGANIZATION = "00000000-0000-4000-8000-000000000000"
_CLAUDE_NAMES = {"requests": "requests", "input": "input-tokens", "output": "output-tokens", "tokens": "tokens"}


def _anthropic_headers(standing: Standing) -> dict[str, str]:
    """Tokens that are left are told in thousands. `tokens` are the input and the output together."""
    levels = dict(standing.levels)
    both = (levels["input"], levels["output"])
    whole = Level(sum(one.limit for one in both), sum(one.left for one in both), max(one.seconds for one in both))
    levels.setdefault("tokens", whole)
    headers: dict[str, str] = {}
    for kind, name in _CLAUDE_NAMES.items():
        level = levels[kind]
        left = level.remaining if kind == "requests" else min(level.limit, round(level.remaining, -3))
        headers |= _anthropic_level(name, level.limit, left, standing.now + level.seconds)
    return headers


def _anthropic_level(name: str, limit: int, left: int, until: float) -> dict[str, str]:
    reset = datetime.fromtimestamp(math.ceil(until), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    values = {"limit": str(limit), "remaining": str(left), "reset": reset}
    return {f"anthropic-ratelimit-{name}-{member}": value for member, value in values.items()}


def claude_refusal(limit: int, name: str) -> str:
    """Anthropic's sentence about a limit that a request would exceed."""
    return (
        f"This request would exceed the rate limit for your organization ({_ORGANIZATION}) of {limit:,} "
        f"{name.replace('-', ' ')} per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits. You "
        "can see the response headers for current usage. Please reduce the prompt length or the maximum tokens "
        "requested, or try again later. You may also contact sales at https://www.anthropic.com/contact-sales to "
        "discuss your options for a rate limit increase."
    )


def _refuse_in_claudes_words(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    sentence = claude_refusal(excess.limit, _CLAUDE_NAMES[excess.kind])
    return _waiting(_with_message(error, sentence), excess.seconds)


def _refuse_as_anthropic(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    name = _CLAUDE_NAMES[excess.kind]
    refused = _refuse_in_claudes_words(error, excess)
    shown = _anthropic_level(name, excess.limit, 0, excess.now + excess.seconds)
    return replace(refused, headers={**refused.headers, **shown})


def _openai_headers(standing: Standing) -> dict[str, str]:
    headers = {}
    for kind in ("requests", "tokens"):
        level = standing.levels[kind]
        headers[f"x-ratelimit-limit-{kind}"] = str(level.limit)
        headers[f"x-ratelimit-remaining-{kind}"] = str(level.remaining)
        headers[f"x-ratelimit-reset-{kind}"] = render_duration(level.seconds)
    return headers


def _refuse_as_openai(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    per = "requests per min (RPM)" if excess.kind == "requests" else "tokens per min (TPM)"
    sentence = (
        f"Rate limit reached for {excess.model} in organization org-emulated on {per}: {_numbers(excess)} Visit "
        "https://platform.openai.com/account/rate-limits to learn more."
    )
    return _waiting(_refuse_with_level(error, excess, sentence), excess.seconds, in_ms=True)


def _refuse_as_groq(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    per = "requests per minute (RPM)" if excess.kind == "requests" else "tokens per minute (TPM)"
    sentence = (
        f"Rate limit reached for model `{excess.model}` in organization `org_emulated` service tier `on_demand` on "
        f"{per}: {_numbers(excess)} Need more tokens? Upgrade to Dev Tier today at "
        "https://console.groq.com/settings/billing"
    )
    return _waiting(_refuse_with_level(error, excess, sentence), excess.seconds)


def _numbers(excess: Excess) -> str:
    return (
        f"Limit {excess.limit}, Used {excess.used}, Requested {excess.asked}. Please try again in "
        f"{render_duration(excess.seconds)}."
    )


def _refuse_with_level(error: ErrorResponse, excess: Excess, sentence: str) -> ErrorResponse:
    kind = "requests" if excess.kind == "requests" else "tokens"
    refused = _with_message(error, sentence, type=kind, code="rate_limit_exceeded")
    shown = {f"x-ratelimit-limit-{kind}": str(excess.limit), f"x-ratelimit-remaining-{kind}": "0"}
    shown[f"x-ratelimit-reset-{kind}"] = render_duration(excess.seconds)
    return replace(refused, headers={**refused.headers, **shown})


def _azure_headers(standing: Standing) -> dict[str, str]:
    """OpenAI's names, with seconds instead of durations."""
    headers = {"x-ratelimit-key": standing.model, "x-ratelimit-abusepenalty-active": "False"}
    for name, value in _openai_headers(standing).items():
        kind = name.rpartition("-")[2]
        headers[name] = str(math.floor(standing.levels[kind].seconds)) if "-reset-" in name else value
        headers[f"x-ratelimit-renewalperiod-{kind}"] = "60"
    return headers


def _refuse_as_azure(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    sentence = f"{error.body['error']['message']} Please retry after {math.ceil(excess.seconds)} seconds."
    return _waiting(_with_message(error, sentence), excess.seconds, in_ms=True)


def _without_reset(standing: Standing) -> dict[str, str]:
    return {name: value for name, value in _openai_headers(standing).items() if "-reset-" not in name}


def _mistral_headers(standing: Standing) -> dict[str, str]:
    headers = {"x-ratelimit-tokens-query-cost": str(standing.used)}
    for kind, name in (("requests", "req"), ("tokens", "tokens")):
        headers[f"x-ratelimit-limit-{name}-minute"] = str(standing.levels[kind].limit)
        headers[f"x-ratelimit-remaining-{name}-minute"] = str(standing.levels[kind].remaining)
    return headers


def _together_headers(standing: Standing) -> dict[str, str]:
    level = standing.levels["requests"]
    values = {"limit": level.limit, "remaining": level.remaining, "reset": math.ceil(level.seconds)}
    return {f"x-ratelimit-{name}": str(value) for name, value in values.items()}


def _refuse_with_seconds(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    return _waiting(error, excess.seconds)


def _refuse_as_openrouter(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    """The headers stand in the body as well."""
    reset = str(math.ceil(excess.seconds * 1000))
    shown = {"X-RateLimit-Limit": str(excess.limit), "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    metadata = {**(error.body["error"].get("metadata") or {}), "headers": shown}
    refused = _with_message(error, error.body["error"]["message"], metadata=metadata)
    return _waiting(replace(refused, headers={**refused.headers, **shown}), excess.seconds)


_QUOTAS = {
    "requests": ("generate_content_paid_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel-PaidTier"),
    "tokens": (
        "generate_content_paid_tier_input_token_count",
        "GenerateContentPaidTierInputTokensPerModelPerMinute",
    ),
}


def _retry_sentence(excess: Excess) -> str:
    seconds = f"{excess.seconds:.9f}".rstrip("0").rstrip(".")
    return f"Please retry in {seconds}s."


def _refuse_as_gemini_openai(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    """The body is a list."""
    only = replace(error, body=error.body[0])
    head = only.body["error"]["message"].partition("Please retry")[0]
    return replace(error, body=[_with_message(only, f"{head}{_retry_sentence(excess)}").body])


def _refuse_as_cohere(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    """The sentence about a key for trials has a number of requests alone."""
    if excess.kind != "requests":
        return error
    sentence = error.body["message"].replace("40 API calls", f"{excess.limit} API calls")
    return replace(error, body={**error.body, "message": sentence})


def _refuse_as_gemini(error: ErrorResponse, excess: Excess) -> ErrorResponse:
    """There are no headers: all is in the body."""
    metric, quota = _QUOTAS["requests" if excess.kind == "requests" else "tokens"]
    metric = f"generativelanguage.googleapis.com/{metric}"
    head = error.body["error"]["message"].partition("\n")[0]
    sentence = (
        f"{head}\n* Quota exceeded for metric: {metric}, limit: {excess.limit}, model: {excess.model}\n"
        f"{_retry_sentence(excess)}"
    )
    violation = {"quotaMetric": metric, "quotaId": quota, "quotaValue": str(excess.limit)}
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{math.ceil(excess.seconds)}s"},
    ]
    return _with_message(error, sentence, details=details)


ANTHROPIC = LimitForm(
    {"requests": 4_000, "input": 2_000_000, "output": 400_000},
    _anthropic_headers,
    _refuse_as_anthropic,
    counts_cached=False,
)
ANTHROPIC_COMPATIBLE = LimitForm(refuse=_refuse_in_claudes_words)
OPENAI = LimitForm({"requests": 10_000, "tokens": 30_000_000}, _openai_headers, _refuse_as_openai)
AZURE = LimitForm({"requests": 250, "tokens": 250_000}, _azure_headers, _refuse_as_azure)
GEMINI = LimitForm(refuse=_refuse_as_gemini)
COHERE = LimitForm(refuse=_refuse_as_cohere)
UNTOLD = LimitForm()
"""Of the others no header and no time to wait is recorded."""
CHAT_FORMS: Mapping[str, LimitForm] = {
    "openai": OPENAI,
    "azure-openai": AZURE,
    "xai": LimitForm({"requests": 1_800, "tokens": 10_000_000}, _without_reset),
    "gemini-openai": LimitForm(refuse=_refuse_as_gemini_openai),
    "groq": LimitForm({"requests": 1_000, "tokens": 70_000}, _openai_headers, _refuse_as_groq, counts_cached=False),
    "mistral": LimitForm({"requests": 60, "tokens": 500_000}, _mistral_headers),
    "together": LimitForm({"requests": 600}, _together_headers, _refuse_with_seconds),
    "openrouter": LimitForm(refuse=_refuse_as_openrouter),
}
"""Those of Chat services, by name."""
