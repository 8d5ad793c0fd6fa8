"""Opaque reasoning state that the client's dialect could not carry: what to ask the store for, and putting it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import groupby
from operator import attrgetter, is_
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import NO_ID, OURS, Call, Opaque, Origin, Part, Reasoning, StateKind, Text
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.reasoning_capture import TurnKeys, call_key, needs_arguments, text_key, turn_key
from dragoman.profiles.facts import NEEDS_FILLED, Facts, Need, Scope, Stance
from dragoman.profiles.model_patterns import bare_name
from dragoman.rules.clean.provider_run import may_return
from dragoman.rules.reasoning import fits, thinks
from dragoman.rules.rule import report_only

_role = attrgetter("role")
KeptParts = tuple[Part, ...]
"""What was kept for one call or one answer: thinking, and the state of the call or text itself."""


def keeps(facts: Facts, ask: Ask) -> bool:
    """Whether the client may fail to bring back what the target wants back.

    A client of the target's own dialect can bring back everything. Still some drop what they do not know, so that
    state is kept which the target demands in a loop of calls, or which such clients are known to drop.
    """
    if ask.dialect != facts.dialect:
        return bool(facts.reasoning_states or facts.reasoning_field)
    if facts.reasoning_kept:
        return True
    if facts.reasoning_required in NEEDS_FILLED:
        return thinks(ask.conversation.settings, facts)
    if not ask.conversation.tools:
        return False
    demanded = facts.reasoning_required is not Need.NEVER or facts.call_signature is Stance.REFUSES
    return demanded and thinks(ask.conversation.settings, facts)


def may_keep(facts: Facts, ask: Ask) -> bool:
    """Whether thinking is kept if the answer has any, though nobody says that the target wants it back.

    If the target demands it at the next turn of a loop, the words that it demands are there.
    """
    return ask.dialect == facts.dialect and bool(ask.conversation.tools) and facts.reasoning_text is not Stance.REFUSES


def issuer(facts: Facts) -> str:
    """Who issues the target's state: its provider, or the maker whose state several platforms share."""
    return facts.family or facts.provider


def scope(facts: Facts) -> str:
    """How far state of this target may travel, as the store's key."""
    return bare_name(facts.model) if facts.reasoning_scope is Scope.MODEL else ""


def has_keys(conversation: Conversation) -> bool:
    """Whether `keys` has anything to ask for: seen without making a single digest."""
    return Role.ASSISTANT in map(_role, conversation.messages)


def keys(conversation: Conversation, facts: Facts) -> Iterator[str]:
    """What may be needed for this conversation, the latest first. Made as they are asked for: digests take time."""
    known: set[str] = set()
    turns = [(message, turn) for message, turn in _with_turns_before(conversation) if _is_model(message)]
    for message, turn in reversed(turns):
        first = message.parts[0] if len(message.parts) == 1 else None
        if type(first) is Call and _has_own_id(first):  # nearly every turn of an agent
            found = [first.id]
        else:
            calls = [key for pair in _call_keys(message, turn) for key in pair if key]
            found = _keys_of(message, turn, calls, facts)
        for key in found:
            if key not in known:
                known.add(key)
                yield key


FindTurn = Callable[[], TurnKeys]
"""Finds the keys of the turn before a message. Digests take time, and few need them."""


class _TurnDigests:
    """The turns of a conversation that are not the model's."""

    def __init__(self, conversation: Conversation) -> None:
        self._opening = next((one for one in conversation.messages if one.role is Role.USER), None)
        self._found: dict[int, TurnKeys] = {}

    def find(self, before: Message | None) -> TurnKeys:
        """The keys of a turn."""
        found = self._found.get(id(before))
        if found is None:
            key = turn_key(before) if before is not None else ""
            place = f"{self.find(self._opening).turn} {key}" if before is not self._opening else key
            found = self._found[id(before)] = TurnKeys(place, key)
        return found


def _with_turns_before(conversation: Conversation) -> Iterator[tuple[Message, FindTurn]]:
    """Each message, and what finds the turn before it: the last message that is not the model's."""
    turns = _TurnDigests(conversation)
    before: Message | None = None
    for message in conversation.messages:
        yield message, partial(turns.find, before)
        before = before if _is_model(message) else message


def find_answered_turn(ask: Ask) -> TurnKeys:
    """The keys of the turn of a request that is answered."""
    conversation = ask.conversation
    return _TurnDigests(conversation).find(
        next((one for one in reversed(conversation.messages) if not _is_model(one)), None)
    )


def _has_own_id(call: Call) -> bool:
    return call.wire_form != NO_ID and not needs_arguments(call.id)


