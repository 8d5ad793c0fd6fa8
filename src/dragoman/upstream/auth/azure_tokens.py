"""Azure: a token of Microsoft Entra.

azure-identity finds who we are by Azure's own rules: a client secret or certificate of the environment, the identity of
a workload, the managed identity of a machine, the command line tools. It is part of the extra `cloud`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dragoman.upstream.auth.authorizer import AuthScheme, Fetched, NoCredentials
from dragoman.upstream.auth.bearer import BearerAuthorizer

if TYPE_CHECKING:
    from azure.identity import DefaultAzureCredential

_EARLY = 300.0
_VARIABLE = "AZURE_OPENAI_AD_TOKEN"
_HINT = (
    "set AZURE_OPENAI_API_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; "
    "on Azure give the machine an identity with the role Cognitive Services OpenAI User"
)


def open_azure(scheme: AuthScheme) -> BearerAuthorizer:
    """`service` of the scheme is the scope, `account` the client id of a managed identity if there are several."""
    source = _EntraTokens(scheme)
    return BearerAuthorizer(source.fetch, _EARLY)


class _EntraTokens:
    """Remembers which of Azure's ways led to a token, so that the others are not tried again."""

    def __init__(self, scheme: AuthScheme) -> None:
        self._scope = scheme.service
        self._account = scheme.account
        self._found: DefaultAzureCredential | None = None

    def fetch(self) -> Fetched[str]:
        fixed = os.environ.get(_VARIABLE, "").strip()
        if fixed:
            return Fetched(fixed)
        try:
            from azure.core.exceptions import AzureError
        except ImportError:
            raise NoCredentials("Azure's identities need azure-identity", hint="install dragoman[cloud]") from None
        try:
            token = self._credential().get_token(self._scope)
        except (AzureError, OSError, ValueError) as fault:
            raise NoCredentials(f"Azure credentials cannot be fetched: {_first_line(fault)}", hint=_HINT) from None
        return Fetched(token.token, float(token.expires_on))

    def _credential(self) -> DefaultAzureCredential:
        from azure.identity import DefaultAzureCredential

        if self._found is None:
            self._found = DefaultAzureCredential(managed_identity_client_id=self._account or None)
        return self._found


def _first_line(fault: Exception) -> str:
    """azure-identity lists all that it tried; the log has room for the first line."""
    return str(fault).partition("\n")[0][:400]
