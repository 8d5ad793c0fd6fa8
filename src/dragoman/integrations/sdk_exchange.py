"""One request of an SDK and its answer, without a socket: which provider is asked what, and what the SDK is told.

The transports of `httpx.py` do the sending; everything that is decided is decided here, once for sync and async.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.config import Config, Provider, Secret
from dragoman.config.schema import MaxLoss, StoreConfig, Synthetic
from dragoman.conversation.changes import Change
from dragoman.conversation.conversation import Ask
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin, Part
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, Framing, Job
from dragoman.engine.adapt import Adapted, Options, check_choice, compile_ask, loss_of
from dragoman.engine.attempts import MAX_LESSONS
from dragoman.engine.lessons import learn
from dragoman.engine.reasoning_restore import Kept, keeps, keys, pack, scope, unpack
from dragoman.engine.summary import summary
from dragoman.engine.token_estimate import estimate
from dragoman.engine.translation import Translation
from dragoman.errors import DragomanError, RequestError
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Layer, Profiles, Target, patched
from dragoman.store import MemoryStore
from dragoman.upstream.configured_options import configured
from dragoman.upstream.destinations import Destination, Routes
from dragoman.wire.error_bodies import parse_failure

_JSON = "application/json"


class Told(msgspec.Struct, frozen=True):
    """An answer that is known: status, headers, body, and what was compiled for it, if anything was."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    adapted: Adapted | None = None


