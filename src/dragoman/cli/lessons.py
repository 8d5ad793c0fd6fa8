"""`dragoman lessons`: what refusals have taught about targets; `--forget` forgets it."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import click
import msgspec

from dragoman.cli.config import chosen_file, config_option, env_option, loaded_or_exit
from dragoman.cli.console import print_table
from dragoman.engine.lesson_book import LessonRecord
from dragoman.errors import OptionError
from dragoman.store import Store, open_store, store_file
from dragoman.wire.error_bodies import parse_failure

_PATH = "/dragoman/lessons"
_TIMEOUT = 30


class _Shown(msgspec.Struct):
    lessons: tuple[LessonRecord, ...]


class _Forgotten(msgspec.Struct):
    forgotten: int


@click.command()
@config_option
@env_option
@click.option("--url", help="Ask the gateway at this address instead of reading the store.")
@click.option("--key", help="An admin key of that gateway.", envvar="DRAGOMAN_KEY")
@click.option("--target", metavar="PROVIDER/MODEL", help="Only the lessons about this target.")
@click.option("--name", help="Only the lessons of this name.")
@click.option("--forget", is_flag=True, help="Forget them. A gateway that runs alone on its store is told by --url.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_context
def lessons(
    ctx: click.Context,
    path: Path | None,
    env_files: tuple[Path, ...],
    url: str | None,
    key: str | None,
    target: str | None,
    name: str | None,
    forget: bool,
    as_json: bool,
) -> None:
    """Show what refusals have taught about targets, for whom it holds, and until when."""
    chosen = {field: value for field, value in (("target", target), ("name", name)) if value}
    if url is not None:
        found, count = _from_gateway(url, key, chosen, forget)
    else:
        found, count = asyncio.run(_from_store(ctx, path, env_files, chosen, forget))
    if forget:
        click.echo(f"{count} forgotten")
        return
    matching = [one for one in found if all(getattr(one, field) == value for field, value in chosen.items())]
    _show(matching, as_json)


def _from_gateway(
    url: str, key: str | None, chosen: dict[str, str], forget: bool
) -> tuple[tuple[LessonRecord, ...], int]:
    if not url.startswith(("http://", "https://")):
        raise OptionError("must begin with http:// or https://", at="--url")
    place = url.rstrip("/").removesuffix("/v1") + _PATH
    if not forget:
        return msgspec.json.decode(_call("GET", place, key), type=_Shown).lessons, 0
    query = f"?{urlencode(chosen)}" if chosen else ""
    return (), msgspec.json.decode(_call("DELETE", place + query, key), type=_Forgotten).forgotten


def _call(method: str, url: str, key: str | None) -> bytes:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310 - the scheme was checked
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        raise OptionError(parse_failure(error.code, {}, error.read()).message, at=url) from None
    except OSError as error:
        raise OptionError(f"cannot be reached: {error}", at="--url") from None


async def _from_store(
    ctx: click.Context, path: Path | None, env_files: tuple[Path, ...], chosen: dict[str, str], forget: bool
) -> tuple[tuple[LessonRecord, ...], int]:
    config = loaded_or_exit(ctx, path, env_files).config
    file = store_file(config.store, chosen_file(path))
    if file is None:
        raise OptionError("the state of this gateway is in its memory", hint="ask it with --url and --key")
    if not file.exists():
        return (), 0
    store = open_store(config, file).store
    try:
        return await _look(store, chosen, forget)
    finally:
        await store.aclose()


async def _look(store: Store, chosen: dict[str, str], forget: bool) -> tuple[tuple[LessonRecord, ...], int]:
    found = await store.lessons.all()
    if not forget:
        return found, 0
    gone = [one for one in found if all(getattr(one, field) == value for field, value in chosen.items())]
    for target, name in {(one.target, one.name) for one in gone}:
        await store.lessons.forget(target, name)
    await store.flush()
    return (), len(gone)


def _show(found: list[LessonRecord], as_json: bool) -> None:
    if as_json:
        for one in found:
            click.echo(msgspec.json.encode(one))
        return
    if not found:
        click.echo("nothing has been learnt")
        return
    rows = [
        (one.target, one.name, msgspec.json.encode(one.facts).decode(), _holder(one), _left(one.expires))
        for one in found
    ]
    print_table(("target", "lesson", "facts", "holds for", "expires in"), rows)


def _holder(record: LessonRecord) -> str:
    return "all" if record.confirmed else record.caller or "the owner, until another request confirms it"


def _left(expires: float) -> str:
    minutes = max(int((expires - time.time()) / 60), 0)
    return f"{minutes // 60} h {minutes % 60} min"


if __name__ == "__main__":
    lessons()
