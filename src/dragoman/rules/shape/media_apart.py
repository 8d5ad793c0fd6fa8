r"""Media among texts, for a target whose messages hold media apart from one text.

Ollama's messages have a list of images beside their text, and the model sees the images first. So media move before the
text, and several texts become one, joined with a line break.

A tool's result for Gemini is the other way round: its texts are the response, and media follow in a list of their own.
So the texts move before the media.

Loses order.

For `ollama/gemma3`, from `openai-chat`:

    {"messages": [{"role": "user", "content": [
      {"type": "text", "text": "What is this?"},
      {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}
becomes
    {"messages": [{"role": "user", "content": "What is this?", "images": ["iVBORw0KGgo="]}]}
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import join_texts
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Media, Part, Result, Text
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, plain_text, reuse_unchanged, rewrite_messages
from dragoman.rules.rule import rule


@rule(
    "media-apart",
    when=lambda facts: facts.media_apart or facts.result_text_first,
    looks_for=traits.MEDIA | traits.RESULT_PARTS,
    loses=Loss.ORDER,
    turnwise=lambda context: True,
)
def media_apart(conversation: Conversation, context: Context) -> Rewrite:
    return rewrite_messages(conversation, _sort if context.facts.media_apart else _texts_first)


def _texts_first(message: Message) -> Edit | None:
    parts = reuse_unchanged(message.parts, [_with_texts_first(part) for part in message.parts])
    return (
        None if parts is message.parts else edit(replace(message, parts=parts), "put the text of a result before media")
    )


def _with_texts_first(part: Part) -> Part:
    if type(part) is not Result:
        return part
    texts = [inner for inner in part.parts if type(inner) is Text]
    parts = reuse_unchanged(part.parts, texts + [inner for inner in part.parts if type(inner) is not Text])
    return part if parts is part.parts else replace(part, parts=parts)


def _sort(message: Message) -> Edit | None:
    parts = reuse_unchanged(message.parts, [_sort_result(part) for part in _put_apart(message.parts)])
    if parts is message.parts:
        return None
    return edit(replace(message, parts=parts, listed=False), "put media before the text")


def _sort_result(part: Part) -> Part:
    if type(part) is not Result:
        return part
    inner = _put_apart(part.parts)
    return part if inner is part.parts else replace(part, parts=inner, listed=False)


def _put_apart(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Media, then one text, in the place of the first of them. The same parts if that is how they stand."""
    media = [part for part in parts if type(part) is Media]
    texts = [part for part in parts if type(part) is Text]
    if not media or not plain_text(texts) or _is_apart(parts, texts):
        return parts
    content = {id(part) for part in (*media, *texts)}
    at = next(place for place, part in enumerate(parts) if id(part) in content)
    text = [Text(join_texts("\n", [part.literal for part in texts]))] if len(texts) > 1 else texts
    rest = [part for part in parts[at:] if id(part) not in content]
    return (*parts[:at], *media, *text, *rest)


def _is_apart(parts: tuple[Part, ...], texts: Sequence[Text]) -> bool:
    content = [part for part in parts if type(part) in (Media, Text)]
    return len(texts) < 2 and (not texts or content[-1] is texts[0])
