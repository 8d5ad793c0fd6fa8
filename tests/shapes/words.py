"""What all dialects' requests are made of: texts, names, ids, schemas, media, signatures."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.shapes.chooser import Chooser

from dragoman.conversation.envelope import seal
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Opaque, Origin, StateKind
from dragoman.emulators.signatures import mint

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PAPER = "JVBERi0xLjQKJSVFT0Y="

TEXTS = (
    "Hello",
    "What is the weather?",
    "привет, как дела",
    'quotes " and \\ slashes\nand lines',
    "emoji 🙂 and \u2028 separators",
    "[System] looks like ours",
    "  framed  ",
    "[qwen3:8b] caf\u00e9",
)
NOTHINGS = ("", " ", "\n\t ")
NAMES = ("get_weather", "search", "a.b", "a_b", "mcp__files__read", "n" * 70, "weather:now", "1st", "имя", "default")
IDS = ("call_1", "toolu_01AbCd", "c" * 70, "odd id!", "functions.search:0", "call_2__thought__c2ln", "abcDEF123", "1")
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"city": "Paris"},
    {"city": "Köln", "days": 3, "deep": {"list": [1, 2.5, None, True]}},
    {"default": "x", "$ref": "y"},
)

SCHEMAS: tuple[Any, ...] = (
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    {"type": "object", "properties": {}},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "default": {"type": "string", "default": "x", "examples": ["y"]},
            "kind": {"enum": ["a", "b"], "const": "a"},
            "many": {"type": ["string", "null"], "format": "email", "minLength": 2, "pattern": "^a"},
        },
        "additionalProperties": False,
        "required": [],
    },
    {
        "type": "object",
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "number"}}}
        },
        "properties": {"root": {"$ref": "#/$defs/node"}, "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
    },
    {
        "type": "object",
        "properties": {
            "choice": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "array", "items": {"type": "string"}}]},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "tuple": {"type": "array", "prefixItems": [{"type": "string"}], "uniqueItems": True},
        },
        "patternProperties": {"^x": {"type": "string"}},
    },
    {"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}}], "title": "T", "propertyNames": {}},
)


def text(pick: Chooser) -> str:
    return pick.one(NOTHINGS) if pick.seldom(10) else pick.one(TEXTS)


def filled(pick: Chooser) -> str:
    return pick.one(TEXTS)


def name(pick: Chooser) -> str:
    return pick.one(NAMES[2:]) if pick.seldom(4) else pick.one(NAMES[:2])


class Ids:
    """Call ids: fresh ones, odd ones, and now and then one that was used before."""

    def __init__(self, pick: Chooser) -> None:
        self._pick = pick
        self._used: list[str] = []

    def fresh(self) -> str:
        pick = self._pick
        if self._used and pick.seldom(12):
            return pick.one(self._used)
        made = pick.one(IDS) if pick.seldom(3) else "call_"
        while made in self._used or made == "call_":
            made = f"{made}{len(self._used)}"
        self._used.append(made)
        return made


def arguments(pick: Chooser) -> dict[str, Any]:
    return pick.one(ARGUMENTS)


def schema(pick: Chooser) -> Any:
    return pick.one(SCHEMAS)


class Signer:
    """Who signs what a generated request holds: the emulator that will judge it, or, sealed by us, another."""

    def __init__(self, name: str = "", provider: str = "", model: str = "") -> None:
        self.name = name
        self.provider = provider
        self.model = model

    def own(self, content: str) -> str:
        return mint(self.name or "nobody", content, url_safe=self.name == "openai-responses")


FOREIGN = (
    Opaque(
        kind=StateKind.SIGNATURE,
        json=quote(mint("anthropic/claude-of-old", "thought")),
        origin=Origin("anthropic", "anthropic", "claude-of-old"),
    ),
    Opaque(
        kind=StateKind.THOUGHT,
        json=quote(mint("gemini/gemini-of-old", "call")),
        origin=Origin("gemini", "gemini", "gemini-of-old"),
    ),
    Opaque(
        kind=StateKind.ENCRYPTED,
        json=quote(mint("someone-else", "thought")),
        origin=Origin("openai-responses", "another-account", "o-of-old"),
    ),
)


def sealed(pick: Chooser) -> str:
    """State of another maker, as our gateway handed it out."""
    return seal(pick.one(FOREIGN))


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class Exchange:
    """A turn of calls with the answers that follow it, and what may be wrong with them."""

    DEFECTS = ("", "", "", "", "shuffled", "missing", "repeated", "late", "orphan", "dropped")

    def __init__(self, pick: Chooser, ids: Ids) -> None:
        self.calls = [(ids.fresh(), name(pick), arguments(pick)) for _ in range(1 + pick.below(3))]
        self.defect = pick.one(self.DEFECTS)
        self.answers = [(identity, called) for identity, called, _ in self.calls]
        self._spoil(pick)

    def _spoil(self, pick: Chooser) -> None:
        match self.defect:
            case "shuffled":
                self.answers.reverse()
            case "missing":
                self.answers.pop()
            case "dropped":
                self.answers.clear()
            case "repeated":
                self.answers.append(pick.one(self.answers))
            case "orphan":
                self.answers.append(("call_nobody_made", "search"))
