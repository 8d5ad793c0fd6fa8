"""Who may do what, and how a request for a model is treated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_config_file import KNOWN, read

from dragoman.config.client_keys import sha256_of
from dragoman.config.clients import Clients
from dragoman.config.errors import InvalidConfig
from dragoman.config.load import parse
from dragoman.config.model_lookup import find_target
from dragoman.config.schema.keys import ClientKey
from dragoman.config.schema.repairs import MaxLoss, Synthetic
from dragoman.config.target_settings import settings_for
from dragoman.config.variables import Environment

KEY = "dm-" + "a" * 40


def client(**limits: Any) -> Any:
    return Clients({"ci": ClientKey(sha256=sha256_of(KEY), **limits)}).identify(KEY)


@pytest.mark.parametrize("presented", ["", "dm-", KEY[:-1], KEY + " ", KEY.upper(), sha256_of(KEY), "\udcff", "ключ"])
def test_only_the_key_itself_opens(presented: str) -> None:
    clients = Clients({"ci": ClientKey(sha256=sha256_of(KEY))})
    assert clients.identify(presented) is None
    assert clients.identify(KEY) is not None
    assert Clients({}).identify(KEY) is None


@pytest.mark.parametrize(
    ("allowed", "model", "may"),
    [
        ((), "anything", True),
        (("cheap",), "cheap", True),
        (("cheap",), "cheaper", False),
        (("cheap",), "CHEAP", False),
        (("groq/*",), "groq/a/b", True),
        (("groq/*",), "gro", False),
    ],
)
def test_E15_allowed_models(allowed: tuple[str, ...], model: str, may: bool) -> None:
    assert client(allowed_models=allowed).may_ask(model) is may


@pytest.mark.parametrize(
    ("allowed", "path", "may"),
    [
        ((), "/v1/messages", True),
        (("/v1/messages",), "/v1/messages", True),
        (("/v1/messages",), "/messages", True),
        (("messages",), "/v1/messages/", True),
        (("/v1/messages",), "/v1/messages/count_tokens", False),
        (("/v1/messages*",), "/v1/messages/count_tokens", True),
        (("/v1/messages",), "/v1/chat/completions", False),
        (("/v1/*",), "/v1/messages", True),
        (("/v1/*",), "/v1/messages/count_tokens/", True),
        (("v1/*",), "/v1/messages", True),
        (("/v1/*",), "/metrics", False),
        (("/v1/*",), "/dragoman/adapt", False),
        (("/v1/*",), "/v1beta/models", False),
        (("v1/*", "/v1/m*", "/v1/?etrics", "/v1/[m]etrics"), "/metrics", False),
        (("/v1/m*",), "/v1/messages", True),
        (("/v1/chat/*",), "/chat/completions", True),
        (("/v1/chat/*",), "/v1/chat/completions", True),
        (("/*",), "/metrics", True),
    ],
)
def test_E15_allowed_endpoints(allowed: tuple[str, ...], path: str, may: bool) -> None:
    assert client(allowed_endpoints=allowed).may_call(path) is may


def test_a_key_ends_at_its_moment() -> None:
    end = datetime(2030, 1, 1, tzinfo=UTC)
    assert not client(expires=end).is_expired(datetime(2029, 12, 31, 23, 59, 59, tzinfo=UTC))
    assert client(expires=end).is_expired(end)
    assert not client().is_expired(end)


def test_the_nearest_layer_wins() -> None:
    config = read("""
    max_loss: authority
    rules: {late-system: keep, many-systems: auto, free: x}
    providers:
      groq:
        max_loss: order
        rules: {late-system: user, many-systems: join}
        facts: {system_count: 1, unknown_fields: accepts}
        passthrough_fields: [a]
    models:
      m:
        target: groq/x
        synthetic: refuse
        rules: {late-system: opening}
        facts: {unknown_fields: refuses}
        passthrough_fields: [b]
        omit: [top_p]
    """).config
    found = find_target(config, "m")
    direct = find_target(config, "groq/y")
    assert found is not None
    assert direct is not None
    treated = settings_for(config, found)
    assert treated.rules == {"late-system": "opening", "many-systems": "join", "free": "x"}
    assert treated.facts == {"system_count": 1, "unknown_fields": "refuses"}
    assert (treated.max_loss, treated.synthetic) == (MaxLoss.ORDER, Synthetic.REFUSE)
    assert (treated.passthrough_fields, treated.omit) == (("a", "b"), ("top_p",))
    assert settings_for(config, direct).rules["late-system"] == "user"
    assert settings_for(config, direct).synthetic is Synthetic.ALLOW


NAMES = st.sampled_from(
    ["providers", "models", "keys", "rules", "server", "store", "log", "media", "texts", "groq", "target", "facts",
     "sha256", "port", "vault", "api_key", "headers", "fallbacks", "options", "<<", "expires", "x"]
)  # fmt: skip
SCALARS = st.sampled_from(
    ["", "null", "1", "-1", "1.5", "true", "groq/x", "'${A}'", "2026-13-45", "!!binary x", "*a", "~"]
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.dictionaries(NAMES, inner, max_size=4).map(
            lambda members: "{" + ", ".join(f"{key}: {value}" for key, value in members.items()) + "}"
        ),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.one_of(TREES, st.text(max_size=60)))
def test_any_text_is_a_configuration_or_a_refusal_in_words(text: str) -> None:
    try:
        parse(text, known=KNOWN, variables=Environment({"A": "${A}"}))
    except InvalidConfig as refused:
        assert refused.problems  # noqa: PT017 - both ends are right
