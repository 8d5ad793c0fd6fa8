"""Putting a request before an emulated judge, without a socket, and comparing it with what the real one said."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson
from recordings import exchanges

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse, ReceivedRequest

# Recorded refusals that no judge of the request can foresee: words of the refusal, and the reason.
UNKNOWABLE = {
    "API key": "a bad key: every key is good here (`x-emulate-fault: 401` gives the words)",
    "x-api-key": "a bad key",
    "unregistered callers": "no key: every caller is good here",
    "exceeded your current quota": "the account's quota (`x-emulate-fault: 429`)",
    "Previous response with id": "what the service has stored: the emulator remembers nothing",
    "Cannot fetch content": "the service tried to download a URL and failed: that needs the network",
    "Unable to download": "the service tried to download a URL and failed: that needs the network",
    "unsupported_file": "the type of a file behind a URL: that needs the network",
    "prompt is too long": "counts tokens as only the real tokenizer can (`x-emulate-fault: context`)",
    "input token count": "counts tokens as only the real tokenizer can",
    "exceeds the context window": "counts tokens as only the real tokenizer can",
}
_ABOUT_MODEL = ("model: ", "does not exist", "is not found for API version", "Publisher Model")
_LEADING = 60


def received(
    judge: EmulatedProvider, path: str, body: Any, method: str = "POST", headers: dict[str, str] | None = None
) -> ReceivedRequest | ErrorResponse:
    """The request as the emulator takes it apart."""
    parts = urlsplit(path)
    named = {name.lower(): value for name, value in (headers or {}).items()}
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return judge.parse_request(method, parts.path, query, named, orjson.dumps(body))


def verdict(
    judge: EmulatedProvider, path: str, body: Any, method: str = "POST", headers: dict[str, str] | None = None
) -> ErrorResponse | None:
    """What the judge says; None is a yes."""
    call = received(judge, path, body, method, headers)
    return call if isinstance(call, ErrorResponse) else judge.judge(call)


def sentence_of(refused: ErrorResponse | None) -> str:
    """The sentence of a refusal; empty for a yes."""
    return "" if refused is None else str(refused.body["error"]["message"])


def _owned(judge: EmulatedProvider, exchange: dict[str, Any]) -> bool:
    """Whether there is a request with a body, at a path of this API (and not, say, of stored responses)."""
    request = exchange["request"]
    if not request or not isinstance(request["body"], dict):
        return False
    return judge.operation_of(request["method"], urlsplit(request["path"]).path) is not None


def _judged(judge: EmulatedProvider, exchange: dict[str, Any]) -> ErrorResponse | None:
    request = exchange["request"]
    return verdict(judge, request["path"], request["body"], request["method"], request["headers"])


def false_refusals(emulator: str, *files: str) -> tuple[int, list[str]]:
    """How many recorded successes there are, and those that the emulator would have refused."""
    judge = provider(emulator)
    count, wrong = 0, []
    for exchange in (exchange for name in files for exchange in exchanges(name)):
        if exchange["response"]["status"] >= 400 or not _owned(judge, exchange):
            continue
        count += 1
        said = _judged(judge, exchange)
        if said is not None:
            wrong.append(f"{exchange['id']}: {sentence_of(said)}")
    print(f"\n{emulator}: {count - len(wrong)} of {count} recorded successes accepted")
    return count, wrong


def misjudged(emulator: str, *origins: tuple[str, str]) -> tuple[int, list[str]]:
    """How many recorded refusals are repeated, and those that are not: same status, same leading words."""
    same, wrong, unknown = 0, [], Counter[str]()
    for exchange in exchanges("errors.jsonl"):
        response = exchange["response"]
        if (exchange["provider"], exchange["dialect"]) not in origins or response["status"] < 400:
            continue
        said = _sentence(response["body"])
        reason = _why_not(exchange, said, provider(emulator))
        if reason:
            unknown[reason] += 1
            continue
        models = ("another-model",) if any(mark in said for mark in _ABOUT_MODEL) else None
        got = _judged(provider(emulator, models=models), exchange)
        if got is not None and got.status == response["status"] and sentence_of(got)[:_LEADING] == said[:_LEADING]:
            same += 1
        else:
            wrong.append(
                f"{exchange['id']}: recorded {response['status']} {said[:90]!r}, got {sentence_of(got)[:90]!r}"
            )
    print(f"\n{emulator}: {same} recorded refusals repeated, {len(wrong)} not; not knowable: {dict(unknown)}")
    return same, wrong


def _sentence(body: Any) -> str:
    return str(body["error"]["message"]) if isinstance(body, dict) and "error" in body else str(body)


def _why_not(exchange: dict[str, Any], said: str, judge: EmulatedProvider) -> str | None:
    if not _owned(judge, exchange):
        return "no request was recorded, or it went to a path of another API"
    return next((reason for mark, reason in UNKNOWABLE.items() if mark in said), None)
