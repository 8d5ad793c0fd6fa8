"""The text of the configuration file without its secrets: a mark stands for each, and is replaced when it is saved.

So a page can edit the file, and no answer contains a provider's key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.secret import PLACEHOLDERS, is_secret_name, mask

Span = tuple[int, int]

_SECRET_PLACES = frozenset({("store", "hot"), ("store", "ledger")})
"""Addresses with a password in them."""
_NO_SECRET = re.compile(r"(?:(?:Bearer )?\$\{[A-Za-z_][A-Za-z0-9_]*\}|Bearer|\[\])?[\"'`}\],.]*+")
"""What may stand in place of a secret: nothing, an empty list, or the name of a variable; and what closes it."""
_MARK = re.compile(r'"<kept secret \d+: [\w*.-]*>"')
_COMMENT = re.compile(r"(?m)(?:^|[ \t])#.*")
_NAMED = re.compile(r"(?<![\w-])([\w-]++)[\"']?[ \t]*[:=][ \t]*")


def without_secrets(text: str) -> str:
    """The text with marks. It must be YAML: if it is not, nobody knows what in it is a secret."""
    for (start, end), mark_ in reversed(_mark(text)):
        text = text[:start] + mark_ + text[end:]
    return text


def with_secrets(edited: str, saved: str, file: str) -> str:
    """An edited text with the secrets of the saved one in place of the marks. Raises InvalidConfig for other marks."""
    kept = {mark_: saved[slice(*span)] for span, mark_ in _mark(saved)}

    def secret(found: re.Match[str]) -> str:
        if found[0] not in kept:
            message = f"{found[0]} stands for no secret of this file; write the key, or load the file again"
            raise InvalidConfig([Problem(message, file, edited.count("\n", 0, found.start()) + 1)])
        return kept[found[0]]

    return _MARK.sub(secret, edited)


def _mark(text: str) -> list[tuple[Span, str]]:
    """Where secrets are in a text, in their order, and the mark for each."""
    found: list[Span] = []
    for span in sorted({*_secret_values(text), *_secret_comments(text)}):
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return [(span, f'"<kept secret {n}: {_hint(text[slice(*span)])}>"') for n, span in enumerate(found, 1)]


def _is_no_secret(text: str) -> bool:
    return _NO_SECRET.fullmatch(text) is not None or text.lower() in PLACEHOLDERS


def _hint(written: str) -> str:
    return re.sub(r"[^\w*.-]", "*", mask(written.strip("\"' ")))


def _secret_values(text: str) -> Iterator[Span]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return
    waiting: list[tuple[yaml.Node | None, tuple[str, ...], bool]] = [(root, (), False)]
    seen: set[tuple[int, bool]] = set()
    while waiting:
        node, path, is_secret = waiting.pop()
        if node is None or (id(node), is_secret) in seen:
            continue
        seen.add((id(node), is_secret))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = (*path, str(key.value))
                waiting.append((value, here, is_secret or is_secret_name(here[-1]) or here in _SECRET_PLACES))
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(value, path, is_secret) for value in node.value]
        elif is_secret and not _is_no_secret(node.value):
            yield node.start_mark.index, node.end_mark.index


def _secret_comments(text: str) -> Iterator[Span]:
    """Keys that somebody has put aside: what follows a secret's name in a comment."""
    for comment in _COMMENT.finditer(text):
        for named in _NAMED.finditer(text, comment.start(), comment.end()):
            rest = text[named.end() : comment.end()].rstrip()
            if is_secret_name(named[1]) and not _is_no_secret(rest.lstrip("\"'")):
                yield named.end(), named.end() + len(rest)
                break
