"""Media given by URL, for a target that does not fetch it.

If the caller has fetched the URL (`media` of `adapt`), its bytes go into the request. Otherwise the URL is listed in
`media_to_fetch`, and `refused-part` puts a line of text in its place.

Loses nothing.

For `anthropic/claude-sonnet-4-6`, with `http://example.com/a.gif` fetched as `GIF89a`:

    {"messages": [{"role": "user", "content": [
      {"type": "image", "source": {"type": "url", "url": "http://example.com/a.gif"}}]}], "max_tokens": 100}
becomes
    {"messages": [{"role": "user", "content": [
      {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}}]}],
     "max_tokens": 100}
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Inline, Media, Part, Remote, Result
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, each_part_inside
from dragoman.rules.rule import rule
from dragoman.wire.media_types import recognise


@rule(
    "remote-media",
    when=lambda facts: any(medium.url is Stance.REFUSES or medium.schemes for medium in facts.media.values()),
    looks_for=traits.MEDIA | traits.RESULT_PARTS,
    loses=Loss.NOTHING,
    turnwise=lambda context: True,
)
@each_part_inside
def remote_media(message: Message, part: Part, context: Context) -> Swap | None:
    if type(part) is not Media or not isinstance(part.source, Remote):
        return None
    content = context.media.get(part.source.url)
    if content is None or context.facts.medium(part.kind.value).takes_url(part.source.url):
        return None
    media_type = part.source.media_type or recognise(content) or "application/octet-stream"
    inline = Inline(media_type, b'"' + b64encode(content) + b'"')
    return Swap((replace(part, source=inline),), "put the fetched bytes in place of a URL")


def find_links(media: Iterable[Media], context: Context) -> tuple[str, ...]:
    """The URLs that the caller would have to fetch for the target."""
    found: dict[str, None] = {}
    for part in media:
        if isinstance(part.source, Remote):
            medium = context.facts.medium(part.kind.value)
            if not medium.takes_url(part.source.url) and medium.inline is Stance.ACCEPTS:
                found[part.source.url] = None
    return tuple(url for url in found if url not in context.media)


def media_of(messages: Iterable[Message]) -> list[Media]:
    """All media, those in results too."""
    found: list[Media] = []
    for message in messages:
        for part in message.parts:
            if type(part) is Media:
                found.append(part)
            elif type(part) is Result:
                found += [inner for inner in part.parts if type(inner) is Media]
    return found
