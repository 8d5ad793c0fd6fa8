"""`dragoman keys`: the keys of clients that may use the gateway."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import click

from dragoman.config.client_keys import make_key, sha256_of
from dragoman.config.errors import InvalidConfig
from dragoman.config.key_editing import UneditableLayout, add_key, remove_key, write_file
from dragoman.config.load import DEFAULT_FILE, Loaded, parse, read_environment, read_text
from dragoman.config.schema.keys import ClientKey, Unpriced
from dragoman.errors import OptionError
from dragoman.gateway.config_names import collect_names

file_option = click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="DRAGOMAN_CONFIG",
    default=DEFAULT_FILE,
    show_default=True,
    help="The configuration file.",
)


_AMOUNT = click.FloatRange(min=0)
_BUDGET = {"budget_day": "day", "budget_month": "month", "budget_total": "total", "warn": "warn"}


@click.group()
def keys() -> None:
    """Create, list and revoke client keys. Only their hashes are stored."""


@keys.command()
@click.argument("name")
@file_option
@click.option("--models", multiple=True, help="A model that it may use; repeatable, or separated by commas.")
@click.option("--endpoints", multiple=True, help="A path that it may call; repeatable, or separated by commas.")
@click.option("--rpm", type=click.IntRange(min=1), help="Requests per minute.")
@click.option("--tpm", type=click.IntRange(min=1), help="Tokens per minute.")
@click.option("--concurrent", type=click.IntRange(min=1), help="Requests at the same time.")
@click.option("--budget-day", type=_AMOUNT, help="What it may spend in a day, in the currency of the prices.")
@click.option("--budget-month", type=_AMOUNT, help="What it may spend in a month.")
@click.option("--budget-total", type=_AMOUNT, help="What it may ever spend.")
@click.option("--warn", type=click.FloatRange(0, 1), help="The part of a budget from which on answers warn.")
@click.option(
    "--unpriced",
    type=click.Choice([one.value for one in Unpriced]),
    help="Whether a budget allows models without a price.",
)
@click.option("--expires", help="The date or time when it expires, such as 2030-01-01.")
@click.option("--admin", is_flag=True, help="May see all reports.")
def create(name: str, path: Path, **options: Any) -> None:
    """Create a key, print it once, and add its hash to the file."""
    key = make_key()
    entry = _entry(sha256_of(key), options)
    try:
        text = read_text(path) if path.exists() else ""
        changed = add_key(text, name, entry, path.name)
        created = _load(changed, path).config.keys[name]
        write_file(path, changed)
    except UneditableLayout as error:
        click.echo(key)  # the message has its hash
        _fail(error)
    except InvalidConfig as error:
        _fail(error)
    click.echo(key)
    click.echo(f'"{name}" is in {path}. The key is shown only now: store it safely.', err=True)
    if created.expires is not None and created.expires <= datetime.now(UTC):
        click.echo(f"note: it has already expired ({created.expires.isoformat()})", err=True)


@keys.command(name="list")
@file_option
def list_keys(path: Path) -> None:
    """List the keys of the file with their limits."""
    try:
        loaded = _load(read_text(path), path)
    except InvalidConfig as error:
        _fail(error)
    for name, key in loaded.config.keys.items():
        click.echo(f"{name:<20} {key.sha256[:8]}…  {_limits(key)}")
    if not loaded.config.keys:
        click.echo("there are no keys; create one with: dragoman keys create NAME", err=True)


@keys.command()
@click.argument("name")
@file_option
def revoke(name: str, path: Path) -> None:
    """Remove a key from the file. A running gateway refuses it after its next reload."""
    try:
        write_file(path, remove_key(read_text(path), name, path.name))
    except InvalidConfig as error:
        _fail(error)
    click.echo(f'"{name}" is revoked', err=True)


def _entry(sha256: str, options: dict[str, Any]) -> dict[str, Any]:
    names = {
        "allowed_models": _split(options["models"]),
        "allowed_endpoints": _split(options["endpoints"]),
        "requests_per_minute": options["rpm"],
        "tokens_per_minute": options["tpm"],
        "concurrent": options["concurrent"],
        "expires": options["expires"],
        "admin": options["admin"],
    }
    budget = {name: options[option] for option, name in _BUDGET.items() if options[option] is not None}
    if not budget.keys() & {"day", "month", "total"} and (budget or options["unpriced"]):
        raise OptionError(
            "--warn and --unpriced need a budget", hint="add --budget-day, --budget-month or --budget-total"
        )
    spending = {"budget": budget, "unpriced": options["unpriced"]}
    return {"sha256": sha256} | {name: value for name, value in (names | spending).items() if value}


def _split(values: tuple[str, ...]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def _load(text: str, path: Path) -> Loaded:
    """Parse the text as the gateway does."""
    beside = path.parent / ".env"
    variables, _ = read_environment(os.environ, [beside] if beside.is_file() else [])
    return parse(text, file=path.name, known=collect_names(), variables=variables, folder=path.parent)


def _limits(key: ClientKey) -> str:
    parts = (
        f"models: {', '.join(key.allowed_models)}" if key.allowed_models else "all models",
        f"endpoints: {', '.join(key.allowed_endpoints)}" if key.allowed_endpoints else "",
        f"{key.requests_per_minute} requests/min" if key.requests_per_minute else "",
        f"{key.tokens_per_minute} tokens/min" if key.tokens_per_minute else "",
        f"{key.concurrent} at once" if key.concurrent else "",
        _budget(key),
        f"until {key.expires.isoformat()}" if key.expires else "",
        "admin" if key.admin else "",
    )
    return "; ".join(filter(None, parts))


def _budget(key: ClientKey) -> str:
    budget = key.budget
    if budget is None:
        return ""
    limits = {"day": budget.day, "month": budget.month, "total": budget.total}
    shown = [
        f"{amount:g} in {name}" if name == "total" else f"{amount:g} a {name}"
        for name, amount in limits.items()
        if amount is not None
    ]
    allowed = ", models without a price too" if key.unpriced is Unpriced.ALLOW else ""
    return f"budget: {', '.join(shown) or 'none'}{allowed}"


def _fail(error: InvalidConfig) -> NoReturn:
    click.echo(str(error), err=True)
    sys.exit(1)
