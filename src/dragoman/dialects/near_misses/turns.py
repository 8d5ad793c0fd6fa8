"""One item of the list of messages, taken apart into what it means.

It may have the form of any dialect. Parts that fit the schema of the client's own dialect are kept as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.canonical import mean_same
from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.near_misses import CONTENTS, ROLE_TYPES, ROLES, Miss, NearMiss
from dragoman.conversation.parts import Call, Extras, Json, Opaque, Origin, Part, Reasoning, Result, Text
from dragoman.dialects.near_misses import two_readings
from dragoman.dialects.near_misses.members import find_texts
from dragoman.dialects.near_misses.misfits import MOST_ODD, refuse_too_odd, without_misfits
from dragoman.dialects.near_misses.parts import (
    CALL_KEYS,
    CONSUMED,
    READERS,
    fits_items,
    kind_of_source,
    parse_any_call,
    parse_any_result,
    parse_part_of_any,
    parse_picture,
)
from dragoman.dialects.shared.raw_json import NULL, Fields, as_text, fields_of, first_of, items_of, text_of
from dragoman.dialects.shared.rendering import Pieces, RenderMessages
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import make_malformed, render_object

_READ = frozenset({"role", "tool_calls", "tool_call_id", "tool_use_id", "toolCallId", *CONTENTS})
"""Members of a message that are read here. All others stay as they are."""
_ALONE = frozenset(
    {"function_call", "function_call_output", "tool_use", "tool_result", "tool_call", "reasoning", "thinking"}
)
_ALONE_KEYS = ("functionCall", "functionResponse", "function_response", "toolUse", "toolResult")


_BEGINNINGS = (b"{", b'"')
"""Letters that parts of any dialect begin with."""
_CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "SystemMessage": "system", "ToolMessage": "tool"}
"""LangChain's classes of messages, each with the type that it gives them."""
_JOINED = re.compile(r"(assistant|model)\1+")
"""A role as stream helpers make it that join what a server says in every chunk (OpenAI's, 3.51)."""
_MISSING = re.compile(r"missing required field `(\w+)`")


class MissLog:
    """The near misses of one item, in the order in which they are found."""

    def __init__(self, item: int, at: str) -> None:
        self.item = item
        self.at = at
        self.found: list[NearMiss] = []

    def note(self, kind: Miss, below: str = "", lost: Json | None = None) -> None:
        self.found.append(NearMiss(kind, self.at + below, self.item, lost=lost))


class MeantPart(msgspec.Struct):
    """A part of a message that does not fit its schema."""

    meant: Part | None
    """What it means; None: that was not read."""
    kept: Json | None = None
    """Its own text, if that can stay."""
    below: str = ""
    """Its pointer below the item."""

    def part(self, origin: Origin) -> Part:
        """The part. What was not read, or can stay, is opaque."""
        if self.kept is not None or self.meant is None:
            return Opaque(kind="", json=self.kept or b"{}", origin=origin)
        return self.meant

    def render(self, render_block: Callable[[Part, Pieces], None]) -> Json:
        """The part as a block of a dialect whose calls have objects as arguments."""
        if self.kept is not None or self.meant is None:
            return self.kept or b"{}"
        out: Pieces = []
        render_block(whole_call(self.meant) if type(self.meant) is Call else self.meant, out)
        return b"".join(out)


