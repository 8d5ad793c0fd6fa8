"""Our conversation to a Cohere request."""

from __future__ import annotations

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.dialects.cohere.message_render import render_messages, render_new
from dragoman.dialects.cohere.settings import render_top_level
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.rendering import BodyLayout, amend_body, render_body

LAYOUT = BodyLayout("messages", True, render_top_level, render_messages)
NEW = BodyLayout("messages", True, render_top_level, render_new)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else a new one."""
    if ask is not None:
        return amend_body(LAYOUT, ask, conversation, options)
    return render_body(NEW, conversation, options)
