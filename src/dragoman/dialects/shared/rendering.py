"""How a body is rendered: new, or by amending the client's own.

In the client's own dialect, everything that no rule touched is copied from the client's text. A rule returns the same
object for what it leaves alone, so identity shows what was touched. `docs/theory/identity.md` explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import TypeVar

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry, size_of
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, SYSTEM, Message
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.settings import Settings
from dragoman.dialects.dialect import RenderOptions, WrittenList
from dragoman.dialects.shared.raw_json import encode
from dragoman.dialects.shared.read_lists import are_same
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import member_head, render_object, split_items

Item = TypeVar("Item")
Pieces = list[bytes | memoryview | Raw]
"""Fragments of JSON text, joined once at the end."""
RenderMessages = Callable[[Sequence[Message], int, int, Pieces], None]


class BodyLayout(msgspec.Struct, frozen=True):
    """How a dialect's body is put together."""

    list_name: str
    """The member that holds the messages."""
    names_model: bool
    """Whether another member names the model."""
    render_top_level: Callable[[Conversation, RenderOptions], dict[str, Json]]
    """All members but the messages."""
    render_messages: RenderMessages
    """Renders messages[start:stop] as items of the list, each with a comma before it."""
    render_new: RenderMessages | None = None
    """The same for a new body, if it is written otherwise than the client's own."""

    def render(self, conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
        """The body: amended if `ask` is the client's own request in this dialect, else a new one."""
        return render_body(self, conversation, options) if ask is None else amend_body(self, ask, conversation, options)


def render_each(items: Sequence[Item], render: Callable[[Item, Pieces], None], out: Pieces) -> None:
    """A list, each item of which is rendered by itself."""
    mark = b"["
    for item in items:
        out.append(mark)
        render(item, out)
        mark = b","
    out.append(b"]" if items else b"[]")


RenderSettings = Callable[[Settings, Mapping[str, Json]], dict[str, Json]]
"""Settings to members. The mapping holds extra fields; some of them stood inside the objects of settings."""


class RenderedSettings:
    """The members that settings and extra fields make, rendered once for the same objects."""

    __slots__ = ("_known", "_render")

    def __init__(self, render: RenderSettings, name: str = "") -> None:
        self._render = render
        self._known: BoundedCache[tuple[int, int]] = BoundedCache(name or f"{render.__module__}.{render.__qualname__}")

    def __call__(self, settings: Settings, extras: Extras | None) -> Mapping[str, Json]:
        key = (id(settings), id(extras))
        found: Mapping[str, Json] | None = self._known.get(key)
        if found is None:
            found = self._render(settings, extras.fields if extras is not None else {})
            held = (settings, extras)
            self._known.put(key, CacheEntry(found, size_of(held) + size_of(found), held))
        return found


def render_body(layout: BodyLayout, conversation: Conversation, options: RenderOptions) -> bytes:
    """A new body."""
    out: Pieces = []
    for key, value in layout.render_top_level(conversation, options).items():
        out += (member_head(key), value)
    out += (member_head(layout.list_name), b"[")
    head, messages = len(out), conversation.messages
    render = layout.render_new or layout.render_messages
    if options.written is None:
        render(messages, 0, len(messages), out)
        if len(out) > head:
            out[head] = bytes(out[head])[1:]
    else:
        out += _render_on(options.written, messages, partial(render, messages))
    out[0] = b"{" + bytes(out[0])[1:]
    out.append(b"]}")
    return b"".join(out)


_LAST_TURNS = 4
"""Turns of the model at the end of a conversation that may be another on its next turn, as their cache hints move."""
_MANY = 24
"""Pieces of a list that are joined to one."""


def _render_on(
    written: WrittenList,
    messages: tuple[Message, ...],
    write: Callable[[int, int, Pieces], None],
    originals: tuple[Message, ...] = (),
) -> list[bytes | memoryview]:
    """The items of the messages, with commas between them. What was written on the turn before is copied."""
    marks = list(written.marks[: _count_marks(written, messages, originals)])
    start, pieces = marks[-1] if marks else (0, 0)
    texts = list(written.texts[:pieces])
    length = written.length if pieces == len(written.texts) else sum(map(len, texts))
    if pieces > _MANY and (first := marks[0][1]) > 1:
        texts[:first] = [b"".join(texts[:first])]
        marks = [(count, piece - first + 1) for count, piece in marks]
    for stop in (*_find_last_turns(messages, start), len(messages)):
        out: Pieces = []
        write(start, stop, out)
        texts.append(b"".join(out))
        length += len(texts[-1])
        marks.append((stop, len(texts)))
        start = stop
    written.messages, written.originals, written.length = messages, originals, length
    written.texts, written.marks = tuple(texts), tuple(marks[-_LAST_TURNS - 1 :])
    if not texts[0]:
        texts = [text for text in texts if text] or [b""]
    return [memoryview(texts[0])[1:], *texts[1:]]


def _count_marks(written: WrittenList, messages: tuple[Message, ...], originals: tuple[Message, ...]) -> int:
    """How many marks there are up to the last one before which everything was written before."""
    before, marks = written.messages, written.marks
    for number in range(len(marks), 0, -1):
        count = marks[number - 1][0]
        if count < len(messages) and messages[count - 1] is before[count - 1] and _begins_turn(messages, count):
            same = count <= written.same or all(map(is_, messages[:count], before))
            return number if same and _have_same_sources(written, messages, originals, count) else 0
    return 0


def _have_same_sources(
    written: WrittenList, messages: tuple[Message, ...], originals: tuple[Message, ...], count: int
) -> bool:
    """Whether the client's own messages before this one are the same, too."""
    if not originals:
        return not written.originals
    if count >= len(originals) or originals[count].at != messages[count].at or count > len(written.originals):
        return False
    return are_same(originals, written.originals, count)


def _find_last_turns(messages: Sequence[Message], start: int) -> list[int]:
    """Where the last turns of the model begin."""
    found: list[int] = []
    for at in range(len(messages) - 1, start, -1):
        if _begins_turn(messages, at):
            found.append(at)
            if len(found) == _LAST_TURNS:
                break
    return found[::-1]


def _begins_turn(messages: Sequence[Message], at: int) -> bool:
    """Whether a turn of the model begins with a message, and an item of the list, too."""
    message, before = messages[at], messages[at - 1]
    return message.role is ASSISTANT and before.role is not ASSISTANT and 0 <= message.at != before.at


def amend_body(layout: BodyLayout, ask: Ask, conversation: Conversation, options: RenderOptions) -> bytes:
    """The client's own body, in which only what changed is rendered again."""
    before = ask.conversation
    same = options.model == (ask.model or "") and options.stream == ask.stream and not options.usage
    if same and conversation is before and not options.without:
        return ask.source
    members: dict[str, bytes | Raw] = dict(ask.members)
    for name in options.without:
        members.pop(name, None)
    if _is_renamed(layout, ask, conversation, options):
        members["model"] = encode(options.model)
        return render_object(members)
    _amend_top(layout, ask, conversation, options, members)
    if conversation.messages is not before.messages:
        name = _find_list_member(before, layout)
        amend = _AmendedList(layout, ask.members[name], ask, conversation.messages)
        members[_find_list_member(conversation, layout)] = amend.render(options.written)
    return render_object(members)


def _is_renamed(layout: BodyLayout, ask: Ask, conversation: Conversation, options: RenderOptions) -> bool:
    """Whether only the model's name changes, and the body holds it."""
    return (
        conversation is ask.conversation
        and options.stream == ask.stream
        and not options.usage
        and "model" in ask.members
        and layout.names_model
    )


def _amend_top(
    layout: BodyLayout, ask: Ask, conversation: Conversation, options: RenderOptions, members: dict[str, bytes | Raw]
) -> None:
    before = ask.conversation
    old = layout.render_top_level(before, RenderOptions(ask.model or "", ask.stream, ask.include_usage))
    new = layout.render_top_level(
        conversation, RenderOptions(options.model, options.stream, options.usage or ask.include_usage)
    )
    for key in old:
        if key not in new:
            members.pop(key, None)
    for key, value in new.items():
        if old.get(key) != value and key not in options.without:
            members[key] = value
    for key in set(before.settings.nulls).difference(conversation.settings.nulls, new):
        members.pop(key, None)
    for key in _find_restored(before, conversation):
        members.pop(key, None)
        if key in new and key not in options.without:
            members[key] = new[key]
    if before.empty_tools and not conversation.empty_tools:
        for key in _TOOL_LISTS:
            if key not in new and key in members:
                del members[key]


_TOOL_LISTS = ("tools", "functions")
"""Members that hold tools, the older one of Chat among them."""


def _find_restored(before: Conversation, now: Conversation) -> Iterable[str]:
    """Members that the client wrote as its dialect does not, and that are now to be written as it does."""
    if before.near_misses is now.near_misses:
        return ()
    left = set(now.near_misses)
    return dict.fromkeys([key for miss in before.near_misses if miss not in left for key in miss.members])


def _find_list_member(conversation: Conversation, layout: BodyLayout) -> str:
    """The member that holds the messages: where the client put them, while that stands."""
    moved = [miss.members[0] for miss in conversation.near_misses if miss.kind is Miss.LIST]
    return moved[0] if moved else layout.list_name


class _AmendedList(msgspec.Struct, eq=False):
    """The client's own list, in which only what changed is rendered again."""

    _layout: BodyLayout
    _raw: bytes | Raw
    _ask: Ask
    _messages: tuple[Message, ...]
    _groups: Mapping[int, list[Message]] | None = None
    _wire: list[Raw] = []
    _wire_begin: int = 0

    def render(self, written: WrittenList | None) -> bytes:
        if written is None:
            out: Pieces = [b"["]
            self._write(0, len(self._messages), out)
            if len(out) > 1:
                out[1] = bytes(out[1])[1:]
            out.append(b"]")
            return b"".join(out)
        items = _render_on(written, self._messages, self._write, self._ask.conversation.messages)
        return b"".join((b"[", *items, b"]"))

    def _write(self, start: int, stop: int, out: Pieces) -> None:
        """The items of messages[start:stop], each with a comma before it."""
        messages = self._messages
        if self._groups is None:
            self._open(messages[start].at if start else -1)
        groups, wire, begin = self._groups or {}, self._wire, self._wire_begin
        render = self._layout.render_messages
        index, fresh = start, start
        while index < stop:
            group = groups.get(messages[index].at)
            if group is None or not _is_untouched(group, messages, index):
                index += 1
                continue
            render(messages, fresh, index, out)
            first = group[0]
            if first.at >= 0:
                for raw in wire[first.at - begin : first.at - begin + first.span]:
                    out += (b",", raw)
            index += len(group)
            fresh = index
        render(messages, fresh, stop, out)

    def _open(self, first: int) -> None:
        """Split the client's list, from the item with this number on."""
        known, originals = self._ask.known, self._ask.conversation.messages
        if known is None or not 0 < known.item <= first:
            self._wire, self._groups = _split_items(self._raw), _groups(originals)
            return
        text = bytes(self._raw)[known.end :].lstrip(_BETWEEN)
        self._wire, self._wire_begin = split_items(b"[" + text), known.item
        self._groups = _groups(originals[: known.opening] + originals[known.count :])


_BETWEEN = b" \t\r\n,"


def _split_items(raw: bytes | Raw) -> list[Raw]:
    text = bytes(raw)
    return split_items(text) if text[:1] == b"[" else [Raw(text)]


def _groups(messages: Sequence[Message]) -> Mapping[int, list[Message]]:
    """The messages by the item of the client's list that they came from. One item may give several messages."""
    groups: dict[int, list[Message]] = {}
    for message in messages:
        groups.setdefault(message.at, []).append(message)
    return groups


def _is_untouched(group: list[Message], messages: Sequence[Message], start: int) -> bool:
    run = messages[start : start + len(group)]
    return len(run) == len(group) and all(one is other for one, other in zip(group, run, strict=True))


def leading_systems(messages: Sequence[Message]) -> int:
    """How many messages belong to a system field: the system messages before all others that were not inline."""
    for index, message in enumerate(messages):
        if message.role is not SYSTEM or message.inline:
            return index
    return len(messages)


def system_message(messages: Sequence[Message]) -> Message | None:
    """The one message that belongs to a system field, if there is one."""
    count = leading_systems(messages)
    if count > 1:
        raise Unrepresentable("several system messages for one system field", item=messages[1].at)
    return messages[0] if count else None


def inside(key: str, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The extra fields of an object that is a member itself, under their own names."""
    head = key + "."
    found = {name[len(head) :]: value for name, value in extras.items() if name.startswith(head)}
    return {name: value for name, value in found.items() if "." not in name}


def refuse_settings(settings: Settings, names: Iterable[str], dialect: str) -> None:
    """Raise Unrepresentable if one of these settings is present."""
    for name in names:
        if getattr(settings, name) not in (None, ()):
            key = "include" if name == "reasoning_state" else name  # as rules call it
            raise Unrepresentable(f"{key} in a request of {dialect}", key=key)


def put(members: dict[str, Json], key: str, value: object) -> None:
    """Set a member if there is a value."""
    if value is not None:
        members[key] = encode(value)


def put_text(members: dict[str, Json], key: str, value: str | None) -> None:
    if value is not None:
        members[key] = quote(value)


def begin_tool(name: str, description: Json | None) -> dict[str, Json]:
    """The members with which the entry of a tool begins: its name, and its description if it has one."""
    members: dict[str, Json] = {"name": quote(name)}
    if description is not None:
        members["description"] = description
    return members
