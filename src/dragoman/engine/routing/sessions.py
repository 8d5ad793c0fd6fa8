"""Which conversation a request belongs to: by an id that the client gives, else by how it begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry, remembered
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import USER, Message, Role
from dragoman.conversation.parts import Text

FIELDS = ("session_id", "conversation_id", "thread_id", "chat_id")
_FIELDS = frozenset(FIELDS)
HEADERS = ("x-claude-code-session-id", "session-id")
"""In which agents name their session: Claude Code, and Codex."""
LONGEST = 128
RESETS = ("/new", "/reset")
_TELEGRAM = (
    re.compile(r"\btelegram[ _:-]{0,3}(?:chat|user)?[ _:-]{0,3}(?:id)?[ _:=#-]{0,3}(-?\d{5,20})\b", re.IGNORECASE),
    re.compile(r"\btelegram [^\[\]\n]{0,80}?\bid[:=] ?(-?\d{5,20})\b", re.IGNORECASE),
)
"""`telegram chat id: 123456789`, and the mark that bots put before a message: `[Telegram Anna id:123456789 …]`, or the
same without brackets."""
_SEARCHED = 2_000


def session_key(ask: Ask) -> str:
    """The key of the conversation; empty if nothing tells it."""
    return find_session(ask)[0]


def find_session(ask: Ask) -> tuple[str, int]:
    """The key of the conversation, and what tells agents apart that work in one session: the user's first words, as a
    hash."""
    for message in ask.conversation.messages:
        if message.role is USER:
            words = _literals(message)
            mark = hash(words)
            return find_named_session(ask) or _KEYS.get(mark) or _remember_key(message, words, mark), mark
    return find_named_session(ask), 0


def find_named_session(ask: Ask) -> str:
    """The id that the client gives its conversation; empty if it gives none."""
    members, headers = ask.members, ask.headers
    if not _FIELDS.isdisjoint(members) and (given := _find_given(members)):
        return given
    in_metadata, by_user = _find_named(bytes(members["metadata"])) if "metadata" in members else ("", "")
    if in_metadata:
        return in_metadata
    for name in HEADERS:
        if headers.get(name):
            return headers[name][:LONGEST]
    return by_user


@remembered
def _find_named(raw: bytes) -> tuple[str, str]:
    """The ids that stand in metadata, and in the user's id there. An agent sends the same ones on every turn."""
    metadata = _plain(raw)
    return (_find_given(metadata), _find_given(_user(metadata))) if isinstance(metadata, dict) else ("", "")


def _remember_key(first: Message, words: bytes, mark: int) -> str:
    """The key of a conversation that begins with these words. It is made once for all its turns."""
    made = _make_key(first, words)
    _KEYS.put(mark, CacheEntry(made, 128))
    return made


_KEYS: BoundedCache[int] = BoundedCache(f"{__name__}.session_key")
"""Keys by the hash of the words that they are made of."""


def _literals(message: Message) -> bytes:
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text:
        return parts[0].literal
    return b" ".join([part.literal for part in message.parts if type(part) is Text])


def _make_key(first: Message, words: bytes) -> str:
    if len(words) <= len(b'""'):
        return ""
    if b"telegram" in words[:_SEARCHED].lower():
        text = _text(first)[:_SEARCHED]
        chat = next((found for form in _TELEGRAM if (found := form.search(text))), None)
        if chat is not None:
            return f"telegram:{chat[1]}"
    return f"auto:{blake2b(words, digest_size=8).hexdigest()}"


def starts_anew(conversation: Conversation) -> bool:
    """Does the user's last turn ask to forget the session?"""
    last = next((one for one in reversed(conversation.messages) if one.role is Role.USER), None)
    return last is not None and _text(last).strip().lower() in RESETS


def _find_given(fields: Mapping[str, Any]) -> str:
    for name in FIELDS:
        value = _plain(fields.get(name))
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)[:LONGEST]
    return ""


def _user(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in a user's id that is a text of JSON, as Claude Code writes it."""
    user = metadata.get("user_id")
    found = _plain(user.encode("utf-8", "replace")) if isinstance(user, str) and user.startswith("{") else None
    return found if isinstance(found, dict) else {}


def _plain(value: Any) -> Any:
    """A member of a request as a value; raw JSON is decoded."""
    if not isinstance(value, bytes | msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return None


def _text(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, Text))
