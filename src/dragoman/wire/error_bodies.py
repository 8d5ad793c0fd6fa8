"""Parse the error body of any provider into a `Failure`.

One parser for all formats: OpenAI's object, Anthropic's, Google's (also in a list), flat objects, a bare sentence,
`detail`, a body inside a body as text, an HTML page, an event of a stream. It keeps the innermost message verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.conversation.failures import Failure, FailureKind, Overflow
from dragoman.wire import error_wording
from dragoman.wire.retry_after import find_wait, parse_seconds

UNREADABLE = "Unable to read error response from provider"

_MAX_RAW = 64 * 1024
_MAX_LOGGED = 4096
_MAX_SHOWN = 200
_MAX_DEPTH = 6
_MOST_DIGITS = 15
_MOST_TOKENS = 10**_MOST_DIGITS
_FLAT_KEYS = ("message", "Message", "msg", "detail", "error_message", "errorMessage", "title")
_CLASSIFYING = ("code", "type", "status", "error_type", "reason", "__type")
_TITLES = ("title", "h1")
_HIDDEN = ("script", "style")
_TAG_NAME = re.compile(r"/?[a-zA-Z0-9]{0,16}")
_LONGEST_NAME = 200
_MOST_NAMES = 100
_SPENT_TOO = (FailureKind.PERMISSION, FailureKind.RATE_LIMIT)
_NEVER_CONTEXT = frozenset({401, 402, 403, 404, 429})

_decode = msgspec.json.decode


def parse_failure(status: int, headers: Mapping[str, str], body: bytes, provider: str = "") -> Failure:
    """The failure in an answer. `status` 200 or 0 means an error inside a stream."""
    lowered = {name.lower(): value for name, value in headers.items()}
    if 300 <= status < 400:
        return _refuse_redirection(status, lowered.get("location", ""), body, provider)
    parser = _ErrorParser()
    parser.parse_text(_text(body))
    parser.parse_headers(lowered)
    message = parser.message or UNREADABLE
    status = status if status >= 400 else parser.status
    kind, tokens, limit = classify(status, tuple(parser.names), message)
    return Failure(
        kind=_quota_if_daily(kind, parser),
        message=message,
        status=status,
        code=parser.code,
        type=parser.type,
        param=parser.param,
        retry_after=find_wait(lowered, parser.retry_after, message),
        is_final=lowered.get("x-should-retry") == "false",
        tokens=parser.tokens or tokens,
        limit=parser.limit or limit,
        overflow=_find_overflow(message) if kind is FailureKind.CONTEXT_LENGTH else None,
        provider=parser.provider or provider,
        raw=body[:_MAX_RAW],
    )


def parse_no_answer(body: bytes, provider: str = "") -> Failure:
    """The failure in a body that is no answer, although its status says so: the error that it tells, if any."""
    failure = parse_failure(200, {}, body, provider)
    text = _strip(_text(body))
    return unreadable_answer(body) if text[:1] == "<" or failure.message in (text, UNREADABLE) else failure


def unreadable_answer(body: bytes) -> Failure:
    """The failure of a body that nobody can read as an answer. Often it is the page of a proxy or of a login."""
    text = _strip(_text(body[:_MAX_RAW]))
    message = f"The provider's answer cannot be read: {msgspec.json.encode(text[:_MAX_SHOWN]).decode()}"
    if text[:1] == "<":
        page = _find_page_text(text)[:_MAX_SHOWN].rstrip(". ")
        message = f"The provider answered with a page for browsers ({page}). Look whether base_url leads to its API."
    return Failure(FailureKind.BROKEN_STREAM, message, 502, raw=body[:2000])


def _refuse_redirection(status: int, location: str, body: bytes, provider: str) -> Failure:
    """An answer that names another address. Only its host is told: what stands behind it may hold a secret."""
    try:
        host = urlsplit(location).hostname
    except ValueError:
        host = None
    where = f"to {host}" if host else "to another path of the same host" if location else "and does not say where to"
    message = (
        f"The provider redirects ({status}) {where}. Redirects are not followed, since a key must not go to an address "
        "that nobody configured. Set the provider's base_url to the address that answers."
    )
    return Failure(FailureKind.NOT_FOUND, message, 404, "redirect", provider=provider, raw=body[:_MAX_RAW])


def readable(raw: bytes) -> str:
    """The body for people: its text, or a sentence if it is none."""
    return _text(raw) or (UNREADABLE if raw else "")


def _strip(text: str) -> str:
    return text.strip().lstrip("\ufeff").lstrip()


def _text(body: bytes) -> str:
    """The text of a body; empty if it is something else, such as a picture or a compressed page."""
    text = body.decode("utf-8", "replace")
    is_binary = "\0" in text or text.count("\ufffd") * 10 > len(text)
    return "" if is_binary else text


def provider_error(raw: bytes) -> Any:
    """The provider's own `error` object, for the log; of any other body the text, cut."""
    text = readable(raw)
    text = _find_event_data(text.strip()) if raw[:1] in b"de:" else text
    try:
        found = _decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text[:_MAX_LOGGED]
    if isinstance(found, list) and found:
        found = found[0]
    if isinstance(found, dict) and isinstance(found.get("error"), dict | str):
        found = found["error"]
    return found if len(raw) <= _MAX_LOGGED else text[:_MAX_LOGGED]


