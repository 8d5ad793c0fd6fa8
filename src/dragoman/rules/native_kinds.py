"""Whether a target takes a tool or a block of a vendor's own as it is, or has one of its own that does the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import REFERENCE, Opaque, Origin, Part
from dragoman.conversation.provider_tools import Family, ProviderTool, ProviderToolCodec, WrittenTool
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.state_form import holds_false_state
from dragoman.rules.top_level_fields import relies_on_stored_state, stays_home


def takes_tool(tool: NativeTool, facts: Facts) -> bool:
    """Whether it takes a tool of its own dialect. One without a type has another vendor's form."""
    if tool.origin.dialect != facts.dialect or (not tool.kind and facts.off_schema is Stance.REFUSES):
        return False
    return _names_kind(facts.native_tools, tool.kind)


def _names_kind(globs: Sequence[str], kind: str) -> bool:
    """Whether a kind is one of these. The last glob that fits decides; after `!` stands what is none of them."""
    fitting = [glob for glob in globs if fnmatchcase(kind, glob.removeprefix("!"))]
    return bool(fitting) and not fitting[-1].startswith("!")


def is_given_as_meant(part: Part, facts: Facts) -> bool:
    """Whether it is a block of a tool that the client runs, and the target does not take it."""
    if type(part) is not Opaque or part.meant is None:
        return False
    return part.origin.dialect != facts.dialect or not takes_block(part, facts)


def takes_block(part: Opaque, facts: Facts) -> bool:
    """Whether it takes a block of its own dialect. One that checks requests takes none with false state."""
    if facts.native_blocks is Stance.REFUSES or part.kind in facts.refused_blocks:
        return False
    if facts.off_schema is Stance.REFUSES and holds_false_state(part.json):
        return False
    actions = facts.block_actions.get(part.kind)
    if actions is not None and _action_of(part) not in ("", *actions):
        return False
    return any(fnmatchcase(part.kind, glob) for glob in facts.block_kinds)


class _Action(msgspec.Struct):
    type: str = ""


class _Acting(msgspec.Struct):
    action: _Action | None = None


def _action_of(part: Opaque) -> str:
    """What a call of a provider's tool did, in one word; empty if it does not say, or not in this form."""
    try:
        action = _decode_acting(part.json).action
    except msgspec.DecodeError:
        return ""
    return action.type if action is not None else ""


_decode_acting = msgspec.json.Decoder(_Acting).decode


def continues_stored_items(conversation: Conversation, facts: Facts) -> bool:
    """Whether calls may be there that only the target holds: in earlier turns, or as items named by their ids."""
    return relies_on_stored_state(conversation) or any(
        type(part) is Opaque
        and part.kind == REFERENCE
        and part.origin.dialect == facts.dialect
        and takes_block(part, facts)
        for message in conversation.messages
        for part in message.parts
    )


class StrangeTool(msgspec.Struct, frozen=True, gc=False):
    """A tool that another provider runs, in a request for a target that does not take it as it is."""

    tool: ProviderTool
    native: NativeTool | None = None
    """The entry of the client's list; None: a member alone declares it."""
    member: str = ""
    """The member of the request that declares it, or declares what its entry names."""
    written: WrittenTool | None = None
    """The target's own tool that does the same; None: it has none, or does not take it beside the request's others."""

    @property
    def place(self) -> str:
        """Where a rule reports what it did to the tool."""
        return self.native.place if self.native is not None else self.member


