"""A block that tells of a tool that another provider ran: a search, a page, code, a call of a server's tool.

The vendor that made it gets it back as it was. Every other target gets a text in its place, that says what was asked
and what was found and where: the query, the title and address of each page, the sentences of it that the answer cites,
what the code printed. A picture that was made stays one. A call and its result become one text, never half of it. What
only the vendor can read is left out, and so is a call that tells neither what was asked nor what was found, such as one
whose action a client did not know (`other`); its own vendor refuses that, too (fact `block_actions`). The vendor itself
gets a text for a result whose call is not before it, if it refuses that (fact `paired_blocks`). If a client carries a
block that stands for one or two of this target's own vendor, those are put back, and a call of a server whose tools
this target calls itself is written as its own. With `refused-part: drop` such blocks are left out.

Loses metadata: the model no longer sees a call, and what was encrypted is gone.

For `openai/gpt-4o`, from `anthropic`:

    {"max_tokens": 100, "messages": [{"role": "user", "content": "Why is the sky blue?"},
      {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sky blue"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result",
         "title": "Sky", "url": "https://sky.example", "encrypted_content": "EqgfCioIARgB"}]}]},
      {"role": "user", "content": "Shorter."}]}
becomes
    {"max_tokens": 100, "messages": [{"role": "user", "content": "Why is the sky blue?"},
      {"role": "assistant", "content": "[web search: sky blue]\\n1. Sky - https://sky.example"},
      {"role": "user", "content": "Shorter."}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.envelope import holds_sealed, unseal_several
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Extras, Json, Opaque, Part, Text
from dragoman.conversation.provider_tools import AskedRuns, ProviderToolCodec, ToolRun, describe_run, says_nothing
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.native_kinds import takes_block
from dragoman.rules.part_words import block_words
from dragoman.rules.rewriting import with_parts
from dragoman.rules.rule import rule


@rule(
    "provider-run",
    when=lambda facts: True,
    looks_for=traits.OPAQUE | traits.PART_EXTRAS,
    loses=Loss.METADATA,
)
def provider_run(conversation: Conversation, context: Context) -> Rewrite:
    if not _may_tell_of_runs(conversation.messages):
        return Rewrite(conversation)
    history = _RunHistory(conversation, context)
    messages = tuple([history.rewrite(message) for message in conversation.messages])
    if not history.notes:
        return Rewrite(conversation)
    filled = tuple([message for message in messages if message.parts])
    return Rewrite(replace(conversation, messages=filled), tuple(history.notes))


def _may_tell_of_runs(messages: Sequence[Message]) -> bool:
    """Whether there is a block of a provider's, or a text with sealed fields. Most histories have neither."""
    for message in messages:
        for part in message.parts:
            if type(part) is Opaque:
                return True
            if type(part) is Text and part.extras is not None and any(map(holds_sealed, part.extras.fields.values())):
                return True
    return False


class _RunHistory:
    """The messages on their way."""

    def __init__(self, conversation: Conversation, context: Context) -> None:
        self._context = context
        self.notes: list[Note] = []
        self._runs: dict[int, ToolRun] = {}
        """The runs that are told otherwise, by the first block of each."""
        self._strange: set[int] = set()
        """All blocks of these runs."""
        self._codec = context.tool_codec(context.facts.dialect)
        self._servers = _find_servers(conversation.tools, context.facts.dialect, self._codec)
        """The servers whose tools the target calls."""
        blocks = [part for message in conversation.messages for part in message.parts if type(part) is Opaque]
        self._lone = _find_lone_results(blocks, context.facts)
        """The results that the target takes behind their calls alone."""
        if any(map(self._is_strange, blocks)):
            self._pair(blocks)

    def _pair(self, blocks: list[Opaque]) -> None:
        """Find the runs. If one half of a run is not the vendor's own, neither is the other."""
        asked = AskedRuns()
        groups: list[tuple[ToolRun, list[Opaque]]] = []
        for block in blocks:
            codec = self._context.tool_codec(block.origin.dialect) if block.meant is None else None
            run = codec.parse_run(block) if codec is not None else None
            if run is None:
                continue
            half = asked.take(run)
            if half is not None:
                groups[half[1]] = half[0].joined(run), [*groups[half[1]][1], block]
                continue
            if run.is_open:
                asked.add(run, len(groups))
            groups.append((run, [block]))
        for run, halves in groups:
            if any(map(self._is_strange, halves)):
                self._runs[id(halves[0])] = run
                self._strange |= {id(block) for block in halves}

    def _is_strange(self, block: Opaque) -> bool:
        """Whether the target does not take a block, or it is not its vendor's although it looks so."""
        facts = self._context.facts
        if block.origin.dialect != facts.dialect or not takes_block(block, facts):
            return bool(self._context.choice("refused-part") != "drop")
        return id(block) in self._lone or holds_sealed(block.json)

    def rewrite(self, message: Message) -> Message:
        """The message without blocks that are told otherwise, and without citations that only we can read."""
        if not any(type(part) is Opaque or part.extras is not None for part in message.parts):
            return message
        cited = _find_cited(message) if any(id(part) in self._runs for part in message.parts) else {}
        parts = [one for part in message.parts for one in self._rewrite_part(message, part, cited)]
        same = len(parts) == len(message.parts) and all(
            new is old for new, old in zip(parts, message.parts, strict=True)
        )
        return message if same else with_parts(message, tuple(parts))

    def _rewrite_part(self, message: Message, part: Part, cited: Mapping[str, list[str]]) -> tuple[Part, ...]:
        if type(part) is Text and part.extras is not None:
            return (self._without_sealed(message, part, part.extras),)
        if type(part) is not Opaque:
            return (part,)
        if id(part) not in self._strange:
            return self._read_out(message, part) if id(part) in self._lone else (part,)
        run = self._runs.get(id(part))
        if run is None:
            return ()  # the other half of a run that is told already
        own = unseal_several(run.state) if run.state else ()
        made: tuple[Part, ...] = (Text(quote(describe_run(run, cited))), *run.media)
        did, loses = f"told of {part.kind} in words", Loss.METADATA
        if says_nothing(run):
            made, did = (), f"left out a {part.kind} that says nothing"
        if own and may_return(own, self._context.facts):
            made, did = own, f"put back the {own[0].kind} that {part.kind} stands for"
        elif written := self._write(run):
            made, did, loses = written, f"wrote {part.kind} as {written[0].kind}", Loss.NOTHING
        after = made[0] if len(made) == 1 else made or None
        self.notes.append(Note(did, message, part, loses=loses, before=part, after=after))
        return made

    def _read_out(self, message: Message, part: Opaque) -> tuple[Part, ...]:
        """The words of a result that tells of no run, as far as we know."""
        words = block_words(part)
        made = (Text(words.literal),) if words is not None else ()
        did = f"put the words of a {part.kind} block in its place" if made else f"left out a {part.kind} block"
        loses = Loss.METADATA if words is not None and words.whole else Loss.CONTENT
        self.notes.append(Note(did, message, part, loses=loses, before=part, after=made or None))
        return made

    def _write(self, run: ToolRun) -> tuple[Opaque, ...]:
        """The target's own blocks for a call of a server that it calls, too. They have no place for pictures."""
        if self._codec is None or run.server not in self._servers or run.is_open or run.media:
            return ()
        blocks = self._codec.render_run(run)
        return blocks if all(takes_block(one, self._context.facts) for one in blocks) else ()

    def _without_sealed(self, message: Message, part: Text, extras: Extras) -> Text:
        """Citations of a run that another vendor made, as its own vendor knows none of them."""
        if not any(map(holds_sealed, extras.fields.values())):
            return part
        rest = {name: _without_sealed_items(value) for name, value in extras.fields.items()}
        fields = {name: value for name, value in rest.items() if value is not None}
        made = replace(part, extras=Extras(extras.dialect, fields) if fields else None)
        self.notes.append(Note("left out citations of another provider", message, part, before=part, after=made))
        return made


