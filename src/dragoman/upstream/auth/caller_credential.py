"""The credential of a caller, for a provider that is asked with it.

It lives as long as its request, and goes to one provider. It is never part of a destination, of a key of a cache or of
anything that is written down.
"""

from __future__ import annotations

from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.upstream.auth.authorizer import AuthScheme, Headers, NoCredentials
from dragoman.upstream.transport.outgoing import Outgoing

CALLER = "caller"
"""The name of the scheme; the account is the provider's name."""
_MISSING = "the provider is asked with the credential of each caller, and there is none here"


class CallerCredential:
    """What a caller sent for one provider."""

    __slots__ = ("headers", "redaction", "scheme", "shown")

    def __init__(self, scheme: AuthScheme, headers: Headers, redaction: Redaction, shown: tuple[str, ...]) -> None:
        self.scheme = scheme
        """Of the provider that it is for."""
        self.headers = headers
        """In which the provider gets it."""
        self.redaction = redaction
        """Takes it out of what the provider says, with all other secrets."""
        self.shown = shown
        """How headers of answers begin that tell the limits of its account, which are the caller's own."""

    def find_limits(self, headers: list[tuple[str, str]]) -> Headers:
        """The limits of the account that an answer tells."""
        if not self.shown:
            return ()
        return tuple([one for one in headers if one[0].lower().startswith(self.shown)][:_MOST_LIMITS])

    def __repr__(self) -> str:
        return f"<CallerCredential for {self.scheme.account}>"

    def __reduce__(self) -> str:
        raise TypeError("the credential of a caller is not written down")


_MOST_LIMITS = 64


class CallerAuthorizer:
    """Used if a request to such a provider has no caller: a check, a list, another provider's fallback."""

    def __init__(self, scheme: AuthScheme) -> None:
        self._scheme = scheme

    async def ready(self) -> None:
        self.ready_now()

    def ready_now(self) -> None:
        raise NoCredentials(_MISSING)

    def headers_for(self, request: Outgoing) -> Headers:
        raise NoCredentials(_MISSING)

    def refused(self, date: str) -> None:
        """The caller renews it."""
