r"""A block that names a tool which is not declared, or not any more.

A client that searches tools itself gives the names of those that it found as blocks of a result. If the server of such
a tool is gone on a later turn, nobody declares it, and the provider refuses this turn and all that follow. The block
becomes words where it stands. A vendor's own entry without a name may bring tools that are not listed: then all stays.

Loses metadata: the model reads the name, and cannot call the tool.

For `anthropic/claude-sonnet-4-6`:

    {"max_tokens": 9, "tools": [{"name": "find", "input_schema": {"type": "object"}}], "messages": [
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [
        {"type": "tool_reference", "tool_name": "look"}]}]}]}
becomes
    {"max_tokens": 9, "tools": [{"name": "find", "input_schema": {"type": "object"}}], "messages": [
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [
        {"type": "text", "text": "[tool_reference]\nlook"}]}]}]}
"""

from __future__ import annotations

import msgspec

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Opaque, Part, Text
from dragoman.conversation.tools import NativeTool
from dragoman.rules.context import Context
from dragoman.rules.part_words import block_words
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule


@rule(
    "lost-reference",
    when=lambda facts: bool(facts.tool_references),
    looks_for=traits.OPAQUE | traits.RESULT_PARTS,
    loses=Loss.METADATA,
)
def lost_reference(conversation: Conversation, context: Context) -> Rewrite:
    members = context.facts.tool_references
    declared = {_name_of(tool) if isinstance(tool, NativeTool) else tool.name for tool in conversation.tools}

    def read_out(message: Message, part: Part) -> Swap | None:
        if not isinstance(part, Opaque) or part.kind not in members:
            return None
        if msgspec.json.decode(part.json).get(members[part.kind]) in declared:
            return None
        words = block_words(part)
        texts = () if words is None else (Text(words.literal),)
        return Swap(texts, f"put the words of a {part.kind} block in its place: its tool is not declared")

    return Rewrite(conversation) if None in declared else rewrite_parts(conversation, read_out, inside_results=True)


def _name_of(tool: NativeTool) -> str | None:
    """The name of a vendor's own tool. One without a name may bring tools that are not listed."""
    name: str | None = msgspec.json.decode(tool.json).get("name")
    return name
