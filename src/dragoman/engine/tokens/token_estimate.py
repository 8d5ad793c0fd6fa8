"""How many tokens a text has, if nobody has counted them.

Tokenizers differ, but all of them cut a text much alike: at words, at groups of digits, at runs of punctuation and at
line breaks. These pieces are counted. A long word has several, and so has a text in a script that few texts are written
in. The catalogue of models says by how much a model's own count differs. `docs/guide/tokens.md` states the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Call, Media, Opaque, Part, Reasoning, Refusal, Result, Text
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.tokenizers import USUAL_WEIGHTS, TokenWeights, find_token_weights

# No pattern looks around or repeats a repetition: each is linear in the text.
_PIECE = re.compile(r"[^\W\d_]+|'(?:[sdmt]|ll|ve|re)\b|\d{1,3}|[^\w\s]+[\r\n]*|_+|[ \t]*[\r\n]+|[ \t]{2,}")
_LONG_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{10,}")
_LONG_MARKS = re.compile(r"[!-/:-@\[-`{-~]{4,}")
_DIGITS = re.compile(r"\d+")
_FOREIGN_WORD = re.compile(r"[\u0250-\u2dff]{3,}")
_DENSE = re.compile(r"[\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+")
_PICTURE = re.compile(r"[\u2190-\u2bff\U0001f000-\U0001faff]")
_WORD, _REST = 9, 6
"""Letters of the first token of a word, and of each further one."""
_FOREIGN, _DENSE_WEIGHT, _MARKS = 2.5, 0.8, 3
_SAMPLE = 1 << 16
"""Bytes of a long text that are looked at. The rest is taken to be like them."""
_PER_MESSAGE = 4
_PER_MEDIA = 800
_OF_MEDIA = (None,)
_decode = msgspec.json.Decoder(str).decode


def count_text(text: str, weights: TokenWeights = USUAL_WEIGHTS) -> float:
    """About as many tokens as a text has."""
    count = float(len(_PIECE.findall(text)))
    count += sum((len(word) - _WORD) / _REST for word in _LONG_WORD.findall(text))
    count += sum(len(marks) / _MARKS - 1 for marks in _LONG_MARKS.findall(text))
    if not text.isascii():
        count += _beyond_latin(text)
    count *= weights.scale
    if weights.single_digits:
        count += sum(len(digits) - (len(digits) + 2) // 3 for digits in _DIGITS.findall(text))
    return count


def _beyond_latin(text: str) -> float:
    """What other scripts and pictures cost on top."""
    words = sum(len(word) / _FOREIGN - 1 for word in _FOREIGN_WORD.findall(text))
    dense = sum(len(word) * _DENSE_WEIGHT - 1 for word in _DENSE.findall(text))
    return words + dense + len(_PICTURE.findall(text)) / 2


def count_literal(content: bytes, weights: TokenWeights = USUAL_WEIGHTS) -> float:
    """About as many tokens as stand between the quotes of JSON literals. Of a long text only a part is looked at."""
    if len(content) <= _SAMPLE:
        return count_text(_unescape(content), weights)
    half = _SAMPLE // 2
    seen = count_text(_unescape(content[:half]), weights) + count_text(_unescape(content[-half:]), weights)
    return seen * len(content) / _SAMPLE


def _unescape(content: bytes) -> str:
    """The text of a literal. A cut may have broken an escape: then only the usual ones are decoded."""
    try:
        return _decode(b'"' + content + b'"')
    except (msgspec.DecodeError, UnicodeDecodeError):
        return content.decode("utf-8", "replace").replace("\\n", "\n").replace('\\"', '"')


def estimate_text(text: bytes) -> int:
    """About how many tokens a text has; never zero."""
    return max(1, round(count_literal(text)))


def estimate_request(conversation: Conversation, model: str = "") -> int:
    """About how many tokens a conversation has, its tools included; never zero."""
    pieces = _texts(conversation)
    media = pieces.count(None)
    content = b" ".join([piece for piece in pieces if piece])
    count = count_literal(content, find_token_weights(model))
    return max(1, round(count) + media * _PER_MEDIA + len(conversation.messages) * _PER_MESSAGE)


def may_exceed(conversation: Conversation, tokens: int) -> bool:
    """Whether it is worth estimating: a text has no more tokens than bytes."""
    pieces = _texts(conversation)
    most = sum(_PER_MEDIA if piece is None else len(piece) + 1 for piece in pieces)
    return most + len(conversation.messages) * _PER_MESSAGE > tokens


def _texts(conversation: Conversation) -> list[bytes | None]:
    """The texts of a conversation, as they stand between their quotes; None for a picture, a sound or a file. There may
    be many: texts and media are taken without a call for each."""
    found: list[bytes | None] = []
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is Text:
                found += (part.literal[1:-1],)
            else:
                found += _OF_MEDIA if type(part) is Media else texts_of(part)
    for tool in conversation.tools:
        found += (tool.json,) if isinstance(tool, NativeTool) else _texts_of_tool(tool)
    return found


def _texts_of_tool(tool: Tool) -> Iterator[bytes]:
    yield tool.name.encode()
    yield (tool.description or b"")[1:-1]
    yield tool.schema or b""


def texts_of(part: Part) -> Iterator[bytes | None]:
    """The texts of a part, as they stand between their quotes; None for a picture, a sound or a file."""
    match part:
        case Text() | Refusal():
            yield part.literal[1:-1]
        case Reasoning(text=Text(literal=literal)):
            yield literal[1:-1]
        case Call():
            yield part.name.encode()
            yield part.arguments
        case Result():
            for inner in part.parts:
                yield from texts_of(inner)
        case Media():
            yield None
        case Opaque():
            yield part.json
        case _:
            return
