"""Google Cloud: a token of a service account, of a workload's identity, of a user, or of the metadata server.

google-auth finds them by Google's own rules: `GOOGLE_APPLICATION_CREDENTIALS`, the file of `gcloud`, the metadata
server. It is the extra `google`.
"""

from __future__ import annotations

import warnings
from datetime import UTC
from typing import TYPE_CHECKING

from dragoman.upstream.auth.authorizer import AuthScheme, Fetched, NoCredentials
from dragoman.upstream.auth.bearer import BearerAuthorizer

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_EARLY = 225.0
"""As early as google-auth itself renews: a metadata server hands out the old token until shortly before its end."""
_HINT = (
    "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, run `gcloud auth application-default login`, "
    "or name a file as `cloud.account`"
)


def open_google(scheme: AuthScheme) -> BearerAuthorizer:
    """`account` of the scheme is a file of credentials; without one, Google's default is taken."""

    def fetch() -> Fetched[str]:
        return _fetch(scheme.account, scheme.service)

    return BearerAuthorizer(fetch, _EARLY)


def _fetch(file: str, scope: str) -> Fetched[str]:
    try:
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
    except ImportError:
        raise NoCredentials("Google's credentials need google-auth", hint="install dragoman[cloud]") from None
    try:
        credentials = _find_credentials(file, scope)
        credentials.refresh(Request())
    except (GoogleAuthError, OSError, ValueError) as fault:
        raise NoCredentials(f"Google credentials cannot be fetched: {fault}", hint=_HINT) from None
    if not credentials.token:
        raise NoCredentials("Google gave no token", hint=_HINT)
    expiry = credentials.expiry
    return Fetched(credentials.token, expiry.replace(tzinfo=UTC).timestamp() if expiry is not None else None)


def _find_credentials(file: str, scope: str) -> Credentials:
    import google.auth

    if not file:
        default: Credentials = google.auth.default([scope])[0]
        return default
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about files of strangers; this one the operator named
        named: Credentials = google.auth.load_credentials_from_file(file, [scope])[0]
        return named
