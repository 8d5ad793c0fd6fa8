"""More media than the target takes in one request.

Agents that look at a screen collect pictures, and a provider that counts them refuses the request (`most` in the fact
`media`). The newest stay. A line of text says what was there in place of each older one; a document that is text
becomes that text.

Loses content, or nothing if all of them are documents of text.

For a target with `media = {"image": {"most": 1}}`:

    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
      {"type": "image_url", "image_url": {"url": "https://example.com/b.png"}}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "[image: https://example.com/a.png]"},
      {"type": "image_url", "image_url": {"url": "https://example.com/b.png"}}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Media, Part, Result
from dragoman.rules.context import Context
from dragoman.rules.part_words import put_in_words
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule


@rule(
    "many-media",
    when=lambda facts: any(medium.most for medium in facts.media.values()),
    looks_for=traits.MEDIA | traits.RESULT_PARTS,
    loses=Loss.CONTENT,
)
def many_media(conversation: Conversation, context: Context) -> Rewrite:
    room = {kind: medium.most for kind, medium in context.facts.media.items() if medium.most}
    surplus: set[int] = set()
    for part in _list_newest_first(conversation):
        kind = part.kind.value
        if kind in room:
            room[kind] -= 1
            if room[kind] < 0:
                surplus.add(id(part))
    if not surplus:
        return Rewrite(conversation)

    def take_out(message: Message, part: Part) -> Swap | None:
        return put_in_words(part) if type(part) is Media and id(part) in surplus else None

    return rewrite_parts(conversation, take_out, inside_results=True)


def _list_newest_first(conversation: Conversation) -> Iterator[Media]:
    for message in reversed(conversation.messages):
        for part in reversed(message.parts):
            inner = reversed(part.parts) if type(part) is Result else (part,)
            yield from (one for one in inner if type(one) is Media)
