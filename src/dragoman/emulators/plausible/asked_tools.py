"""Which tools a text asks for, by their names and descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.emulators.plausible.request_view import OfferedTool

_READ = 20_000
"""Characters of a text that are read, and of a description."""
_CLAUSES = 100
"""Clauses of a text that are looked at."""
_NAMED = 100
_ENOUGH = 10
_DESCRIBED = 3
"""Words of a description that are as good as one of the name. Of a short one, a third of its words is enough."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BREAK = re.compile(r"[.;?!](?=\s|$)|\n|,?\s(?:and|then)\s|,\s", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]{1,200}"|`[^`\n]{1,200}`|“[^“”\n]{1,200}”')
_AGAIN = re.compile(r"\s*(?:in|for|of|at|to|from|with)\s+\S")
_UNWANTED = re.compile(
    r"\b(?:without|no|not (?:use|call)(?: any)?|don't (?:use|call)(?: any)?) (?:the )?tools?\b", re.IGNORECASE
)
_COMMON = frozenset(
    [
        *("a", "an", "the", "of", "to", "in", "on", "at", "for", "and", "or", "is", "are", "be", "it"),
        *("this", "that", "with", "from", "by", "as", "use", "using", "call", "tool", "tools", "function"),
        *("get", "set", "do", "does", "what", "which", "who", "how", "can", "could", "you", "your", "me"),
        *("my", "i", "we", "please", "if", "not", "no", "then", "when", "will", "would", "should", "mcp"),
    ]
)


ReadTool = tuple[OfferedTool, str, set[str], set[str]]
"""A tool, its name in small letters, and the words of its name and of its description."""


@dataclass(frozen=True, slots=True)
class AskedTool:
    """A tool, and the words that ask for it."""

    tool: OfferedTool
    words: str


class ToolFinder:
    """Finds the tools that a text asks for. The words of the tools are read once."""

    def __init__(self, tools: Iterable[OfferedTool]) -> None:
        self._offered = [
            (tool, tool.name.lower(), word_set(_split_words(tool.name)), word_set(tool.description)) for tool in tools
        ]

    def find(self, text: str, most_clauses: int = _CLAUSES) -> list[AskedTool]:
        """In the order of the text. A tool may be asked for several times."""
        text = text[:_READ]
        return [] if not self._offered or _UNWANTED.search(text) else _find(text, self._offered, most_clauses)


def _find(text: str, offered: list[ReadTool], most_clauses: int) -> list[AskedTool]:
    asked: list[AskedTool] = []
    waiting = ""
    for clause in _clauses(text)[:most_clauses]:
        lower, words = clause.lower(), word_set(clause)
        scores = [_score(lower, words, name, of_name, of_text) for _, name, of_name, of_text in offered]
        best = max(range(len(offered)), key=scores.__getitem__)
        if scores[best] >= _ENOUGH:
            asked.append(AskedTool(offered[best][0], f"{waiting} {clause}".strip()))
            waiting = ""
        elif asked and _AGAIN.match(clause):
            asked.append(AskedTool(asked[-1].tool, clause.strip()))
        elif asked:
            asked[-1] = AskedTool(asked[-1].tool, f"{asked[-1].words}, {clause.strip()}")
        else:
            waiting = f"{waiting} {clause}".strip()
    return asked


def _score(clause: str, words: set[str], name: str, of_name: set[str], of_text: set[str]) -> int:
    if len(name) > 3 and not name.isalpha() and name in clause:
        return _NAMED
    found, described = len(words & of_name), len(words & of_text)
    if not found and described < min(_DESCRIBED, max(2, len(of_text) // 3)):
        return 0
    return _ENOUGH * max(found, 1) + described


def _clauses(text: str) -> list[str]:
    """The clauses of a text. What is quoted stays whole."""
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    clauses, start, at = [], 0, 0
    for found in _BREAK.finditer(text):
        while at < len(quoted) and quoted[at][1] <= found.start():
            at += 1
        if at < len(quoted) and quoted[at][0] < found.start():
            continue
        clauses.append(text[start : found.start()])
        start = found.end()
    return [one for one in (*clauses, text[start:]) if one.strip()]


def _split_words(name: str) -> str:
    return _CAMEL.sub(" ", name).replace("_", " ")


def word_set(text: str) -> set[str]:
    """The words of a text that say something, in their basic form."""
    words = (word.lower() for word in _WORD.findall(text[:_READ]))
    return {_stem(word) for word in words if word not in _COMMON}


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 4 else word
