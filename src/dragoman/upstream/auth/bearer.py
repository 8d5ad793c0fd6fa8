"""Clouds whose requests carry a token that lives for about an hour: Google and Azure.

How a token is come by is the business of each vendor's own library (files, roles, metadata servers, other clouds'
identities); here it is held, renewed in time, and put into a header.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dragoman.upstream.auth.authorizer import Clock, Fetched, FreshCredentials, Headers
from dragoman.upstream.transport.outgoing import Outgoing


class BearerAuthorizer:
    """Sends a token. `early`: how many seconds before its end it is renewed."""

    def __init__(self, fetch: Callable[[], Fetched[str]], early: float, clock: Clock = time.time) -> None:
        self._token = FreshCredentials(fetch, early=early, clock=clock)

    async def ready(self) -> None:
        await self._token.ready()

    def ready_now(self) -> None:
        self._token.ready_now()

    def headers_for(self, request: Outgoing) -> Headers:
        return (("authorization", f"Bearer {self._token.value}"),)

    def refused(self, date: str) -> None:
        self._token.forget()
