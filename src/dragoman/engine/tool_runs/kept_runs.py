"""What the model saw of tools that the gateway ran: as a block of a conversation, as what is kept of it, and put back
into later turns.

The client sees a run in the form of its own vendor, and brings that back. The model saw a call and a result. Both are
kept under the id of the client's block, and travel in the block itself if the vendor has a place for opaque state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from operator import is_

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.envelope import seal, unseal
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import OURS, Call, Inline, Media, MediaKind, Opaque, Part, Reasoning, Result, Text
from dragoman.conversation.provider_tools import ToolRun
from dragoman.conversation.tools import Tool
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.reasoning_capture import turn_key
from dragoman.engine.compile.reasoning_restore import (
    KeptParts,
    has_no_proof,
    is_copy,
    pack,
    proof_of,
    proofs_of,
    unpack,
)
from dragoman.engine.tool_runs.tool_catalogue import declare_found

RUN = "run"
"""The kind of the block that stands for runs of one round."""
BEFORE = "before "
"""In front of the key of a call: runs of rounds before its own that the client was not shown."""
_BESIDE = "beside "


class KeptMedia(msgspec.Struct, frozen=True, gc=False):
    """A picture, a sound or a document of a result."""

    kind: MediaKind
    media_type: str
    base64: str

    def part(self) -> Media:
        return Media(kind=self.kind, source=Inline(self.media_type, quote(self.base64)))


class KeptRun(msgspec.Struct, frozen=True, gc=False):
    """A call of a function and its result, as the model saw them."""

    round: str
    """Runs of one round belong to one turn of the model."""
    id: str
    name: str
    """The function's."""
    arguments: str
    output: str
    is_error: bool = False
    found: tuple[str, ...] = ()
    """The names of tools that the run has found."""
    media: tuple[KeptMedia, ...] = ()
    text: str = ""
    """What the model said in this round before the call, if the client is not shown the run: its texts are one then."""

    def call(self, signature: Opaque | None) -> Call:
        return Call(id=self.id, name=self.name, arguments=self.arguments.encode(), signature=signature)

    def result(self) -> Result:
        media = [one.part() for one in self.media]
        return Result(call_id=self.id, parts=(Text(quote(self.output)), *media), is_error=self.is_error)

    def words(self) -> bytes:
        """What is told of the run if the function is not declared."""
        return msgspec.json.encode({"name": self.name, "arguments": self.arguments, "result": self.output})


_decode = msgspec.json.Decoder(KeptRun).decode


def keep_run(round: str, call: Call, run: ToolRun, thoughts: Sequence[Reasoning], text: str = "") -> KeptParts:
    """What is kept: the thinking before the call, the run, and the state of the call. `text`: as in `KeptRun`."""
    found = tuple([tool.name for tool in run.tools])
    media = tuple([_keep_media(one) for one in run.media])
    asked = (round, call.id, call.name, call.arguments.decode())
    kept = KeptRun(*asked, run.output or "", bool(run.error), found, media, text)
    signature = () if call.signature is None else (call.signature,)
    return (*thoughts, Opaque(kind=RUN, json=msgspec.json.encode(kept), origin=OURS), *signature)


def _keep_media(media: Media) -> KeptMedia:
    source = media.source
    assert isinstance(source, Inline)
    return KeptMedia(media.kind, source.media_type, unquote(source.data))


def seal_run(kept: KeptParts) -> str:
    """A kept run as text that a client carries in the place of opaque state."""
    return seal(Opaque(kind=RUN, json=pack(kept), origin=OURS))


def open_run(sealed: str) -> KeptParts:
    """What `seal_run` has sealed; nothing if it is not that. Any client can make such an envelope, so what is written
    into a request as it is must be JSON."""
    found = unseal(sealed)
    if found is None or found.origin != OURS:
        return ()
    try:
        parts = unpack(found.json)
        run = _run_of(parts)
        if run is None:
            return ()
        states = [part.state if isinstance(part, Reasoning) else part for part in parts]
        for json in (run.arguments.encode(), *[state.json for state in states if type(state) is Opaque]):
            msgspec.json.decode(json)
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return ()
    return parts


