"""Which rules a target calls for, asked once per target and remembered; and what they found at each top level.

The top level of a conversation is its tools, settings and extras. Agents send dozens of tools with every turn, and the
readers hand out the same objects for the same bytes. Rules that look at nothing else are asked once for each such top,
not on every turn: what they found nothing to do for, and what they made of it. So the same tools become the same tools
again, and the writers know them too.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry, size_of
from dragoman.conversation.changes import Rewrite
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.parts import Opaque, Reasoning
from dragoman.conversation.provider_tools import ProviderToolCodec
from dragoman.conversation.settings import Effort
from dragoman.conversation.traits import observe_rest
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.request_frames import RequestFrame, make_frame
from dragoman.profiles.doubts import Care, settle_doubts
from dragoman.profiles.facts import Facts, Stance
from dragoman.profiles.profile import Target
from dragoman.rules import ORDER
from dragoman.rules.asked_thinking import find_meant_effort
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

RuleStep = tuple[int, Rule, int]
"""The place of a rule among those of a plan, the rule, and its bit if it looks at the top level alone (else 0)."""
_MOST_KINDS = 512
"""Kinds of conversations for which a plan remembers its rules."""
_Key = tuple[int, int, int, int, int, bool, int]


class TopLevelEntry:
    """One top level, with its traits. `idle`: the rules that found nothing to do here, a bit each."""

    __slots__ = ("_conversation", "_done", "_key", "_owner", "idle", "traits")

    def __init__(self, key: _Key, owner: TopLevelCache, conversation: Conversation) -> None:
        # Kept for their ids only, which nothing else can get while they are here. The messages are not kept.
        self._owner = owner
        self._conversation = replace(conversation, messages=())
        self._key = key
        self._done: dict[int, Rewrite] = {}
        self.traits = observe_rest(conversation)
        self.idle = 0

    def size(self) -> int:
        return size_of(self._conversation)

    def repair(self, rule: Rule, bit: int, conversation: Conversation, context: Context) -> Rewrite:
        """What a rule makes of this top, asked once. One whose answer must be undone may look at messages too."""
        known = self._done.get(bit)
        if known is not None:
            return Rewrite(replace(known.conversation, messages=conversation.messages), known.notes)
        done = rule.repair(conversation, context)
        changed = done.conversation
        if changed is not conversation and changed.messages is conversation.messages and not done.undo:
            kept = replace(changed, messages=())
            self._done[bit] = Rewrite(kept, done.notes)
            _TOPS.grow(self._key, size_of(kept))
        return done


class TopLevelCache:
    """The tops that a plan has seen, by identity. Those of all plans share their room."""

    __slots__ = ()

    def of(self, conversation: Conversation) -> TopLevelEntry:
        key = (
            id(self),
            id(conversation.tools),
            id(conversation.settings),
            id(conversation.extras),
            id(conversation.hint),
            conversation.empty_tools,
            id(conversation.near_misses),
        )
        known: TopLevelEntry | None = _TOPS.get(key)
        if known is not None:
            return known
        top = TopLevelEntry(key, self, conversation)
        if not conversation.near_misses:  # they are those of one request, and may be many
            _TOPS.put(key, CacheEntry(top, top.size()))
        return top


_TOPS: BoundedCache[_Key] = BoundedCache(f"{__name__}.{TopLevelEntry.__qualname__}")


class CalledRules(dict[tuple[int, int], tuple[RuleStep, ...]]):
    """The rules of a plan that seek a trait that a conversation has, and are not idle at its top level; by its traits
    and the bits of idle rules."""

    __slots__ = ("_sought",)

    def __init__(self, sought: Sequence[tuple[int, RuleStep]]) -> None:
        self._sought = sought

    def __missing__(self, key: tuple[int, int]) -> tuple[RuleStep, ...]:
        if len(self) >= _MOST_KINDS:
            self.clear()
        traits, idle = key
        called = [step for sought, step in self._sought if sought & traits and not step[2] & idle]
        found = self[key] = tuple(called)
        return found


class Plan(msgspec.Struct, frozen=True):
    """How requests are compiled for a target."""

    context: Context
    """What the rules are given."""
    rules: tuple[Rule, ...]
    """Those that its facts call for, in their order."""
    steps: CalledRules
    """The same, as they are called."""
    tops: TopLevelCache
    """What they found at each top level."""
    frame: RequestFrame
    """What stands around every body."""

    @property
    def facts(self) -> Facts:
        return self.context.facts

    def count_until(self, name: str) -> int:
        """How many rules there are up to the one of this name, whether that is among them or not; all for no name."""
        names = [rule.name for rule in ORDER]
        if name not in names:
            return len(self.rules)
        until = set(names[: names.index(name) + 1])
        return sum(rule.name in until for rule in self.rules)


class ClientKind(msgspec.Struct, frozen=True):
    """What a plan must know of the client."""

    care: Care
    """How doubts about the target are decided."""
    translated: bool = False
    """It speaks another dialect."""
    expects_reasoning: bool = False
    """It speaks another dialect and expects to be shown the thinking."""


_PLANS: BoundedCache[tuple[int, ClientKind]] = BoundedCache(f"{__name__}.{Plan.__qualname__}")
"""By the id of the target, and the client."""
_PLAN_BYTES = 16 * 1024


def serving_target(ask: Ask, target: Target) -> Target:
    """The target as it serves a request: in the version that the client names, and in the API that takes it."""
    if target.versions and ask.dialect == target.profile.dialect:
        for known, newer in zip(target.profile.versions, target.versions, strict=False):
            if ask.headers.get(known.header, "") >= known.since:
                return newer
    return target if target.twin is None else _serving_api(ask, target, target.twin)


def _serving_api(ask: Ask, target: Target, twin: Target) -> Target:
    """The API of the target's provider that takes a request: `twin`, the other one, if only that serves the model, or
    if it has tools and the model thinks, as it usually does or as the client wants. A client that wants no thinking
    stays, if the model can do so."""
    settings, facts = ask.conversation.settings, target.facts
    if not facts.served_here:
        return twin
    if facts.tools_with_effort is not Stance.REFUSES or not _has_tools(ask):
        return target
    thinking = settings.thinking
    if thinking is None or (thinking.effort is None and thinking.budget is None and thinking.on is None):
        return twin if facts.reasoning_default else target
    is_off = find_meant_effort(thinking, facts) is Effort.NONE
    takes_none = not facts.efforts or Effort.NONE.value in facts.efforts
    return target if is_off and takes_none else twin


def _has_tools(ask: Ask) -> bool:
    """Whether it declares tools, also late, in an item of its history."""
    if ask.conversation.tools or (ask.traits is not None and not ask.traits & traits.OPAQUE):
        return bool(ask.conversation.tools)
    parts = (part for message in ask.conversation.messages for part in message.parts)
    return any(type(part) is Opaque and part.declares for part in parts)


def client_of(ask: Ask, target: Target, faithful: bool) -> ClientKind:
    """The client of a request. `faithful`: doubts may be decided in its favour."""
    if ask.dialect == target.profile.dialect:
        return FAITHFUL_CLIENT if faithful else CAREFUL_CLIENT
    foreign, careful = _EXPECTING_CLIENTS if expects_reasoning(ask) else _FOREIGN_CLIENTS
    return foreign if faithful else careful


def expects_reasoning(ask: Ask) -> bool:
    """It asks for thinking, or returns thinking that it was shown, unless it says that it wants none."""
    conversation = ask.conversation
    tells = conversation.settings.thinking is not None or conversation.extras is not None
    if tells and dialect(ask.dialect).asks_for_reasoning(conversation):
        return True
    if ask.traits is not None and not ask.traits & traits.REASONING:
        return False
    return not _is_thinking_declined(conversation) and _has_shown_thoughts(conversation)


def _is_thinking_declined(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    if thinking is None:
        return False
    return thinking.on is False or thinking.visible is False or thinking.effort is Effort.NONE


def _has_shown_thoughts(conversation: Conversation) -> bool:
    """Words that the client was shown. State alone is no sign: clients carry it without knowing what it is."""
    return any(
        type(part) is Reasoning and part.text is not None for message in conversation.messages for part in message.parts
    )


CERTAIN_CLIENT = ClientKind(Care.NONE)
FAITHFUL_CLIENT = ClientKind(Care.FORM)
CAREFUL_CLIENT = ClientKind(Care.FULL)
FOREIGN_CLIENT = ClientKind(Care.TRANSLATION, translated=True)
EXPECTING_CLIENT = ClientKind(Care.TRANSLATION, translated=True, expects_reasoning=True)
_FOREIGN_CLIENTS = (FOREIGN_CLIENT, ClientKind(Care.FULL, translated=True))
_EXPECTING_CLIENTS = (EXPECTING_CLIENT, ClientKind(Care.FULL, translated=True, expects_reasoning=True))


def plan(target: Target, client: ClientKind) -> Plan:
    """The plan for a target and a client like this one."""
    key = (id(target), client)
    found: Plan | None = _PLANS.get(key)
    if found is None:
        found = plan_for(target, context_for(target, client))
        _PLANS.put(key, CacheEntry(found, _PLAN_BYTES, target))
    return found


def context_for(target: Target, client: ClientKind) -> Context:
    """What the rules are given for a target, before anything else of the request is known."""
    return Context(
        settle_doubts(target.facts, client.care),
        target.choices,
        target.texts,
        translated=client.translated,
        expects_reasoning=client.expects_reasoning,
        tool_codec=_tool_codec,
    )


def _tool_codec(name: str) -> ProviderToolCodec | None:
    """None for what is of no dialect: the gateway's own blocks and tools."""
    return dialect(name).provider_tools if name in DIALECT_NAMES else None


def plan_for(target: Target, context: Context) -> Plan:
    rules = rules_for(context)
    sought = [
        (rule.traits_sought(context.facts), (place, rule, 1 << place if rule.top_level else 0))
        for place, rule in enumerate(rules)
    ]
    return Plan(context, rules, CalledRules(sought), TopLevelCache(), make_frame(target))


def rules_for(context: Context) -> tuple[Rule, ...]:
    return tuple(rule for rule in ORDER if rule.is_called_for(context))