def classify(status: int, names: tuple[str, ...], message: str) -> tuple[FailureKind, int | None, int | None]:
    """The kind, and the numbers of a context-length refusal. `names` are codes and types, the most reliable first."""
    lowered = [name[:_LONGEST_NAME].lower() for name in names[:_MOST_NAMES]]
    message = error_wording.cut_matched_part(message)
    strong = next((error_wording.CODES[name] for name in lowered if name in error_wording.CODES), None)
    if strong is FailureKind.CONTEXT_LENGTH or (strong is None and status not in _NEVER_CONTEXT):
        for sentence in error_wording.CONTEXT:
            if found := sentence.search(message):
                numbers = found.groupdict()
                return FailureKind.CONTEXT_LENGTH, _number(numbers.get("tokens")), _number(numbers.get("limit"))
    if strong is FailureKind.PERMISSION and error_wording.AUTH_SENTENCE.search(message):
        return FailureKind.AUTH, None, None
    if strong in _SPENT_TOO and error_wording.SPENT_SENTENCE.search(message):
        return FailureKind.QUOTA, None, None
    if strong is not None:
        return strong, None, None
    return _find_kind(status, lowered, message), None, None


def _find_overflow(message: str) -> Overflow | None:
    """The numbers of a refusal, if the conversation itself would fit."""
    found = next(
        (match for one in error_wording.OVERFLOW if (match := one.search(error_wording.cut_matched_part(message)))),
        None,
    )
    if found is None:
        return None
    numbers = {name: _number(text) or 0 for name, text in found.groupdict().items()}
    given = numbers["input"] + numbers.get("more", 0)
    return Overflow(given, numbers["answer"], numbers["limit"]) if given < numbers["limit"] else None


def _find_kind(status: int, names: list[str], message: str) -> FailureKind:
    for sentence, kind in error_wording.SENTENCES:
        if sentence.search(message):
            return kind
    if status in error_wording.STATUSES:
        return error_wording.STATUSES[status]
    if status >= 500:
        return FailureKind.SERVER
    if status >= 400:
        return FailureKind.BAD_REQUEST
    return next(
        (error_wording.WEAK_CODES[name] for name in names if name in error_wording.WEAK_CODES), FailureKind.SERVER
    )


def _quota_if_daily(kind: FailureKind, parser: _ErrorParser) -> FailureKind:
    """A limit per day is a quota: waiting does not help."""
    if kind is FailureKind.RATE_LIMIT and any("PerDay" in quota for quota in parser.quotas):
        return FailureKind.QUOTA
    return kind


