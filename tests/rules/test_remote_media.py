"""`remote-media`: media by URL, for a target that does not fetch it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, run, sent

from dragoman.conversation.parts import Inline, Media
from dragoman.profiles.facts import Facts
from dragoman.rules.media.remote_media import remote_media
from dragoman.wire.media_types import recognise

URL = "https://a/b.png"
PNG = b"\x89PNG\r\n"
INLINE = "iVBORw0K"
NEVER = facts(media={"image": {"url": "refuses"}})


def images(done: Any) -> list[Any]:
    parts = [part for message in done.conversation.messages for part in message.parts]
    inner = [one for part in parts for one in getattr(part, "parts", ())]
    return [part.source for part in [*parts, *inner] if isinstance(part, Media)]


def test_the_fetched_bytes_take_the_place_of_the_url() -> None:
    done = run(remote_media, f"user: Hi\nuser: See?\n[image {URL}]\n+ Well?", NEVER, media={URL: PNG})
    assert images(done) == [Inline("image/png", f'"{INLINE}"'.encode())]
    assert [type(part).__name__ for part in done.conversation.messages[1].parts] == ["Text", "Media", "Text"]
    assert done.changes == [("/messages/1/content", "nothing", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_in_a_result_too() -> None:
    done = run(remote_media, f"user: Hi\ncall f(a) {{}}\nresult a: see\n| [image {URL}]", NEVER, media={URL: PNG})
    assert images(done) == [Inline("image/png", f'"{INLINE}"'.encode())]
    assert done.changes == [("/messages/2", "nothing", False)]


def test_the_media_type_that_the_client_gave_wins() -> None:
    part = f'[part {{"is":"Media","kind":"image","source":{{"is":"Remote","url":"{URL}","media_type":"image/x"}}}}]'
    assert images(run(remote_media, f"user: {part}", NEVER, media={URL: PNG}))[0].media_type == "image/x"


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x89PNG....", "image/png"),
        (b"\xff\xd8\xff....", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"%PDF-1.7", "application/pdf"),
        (b"ID3\x03....", "audio/mpeg"),
        (b"OggS....", "audio/ogg"),
        (b"RIFF....WEBP", "image/webp"),
        (b"RIFF....WAVE", "audio/wav"),
        (b"RIFF....AVI ", ""),
        (b"....ftypisom", "video/mp4"),
        (b"plain text", ""),
        (b"", ""),
    ],
)
def test_the_media_type_by_the_first_bytes(content: bytes, media_type: str) -> None:
    assert recognise(content) == media_type


def test_bytes_that_nobody_recognises() -> None:
    assert images(run(remote_media, f"user: [image {URL}]", NEVER, media={URL: b"?"}))[0].media_type == (
        "application/octet-stream"
    )


UNTOUCHED: dict[str, tuple[str, Facts, dict[str, bytes]]] = {
    "what nobody fetched": (f"user: [image {URL}]", NEVER, {}),
    "another URL that was fetched": (f"user: [image {URL}]", NEVER, {"https://other/": PNG}),
    "a target that takes the URL": (f"user: [image {URL}]", facts(media={"image": {"url": "accepts"}}), {URL: PNG}),
    "a URL that is encrypted": (f"user: [image {URL}]", facts(media={"image": {"schemes": ["https"]}}), {URL: PNG}),
    "no media": ("user: Hi", NEVER, {URL: PNG}),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    said, known, media = UNTOUCHED[name]
    assert run(remote_media, said, known, media=media).untouched


PLAIN = "http://example.com/a.png"


def body(url: str) -> dict[str, Any]:
    part = {"type": "image_url", "image_url": {"url": url}}
    return {"messages": [{"role": "user", "content": [part]}], "max_tokens": 9}


def test_adapt_lists_what_it_wants_and_takes_it_on_the_next_call() -> None:
    first = sent(body(PLAIN), "anthropic/claude-sonnet-4-5", source=CHAT)
    assert first.media_to_fetch == (PLAIN,)
    assert first.json["messages"][0]["content"] == [{"type": "text", "text": f"[image: {PLAIN}]"}]
    assert first.changes == [("refused-part", "/messages/0/content/0", "content", False)]
    second = sent(body(PLAIN), "anthropic/claude-sonnet-4-5", source=CHAT, media={PLAIN: PNG})
    assert second.media_to_fetch == ()
    assert second.json["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": INLINE}}
    ]
    assert second.changes == [("remote-media", "/messages/0/content/0", "nothing", False)]


def test_adapt_wants_nothing_that_the_target_fetches_or_cannot_take_at_all() -> None:
    assert sent(body("https://example.com/a.png"), "anthropic/claude-sonnet-4-5", source=CHAT).media_to_fetch == ()
    assert sent(body(PLAIN), "deepseek/deepseek-chat").media_to_fetch == ()


def test_each_url_is_wanted_once_in_the_order_of_the_conversation() -> None:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in ("http://b/", "http://a/", "http://b/")]
    twice = {"messages": [{"role": "user", "content": parts}], "max_tokens": 9}
    assert sent(twice, "anthropic/claude-sonnet-4-5", source=CHAT).media_to_fetch == ("http://b/", "http://a/")
