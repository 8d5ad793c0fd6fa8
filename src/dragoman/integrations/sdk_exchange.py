"""One request of an SDK and its answer, without a socket: which provider is asked what, and what the SDK gets.

The transports of `sdk_transport.py` do the sending. Everything else that an exchange asks for is answered here,
once for sync and async: there is one target, its memory is in this process, and media is not fetched. Retries are the
SDK's own.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Cloud, Provider
from dragoman.config.schema.repairs import MaxLoss, Synthetic
from dragoman.config.secret import Secret
from dragoman.config.sendable import key_fault, url_fault
from dragoman.conversation.conversation import Ask
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, Job, Route
from dragoman.engine.answer.client_failures import failure_of, render_failure
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.compile.cloud_requests import parse_routed
from dragoman.engine.exchange import steps
from dragoman.engine.exchange.attempts import RetryPolicy
from dragoman.engine.exchange.caller_options import caller_options
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.split_answer import SplitRounds
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.engine.library.adapted import AdaptedRequest, make_adapted
from dragoman.engine.library.policy import Policy
from dragoman.engine.library.report_summary import ID_HEADER, MODEL_HEADER, report_headers
from dragoman.engine.tokens.token_count import count_request, estimate_count, parse_count_request, render_count
from dragoman.errors import ConfigError, DragomanError, RequestError
from dragoman.integrations.sdk_state import SdkState
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.families import families_of
from dragoman.profiles.profile import Profiles
from dragoman.store.journals.redaction import Redactor
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.destinations import HttpDestination, Routes
from dragoman.upstream.transport.outgoing import Outgoing

_JSON = "application/json"
_ID, _MODEL = ID_HEADER.decode(), MODEL_HEADER.decode()
_NO_CONTEXT = AnswerContext()
_ONCE = RetryPolicy(attempts=1, client_retries=True)


class TransportSettings(msgspec.Struct, frozen=True):
    """What the user of a transport sets."""

    target: str
    api_key: str | None = None
    base_url: str | None = None
    headers: Mapping[str, str] = {}
    facts: Mapping[str, Any] = {}
    policy: Policy = Policy()
    profiles: Profiles | None = None


class SdkResponse(msgspec.Struct, frozen=True):
    """A whole answer for the SDK, and what was compiled for it, if anything was."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    request: AdaptedRequest | None = None


class SdkCount(msgspec.Struct, frozen=True):
    """A count that the provider is asked for; if it gives none, the estimate stands in."""

    dialect: str
    outgoing: Outgoing
    figure: str
    """The member of its answer that holds the count."""
    headers: Mapping[str, str]
    estimate: SdkResponse

    def counted(self, status: int, body: bytes) -> SdkResponse:
        count = render_count(self.dialect, body, self.figure) if status == 200 else None
        return self.estimate if count is None else SdkResponse(200, self.headers, count)


