"""Counting tokens before a request is sent.

If the dialect of the target can ask for a count, its provider counts what would be sent. Otherwise we estimate.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.conversation.literals import quote
from dragoman.dialects import registry
from dragoman.dialects.dialect import RenderOptions, TokenCount, path_step
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.request_limits import DEFAULT_LIMITS, RequestLimits, check_body, parse_ask
from dragoman.engine.history.calibration import Calibration, can_be_estimated
from dragoman.engine.history.sizes import estimate_tokens
from dragoman.engine.tokens.token_estimate import estimate_request
from dragoman.profiles.profile import AS_DIALECT, CountQuestion, Profile
from dragoman.wire.json_reader import render_object, split_members


class CountRequest(msgspec.Struct, frozen=True):
    """What a provider's counting endpoint is asked."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    figure: str
    """The member of its answer that holds the count."""


def parse_count_request(
    dialect: str,
    body: bytes,
    headers: Mapping[str, str],
    model: str | None = None,
    limits: RequestLimits = DEFAULT_LIMITS,
) -> Ask:
    """The request that a client wants counted, which may be in another dialect. Raises RequestError."""
    check_body(body, limits)
    counting = registry.find_token_count(dialect)
    foreign = counting.parse_foreign(body)
    if foreign is not None:
        check_body(foreign, limits)
        ask = parse_ask(registry.recognise(split_members(foreign)), foreign, headers, limits)
    else:
        ask = parse_ask(dialect, counting.parse_question(body), headers, limits)
    return ask if model is None else replace(ask, model=model)


def count_request(request: CompiledRequest, profile: Profile) -> CountRequest | None:
    """The question for the provider, or None if its dialect has none."""
    counting, model, form = registry.dialect(request.dialect).token_count, request.facts.model, profile.count
    if counting is None:
        return None
    figure = form.figure or counting.figure
    if form is AS_DIALECT:
        path = counting.path.format(model=path_step(model))
        return CountRequest(path, request.headers, counting.render_question(request.body, model), figure)
    template = profile.path.replace("{method}", form.method)
    path = registry.dialect(request.dialect).request_path(RenderOptions(form.model or model, False), template)
    match form.question:
        case CountQuestion.BARE:
            body = request.body
        case CountQuestion.AWS_INVOKE:
            body = msgspec.json.encode({"input": {"invokeModel": {"body": b64encode(request.body).decode()}}})
        case CountQuestion.NAMED | CountQuestion.OWN:
            body = counting.render_question(request.body, model)
            body = render_object({"model": quote(model), **split_members(body)})
    return CountRequest(path, request.headers, body, figure)


def render_count(dialect: str, answer: bytes, figure: str) -> bytes | None:
    """A provider's count as a client's dialect has it; None if there is none in the answer."""
    try:
        tokens = msgspec.json.decode(msgspec.json.decode(answer, type=dict[str, msgspec.Raw])[figure], type=int)
    except (msgspec.DecodeError, KeyError):
        return None
    counting = registry.find_token_count(dialect)
    return answer if figure == counting.figure and not counting.members else _render(counting, tokens)


def estimate_count(dialect: str, request: CompiledRequest, known: Calibration | None = None) -> bytes:
    """An estimate of what would be sent, as a client's dialect has a count. `known`: how its model counts."""
    sent, model = request.conversation, request.facts.model
    if known is None or not can_be_estimated(sent):
        tokens = estimate_request(sent, model)
    else:
        scale = known.scale()
        tokens = max(1, round(scale.fixed + scale.per_estimate * estimate_tokens(sent, model)))
    return _render(registry.find_token_count(dialect), tokens)


def _render(counting: TokenCount, tokens: int) -> bytes:
    return msgspec.json.encode({**counting.members, counting.figure: tokens})
