"""Whether a target takes a tool or a block of a vendor's own as it is."""

from __future__ import annotations

from fnmatch import fnmatchcase

from dragoman.conversation.parts import Opaque
from dragoman.conversation.tools import NativeTool
from dragoman.profiles.facts import Facts, Stance


def takes_tool(tool: NativeTool, facts: Facts) -> bool:
    return tool.origin.dialect == facts.dialect and any(fnmatchcase(tool.kind, glob) for glob in facts.native_tools)


def takes_block(part: Opaque, facts: Facts) -> bool:
    """Whether it takes a block of its own dialect."""
    if facts.native_blocks is Stance.REFUSES or part.kind in facts.refused_blocks:
        return False
    return any(fnmatchcase(part.kind, glob) for glob in facts.block_kinds)