class MeantTurn(msgspec.Struct):
    """What one item means."""

    role: Role
    pieces: list[MeantPart]
    rest: Fields
    """Its other members."""
    listed: bool = False
    role_text: str = ""
    """A role that nobody knows."""

    def parts(self, kind: type[Part]) -> list[Part]:
        return [piece.meant for piece in self.pieces if type(piece.meant) is kind]

    def role_name(self, names: Mapping[Role, str]) -> str:
        """The turn's role. A turn with a call is the model's, whoever it says it is from."""
        called = any(type(piece.meant) is Call for piece in self.pieces)
        return self.role_text or names[ASSISTANT if called else self.role]

    def messages(self, origin: Origin, *, inline: bool = False) -> list[Message]:
        """The results as messages of their own, then what else the turn says. `inline`: system texts stand in turns."""
        results = self.parts(Result)
        others = tuple([piece.part(origin) for piece in self.pieces if type(piece.meant) is not Result])
        found = [Message(TOOL, tuple(results))] if results else []
        if others or not results:
            calls = any(type(piece.meant) is Call and piece.kept is None for piece in self.pieces)
            role = ASSISTANT if calls else USER if self.role is TOOL else self.role
            listed = self.listed and not (len(others) == 1 and role is ASSISTANT and calls)
            inline = inline and role is SYSTEM
            found.append(Message(role, others, listed=listed, inline=inline, role_text=self.role_text))
        return found


def whole_call(call: Call) -> Call:
    """A call whose arguments are an object."""
    if call.arguments[:1] == b"{":
        return call
    return replace(call, arguments=b'{"arguments":' + as_text(call.arguments) + b"}")


def render_items(messages: Sequence[Message], render_messages: RenderMessages) -> list[Json]:
    """Messages as items of the dialect's list."""
    out: Pieces = []
    render_messages(messages, 0, len(messages), out)
    return items_of(b"[" + b"".join(out)[1:] + b"]") or []


class WireForm(msgspec.Struct, frozen=True):
    """How a dialect writes messages."""

    name: str
    """The dialect."""
    list_name: str
    """The member that holds the messages."""
    content_name: str
    """The member of a message that holds its parts."""
    roles: frozenset[str]
    """The dialect's names of roles."""
    fits: Callable[[Json], bool]
    """Whether an item fits the schema."""
    fits_part: Callable[[Json, Role], bool]
    """Whether a part fits the schema, in a turn of this role."""
    render: Callable[[MeantTurn], list[Json]]
    """Writes a turn as items."""
    repair_part: Callable[[Json, str, MissLog], Json | None] = lambda raw, below, log: None
    """Repairs small faults of the dialect's own parts."""
    repair_item: Callable[[Json, MissLog], Json | None] = lambda raw, log: None
    """Repairs small faults of the dialect's own items."""
    decode_part: Callable[[Json, Role], object] | None = None
    """Raises if a part does not fit, and says where."""
    part_types: tuple[tuple[str, frozenset[str]], ...] = ()
    """Types of parts, each with members that tell it if the client left it out."""
    optional: Mapping[str, bytes] = {}
    """Members of a message other than its content, each with the letters that its value may begin with."""
    takes_text: bool = True
    """The content may be a text alone."""
    takes_hints: bool = False
    """Parts have cache hints."""
    needs_ids: bool = True
    """Calls and results must have ids."""
    no_id: str = ""
    """Marks calls and results without an id."""
    has_items: bool = False
    """Calls and results stand in the list by themselves."""
    has_calls: bool = False
    """Messages have a member `tool_calls`."""
    string_content: bool = False
    """The content is always a string."""
    argument_objects: bool = False
    """The arguments of calls are objects, and not their text."""
    pictures_apart: bool = False
    """Clients put pictures into a member `images`, which the dialect does not have."""