class Sending(msgspec.Struct, frozen=True):
    """A request that is to be sent, and how its answer is read."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    ask: Ask
    answering: AnswerContext
    destination: Destination
    target: Target
    adapted: Adapted
    lessons: tuple[str, ...] = ()

    @property
    def streams(self) -> bool:
        return self.ask.stream

    def answer_headers(self) -> dict[str, str]:
        """The headers of a stream."""
        content_type = self.answering.framing.content_type
        return {"content-type": content_type, **_report(self.answering.id, self.destination.name, self.adapted.changes)}


class Settings(msgspec.Struct, frozen=True):
    """What the user of a transport says."""

    target: str
    api_key: str | None = None
    base_url: str | None = None
    headers: Mapping[str, str] = {}
    facts: Mapping[str, Any] = {}
    rules: Mapping[str, Any] = {}
    max_loss: str | None = None
    synthetic: bool = True
    profiles: Profiles | None = None


class Interpreter:
    """Compiles an SDK's requests for one provider, and remembers what it was taught and what must go back to it."""

    def __init__(self, settings: Settings) -> None:
        name, _, self._model = settings.target.partition("/")
        profiles = settings.profiles or Profiles()
        self._name = name
        self._routes = Routes(Config(providers={name: _provider(name, settings, profiles)}), profiles)
        self._store = MemoryStore(StoreConfig(), time.time)
        self._lessons: dict[str, Target] = {}

    def read(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Sending | Told:
        """What an SDK asks, as a Sending or, where nobody needs to be asked, as a Told."""
        route = registry.route(method, path, query, any_prefix=True)
        if route is None or route.job not in (Job.GENERATE, Job.COUNT_TOKENS):
            return _lost(method, path)
        answering = AnswerContext(id=f"req_{uuid.uuid4().hex}")
        try:
            if route.job is Job.COUNT_TOKENS:
                return Told(200, _named(answering.id, "x-dragoman-estimate", "true"), _counted(route.dialect, body))
            dialect = registry.dialect(route.dialect)
            ask = dialect.requests.parse(body, headers=headers)
            if dialect.model_in_path:
                ask = msgspec.structs.replace(ask, model=route.model, stream=bool(route.stream))
            return self._sending(ask, _answering(ask, answering.id, route.framing))
        except DragomanError as fault:
            return _refusal(route.dialect, _own(fault), answering)

    def _sending(self, ask: Ask, answering: AnswerContext) -> Sending:
        name = f"{self._name}/{self._model or ask.model or ''}"
        route = self._routes.find(name)
        if not route:
            raise RequestError(f'"{name}" leads nowhere', hint="give the transport a target like PROFILE/MODEL")
        destination = route[0]
        return self._compiled(ask, answering, destination, self._lessons.get(name, destination.target))

    def _compiled(
        self,
        ask: Ask,
        answering: AnswerContext,
        destination: Destination,
        target: Target,
        lessons: tuple[str, ...] = (),
    ) -> Sending:
        options = Options(destination.max_loss, destination.synthetic, kept=self._fetch(ask, target.facts))
        adapted = compile_ask(ask, target, options)
        if destination.options or destination.omit:
            adapted = configured(adapted, destination)
        headers = {**adapted.headers, **dict(destination.signed(0))}
        return Sending(
            destination.url(adapted.path),
            tuple(headers.items()),
            adapted.body,
            ask,
            answering,
            destination,
            target,
            adapted,
            lessons,
        )

    def refused(self, sending: Sending, status: int, headers: Mapping[str, str], body: bytes) -> Sending | Told:
        """The provider said no: the same question with a fact corrected, or its words in the SDK's dialect."""
        failure = parse_failure(status, headers, body, sending.destination.provider)
        learnt = learn(failure, sending.target.facts, sending.adapted.conversation)
        if learnt is None or len(sending.lessons) >= MAX_LESSONS:
            return _refusal(sending.ask.dialect, failure, sending.answering, sending)
        target = patched(sending.target, Layer(f"lesson {learnt.lesson}", learnt.facts))
        if learnt.lasting:
            self._lessons[sending.destination.name] = target
        lessons = (*sending.lessons, learnt.lesson)
        try:
            return self._compiled(sending.ask, sending.answering, sending.destination, target, lessons)
        except DragomanError:
            return _refusal(sending.ask.dialect, failure, sending.answering, sending)

    def whole(self, sending: Sending, body: bytes) -> Told:
        """A whole answer, as the SDK reads it."""
        translation = self.translation(sending)
        answer = translation.whole(body)
        if translation.failure is not None:
            return _refusal(sending.ask.dialect, translation.failure, sending.answering, sending)
        report = _report(sending.answering.id, sending.destination.name, sending.adapted.changes)
        return Told(200, {"content-type": _JSON, **report}, answer, sending.adapted)

    def translation(self, sending: Sending) -> Translation:
        facts, adapted, dialect = sending.target.facts, sending.adapted, sending.ask.dialect
        return Translation(
            adapted.dialect,
            dialect,
            adapted.undo,
            sending.answering,
            keep=self._keep(facts) if keeps(facts, dialect) else None,
            think_tags=facts.think_tags,
            origin=Origin(adapted.dialect, facts.family or facts.provider, sending.target.model),
        )

    def _fetch(self, ask: Ask, facts: Facts) -> Mapping[str, Kept]:
        if not keeps(facts, ask.dialect):
            return {}
        held = self._store.fetch("", facts.provider, scope(facts), keys(ask.conversation))
        return {key: unpack(kept.value) for key, kept in held.items()}

    def _keep(self, facts: Facts) -> Any:
        def put(key: str, parts: tuple[Part, ...]) -> None:
            self._store.keep("", facts.provider, scope(facts), key, pack(parts), "reasoning")

        return put


def _answering(ask: Ask, identity: str, framing: Framing) -> AnswerContext:
    return AnswerContext(
        model=ask.model or "",
        created=int(time.time()),
        id=identity,
        include_usage=ask.include_usage,
        request=ask.members,
        framing=framing,
    )


def _provider(name: str, settings: Settings, profiles: Profiles) -> Provider:
    for rule, choice in settings.rules.items():
        check_choice(rule, choice)
    if settings.max_loss is not None:
        loss_of(settings.max_loss)
    key = settings.api_key
    if key is None and settings.base_url is None:  # a vendor's key goes to that vendor's own address only
        names = profiles.profile(name).key.names
        key = next((os.environ[variable] for variable in names if os.environ.get(variable)), None)
    return Provider(
        profile=profiles.profile(name).name,
        base_url=settings.base_url,
        api_key=Secret(key) if key else None,
        headers={"User-Agent": "dragoman", **settings.headers},
        facts=dict(settings.facts),
        rules=dict(settings.rules),
        max_loss=MaxLoss(settings.max_loss) if settings.max_loss is not None else None,
        synthetic=Synthetic.ALLOW if settings.synthetic else Synthetic.REFUSE,
    )


def _counted(dialect: str, body: bytes) -> bytes:
    return msgspec.json.encode({registry.token_count(dialect).figure: estimate(body)})


def _own(fault: DragomanError) -> Failure:
    status = 422 if isinstance(fault, RequestError) else 400
    return Failure(FailureKind.BAD_REQUEST, str(fault), status, param=fault.at)


def _lost(method: str, path: str) -> Told:
    says = f"{method} {path} is no conversation; Dragoman's transport carries nothing else"
    return _refusal(DEFAULT_DIALECT, Failure(FailureKind.NOT_FOUND, says, 404), AnswerContext())


def _refusal(dialect: str, failure: Failure, answering: AnswerContext, sending: Sending | None = None) -> Told:
    status, headers, body = registry.dialect(dialect).answers.render_error(failure, answering)
    named = {"content-type": _JSON, **{name.lower(): value for name, value in headers.items()}}
    if sending is not None:
        named |= _report(answering.id, sending.destination.name, sending.adapted.changes)
    return Told(status, named, body, sending.adapted if sending is not None else None)


def _named(identity: str, name: str, value: str) -> dict[str, str]:
    return {"content-type": _JSON, "x-dragoman-request-id": identity, name: value}


def _report(identity: str, name: str, changes: tuple[Change, ...]) -> dict[str, str]:
    """Who was asked, and what was changed: the gateway's headers."""
    headers = {"x-dragoman-request-id": identity, "x-dragoman-model": name}
    return {**headers, "x-dragoman-changes": summary(changes).decode()} if changes else headers
