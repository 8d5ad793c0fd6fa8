"""The state of a gateway, for the commands that look at it: in its store, or asked of the gateway that runs."""

from __future__ import annotations

import asyncio
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

import click
import msgspec
from msgspec.structs import replace

from dragoman.cli.inputs.given_config import Command, GivenConfig, config_options
from dragoman.cli.output.console import print_note
from dragoman.config.sendable import key_fault
from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.errors import OptionError
from dragoman.store.location import store_file
from dragoman.store.memory.store import MemoryStore
from dragoman.store.open_store import open_store
from dragoman.store.store import Store
from dragoman.wire.error_bodies import parse_failure

_TIMEOUT = 30
_ANSWER_MS = 10_000.0
"""A command waits so long for an answer of Redis: nobody's request waits for the command."""
_STARTS = 3
"""Seconds to reach the servers of the store."""

url_option = click.option("--url", help="Ask the gateway at this address instead of reading the store.")
key_option = click.option("--key", help="An admin key of that gateway.", envvar="DRAGOMAN_KEY")
_Kind = TypeVar("_Kind")
_NOTHING: Mapping[str, str] = {}


class RunningGateway(msgspec.Struct, frozen=True):
    """A gateway that a command asks, and the key that it shows."""

    url: str
    key: str | None

    def ask(self, kind: type[_Kind], path: str, query: Mapping[str, str] = _NOTHING, method: str = "GET") -> _Kind:
        """What it answers. Raises OptionError."""
        return msgspec.json.decode(_call(self.url, self.key, method, path, query), type=kind)


class GatewayState(msgspec.Struct, frozen=True):
    """The state of a gateway: asked of the one that runs at `--url`, if there is one, else read in the store."""

    given: GivenConfig
    gateway: RunningGateway | None

    def ask(
        self,
        kind: type[_Kind],
        path: str,
        read: Callable[[Store], Awaitable[_Kind]],
        query: Mapping[str, str] = _NOTHING,
        method: str = "GET",
    ) -> _Kind:
        """What the gateway answers, or `read` finds in the store. Raises OptionError."""
        if self.gateway is not None:
            return self.gateway.ask(kind, path, query, method)
        return asyncio.run(self._from_store(read))

    async def _from_store(self, read: Callable[[Store], Awaitable[_Kind]]) -> _Kind:
        async with open_kept_store(self.given) as store:
            if isinstance(store, MemoryStore):
                file = store_file(self.given.loaded().config.store, self.given.file)
                print_note(
                    f"no gateway has made {file} yet; --url asks one that runs, whose state may be in its memory"
                )
            return await read(store)


class ListedLessons(msgspec.Struct):
    """What refusals have taught, as a gateway says it."""

    lessons: tuple[LessonRecord, ...]


class Forgotten(msgspec.Struct):
    """How many entries were removed."""

    forgotten: int


def list_lessons(state: GatewayState) -> tuple[LessonRecord, ...]:
    """Everything that refusals have taught."""

    async def read(store: Store) -> ListedLessons:
        return ListedLessons(await store.lessons.all())

    return state.ask(ListedLessons, "/dragoman/lessons", read).lessons


def state_options(command: Command) -> Command:
    """The options of a command about the state of a gateway, without the one for the key. The command gets a
    GatewayState."""

    @wraps(command)
    def with_state(given: GivenConfig, /, url: str | None, key: str | None, **others: Any) -> Any:
        return command(GatewayState(given, None if url is None else RunningGateway(url, key)), **others)

    return config_options(cast(Command, url_option(with_state)))


def _call(url: str, key: str | None, method: str, path: str, query: Mapping[str, str]) -> bytes:
    if not url.startswith(("http://", "https://")):
        raise OptionError("must begin with http:// or https://", at="--url", hint=f"write http://{url}")
    if key and (fault := key_fault(key)) is not None:
        raise OptionError(fault, at="the admin key")
    place = url.rstrip("/").removesuffix("/v1") + path
    headers = {"authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        place + (f"?{urlencode(query)}" if query else ""), method=method, headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        hint = "set DRAGOMAN_KEY to an admin key of the gateway" if error.code == 401 else ""
        raise OptionError(parse_failure(error.code, {}, error.read()).message, at=place, hint=hint) from None
    except OSError as error:
        why = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(why, ssl.SSLError) and why.reason == "WRONG_VERSION_NUMBER":
            plain = url.replace("https://", "http://", 1)
            raise OptionError("it does not speak TLS", at="--url", hint=f"write {plain}") from None
        raise OptionError(f"cannot be reached: {getattr(why, 'strerror', None) or why}", at="--url") from None


@asynccontextmanager
async def open_kept_store(given: GivenConfig) -> AsyncIterator[Store]:
    """The store of a configuration; an empty one in memory if no gateway has made it yet. Raises OptionError."""
    config = given.loaded().config
    file = store_file(config.store, given.file)
    shared = config.store.hot is not None or config.store.ledger is not None
    if file is None and not shared:
        raise OptionError("the state of this gateway is in its memory", hint="ask it with --url and --key")
    if not shared and file is not None and not file.exists():
        yield MemoryStore(config.store)
        return
    redis = replace(config.store.redis, deadline_ms=_ANSWER_MS)
    opened = open_store(replace(config, store=replace(config.store, redis=redis)), file)
    if opened.fault is not None:
        raise OptionError(opened.fault)
    try:
        for _ in range(_STARTS):
            await opened.store.start()
            if not opened.store.health().away:
                break
        yield opened.store
    finally:
        await opened.store.aclose()
