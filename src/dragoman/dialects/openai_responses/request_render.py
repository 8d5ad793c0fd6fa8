"""Our conversation to a Responses request."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.openai_responses.message_render import render_messages
from dragoman.dialects.openai_responses.settings import render_top_level
from dragoman.dialects.rendering import BodyLayout, amend_body, render_body

LAYOUT = BodyLayout("input", True, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else a new one."""
    if ask is None:
        return render_body(LAYOUT, conversation, options)
    if conversation.messages is not ask.conversation.messages:
        items = _listed(bytes(ask.members.get("input", b"")))
        ask = msgspec.structs.replace(ask, members={**ask.members, "input": items})
    return amend_body(LAYOUT, ask, conversation, options)


def _listed(raw: bytes) -> bytes:
    """The input as a list of items, so that single items of it can be amended."""
    if raw[:1] == b'"':
        return b'[{"type":"message","role":"user","content":' + raw + b"}]"
    return raw if raw[:1] == b"[" else b"[]"
