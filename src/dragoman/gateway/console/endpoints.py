"""What the console's page asks for. `gateway/routes.py` says who may ask."""

from __future__ import annotations

import asyncio
import hmac
import time
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.callers.callers import Caller, Refused, Slot
from dragoman.gateway.callers.sessions import (
    SETUP,
    end_session,
    is_own_page,
    is_setup_session,
    make_session,
    set_cookie,
)
from dragoman.gateway.console import config_editing, key_states
from dragoman.gateway.console.compatibility import compatibility_table
from dragoman.gateway.console.dry_runs import DryRunRequest, dry_runs
from dragoman.gateway.console.exchange_view import exchange_view
from dragoman.gateway.console.key_states import KeyRequest
from dragoman.gateway.console.live_requests import live_requests
from dragoman.gateway.console.model_states import models_view
from dragoman.gateway.console.static_files import SAFE
from dragoman.gateway.http.inbound import ClientGone, Inbound, noticing
from dragoman.gateway.http.outbound import SSE, Headers, Outbound
from dragoman.gateway.services import Services

T = TypeVar("T")

LARGEST_BODY = 8 * 1024 * 1024
MOST_WATCHERS = 32
"""Pages that see requests come in, at the same time."""
_PRIVATE: Headers = [*SAFE, (b"cache-control", b"no-store")]

_KINDS = {401: FailureKind.AUTH, 403: FailureKind.PERMISSION, 404: FailureKind.NOT_FOUND}

_NO_EDITING = (
    "Anybody on this machine can open this page, so it shows the configuration without secrets and does not change it. "
    "Start the gateway with --setup, or make an admin key: dragoman keys create NAME --admin"
)


# Signing in.


class _SignIn(msgspec.Struct, forbid_unknown_fields=True):
    key: str = ""
    token: str = ""