class _ErrorParser:
    """Collects what an error body says. What it finds later is nested deeper and more reliable."""

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

    def parse_text(self, text: str, depth: int = 0) -> None:
        text = _strip(text)
        if text.startswith(("event:", "data:", ":")):
            text = _find_event_data(text)
        found = _find_embedded(text) if depth < _MAX_DEPTH else None
        if found is not None:
            before, self.message = self.message, ""
            self.parse(found, depth + 1)
            if self.message:
                return
            self.message = before
        if text.startswith("<"):
            text = _find_page_text(text)
        self.message = text or self.message

    def parse(self, value: Any, depth: int) -> None:
        if isinstance(value, str):
            self.parse_text(value, depth)
        elif isinstance(value, list) and depth < _MAX_DEPTH:
            self._parse_list(value, depth)
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            self._parse_object(value, depth)

    def parse_headers(self, headers: Mapping[str, str]) -> None:
        name = headers.get("x-amzn-errortype", "").partition(":")[0]
        if name:
            self.names.insert(0, name)
            self.type = self.type or name

    def _parse_list(self, values: list[Any], depth: int) -> None:
        """Google's list of one, or the errors of a validator, one sentence each."""
        errors = [_validation_error(value) for value in values if isinstance(value, dict) and "msg" in value]
        if errors:
            self.message = "; ".join(errors)
        elif values:
            self.parse(values[0], depth + 1)

    def _parse_object(self, value: dict[str, Any], depth: int) -> None:
        self._parse_names(value)
        self._parse_numbers(value)
        for detail in _objects(value.get("details")):
            self._parse_detail(detail)
        for key in _FLAT_KEYS:
            if value.get(key):
                self.parse(value[key], depth + 1)
                break
        for key in ("error", "response", "errors"):
            if value.get(key):
                self.parse(value[key], depth + 1)
        if isinstance(status := value.get("base_resp"), dict) and status.get("status_code"):
            self.parse({"message": status.get("status_msg"), "code": f"base_resp {status['status_code']}"}, depth + 1)
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            self._parse_metadata(metadata, depth)

    def _parse_names(self, value: dict[str, Any]) -> None:
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

    def _parse_numbers(self, value: dict[str, Any]) -> None:
        for key in ("status_code", "raw_status_code", "http_code"):
            if isinstance(value.get(key), int) and 400 <= value[key] < 600:
                self.status = value[key]
        if seconds := _positive(value.get("resets_in_seconds")):
            self.retry_after = parse_seconds(str(seconds))
        self.tokens = _positive(value.get("n_prompt_tokens")) or self.tokens
        self.limit = _positive(value.get("n_ctx")) or self.limit

    def _parse_detail(self, detail: dict[str, Any]) -> None:
        delay = detail.get("retryDelay")
        if isinstance(delay, str):
            self.retry_after = parse_seconds(delay.removesuffix("s"))
        if isinstance(detail.get("reason"), str):
            self.names.insert(0, detail["reason"])
        self.quotas += [str(item.get("quotaId", "")) for item in _objects(detail.get("violations"))]

    def _parse_metadata(self, metadata: dict[str, Any], depth: int) -> None:
        """OpenRouter's metadata: the error of the provider behind it as text."""
        if isinstance(metadata.get("provider_name"), str):
            self.provider = metadata["provider_name"]
        if isinstance(metadata.get("error_type"), str):
            self.names.append(metadata["error_type"])
        if metadata.get("raw"):
            self.parse(metadata["raw"], depth + 1)


def _find_embedded(text: str) -> Any:
    """The JSON value that a text is or ends with."""
    start = re.search(r'[{\[]\s*[{"]', text)
    if start is None:
        return None
    try:
        found = _decode(text[start.start() :])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return found if start.start() == 0 or (isinstance(found, dict) and {"error", "message"} & found.keys()) else None


def _find_event_data(text: str) -> str:
    lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return "\n".join(lines) if lines else text


def _find_page_text(page: str) -> str:
    """The first title or heading of a page that says something, else all of its text."""
    titles: list[list[str]] = []
    everything: list[str] = []
    inside = ""
    for tag, text in _split_page(page[:_MAX_RAW]):
        everything.append(text)
        if tag in _TITLES:
            inside = tag
            titles.append([])
        elif tag == "/" + inside:
            inside = ""
        if inside:
            titles[-1].append(text)
    shown = (_plain_words(" ".join(title)) for title in titles)
    return next(filter(None, shown), "") or _plain_words(" ".join(everything))


def _split_page(page: str) -> Iterator[tuple[str, str]]:
    """The texts of a page, each with the name of the tag before it. It goes forward only: a page of opening tags costs
    no more than any other."""
    at, name = 0, ""
    while (start := page.find("<", at)) >= 0:
        yield name, page[at:start]
        name = _tag_name(page, start)
        end = page.find(">", _end_of_element(page, name, start) if name in _HIDDEN else start)
        at = end + 1 if end >= 0 else len(page)
    yield name, page[at:]


def _tag_name(page: str, start: int) -> str:
    found = _TAG_NAME.match(page, start + 1)
    return found[0].lower() if found is not None else ""


def _end_of_element(page: str, name: str, start: int) -> int:
    """Where the closing tag of a script or style sheet begins; the end of the page if there is none."""
    at = start
    while (at := page.find("</", at + 1)) >= 0:
        if _tag_name(page, at) == "/" + name:
            return at
    return len(page)


def _plain_words(text: str) -> str:
    return " ".join(unescape(text).split())[:2000]


def _validation_error(value: dict[str, Any]) -> str:
    place = value.get("loc")
    where = ".".join(str(step) for step in place) + ": " if isinstance(place, list) else ""
    return f"{where}{value['msg']}"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 < value <= _MOST_TOKENS else None


def _number(text: str | None) -> int | None:
    digits = text.replace(",", "") if text else ""
    return _positive(int(digits)) if digits and len(digits) <= _MOST_DIGITS else None
