"""Our conversation to an Ollama request."""

from __future__ import annotations

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.ollama.message_render import render_messages
from dragoman.dialects.ollama.settings import render_top_level
from dragoman.dialects.rendering import BodyLayout, amend_body, render_body

LAYOUT = BodyLayout("messages", True, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else a new one."""
    if ask is not None:
        return amend_body(LAYOUT, ask, conversation, options)
    return render_body(LAYOUT, conversation, options)