class SdkExchange:
    """An exchange for an SDK, with every part of its driver that needs no socket."""

    __slots__ = ("_adapted", "_authorizers", "_is_kept", "_memory", "_whole", "date", "exchange")

    def __init__(self, exchange: Exchange[HttpDestination], memory: SdkState, authorizers: Authorizers) -> None:
        self.exchange = self._whole = exchange
        """The one under way: a round of the whole, if the provider may pause."""
        self._memory = memory
        self._authorizers = authorizers
        self._adapted: AdaptedRequest | None = None
        self._is_kept = False
        self.date = ""  # the provider's clock, as its last answer tells it

    def adapted(self) -> AdaptedRequest | None:
        """What was compiled last, with the way back."""
        request, made = self.exchange.request, self._adapted
        if request is not None and (made is None or made.body is not request.body):
            self._adapted = make_adapted(request)
        return self._adapted

    def start(self) -> steps.Send[HttpDestination] | steps.Streaming | SdkResponse:
        return self.after(self.exchange.start())

    def after(self, step: steps.Step[HttpDestination]) -> steps.Send[HttpDestination] | steps.Streaming | SdkResponse:
        """Carry out all that needs no socket, up to the next send or the end."""
        memory = self._memory
        while not isinstance(step, steps.Send):
            exchange = self.exchange
            match step:
                case steps.Choose(candidates):
                    step = exchange.chosen(candidates[0], memory.corrected(candidates[0]))
                case steps.Recall():
                    step = exchange.recalled(steps.Recalled(memory.recall(step)))
                case steps.FetchMedia():
                    step = exchange.fetched({})
                case steps.SendRounds():
                    self.exchange = exchange.parts[0]
                    step = self.exchange.start()
                case steps.AttemptFailed():
                    self._note(step)
                    step = exchange.resume()
                case steps.Wait():
                    step = exchange.resume()
                case steps.Answered(body):
                    self._learn()
                    self._keep()
                    if (following := self.next_round()) is not None:
                        step = following
                        continue
                    joined = self._join()
                    whole = joined.body if isinstance(joined, steps.Answered) else body
                    return SdkResponse(200, {"content-type": _JSON, **self._report()}, whole, self.adapted())
                case steps.Streaming():
                    self._learn()
                    joined = self._join()
                    return replace(step, first=joined.first) if isinstance(joined, steps.StreamingAll) else step
                case steps.GaveUp(failure):
                    self._join(step)
                    return self._refusal(failure)
        return step

    def _join(self, end: steps.GaveUp | None = None) -> steps.End | None:
        """What the rounds have given so far as one answer; None if there are none."""
        return self._whole.joined(end) if self._whole.split is not None else None

    def next_round(self) -> steps.Step[HttpDestination] | None:
        """Ask the provider to go on, if it has paused."""
        split = self._whole.split
        if not isinstance(split, SplitRounds) or self.exchange.failure is not None or split.round_ended() is None:
            return None
        following = split.ran((), 0.0)
        if following is None:
            return None
        self.exchange, self._is_kept = following, False
        return following.start()

    def take(self, out: bytes) -> bytes:
        """What there is for the SDK, once this was made of a piece of a stream. Rounds are written as one answer."""
        return self._whole.split.take_bytes() if self._whole.split is not None else out

    def cut(self, failure: Failure | None = None) -> bytes:
        """The end of a stream whose next round failed."""
        failure = failure or self._whole.failure
        assert failure is not None
        return self._whole.cut(failure)

    def outgoing(self, send: steps.Send[HttpDestination]) -> Outgoing:
        """The request for the provider."""
        destination, request = send.destination, send.request
        headers = {**request.headers, **dict(destination.signed(send.key))}
        outgoing = Outgoing("POST", destination.url(request.path), tuple(headers.items()), request.body)
        return authorize(self._authorizers, destination, outgoing)

    def _note(self, failed: steps.AttemptFailed[HttpDestination]) -> None:
        scheme = failed.destination.scheme
        if failed.failure.kind is FailureKind.AUTH and scheme is not None:
            self._authorizers.refused(scheme, self.date)

    def stream_headers(self) -> dict[str, str]:
        framing = self.exchange.context.framing or registry.dialect(self.exchange.ask.dialect).framing
        return {"content-type": framing.content_type, **self._report()}

    def stream_ended(self) -> None:
        """The answer of a stream is over, or the stream is."""
        if not self._is_kept and self.exchange.stream_ended() is None:
            self._is_kept = True
            self._keep()

    def _learn(self) -> None:
        exchange, destination = self.exchange, self.exchange.destination
        assert destination is not None
        for learnt in exchange.learnt:
            self._memory.learn(destination, learnt, exchange.context.id)

    def _keep(self) -> None:
        state = self.exchange.state_to_keep()
        if state is not None and state.states:
            self._memory.keep(state)

    def _refusal(self, failure: Failure) -> SdkResponse:
        exchange = self._whole
        error = render_failure(exchange.ask.dialect, failure, exchange.context)
        return SdkResponse(error.status, {**error.headers, **self._report()}, error.body, self.adapted())

    def _report(self) -> dict[str, str]:
        """Who was asked, and what was changed: the gateway's headers."""
        exchange = self._whole
        headers = {_ID: exchange.context.id}
        if exchange.destination is not None:
            headers[_MODEL] = exchange.destination.name
        return headers | {name.decode(): value.decode() for name, value in report_headers(exchange.changes)}