def find_strange_tools(conversation: Conversation, context: Context) -> list[StrangeTool]:
    """The tools of other providers, each with what the target has in its place. What the client runs is not among
    them, and neither is what the gateway runs already."""
    facts, extras = context.facts, conversation.extras
    members = extras.fields if extras is not None else {}
    codec = context.tool_codec(extras.dialect) if extras is not None else None
    own = extras is not None and extras.dialect == facts.dialect
    apart = [
        (one, member)
        for member, tools in (codec.parse_members(members).items() if codec is not None else ())
        if not own or stays_home(member, members[member], facts)
        for one in tools
    ]
    served = {one.server.label: member for one, member in apart if one.server is not None}
    mixes = mixes_tools(conversation, facts)
    found: list[StrangeTool] = []
    opened: dict[str, Mapping[str, Any]] = {}
    for tool in conversation.tools:
        if not isinstance(tool, NativeTool) or tool.meant:
            continue
        codec = context.tool_codec(tool.origin.dialect)
        if codec is not None and tool.origin.dialect not in opened:
            opened[tool.origin.dialect] = codec.open_members(members)
        meant = codec.parse_tool(tool, opened[tool.origin.dialect]) if codec is not None else None
        strange = None if meant is not None else _read_as_others(tool, context)
        if stays(tool, facts, mixes) and (strange is None or not _checks_tools(facts)):
            continue
        if (read := meant or strange) is not None:
            member = served.get(read.server.label, "") if read.server is not None else ""
            in_vain = codec is not None and _asks_in_vain(read, codec)
            found.append(StrangeTool(read, tool, member, None if in_vain else _write(read, context, mixes)))
    listed = {one.tool.server.label for one in found if one.tool.server is not None}
    for meant, member in apart:
        if meant.server is None or meant.server.label not in listed:
            found.append(StrangeTool(meant, None, member, _write(meant, context, mixes)))
    return found


def _checks_tools(facts: Facts) -> bool:
    return facts.off_schema is Stance.REFUSES or Miss.TOOL in facts.refused_near_misses


def _read_as_others(tool: NativeTool, context: Context) -> ProviderTool | None:
    """A tool in the form of another dialect than the client's. A server stands apart there, so that none is read."""
    codecs = [codec for name in DIALECT_NAMES if (codec := context.tool_codec(name)) is not None]
    found = next((read for codec in codecs if (read := codec.parse_tool(tool, {})) is not None), None)
    return found if found is None or found.server is None else None


def stays(tool: NativeTool, facts: Facts, mixes: bool) -> bool:
    """Whether the target takes a tool of its own here. `mixes`: it takes any beside the functions of the request."""
    return takes_tool(tool, facts) and (mixes or tool.kind in facts.mixed_kinds)


def mixes_tools(conversation: Conversation, facts: Facts) -> bool:
    """Whether the target takes any of its own tools beside the functions of the request."""
    return facts.mixed_tools is not Stance.REFUSES or not has_functions(conversation)


def has_functions(conversation: Conversation) -> bool:
    """Whether functions are declared, or tools that become functions."""
    return any(isinstance(tool, Tool) or tool.meant for tool in conversation.tools)


def _asks_in_vain(tool: ProviderTool, codec: ProviderToolCodec) -> bool:
    """Whether its calls need the approval of a client whose dialect has no form to ask for it."""
    return tool.server is not None and tool.server.approved is not None and codec.render_approval is None


def _write(tool: ProviderTool, context: Context, mixes: bool) -> WrittenTool | None:
    """The target's own tool. `mixes`: it takes any of them beside the functions of the request."""
    facts = context.facts
    kind, codec = facts.provider_tools.get(tool.family, ""), context.tool_codec(facts.dialect)
    if not mixes and kind not in facts.mixed_kinds:
        return None
    written = codec.render_tool(tool, kind) if kind and codec is not None else None
    if written is None or not written.json:
        return written
    entry = written.kind or kind
    return written if _names_kind(facts.native_tools, entry) else None


def declare_as_own(strange: StrangeTool, written: WrittenTool, facts: Facts) -> tuple[NativeTool, str, Loss]:
    """The target's own tool in place of another provider's, what was done, and what that loses."""
    native, kind = strange.native, facts.provider_tools[strange.tool.family]
    did = f"declared {(native.kind or strange.tool.family) if native is not None else strange.member} as {kind}"
    did = f"{did}, without {', '.join(written.lost)}" if written.lost else did
    loses = Loss.METADATA if written.lost else Loss.NOTHING
    loses = loses if _LIMITS.isdisjoint(written.lost) else Loss.AUTHORITY
    place = native.at if native is not None else -1
    return NativeTool(written.kind or kind, written.json, Origin(facts.dialect), place), did, loses


_LIMITS = frozenset({"allowed_domains", "blocked_domains", "most_uses"})
SEARCHED = Family.TOOL_SEARCH
DEFERRED = "defer_loading"
"""The field of a tool that is shown to the model only once a search has found it. Both vendors that search tools call
it so."""


def is_deferred(tool: Tool) -> bool:
    return tool.extras is not None and tool.extras.fields.get(DEFERRED) == b"true"