async def show_session(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    """Who is looking, and what this gateway shows."""
    from dragoman import __version__

    config = services.config
    shown = {
        "version": __version__,
        "keys": bool(config.keys),
        "admin": caller.admin,
        "name": caller.name,
        "edits": _may_edit(services, inbound, caller),
        "setup": bool(services.setup_token),
        "bodies": "store" if config.store.keep_bodies else "memory" if services.records.recent.keeps else "",
        "models": len(config.models),
        "providers": list(config.providers) if caller.admin else [],
    }
    await _send(outbound, shown)


async def sign_in(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    """A session for an admin key, or for the token of the setup, which is good for once."""
    wanted = await _read(inbound, _SignIn)
    now = time.time()
    if wanted.token:
        if not services.setup_token or not hmac.compare_digest(wanted.token.encode(), services.setup_token.encode()):
            raise _refused("the token was used already, or is not the one that the gateway printed", 401)
        services.setup_token = ""
        session = make_session(SETUP, None, now)
    else:
        client = services.clients.identify(wanted.key)
        if client is None or not client.key.admin:
            raise _refused("this is not an admin key of this gateway; make one: dragoman keys create NAME --admin", 401)
        session = make_session(client.name, client.key, now)
    await _send(outbound, {"signed_in": True}, [set_cookie(session, _is_secure(inbound))])


async def sign_out(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    end_session(inbound.headers.get("cookie", ""), services.config.keys)
    await _send(outbound, {"signed_in": False}, [set_cookie("", _is_secure(inbound))])


def _is_secure(inbound: Inbound) -> bool:
    return inbound.scope.get("scheme") == "https" or inbound.headers.get("x-forwarded-proto") == "https"


def _may_edit(services: Services, inbound: Inbound, caller: Caller) -> bool:
    """Whether the caller may see and change the file: with an admin key, or after the setup's token."""
    if services.file is None:
        return False
    if services.config.keys:
        return caller.admin
    return is_setup_session(inbound.headers.get("cookie", ""), services.config.keys) and is_own_page(inbound.headers)


def _editor(services: Services, inbound: Inbound, caller: Caller) -> Path:
    """The file, for who may change it. Raises Refused."""
    if not _may_edit(services, inbound, caller):
        raise _refused(_NO_EDITING, 403)
    return config_editing.config_file(services)


# Requests.


async def show_request(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller, id: str) -> None:
    entry = await services.store.ledger.report(id, caller)
    if entry is None:
        raise _refused(f'there is no request "{id[:100]}"', 404)
    scheme, below = inbound.scope.get("scheme", "http"), inbound.scope.get("root_path", "")
    root = f"{scheme}://{inbound.headers.get('host', '127.0.0.1')}{below}"
    await _send(outbound, await asyncio.to_thread(exchange_view, services, entry, root))


async def watch_requests(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    if services.records.recent.watchers >= MOST_WATCHERS:
        raise Refused(Failure(FailureKind.RATE_LIMIT, "too many pages watch requests", 429, retry_after=5.0))
    services.records.recent.watchers += 1
    try:
        with noticing(inbound):
            events = live_requests(services, inbound, caller)
            await outbound.streamed(events, list(SAFE), SSE, services.config.server.write_timeout)
    except TimeoutError:
        raise ClientGone from None
    finally:
        services.records.recent.watchers -= 1


async def try_targets(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    with Slot(services, caller):
        wanted = await _read(inbound, DryRunRequest)
        shown = await asyncio.to_thread(dry_runs, services, wanted, caller.name)
    await _send(outbound, shown)


async def show_compatibility(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    named = tuple(name for name in inbound.query.get("targets", "").split(",") if name)
    with Slot(services, caller):
        shown = await asyncio.to_thread(compatibility_table, services, named)
    await _send(outbound, shown)


async def show_models(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    await _send(outbound, await models_view(services, caller))


# Keys.


async def show_keys(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    may_edit = _may_edit(services, inbound, caller)
    await _send(outbound, {"keys": await key_states.key_states(services), "edits": may_edit, "why_not": _NO_EDITING})


async def create_key(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    file, wanted = _editor(services, inbound, caller), await _read(inbound, KeyRequest)
    if not services.config.keys and not wanted.admin:
        raise _refused("the first key must be an admin key, or nobody could use this console any more", 400)
    await _send(outbound, {"key": await key_states.create_key(services, file, wanted)})


async def change_key(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    file, wanted = _editor(services, inbound, caller), await _read(inbound, KeyRequest)
    await key_states.change_key(services, file, wanted)
    await _send(outbound, {"changed": wanted.name})


async def revoke_key(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    file, name = _editor(services, inbound, caller), inbound.query.get("name", "")
    if name == caller.name:
        raise _refused("this is the key that you signed in with; sign in with another one to revoke it", 400)
    await key_states.revoke_key(services, file, name)
    await _send(outbound, {"revoked": name})


# Configuration.


class _ConfigText(msgspec.Struct, forbid_unknown_fields=True):
    """`digest` is that of the file that was edited."""

    text: str
    digest: str = ""


async def show_config(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    editable = _may_edit(services, inbound, caller)
    await _send(
        outbound,
        await asyncio.to_thread(config_editing.config_view, services, editable, "" if editable else _NO_EDITING),
    )


async def check_config(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    _editor(services, inbound, caller)
    wanted = await _read(inbound, _ConfigText)
    await _send(outbound, await asyncio.to_thread(config_editing.check_config, services, wanted.text))


async def save_config(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    file, wanted = _editor(services, inbound, caller), await _read(inbound, _ConfigText)
    if wanted.digest != config_editing.digest_of(file):
        raise _refused(f"{file.name} was changed by somebody else meanwhile; load it again", 409)
    await config_editing.save_config(services, file, wanted.text)
    await _send(outbound, {"saved": str(file), "digest": config_editing.digest_of(file)})


async def undo_config(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    file = _editor(services, inbound, caller)
    await config_editing.undo_save(services, file)
    await _send(outbound, {"saved": str(file), "digest": config_editing.digest_of(file)})


async def _read(inbound: Inbound, kind: type[T]) -> T:
    body = await inbound.body(LARGEST_BODY)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise _refused(str(fault), 400) from None


async def _send(outbound: Outbound, shown: object, headers: Headers | None = None) -> None:
    await outbound.whole(200, msgspec.json.encode(shown), [*_PRIVATE, *(headers or ())])


def _refused(message: str, status: int) -> Refused:
    return Refused(Failure(_KINDS.get(status, FailureKind.BAD_REQUEST), message, status))
