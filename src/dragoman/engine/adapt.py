"""The compiler: a request in, what the target accepts and a report of every change out.

Pure: the same request, target, options and kept state give the same bytes and the same report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.conversation.changes import NOTHING_TO_UNDO, Change, Loss, LossName, Note, Undo
from dragoman.conversation.conversation import SYSTEM_ROLES, Ask, Conversation
from dragoman.conversation.dialect_names import DEFAULT_DIALECT, SourceName
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.messages import MADE, Message, Role
from dragoman.conversation.parts import Opaque, Text
from dragoman.conversation.settings import Settings
from dragoman.conversation.traits import Trait, observe_change, observe_messages
from dragoman.dialects import registry
from dragoman.dialects.dialect import RenderOptions
from dragoman.engine.beta_names import with_betas
from dragoman.engine.body_form import formed_body, path_template
from dragoman.engine.envelopes import with_header_members
from dragoman.engine.history.client_choice import (
    NO_CHOICE,
    HistoryChoice,
    chosen_policy,
    clearing,
    fulfilled,
    history_choice,
    history_choice_rule,
)
from dragoman.engine.history.compaction import UsedSummary, compacted, history_summary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.policy import TrimPolicy
from dragoman.engine.history.result_clearing import clear_results
from dragoman.engine.history.sizes import bytes_per_token
from dragoman.engine.history.trimming import TrimRequest, TrimStatistics, history_trim, trim
from dragoman.engine.member_places import RequestPlaces
from dragoman.engine.plan import Plan, client_of, plan
from dragoman.engine.reasoning_restore import Kept, restored
from dragoman.engine.refusal_places import found_in, with_place
from dragoman.engine.report import ReportBuilder, body_repairs, loss, reported, usage_asked, usage_not_asked
from dragoman.engine.request_limits import DEFAULT_LIMITS, RequestLimits, check_body, parse_ask
from dragoman.engine.request_wrappers import find_wrapped
from dragoman.engine.unseen_content import unseen, unseen_content
from dragoman.errors import MalformedRequest, OptionError, RepairRefused, Unrepresentable, near_match, nearest_first
from dragoman.profiles.facts import Doubt, DoubtName, Facts, Stance
from dragoman.profiles.profile import NO_ENVELOPE, Envelope, Layer, Profiles, Target, patched
from dragoman.rules import BY_NAME
from dragoman.rules.context import Context
from dragoman.rules.refused_part import refused_part
from dragoman.rules.refused_setting import STATEFUL
from dragoman.rules.remote_media import remote_media, wanted
from dragoman.rules.rule import FAIL, KEEP, Rule
from dragoman.wire.json_reader import readable, split_members

if TYPE_CHECKING:
    from dragoman.engine.answer import Answer, AnswerStream

Request = bytes | str | Mapping[str, Any]


class Adapted(msgspec.Struct, frozen=True, dict=True):
    """What to send, where, and what was changed on the way.

    `wants` are URLs of media that the target cannot fetch: fetch them and adapt again with `media`. `answer` and
    `stream` translate what comes back. `ask` is the request that was read, `facts` what the target was known to accept.
    `trimmed` tells what was cut from a long history, `cut` where; keep it for the next turn.
    """

    body: bytes
    path: str
    headers: Mapping[str, str]
    changes: tuple[Change, ...]
    undo: Undo
    wants: tuple[str, ...]
    target: str
    dialect: str
    conversation: Conversation
    ask: Ask
    facts: Facts
    trimmed: TrimStatistics | None = None
    cut: Cut | None = None
    envelope: Envelope = NO_ENVELOPE

    @property
    def json(self) -> Any:
        """The body decoded, once."""
        if "_json" not in self.__dict__:
            self.__dict__["_json"] = msgspec.json.decode(self.body)
        return self.__dict__["_json"]

    def summary(self) -> str:
        """The report for people: the heaviest losses first, repetitions folded. `changes` has every entry."""
        from dragoman.engine.summary import render_summary

        return render_summary(self.changes)

    def answer(
        self,
        body: bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        id: str = "",
        created: int = 0,
    ) -> Answer:
        """The provider's whole answer, or its refusal, in the dialect of the request.

        `id` and `created` (seconds since 1970) stand in where the provider gives none.
        """
        from dragoman.engine.answer import answer_to  # to compile a request, nothing of an answer need be loaded

        return answer_to(self, body, status, headers or {}, id, created)

    def stream(self, *, id: str = "", created: int = 0) -> AnswerStream:
        """The provider's stream in the dialect of the request; one for each answer.

        Where the provider answers with an error status there is no stream: give its body to `answer`.
        """
        from dragoman.engine.answer import stream_of

        return stream_of(self, id, created)


class Options(msgspec.Struct, frozen=True):
    """What the caller allows and hands over. `synthetic`: may turns be made up? `stop_after`: a rule's name.
    `ask_usage`: have Chat streams report their usage, though the client did not ask for it. `doubt`: how a fact that
    nobody knows is taken. `summary` stands for the beginning of the conversation. `history`: how a long history is
    trimmed; None: not at all."""

    max_loss: Loss = Loss.CONTENT
    synthetic: bool = True
    stream: bool | None = None
    ask_usage: bool = False
    kept: Mapping[str, Kept] = {}
    media: Mapping[str, bytes] = {}
    stop_after: str = ""
    doubt: Doubt = Doubt.FAITHFUL
    summary: UsedSummary | None = None
    history: TrimRequest | None = None


PLAIN = Options()
BUILTIN = Profiles()
_FAITHFUL = Doubt.FAITHFUL


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
    name = _recognised(body) if source == "auto" else source
    ask = parse_ask(name, body, headers, limits)
    if stream is not None and registry.dialect(name).model_in_path:
        ask = msgspec.structs.replace(ask, stream=stream)
    return ask


def _recognised(body: bytes) -> str:
    """The dialect of a body, or of the request that stands in it."""
    wrapped = find_wrapped(body)
    return registry.recognise(split_members(readable(body if wrapped is None else wrapped.body)[0]))


def as_bytes(request: Request) -> bytes:
    if isinstance(request, bytes):
        return request
    if isinstance(request, str):
        return request.encode("utf-8", "surrogatepass" if "\ud800" in request else "strict")
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


def compile_ask(ask: Ask, target: Target, options: Options = PLAIN) -> Adapted:
    """The request for one attempt. Reading is done once, this for every target that is tried."""
    return compile_by(plan(target, client_of(ask, target, options.doubt is _FAITHFUL)), ask, target, options)


def compile_by(steps: Plan, ask: Ask, target: Target, options: Options) -> Adapted:
    """The request by a plan for its target."""
    dialect = registry.dialect(target.dialect)
    same = ask.dialect == target.dialect
    if not ask.conversation.messages and not _is_held_elsewhere(ask):
        raise _empty(ask)
    if options.media:
        steps = msgspec.structs.replace(steps, context=msgspec.structs.replace(steps.context, media=options.media))
    facts = steps.facts
    stream = ask.stream if options.stream is None else options.stream
    if stream and facts.format_streamed is Stance.REFUSES:
        steps = msgspec.structs.replace(steps, context=msgspec.structs.replace(steps.context, streams=True))
    conversation = ask.conversation
    if options.kept:
        conversation = restored(conversation, options.kept, facts)
    changes = body_repairs(ask) if ask.repairs or ask.wrapper is not None else []
    trimmed = cut = None
    choice = NO_CHOICE if conversation.extras is None else history_choice(conversation)
    if choice is not NO_CHOICE:
        conversation = _fulfil(choice, conversation, ask, steps, options, changes)
    if options.summary is not None and choice.cut is not False:
        summed_up = compacted(conversation, options.summary)
        _allow(history_summary, summed_up.notes, ReportBuilder(ask), steps.context, options)
        changes += ReportBuilder(ask).entries(history_summary, summed_up.notes)
        conversation = summed_up.conversation
    if options.history is not None and choice.cut is not False:
        cutting = trim(conversation, options.history, target.model)
        _allow(history_trim, cutting.rewrite.notes, ReportBuilder(ask), steps.context, options)
        changes += ReportBuilder(ask).entries(history_trim, cutting.rewrite.notes)
        conversation, trimmed, cut = cutting.rewrite.conversation, cutting.statistics, cutting.cut
    known = ask.traits if conversation is ask.conversation else None
    seen = observe_messages(conversation.messages) if known is None else known
    wants = wanted(conversation, steps.context) if seen & _MEDIA and remote_media in steps.rules else ()
    try:
        conversation, undo = _repair(conversation, seen, ask, steps, options, changes)
    except Unrepresentable as fault:
        raise with_place(fault, ask) from None
    if changes:
        _require_content(conversation, changes, target)
    if facts.drops:
        lost = unseen(conversation, facts)
        _allow(unseen_content, lost, ReportBuilder(ask), steps.context, options)
        changes += ReportBuilder(ask).entries(unseen_content, lost)
    if seen & _OPAQUE and same:
        _require_known_content(ask, target)
    asks_usage = dialect.usage_on_request and _usage(ask, stream, same, facts, options)
    refused = _USAGE if same and facts.stream_usage is Stance.REFUSES and "stream_options" in ask.members else ()
    if stream and conversation.tools and not _takes_streamed_tools(conversation.settings, facts):
        stream, undo = False, undo.then(Undo(whole=True))
    writing = RenderOptions(target.model, stream, asks_usage, refused, translated=not same)
    if refused and all(change.at != "/stream_options" for change in changes):
        changes.append(usage_not_asked())
    if same and writing.usage:
        changes.append(usage_asked())
        undo = undo.then(Undo(usage=True))
    try:
        body = dialect.requests.render(conversation, writing, ask if same else None)
    except Unrepresentable as fault:
        raise with_place(fault, ask, found_in(fault, conversation, dialect.requests.render, writing)) from None
    profile = target.profile
    headers = _headers(ask, target, dialect.passed_headers if same else ())
    if profile.beta is not None and same:
        headers = with_betas(headers, conversation, profile.beta)
    if profile.body is not None:
        body = formed_body(body, profile.body)
    if profile.envelope is not NO_ENVELOPE:
        body, headers = with_header_members(body, headers, profile.envelope)
    return Adapted(
        body,
        dialect.request_path(writing, path_template(profile, stream)),
        headers,
        tuple(changes),
        undo,
        wants,
        target.name,
        target.dialect,
        conversation,
        ask,
        target.facts,
        trimmed,
        cut,
        profile.envelope,
    )


def _takes_streamed_tools(settings: Settings, facts: Facts) -> bool:
    """Whether the target streams an answer beside tools. One that does not is asked for a whole answer."""
    if settings.logprobs and facts.logprobs_streamed is Stance.REFUSES:
        return False
    return facts.tools_streamed is not Stance.REFUSES


def _fulfil(
    choice: HistoryChoice, conversation: Conversation, ask: Ask, steps: Plan, options: Options, changes: list[Change]
) -> Conversation:
    """What the client wants done about its history, and the provider does not do.

    Where no content may be lost no result is cleared, and the field is reported like any other that is left out.
    """
    facts = steps.facts
    policy = clearing(choice, facts, conversation.extras) if options.max_loss is Loss.CONTENT else None
    if policy is not None:
        scale = bytes_per_token(conversation.messages, facts.model)
        if options.history is not None:
            scale /= options.history.tokens_per_estimate
        cleared = clear_results(conversation, policy, scale)
        changes += ReportBuilder(ask).entries(history_trim, cleared.notes)
        conversation = cleared.conversation
    done = fulfilled(conversation, choice, facts, policy is not None)
    changes += ReportBuilder(ask).entries(history_choice_rule, done.notes)
    return done.conversation


def _empty(ask: Ask) -> MalformedRequest:
    """Which field has no message, and an example of one in the client's own dialect."""
    codec = registry.dialect(ask.dialect).requests
    message = Message(Role.USER, (Text(b'"Hello"'),), at=0)
    example = codec.render(Conversation((message,)), RenderOptions(ask.model or "", False))
    field = codec.locate(message, None).split("/")[1]
    shown = bytes(split_members(example)[field]).decode()
    at = RequestPlaces(ask, codec.places).place_of_message(f"/{field}")
    return MalformedRequest(f'"{at[1:]}" has no message', at=at, hint=f'send at least one: "{field}": {shown}')