def _call_keys(message: Message, turn: FindTurn) -> list[tuple[str, str]]:
    """For each call the key that tells it from all others, and the one by which it is found if turns before it were
    changed, or nothing."""
    return [_keys_of_call(part, turn) for part in message.parts if type(part) is Call]


def _keys_of_call(call: Call, turn: FindTurn) -> tuple[str, str]:
    if _has_own_id(call):
        return call.id, ""
    late = turn().turn if call.wire_form == NO_ID else call.id
    return call_key(turn().place, call.name, call.arguments), call_key(late, call.name, call.arguments)


def _find_calls(message: Message, turn: FindTurn, kept: Mapping[str, KeptParts]) -> list[str]:
    """The key of each call. If nothing is kept under those that tell them from all others, the one of its id."""
    pairs = _call_keys(message, turn)
    exact = [key for key, _ in pairs]
    return exact if any(key in kept for key in exact) else [late or key for key, late in pairs]


def _keys_of(message: Message, turn: FindTurn, calls: list[str], facts: Facts) -> list[str]:
    """The keys of its calls and of runs that it tells of, and last the key of its words, if that is needed."""
    found = [*_run_ids(message, facts), *calls] if Opaque in map(type, message.parts) else calls
    return [*found, _words_key(message, turn)] if not calls or _signs_words(message, facts) else found


def _run_ids(message: Message, facts: Facts) -> list[str]:
    """The ids of the runs that blocks of the client's tell of."""
    return [key for part in message.parts if type(part) is Opaque and (key := _run_id(part, facts))]


def _run_id(block: Opaque, facts: Facts) -> str:
    """The id of the run that a block of another dialect tells of."""
    strange = block.origin.dialect not in (OURS.dialect, facts.dialect)
    codec = dialect(block.origin.dialect).provider_tools if strange else None
    run = codec.parse_run(block) if codec is not None else None
    return run.id if run is not None else ""


def _signs_words(message: Message, facts: Facts) -> bool:
    """Whether the target may have signed the words of a turn in addition to its calls."""
    return StateKind.THOUGHT in facts.reasoning_states and any(type(part) is Text for part in message.parts)


def _words_key(message: Message, turn: FindTurn) -> str:
    return text_key("".join([part.text for part in message.parts if type(part) is Text]), turn)


def restore_reasoning(conversation: Conversation, client: str, kept: Mapping[str, KeptParts], facts: Facts) -> Rewrite:
    """The conversation with the state put back that the target may have, and a note for each turn that got some.
    `client`: its dialect."""
    takes_pieces = client == facts.dialect
    messages: list[Message] = []
    notes: list[Note] = []
    brought: set[bytes] = set()
    """Proofs of thinking, and blocks, in messages before this one, of the same turn."""
    lone: set[int] = set()
    for message, turn in _with_turns_before(conversation):
        found = _find_kept(message, turn, kept, facts)
        thinking = _thinking(found, facts)
        if thinking and messages and _is_nothing_but_copy(messages[-1], _words(thinking)):
            messages.pop()
        messages.append(_restore(message, turn, kept, facts, takes_pieces, brought=brought) if found else message)
        if _is_model(message):
            brought |= proofs_of(messages[-1].parts)
        else:
            brought = set()
        if messages[-1] is not message:
            notes.append(_note(message, messages[-1]))
            if all(type(part) is Opaque for part in messages[-1].parts):
                lone.add(id(messages[-1]))
    if lone:
        messages = [one for _, turn in groupby(messages, _is_model) for one in _join(turn, lone)]
    same = len(messages) == len(conversation.messages) and all(map(is_, messages, conversation.messages))
    return Rewrite(conversation if same else replace(conversation, messages=tuple(messages)), tuple(notes))


def _is_model(message: Message) -> bool:
    return message.role is Role.ASSISTANT


def _join(turn: Iterable[Message], lone: set[int]) -> list[Message]:
    """One turn with blocks that were put back as messages of their own beside the words that they belong to. What the
    client was shown at the end of an answer was its beginning."""
    messages = list(turn)
    late = next((at for at in range(len(messages), 0, -1) if id(messages[at - 1]) not in lone), 0)
    if late:
        messages = [*messages[late:], *messages[:late]]
    out: list[Message] = []
    for message in messages:
        if out and id(out[-1]) in lone:
            parts, span = _after_thoughts(message.parts, out[-1].parts), out[-1].span + message.span
            out[-1] = replace(message, parts=parts, span=span)
            lone |= {id(out[-1])} if id(message) in lone else set()
        else:
            out.append(message)
    return out


