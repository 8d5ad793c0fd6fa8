"""The library's entrance: a request as bytes, text or a dict, compiled for a target that is given by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.conversation import Ask
from dragoman.conversation.dialect_names import SourceName
from dragoman.conversation.near_misses import LISTS
from dragoman.dialects import registry
from dragoman.dialects.shared.parsing import open_body, opened_bytes
from dragoman.engine.compile.compiler import PLAIN, Options, compile_ask
from dragoman.engine.compile.request_limits import DEFAULT_LIMITS, RequestLimits, check_body, parse_ask
from dragoman.engine.compile.request_wrappers import find_wrapped
from dragoman.engine.history.client_choice import choose_policy, history_choice
from dragoman.engine.history.trimming import TrimRequest
from dragoman.engine.library.adapted import AdaptedRequest, make_adapted
from dragoman.engine.library.policy import Policy, State, check_choice, check_kind, parse_doubt, parse_loss
from dragoman.engine.memory.continued_requests import recognise
from dragoman.engine.memory.conversation_memory import CallerMemory
from dragoman.engine.tool_runs.run_functions import find_api
from dragoman.errors import MalformedRequest
from dragoman.profiles.profile import Layer, Profiles, Target, patch_target
from dragoman.wire.json_reader import open_object

__all__ = ["AdaptedRequest", "Request", "adapt", "choose", "read"]

Request = bytes | str | Mapping[str, Any]

BUILTIN = Profiles()
_PLAIN_POLICY = Policy()
_NO_STATE = State()
_FOREIGN = traits.OPAQUE | traits.MESSAGE_EXTRAS | traits.PART_EXTRAS


def adapt(
    request: Request,
    *,
    target: str,
    source: SourceName = "auto",
    policy: Policy | None = None,
    state: State | None = None,
    stream: bool | None = None,
    headers: Mapping[str, str] | None = None,
    profiles: Profiles | None = None,
) -> AdaptedRequest:
    """Compile a request for a target.

    `request` is bytes, text or a dict. `target` is `PROFILE/MODEL`, and its model wins over the request's. `source` is
    the dialect of the request; `auto` recognises it. `policy` says what may be done to the request. `state` is what you
    bring along from earlier turns. `headers` came with the request. Gemini's body has neither model nor stream: give
    `stream` to ask for one. `profiles` know more targets than the built-in ones.
    """
    if policy is None:
        policy = _PLAIN_POLICY
    else:
        check_kind("policy", policy, Policy)
    if state is not None:
        check_kind("state", state, State)
    memory = state.memory.of("") if state is not None and state.memory is not None else None
    ask = read(request, source=source, headers=headers, stream=stream, limits=policy.limits, memory=memory)
    found = choose(target, profiles, policy.rules)
    if found.twin is not None and (ask.conversation.tools or ask.conversation.extras is not None):
        found = find_api(ask, found)
    if policy is _PLAIN_POLICY and state is None and ask.conversation.extras is None:
        options = PLAIN if stream is None else Options(stream=stream)
    else:
        options = _options(ask, found, policy, state or _NO_STATE, stream)
    return make_adapted(compile_ask(ask, found, options))


def _options(ask: Ask, target: Target, policy: Policy, state: State, stream: bool | None) -> Options:
    history, extras = policy.history, ask.conversation.extras
    if extras is not None:
        history = choose_policy(history, history_choice(ask.conversation), target.facts, extras)
    return Options(
        parse_loss(policy.max_loss),
        policy.synthetic,
        stream,
        kept=state.reasoning_state,
        media=state.media,
        doubt=parse_doubt(policy.doubt),
        history=None if history is None else TrimRequest(history, tuple(state.cuts)),
    )


def read(
    request: Request,
    *,
    source: str = "auto",
    headers: Mapping[str, str] | None = None,
    stream: bool | None = None,
    limits: RequestLimits = DEFAULT_LIMITS,
    memory: CallerMemory | None = None,
) -> Ask:
    """A request as an Ask. Raises LimitExceeded, MalformedRequest, DuplicateKey or TargetError."""
    body = as_bytes(request)
    if source == "auto":
        ask = _read_any(body, headers, limits)
    else:
        known = recognise(source, body, memory) if memory is not None else None
        ask = parse_ask(source, body, headers, limits, known=known)
    if stream is not None and registry.dialect(ask.dialect).model_in_path:
        ask = replace(ask, stream=stream)
    return ask


def _read_any(body: bytes, headers: Mapping[str, str] | None, limits: RequestLimits) -> Ask:
    """A request of an unknown dialect. Its members nearly always tell the dialect; the messages are looked at only if
    they hold what that dialect does not have."""
    check_body(body, limits)
    opened = open_body(body)
    members = opened.members
    if members.keys().isdisjoint(LISTS) and (wrapped := find_wrapped(body)) is not None:
        return parse_ask(registry.recognise(open_object(wrapped.body)[1]), body, headers, limits)
    likely = registry.recognise({name: value for name, value in members.items() if name != "messages"})
    known = opened_bytes(opened)
    try:
        ask = parse_ask(likely, known, headers, limits)
    except MalformedRequest:
        if (found := registry.recognise(members)) == likely:
            raise
    else:
        if _is_at_home(ask) or (found := registry.recognise(members)) == likely:
            return ask
    return parse_ask(found, known, headers, limits)


def _is_at_home(ask: Ask) -> bool:
    """Whether the messages hold nothing that their dialect does not have."""
    return ask.traits is not None and not ask.traits & _FOREIGN and not ask.conversation.near_misses


def as_bytes(request: Request) -> bytes:
    if isinstance(request, bytes):
        return request
    if isinstance(request, str):
        return request.encode("utf-8", "backslashreplace")  # half of a surrogate pair becomes its escape
    try:
        return _encode(request)
    except (TypeError, ValueError, RecursionError) as fault:
        raise MalformedRequest(f"the request cannot be written as JSON: {fault}") from None


def _encode(request: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError:  # the same escape, which the reader repairs and reports
        return json.dumps(request).encode()


def choose(target: str, profiles: Profiles | None = None, rules: Mapping[str, Any] | None = None) -> Target:
    """A target with the caller's choices of rules on top."""
    found = (profiles or BUILTIN).target(target)
    if not rules:
        return found
    for name, choice in rules.items():
        check_choice(name, choice)
    return patch_target(found, Layer("request", {}, rules))
