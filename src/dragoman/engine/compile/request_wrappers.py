"""A request that stands inside another object: a line of a batch file, a log entry, an agent's own envelope.

What is meant is clear if exactly one member holds a request. The model and the wish for a stream may stand beside
it.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.conversation import RequestWrapper
from dragoman.conversation.literals import unquote
from dragoman.conversation.near_misses import LISTS
from dragoman.conversation.parts import Json
from dragoman.errors import MalformedRequest
from dragoman.wire.json_pointers import escape
from dragoman.wire.json_reader import open_object, render_object

_CARRIED = ("model", "stream")
"""What is taken from beside the request if the request does not say it itself."""


class WrappedRequest(msgspec.Struct, frozen=True):
    """The request, and what stood around it."""

    body: bytes
    wrapper: RequestWrapper


def find_wrapped(body: bytes, takes_model: bool = True) -> WrappedRequest | None:
    """The request that one member holds, as an object or as its JSON text; None if there is none, or several.

    `takes_model`: a body of its dialect names the model.
    """
    members = _members(body)
    if not members.keys().isdisjoint(LISTS):
        return None
    requests = {name: inner for name, raw in members.items() if (inner := _request_in(bytes(raw))) is not None}
    if len(requests) != 1:
        return None
    ((name, inner),) = requests.items()
    beside = _CARRIED if takes_model else ()
    carried = {key: members[key] for key in beside if key in members and key not in inner}
    lost = tuple([key for key in members if key != name and key not in carried])
    return WrappedRequest(render_object({**carried, **inner}), RequestWrapper(f"/{escape(name)}", lost))


def _request_in(raw: Json) -> dict[str, Raw] | None:
    text = unquote(raw).encode() if raw[:2] == b'"{' else raw
    members = _members(text) if text[:1] == b"{" else {}
    return None if members.keys().isdisjoint(LISTS) else members


def _members(body: bytes) -> dict[str, Raw]:
    """The members of an object; none if it is something else."""
    try:
        return open_object(body)[1]
    except (MalformedRequest, msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}