def _note(before: Message, after: Message) -> Note:
    """What a turn got that the client did not bring back."""
    own = {id(part) for part in before.parts}
    added = tuple([part for part in after.parts if id(part) not in own])
    kinds = {_ADDED.get(type(part), "signatures") for part in added}
    what = " and ".join(sorted(kinds, reverse=True))
    return Note(f"put back {what} that the client did not bring back", before, kind="added", after=added)


_ADDED: Mapping[type, str] = {Reasoning: "thinking", Opaque: "runs of its own tools"}


class PutBack:
    """The thinking that was put back into a conversation, and what becomes of it.

    It is not the client's, so nothing that a rule does to it is a loss of the client's.
    """

    def __init__(self, notes: tuple[Note, ...]) -> None:
        self._notes = notes
        self._ours = {key for note in notes for part in note.after for key in _marks(part)}
        self._gone: set[bytes] = set()

    def sort_out(self, notes: Sequence[Note]) -> list[Note]:
        """The notes of a rule without those on thinking that it left out again. What it made of it is an addition."""
        found: list[Note] = []
        for note in notes:
            lost = _list_lost(note)
            if not lost or any(self._ours.isdisjoint(_marks(part)) for part in lost):
                found.append(note)
            elif note.after is None or note.part is None:
                self._gone.update(key for part in lost for key in _marks(part))
            else:
                found.append(replace(note, kind="added", loses=Loss.NOTHING))
        return found

    def find_stayed(self, conversation: Conversation) -> list[Note]:
        """The notes on what is still there."""
        places = {place for one in conversation.messages for place in range(one.at, one.at + one.span)}
        return [
            note
            for note in self._notes
            if note.message is not None
            and note.message.at in places
            and any(self._gone.isdisjoint(_marks(part)) for part in note.after)
        ]


def _list_lost(note: Note) -> list[Part]:
    """The parts that a note says are gone or changed."""
    if note.part is not None or not isinstance(note.before, Message):
        return [] if note.part is None else [note.part]
    after = note.after if isinstance(note.after, tuple) else (note.after,)
    left = {id(part) for message in after if isinstance(message, Message) for part in message.parts}
    return [part for part in note.before.parts if id(part) not in left]


def _marks(part: Part) -> tuple[bytes, ...]:
    """What tells this thinking from other thinking, also if rules wrote it anew; nothing if it is none."""
    if type(part) is not Reasoning:
        return ()
    return tuple([key for key in (part.state and part.state.json, part.text and part.text.literal) if key])


kept_reasoning = report_only(
    "kept-reasoning", Loss.NOTHING, "Thinking or a signature that was kept for the client was put back."
)


def _find_kept(message: Message, turn: FindTurn, kept: Mapping[str, KeptParts], facts: Facts) -> list[KeptParts]:
    """What was kept for a turn of the model."""
    if not _is_model(message):
        return []
    found = _keys_of(message, turn, _find_calls(message, turn, kept), facts)
    return [kept[key] for key in dict.fromkeys(found) if key in kept]


def _words(thinking: list[Reasoning]) -> str:
    return "".join(part.text.text for part in thinking if part.text is not None)


def _is_nothing_but_copy(message: Message, words: str) -> bool:
    """Whether a turn of its own has only a copy of what the model thought before the next one."""
    return message.role is Role.ASSISTANT and all(type(part) is Text and is_copy(part, words) for part in message.parts)


def _restore(
    message: Message,
    turn: FindTurn,
    kept: Mapping[str, KeptParts],
    facts: Facts,
    takes_pieces: bool,
    *,
    brought: Set[bytes],
) -> Message:
    """`takes_pieces`: thinking that the client brought back in pieces goes out in them. `brought`: the proofs of
    thinking, and the blocks, that stand before it in the same turn."""
    found = _find_kept(message, turn, kept, facts)
    of_words = kept.get(_words_key(message, turn), ()) if _signs_words(message, facts) else ()
    parts = _complete(message.parts, found)
    last = next((part for part in reversed(parts) if type(part) is Text and not part.blank), None)
    held = {id(last): next(_states(of_words, facts), None), **_states_of_calls(message, turn, kept, facts)}
    signed = [_sign(part, held.get(id(part))) for part in parts]
    parts = _without_twins(signed)
    thinking = [part for part in _thinking(found, facts) if part.state is None or proof_of(part.state) not in brought]
    parts = _with_thinking(parts, thinking, facts.reasoning_field, takes_pieces)
    parts = _with_blocks(parts, kept, found, facts, brought | proofs_of(parts))
    same = len(parts) == len(message.parts) and all(
        one is other for one, other in zip(parts, message.parts, strict=True)
    )
    return message if same else replace(message, parts=parts)


