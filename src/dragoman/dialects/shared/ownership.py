"""What belongs to one dialect alone: unknown fields, blocks, tools, choices and opaque state.

They are rendered in the dialect that they came from. A request of another dialect that still holds one is refused as
Unrepresentable, since a rule should have taken it out. Opaque state may travel in another dialect, sealed.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.envelope import seal
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Extras, Json, Opaque
from dragoman.conversation.tools import NativeTool, ToolChoice
from dragoman.dialects.shared.rendering import Pieces
from dragoman.errors import Unrepresentable


def own_fields(extras: Extras | None, dialect: str) -> dict[str, Json]:
    """The extra fields that came from this dialect."""
    return dict(extras.fields) if extras is not None and extras.dialect == dialect else {}


def own_members(extras: Extras | None, dialect: str) -> bytes:
    """The extra fields that came from this dialect, as further members of an object."""
    if extras is None or extras.dialect != dialect:
        return b""
    return b"".join([b",%b:%b" % (quote(key), value) for key, value in extras.fields.items()])


def require_own(extras: Extras | None, dialect: str) -> Mapping[str, Json]:
    """The extra fields. Raises Unrepresentable if they are another dialect's."""
    if extras is None:
        return {}
    if extras.dialect != dialect:
        raise Unrepresentable(f"fields of {extras.dialect} in a request of {dialect}: {', '.join(extras.fields)}")
    return extras.fields


def end_object(extras: Extras | None, dialect: str, out: Pieces, head: str | None = None) -> None:
    """The closing brace of an object, after the extra fields as its last members.

    With a head (`item.`) those below it; with an empty one those that stand below none.
    """
    if extras is not None:
        for key, value in require_own(extras, dialect).items():
            if head is None or (key.startswith(head) if head else "." not in key):
                out += (b",", quote(key[len(head or "") :]), b":", value)
    out.append(b"}")


def own_block(block: Opaque, dialect: str) -> Json:
    """A block that only its dialect knows. Raises Unrepresentable if that is another."""
    if block.origin.dialect != dialect:
        raise Unrepresentable(f"a {block.kind} block of {block.origin.dialect} in a request of {dialect}")
    return block.json


def own_tool(tool: NativeTool, dialect: str) -> Json:
    """A provider's own tool. Raises Unrepresentable if it is another dialect's."""
    if tool.origin.dialect != dialect:
        raise Unrepresentable(f"the {tool.kind} tool of {tool.origin.dialect} in a request of {dialect}")
    return tool.json


def own_choice(choice: ToolChoice, dialect: str) -> Json:
    """A tool choice in a dialect's own form. Raises Unrepresentable if it is another dialect's."""
    if choice.origin is None or choice.origin.dialect != dialect or choice.json is None:
        raise Unrepresentable("a tool choice of another dialect", key="tool_choice")
    return choice.json


def plain_or_sealed(state: Opaque, kind: str) -> Json:
    """Opaque state of this kind as it is, whichever platform made it; any other sealed under its maker's name."""
    return state.json if state.kind == kind else quote(seal(state))


def own_or_sealed(state: Opaque, kind: str, dialect: str) -> Json:
    """Opaque state as it is if this dialect made it; any other sealed under its maker's name."""
    own = state.kind == kind and state.origin.dialect == dialect
    return state.json if own else quote(seal(state))