def _run_of(parts: KeptParts) -> KeptRun | None:
    found = next((one for one in parts if type(one) is Opaque and one.origin == OURS), None)
    return _decode(found.json) if found is not None else None


def restore_run(run: ToolRun, kept: KeptParts) -> ToolRun:
    """A run that the client brings back, with all that the model saw of it."""
    found = _run_of(kept)
    if found is None:
        return run
    error = run.error if found.is_error else ""
    return replace(run, output=found.output, error=error, media=tuple([one.part() for one in found.media]))


def run_block(pairs: Sequence[tuple[Call, ToolRun]]) -> Opaque:
    """The runs of one round: all calls, and then all results."""
    results = [
        Result(call_id=call.id, parts=(Text(quote(run.output or "")), *run.media), is_error=bool(run.error))
        for call, run in pairs
    ]
    found = declare_found([tool for _, run in pairs for tool in run.tools])
    return Opaque(kind=RUN, json=b"{}", origin=OURS, meant=(*[call for call, _ in pairs], *results), declares=found)


def find_runs(conversation: Conversation, client: str, beside_calls: bool = False) -> Mapping[str, KeptParts]:
    """The blocks of the client's dialect that tell of runs, by their ids, each with what it carries itself.
    `beside_calls`: and the calls that runs may have been kept beside."""
    codec = dialect(client).provider_tools
    found: dict[str, KeptParts] = {}
    for part in _blocks(conversation.messages, client) if codec is not None else ():
        run = codec.parse_run(part) if codec is not None else None
        if run is not None and run.id:
            found[run.id] = found.get(run.id) or (open_run(run.state) if run.state else ())
    before: Message | None = None
    for message in conversation.messages if beside_calls else ():
        key = _key_beside(message, before)
        found |= {BEFORE + key: (), key: ()} if key else {}
        before = message
    return found


def beside_key(call_id: str, before: Message | None) -> str:
    """The key of runs that the client was not shown, beside a call of its own. Some servers use ids again, so the turn
    before is part of it."""
    return f"{_BESIDE}{call_id} {turn_key(before) if before is not None else ''}"


def _key_beside(message: Message, before: Message | None) -> str:
    call = next((part for part in message.parts if type(part) is Call), None)
    return beside_key(call.id, before) if call is not None and message.role is ASSISTANT else ""


def _blocks(messages: Iterable[Message], client: str) -> list[Opaque]:
    return [
        part
        for message in messages
        if message.role is ASSISTANT
        for part in message.parts
        if type(part) is Opaque and part.origin.dialect == client
    ]


def restore_runs(
    conversation: Conversation, client: str, kept: Mapping[str, KeptParts], functions: Mapping[str, Tool]
) -> Conversation:
    """The conversation with the calls and results that the model saw, in place of the blocks that the client saw.

    `functions`: those that are declared now, and those that a search may find. If the function of a run is not among
    them, its block stays as one that no target takes as it is.
    """
    turns: list[list[Message]] = []
    before: Message | None = None
    beside = any(key.startswith((BEFORE, _BESIDE)) for key in kept)
    brought: set[bytes] = set()
    """Proofs of thinking in messages before this one, of the same turn."""
    for message in conversation.messages:
        key = _key_beside(message, before) if beside else ""
        brought = brought | proofs_of(message.parts) if message.role is ASSISTANT else set()
        found, before = _restore(message, client, kept, functions, key=key, brought=brought), message
        if found is not message and turns and _goes_on(turns[-1][-1], found):
            turns[-1].append(found)
        else:
            turns.append([found])
    messages = [_join(turn) if len(turn) > 1 else turn[0] for turn in turns]
    same = len(messages) == len(conversation.messages) and all(map(is_, messages, conversation.messages))
    return conversation if same else replace(conversation, messages=tuple(messages))