def _with_thinking(parts: tuple[Part, ...], kept: list[Reasoning], field: str, takes_pieces: bool) -> tuple[Part, ...]:
    """The turn with the thinking that was kept, in place of what the client returned of it.

    A client may return the visible words, some of them, or nothing. Its own copy has no proof, and costs the turn its
    thinking if the target demands one.
    """
    if not kept:
        return parts
    words = _words(kept)
    proofs = proofs_of(parts)
    missing = [part for part in kept if part.state is None or proof_of(part.state) not in proofs]
    if not missing or _brings_words(parts, missing, field, takes_pieces):
        return parts
    start = _find_round(parts)
    others = [part for part in parts[start:] if not is_copy(part, words)]
    return (*parts[:start], *missing, *others)


def _find_round(parts: Sequence[Part]) -> int:
    """Where the round begins that has the client's calls, or the last words: behind what the gateway ran before."""
    until = next((at for at, part in enumerate(parts) if type(part) is Call), len(parts))
    return next((at for at in range(until, 0, -1) if _is_run(parts[at - 1])), 0)


def _is_run(part: Part) -> bool:
    return type(part) is Opaque and part.origin == OURS and part.meant is not None


def proofs_of(parts: Sequence[Part]) -> set[bytes]:
    """What tells thinking and blocks from others."""
    states = [part.state for part in parts if isinstance(part, Reasoning) and part.state is not None]
    return {*map(proof_of, states), *[part.json for part in parts if type(part) is Opaque]}


def _brings_words(parts: tuple[Part, ...], kept: list[Reasoning], field: str, takes_pieces: bool) -> bool:
    """Whether kept thinking without any proof is there, where the target reads it. Pieces of a stream are enough in the
    client's own dialect; another would write each as a paragraph."""
    own = [part for part in parts if type(part) is Reasoning and part.state is None and part.field in ("", field)]
    whole = takes_pieces or len(own) == len(kept)
    return whole and all(part.state is None for part in kept) and _words(own) == _words(kept)


