"""What does not fit the published schema of its dialect, though it is clear what is meant.

Clients write arguments as an object, leave out a type or an id, or mix in parts, tools and messages of another dialect.
What is meant is read from it. A provider that checks requests against its schema refuses the form all the same, so it
is written as the schema has it (fact `off_schema`). `near_misses` lists kinds that a provider takes nevertheless. If it
is not known whether a provider checks, `refused_near_misses` lists the kinds that are known to be refused, such as
messages that are no list, and a null that its dialect allows. Everything else goes to it as the client wrote it. To a
target of another dialect nothing is copied: each is written as it was read, and reported.

Loses nothing in most cases. A tool without a name and what is no text in a system text are left out, which loses
content; keys that a part does not have and optional members of a wrong type are left out, which loses metadata.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule

_TOOLS = "tools"
_LOSSES = {
    Miss.NAMELESS: Loss.CONTENT,
    Miss.SYSTEM_PART: Loss.CONTENT,
    Miss.UNKNOWN_KEY: Loss.METADATA,
    Miss.TYPE: Loss.METADATA,
}


@rule(
    "off-schema",
    reading=True,
    when=lambda facts: facts.off_schema is Stance.REFUSES or bool(facts.refused_near_misses),
    looks_for=traits.NEAR_MISSES,
    loses=Loss.CONTENT,
)
def off_schema(conversation: Conversation, context: Context) -> Rewrite:
    facts, misses = context.facts, conversation.near_misses
    if context.translated:
        return _clear_misses(conversation, [miss for miss in misses if miss.kind is not Miss.NULLABLE])
    return _clear_misses(conversation, [miss for miss in misses if _is_refused(miss, facts)])


def report_written(before: Conversation, after: Conversation) -> Rewrite:
    """The near misses of messages and tools that a rule wrote anew for a target that takes them as they are.

    Such a message is not copied any more, and has what was read from it. If a call and a result had no ids and one
    of them was written, it has the id that was made for it, and the other one needs the same. Tools are written all
    together, so that a change of one writes what was read of the others too.
    """
    own = {id(message) for message in before.messages}
    items = {item for message in after.messages if id(message) not in own for item in _items(message)}
    tools = after.tools is not before.tools
    written = [miss for miss in after.near_misses if miss.item in items or (tools and _TOOLS in miss.members)]
    paired = any(miss.kind is Miss.ID for miss in written)
    others = [miss for miss in after.near_misses if paired and miss.kind is Miss.ID and miss.item not in items]
    return _clear_misses(after, written + others)


def _clear_misses(conversation: Conversation, cleared: list[NearMiss]) -> Rewrite:
    if not cleared:
        return Rewrite(conversation)
    gone = {id(miss) for miss in cleared}
    kept = tuple([miss for miss in conversation.near_misses if id(miss) not in gone])
    items = {miss.item for miss in cleared}
    whole = any(miss.kind is Miss.LIST for miss in cleared)
    messages = tuple([_write_anew(message, items, whole) for message in conversation.messages])
    notes = tuple([_note(miss) for miss in cleared])
    return Rewrite(replace(conversation, messages=messages, near_misses=kept), notes)


def _is_refused(miss: NearMiss, facts: Facts) -> bool:
    checked = facts.off_schema is Stance.REFUSES and miss.kind is not Miss.NULLABLE
    return (checked or miss.kind in facts.refused_near_misses) and miss.kind not in facts.near_misses


def _write_anew(message: Message, items: set[int], whole: bool) -> Message:
    """An equal message that is not the client's own any more, so that it is not copied from its text."""
    here = whole or not items.isdisjoint(_items(message))
    return replace(message) if here else message


def _items(message: Message) -> range:
    """The items of the client's list that the message was read from."""
    return range(message.at, message.at + message.span)


def _note(miss: NearMiss) -> Note:
    did = f"{miss.kind.did} ({miss.kind})"
    return Note(did, key=miss.at, loses=_LOSSES.get(miss.kind, Loss.NOTHING), before=miss.lost, after=None)
