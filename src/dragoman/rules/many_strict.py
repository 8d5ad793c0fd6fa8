"""More strict tools, or heavier ones, than the target can compile.

As many as fit stay strict, in the order in which they stand; the others are sent without the mark.

Loses metadata: the model may call them with other arguments than their schema allows.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.rewriting import but
from dragoman.rules.rule import rule
from dragoman.rules.schema.weight import Weight, weight

_LIGHT = Weight(0, 0)


@rule(
    "many-strict", when=lambda facts: facts.strict_max > 0, looks_for=Trait.TOOLS, loses=Loss.METADATA, top_level=True
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
        if count < facts.strict_max and _light(own, together, facts):
            count, total = count + 1, together
            tools.append(tool)
            continue
        tools.append(but(tool, strict=None))
        did = f"sent {tool.name} without `strict`: more than the target compiles"
        notes.append(Note(did, key=f"tools/{tool.at}", before=tool.strict))
    return Rewrite(conversation.but(tools=tuple(tools)), tuple(notes)) if notes else Rewrite(conversation)


def _light(own: Weight, total: Weight, facts: Facts) -> bool:
    """Within the limits together, and below them alone."""
    optional, unions = facts.strict_optional_max, facts.strict_union_max
    alone = own.optional < optional and own.unions < unions
    return alone and total.optional <= optional and total.unions <= unions