def types_by_members(**types: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Types of parts, each with the members that tell it: ways apart by `|`, members of one way by spaces."""
    return tuple([(kind, frozenset(way.split())) for kind, ways in types.items() for way in ways.split("|")])


class TurnReader:
    """Reads one item. What it notes goes to `log`."""

    def __init__(self, form: WireForm, log: MissLog) -> None:
        self._form = form
        self._log = log

    def read(self, item: Json) -> MeantTurn | None:
        """The turn that an item is, or None if it is a turn in no dialect."""
        if item[:1] == b'"':
            self._log.note(Miss.TURN)
            return MeantTurn(USER, [MeantPart(Text(item))], {})
        if item[:1] == b"[":
            return self._pair(item)
        fields = self._unserialise(fields_of(item))
        if fields is None or fields.get("role", NULL)[:1] not in (b'"', b"n"):
            return None
        fields = self._with_role(fields)
        if first_of(fields, ("role",)) is None and _stands_alone(fields):
            return self._lone_part(item, fields)
        if first_of(fields, ("role",)) is None and not _speaks(fields):
            return None
        return self._message(fields)

    def _unserialise(self, fields: Fields | None) -> Fields | None:
        """The message in an object that LangChain serialised: its class is named by the last word of its id."""
        inner = fields_of(fields.get("kwargs")) if fields is not None and "lc" in fields else None
        if fields is None or inner is None:
            return fields
        self._log.note(Miss.TURN)
        names = items_of(fields.get("id")) or [NULL]
        kind = _CLASSES.get(text_of(names[-1]), "")
        return {"type": quote(kind), **inner} if kind else inner

    def _pair(self, item: Json) -> MeantTurn | None:
        """A role and its content in a list, as LangChain takes messages."""
        pair = items_of(item) or []
        role = ROLES.get(text_of(pair[0])) if len(pair) == 2 else None
        if role is None or role is TOOL:
            return None
        self._log.note(Miss.TURN)
        return MeantTurn(role, self._pieces("1", pair[1], role), {}, pair[1][:1] == b"[")

    def _with_role(self, fields: Fields) -> Fields:
        """A message whose role is its type, as libraries keep them."""
        kind = fields.get("type", NULL)
        if first_of(fields, ("role",)) is not None or text_of(kind) not in ROLE_TYPES:
            return fields
        self._log.note(Miss.ROLE, "/type")
        return {"role": quote(ROLE_TYPES[text_of(kind)]), **{key: fields[key] for key in fields if key != "type"}}

    def _lone_part(self, item: Json, fields: Fields) -> MeantTurn | None:
        """A part that stands in the list by itself, as calls and results do in one dialect."""
        part = parse_part_of_any(item)
        if part is None or (self._form.has_items and isinstance(part, Reasoning) and "summary" in fields):
            return None  # an item of the dialect's own has more than its words
        if not self._form.has_items or isinstance(part, Text):
            self._log.note(Miss.TURN)
            return MeantTurn(_role_of(part), [MeantPart(part)], {})
        self._note_item(fields, part)
        rest = {key: value for key, value in fields.items() if key in ("id", "status") or key not in CONSUMED}
        for key, letters in _ITEM_MARKS.items():
            if rest.get(key, letters)[:1] not in letters:
                self._log.note(Miss.TYPE, f"/{key}", rest.pop(key))
        if text_of(fields.get("type")) not in _ITEM_TYPES:
            return MeantTurn(_role_of(part), [MeantPart(part)], {})
        if type(part) is Call:
            part = replace(part, id=text_of(fields.get("call_id")))
        return MeantTurn(_role_of(part), [MeantPart(part)], rest)

    def _note_item(self, fields: Fields, part: Part) -> None:
        kind = text_of(fields.get("type"))
        if kind and kind not in _ITEM_TYPES:
            self._log.note(Miss.TURN)
        elif not kind:
            self._log.note(Miss.CALL if type(part) is Call else Miss.RESULT)
        elif type(part) is Call and fields.get("arguments", b"")[:1] != b'"':
            self._log.note(Miss.ARGUMENTS, "/arguments")
        elif type(part) is Result:
            self._log.note(Miss.RESULT, "/output")

    def _message(self, fields: Fields) -> MeantTurn:
        role, role_text = self._role(fields)
        rest = {key: value for key, value in fields.items() if key not in _READ and not self._is_mark(key, value)}
        self._leave_out_misfits(rest)
        key, content = self._content(fields)
        if role is TOOL and not _holds_results(content):
            rest.pop("name", None)
            return MeantTurn(TOOL, [self._result(fields, content)], rest)
        pieces = self._pieces(key, content, role)
        pieces += self._pictures(rest, role)
        if role is USER or role in SYSTEM_ROLES:
            two_readings.refuse_calls_of_others(role.value, fields, bool(pieces), self._log.at)
        if role not in SYSTEM_ROLES:
            calls = self._calls(fields, rest)
            pieces = [*self._without_repeated(pieces, calls), *calls]
        elif "tool_calls" in fields:
            rest["tool_calls"] = fields["tool_calls"]  # a system message makes no calls: a field like any other
        if role is USER and any(type(piece.meant) is Call for piece in pieces):
            role = self._caller(pieces)
        return MeantTurn(role, pieces, rest, content is not None and content[:1] == b"[", role_text)

    def _caller(self, pieces: list[MeantPart]) -> Role:
        """Who makes the calls of a user's turn: the assistant, if the turn is nothing else."""
        if not all(isinstance(piece.meant, (Call, Reasoning)) for piece in pieces):
            two_readings.refuse_calls_among_words(self._log.at)
        self._log.note(Miss.ROLE, "/role")
        return ASSISTANT

    def _leave_out_misfits(self, rest: Fields) -> None:
        for key, letters in self._form.optional.items():
            if key in rest and rest[key][:1] not in letters:
                lost = rest.pop(key)
                self._log.note(Miss.NULL if lost == NULL else Miss.TYPE, f"/{key}", lost)

    def _is_mark(self, key: str, value: Json) -> bool:
        """Responses' mark of a message, which other dialects do not have."""
        if key != "type" or value != b'"message"' or self._form.has_items:
            return False
        self._log.note(Miss.TURN)
        return True

    def _role(self, fields: Fields) -> tuple[Role, str]:
        named = text_of(fields.get("role"))
        if not named:
            self._log.note(Miss.ROLE)
            return _guess_role(fields), ""
        if _JOINED.fullmatch(named):
            self._log.note(Miss.JOINED_ROLE, "/role")
            return ASSISTANT, ""
        role = ROLES.get(named.lower())
        if role is None:
            return USER, named
        if named not in self._form.roles:
            self._log.note(Miss.ROLE, "/role")
        return role, ""

    def _content(self, fields: Fields) -> tuple[str, Json | None]:
        """The content, and the member that holds it."""
        own = self._form.content_name
        found = [key for key in CONTENTS if key != own and fields.get(key, NULL) != NULL]
        if fields.get(own, NULL) != NULL and (fields[own] != EMPTY or not found):
            two_readings.refuse_two_contents(lambda: find_texts(fields[own]).texts, fields, self._log.at, own)
            return own, fields[own]
        if not found:
            return own, None
        if any(fields[key] != fields[found[0]] for key in found):
            message = f"a message with {' and '.join(found)}, of which each may be its content"
            raise MalformedRequest(message, at=self._log.at, hint=f"write `{own}` and no other")
        self._log.note(Miss.CONTENT, f"/{found[0]}")
        return found[0], fields[found[0]]

    # parts

    def _pieces(self, key: str, content: Json | None, role: Role) -> list[MeantPart]:
        if content is None:
            return []
        if content[:1] == b'"':
            if key == self._form.content_name and not self._form.takes_text:
                self._log.note(Miss.CONTENT, f"/{key}")
            return [MeantPart(Text(content))]
        items = items_of(content)
        if items is not None:
            if self._form.string_content:
                self._log.note(Miss.CONTENT, f"/{key}")
            pieces: list[MeantPart] = []
            for index, item in enumerate(items):
                pieces += self._inner_pieces(item, role, f"/{key}/{index}")
                if len(pieces) > MOST_ODD:
                    refuse_too_odd(f"{self._log.at}/{key}/{index}")
            return pieces
        if key == self._form.content_name:
            self._log.note(Miss.CONTENT, f"/{key}")
        return [self._piece(content if _may_be_part(content, key) else as_text(content), role, f"/{key}")]

    def _inner_pieces(self, item: Json, role: Role, below: str) -> list[MeantPart]:
        """The part, or the parts of a list that stands in place of one. Null stands for none, and so does a part that
        holds nothing else."""
        inner = items_of(item)
        if item == NULL or _is_null(fields_of(item) or {}):
            self._log.note(Miss.CONTENT, below, item)
            return []
        if inner is None:
            return [self._piece(item, role, below)]
        self._log.note(Miss.CONTENT, below)
        if len(inner) > MOST_ODD:
            refuse_too_odd(self._log.at + below)
        return [self._piece(one if one[:1] == b"{" else as_text(one), role, below) for one in inner]

    def _pictures(self, rest: Fields, role: Role) -> list[MeantPart]:
        """Pictures beside the content, as Ollama's clients write them."""
        items = items_of(rest.get("images")) if self._form.pictures_apart and role is USER else None
        found = [parse_picture(item) for item in items or ()]
        pieces = [MeantPart(picture, None, f"/images/{index}") for index, picture in enumerate(found) if picture]
        if not pieces or len(pieces) < len(found):
            return []
        del rest["images"]
        for piece in pieces:
            self._log.note(Miss.PART, piece.below)
        return pieces

    def _piece(self, item: Json, role: Role, below: str) -> MeantPart:
        """A part of the dialect's own as it is; another one as what it means; else as it is."""
        if item[:1] not in _BEGINNINGS:
            return MeantPart(None, item, below)
        if self._form.fits_part(item, role):
            return MeantPart(parse_part_of_any(item), item, below)
        two_readings.refuse_two_kinds(fields_of(item) or {}, self._log.at + below)
        typed = self._add_type(item, role, below)
        if typed is not None:
            self._log.note(Miss.PART, below)
            return MeantPart(parse_part_of_any(typed), typed, below)
        repaired = self._form.repair_part(item, below, self._log)
        if repaired is not None:
            return MeantPart(parse_part_of_any(repaired), repaired, below)
        trimmed = self._trim(item, role, below)
        if trimmed is not None:
            return MeantPart(parse_part_of_any(trimmed), trimmed, below)
        part = parse_part_of_any(item)
        if part is None:
            self._refuse_empty(item, role, below)
            return MeantPart(None, item, below)
        if role in SYSTEM_ROLES and isinstance(part, (Call, Result, Reasoning)):
            return MeantPart(None, item, below)  # it is no text, and a rule leaves it out
        self._log.note(Miss.PART, below)
        return MeantPart(self._settle(item, part, below), None, below)

    def _add_type(self, item: Json, role: Role, below: str) -> Json | None:
        """A part without a type, with the only one that its other members leave. Raises MalformedRequest if these
        leave several."""
        fields = fields_of(item) if self._form.part_types else None
        if fields is None or first_of(fields, ("type", "block_type")) is not None:
            return None
        fields.pop("type", None)
        fitting = [kind for kind, members in self._form.part_types if members <= fields.keys()]
        of_type = {kind: render_object({"type": quote(kind), **fields}) for kind in fitting}
        left = {kind: part for kind, part in of_type.items() if self._form.fits_part(part, role)}
        if len(left) > 1 and (kind := kind_of_source(fields)) in left:
            return left[kind]
        if len(left) > 1:
            raise MalformedRequest(
                f"a part without a type, which may be {' or '.join(left)}",
                at=self._log.at + below,
                hint="give its type",
            )
        return next(iter(left.values()), None)

    def _refuse_empty(self, item: Json, role: Role, below: str) -> None:
        """Raise MalformedRequest if a part of a type that the dialect has holds nothing that can be read."""
        decode = self._form.decode_part
        if decode is None or text_of((fields_of(item) or {}).get("type")) not in READERS:
            return
        try:
            decode(item, role)
        except msgspec.DecodeError as fault:
            missing = _MISSING.search(str(fault))
            at = make_malformed(fault, self._log.at + below).at + (f"/{missing[1]}" if missing is not None else "")
            if not at.endswith("/type"):
                raise MalformedRequest(f"a part that cannot be read: {fault}", at=at) from None

    def _trim(self, item: Json, role: Role, below: str) -> Json | None:
        """A part of the dialect's own without members that do not fit, which are noted."""
        decode = self._form.decode_part
        trimmed = None if decode is None else without_misfits(item, lambda raw: decode(raw, role))
        if trimmed is None:
            return None
        for misfit in trimmed.misfits:
            self._log.note(misfit.kind, below + misfit.below, misfit.lost)
        return trimmed.raw

    def _settle(self, item: Json, part: Part, below: str) -> Part:
        """The part without what its new form has no place for, which is noted."""
        fields = fields_of(item) or {}
        lost = {key: value for key, value in fields.items() if key not in CONSUMED and value != NULL}
        if part.hint is not None and not self._form.takes_hints:
            lost["cache_control"] = part.hint.json
            part = replace(part, hint=None)
        if lost:
            self._log.note(Miss.UNKNOWN_KEY, below, render_object(lost))
        return part

    # calls and results

    def _result(self, fields: Fields, content: Json | None) -> MeantPart:
        """A tool's message: one result."""
        result = parse_any_result({**fields, "type": NULL, "content": content or NULL})
        if first_of(fields, ("tool_call_id",)) == result.call_id.encode() != b"":
            self._log.note(Miss.ID, "/tool_call_id")  # a number
        if not result.parts:
            result = replace(result, parts=(Text(EMPTY),))
        if not self._form.has_calls:
            self._log.note(Miss.TURN)
        elif content is None or (content[:1] != b'"' and not self._fits_all(content)):
            self._log.note(Miss.RESULT, "/content")
        return MeantPart(result)

    def _fits_all(self, content: Json) -> bool:
        return content == b"[]" or fits_items(content, lambda item: self._form.fits_part(item, TOOL))

    def _calls(self, fields: Fields, rest: Fields) -> list[MeantPart]:
        raw = fields.get("tool_calls")
        if raw is None:
            return []
        entries = items_of(raw) or ([raw] if raw[:1] == b"{" else [])
        found = [self._call(entry, f"/tool_calls/{index}") for index, entry in enumerate(entries)]
        if not found or None in found:
            rest["tool_calls"] = raw  # a rule looks at null and at an empty list; what is no call is refused
            return []
        if raw[:1] == b"{":
            self._log.note(Miss.CALL, "/tool_calls")
        if not self._form.has_calls:
            self._log.note(Miss.TURN)
        return [piece for piece in found if piece is not None]

    def _without_repeated(self, pieces: list[MeantPart], calls: list[MeantPart]) -> list[MeantPart]:
        """The parts without the calls that stand in the member for calls too, as libraries keep them. A part whose
        stream was never put together has no arguments. Raises MalformedRequest if the two have different ones."""
        twins = {one.meant.id: one.meant.arguments for one in calls if type(one.meant) is Call and one.meant.id}
        kept: list[MeantPart] = []
        for piece in pieces:
            part = piece.meant
            if type(part) is not Call or part.id not in twins:
                kept.append(piece)
            elif part.arguments != b"{}" and not mean_same(part.arguments, twins[part.id]):
                two_readings.refuse_two_arguments(part.id, self._log.at + piece.below)
        return kept

    def _call(self, entry: Json, below: str) -> MeantPart | None:
        fields = fields_of(entry)
        call = None if fields is None else _parse_custom(fields) or parse_any_call(fields)
        if fields is None or call is None:
            return None
        inner = fields_of(fields.get("function")) or {}
        others = {key: value for key, value in {**inner, **fields}.items() if key not in CALL_KEYS}
        if self._form.has_calls:
            if fields.get("id") == call.id.encode() != b"":
                self._log.note(Miss.ID, f"{below}/id")  # a number
            self._note_call(fields, below)
            call = replace(call, extras=Extras(self._form.name, others) if others else None)
        elif others:
            self._log.note(Miss.UNKNOWN_KEY, below, render_object(others))
        return MeantPart(call, None, below)

    def _note_call(self, fields: Fields, below: str) -> None:
        function = fields_of(fields.get("function"))
        if text_of(fields.get("type")) == "custom" and "custom" in fields:
            return
        if self._form.argument_objects:
            self._note_object(function, below)
        elif function is None or text_of(fields.get("type")) != "function":
            self._log.note(Miss.CALL, below)
        elif function.get("arguments", EMPTY) == EMPTY or function["arguments"][:1] != b'"':
            self._log.note(Miss.ARGUMENTS, f"{below}/function/arguments" if "arguments" in function else below)

    def _note_object(self, function: Fields | None, below: str) -> None:
        if function is None:
            self._log.note(Miss.CALL, below)
        elif function.get("arguments", b"{")[:1] not in (b"{", b"n"):
            self._log.note(Miss.ARGUMENTS, f"{below}/function/arguments")


_ITEM_MARKS = {"id": b'"', "status": b'"n'}
"""Members of an item, each with the letters that its value may begin with. A status of null was recorded."""
_ITEM_TYPES = frozenset({"function_call", "function_call_output", "reasoning"})


def _is_null(part: Fields) -> bool:
    """Whether it holds nothing but nulls. A text that is null is an empty one."""
    return {*part.values()} == {NULL} and "text" not in part


def _may_be_part(content: Json, key: str) -> bool:
    """Whether an object in place of the content may be a part. One without a type that is none is a value."""
    fields = fields_of(content)
    if fields is None or key == "parts" or "type" in fields:
        return fields is not None
    return parse_part_of_any(content) is not None


def _stands_alone(fields: Fields) -> bool:
    """Whether an item without a role is a part by itself: a call, a result or a thought."""
    kind = text_of(fields.get("type")).replace("-", "_")
    if kind in _ALONE or any(key in fields for key in _ALONE_KEYS):
        return True
    if kind:
        return kind in ("text", "input_text", "image_url", "input_image", "image")
    called = "name" in fields and ("arguments" in fields or "args" in fields)
    return called or ("call_id" in fields and "output" in fields) or "tool_use_id" in fields


def _speaks(fields: Fields) -> bool:
    """Whether an item without a role is a message all the same: it says something, and nothing else is its type."""
    return text_of(fields.get("type")) in ("", "message") and not fields.keys().isdisjoint(_MESSAGE_KEYS)


_MESSAGE_KEYS = frozenset({*CONTENTS, "tool_calls"})


def _role_of(part: Part) -> Role:
    return TOOL if type(part) is Result else ASSISTANT if isinstance(part, (Call, Reasoning)) else USER


def _guess_role(fields: Fields) -> Role:
    if first_of(fields, ("tool_call_id", "tool_use_id")) is not None:
        return TOOL
    return ASSISTANT if first_of(fields, ("tool_calls",)) is not None else USER


def _holds_results(content: Json | None) -> bool:
    """Whether results are parts of the content, as in Messages and Gemini."""
    items = items_of(content) or []
    return any(type(parse_part_of_any(item)) is Result for item in items)


def _parse_custom(fields: Fields) -> Call | None:
    """Chat's call of a tool that takes plain text."""
    custom = fields_of(fields.get("custom")) if text_of(fields.get("type")) == "custom" else None
    if custom is None or custom.get("name", b"")[:1] != b'"':
        return None
    return Call(text_of(fields.get("id")), text_of(custom["name"]), as_text(custom.get("input", EMPTY)), custom=True)
