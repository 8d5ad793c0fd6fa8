"""All dialects by name, and which of them a request is in.

A dialect's package is named after it and is loaded when it is first asked for. The codecs inside it are loaded when
they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT, DIALECT_NAMES, DialectName
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import (
    MODEL,
    PLACEHOLDER,
    Dialect,
    Endpoint,
    Job,
    ModelListing,
    Route,
    TokenCount,
    UnservedPath,
)
from dragoman.dialects.request_glance import RequestGlance
from dragoman.errors import TargetError, near_match


@cache
def dialect(name: str) -> Dialect:
    """The dialect of this name. Raises TargetError if there is none."""
    if name not in DIALECT_NAMES:
        raise TargetError(f'no dialect is called "{name}". {near_match(name, DIALECT_NAMES)}')
    package = name.replace("-", "_")
    found = import_module(f"dragoman.dialects.{package}.dialect").DIALECT
    if not isinstance(found, Dialect):
        raise TypeError(f"dialects/{package}/dialect.py has no Dialect value called DIALECT")
    return found


@cache
def list_dialects() -> tuple[Dialect, ...]:
    """Every dialect, without its codecs."""
    return tuple([dialect(name) for name in DIALECT_NAMES])


@cache
def list_names() -> frozenset[str]:
    """What the dialects call the list of messages."""
    return frozenset([one.list_name for one in list_dialects()])


def find_token_count(name: str) -> TokenCount:
    """How a dialect counts tokens. Raises TargetError if it has no way to."""
    found = dialect(name).token_count
    if found is None:
        raise TargetError(f"{dialect(name).title} has no endpoint that counts tokens")
    return found


def model_listing(name: str) -> ModelListing:
    """How a dialect lists models; as the default dialect does if it has no list of its own."""
    return dialect(name).model_listing or model_listing(DEFAULT_DIALECT)


@cache
def _alias_prefixes() -> tuple[str, ...]:
    return tuple([model_listing(one.name).alias_prefix for one in list_dialects() if one.model_listing is not None])


def strip_alias(name: str) -> str:
    """The name of a model behind the prefix under which a list of models shows it a second time."""
    for prefix in _alias_prefixes():
        if prefix and name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def recognise(body: Mapping[str, Any]) -> DialectName:
    """The dialect of a request, by its members; the default dialect if no other one fits better."""
    seen = RequestGlance(body)
    name, most = DEFAULT_DIALECT, 0
    for one in list_dialects():
        if (likeness := one.recognise(seen)) > most:
            name, most = one.name, likeness
    return name


def caller_dialect(path: str, headers: Mapping[str, str]) -> DialectName:
    """The dialect of a caller at a path that several dialects serve: by its prefix, else by the SDK's headers."""
    known = list_dialects()
    for one in known:
        if path.startswith(one.caller_prefixes):
            return one.name
    return next((one.name for one in known if not headers.keys().isdisjoint(one.caller_headers)), DEFAULT_DIALECT)


class ServedPath(msgspec.Struct, frozen=True):
    """One path of one dialect, with a prefix."""

    dialect: Dialect
    endpoint: Endpoint
    prefix: str

    @property
    def path(self) -> str:
        return self.prefix + self.endpoint.path

    @property
    def is_usual(self) -> bool:
        """Whether the prefix is the one that this dialect's clients use."""
        return self.prefix == self.dialect.prefixes[0]


def list_served_paths(*jobs: Job) -> Iterator[ServedPath]:
    """Every path that the dialects serve for these jobs."""
    for one in list_dialects():
        wanted = [endpoint for endpoint in one.endpoints if endpoint.job in jobs]
        yield from (ServedPath(one, endpoint, prefix) for endpoint in wanted for prefix in one.prefixes)


class Unserved(msgspec.Struct, frozen=True):
    """A path that a dialect's vendor serves and nobody here does."""

    dialect: Dialect
    path: UnservedPath


