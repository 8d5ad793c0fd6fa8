"""A provider's refusal, whatever its shape, read into a `Failure`.

One reader for all: OpenAI's object, Anthropic's, Google's (also in a list), flat ones, a bare sentence, `detail`, a
body inside a body as text, an HTML page, an event of a stream. The innermost message is kept word for word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.wire.error_wording import AUTH_SENTENCE, CODES, CONTEXT, RETRY, SENTENCES, STATUSES, WEAK_CODES

UNREADABLE = "Unable to read error response from provider"

_KEPT = 64 * 1024
_DEPTH = 6
_FLAT_KEYS = ("message", "Message", "msg", "detail", "error_message", "errorMessage", "title")
_CLASSIFYING = ("code", "type", "status", "error_type", "reason", "__type")
_PAGE_TEXT = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.IGNORECASE | re.DOTALL)
_NEVER_CONTEXT = frozenset({401, 402, 403, 404, 429})

_decode = msgspec.json.decode


def read_failure(status: int, headers: Mapping[str, str], body: bytes, provider: str = "") -> Failure:
    """The failure that an answer tells. `status` 200 or 0 is an error inside a stream."""
    lowered = {name.lower(): value for name, value in headers.items()}
    said = _Said()
    said.hear_text(body.decode("utf-8", "replace"))
    said.hear_headers(lowered)
    message = said.message or UNREADABLE
    status = status if status >= 400 else said.status
    kind, tokens, limit = classify(status, tuple(said.names), message)
    return Failure(
        kind=_daily(kind, said),
        message=message,
        status=status,
        code=said.code,
        type=said.type,
        param=said.param,
        retry_after=_retry_after(lowered, said, message),
        tokens=said.tokens or tokens,
        limit=said.limit or limit,
        provider=provider or said.provider,
        raw=body[:_KEPT],
    )


def classify(status: int, names: tuple[str, ...], message: str) -> tuple[FailureKind, int | None, int | None]:
    """The kind, and the numbers of a context-length refusal. `names` are codes and types, the surest first."""
    lowered = [name.lower() for name in names]
    strong = next((CODES[name] for name in lowered if name in CODES), None)
    if strong is FailureKind.CONTEXT_LENGTH or (strong is None and status not in _NEVER_CONTEXT):
        for sentence in CONTEXT:
            if found := sentence.search(message):
                numbers = found.groupdict()
                return FailureKind.CONTEXT_LENGTH, _number(numbers.get("tokens")), _number(numbers.get("limit"))
    if strong is FailureKind.PERMISSION and AUTH_SENTENCE.search(message):
        return FailureKind.AUTH, None, None
    if strong is not None:
        return strong, None, None
    return _by_words(status, lowered, message), None, None


def _by_words(status: int, names: list[str], message: str) -> FailureKind:
    for sentence, kind in SENTENCES:
        if sentence.search(message):
            return kind
    if status in STATUSES:
        return STATUSES[status]
    if status >= 500:
        return FailureKind.SERVER
    if status >= 400:
        return FailureKind.BAD_REQUEST
    return next((WEAK_CODES[name] for name in names if name in WEAK_CODES), FailureKind.SERVER)


def _daily(kind: FailureKind, said: _Said) -> FailureKind:
    """A limit by the day is a quota: waiting for it is of no use."""
    if kind is FailureKind.RATE_LIMIT and any("PerDay" in quota for quota in said.quotas):
        return FailureKind.QUOTA
    return kind


class _Said:
    """What has been understood so far. What is heard later lies deeper and is surer."""

    def __init__(self) -> None:
        self.message = ""
        self.code = ""
        self.type = ""
        self.param = ""
        self.status = 0
        self.provider = ""
        self.names: list[str] = []
        self.quotas: list[str] = []
        self.retry_after: float | None = None
        self.tokens: int | None = None
        self.limit: int | None = None

    def hear_text(self, text: str, depth: int = 0) -> None:
        text = text.strip().lstrip("\ufeff")
        if text.startswith(("event:", "data:", ":")):
            text = _event_data(text)
        found = _embedded(text) if depth < _DEPTH else None
        if found is not None:
            before = self.message
            self.hear(found, depth + 1)
            if self.message != before:
                return
        if text.startswith("<"):
            text = _page_text(text)
        self.message = text or self.message

    def hear(self, value: Any, depth: int) -> None:
        if isinstance(value, str):
            self.hear_text(value, depth)
        elif isinstance(value, list):
            self._hear_list(value, depth)
        elif isinstance(value, dict) and depth < _DEPTH:
            self._hear_object(value, depth)

    def hear_headers(self, headers: Mapping[str, str]) -> None:
        name = headers.get("x-amzn-errortype", "").partition(":")[0]
        if name:
            self.names.insert(0, name)
            self.type = self.type or name

    def _hear_list(self, values: list[Any], depth: int) -> None:
        """Google's list of one, or the faults of a validator, one sentence each."""
        faults = [_fault(value) for value in values if isinstance(value, dict) and "msg" in value]
        if faults:
            self.message = "; ".join(faults)
        elif values:
            self.hear(values[0], depth + 1)

    def _hear_object(self, value: dict[str, Any], depth: int) -> None:
        self._hear_names(value)
        self._hear_numbers(value)
        for detail in _objects(value.get("details")):
            self._hear_detail(detail)
        for key in _FLAT_KEYS:
            if value.get(key):
                self.hear(value[key], depth + 1)
                break
        for key in ("error", "response", "errors"):
            if value.get(key):
                self.hear(value[key], depth + 1)
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            self._hear_metadata(metadata, depth)

    def _hear_names(self, value: dict[str, Any]) -> None:
        for key in reversed(_CLASSIFYING):
            name = value.get(key)
            if isinstance(name, str) and name and name != "error":
                self.names.insert(0, name)
            elif isinstance(name, int) and 400 <= name < 600:
                self.status = name
        if isinstance(value.get("code"), str):
            self.code = value["code"]
        for key in ("type", "status", "error_type"):
            if isinstance(value.get(key), str) and value[key] not in ("error", "response.failed", "failed"):
                self.type = value[key]
                break
        if isinstance(value.get("param"), str):
            self.param = value["param"]

    def _hear_numbers(self, value: dict[str, Any]) -> None:
        for key in ("status_code", "raw_status_code", "http_code"):
            if isinstance(value.get(key), int) and value[key] >= 400:
                self.status = value[key]
        self.tokens = _whole(value.get("n_prompt_tokens")) or self.tokens
        self.limit = _whole(value.get("n_ctx")) or self.limit

    def _hear_detail(self, detail: dict[str, Any]) -> None:
        delay = detail.get("retryDelay")
        if isinstance(delay, str):
            self.retry_after = _seconds(delay.removesuffix("s"))
        if isinstance(detail.get("reason"), str):
            self.names.insert(0, detail["reason"])
        self.quotas += [str(item.get("quotaId", "")) for item in _objects(detail.get("violations"))]

    def _hear_metadata(self, metadata: dict[str, Any], depth: int) -> None:
        """OpenRouter's: the upstream's own body as text."""
        if isinstance(metadata.get("provider_name"), str):
            self.provider = metadata["provider_name"]
        if isinstance(metadata.get("error_type"), str):
            self.names.append(metadata["error_type"])
        if metadata.get("raw"):
            self.hear(metadata["raw"], depth + 1)


