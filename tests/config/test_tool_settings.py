"""The sections `tools` and `tool_servers`: what is read, what is masked, and which mistakes are told."""

from __future__ import annotations

import pytest

from dragoman.config.effective_view import render_yaml
from dragoman.config.errors import InvalidConfig
from dragoman.config.load import Loaded, parse
from dragoman.config.variables import Environment
from dragoman.gateway.config_names import collect_names
from dragoman.profiles.profile import Profiles
from dragoman.store.journals.redaction import secrets_of

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
GOOD = f"""
tool_servers:
  tracker:
    url: https://tracker.example.com/mcp?project=9
    token: "${{TOKEN}}"
    headers: {{X-Org: organisation-secret}}
    allowed_tools: [find]
    approval: always
  files: {{command: [server-filesystem, /srv], env: {{FILES_KEY: key-of-the-files}}}}
  wiki:
    url: http://wiki.internal/mcp
    oauth: {{issuer: "https://auth.example.com", client_id: me, client_secret: oauth-secret-1}}
tools:
  allow: ["https://mcp.example.com", "http://127.0.0.1:8000/mcp"]
  search: {{url: "http://searxng:8080"}}
  fetch: {{}}
  limits: {{rounds: 3}}
keys:
  me: {{sha256: {SHA}, tool_servers: [tracker]}}
models:
  m: {{target: openai/gpt-5, tool_servers: [files, wiki]}}
"""
WRONG = {
    "tool_servers: {a b: {url: 'http://x'}}": ':1: tool_servers."a b" is no name for a server; use up to 64 letters',
    "tool_servers: {a: {url: 'http://x', command: [x]}}": ":1: tool_servers.a needs a url or a command, and not both",
    "tool_servers: {a: {}}": ":1: tool_servers.a needs a url or a command",
    "tool_servers: {a: {url: x}}": ":1: tool_servers.a.url is not a valid URL",
    "tool_servers: {a: {url: 'http://u:p@x'}}": ":1: tool_servers.a.url contains a user name or password",
    "tool_servers: {a: {command: [x], token: t}}": ":1: tool_servers.a is a program, .* give it secrets by env",
    "tool_servers: {a: {url: 'http://x', headers: {'a b': c}}}": ":1: .*headers.*a b.* is not a valid header name",
    "tool_servers: {a: {url: 'http://x', token: t, oauth: {issuer: 'http://x', client_id: i, client_secret: s}}}": (
        ":1: tool_servers.a has both token and oauth; keep one"
    ),
    "tool_servers: {a: {url: 'http://x', oauth: {client_id: i, client_secret: s}}}": ":1: .*oauth.issuer is missing",
    "tools: {allow: [mcp.example.com]}": r":1: tools.allow\[0\] is not a valid URL",
    "tools: {search: {}}": ":1: tools.search needs a url",
    "tools: {search: {url: 'http://x', server: a, tool: b}}": ":1: tools.search needs a url .* and not both",
    "tools: {search: {server: a}}": ":1: tools.search needs both server and tool",
    "tools: {fetch: {server: a, tool: b}}": ':1: tools.fetch.server is "a", which is not in tool_servers. Known: none',
    "tools: {fetch: {allow: ['a b']}}": r":1: tools.fetch.allow\[0\] is \"a b\"; it must be a host",
    "tools: {limits: {rounds: 0}}": ":1: tools.limits.rounds is 0; it must be a whole number of 1 or more",
    f"keys: {{me: {{sha256: {SHA}, tool_servers: [x]}}}}": r':1: keys.me.tool_servers\[0\] is "x", which is not in',
}


def read(text: str) -> Loaded:
    environment = Environment({"TOKEN": "bearer-of-the-tracker"})
    return parse(text, file="dragoman.yaml", known=collect_names(Profiles()), variables=environment)


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_told_with_its_place(text: str) -> None:
    with pytest.raises(InvalidConfig, match=WRONG[text]):
        read(text)


def test_no_secret_of_a_server_is_shown() -> None:
    loaded = read(GOOD)
    secrets = ["bearer-of-the-tracker", "organisation-secret", "key-of-the-files", "oauth-secret-1"]
    assert set(secrets) <= set(secrets_of(loaded.config))
    shown = render_yaml(loaded) + repr(loaded.config)
    assert not [secret for secret in secrets if secret in shown]
    assert loaded.config.tools.limits.rounds == 3