def _goes_on(before: Message, after: Message) -> bool:
    """Whether runs of one round stand at the end of one and at the beginning of the other. Some dialects have a message
    for each block."""
    match before.parts[-1:], after.parts[:1]:
        case (Opaque(origin=origin, meant=(*_,)) as one,), (Opaque(meant=(*_,)) as other,):
            return origin == other.origin == OURS and one.json == other.json
    return False


def _join(turn: Sequence[Message]) -> Message:
    """Messages that go on with each other as one."""
    *parts, last = turn[0].parts
    blocks = [last]
    for message in turn[1:]:
        first, *rest = message.parts
        blocks.append(first)
        if rest:
            parts += [_join_blocks(blocks), *rest[:-1]]
            blocks = rest[-1:]
    return replace(turn[0], parts=(*parts, _join_blocks(blocks)), span=sum([message.span for message in turn]))


def _join_blocks(blocks: Sequence[Part]) -> Part:
    """All calls of the blocks, and then all results."""
    if len(blocks) == 1:
        return blocks[0]
    ours = [block for block in blocks if type(block) is Opaque]
    meant = [part for block in ours for part in block.meant or ()]
    calls, results = ([part for part in meant if type(part) is kind] for kind in (Call, Result))
    return replace(ours[0], meant=(*calls, *results), declares=tuple([one for block in ours for one in block.declares]))


def _restore(
    message: Message,
    client: str,
    kept: Mapping[str, KeptParts],
    functions: Mapping[str, Tool],
    *,
    key: str,
    brought: Set[bytes],
) -> Message:
    codec = dialect(client).provider_tools
    before, beside = kept.get(BEFORE + key, ()), kept.get(key, ())
    shows = codec is not None and any(type(part) is Opaque for part in message.parts)
    if message.role is not ASSISTANT or not (before or beside or shows):
        return message
    turn = _RestoredTurn(message, functions, brought)
    for part in turn.put_back_before(before):
        run = codec.parse_run(part) if codec and type(part) is Opaque and part.origin.dialect == client else None
        parts = kept.get(run.id, ()) if run is not None else ()
        found = _run_of(parts)
        if found is None or run is None or type(part) is not Opaque:
            turn.add(part)
        elif run.id not in turn.seen:
            turn.seen.add(run.id)
            turn.put_back(part.kind, found, parts)
    turn.put_back_all(beside)
    return turn.whole()


def _split_runs(kept: KeptParts) -> list[KeptParts]:
    """Several runs that were kept as one: thinking, the run, and the state of its call, each."""
    runs: list[list[Part | Opaque]] = []
    for part in kept:
        goes_on = type(part) is Opaque and part.origin != OURS
        if not runs or not (goes_on or all(isinstance(one, Reasoning) for one in runs[-1])):
            runs.append([])
        runs[-1].append(part)
    return [tuple(run) for run in runs]


def _cut(parts: Sequence[Part], kind: type[Part], words: str, field: str = "") -> list[Part] | None:
    """The parts without these words, with which the texts of this kind begin, and without the blank line behind them;
    space does not count. None if they begin otherwise. Thinking is of one `field`, and has no proof."""
    wanted, at = "".join(words.split()), 0
    is_done = not wanted
    left: list[Part] = []
    for part in parts:
        text = part.text if isinstance(part, Reasoning) and part.field == field and has_no_proof(part) else part
        if is_done or type(part) is not kind or not isinstance(text, Text) or text.signature is not None:
            left.append(part)
            continue
        whole, end = text.text, 0
        while end < len(whole) and (whole[end].isspace() or (at < len(wanted) and whole[end] == wanted[at])):
            at += not whole[end].isspace()
            end += 1
        if end < len(whole):
            if at < len(wanted):
                return None
            is_done = True
            rest = Text(quote(whole[end:])) if end else text
            left.append(part if rest is text else rest if kind is Text else replace(part, text=rest))
    return left if at == len(wanted) else None