def _without_twins(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts without thinking that is nothing but the signature of a text beside it: some clients carry it so."""
    signed = {proof_of(part.signature) for part in parts if type(part) is Text and part.signature is not None}
    twins = [part for part in parts if type(part) is Reasoning and part.text is None and part.state is not None]
    gone = {id(part) for part in twins if part.state is not None and proof_of(part.state) in signed}
    return tuple([part for part in parts if id(part) not in gone])


def _with_blocks(
    parts: tuple[Part, ...], kept: Mapping[str, KeptParts], found: list[KeptParts], facts: Facts, brought: Set[bytes]
) -> tuple[Part, ...]:
    """The turn with the blocks of its vendor's own: in place of those that the client was shown, or behind the
    thinking if it was shown none, or at the end: what an answer tells at its end was its beginning."""
    ids = {id(part): _run_id(part, facts) for part in parts if type(part) is Opaque}
    shown = {key: _blocks(kept[key], facts) for key in ids.values() if key in kept}
    placed = {id(block) for blocks in shown.values() for block in blocks}
    missing = [block for one in found for block in _blocks(one, facts) if block.json not in brought]
    others: list[Part] = [block for block in missing if id(block) not in placed]
    if not placed and not others:
        return parts
    out: list[Part] = []
    written: set[str] = set()
    for part in parts:
        key = ids.get(id(part), "")
        out += [part] if not shown.get(key) else shown[key] if key not in written else []
        written.add(key)
    while out and id(out[-1]) in placed:
        others.insert(0, out.pop())
    return _after_thoughts(out, others)


def _after_thoughts(parts: Sequence[Part], blocks: Sequence[Part]) -> tuple[Part, ...]:
    first = next((at for at, part in enumerate(parts) if type(part) is not Reasoning), len(parts))
    return (*parts[:first], *blocks, *parts[first:])


def _blocks(kept: KeptParts, facts: Facts) -> list[Opaque]:
    """Runs of tools that the target's own vendor made, and takes back."""
    found = [part for part in kept if type(part) is Opaque and part.kind not in facts.reasoning_states]
    return found if may_return(found, facts) else []


def is_copy(part: Part, words: str) -> bool:
    """Whether these are kept words that came back without the proof, or with one that means nothing; or as a text
    between tags, which is how some agents write thinking down."""
    if isinstance(part, Text):
        return part.signature is None and _between_tags(part.text, words)
    if not isinstance(part, Reasoning) or part.text is None:
        return False
    return has_no_proof(part) and part.text.text.strip() in words


def has_no_proof(part: Reasoning) -> bool:
    """Whether nobody has signed it: so it is with an entry of `reasoning_details` that has words alone, too."""
    state = part.state
    if state is None or state.kind == StateKind.UNSIGNED or state.json == EMPTY:
        return True
    return state.kind == StateKind.DETAIL and proof_of(state) is state.json


_TAGS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def _between_tags(text: str, words: str) -> bool:
    """Whether a text is nothing but kept words between tags."""
    text = text.strip()
    return any(
        text.startswith(start) and text.endswith(end) and text[len(start) : -len(end)].strip() in words
        for start, end in _TAGS
    )


def _complete(parts: tuple[Part, ...], found: list[KeptParts]) -> tuple[Part, ...]:
    """Thinking whose proof came back without its words gets them again.

    Some clients keep only the last piece of a field that they do not know: the proof, and the end of the words.
    """
    whole = {
        proof_of(part.state): part
        for one in found
        for part in one
        if isinstance(part, Reasoning) and part.state is not None and part.text is not None
    }
    if not any(_is_hollow(part, whole) for part in parts):
        return parts
    words = "".join(part.text.text for part in whole.values() if part.text is not None)
    completed = [_whole(part, whole) for part in parts if not _is_scrap(part, words)]
    return tuple(completed)


def proof_of(state: Opaque) -> bytes:
    """What tells one state from another. An entry of `reasoning_details` may come back with its text or without."""
    if state.kind != StateKind.DETAIL:
        return state.json
    fields = msgspec.json.decode(state.json, type=dict[str, msgspec.Raw])
    return bytes(fields.get("signature") or fields.get("data") or state.json)


def _is_hollow(part: Part, whole: Mapping[bytes, Reasoning]) -> bool:
    return (
        isinstance(part, Reasoning) and part.text is None and part.state is not None and proof_of(part.state) in whole
    )


def _whole(part: Part, whole: Mapping[bytes, Reasoning]) -> Part:
    if not isinstance(part, Reasoning) or part.state is None or part.text is not None:
        return part
    return whole.get(proof_of(part.state), part)


def _is_scrap(part: Part, words: str) -> bool:
    return isinstance(part, Reasoning) and part.state is None and part.text is not None and part.text.text in words


def _thinking(found: list[KeptParts], facts: Facts) -> list[Reasoning]:
    """Thinking that the target issued, and plain thinking if it is taken as text."""
    return [
        part
        for one in found
        for part in one
        if isinstance(part, Reasoning) and (part.state is None or fits(part.state, facts))
    ]


def _states_of_calls(
    message: Message, turn: FindTurn, kept: Mapping[str, KeptParts], facts: Facts
) -> dict[int, Opaque | None]:
    """The state of each call. Calls that nothing tells apart have theirs in their order."""
    calls, keys = [part for part in message.parts if type(part) is Call], _find_calls(message, turn, kept)
    states = {key: _states(kept.get(key, ()), facts) for key in keys}
    return {id(call): next(states[key], None) for call, key in zip(calls, keys, strict=True)}


def _states(held: KeptParts, facts: Facts) -> Iterator[Opaque]:
    return (state for state in held if isinstance(state, Opaque) and fits(state, facts))


def _sign(part: Part, state: Opaque | None) -> Part:
    if state is None or not isinstance(part, (Call, Text)) or part.signature is not None:
        return part
    return replace(part, signature=state)


def pack(parts: KeptParts) -> bytes:
    """What is kept, as the store's bytes."""
    return msgspec.json.encode([_plain(part) for part in parts])


def unpack(value: bytes) -> KeptParts:
    return tuple(_part(plain) for plain in msgspec.json.decode(value))


def _plain(part: Part) -> dict[str, Any]:
    if isinstance(part, Opaque):
        return _plain_state(part)
    assert isinstance(part, Reasoning)
    return {
        "text": part.text.text if part.text is not None else None,
        "state": _plain_state(part.state) if part.state is not None else None,
        "redacted": part.redacted,
        "field": part.field,
    }


def _plain_state(state: Opaque) -> dict[str, Any]:
    return {"kind": state.kind, "json": state.json.decode(), "origin": msgspec.to_builtins(state.origin)}


def _part(plain: dict[str, Any]) -> Part:
    if "kind" in plain:
        return _state(plain)
    text, state = plain["text"], plain["state"]
    return Reasoning(
        text=Text(msgspec.json.encode(text)) if text is not None else None,
        state=_state(state) if state is not None else None,
        redacted=plain["redacted"],
        field=plain["field"],
    )


def _state(plain: dict[str, Any]) -> Opaque:
    return Opaque(kind=plain["kind"], json=plain["json"].encode(), origin=msgspec.convert(plain["origin"], Origin))
