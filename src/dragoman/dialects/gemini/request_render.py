"""Our conversation to a Gemini request. The path, and not the body, names the model and asks for a stream."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.gemini.message_render import render_messages
from dragoman.dialects.gemini.settings import render_top_level
from dragoman.dialects.rendering import BodyLayout, amend_body, render_body

LAYOUT = BodyLayout("contents", False, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else a new one."""
    if ask is None:
        return render_body(LAYOUT, conversation, options)
    named = "model" in ask.members
    if conversation is ask.conversation and (options.model == ask.model or not named):
        return ask.source
    if named and options.model != ask.model:
        ask = msgspec.structs.replace(ask, members={**ask.members, "model": quote(options.model)})
    return amend_body(LAYOUT, ask, conversation, options)