def _require_content(conversation: Conversation, changes: list[Change], target: Target) -> None:
    """Raise MalformedRequest where every turn of the client's was left out: what is sent would be made up."""
    lost = [change for change in changes if change.rule == refused_part.name and change.loses == str(Loss.CONTENT)]
    if not lost or any(message.at != MADE and message.role not in SYSTEM_ROLES for message in conversation.messages):
        return
    raise MalformedRequest(
        f"nothing of this conversation can be sent to {target.name}: {lost[0].did}",
        at=lost[0].at,
        hint="send a text or another part that the target takes",
    )


def _require_known_content(ask: Ask, target: Target) -> None:
    """Raise MalformedRequest where a message says nothing but parts of kinds that nobody knows.

    Beside others such a part may be newer than this program, and the provider knows best.
    """
    for message in ask.conversation.messages:
        kinds = [part.kind for part in message.parts if isinstance(part, Opaque) and part.words is None]
        if not kinds or len(kinds) < len(message.parts) or any(_may_stand_alone(kind, target.facts) for kind in kinds):
            continue
        raise MalformedRequest(
            f'nothing of this message can be sent to {target.name}: no part of the kind "{kinds[0]}" is known',
            at=ReportBuilder(ask).pointer(Note("", message=message, part=message.parts[0])),
            hint="send a text or another part that the target takes",
        )


