"""At most one tool call asked for, of a target that has no setting for it.

OpenAI's `parallel_tool_calls: false` and Anthropic's `disable_parallel_tool_use` forbid a second call beside the
first. Some APIs have no such field. A system message asks for it instead (`texts.single_call`). It stands after the
client's own instructions, at the same place on every turn, so the beginning of the prompt stays the same. All calls
of an answer reach the client, even if the model makes several after all.

Loses metadata: words bind the model less than the setting.

For `gemini/gemini-2.5-flash`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "parallel_tool_calls": false,
     "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
becomes
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
     "systemInstruction": {"parts": [{"text": "Call at most one tool at a time."}]},
     "tools": [{"functionDeclarations": [{"name": "look",
       "parametersJsonSchema": {"type": "object", "properties": {}}}]}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.bounded_cache import IdentityCache
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import ChoiceMode
from dragoman.conversation.traits import observe_message
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "single-call",
    when=lambda facts: (
        facts.setting("parallel_tool_calls").support is Stance.REFUSES and facts.tools is not Stance.REFUSES
    ),
    looks_for=traits.SINGLE_CALL,
    loses=Loss.METADATA,
)
def single_call(conversation: Conversation, context: Context) -> Rewrite:
    settings, at = conversation.settings, conversation.opening
    choice = settings.tool_choice
    if not conversation.tools or (choice is not None and choice.mode is ChoiceMode.NONE):
        return Rewrite(conversation)  # nothing can be called
    turn = Message(Role.SYSTEM, (Text(quote(context.text("single_call"))),))
    note = Note(
        "asked for one call at a time in words", key="parallel_tool_calls", kind="synthetic", before=False, after=turn
    )
    messages = (*conversation.messages[:at], turn, *conversation.messages[at:])
    adds = observe_message(turn).traits | traits.SYSTEM | (traits.MANY_SYSTEMS if at else 0)
    return Rewrite(replace(conversation, messages=messages, settings=_without(settings)), (note,), adds=adds)


def _leave_out(settings: Settings) -> Settings:
    return replace(settings, parallel_tool_calls=None)


_without = IdentityCache(_leave_out)
"""The same settings on every turn, so that what is made of them is known."""
