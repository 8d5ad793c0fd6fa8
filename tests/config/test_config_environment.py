"""Variables, `.env` files and providers that nobody wrote down."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_config_file import KNOWN, read, refusal

from dragoman.config.load import load
from dragoman.config.variables import Environment, parse_env

SUBSTITUTED = {
    "whole": ("${A}", "one"),
    "inside": ("x-${A}-${B}", "x-one-two"),
    "default": ("${NONE:-three}", "three"),
    "empty default": ("x${NONE:-}", "x"),
    "default unused": ("${A:-three}", "one"),
    "empty counts as unset": ("${EMPTY:-three}", "three"),
    "escaped": ("$${A}", "${A}"),
    "a dollar": ("$A $", "$A $"),
    "url default": ("${NONE:-http://h:1/v1?x={y}}", "http://h:1/v1?x={y}"),
    "not twice": ("${TRICK}", "${A}"),
    "no yaml inside": ("${YAML}", "a: b\nserver: {port: 1}"),
}


@pytest.mark.parametrize(("written", "meant"), SUBSTITUTED.values(), ids=SUBSTITUTED.keys())
@pytest.mark.parametrize("quote", ['"', "'"])
def test_C42_variables_are_put_in(written: str, meant: str, quote: str) -> None:
    variables = {"A": "one", "B": "two", "EMPTY": "", "TRICK": "${A}", "YAML": "a: b\nserver: {port: 1}"}
    loaded = read(f"models: {{m: {{target: groq/x, description: {quote}{written}{quote}}}}}", variables)
    assert loaded.config.models["m"].description == meant
    assert loaded.warnings == ()


def test_C42_an_unset_variable_is_a_warning_that_names_the_key() -> None:
    loaded = read("providers:\n  groq:\n    api_key: ${GROQ_KEY}\n    api_keys: []\n")
    assert loaded.warnings == ("dragoman.yaml:3: providers.groq.api_key uses ${GROQ_KEY}, which is not set",)
    assert loaded.config.providers["groq"].api_key is None


@pytest.mark.parametrize("written", ["${GROQ_KEY", "${GROQ-KEY}", "$GROQ_KEY"])
def test_what_only_looks_like_a_variable_is_a_warning(written: str) -> None:
    loaded = read(f"providers:\n  groq:\n    api_key: '{written}'\n")
    says = "dragoman.yaml:3: providers.groq.api_key has a $ that names no variable; write ${NAME}"
    assert loaded.warnings == (says,)


def test_a_pool_keeps_the_keys_that_are_set() -> None:
    pool = read("providers: {groq: {api_keys: ['${A}', '${B}', '${C}']}}", {"A": "k1", "C": "k3"})
    assert [key.reveal() for key in pool.config.providers["groq"].key_pool()] == ["k1", "k3"]


def test_an_unquoted_variable_takes_the_type_of_what_it_holds() -> None:
    text = """
    server:
      port: ${PORT}
    log: {content: "${YES}"}
    models:
      m:
        target: groq/x
        options:
          temperature: ${T}
          stop: "${T}"
    """
    config = read(text, {"PORT": "81", "T": "0.5", "YES": "true"}).config
    assert config.server.port == 81
    assert config.log.content is True
    assert config.models["m"].options == {"temperature": 0.5, "stop": "0.5"}


def test_a_bare_variable_in_braces_gets_a_hint() -> None:
    assert 'Inside { } a variable needs quotes: "${VAR}"' in refusal("server: {port: ${PORT}}")


def test_a_key_of_digits_stays_text() -> None:
    provider = read("providers:\n  groq:\n    api_key: ${K}\n", {"K": "123456"}).config.providers["groq"]
    assert provider.api_key is not None
    assert provider.api_key.reveal() == "123456"


def test_a_value_from_the_environment_is_not_quoted_in_errors() -> None:
    said = refusal("server:\n  port: ${PORT}\n", {"PORT": "hunter2"})
    assert "server.port is the value of ${PORT}" in said
    assert "hunter2" not in said


ENV = """
# a comment
A=1
export B = two words  # a comment
C='single # quoted'
D="double \\"quoted\\"\\n"
E=
F=a#b
bad line
1BAD=x
"""


def test_env_files_are_read() -> None:
    found, unread = parse_env(ENV)
    assert found == {"A": "1", "B": "two words", "C": "single # quoted", "D": 'double "quoted"\n', "E": "", "F": "a#b"}
    assert unread == [9, 10]


def test_C42_the_process_wins_over_env_files_and_those_over_the_one_beside(tmp_path: Path) -> None:
    (tmp_path / "dragoman.yaml").write_text("models: {m: {target: 'groq/${A}-${B}-${C}'}}")
    (tmp_path / ".env").write_text("A=beside\nB=beside\nC=beside\nnonsense\n")
    (tmp_path / "more.env").write_text("A=more\nB=more\n")
    loaded = load(tmp_path / "dragoman.yaml", process={"A": "process"}, env_files=[tmp_path / "more.env"])
    assert loaded.config.models["m"].target == "groq/process-more-beside"
    assert loaded.warnings == (".env:4: is not NAME=value; skipped",)


KEEPS_TEXTS = """
log:
  content: true
  exchanges: {folder: ex, content: true, answers: true}
  provider_errors: {content: true}
