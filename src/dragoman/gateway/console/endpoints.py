"""What the console's page asks for. `gateway/routes.py` says who may ask."""

from __future__ import annotations

import asyncio
import hmac
import time
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.registry import list_dialects
from dragoman.gateway.callers import console_sessions
from dragoman.gateway.callers.caller import Refused, Slot
from dragoman.gateway.console import config_editing, key_states
from dragoman.gateway.console.compatibility import compatibility_table
from dragoman.gateway.console.dry_runs import DryRunRequest, dry_runs
from dragoman.gateway.console.exchange_view import exchange_view
from dragoman.gateway.console.key_states import KeyRequest
from dragoman.gateway.console.live_requests import live_requests
from dragoman.gateway.console.model_states import models_view
from dragoman.gateway.console.static_files import SAFE
from dragoman.gateway.http.client_watch import watch_client
from dragoman.gateway.http.inbound import ClientGone
from dragoman.gateway.http.outbound import SSE, Headers
from dragoman.gateway.served_request import ServedRequest

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


async def show_session(request: ServedRequest) -> None:
    """Who is looking, and what this gateway shows."""
    services, caller = request.services, request.caller
    from dragoman import __version__

    config = services.live.config
    shown = {
        "version": __version__,
        "keys": bool(config.keys),
        "admin": caller.admin,
        "name": caller.name,
        "edits": _may_edit(request),
        "setup": bool(services.live.setup_token),
        "bodies": "store" if config.store.keep_bodies else "memory" if services.records.recent.keeps else "",
        "models": len(config.models),
        "dialects": {one.name: one.title for one in list_dialects()},
        "providers": list(config.providers) if caller.admin else [],
    }
    await _send(request, shown)


async def sign_in(request: ServedRequest) -> None:
    """A session for an admin key, or for the token of the setup, which is good for once."""
    services = request.services
    wanted = await _read(request, _SignIn)
    now = time.time()
    if wanted.token:
        expected = services.live.setup_token
        if not expected or not hmac.compare_digest(wanted.token.encode(), expected.encode()):
            raise _refuse("the token was used already, or is not the one that the gateway printed", 401)
        services.live.setup_token = ""
        session = console_sessions.make_session(console_sessions.SETUP, None, now)
    else:
        client = services.live.clients.identify(wanted.key)
        if client is None or not client.key.admin:
            raise _refuse("this is not an admin key of this gateway; make one: dragoman keys create NAME --admin", 401)
        session = console_sessions.make_session(client.name, client.key, now)
    await _send(request, {"signed_in": True}, [console_sessions.set_cookie(session, _is_secure(request))])


async def sign_out(request: ServedRequest) -> None:
    console_sessions.end_session(request.inbound.headers.get("cookie", ""), request.services.live.config.keys)
    await _send(request, {"signed_in": False}, [console_sessions.set_cookie("", _is_secure(request))])


def _is_secure(request: ServedRequest) -> bool:
    inbound = request.inbound
    return inbound.scope.get("scheme") == "https" or inbound.headers.get("x-forwarded-proto") == "https"


def _may_edit(request: ServedRequest) -> bool:
    """Whether the caller may see and change the file: with an admin key, or after the setup's token."""
    headers, keys = request.inbound.headers, request.services.live.config.keys
    if request.services.live.file is None:
        return False
    if keys:
        return request.caller.admin
    return console_sessions.is_setup_session(headers.get("cookie", ""), keys) and console_sessions.is_own_page(headers)


def _editor(request: ServedRequest) -> Path:
    """The file, for who may change it. Raises Refused."""
    if not _may_edit(request):
        raise _refuse(_NO_EDITING, 403)
    return config_editing.config_file(request.services.live)


# Requests.


async def show_request(request: ServedRequest, id: str) -> None:
    inbound = request.inbound
    entry = await request.services.store.ledger.report(id, request.caller)
    if entry is None:
        raise _refuse(f'there is no request "{id[:100]}"', 404)
    scheme, below = inbound.scope.get("scheme", "http"), inbound.scope.get("root_path", "")
    root = f"{scheme}://{inbound.headers.get('host', '127.0.0.1')}{below}"
    await _send(request, await asyncio.to_thread(exchange_view, request.services, entry, root))


