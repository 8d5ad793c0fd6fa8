"""What is added to a request beside hints in the prompt: the name of its session, by which the provider finds its
cache, and the question why it was missed."""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Change, Loss
from dragoman.conversation.literals import quote
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.profiles.facts import Stance
from dragoman.wire.json_reader import member_head

SESSION_KEY, CACHE_QUESTION = "session-key", "cache-question"
_HEADER = "x-"
"""How the name of a header begins, and that of no field."""


def with_session(request: CompiledRequest, session: str) -> CompiledRequest:
    """The request with the name of its session, in the field or header by which the target finds its cache. The same
    one if the client has named it there."""
    name = request.facts.session_field
    if request.facts.setting(name).support is Stance.REFUSES:
        return request
    if not name.startswith(_HEADER):
        body = _with_member(request, name, quote(session))
        return request if body is None else replace(request, body=body, changes=(*request.changes, _tell_named(name)))
    if name in request.headers:
        return request
    return replace(request, headers={**request.headers, name: session}, changes=(*request.changes, _tell_named(name)))


@cache
def _tell_named(name: str) -> Change:
    did = f"named the session in {name}, so that the provider finds its prompt cache"
    return Change(
        SESSION_KEY, "" if name.startswith(_HEADER) else f"/{name}", did, str(Loss.NOTHING), "added", is_shared=True
    )


class CacheQuestionAsked(msgspec.Struct, frozen=True, gc=False):
    """A member of a request that asks why the cache was missed."""

    name: str
    value: bytes
    beta: tuple[str, str] = ("", "")
    """The header and the beta without which the member is refused."""


def with_question(request: CompiledRequest, question: CacheQuestionAsked) -> CompiledRequest:
    """The request that asks; the same one if the client has that member itself, or if the target refuses it."""
    name, (header, beta) = question.name, question.beta
    body = None if name in request.facts.refused_settings else _with_member(request, name, question.value)
    if body is None:
        return request
    headers = request.headers
    if header and beta not in headers.get(header, ""):
        headers = {**headers, header: f"{headers[header]},{beta}" if headers.get(header) else beta}
    return replace(request, body=body, headers=headers, changes=(*request.changes, _tell_asked(name)))


@cache
def _tell_asked(name: str) -> Change:
    did = "asked the provider why it missed its prompt cache, if it did"
    return Change(CACHE_QUESTION, f"/{name}", did, str(Loss.NOTHING), "added", is_shared=True)


def _with_member(request: CompiledRequest, name: str, value: bytes) -> bytes | None:
    """The body with one more member at its end; None if it has one of this name, or may have."""
    end = request.body.rstrip()
    if _may_have(request, name) or not end.endswith(b"}"):
        return None
    return b"".join((memoryview(end)[:-1], member_head(name), value, b"}"))


def _may_have(request: CompiledRequest, name: str) -> bool:
    """Whether a member of the body has this name: the client's own, a setting or extra field, or one that the profile
    adds. The body itself is not searched: it may be long."""
    ask, settings, extras = request.ask, request.conversation.settings, request.conversation.extras
    if ask.dialect == request.dialect and bytes(ask.members.get(name, _NULL)) != _NULL:
        return True
    if name in request.added_members or name in settings.nulls or getattr(settings, name, None) is not None:
        return True
    return extras is not None and name in extras.fields


_NULL = b"null"
"""Of a client that sends it, it may have been left out."""