def _embedded(text: str) -> Any:
    """The JSON that a text is, or that it ends with."""
    start = re.search(r'[{\[]\s*[{"]', text)
    if start is None:
        return None
    try:
        found = _decode(text[start.start() :])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return found if start.start() == 0 or (isinstance(found, dict) and {"error", "message"} & found.keys()) else None


def _event_data(text: str) -> str:
    lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return "\n".join(lines) if lines else text


def _page_text(page: str) -> str:
    titles = [unescape(_MARKUP.sub(" ", found[1])).strip() for found in _PAGE_TEXT.findall(page[:_KEPT])]
    text = next((title for title in titles if title), "") or unescape(_MARKUP.sub(" ", page[:_KEPT]))
    return " ".join(text.split())[:2000]


def _fault(value: dict[str, Any]) -> str:
    place = value.get("loc")
    where = ".".join(str(step) for step in place) + ": " if isinstance(place, list) else ""
    return f"{where}{value['msg']}"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _number(text: str | None) -> int | None:
    return int(text.replace(",", "")) if text and text.strip(",") else None


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _retry_after(headers: Mapping[str, str], said: _Said, message: str) -> float | None:
    """How long to wait: the headers first, as the official SDKs do, then the body."""
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    if value := headers.get("retry-after"):
        seconds = _seconds(value)
        return seconds if seconds is not None else _until(value, headers.get("date", ""))
    return said.retry_after if said.retry_after is not None else _asked_wait(message)


def _until(then: str, now: str) -> float | None:
    """The time from the answer's own date to the one named in it."""
    try:
        return max(0.0, (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds())
    except (TypeError, ValueError):
        return None


def _asked_wait(message: str) -> float | None:
    found = RETRY.search(message)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds, milliseconds = (float(found[unit] or 0) for unit in ("h", "m", "s", "ms"))
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