class _RestoredTurn:
    """A turn of the model on its way. Runs of one round that stand side by side become one block."""

    def __init__(self, message: Message, functions: Mapping[str, Tool], brought: Set[bytes]) -> None:
        """`brought`: the proofs of thinking that the turn has, in this message and those before it."""
        self.seen: set[str] = set()
        """The ids of runs that were put back."""
        self._message = message
        self._functions = functions
        self._proofs = brought
        self._parts: list[Part] = []
        self._thinks_from = 0
        """Where a copy of thinking may stand: behind the run before, and behind what was put back."""
        self._round = self._kind = ""
        self._calls: list[Part] = []
        self._results: list[Part] = []
        self._found: list[Tool] = []

    def add(self, part: Part) -> None:
        self._close_round()
        self._parts.append(part)

    def put_back_before(self, kept: KeptParts) -> Sequence[Part]:
        """Put back the rounds before this message that the client was not shown as such, each with its thinking and its
        words. Returns what is left of the message: what the client was shown as one belongs to them in part."""
        thoughts = [part for part in kept if isinstance(part, Reasoning)]
        proofs = proofs_of(thoughts)
        left = [
            part for part in self._message.parts if not (isinstance(part, Reasoning) and proofs & proofs_of([part]))
        ]
        self._proofs = self._proofs - proofs
        words = "".join(one.text.text for one in thoughts if one.text is not None)
        for field in dict.fromkeys([part.field for part in left if isinstance(part, Reasoning)]):
            shorter = _cut(left, Reasoning, words, field)
            left = left if shorter is None else shorter
        text = "".join(run.text for parts in _split_runs(kept) if (run := _run_of(parts)) is not None)
        without = _cut(left, Text, text)
        self.put_back_all(kept, speaks=without is not None)
        return left if without is None else without

    def put_back_all(self, kept: KeptParts, speaks: bool = False) -> None:
        """Put back runs that the client was not shown. `speaks`: with what the model said before them."""
        for parts in _split_runs(kept):
            if (run := _run_of(parts)) is not None:
                self.seen.add(run.id)
                self.put_back(RUN, run, parts, run.text if speaks else "")

    def put_back(self, kind: str, run: KeptRun, kept: KeptParts, text: str = "") -> None:
        if run.round != self._round:
            self._close_round()
        self._think([part for part in kept if isinstance(part, Reasoning)])
        if text:
            self._parts.append(Text(quote(text)))
        if run.name not in self._functions:
            self._parts.append(Opaque(kind=kind, json=run.words(), origin=OURS))
            self._thinks_from = len(self._parts)
            return
        states = [part for part in kept if type(part) is Opaque and part.origin != OURS]
        self._round = run.round
        self._calls.append(run.call(states[0] if states else None))
        self._results.append(run.result())
        self._found += [self._functions[name] for name in run.found if name in self._functions]
        self._kind = kind

    def _think(self, thoughts: list[Reasoning]) -> None:
        """Put the thinking before the round, in place of a copy of its words, unless the client brought it back."""
        missing = [one for one in thoughts if one.state is None or proof_of(one.state) not in self._proofs]
        if missing:
            words = "".join(one.text.text for one in missing if one.text is not None)
            since = [part for part in self._parts[self._thinks_from :] if not is_copy(part, words)]
            self._parts[self._thinks_from :] = [*since, *missing]
            self._thinks_from = len(self._parts)

    def _close_round(self) -> None:
        if self._calls:
            meant, found = (*self._calls, *self._results), declare_found(self._found)
            named = msgspec.json.encode(self._round)
            self._parts.append(Opaque(kind=self._kind, json=named, origin=OURS, meant=meant, declares=found))
            self._thinks_from = len(self._parts)
        self._round, self._calls, self._results, self._found = "", [], [], []

    def whole(self) -> Message:
        self._close_round()
        return replace(self._message, parts=tuple(self._parts)) if self.seen else self._message
