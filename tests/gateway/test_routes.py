"""The list of routes is what is enforced: each is asked for by everybody, and only those get through who may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.config.client_keys import sha256_of
from dragoman.dialects.registry import find_unserved_path
from dragoman.gateway.app import Gateway
from dragoman.gateway.routes import ROUTES, Access, ServedRoute
from dragoman.gateway.services import open_services

ORDINARY, ADMIN, MADE = "dm-ordinary-0123456789", "dm-admin-0123456789", "dm-made-0123456789"
OPEN = {
    "GET /",
    "GET /api/hello",
    "GET /health",
    "GET /ready",
    "GET /openapi.json",
    "GET /dragoman",
    "GET /admin/config",
    "GET /dragoman/console/{file}",
    "GET /dragoman/session",
    "POST /dragoman/session",
    "DELETE /dragoman/session",
}
STEPS = {"{id}": "req_1", "{file}": "app.js", "{model}": "m"}
SIGNING_IN = "POST /dragoman/session"
"""It refuses bad keys by itself."""


def name(route: ServedRoute) -> str:
    return f"{route.method} {route.path}"


def test_what_everybody_may_call() -> None:
    assert {name(route) for route in ROUTES if route.access is Access.OPEN} == OPEN


def test_no_path_is_served_and_refused() -> None:
    fixed = [route for route in ROUTES if "{" not in route.path]
    assert [name(route) for route in fixed if find_unserved_path(route.method, route.path, route.dialect)] == []


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Gateway]:
    own = [route.path for route in ROUTES if route.access is Access.ADMIN and not route.is_console]
    keys = {
        "ordinary": {"sha256": sha256_of(ORDINARY)},
        "boss": {"sha256": sha256_of(ADMIN), "admin": True},
        "made": {"sha256": sha256_of(MADE), "allowed_endpoints": own},
    }
    file = tmp_path / "dragoman.yaml"
    config = {"keys": keys, "store": {"kind": "memory"}, "log": {"level": "error", "provider_errors": {"path": None}}}
    file.write_text(yaml.safe_dump(config))
    services = open_services(file)
    yield Gateway(services, watch=False)
    await services.close()


async def status(app: Gateway, route: ServedRoute, key: str, **headers: str) -> int:
    """How an answer begins; the rest is not waited for."""
    path = route.path
    for step, value in STEPS.items():
        path = path.replace(step, value)
    given = {"host": "localhost", **({"authorization": f"Bearer {key}"} if key else {}), **headers}
    scope = {
        "type": "http",
        "method": route.method,
        "path": path,
        "query_string": b"",
        "headers": [(one.replace("_", "-").encode(), value.encode()) for one, value in given.items()],
    }
    begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    body = [{"type": "http.request", "body": b"{}"}]

    async def receive() -> dict[str, Any]:
        return body.pop() if body else await asyncio.Future()

    async def send(message: dict[str, Any]) -> None:
        if "status" in message and not begun.done():
            begun.set_result(message["status"])

    answering = asyncio.ensure_future(app(scope, receive, send))
    await asyncio.wait((begun, answering), return_when=asyncio.FIRST_COMPLETED)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    return begun.result()


REFUSED = (401, 403)
"""A vendor may say 403 to a key that it does not know."""
ALLOWED = {Access.OPEN: 4, Access.KEY: 2, Access.ADMIN: 1}
"""How many of four callers may use a route: the last ones."""


@pytest.mark.parametrize("access", Access)
async def test_a_route_is_for_whom_the_list_says(app: Gateway, access: Access) -> None:
    wrong: list[str] = []
    for route in ROUTES:
        if route.access is access and name(route) != SIGNING_IN:
            found = [await status(app, route, key) for key in ("", "dm-unknown", ORDINARY, ADMIN)]
            if sum(one not in REFUSED for one in found) != ALLOWED[access] or found != sorted(found, key=_rank):
                wrong.append(f"{name(route)}: {found}")
    assert wrong == []


def _rank(status: int) -> bool:
    return status not in REFUSED


async def test_a_key_may_be_made_for_a_route_of_admins(app: Gateway) -> None:
    for route in ROUTES:
        if name(route) != SIGNING_IN:
            may = route.access is Access.OPEN or (route.access is Access.ADMIN and not route.is_console)
            assert (await status(app, route, MADE) not in REFUSED) is may, name(route)


async def test_a_page_of_elsewhere_changes_nothing_in_the_console(app: Gateway) -> None:
    for route in ROUTES:
        if route.is_for_own_page:
            assert await status(app, route, ADMIN, sec_fetch_site="cross-site") == 403, name(route)
    assert any(route.is_for_own_page for route in ROUTES)
