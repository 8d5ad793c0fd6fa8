"""What stands around the body of a request: path and headers, and members that its profile adds or leaves out."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.dialects import registry
from dragoman.dialects.dialect import Dialect, RenderOptions
from dragoman.profiles.profile import BodyForm, Profile, Target
from dragoman.wire.json_reader import render_object, split_members


class RequestFrame(msgspec.Struct, frozen=True):
    """What is the same in all requests to a target."""

    dialect: Dialect
    name: str
    """The name of the target."""
    headers: Mapping[str, str]
    """Headers that belong to the request itself; keys are the sender's business."""
    path: str
    stream_path: str


def make_frame(target: Target) -> RequestFrame:
    profile = target.profile
    dialect = registry.dialect(profile.dialect)
    named = {**dialect.headers, **profile.headers}
    path, stream_path = (
        dialect.request_path(RenderOptions(target.model, stream), path_template(profile, stream))
        for stream in (False, True)
    )
    headers = {"content-type": "application/json", **{name: value for name, value in named.items() if value}}
    return RequestFrame(dialect, target.name, headers, path, stream_path)


def with_passed(headers: Mapping[str, str], ask: Ask, profile: Profile, dialect: Dialect) -> Mapping[str, str]:
    """The headers with those of a client of the same dialect that its provider is to see."""
    if not ask.headers:
        return headers
    own = {
        name: ask.headers[name]
        for name in dialect.passed_headers
        if name in ask.headers and profile.headers.get(name) != ""
    }
    return {**headers, **own} if own else headers


def form_body(body: bytes, form: BodyForm) -> bytes:
    """The body without some members and with others. What is added wins over the client's own."""
    members: dict[str, bytes | Raw] = {name: msgspec.json.encode(value) for name, value in form.add.items()}
    members |= {
        name: value for name, value in split_members(body).items() if name not in form.leave_out and name not in members
    }
    return render_object(members)


def path_template(profile: Profile, stream: bool) -> str:
    """The profile's own path with the name of the method filled in, if the profile has names of its own."""
    method = profile.methods.stream if stream else profile.methods.whole
    return profile.path.replace("{method}", method) if method else profile.path
