"""The schemes by name, and the live authorizers of a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from dragoman.upstream.auth.authorizer import Authorizer, AuthScheme
from dragoman.upstream.auth.caller_credential import CALLER, CallerAuthorizer, CallerCredential
from dragoman.upstream.transport.outgoing import Outgoing


def _open_aws(scheme: AuthScheme) -> Authorizer:
    from dragoman.upstream.auth.aws import AwsAuthorizer

    return AwsAuthorizer(scheme)


def _open_google(scheme: AuthScheme) -> Authorizer:
    from dragoman.upstream.auth.google_tokens import open_google

    return open_google(scheme)


def _open_azure(scheme: AuthScheme) -> Authorizer:
    from dragoman.upstream.auth.azure_tokens import open_azure

    return open_azure(scheme)


SCHEMES: Mapping[str, Callable[[AuthScheme], Authorizer]] = {
    "aws": _open_aws,
    "azure": _open_azure,
    CALLER: CallerAuthorizer,
    "google": _open_google,
}
"""How the authorizer of each scheme is made. A profile names its scheme."""


class Authorizers:
    """One live authorizer for each scheme with its settings, made when first needed."""

    def __init__(self, schemes: Mapping[str, Callable[[AuthScheme], Authorizer]] = SCHEMES) -> None:
        self._schemes = schemes
        self._open: dict[AuthScheme, Authorizer] = {}

    def of(self, scheme: AuthScheme) -> Authorizer:
        found = self._open.get(scheme)
        if found is None:
            found = self._open[scheme] = self._schemes[scheme.name](scheme)
        return found

    async def authorize(
        self, scheme: AuthScheme, request: Outgoing, credential: CallerCredential | None = None
    ) -> Outgoing:
        """The request with the headers that authorize it. `credential`: the caller's, for the provider that it is for.
        Raises NoCredentials."""
        if credential is not None and credential.scheme == scheme:
            return replace(request, private=credential.headers)
        authorizer = self.of(scheme)
        await authorizer.ready()
        return _with_headers(request, authorizer)

    def authorize_now(self, scheme: AuthScheme, request: Outgoing) -> Outgoing:
        """What `authorize` does, for callers without an event loop. It may block."""
        authorizer = self.of(scheme)
        authorizer.ready_now()
        return _with_headers(request, authorizer)

    def refused(self, scheme: AuthScheme, date: str) -> None:
        """The provider refused a request of this scheme."""
        self.of(scheme).refused(date)


def _with_headers(request: Outgoing, authorizer: Authorizer) -> Outgoing:
    return replace(request, headers=(*request.headers, *authorizer.headers_for(request)))