def _may_stand_alone(kind: str, facts: Facts) -> bool:
    return any(fnmatchcase(kind, glob) for glob in facts.lone_blocks)


def _is_held_elsewhere(ask: Ask) -> bool:
    """Earlier turns may be with their provider."""
    extras = ask.conversation.extras
    return extras is not None and not STATEFUL.keys().isdisjoint(extras.fields)


READ_BY_THE_COMPILER = frozenset({"drops", "stream_usage", "tools_streamed", "logprobs_streamed"})
"""The facts that the compiler itself reads. All others are read by rules."""
_USAGE = ("stream_options",)
_MEDIA = int(Trait.MEDIA | Trait.RESULT_PARTS)
_OPAQUE = int(Trait.OPAQUE)


def _repair(
    conversation: Conversation, seen: int, ask: Ask, steps: Plan, options: Options, changes: list[Change]
) -> tuple[Conversation, Undo]:
    """All rules that the target calls for and the conversation has a defect for. `seen`: traits of the messages."""
    undo = NOTHING_TO_UNDO
    report = ReportBuilder(ask)
    top = steps.tops.of(conversation)
    traits = seen | top.traits
    for sought, rule, bit in steps.until(options.stop_after) if options.stop_after else steps.steps:
        if not sought & traits or top.idle & bit:
            continue
        done = top.repair(rule, bit, conversation, steps.context) if bit else rule.repair(conversation, steps.context)
        if done.conversation is conversation:
            top.idle |= bit
            continue
        if done.conversation.messages is not conversation.messages:
            seen = observe_change(conversation.messages, done.conversation.messages, seen)
        conversation = done.conversation
        top = steps.tops.of(conversation)
        traits = seen | top.traits
        notes = reported(rule, done.notes, ask.dialect == steps.facts.dialect)
        if notes:
            _allow(rule, notes, report, steps.context, options)
            changes += report.entries(rule, notes)
        undo = undo.then(done.undo)
    return conversation, undo