async def watch_requests(request: ServedRequest) -> None:
    services = request.services
    if services.records.recent.watchers >= MOST_WATCHERS:
        raise Refused(Failure(FailureKind.RATE_LIMIT, "too many pages watch requests", 429, retry_after=5.0))
    services.records.recent.watchers += 1
    try:
        with watch_client(request.inbound, 0):
            events = live_requests(request)
            await request.outbound.streamed(events, list(SAFE), SSE, services.live.config.server.write_timeout)
    except TimeoutError:
        raise ClientGone from None
    finally:
        services.records.recent.watchers -= 1


async def try_targets(request: ServedRequest) -> None:
    with Slot(request.services.traffic, request.caller):
        wanted = await _read(request, DryRunRequest)
        shown = await asyncio.to_thread(
            dry_runs, request.services.live, request.services.exchange_state, wanted, request.caller.name
        )
    await _send(request, shown)


async def show_compatibility(request: ServedRequest) -> None:
    named = tuple(name for name in request.inbound.query.get("targets", "").split(",") if name)
    with Slot(request.services.traffic, request.caller):
        shown = await asyncio.to_thread(compatibility_table, request.services.live, named)
    await _send(request, shown)


async def show_models(request: ServedRequest) -> None:
    await _send(request, await models_view(request.services, request.caller))


# Keys.


async def show_keys(request: ServedRequest) -> None:
    may_edit = _may_edit(request)
    await _send(
        request, {"keys": await key_states.key_states(request.services), "edits": may_edit, "why_not": _NO_EDITING}
    )


async def create_key(request: ServedRequest) -> None:
    services = request.services
    file, wanted = _editor(request), await _read(request, KeyRequest)
    if not services.live.config.keys and not wanted.admin:
        raise _refuse("the first key must be an admin key, or nobody could use this console any more", 400)
    await _send(request, {"key": await key_states.create_key(services.live, file, wanted)})


async def change_key(request: ServedRequest) -> None:
    file, wanted = _editor(request), await _read(request, KeyRequest)
    await key_states.change_key(request.services.live, file, wanted)
    await _send(request, {"changed": wanted.name})


async def revoke_key(request: ServedRequest) -> None:
    file, name = _editor(request), request.inbound.query.get("name", "")
    if name == request.caller.name:
        raise _refuse("this is the key that you signed in with; sign in with another one to revoke it", 400)
    await key_states.revoke_key(request.services.live, file, name)
    await _send(request, {"revoked": name})


# Configuration.


class _ConfigText(msgspec.Struct, forbid_unknown_fields=True):
    """A configuration that was edited."""

    text: str
    digest: str = ""
    """That of the file before it was edited."""


async def show_config(request: ServedRequest) -> None:
    editable = _may_edit(request)
    await _send(
        request,
        await asyncio.to_thread(
            config_editing.config_view, request.services.live, editable, "" if editable else _NO_EDITING
        ),
    )


async def check_config(request: ServedRequest) -> None:
    _editor(request)
    wanted = await _read(request, _ConfigText)
    await _send(request, await asyncio.to_thread(config_editing.check_config, request.services.live, wanted.text))


async def save_config(request: ServedRequest) -> None:
    file, wanted = _editor(request), await _read(request, _ConfigText)
    if wanted.digest != config_editing.digest_of(file):
        if not wanted.digest:
            raise _refuse("digest is missing: send the one that GET /dragoman/config gave with the text", 400)
        raise _refuse(f"{file.name} was changed by somebody else meanwhile; load it again", 409)
    await config_editing.save_config(request.services.live, file, wanted.text)
    await _send(request, {"saved": str(file), "digest": config_editing.digest_of(file)})


async def undo_config(request: ServedRequest) -> None:
    file = _editor(request)
    await config_editing.undo_save(request.services.live, file)
    await _send(request, {"saved": str(file), "digest": config_editing.digest_of(file)})


async def _read(request: ServedRequest, kind: type[T]) -> T:
    body = await request.inbound.body(LARGEST_BODY)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise _refuse(str(fault), 400) from None


async def _send(request: ServedRequest, shown: object, headers: Headers | None = None) -> None:
    await request.outbound.whole(200, msgspec.json.encode(shown), [*_PRIVATE, *(headers or ())])


def _refuse(message: str, status: int) -> Refused:
    return Refused(Failure(_KINDS.get(status, FailureKind.BAD_REQUEST), message, status))