@lru_cache(maxsize=256)
def find_unserved_path(method: str, path: str, caller: str, *, any_prefix: bool = False) -> Unserved | None:
    """The path of a vendor's API that is not served here. If several have it, the caller's own dialect counts. An agent
    asks at one path again and again, and those that name the model are looked for among these first."""
    dialects = sorted(list_dialects(), key=lambda one: one.name != caller)
    for one in dialects:
        for template in one.unserved:
            if method in template.methods and _is_below(path, template.path, None if any_prefix else one.prefixes):
                return Unserved(one, template)
    return None


def refuse_unserved(method: str, unserved: Unserved) -> Failure:
    """The refusal, with what to do instead."""
    one, path = unserved.dialect, unserved.path
    what = f"Dragoman does not serve {method} {path.path} of {one.title}; {path.instead}"
    return Failure(FailureKind.NOT_SERVED, what, 501, "not_implemented")


def _is_below(path: str, template: str, roots: tuple[str, ...] | None) -> bool:
    """Whether a path is this one. An id is one step of a path; a model's name may have several."""
    head, model, tail = template.partition(MODEL)
    if model:
        root, found, rest = path.partition(head)
        return bool(found) and rest.endswith(tail) and len(rest) > len(tail) and (roots is None or root in roots)
    wanted, steps = template.split("/")[1:], path.split("/")
    root, own = "/".join(steps[: -len(wanted)]), steps[-len(wanted) :]
    alike = all(one in (PLACEHOLDER, step) and step for one, step in zip(wanted, own, strict=False))
    return len(own) == len(wanted) and alike and (roots is None or root in roots)


def route(method: str, path: str, query: Mapping[str, str], *, any_prefix: bool = False) -> Route | None:
    """What a client asks for at this path. `any_prefix`: whatever stands before a dialect's own path."""
    found = _find_template(method, path, any_prefix)
    if found is None:
        return None
    template, model = found
    one, endpoint = template.dialect, template.endpoint
    framing = endpoint.framing or (one.client_framing(query) if endpoint.stream else one.framing)
    return Route(
        one.name,
        endpoint.job,
        model or None,
        stream=endpoint.stream,
        framing=framing,
        cloud=endpoint.cloud,
        load_errors=endpoint.load_errors,
    )


@lru_cache(maxsize=256)
def _find_template(method: str, path: str, any_prefix: bool) -> tuple[_Template, str] | None:
    """The template that a path fits, and the model in it. An agent asks at one path again and again."""
    for template in _templates(method, any_prefix):
        model = template.match(path)
        if model is not None:
            return template, model
    return None


class _Template(msgspec.Struct, frozen=True):
    """A path, cut where the model's name stands in it."""

    dialect: Dialect
    endpoint: Endpoint
    head: str
    tail: str
    roots: frozenset[str] | None
    """What may stand before it; without roots anything may."""
    pattern: re.Pattern[str] | None
    """The same as a pattern."""

    def match(self, path: str) -> str | None:
        """The model in a path, empty if this path names none; None if the path is another one."""
        if MODEL not in self.endpoint.path:
            return "" if path.endswith(self.head) and self._begins(path[: -len(self.head)]) else None
        root, head, rest = path.partition(self.head)
        if not head or not rest.endswith(self.tail) or not self._begins(root):
            return None
        return rest[: len(rest) - len(self.tail)] or None

    def _begins(self, root: str) -> bool:
        if self.roots is None or root in self.roots:
            return True
        return self.pattern is not None and self.pattern.fullmatch(root) is not None


@cache
def _templates(method: str, any_prefix: bool) -> tuple[_Template, ...]:
    made: list[_Template] = []
    for one in list_dialects():
        roots = None if any_prefix else frozenset(one.prefixes)
        pattern = re.compile(one.prefix_pattern) if one.prefix_pattern else None
        for endpoint in one.endpoints:
            if endpoint.method == method:
                head, _, tail = endpoint.path.partition(MODEL)
                made.append(_Template(one, endpoint, head, tail, roots, pattern))
    return tuple(made)
