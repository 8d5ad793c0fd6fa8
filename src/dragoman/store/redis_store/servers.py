"""Which server an address leads to, and a connection to it. redis-py knows how to ask sentinels and a cluster."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from dragoman.store.redis_store.address import Host, RedisAddress

CONNECT_SECONDS = 1.0
ASK_SECONDS = 0.3
"""For one sentinel, or one server of a cluster, to say where the server is."""


class RedisDialer:
    """Opens connections to the server that keeps a key; in a cluster, all keys of a gateway are on one server."""

    def __init__(self, address: RedisAddress, ca_file: str | None, key: str) -> None:
        self._address = address
        self._key = key
        self._login: dict[str, Any] = {"username": address.user, "password": address.password}
        self._tls: dict[str, Any] = {"ssl_ca_certs": ca_file} if address.tls else {}
        self._context = SSLConnection(**self._tls).ssl_context if address.tls else None
        if self._context is not None:
            self._context.get()  # it reads all authorities of the system, which takes long

    async def connect(self) -> AbstractConnection:
        """A connection that is logged in. Raises RedisError, OSError or TimeoutError."""
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await self._open()
            await connection.connect()  # type: ignore[no-untyped-call]
            return connection

    async def _open(self) -> AbstractConnection:
        address = self._address
        settings: dict[str, Any] = {**self._login, "db": address.database, "protocol": 2, "socket_timeout": None}
        if address.unix is not None:
            return UnixDomainSocketConnection(path=address.unix, **settings)
        host, port = await self._host()
        if self._context is None:
            return Connection(host=host, port=port, **settings)
        connection = SSLConnection(host=host, port=port, **settings, **self._tls)
        connection.ssl_context = self._context
        return connection

    async def _host(self) -> Host:
        address = self._address
        once = Retry(NoBackoff(), 0)
        usual: dict[str, Any] = {**self._tls, "ssl": address.tls, "socket_timeout": ASK_SECONDS, "retry": once}
        if address.master is not None:
            async with Sentinel(address.hosts, sentinel_kwargs=usual) as sentinel:  # type: ignore[no-untyped-call]
                host, port = await sentinel.discover_master(address.master)
                return host, port
        if address.cluster:
            nodes = [ClusterNode(host, port) for host, port in address.hosts]
            async with RedisCluster(startup_nodes=nodes, **self._login, **usual) as cluster:
                node = cluster.get_node_from_key(self._key)
                assert node is not None  # it is, for replicas alone
                return str(node.host), int(node.port)
        return address.hosts[0]