class SdkBridge:
    """Between one SDK and one provider: reads what the SDK sends, and remembers what the provider taught."""

    def __init__(self, settings: TransportSettings) -> None:
        self._name, _, self._model = settings.target.partition("/")
        profiles = settings.profiles or Profiles()
        if self._name not in profiles.names() and families_of(settings.target):
            profiles.target(settings.target)  # a model without its profile: raises what to write
        config = Config(providers={self._name: _provider(self._name, settings, profiles)})
        redactor = Redactor.of(config)
        self._redaction = Redaction(redactor.text, redactor.known)
        self._routes = Routes(config, profiles, _ONCE)
        self._policy = settings.policy
        self._memory = SdkState()
        self._authorizers = Authorizers()

    def read(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> SdkExchange | SdkCount | SdkResponse:
        """What an SDK sends, as an exchange; as a count; or, if nobody needs to be asked, as its answer."""
        route = registry.route(method, path, query, any_prefix=True)
        if route is None or route.job not in (Job.GENERATE, Job.COUNT_TOKENS):
            return _no_conversation(method, path, headers)
        id = f"req_{uuid.uuid4().hex}"
        try:
            if route.job is Job.COUNT_TOKENS:
                ask = parse_count_request(route.dialect, body, headers, route.model, limits=self._policy.limits)
                return self._count(route.dialect, ask, id, headers)
            ask = parse_routed(route, body, headers, self._policy.limits)
            return self._exchange(ask, _context(ask, id, route), headers)
        except DragomanError as fault:
            return _refusal(route.dialect, failure_of(fault), AnswerContext(id=id, errors=route.render_error()))

    def _exchange(self, ask: Ask, context: AnswerContext, headers: Mapping[str, str]) -> SdkExchange:
        name = f"{self._name}/{self._model or ask.model or ''}"
        route = self._routes.find(name)
        if route is None:
            raise RequestError(f'"{name}" leads nowhere', hint="give the transport a target like PROFILE/MODEL")
        destination = route.first
        if self._policy.history is not None:
            destination = replace(destination, history=self._policy.history)
        options = caller_options(headers, loosen=True)
        if options.doubt is None and self._policy.doubt == "careful":
            options = replace(options, doubt=Doubt.CAREFUL)
        exchange = Exchange(ask, TargetRoute((destination,)), context, options, self._redaction, resumes=True)
        return SdkExchange(exchange, self._memory, self._authorizers)

    def _count(self, dialect: str, ask: Ask, id: str, headers: Mapping[str, str]) -> SdkCount | SdkResponse:
        asking = self._exchange(ask, AnswerContext(model=ask.model or "", id=id), headers)
        step = asking.start()
        if not isinstance(step, steps.Send):
            assert isinstance(step, SdkResponse)
            return step
        named = {"content-type": _JSON, _ID: id, _MODEL: step.destination.name}
        estimate = SdkResponse(200, {**named, "x-dragoman-estimate": "true"}, estimate_count(dialect, step.request))
        asked = count_request(step.request, step.destination.target.profile)
        if asked is None:
            return estimate
        signed = {**asked.headers, **dict(step.destination.signed(step.key))}
        outgoing = Outgoing("POST", step.destination.url(asked.path), tuple(signed.items()), asked.body)
        signed_too = authorize(self._authorizers, step.destination, outgoing)
        return SdkCount(dialect, signed_too, asked.figure, named, estimate)


def authorize(authorizers: Authorizers, destination: HttpDestination, outgoing: Outgoing) -> Outgoing:
    """The request with what authorizes it, if that is more than a key. Raises NoCredentials. The first one waits."""
    return outgoing if destination.scheme is None else authorizers.authorize_now(destination.scheme, outgoing)


def _context(ask: Ask, id: str, route: Route) -> AnswerContext:
    now = time.time()
    return AnswerContext(
        model=ask.model or "",
        created=int(now),
        clock=time.time,
        began=now,
        input_tokens=partial(estimate_reserve, ask.conversation, ask.known),
        id=id,
        include_usage=ask.include_usage,
        request=ask.members,
        framing=route.framing,
        errors=route.render_error(),
    )


def _provider(name: str, settings: TransportSettings, profiles: Profiles) -> Provider:
    policy, key = settings.policy, settings.api_key
    if key is None and settings.base_url is None:  # a vendor's key goes to that vendor's own address only
        key = _of_environment(profiles.profile(name).key.names)
    if key and (fault := key_fault(key)) is not None:
        raise ConfigError(f"api_key {fault}")
    if settings.base_url and (fault := url_fault(settings.base_url)) is not None:
        raise ConfigError(f"base_url {fault}")
    cloud = profiles.profile(name).cloud
    return Provider(
        profile=profiles.profile(name).name,
        cloud=Cloud(region=_of_environment(cloud.region_env), project=_of_environment(cloud.project_env)),
        base_url=settings.base_url,
        api_key=Secret(key) if key else None,
        headers={"User-Agent": "dragoman", **settings.headers},
        facts=dict(settings.facts),
        rules=dict(policy.rules),
        max_loss=MaxLoss(policy.max_loss),
        synthetic=Synthetic.ALLOW if policy.synthetic else Synthetic.REFUSE,
    )


def _no_conversation(method: str, path: str, headers: Mapping[str, str]) -> SdkResponse:
    unserved = registry.find_unserved_path(method, path, registry.caller_dialect(path, headers), any_prefix=True)
    if unserved is not None:
        refused = _refusal(unserved.dialect.name, registry.refuse_unserved(method, unserved))
        return SdkResponse(refused.status, {**refused.headers, "x-should-retry": "false"}, refused.body)
    message = f"{method} {path} is no conversation; Dragoman's transport carries nothing else"
    return _refusal(DEFAULT_DIALECT, Failure(FailureKind.NOT_FOUND, message, 404))


def _refusal(dialect: str, failure: Failure, context: AnswerContext = _NO_CONTEXT) -> SdkResponse:
    """A refusal of our own, before anybody was asked."""
    error = render_failure(dialect, failure, context)
    named = {_ID: context.id} if context.id else {}
    return SdkResponse(error.status, {"content-type": _JSON, **error.headers, **named}, error.body)


def _of_environment(names: tuple[str, ...]) -> str | None:
    """A blank variable is not set."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)
