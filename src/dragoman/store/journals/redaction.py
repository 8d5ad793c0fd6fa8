"""The one place where secrets are taken out of what is written down.

Three nets, one behind the other: the secrets that we know (the configured keys, wherever they turn up), fields and
headers whose name says that they hold one, and texts that look like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from dragoman.config.schema.config_file import Config
from dragoman.config.secret import PLACEHOLDERS, Secret, is_secret_name

REDACTED = "[REDACTED]"
MAX_DEPTH = 200
REAL = 16  # no vendor's key is shorter; what local servers are given in place of one often is
FEW = 16  # so many keys are looked for one by one
SHORTEST = 6  # a shorter configured key would blacken ordinary words

_NAMES = (
    r"api[-_]?key|x-api-key|x-goog-api-key|x-dragoman-key|(?:proxy-)?authorization|access[-_]token|auth[-_]token|"
    r"client[-_]secret|password|master[-_]key"
)
_WORDS = ("key", "authorization", "token", "secret", "password")
PATTERNS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    # Words of a refusal ("Bearer authentication required", "basic French") are no credentials.
    (
        ("bearer",),
        re.compile(r"(?i)\b(bearer\s+)(?!(?:auth|token|scheme|format|header)[a-z]*\b)[A-Za-z0-9._~+/=-]{6,}"),
        rf"\1{REDACTED}",
    ),
    (
        ("basic",),
        re.compile(r"\b([Bb]asic\s+)(?=\S*(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9+/_-]{6,}=*"),
        rf"\1{REDACTED}",
    ),
    (
        ("key=", "token=", "sig=", "signature="),
        re.compile(r"(?i)([?&](?:key|api[-_]?key|access_token|token|sig|signature)=)[^&\s\"'#\\]+"),
        rf"\1{REDACTED}",
    ),
    (
        _WORDS,
        re.compile(
            rf"(?i)((?:{_NAMES})(?:\\?[\"'])?\s*[:=]\s*(?:\\?[\"'])?)(?!\[REDACTED|bearer\b|basic\b)[^\s\"'\\,;&}}]+"
        ),
        rf"\1{REDACTED}",
    ),
    (
        ("sk-", "rk-", "xai-", "pplx-", "nvapi-"),
        re.compile(r"\b(?:sk|rk|xai(?!-responses\b)|pplx|csk|nvapi)-[A-Za-z0-9_-]{8,}"),
        REDACTED,
    ),
    (("dm-", "nnp-v1-"), re.compile(r"\bdm-[0-9A-Za-z]{40}\b|\bnnp-v1-[0-9A-Fa-f]{8,}"), REDACTED),
    (
        ("gsk_", "hf_", "ghp_", "github_pat_", "r8_"),
        re.compile(r"\b(?:gsk|hf|ghp|github_pat|r8)_[A-Za-z0-9_]{16,}"),
        REDACTED,
    ),
    (
        ("aiza", "ya29.", "akia", "asia"),
        re.compile(r"\bAIza[0-9A-Za-z_-]{20,}|\bya29\.[0-9A-Za-z_-]{10,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        REDACTED,
    ),
    (
        ("eyj",),
        # Tried at the start of a run of such characters only: each `eyJ-` inside it would search the run to its end.
        re.compile(
            r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*?\beyJ)[A-Za-z0-9_-]{11,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"
        ),
        REDACTED,
    ),
)
"""Words without which a pattern cannot match, in small letters; the pattern; the replacement.

