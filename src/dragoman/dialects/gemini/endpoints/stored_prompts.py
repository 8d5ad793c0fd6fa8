"""Gemini's explicit caches (`cachedContents`).

A cache ends before a turn of the user's own. Nobody has stated that a result may be sent whose call lies in the cache,
so the two are not parted.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.dialects.contracts.stored_prompts import PromptPieces

_HELD = ("systemInstruction", "tools", "toolConfig")
_NAME, _TURNS = "cachedContent", "contents"
_OTHER_SPELLINGS = frozenset({"system_instruction", "tool_config", "cached_content", _NAME})
_RESULTS = (b"functionResponse", b"function_response")
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_list = msgspec.json.Decoder(tuple[Raw, ...]).decode


class _CachedTurn(msgspec.Struct):
    role: str = "user"


class _Usage(msgspec.Struct, frozen=True, rename="camel"):
    total_token_count: int = 0


class _Cache(msgspec.Struct, rename="camel"):
    name: str
    usage_metadata: _Usage = _Usage()


class ExplicitCaches:
    """See `StoredPromptForm`."""

    def split(self, body: bytes) -> PromptPieces | None:
        try:
            members = _members(body)
            items = _list(members[_TURNS])
            ends = tuple([at for at, one in enumerate(items) if _is_own_turn(one)])
        except (msgspec.DecodeError, KeyError):
            return None
        if not _OTHER_SPELLINGS.isdisjoint(members):
            return None
        return PromptPieces({name: members[name] for name in _HELD if name in members}, items, ends)

    def create(self, path: str, pieces: PromptPieces, count: int, seconds: float) -> tuple[str, bytes]:
        version, model = _place(path)
        parent = model[: model.rfind("publishers/")] if "publishers/" in model else ""
        body = {"model": model, **pieces.head, "ttl": f"{seconds:.0f}s"}
        if count:
            body[_TURNS] = pieces.items[:count]
        return f"{version}{parent}cachedContents", msgspec.json.encode(body)

    def address(self, path: str, name: str) -> str:
        return _place(path)[0] + name

    def renew(self, seconds: float) -> bytes:
        return b'{"ttl":"%.0fs"}' % seconds

    def read(self, answer: bytes) -> tuple[str, int] | None:
        try:
            made = msgspec.json.decode(answer, type=_Cache)
        except msgspec.DecodeError:
            return None
        return (made.name, made.usage_metadata.total_token_count) if made.name else None

    def use(self, body: bytes, name: str, count: int) -> bytes:
        members = {one: raw for one, raw in _members(body).items() if one not in _HELD}
        left = _list(members[_TURNS])[count:]
        return msgspec.json.encode({**members, _TURNS: left, _NAME: name})


def _is_own_turn(item: Raw) -> bool:
    raw = bytes(item)
    if any(raw.find(one) >= 0 for one in _RESULTS):
        return False
    return msgspec.json.decode(raw, type=_CachedTurn).role == "user"


def _place(path: str) -> tuple[str, str]:
    """The version that the path of a request begins with, and the whole name of its model."""
    version, _, rest = path[1:].partition("/")
    return f"/{version}/", rest.rpartition(":")[0]


FORM = ExplicitCaches()
