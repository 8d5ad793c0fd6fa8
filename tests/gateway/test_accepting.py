"""Clients that come at once are taken at once, however long a turn of the event loop is."""

from __future__ import annotations

import asyncio
import socket

import uvloop

from dragoman.gateway.http.server import ACCEPTED_AT_ONCE, accept_sockets


class Counted(asyncio.Protocol):
    def __init__(self, taken: list[asyncio.BaseTransport]) -> None:
        self.taken = taken

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.taken.append(transport)


async def take(sockets: list[socket.socket], turns: int) -> int:
    """How many of the connections that wait are taken in so many turns of the loop."""
    taken: list[asyncio.BaseTransport] = []
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(lambda: Counted(taken), sock=one) for one in sockets]
    clients = [socket.create_connection(sockets[0].getsockname()) for _ in range(4 * ACCEPTED_AT_ONCE)]
    for _ in range(turns):
        await asyncio.sleep(0)
    count = len(taken)
    for one in (*servers, *taken, *clients):
        one.close()
    return count


def test_many_connections_are_taken_in_one_turn() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    assert uvloop.run(take(accept_sockets(listening), 3)) >= ACCEPTED_AT_ONCE
