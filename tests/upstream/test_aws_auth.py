"""Where AWS keys are found: real files, and real servers in place of the metadata of a container or an instance."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dragoman.upstream.auth.authorizer import AuthScheme, NoCredentials
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.auth.aws import AwsAuthorizer
from dragoman.upstream.transport.outgoing import Outgoing

SCHEME = AuthScheme("aws", "bedrock", "eu-central-1")
REQUEST = Outgoing("POST", "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse", (), b"{}")
VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)


@pytest.fixture(autouse=True)
def _nothing_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An account of which nothing is known, whatever this machine has."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def signed(authorizer: AwsAuthorizer) -> dict[str, str]:
    authorizer.ready_now()
    return dict(authorizer.headers_for(REQUEST))


def test_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    headers = signed(AwsAuthorizer(SCHEME))
    assert "Credential=AKIDENV/" in headers["authorization"]
    assert "/eu-central-1/bedrock/aws4_request" in headers["authorization"]
    assert "x-amz-security-token" not in headers
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert signed(AwsAuthorizer(SCHEME))["x-amz-security-token"] == "token"


def test_keys_of_a_profile_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id=AKIDFILE\naws_secret_access_key=s\n"
        "[work]\naws_access_key_id=AKIDWORK\naws_secret_access_key=s\n"
    )
    assert "Credential=AKIDFILE/" in signed(AwsAuthorizer(SCHEME))["authorization"]
    named = AuthScheme("aws", "bedrock", "eu-central-1", "work")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert "Credential=AKIDWORK/" in signed(AwsAuthorizer(named))["authorization"]


Answer = Callable[[str, dict[str, str]], str | None]


@contextmanager
def metadata_server(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answer(self.path, {name.lower(): value for name, value in self.headers.items()})
            body = (found or "").encode()
            self.send_response(200 if found is not None else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def expiring(access_key: str, minutes: float = 60) -> str:
    until = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = {"AccessKeyId": access_key, "SecretAccessKey": "s", "Token": "t", "Expiration": until}
    return json.dumps({**found, "Code": "Success", "Type": "AWS-HMAC", "LastUpdated": until})


def test_keys_of_a_container_are_renewed_before_they_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore asks anew when they are about to expire; we ask botocore now and then."""
    served: list[str] = []
    now = datetime.now(UTC).timestamp()

    def answer(path: str, headers: dict[str, str]) -> str | None:
        if path != "/credentials" or headers.get("authorization") != "pod":
            return None
        served.append(path)
        return expiring(f"AKID{len(served)}", minutes=60 if len(served) == 1 else 600)

    with metadata_server(answer) as url:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{url}/credentials")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod")
        authorizer = AwsAuthorizer(SCHEME, clock=lambda: now)
        headers = signed(authorizer)
        assert "Credential=AKID1/" in headers["authorization"]
        assert headers["x-amz-security-token"] == "t"
        signed(authorizer)
        asked = len(served)
        now += 50 * 60
        authorizer._source._found._time_fetcher = lambda: datetime.fromtimestamp(now, UTC)  # botocore's own clock
        assert "Credential=AKID2/" in signed(authorizer)["authorization"]
        now += 45
        signed(authorizer)
    assert (asked, len(served)) == (1, 2)


def test_keys_of_an_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(path: str, headers: dict[str, str]) -> str | None:
        if path == "/latest/api/token":
            return "imds-token"
        if headers.get("x-aws-ec2-metadata-token") != "imds-token":
            return None
        return "role" if path.endswith("/security-credentials/") else expiring("AKIDINSTANCE")

    with metadata_server(answer) as url:
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        headers = signed(AwsAuthorizer(SCHEME))
    assert "Credential=AKIDINSTANCE/" in headers["authorization"]
    assert headers["x-amz-security-token"] == "t"


def test_after_a_refusal_the_keys_are_looked_up_anew(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id=AKIDOLD\naws_secret_access_key=s\n")
    authorizer = AwsAuthorizer(SCHEME)
    assert "Credential=AKIDOLD/" in signed(authorizer)["authorization"]
    file.write_text("[default]\naws_access_key_id=AKIDNEW\naws_secret_access_key=s\n")
    assert "Credential=AKIDOLD/" in signed(authorizer)["authorization"]
    authorizer.refused("")
    assert "Credential=AKIDNEW/" in signed(authorizer)["authorization"]


def test_a_wrong_clock_is_set_by_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    real = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
    behind = (real - timedelta(hours=2)).timestamp()
    authorizer = AwsAuthorizer(SCHEME, clock=lambda: behind)
    assert signed(authorizer)["x-amz-date"] == "20260501T100000Z"
    authorizer.refused(format_datetime(real, usegmt=True))
    assert signed(authorizer)["x-amz-date"] == "20260501T120000Z"
    for nonsense in ("", "yesterday", "Thu, 01 Jan 1970 00:00:00 GMT"):
        authorizer.refused(nonsense)
        assert signed(authorizer)["x-amz-date"] == "20260501T100000Z"


def test_no_keys_anywhere_says_what_to_do() -> None:
    with pytest.raises(NoCredentials) as caught:
        AwsAuthorizer(SCHEME).ready_now()
    assert "AWS_ACCESS_KEY_ID" in str(caught.value)
    assert "dragoman[cloud]" in str(caught.value)


def test_an_account_that_is_not_there() -> None:
    with pytest.raises(NoCredentials, match="nobody"):
        AwsAuthorizer(AuthScheme("aws", "bedrock", "eu-central-1", "nobody")).ready_now()


async def test_equal_schemes_share_their_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    authorizers = Authorizers()
    assert authorizers.of(SCHEME) is authorizers.of(AuthScheme("aws", "bedrock", "eu-central-1"))
    sent = await authorizers.authorize(SCHEME, REQUEST)
    assert [name for name, _ in sent.headers] == ["x-amz-date", "authorization"]
    assert sent.body == REQUEST.body
