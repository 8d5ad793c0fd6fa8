"""The body of a provider that wants its dialect's members in another place: clouds name the model in the path, and the
version of the API in the body."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.profiles.profile import BodyForm, Profile
from dragoman.wire.json_reader import render_object, split_members


def formed_body(body: bytes, form: BodyForm) -> bytes:
    """The body without some members and with others. What is added wins over the client's own."""
    members: dict[str, bytes | Raw] = {name: msgspec.json.encode(value) for name, value in form.add.items()}
    members |= {
        name: value for name, value in split_members(body).items() if name not in form.leave_out and name not in members
    }
    return render_object(members)


def path_template(profile: Profile, stream: bool) -> str:
    """The profile's own path with the name of the method filled in, where the profile has names of its own."""
    method = profile.methods.stream if stream else profile.methods.whole
    return profile.path.replace("{method}", method) if method else profile.path
