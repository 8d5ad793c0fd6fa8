"""Requests of a cloud's clients: the path names the model or asks for a stream; the body has members of the cloud."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.dialects import registry
from dragoman.dialects.dialect import CloudMembers, Route
from dragoman.engine.compile.request_limits import DEFAULT_LIMITS, RequestLimits, check_body, parse_ask
from dragoman.engine.memory.continued_requests import KnownBody, recognise
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import open_object, refuse_duplicates, render_object


def parse_routed(
    route: Route,
    body: bytes,
    headers: Mapping[str, str],
    limits: RequestLimits = DEFAULT_LIMITS,
    *,
    known: KnownBody | None = None,
    continues: bool = False,
) -> Ask:
    """A request with what its path says. Raises RequestError, and with `continues` NotContinued."""
    if route.cloud is not None:
        check_body(body, limits)
        body, headers = without_members(body, headers, route.cloud)
        known = recognise(route.dialect, body, known.memory) if known is not None else None
    ask = parse_ask(route.dialect, body, headers, limits, known=known, continues=continues)
    return apply_path(ask, route.model, route.stream)


def without_members(body: bytes, headers: Mapping[str, str], cloud: CloudMembers) -> tuple[bytes, Mapping[str, str]]:
    """The body without a cloud's own members, and the headers that some of them stand for. A header of the client's
    own says the same, and wins."""
    source, members, _ = open_object(body)
    refuse_duplicates(source, members)
    found = {header: _words(members[name], name) for name, header in cloud.headers.items() if name in members}
    rest = {name: value for name, value in members.items() if name not in cloud.headers and name not in cloud.others}
    if len(rest) == len(members):
        return body, headers
    return render_object(rest), {**{name: words for name, words in found.items() if words}, **headers}


def _words(raw: msgspec.Raw, name: str) -> str:
    try:
        return ",".join(msgspec.json.decode(raw, type=list[str] | None) or ())
    except msgspec.DecodeError:
        raise MalformedRequest(f"{name} is not a list of texts", at=f"/{name}") from None


def apply_path(ask: Ask, model: str | None, stream: bool | None) -> Ask:
    """The request with what its path says, which wins over the body. None: the path does not say it.

    If the dialect has both in the body, they are written there: what goes out is made from it.
    """
    if model is None and stream is None:
        return ask
    named = ask.model if model is None else model
    streams = ask.stream if stream is None else stream
    if not registry.dialect(ask.dialect).model_in_path and (named, streams) != (ask.model, ask.stream):
        members = {**ask.members, "model": msgspec.json.encode(named), "stream": b"true" if streams else b"false"}
        if not streams:
            members.pop("stream")
        ask = replace(ask, source=render_object(members), members=members)
    return replace(ask, model=named, stream=streams)