def _allow(rule: Rule, notes: Any, report: ReportBuilder, context: Context, options: Options) -> None:
    """Raise RepairRefused where the caller does not want this repair."""
    fails = rule.chosen(context.choices) == FAIL
    for note in notes:
        heavy = loss(rule, note) > options.max_loss
        made_up = note.adds and not rule.translated and not options.synthetic
        if not (fails or heavy or made_up):
            continue
        entry = report.entries(rule, [note])[0]
        why = f"loses {entry.loses}" if heavy else "makes up what was not said" if made_up else "is set to fail"
        raise RepairRefused(
            f"{rule.name} is needed for {context.facts.provider}/{context.facts.model} and {why}: {entry.did}",
            rule=rule.name,
            at=entry.at,
            hint=f"change the request, allow more, or choose another answer for {rule.name}",
        )


def _usage(ask: Ask, stream: bool, same: bool, facts: Facts, options: Options) -> bool:
    """Ask a stream for its usage where the client's dialect always reports it, or the caller wants it."""
    if not stream or facts.stream_usage is not Stance.ACCEPTS:
        return False
    return not same or (options.ask_usage and not ask.include_usage)


def _headers(ask: Ask, target: Target, passed: tuple[str, ...]) -> Mapping[str, str]:
    """Headers that belong to the request itself; keys are the sender's business."""
    headers = _fixed(target)
    own = {name: ask.headers[name] for name in passed if name in ask.headers and target.profile.headers.get(name) != ""}
    return headers | own if own else headers


def _fixed_headers(target: Target) -> dict[str, str]:
    named = {**registry.dialect(target.dialect).headers, **target.profile.headers}
    return {"content-type": "application/json", **{name: value for name, value in named.items() if value}}


_fixed = IdentityCache(_fixed_headers, size=1024)


__all__ = ["Adapted", "Options", "Request", "adapt", "choose", "compile_ask", "read"]