class _Half(msgspec.Struct):
    """The ids that tell which call a block is, or which one it answers."""

    id: str | None = None
    tool_use_id: str | None = None


_decode_half = msgspec.json.Decoder(_Half).decode


def _find_lone_results(blocks: Sequence[Opaque], facts: Facts) -> frozenset[int]:
    """The blocks that answer no call before them, of the kinds that need one. What stands for a function's result names
    its call otherwise. A result right behind a call is the call's, whatever its id: that is not known to be refused."""
    asked: set[str] = set()
    lone: set[int] = set()
    follows_call = False
    for block in blocks if facts.paired_blocks else ():
        try:
            half = _decode_half(block.json)
        except msgspec.DecodeError:
            continue
        is_call = half.tool_use_id is None
        in_pairs = not is_call and any(fnmatchcase(block.kind, glob) for glob in facts.paired_blocks)
        if is_call:
            asked.add(half.id or "")
        elif in_pairs and half.tool_use_id not in asked and not follows_call:
            lone.add(id(block))
        follows_call = is_call
    return frozenset(lone)


def _find_servers(tools: Sequence[Tool | NativeTool], dialect: str, codec: ProviderToolCodec | None) -> frozenset[str]:
    """The labels of the servers that the tools of a dialect name."""
    own = [tool for tool in tools if type(tool) is NativeTool and tool.origin.dialect == dialect]
    found = [codec.parse_tool(tool, {}) for tool in own] if codec is not None else []
    return frozenset([one.server.label for one in found if one is not None and one.server is not None])


def may_return(blocks: Sequence[Opaque], facts: Facts) -> bool:
    """Whether blocks were made by the target's own vendor, and are taken there. A call and its result go to a target
    that is known to take its own tools beside functions."""
    if len(blocks) > 1 and facts.mixed_tools is not Stance.ACCEPTS:
        return False
    return all(block.origin.dialect == facts.dialect and takes_block(block, facts) for block in blocks)


def _without_sealed_items(value: Json) -> Json | None:
    """A list without the items that hold an envelope; None if nothing is left. The same value if it holds none."""
    if not holds_sealed(value) or value[:1] != b"[":
        return value
    items = [
        bytes(item) for item in msgspec.json.decode(value, type=list[msgspec.Raw]) if not holds_sealed(bytes(item))
    ]
    return b"[" + b",".join(items) + b"]" if items else None


def _find_cited(message: Message) -> dict[str, list[str]]:
    """The sentences that the texts of a message cite, by the address of their page."""
    found: dict[str, list[str]] = {}
    for part in message.parts:
        for value in part.extras.fields.values() if part.extras is not None else ():
            for url, sentence in _sentences(value):
                found.setdefault(url, [])
                if sentence not in found[url]:
                    found[url].append(sentence)
    return found


def _sentences(value: Json) -> Iterator[tuple[str, str]]:
    try:
        items: Any = msgspec.json.decode(value) if value[:1] == b"[" else ()
    except (msgspec.DecodeError, RecursionError):
        return
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("url"), str) and _has_words(item.get("cited_text")):
            yield item["url"], f'"{item["cited_text"].strip()}"'


def _has_words(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
