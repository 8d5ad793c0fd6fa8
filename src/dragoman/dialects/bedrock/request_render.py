"""Our conversation to a Converse request. The path, and not the body, names the model and asks for a stream."""

from __future__ import annotations

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.dialects.bedrock.message_render import render_messages
from dragoman.dialects.bedrock.settings import render_top_level
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.rendering import BodyLayout, amend_body, render_body

LAYOUT = BodyLayout("messages", False, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else a new one."""
    if ask is None:
        return render_body(LAYOUT, conversation, options)
    if conversation is ask.conversation and not options.without:
        return ask.source
    return amend_body(LAYOUT, ask, conversation, options)
