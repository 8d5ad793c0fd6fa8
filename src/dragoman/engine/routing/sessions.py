"""Which conversation a request belongs to: by an id that the client gives, else by how it begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text

FIELDS = ("session_id", "conversation_id", "thread_id", "chat_id")
HEADERS = ("x-claude-code-session-id", "session-id")
"""In which agents name their session: Claude Code, and Codex."""
LONGEST = 128
RESETS = ("/new", "/reset")
_TELEGRAM = (
    re.compile(r"\btelegram[ _:-]{0,3}(?:chat|user)?[ _:-]{0,3}(?:id)?[ _:=#-]{0,3}(-?\d{5,20})\b", re.IGNORECASE),
    re.compile(r"\[telegram [^\[\]\n]{0,80}?\bid[:=] ?(-?\d{5,20})\b", re.IGNORECASE),
)
"""`telegram chat id: 123456789`, and the mark that bots put before a message: `[Telegram Anna id:123456789 …]`."""
_SEARCHED = 2_000


def session_key(ask: Ask) -> str:
    """The key of the conversation; empty where nothing tells it."""
    metadata = _metadata(ask.members)
    given = _given(ask.members) or _given(metadata)
    if given:
        return given
    named = next((ask.headers[name] for name in HEADERS if ask.headers.get(name)), "")
    if named:
        return named[:LONGEST]
    if given := _given(_user(metadata)):
        return given
    first = _first_words(ask.conversation)
    if not first:
        return ""
    searched = first[:_SEARCHED]
    if "telegram" in searched.lower():
        chat = next((found for form in _TELEGRAM if (found := form.search(searched))), None)
        if chat is not None:
            return f"telegram:{chat[1]}"
    return f"auto:{sha256(first.encode('utf-8', 'replace')).hexdigest()[:16]}"


def starts_anew(conversation: Conversation) -> bool:
    """Does the user's last turn ask to forget the session?"""
    last = next((one for one in reversed(conversation.messages) if one.role is Role.USER), None)
    return last is not None and _text(last).strip().lower() in RESETS


def _given(fields: Mapping[str, Any]) -> str:
    for name in FIELDS:
        value = _plain(fields.get(name))
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)[:LONGEST]
    return ""


def _metadata(members: Mapping[str, Any]) -> Mapping[str, Any]:
    found = _plain(members.get("metadata"))
    return found if isinstance(found, dict) else {}


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


def _first_words(conversation: Conversation) -> str:
    first = next((one for one in conversation.messages if one.role is Role.USER), None)
    return "" if first is None else _text(first)


def _text(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, Text))
