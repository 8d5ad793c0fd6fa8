"""A user turn right after tool results, for a target that wants the assistant in between.

Some chat templates demand that user and assistant alternate and count a result as the user's side. A short assistant
turn is put between (`texts.bridge`).

Loses nothing; adds a turn.

    user: Hi
    call look(c1) {}
    result c1: 12 degrees
    user: Thanks
becomes
    user: Hi
    call look(c1) {}
    result c1: 12 degrees
    assistant: Understood.
    user: Thanks
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import MADE, Message, Role
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule(
    "user-after-tool",
    when=lambda facts: facts.user_after_tool is Stance.REFUSES,
    looks_for=traits.USER_AFTER_TOOL,
    loses=Loss.NOTHING,
)
def user_after_tool(conversation: Conversation, context: Context) -> Rewrite:
    bridge = Message(Role.ASSISTANT, (Text(quote(context.text("bridge"))),))
    messages: list[Message] = []
    notes: list[Note] = []
    for message in conversation.messages:
        if message.role is Role.USER and messages and messages[-1].role is Role.TOOL:
            made = message.at == MADE  # as for a picture that was moved out of the results
            place, did = (messages[-1], "behind") if made else (message, "before")
            notes.append(Note(f"put an assistant turn {did} it", place, kind="synthetic", after=bridge))
            messages.append(bridge)
        messages.append(message)
    return rewrite(conversation, notes, messages=tuple(messages))
