"""Tokens of Google's and Azure's clouds: made by the vendors' own libraries, against servers on this machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dragoman.upstream.auth.authorizer import AuthScheme, NoCredentials
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.transport.outgoing import Outgoing

GOOGLE = AuthScheme("google", "https://www.googleapis.com/auth/cloud-platform")
AZURE = AuthScheme("azure", "https://cognitiveservices.azure.com/.default")
REQUEST = Outgoing("POST", "https://example.com/", (), b"{}")
VARIABLES = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AZURE_OPENAI_AD_TOKEN",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "IDENTITY_ENDPOINT",
    "IDENTITY_HEADER",
)
Answer = Callable[[str, str, dict[str, str], bytes], tuple[int, Any]]


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that knows no credentials."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # no command line tools
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve(b"")

        def do_POST(self) -> None:
            self._serve(self.rfile.read(int(self.headers.get("content-length") or 0)))

        def _serve(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, found = answer(self.command, self.path, headers, body)
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("metadata-flavor", "Google")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    one = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{one.server_address[1]}"
    finally:
        one.shutdown()
        one.server_close()


def token(authorizers: Authorizers, scheme: AuthScheme) -> str:
    return dict(authorizers.authorize_now(scheme, REQUEST).headers)["authorization"]


def service_account(folder: Path, token_uri: str) -> tuple[Path, rsa.RSAPublicKey]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    file = folder / "account.json"
    known = {"type": "service_account", "client_email": "a@p.iam", "private_key_id": "kid1", "private_key": text}
    file.write_text(json.dumps({**known, "project_id": "p", "token_uri": token_uri}))
    return file, key.public_key()


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False], ids=["configured", "environment"])
def test_a_service_account_of_google(named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assertions: list[str] = []

    def give(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        form = parse_qs(body.decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        assertions.append(form["assertion"][0])
        return 200, {"access_token": f"token{len(assertions)}", "expires_in": 3600, "token_type": "Bearer"}

    with server(give) as url:
        file, public = service_account(tmp_path, url + "/token")
        if not named:
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        scheme = AuthScheme("google", GOOGLE.service, account=str(file) if named else "")
        authorizers = Authorizers()
        assert [token(authorizers, scheme) for _ in range(3)] == ["Bearer token1"] * 3
        claims = jwt.decode(assertions[0], public, algorithms=["RS256"], audience="https://oauth2.googleapis.com/token")
        assert (claims["iss"], claims["scope"]) == ("a@p.iam", GOOGLE.service)
        authorizers.refused(scheme, "")
        assert token(authorizers, scheme) == "Bearer token2"
    assert len(assertions) == 2


def test_a_token_is_renewed_before_it_expires(tmp_path: Path) -> None:
    given: list[int] = []

    def give(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        given.append(1)
        return 200, {"access_token": f"token{len(given)}", "expires_in": 3600 if len(given) > 1 else 200}

    with server(give) as url:
        file, _ = service_account(tmp_path, url)
        scheme = AuthScheme("google", GOOGLE.service, account=str(file))
        authorizers = Authorizers()
        assert token(authorizers, scheme) == "Bearer token1"
        authorizers.of(scheme)._token._not_before = 0  # type: ignore[attr-defined]  # the pause between two fetches
        assert token(authorizers, scheme) == "Bearer token2"
        assert token(authorizers, scheme) == "Bearer token2"


@pytest.mark.parametrize("content", ["", "{}", '{"type": "service_account"}', "no json"])
def test_a_bad_file_of_google_says_what_is_wrong(content: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises(NoCredentials, match="cannot be fetched"):
        token(Authorizers(), AuthScheme("google", GOOGLE.service, account=str(file)))


def test_no_credentials_of_google_at_all() -> None:
    with pytest.raises(NoCredentials) as found:
        token(Authorizers(), GOOGLE)
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(found.value.hint)


def test_a_refusal_of_googles_token_server(tmp_path: Path) -> None:
    def refuse(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}

    with server(refuse) as url:
        file, _ = service_account(tmp_path, url)
        with pytest.raises(NoCredentials, match="Invalid JWT Signature"):
            token(Authorizers(), AuthScheme("google", GOOGLE.service, account=str(file)))


def test_the_identity_of_a_machine_on_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def give(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        assert headers["x-identity-header"] == "proof"
        asked.append(path)
        expires = str(int(time.time()) + 3600)
        return 200, {"access_token": "entra", "expires_on": expires, "token_type": "Bearer", "resource": "r"}

    with server(give) as url:
        monkeypatch.setenv("IDENTITY_ENDPOINT", url + "/msi")
        monkeypatch.setenv("IDENTITY_HEADER", "proof")
        authorizers = Authorizers()
        assert [token(authorizers, AZURE) for _ in range(2)] == ["Bearer entra"] * 2
    assert len(asked) == 1
    assert parse_qs(asked[0].partition("?")[2])["resource"] == ["https://cognitiveservices.azure.com"]


def test_a_token_of_the_environment_is_sent_to_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "given")
    assert token(Authorizers(), AZURE) == "Bearer given"


def test_no_credentials_of_azure_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")  # ask nobody over the network
    with pytest.raises(NoCredentials) as found:
        token(Authorizers(), AZURE)
    assert "AZURE_OPENAI_API_KEY" in str(found.value.hint)
    assert "\n" not in str(found.value)
