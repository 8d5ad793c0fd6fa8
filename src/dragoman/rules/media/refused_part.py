"""A part that the target does not take: media, a refusal, a citation, or a block of a provider's own.

Media becomes a line of text that says what was there, in a translation also media of no byte; a drawing in SVG becomes
its text. A PDF as `image_url`, and other media under the name of another kind or type, is given as what its type says,
or as what its bytes show. Media in a tool's result moves to a user turn after the results if the target takes it there
alone, be it because the result is marked as an error, and media of the model's own turn to the user turn that follows.
A picture beside the content of that turn (`images`) does so too, unless the target may see it there. A refusal becomes
text, a document that is text becomes that text, and one of texts and pictures becomes those. Citations are left out. Of
a block of a provider's own, such as the result of a web search or a summary, the words stay as text (`words`); what
only its provider can read goes, and so does a block without words. `drop` leaves such blocks out.

Loses content if there is no other way to say it. A refusal, a citation, the detail of an image, a thought, a block
whose words stay, and media that moves lose metadata; media given as another kind, or a document as text, loses nothing.

For `deepseek/deepseek-chat`:

    {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"},
      {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"},
      {"type": "text", "text": "[image: https://example.com/a.png]"}]}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import FIELD, MADE, Message, Role
from dragoman.conversation.parts import (
    BESIDE,
    Citation,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Part,
    Plain,
    Refusal,
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.profiles.facts import Facts, Medium, Stance
from dragoman.rules.context import Context
from dragoman.rules.known_fields import sees_beside
from dragoman.rules.native_kinds import takes_block
from dragoman.rules.part_words import LISTINGS, MARKS, THOUGHTS, block_words, put_in_words, read_text_file, with_article
from dragoman.rules.rewriting import Swap, rewrite, rewrite_parts
from dragoman.rules.rule import rule
from dragoman.wire.json_reader import render_object, split_members
from dragoman.wire.media_types import find_type, usual_type

REFUSES = Stance.REFUSES


@rule(
    "refused-part",
    when=lambda facts: True,
    looks_for=traits.MEDIA | traits.RESULT_PARTS | traits.REFUSAL | traits.CITATION | traits.OPAQUE,
    loses=Loss.CONTENT,
    options=("words", "drop"),
    turnwise=lambda context: True,
)
def refused_part(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    named = rewrite_parts(conversation, lambda message, part: _give_as_meant(part, context), inside_results=True)
    moved = _move_to_users(named.conversation, context)

    def taken(message: Message, part: Part) -> Swap | None:
        match part:
            case Media() if not _stays_beside(part, context):
                return _replace_media(message, part, context)
            case Refusal() if facts.refusal_part is REFUSES:
                return Swap((Text(part.literal),), "turned a refusal into text", Loss.METADATA)
            case Citation() if facts.citation_part is REFUSES or part.origin.dialect != facts.dialect:
                return Swap((), "left out a citation", Loss.METADATA)
            case Opaque(words=bytes() as words) if part.origin.dialect != facts.dialect or not _may_be_all(part, facts):
                return Swap((Text(words),), f"put the words of a {part.kind} block in its place")
            case Opaque() if part.origin.dialect != facts.dialect or not takes_block(part, facts):
                return _read_out(part, context)
        return None

    done = rewrite_parts(moved.conversation, taken, inside_results=True)
    steps = [step.notes for step in (named, moved, done) if step.notes]
    notes = sum(steps, ())
    if len(steps) > 1:
        notes = _in_order(notes, named.conversation.messages, moved.conversation.messages)
    return Rewrite(done.conversation, notes)


def _in_order(notes: tuple[Note, ...], *steps: tuple[Message, ...]) -> tuple[Note, ...]:
    """The notes in the order of the messages, as they were after each step. A turn that was made up stands after what
    it was made of."""
    homes: dict[int, int] = {}
    for messages in steps:
        home = FIELD
        for message in messages:
            home = homes[id(message)] = message.at if message.at != MADE else home
    return tuple(sorted(notes, key=lambda note: homes.get(id(note.message), note.message.at if note.message else 0)))


def _give_as_meant(part: Part, context: Context) -> Swap | None:
    """Media under the name of another kind, as the kind that it is. In its own dialect a target may take it."""
    if type(part) is Opaque and part.holds:
        return _take_apart(part, context)
    if type(part) is not Media or not isinstance(part.source, (Inline, Remote)):
        return None
    facts, source, found = context.facts, part.source, find_type(part.source)
    kind = MediaKind.of(found)
    if not found or (kind is part.kind and (type(source) is Remote or found == usual_type(source.media_type))):
        return None
    if type(source) is Remote and not facts.medium(kind.value).takes_url(source.url):
        return None
    is_checked = facts.mistyped_media is REFUSES and type(source) is Inline
    is_refused = is_checked or _is_refused(Role.USER, part, facts.medium(part.kind.value), facts)
    if not context.translated and not is_refused:
        return None
    detail = part.detail if kind is MediaKind.IMAGE else None
    made = replace(part, kind=kind, source=replace(source, media_type=found), detail=detail, wire_form="")
    return Swap((made,), f"gave {with_article(part.kind)} as {with_article(kind)} of the type {found}", Loss.NOTHING)


def _take_apart(part: Opaque, context: Context) -> Swap | None:
    """A document or a message of texts and pictures as those, with what it says beside them before them."""
    foreign = part.origin.dialect != context.facts.dialect or not takes_block(part, context.facts)
    if not foreign or context.choice("refused-part") == "drop":
        return None
    members = {name: bytes(value) for name, value in split_members(part.json).items() if name not in _HELD}
    words = block_words(replace(part, json=render_object(members)))
    head = () if words is None else (Text(words.literal),)
    return Swap((*head, *part.holds), f"put what a {part.kind} block holds in its place", Loss.METADATA)


_HELD = frozenset({"source", "content"})
"""The members whose content a block holds."""


def _read_out(part: Opaque, context: Context) -> Swap:
    """The words of a block that the target does not take."""
    words = block_words(part) if context.choice("refused-part") != "drop" else None
    if words is not None:
        loses = Loss.METADATA if words.whole else Loss.CONTENT
        return Swap((Text(words.literal),), f"put the words of a {part.kind} block in its place", loses)
    owner = f" that only {part.origin.dialect} has" if part.origin.dialect != context.facts.dialect else ""
    loses = Loss.METADATA if part.kind in LISTINGS | MARKS | THOUGHTS else Loss.CONTENT
    return Swap((), f"left out a {part.kind} block{owner}", loses)


def _may_be_all(part: Opaque, facts: Facts) -> bool:
    """Whether the target takes a block that may be all of a turn. If that is not known, its words are safer."""
    return takes_block(part, facts) and any(fnmatchcase(part.kind, glob) for glob in facts.lone_blocks)


def _with_detail(part: Media, facts: Facts) -> Swap | None:
    if part.detail is None:
        return None
    if facts.media_detail is REFUSES:
        return Swap((replace(part, detail=None),), "left out the level of detail", Loss.METADATA)
    if any(fnmatchcase(part.detail, glob) for glob in facts.detail_levels):
        return None
    highest = facts.detail_levels[-1]
    return Swap((replace(part, detail=highest),), f"wrote {highest} for the level of detail", Loss.METADATA)


def _replace_media(message: Message, part: Media, context: Context) -> Swap | None:
    facts = context.facts
    medium = facts.medium(part.kind.value)
    if context.translated and _is_empty(part.source):
        return put_in_words(part)
    if not _is_refused(message.role, part, medium, facts, message.at == FIELD):
        if part.wire_form == BESIDE and not context.translated:
            return Swap((replace(part, wire_form=""),), "wrote an image as a part of the content", Loss.NOTHING)
        return _with_detail(part, facts)
    plain = None if isinstance(part.source, Plain) else read_text_file(part)
    if plain is not None:
        as_text = replace(part, source=plain)
        if not _is_refused(message.role, as_text, medium, facts, message.at == FIELD):
            return Swap((as_text,), "gave a document as its text", Loss.NOTHING)
    return put_in_words(part)


def _is_empty(source: Inline | Remote | Stored | Plain) -> bool:
    match source:
        case Inline(_, literal) | Plain(literal):
            return literal == EMPTY
    return False


def _is_refused(role: Role, part: Media, medium: Medium, facts: Facts, apart: bool = False) -> bool:
    """Does the target refuse it in a turn of this role? `apart`: it stands in a field of its own, and in no turn."""
    if _stances(medium)[role] is REFUSES and not apart:
        return True
    match part.source:
        case Inline(media_type, _):
            return medium.inline is REFUSES or not _is_listed(media_type, medium)
        case Remote(url):
            return not medium.takes_url(url)
        case Stored(_, provider):
            refused = medium.stored is REFUSES and not (role is Role.TOOL and medium.stored_result)
            return refused or provider not in ("", facts.provider, facts.dialect.partition("-")[0])
        case Plain():
            return medium.plain is REFUSES


def _is_listed(media_type: str, medium: Medium) -> bool:
    """Does the target take the type, if only under its usual name? `media-form` writes that."""
    usual = usual_type(media_type)
    if any(fnmatchcase(usual, glob) for glob in medium.refused_types):
        return False
    return not medium.types or media_type in medium.types or usual in medium.types


def _stances(medium: Medium) -> dict[Role, Stance]:
    """Whether media of this kind may stand in a turn of each role."""
    return {
        Role.USER: medium.user,
        Role.ASSISTANT: medium.assistant,
        Role.SYSTEM: medium.system,
        Role.DEVELOPER: medium.system,
        Role.TOOL: medium.result,
    }


def _stays_beside(part: Media, context: Context) -> bool:
    """Whether a picture beside the content may stay there."""
    return part.wire_form == BESIDE and not context.translated and sees_beside(context.facts)


def _move_to_users(conversation: Conversation, context: Context) -> Rewrite:
    """Media goes to a user turn, if the target takes it there and not where it stands: that of results to one after
    them, and that of the model to the one that follows, if any does."""
    messages: list[Message] = []
    notes: list[Note] = []
    waiting: list[Part] = []
    of_results = False
    answered = _find_answered(conversation.messages)
    for message, is_answered in zip(conversation.messages, answered, strict=True):
        if message.role is Role.TOOL:
            message, taken = _take_refused(message, context.facts, notes)
            messages.append(message)
            waiting += taken
            of_results = of_results or bool(taken)
            continue
        if waiting and message.role is Role.USER:
            message = replace(message, parts=(*waiting, *message.parts), listed=True)
            waiting = []
        elif waiting and (of_results or message.role is not Role.ASSISTANT):
            messages.append(Message(Role.USER, tuple(waiting), MADE, listed=True))
            waiting = []
        of_results = False
        if message.role is Role.ASSISTANT and is_answered:
            message, taken = _without_media(message, context, notes)
            waiting += taken
        messages.append(message)
    if waiting:
        messages.append(Message(Role.USER, tuple(waiting), MADE, listed=True))
    return rewrite(conversation, notes, messages=tuple(messages))


def _find_answered(messages: Sequence[Message]) -> list[bool]:
    """Of each message, whether a user turn follows it, perhaps after more messages of the model and then results."""
    answered = [False] * len(messages)
    after_results: Role | None = None
    after_turn: Role | None = None
    for index in range(len(messages) - 1, -1, -1):
        answered[index] = after_turn is Role.USER
        role = messages[index].role
        after_results = after_results if role is Role.TOOL else role
        after_turn = after_turn if role is Role.ASSISTANT else after_results
    return answered


def _without_media(message: Message, context: Context, notes: list[Note]) -> tuple[Message, list[Part]]:
    """The turn without media that the target takes from users alone, and that media. Documents of text stay."""
    taken = [part for part in message.parts if isinstance(part, Media) and _is_movable(part, message, context.facts)]
    taken = [part for part in taken if not isinstance(part.source, Plain) and read_text_file(part) is None]
    taken = [part for part in taken if not _stays_beside(part, context)]
    if not taken:
        return message, []
    did = "moved media of the model to the user turn that follows"
    notes += [Note(did, message, part, loses=Loss.METADATA, before=part, after=part) for part in taken]
    gone = {id(part) for part in taken}
    parts = tuple([_see_next(part) if id(part) in gone else part for part in message.parts])
    among = [replace(part, wire_form="") if part.wire_form == BESIDE else part for part in taken]
    return replace(message, parts=parts), [*among]


def _see_next(*media: Part) -> Text:
    kinds = [one.kind.value for one in media if isinstance(one, Media)]
    return Text(quote(f"[{', '.join(kinds)}: see the next message]"))


def _take_refused(message: Message, facts: Facts, notes: list[Note]) -> tuple[Message, list[Part]]:
    taken: list[Part] = []
    parts: list[Part] = []
    for result in message.parts:
        if not isinstance(result, Result):
            parts.append(result)
            continue
        alone = result.is_error and facts.error_media is REFUSES
        out = [part for part in result.parts if isinstance(part, Media) and _is_movable(part, message, facts, alone)]
        if not out:
            parts.append(result)
            continue
        gone = {id(media) for media in out}
        kept = tuple(part for part in result.parts if id(part) not in gone)
        kept = kept or (_see_next(*out),)
        parts.append(replace(result, parts=kept, listed=len(kept) > 1))
        taken += out
        notes += [
            Note(
                "moved media of a result to a user turn",
                message,
                result,
                loses=Loss.METADATA,
                before=media,
                after=media,
            )
            for media in out
        ]
    return (replace(message, parts=tuple(parts)), taken) if taken else (message, [])


def _is_movable(part: Media, message: Message, facts: Facts, alone: bool = False) -> bool:
    """Does the target take it in a turn of the user's and not where it is? `alone`: only texts may stand there."""
    medium = facts.medium(part.kind.value)
    stays = not alone and _stances(medium)[message.role] is not REFUSES
    return not stays and not _is_refused(Role.USER, part, medium, facts)
