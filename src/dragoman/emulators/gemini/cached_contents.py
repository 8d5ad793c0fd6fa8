"""Explicit caches: prompts that a client puts there once, and names in its requests from then on.

A cache holds system texts, tools and contents, belongs to one API key and one model, and is gone when its time is over.
What is charged for its storage is told by nobody, so nothing is counted but its tokens.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dragoman.emulators.chat.caching import gemini_policy
from dragoman.emulators.gemini.flavour import Flavour, GeminiRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.usage import count_tokens
from dragoman.emulators.wire import make_id

_HELD = ("systemInstruction", "tools", "toolConfig", "contents")
_BESIDE = ("systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config")
_USUAL_SECONDS = 3600.0
_MOST = 1_000
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_NAME = re.compile(r"/cachedContents/(?P<id>[^/:]+)$")


@dataclass(frozen=True, slots=True)
class CachedPrompt:
    """One cache."""

    name: str
    account: str
    """Who may use it: a digest of the API key."""
    model: str
    body: dict[str, Any]
    """What it holds, in the one spelling."""
    tokens: int
    created: float
    updated: float
    until: float
    title: str = ""

    def render(self) -> dict[str, Any]:
        """As the API shows it: without what it holds."""
        shown: dict[str, Any] = {
            "name": self.name,
            "model": self.model,
            "createTime": _moment(self.created),
            "updateTime": _moment(self.updated),
            "expireTime": _moment(self.until),
            "usageMetadata": {"totalTokenCount": self.tokens},
        }
        return shown | {"displayName": self.title} if self.title else shown


class CachedContents:
    """All caches of one emulator. The oldest go first."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._kept: OrderedDict[str, CachedPrompt] = OrderedDict()
        self._made = 0

    def serve(self, request: ReceivedRequest, body: dict[str, Any], account: str, now: float) -> dict[str, Any]:
        """The answer to one request to `cachedContents`. Raises GeminiRefusal."""
        if _NAME.search(request.path) is None:
            if request.method == "POST":
                return self._create(request.path, body, account, now).render()
            kept = [one for one in self._kept.values() if one.account == account and one.until > now]
            return {"cachedContents": [one.render() for one in kept]} if kept else {}
        found = self.find(request.path, account, now)
        if request.method == "DELETE":
            del self._kept[found.name]
            return {}
        if request.method == "PATCH":
            if not {*body} & {"ttl", "expireTime"} or {*body} - {"ttl", "expireTime", "name"}:
                raise GeminiRefusal("Only ttl or expireTime can be updated.")
            self._kept[found.name] = found = replace(found, updated=now, until=_end(body, now))
        return found.render()

    def _create(self, path: str, body: dict[str, Any], account: str, now: float) -> CachedPrompt:
        model = body.get("model")
        if not isinstance(model, str) or not model:
            raise GeminiRefusal("* CreateCachedContentRequest.cached_content.model: model is required\n")
        held = {name: body[name] for name in _HELD if body.get(name)}
        tokens = count_tokens([held[name] for name in held if name != "toolConfig"])
        least = gemini_policy(model.rpartition("/")[2]).minimum
        if tokens < least:
            raise GeminiRefusal(
                f"Cached content is too small. total_token_count={tokens}, min_total_token_count={least}"
            )
        self._made += 1
        place = path.split("/", 2)[2] if self._flavour.is_vertex else "cachedContents"
        name = f"{place}/{make_id('', 16, account, self._made)}"
        cached = CachedPrompt(
            name,
            account,
            model,
            body=held,
            tokens=tokens,
            created=now,
            updated=now,
            until=_end(body, now),
            title=str(body.get("displayName") or ""),
        )
        self._kept[name] = cached
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return cached

    def find(self, name: str, account: str, now: float) -> CachedPrompt:
        """The cache of this name. Raises GeminiRefusal if it is another's, is unknown or is gone."""
        identity = _NAME.search(f"/{name}")
        found = next((one for one in self._kept.values() if identity and one.name.endswith(identity[0][1:])), None)
        if found is None or found.account != account or found.until <= now:
            raise GeminiRefusal("CachedContent not found (or permission denied)", 403, "PERMISSION_DENIED")
        return found

    def put_in(self, request: ReceivedRequest, account: str, now: float) -> tuple[ReceivedRequest, int]:
        """The request with what its cache holds, and the tokens of that. Raises GeminiRefusal."""
        body: dict[str, Any] = request.body
        cached = self.find(body.get("cachedContent") or body["cached_content"], account, now)
        if cached.model.rpartition("/")[2] != request.model:
            raise GeminiRefusal(
                f"Model used by GenerateContent request (models/{request.model}) and CachedContent "
                f"({cached.model}) has to be the same."
            )
        contents = body.get("contents") or []
        given = contents if isinstance(contents, list) else [contents]
        whole = {**body, **cached.body, "contents": [*cached.body.get("contents", []), *given]}
        return replace(request, body=whole), cached.tokens


def names_cache(body: Any) -> bool:
    return isinstance(body, dict) and bool(body.get("cachedContent") or body.get("cached_content"))


def check_beside(body: dict[str, Any], flavour: Flavour) -> None:
    """What stands in a cache may not stand beside it. Raises GeminiRefusal."""
    if not names_cache(body) or not any(body.get(name) for name in _BESIDE):
        return
    if flavour.is_vertex:
        raise GeminiRefusal(
            "Tool config, tools and system instruction should not be set in the request when using cached content."
        )
    raise GeminiRefusal(
        "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config."
        "\n\nProposed fix: move those values to CachedContent from GenerateContent request."
    )


def _end(body: dict[str, Any], now: float) -> float:
    if isinstance(body.get("expireTime"), str):
        try:
            return datetime.fromisoformat(body["expireTime"]).timestamp()
        except ValueError:
            raise GeminiRefusal(f"Invalid value at 'cached_content.expire_time': {body['expireTime']}") from None
    ttl = body.get("ttl")
    if ttl is None:
        return now + _USUAL_SECONDS
    found = _DURATION.fullmatch(ttl) if isinstance(ttl, str) else None
    if found is None or not float(found[1]):
        raise GeminiRefusal("Invalid value at 'cached_content.ttl' (type.googleapis.com/google.protobuf.Duration)")
    return now + float(found[1])


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
