"""More strict tools, or larger ones, than the target can compile.

A provider compiles the schemas of strict tools into a grammar and limits how many there may be, and how many optional
fields and fields of several types they may have. As many tools as fit stay strict, in their order. The others are sent
without the mark.

Loses metadata: the model may call them with arguments that their schema does not allow.

For a target with `strict_max = 1`, `strict_optional_max = 24`, `strict_union_max = 16`:

    @tool {"is": "Tool", "name": "look", "schema": {"type": "object"}, "strict": true}
    @tool {"is": "Tool", "name": "wait", "schema": {"type": "object"}, "strict": true}
    user: Hi
becomes
    @tool {"is": "Tool", "name": "look", "schema": {"type": "object"}, "strict": true}
    @tool wait {"type": "object"}
    user: Hi
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule
from dragoman.rules.schema.weight import Weight, weight

_LIGHT = Weight(0, 0)


@rule(
    "many-strict", when=lambda facts: facts.strict_max > 0, looks_for=traits.TOOLS, loses=Loss.METADATA, top_level=True
)
def many_strict(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    tools: list[Tool | NativeTool] = []
    count, total = 0, _LIGHT
    for tool in conversation.tools:
        if isinstance(tool, NativeTool) or not tool.strict:
            tools.append(tool)
            continue
        own = weight(tool.schema) if tool.schema is not None else _LIGHT
        together = Weight(total.optional + own.optional, total.unions + own.unions)
        if count < facts.strict_max and _is_light(own, together, facts):
            count, total = count + 1, together
            tools.append(tool)
            continue
        tools.append(replace(tool, strict=None))
        did = f"sent {tool.name} without `strict`: more than the target compiles"
        notes.append(Note(did, key=tool.place, before=tool.strict))
    return rewrite(conversation, notes, tools=tuple(tools))


def _is_light(own: Weight, total: Weight, facts: Facts) -> bool:
    """Within the limits together, and below them alone."""
    optional, unions = facts.strict_optional_max, facts.strict_union_max
    alone = own.optional < optional and own.unions < unions
    return alone and total.optional <= optional and total.unions <= unions
