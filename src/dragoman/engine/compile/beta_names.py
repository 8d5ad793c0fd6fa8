"""The betas that a request needs: some fields and tools are taken only where a header names their beta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dragoman.conversation.cache_hints import hints_of, names_scope
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.tools import NativeTool
from dragoman.profiles.profile import BetaUse

_DATE = len("-2025-04-04")


def with_betas(headers: Mapping[str, str], conversation: Conversation, use: BetaUse) -> Mapping[str, str]:
    """The headers, and in one of them the betas that the request needs and the client did not name.

    The client's own date of a beta is kept.
    """
    given = [one.strip() for one in headers.get(use.header, "").split(",") if one.strip()]
    named = {name[:-_DATE]: name for name in given}
    missing: dict[str, str] = {}
    for name in _needed(conversation, use):
        if name[:-_DATE] not in named:
            missing.setdefault(name[:-_DATE], name)
    return {**headers, use.header: ",".join([*given, *missing.values()])} if missing else headers


def _needed(conversation: Conversation, use: BetaUse) -> Iterator[str]:
    """Tools come first: of two dates of one beta the tool's is meant."""
    for tool in conversation.tools:
        if isinstance(tool, NativeTool) and tool.kind in use.tools:
            yield use.tools[tool.kind]
    if conversation.extras is not None:
        yield from (use.fields[name] for name in conversation.extras.fields if name in use.fields)
    if use.cache_scope and any(map(names_scope, hints_of(conversation))):
        yield use.cache_scope
