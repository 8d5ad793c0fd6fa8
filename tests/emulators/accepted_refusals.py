"""Recorded refusals that an emulator accepts by default, each with the reason: the table of the guide.

`python tests/emulators/accepted_refusals.py` prints it, from the recordings in `DRAGOMAN_CORPUS`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import orjson
from recordings import EMULATORS, exchanges

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ErrorResponse

_NATIVE = {
    ("anthropic", "anthropic"): "anthropic",
    ("anthropic", "anthropic-count"): "anthropic",
    ("bedrock", "bedrock-converse"): "bedrock",
    ("bedrock", "bedrock-count"): "bedrock",
    ("bedrock", "bedrock-invoke"): "bedrock",
    ("cohere", "cohere-chat"): "cohere",
    ("gemini", "gemini"): "gemini",
    ("openai", "openai-responses"): "openai-responses",
    ("vertex", "gemini"): "vertex",
}


class Reason(NamedTuple):
    """Why the emulator cannot know, and what makes it refuse all the same."""

    why: str
    instead: str = "–"


NO_EMULATOR = Reason("a service or an API without an emulator")
NO_REQUEST = Reason("only the answer was recorded")
KEY = Reason("a bad key: every key is good", "`x-emulate-fault: 401`")
MODEL = Reason("a model that there is not, or no longer: only slips of a letter are known", "`--models`")
ACCOUNT = Reason("the account's permissions or quota", "`--limits`, `x-emulate-fault: 429`")
STATE = Reason("what the service has stored: the emulator stores no answers")
NETWORK = Reason("a download that failed: the emulator downloads nothing")
TOKENS = Reason("the length in real tokens", "`--window`")
MADE = Reason("a mistake of the model, not of the request", "a script")
VISION = Reason("a local model without pictures", "`vision=False`")

_BY_WORDS = {
    "has been deprecated": MODEL,
    "reached the end of its life": MODEL,
    "does not exist": MODEL,
    "not a valid model": MODEL,
    "Invalid model": MODEL,
    "is not found for API version": MODEL,
    "not found, make sure the correct model": MODEL,
    "model identifier is invalid": MODEL,
    "Publisher Model": MODEL,
    "Not found the model": MODEL,
    "'message': 'model: ": MODEL,
    "API key": KEY,
    "api key": KEY,
    "API Key": KEY,
    "x-api-key": KEY,
    "unregistered callers": KEY,
    "Unauthorized": KEY,
    "security token": KEY,
    "authentication": KEY,
    "exceeded your current quota": ACCOUNT,
    "insufficient_quota": ACCOUNT,
    "don't have access": ACCOUNT,
    "Previous response": STATE,
    "Cannot fetch content": NETWORK,
    "download": NETWORK,
    "cannot make GET request": NETWORK,
    "unsupported_file": NETWORK,
    "context size": TOKENS,
    "too long": TOKENS,
    "token count": TOKENS,
    "context window": TOKENS,
    "tool_use_failed": MADE,
    "mmproj": VISION,
}


def accepted() -> tuple[Counter[Reason], list[str], int]:
    """The accepted refusals by reason, those without one, and how many are refused."""
    found: Counter[Reason] = Counter()
    unexplained, refused = [], 0
    for exchange in exchanges("errors.jsonl"):
        if exchange["response"]["status"] < 400:
            continue
        judged = _judge(exchange)
        if isinstance(judged, ErrorResponse):
            refused += 1
        elif judged is not None or (judged := _reason(exchange)) is not None:
            found[judged] += 1
        else:
            unexplained.append(f"{exchange['id']} {exchange['provider']}: {exchange['response']['body']}")
    return found, unexplained, refused


def _judge(exchange: dict[str, Any]) -> ErrorResponse | Reason | None:
    """The emulator's refusal, or the reason why it was not asked. None: it accepts."""
    origin, request = (exchange["provider"], exchange["dialect"]), exchange["request"]
    name = _NATIVE.get(origin) or (EMULATORS.get(origin[0]) if origin[1] == "openai-chat" else None)
    if name is None:
        return NO_EMULATOR
    if not request or not isinstance(request["body"], dict):
        return NO_REQUEST
    one = provider(name)
    path, _, query = request["path"].replace("//", "/").removeprefix("/bedrock").partition("?")
    if origin[1] == "openai-chat" and not one.operation_of("POST", path):
        path = one.example[0]
    if not one.operation_of("POST", unquote(path)):
        return NO_EMULATOR
    headers = {key.lower(): value for key, value in (request["headers"] or {}).items()}
    call = one.parse_request("POST", unquote(path), dict(parse_qsl(query)), headers, orjson.dumps(request["body"]))
    return call if isinstance(call, ErrorResponse) else one.judge(call)


def _reason(exchange: dict[str, Any]) -> Reason | None:
    said = str(exchange["response"]["body"])
    if exchange["response"]["status"] == 401:
        return KEY
    return next((reason for words, reason in _BY_WORDS.items() if words in said), None)


def table() -> str:
    """The rows of the guide."""
    found, _, refused = accepted()
    rows = [f"| {count} | {reason.why} | {reason.instead} |" for reason, count in found.most_common()]
    return "\n".join([f"{refused} of {refused + found.total()} are refused.", *rows])


if __name__ == "__main__":
    print(table())
    print(*accepted()[1], sep="\n")