Looking for a word is a hundred times quicker than a pattern, and conversations are long.
"""

# Strings that give a request its shape and say nothing of what was talked about.
STRUCTURE = frozenset(
    [
        *("role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "name", "model", "object", "status"),
        *("finish_reason", "stop_reason", "media_type", "mime_type", "mimeType", "detail", "format", "effort"),
        *("mode", "kind", "phase", "signature", "thoughtSignature", "encrypted_content", "responseMimeType"),
        *("service_tier", "truncation", "verbosity", "summary_type", "reasoning_effort", "tool_choice"),
    ]
)
DEFINITIONS = frozenset(
    [
        *("tools", "functions", "parameters", "input_schema", "response_format", "json_schema"),
        *("responseSchema", "parametersJsonSchema", "tool_choice", "toolConfig", "tool_config"),
    ]
)
PAYLOADS = frozenset({"input", "args", "arguments", "response", "output"})


class Redactor:
    """Knows the configured secrets besides what any secret looks like."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self._known_bytes: re.Pattern[bytes] | None = None
        self._few: tuple[bytes, ...] = ()
        self.know(secrets)

    @classmethod
    def of(cls, config: Config) -> Redactor:
        """All secrets of a configuration."""
        return cls(secrets_of(config))

    def know(self, secrets: Iterable[str]) -> None:
        """Further secrets, e.g. of a configuration that was read again; the old ones stay known."""
        self._secrets |= {
            secret for secret in secrets if len(secret) >= SHORTEST and secret.lower() not in PLACEHOLDERS
        }
        longest_first = sorted(self._secrets, key=lambda secret: (-len(secret), secret))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        real = [secret.encode() for secret in longest_first if len(secret) >= REAL]
        self._known_bytes = re.compile(b"|".join(map(re.escape, real))) if real else None
        self._few = tuple(real) if len(real) <= FEW else ()

    def text(self, text: str) -> str:
        """A text without secrets."""
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        small = text.lower()
        for words, pattern, instead in PATTERNS:
            if any(word in small for word in words):
                text = pattern.sub(instead, text)
        return text

    def known(self, data: bytes) -> bytes:
        """Bytes without the keys that we know. What only looks like one may be a model's own words, and stays; so does
        a key that is a word (`ollama`)."""
        pattern = self._known_bytes
        if pattern is None:
            return data
        if self._few:
            for secret in self._few:  # a search for one text is ten times as quick as the pattern
                if secret in data:
                    return pattern.sub(REDACTED.encode(), data)
            return data
        return pattern.sub(REDACTED.encode(), data)

    def value(self, value: Any, depth: int = 0) -> Any:
        """JSON data without secrets, at any depth."""
        if isinstance(value, str):
            return self.text(value)
        if depth > MAX_DEPTH:
            return "[TOO DEEP]"
        if isinstance(value, Mapping):
            shown = {self.text(str(key)): self._member(str(key), item, depth) for key, item in value.items()}
            if isinstance(value.get("headers"), Mapping) and value.get("type") in ("mcp", "mcp_server"):
                shown["headers"] = dict.fromkeys(shown["headers"], REDACTED)  # any of them may be a secret
            return shown
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value]
        return value

    def body(self, body: bytes) -> bytes:
        """A body without secrets: as JSON if it is JSON, as text otherwise."""
        parsed = parse_body(body)
        if isinstance(parsed, str):
            return self.text(parsed).encode()
        return msgspec.json.encode(self.value(parsed))

    def _member(self, key: str, item: Any, depth: int) -> Any:
        if is_secret_name(key) and isinstance(item, str | list | tuple):
            return REDACTED
        return self.value(item, depth + 1)


def secrets_of(config: Config) -> list[str]:
    """Every provider key, secret header and password of a server that a configuration holds."""
    providers = config.providers.values()
    keys = [key.reveal() for provider in providers for key in provider.key_pool()]
    keys += [word for url in (config.store.hot, config.store.ledger) if url is not None for word in url_secrets(url)]
    keys += [one.reveal() for one in (config.secret, config.old_secret) if one is not None]
    keys += [secret.reveal() for server in config.tool_servers.values() for secret in server.secrets()]
    return keys + [value for p in providers for name, value in p.headers.items() if is_secret_name(name)]


def url_secrets(url: Secret) -> list[str]:
    """The password in a server's address, as it is written and as it is meant."""
    try:
        password = urlsplit(url.reveal()).password
    except ValueError:
        password = url.reveal()
    return list({password, unquote(password)}) if password else []


def parse_body(body: bytes) -> Any:
    """The JSON of a body, or its text."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace")


def without_content(value: Any, key: str = "", depth: int = 0, *, words: bool = False) -> Any:
    """A request with its shape kept and its words gone: every text is as many `x` as it had characters.

    Roles, ids, names and tool definitions stay: those are what providers refuse, so the request can still be replayed.
    Inside the arguments and results of calls (`words`) every text goes, whatever its field is called.
    """
    if depth > MAX_DEPTH:
        return "[TOO DEEP]"
    if isinstance(value, Mapping):
        inside = words or key in PAYLOADS
        return {
            k: v if k in DEFINITIONS and not inside else without_content(v, k, depth + 1, words=inside)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_content(item, key, depth + 1, words=words) for item in value]
    if not isinstance(value, str) or (key in STRUCTURE and not words):
        return value
    # Arguments of a call are JSON inside a string; what replaces them must be JSON too.
    return "{}" if key == "arguments" else "x" * len(value)
