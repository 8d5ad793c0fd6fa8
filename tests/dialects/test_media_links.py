"""Pictures and sounds in answers of dialects that have no place for them: told as links, and read as media again."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from dragoman import adapt
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import CacheHint, Inline, Media, MediaKind, Part, Text
from dragoman.dialects.shared.media_links import LONG, parse_links
from dragoman.engine.answer.translation import Translation

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8).decode()
LINK = f"[image](data:image/png;base64,{PICTURE})"
MEDIA = Media(MediaKind.IMAGE, Inline("image/png", quote(PICTURE)))
ANSWER = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}],
            },
            "finishReason": "STOP",
        }
    ]
}
SHOWN: dict[str, Callable[[Any], Any]] = {
    "anthropic": lambda answer: {"role": "assistant", "content": answer["content"]},
    "bedrock": lambda answer: answer["output"]["message"],
    "cohere": lambda answer: answer["message"],
    "ollama": lambda answer: answer["message"],
}
"""The turn that clients of these dialects keep of an answer."""


def ask(client: str, turn: Any, target: str) -> Any:
    """What a target gets of a conversation that has this turn of the model."""
    words: Any = [{"text": "Draw."}] if client == "bedrock" else "Draw."
    user = {"role": "user", "content": words}
    more = {"max_tokens": 99} if client == "anthropic" else {}
    body = {"model": "m", "messages": [user, turn, user], **more}
    return orjson.loads(adapt(body, source=client, target=target).body)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("client", SHOWN)
def test_a_picture_comes_back_as_a_picture(client: str, joined: bool) -> None:
    """As words it was a million tokens on the next turn. `joined`: the client keeps the text of all blocks."""
    turn = SHOWN[client](orjson.loads(Translation("gemini", client).whole(orjson.dumps(ANSWER))))
    if joined and client != "bedrock":
        blocks = turn["content"]
        turn["content"] = blocks if isinstance(blocks, str) else "".join(block["text"] for block in blocks)
    sent = ask(client, turn, "gemini/gemini-3-pro-preview")
    assert sent["contents"][1]["parts"] == ANSWER["candidates"][0]["content"]["parts"]


def test_a_model_that_takes_pictures_from_users_alone_gets_it_from_them() -> None:
    sent = ask("ollama", {"role": "assistant", "content": LINK}, "anthropic/claude-sonnet-4-5")
    [picture] = [one for one in sent["messages"][-1]["content"] if one["type"] == "image"]
    assert picture["source"] == {"type": "base64", "media_type": "image/png", "data": PICTURE}
    assert PICTURE not in str(sent["messages"][1])


def test_what_a_user_writes_stays_as_it_is() -> None:
    sent = ask("ollama", {"role": "user", "content": LINK}, "openai/gpt-4o")
    assert LINK in str(sent)


SPLIT: dict[str, tuple[str, list[str | Media]]] = {
    "alone": (LINK, [MEDIA]),
    "between words": (f"a {LINK}\n\nb", ["a ", MEDIA, "b"]),
    "twice": (LINK + LINK, [MEDIA, MEDIA]),
    "a sound of no type": (
        f"[audio](data:;base64,{PICTURE})\n\nHi",
        [Media(MediaKind.AUDIO, Inline("", quote(PICTURE))), "Hi"],
    ),
    "a type with its details": (
        f"[audio](data:audio/L16;codec=pcm;rate=24000;base64,{PICTURE})",
        [Media(MediaKind.AUDIO, Inline("audio/L16;codec=pcm;rate=24000", quote(PICTURE)))],
    ),
}
WHOLE = {
    "of another form": "!" + LINK,
    "an address": "[image](https://example.com/a.png)" + "a" * LONG,
    "without its end": LINK[:-1],
    "no base64": LINK.replace("AAEC", "{}"),
    "of another kind": LINK.replace("[image]", "[Image]"),
    "short": "[image](data:image/png;base64,AAAA)",
}


@pytest.mark.parametrize("name", SPLIT)
def test_words_and_media_are_told_apart(name: str) -> None:
    text, expected = SPLIT[name]
    wanted: list[Part] = [Text(quote(one)) if isinstance(one, str) else one for one in expected]
    assert list(parse_links((Text(quote(text)),))) == wanted


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_such_link_stays_words(name: str) -> None:
    parts = (Text(quote(WHOLE[name])),)
    assert parse_links(parts) == parts


def test_a_cache_hint_stays_at_the_end() -> None:
    hint = CacheHint()
    words, picture = parse_links((Text(quote("a" + LINK), hint=hint),))
    assert (words.hint, picture.hint) == (None, hint)