"""


@pytest.mark.parametrize(("said", "kept"), [("0", False), ("false", False), ("OFF", False), ("1", True), ("", True)])
def test_C41_the_environment_takes_texts_out_of_all_logs(said: str, kept: bool) -> None:
    log = read(KEEPS_TEXTS, {"LAZYROUTER_LOG_MESSAGE_CONTENT": said}).config.log
    assert {log.content, log.exchanges.content, log.provider_errors.content} == {kept}
    assert (log.exchanges.folder, log.exchanges.answers) == ("ex", True)


def test_C41_it_puts_none_in_and_the_view_says_where_it_comes_from() -> None:
    allowed = read("log: {exchanges: {content: false}}", {"LAZYROUTER_LOG_MESSAGE_CONTENT": "1"})
    assert not allowed.config.log.exchanges.content
    taken = read(KEEPS_TEXTS, {"LAZYROUTER_LOG_MESSAGE_CONTENT": "0"})
    assert taken.origins["log.exchanges.content"] == "env LAZYROUTER_LOG_MESSAGE_CONTENT"


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_a_blank_variable_is_not_set(tmp_path: Path, blank: str) -> None:
    file = tmp_path / "dragoman.yaml"
    file.write_text("providers: {groq: {api_key: '${MINE}', headers: {x: '${MINE:-left}'}}}")
    loaded = load(file, known=KNOWN, process={"MINE": blank, "GOOGLE_API_KEY": blank})
    assert loaded.config.providers["groq"].api_key is None
    assert loaded.config.providers["groq"].headers == {"x": "left"}
    assert loaded.warnings == ("dragoman.yaml:1: providers.groq.api_key uses ${MINE}, which is not set",)
    assert load(None, known=KNOWN, process={"GOOGLE_API_KEY": blank}).config.providers == {}


def test_with_no_file_the_environment_offers_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load(None, known=KNOWN, process={"GOOGLE_API_KEY": "AIza-x", "OTHER": "y"})
    assert list(loaded.config.providers) == ["gemini"]
    assert loaded.origins["providers.gemini.api_key"] == "env GOOGLE_API_KEY"
    assert load(None, known=KNOWN, process={}).config.providers == {}


def test_with_a_file_only_named_profiles_are_added() -> None:
    variables = {"ANTHROPIC_API_KEY": "sk-a", "GEMINI_API_KEY": "g"}
    config = read("models: {m: {target: anthropic/x, fallbacks: [groq/y]}}", variables).config
    assert set(config.providers) == {"anthropic", "groq"}
    assert [key.reveal() for key in config.providers["anthropic"].key_pool()] == ["sk-a"]
    assert config.providers["groq"].key_pool() == ()


def test_a_vendors_key_goes_to_no_other_address() -> None:
    text = "providers: {mine: {profile: anthropic, base_url: 'https://elsewhere.example'}, anthropic: {}}"
    providers = read(text, {"ANTHROPIC_API_KEY": "sk-a"}).config.providers
    assert providers["mine"].key_pool() == ()
    assert len(providers["anthropic"].key_pool()) == 1


GATEWAY = {"LLM_GATEWAY_URL": "https://gw.example/v1/", "LLM_GATEWAY_API_KEY": "gw-key", "LLM_MODEL": "best"}


def test_D5_the_environment_names_a_gateway() -> None:
    config = read("", GATEWAY).config
    gateway = config.providers["gateway"]
    assert (gateway.profile, gateway.base_url) == ("openai-compatible", "https://gw.example/v1")
    assert [key.reveal() for key in gateway.key_pool()] == ["gw-key"]
    assert config.default_model == "gateway/best"


@pytest.mark.parametrize(
    ("text", "variables", "url", "model"),
    [
        (
            "providers: {gateway: {profile: openai, base_url: 'http://own/v1'}}",
            GATEWAY,
            "http://own/v1",
            "gateway/best",
        ),
        ("providers: {gateway: {profile: openai}}", GATEWAY, "https://gw.example/v1", "gateway/best"),
        ("providers: {gateway: {profile: openai}}", {}, None, None),
        ("default_model: groq/x", GATEWAY, "https://gw.example/v1", "groq/x"),
        ("providers: {groq: {}}", {**GATEWAY, "LLM_MODEL": "groq/y"}, "https://gw.example/v1", "groq/y"),
    ],
)
def test_D5_explicit_wins_over_environment_over_default(
    text: str, variables: dict[str, str], url: str | None, model: str | None
) -> None:
    config = read(text, variables).config
    gateway = config.providers.get("gateway")
    assert (gateway.base_url if gateway else None) == url
    assert config.default_model == model


def test_origins_tell_a_file_from_the_process() -> None:
    variables = Environment({"A": "1"}, {"A": ".env"})
    assert variables.origin("A") == "env A (.env)"
    assert variables.origin("B") == "env B"
