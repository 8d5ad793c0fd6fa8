"""A path that names the model, or asks for a stream, at which clients of a cloud ask."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.dialects import registry
from dragoman.wire.json_reader import render_object


def with_path_wishes(ask: Ask, model: str | None, stream: bool | None) -> Ask:
    """The request with what its path says, which wins over the body. None: the path does not say it.

    Where the dialect has both in the body, they are written there: what goes out is made from it.
    """
    if model is None and stream is None:
        return ask
    named = ask.model if model is None else model
    streams = ask.stream if stream is None else stream
    if not registry.dialect(ask.dialect).model_in_path and (named, streams) != (ask.model, ask.stream):
        members = {**ask.members, "model": msgspec.json.encode(named), "stream": b"true" if streams else b"false"}
        if not streams:
            members.pop("stream")
        ask = msgspec.structs.replace(ask, source=render_object(members), members=members)
    return msgspec.structs.replace(ask, model=named, stream=streams)
