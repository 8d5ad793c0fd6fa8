"""The library's entrance: a request as bytes, text or a dict, compiled for a target that is given by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.conversation.changes import Loss, LossName
from dragoman.conversation.conversation import Ask
from dragoman.conversation.dialect_names import DEFAULT_DIALECT, SourceName
from dragoman.conversation.traits import Trait
from dragoman.dialects import registry
from dragoman.dialects.parsing import open_body, opened_bytes
from dragoman.engine.adapted import Adapted
from dragoman.engine.compiler import Options, compile_ask
from dragoman.engine.history.client_choice import chosen_policy, history_choice
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.policy import TrimPolicy
from dragoman.engine.history.trimming import TrimRequest
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.request_limits import DEFAULT_LIMITS, RequestLimits, check_body, parse_ask
from dragoman.engine.request_wrappers import LISTS, find_wrapped
from dragoman.errors import MalformedRequest, OptionError, near_match, nearest_first
from dragoman.profiles.facts import Doubt, DoubtName
from dragoman.profiles.profile import Layer, Profiles, Target, patched
from dragoman.rules import BY_NAME
from dragoman.rules.rule import FAIL, KEEP
from dragoman.wire.json_reader import open_object

__all__ = ["Adapted", "Request", "adapt", "choose", "read"]

Request = bytes | str | Mapping[str, Any]


BUILTIN = Profiles()
_FAITHFUL = Doubt.FAITHFUL
_FOREIGN = int(Trait.OPAQUE | Trait.MESSAGE_EXTRAS | Trait.PART_EXTRAS)


def adapt(
    request: Request,
    *,
    source: SourceName = DEFAULT_DIALECT,
    target: str,
    stream: bool | None = None,
    headers: Mapping[str, str] | None = None,
    kept: Mapping[str, Kept] | None = None,
    media: Mapping[str, bytes] | None = None,
    profiles: Profiles | None = None,
    rules: Mapping[str, Any] | None = None,
    max_loss: LossName | None = None,
    synthetic: bool = True,
    stop_after: str = "",
    doubt: DoubtName = "faithful",
    history: TrimPolicy | None = None,
    cuts: Sequence[Cut] = (),
    limits: RequestLimits = DEFAULT_LIMITS,
) -> Adapted:
    """Compile a request for a target.

    `request` is bytes, text or a dict; `source` its dialect, or `auto`; `target` is `PROFILE/MODEL` and its model wins
    over the request's. `rules` chooses what rules do, `max_loss` is the heaviest loss that is allowed, `doubt` says
    whether what may be refused is left alone (`faithful`) or repaired (`careful`). Gemini's body has neither model nor
    stream: give `stream` to ask for one. `history` trims a long conversation; `cuts` are those of earlier turns.
    `limits` says how much the request may hold.
    """
    ask = read(request, source=source, headers=headers, stream=stream, limits=limits)
    found = choose(target, profiles, rules)
    policy = history
    if ask.conversation.extras is not None:
        policy = chosen_policy(history, history_choice(ask.conversation), found.facts, ask.conversation.extras)
    options = Options(
        Loss.CONTENT if max_loss is None else loss_of(max_loss),
        synthetic,
        stream,
        kept=kept or {},
        media=media or {},
        stop_after=stop_after,
        doubt=_FAITHFUL if doubt == "faithful" else doubt_of(doubt),
        history=None if policy is None else TrimRequest(policy, tuple(cuts)),
    )
    return compile_ask(ask, found, options)


def read(
    request: Request,
    *,
    source: str = "auto",
    headers: Mapping[str, str] | None = None,
    stream: bool | None = None,
    limits: RequestLimits = DEFAULT_LIMITS,
) -> Ask:
    """A request as an Ask. Raises LimitExceeded, MalformedRequest, DuplicateKey or TargetError."""
    body = as_bytes(request)
    check_body(body, limits)
    ask = _read_any(body, headers, limits) if source == "auto" else parse_ask(source, body, headers, limits)
    if stream is not None and registry.dialect(ask.dialect).model_in_path:
        ask = msgspec.structs.replace(ask, stream=stream)
    return ask


def _read_any(body: bytes, headers: Mapping[str, str] | None, limits: RequestLimits) -> Ask:
    """A request of an unknown dialect. Its members nearly always tell the dialect; the messages are looked at only if
    they hold what that dialect does not have."""
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
        return msgspec.json.encode(request)
    except (TypeError, ValueError, RecursionError) as fault:
        raise MalformedRequest(f"the request cannot be written as JSON: {fault}") from None


def choose(target: str, profiles: Profiles | None = None, rules: Mapping[str, Any] | None = None) -> Target:
    """A target with the caller's choices of rules on top."""
    found = (profiles or BUILTIN).target(target)
    if not rules:
        return found
    for name, choice in rules.items():
        check_choice(name, choice)
    return patched(found, Layer("request", {}, rules))


def check_choice(name: str, choice: Any) -> None:
    """Raise OptionError where a rule or its option is not known."""
    if name not in BY_NAME:
        raise OptionError(f'no rule is called "{name}". {nearest_first(name, BY_NAME)}', hint="see `dragoman rules`")
    rule = BY_NAME[name]
    if rule.parse is not None:
        rule.parse(choice)
        return
    options = (*rule.options, KEEP, FAIL)
    if choice not in options and not rule.free:
        raise OptionError(f'{name} cannot be "{choice}"; {near_match(str(choice), options)}')


def loss_of(name: str) -> Loss:
    try:
        return Loss[name.upper()]
    except KeyError:
        raise OptionError(f'max_loss cannot be "{name}"; {near_match(name, [str(one) for one in Loss])}') from None


def doubt_of(name: str) -> Doubt:
    try:
        return Doubt(name)
    except ValueError:
        raise OptionError(f'doubt cannot be "{name}"; {near_match(name, list(Doubt))}') from None
