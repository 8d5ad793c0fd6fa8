"""AWS: requests are signed with an access key.

The key comes from the environment, or from wherever botocore finds one: profile files, single sign-on, roles, the
metadata of a container or of an instance. botocore is part of the extra `cloud`; the environment works without it.
"""

from __future__ import annotations

import os
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from dragoman.upstream.auth.authorizer import AuthScheme, Clock, Fetched, FreshCredentials, Headers, NoCredentials
from dragoman.upstream.auth.sigv4 import AwsKeys, SigningScope, sign
from dragoman.upstream.transport.outgoing import Outgoing

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_LOOKED_UP_AGAIN = 60.0
_MOST_SKEW = 24 * 3600.0
_HINT = (
    "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
    "for profile files, roles and instance metadata install dragoman[cloud]"
)


class AwsAuthorizer:
    """Signs requests for one region with the keys of one account."""

    def __init__(self, scheme: AuthScheme, clock: Clock = time.time) -> None:
        self._scope = SigningScope(scheme.region, scheme.service)
        self._source = _CredentialChain(scheme.account, clock)
        self._clock = clock
        self._keys = FreshCredentials(self._source.fetch, early=_LOOKED_UP_AGAIN / 2, clock=clock)
        self._skew = 0.0

    async def ready(self) -> None:
        await self._keys.ready()

    def ready_now(self) -> None:
        self._keys.ready_now()

    def headers_for(self, request: Outgoing) -> Headers:
        return sign(request, self._keys.value, self._scope, self._clock() + self._skew)

    def refused(self, date: str) -> None:
        """Look for newer keys, and go by the provider's clock: a signature is only valid for five minutes."""
        self._skew = _seconds_ahead(date, self._clock())
        self._source.start_over()
        self._keys.forget()


def _seconds_ahead(date: str, now: float) -> float:
    """By how much the provider's clock is ahead of ours; 0 if it does not say so."""
    try:
        skew = parsedate_to_datetime(date).timestamp() - now
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return skew if abs(skew) <= _MOST_SKEW else 0.0


class _CredentialChain:
    """Where keys are looked for. `account` is the name of a profile in AWS's own files."""

    def __init__(self, account: str, clock: Clock) -> None:
        self._account = account
        self._clock = clock
        self._found: Credentials | None = None

    def start_over(self) -> None:
        """What was found is of no use: look again in all places."""
        self._found = None

    def fetch(self) -> Fetched[AwsKeys]:
        if not self._account and (keys := _keys_of_environment()) is not None:
            return Fetched(keys)
        found = self._found = self._found or _find_by_botocore(self._account)
        try:
            frozen = found.get_frozen_credentials()
        except Exception as fault:  # botocore raises errors of many libraries here
            raise NoCredentials(f"AWS credentials cannot be fetched: {fault}", hint=_HINT) from None
        if not frozen.access_key or not frozen.secret_key:
            raise NoCredentials("no AWS credentials were found", hint=_HINT)
        keys = AwsKeys(frozen.access_key, frozen.secret_key, frozen.token or "")
        # Keys with a token expire. botocore renews them in time if it is asked now and then.
        return Fetched(keys, self._clock() + _LOOKED_UP_AGAIN if keys.token else None)


def _keys_of_environment() -> AwsKeys | None:
    access, secret = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    return AwsKeys(access, secret, os.environ.get("AWS_SESSION_TOKEN", "")) if access and secret else None


def _find_by_botocore(account: str) -> Credentials:
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError:
        raise NoCredentials("no AWS credentials are in the environment", hint=_HINT) from None
    try:
        found: Credentials | None = Session(profile=account or None).get_credentials()
    except BotoCoreError as fault:
        raise NoCredentials(f"AWS credentials cannot be found: {fault}", hint=_HINT) from None
    if found is None:
        raise NoCredentials("no AWS credentials were found", hint=_HINT)
    return found
