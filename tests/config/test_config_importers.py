"""Configurations of other gateways: what is carried over, and that the rest is named."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dragoman.cli.commands.gateway.import_ import import_
from dragoman.config.client_keys import sha256_of
from dragoman.config.errors import InvalidConfig
from dragoman.config.importers.foreign_config import Imported, many_systems, render_yaml
from dragoman.config.importers.lazyrouter import import_lazyrouter
from dragoman.config.importers.litellm import import_litellm
from dragoman.config.importers.nnp import import_nnp
from dragoman.config.known_names import KnownNames
from dragoman.config.load import parse
from dragoman.config.schema.config_file import Config
from dragoman.config.variables import Environment

LITELLM = """
model_list:
  - model_name: gpt-4o
    litellm_params: {model: azure/my-dep, api_base: os.environ/AZURE_API_BASE, api_key: os.environ/AZURE_API_KEY, api_version: "2024-07-01", rpm: 6}
  - model_name: gpt-4o
    litellm_params: {model: gpt-4o, api_key: sk-plain-123456, temperature: 0, max_retries: 0}
    model_info: {id: x, max_input_tokens: 128000}
  - model_name: claude
    litellm_params: {model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY, extra_headers: {x-a: b}, drop_params: true, timeout: 5}
  - model_name: local
    litellm_params: {model: openai/qwen, api_base: "http://localhost:9000/v1", api_key: none, extra_body: {top_k: 3}, additional_drop_params: [top_p]}
  - model_name: "anthropic/*"
    litellm_params: {model: "anthropic/*", api_key: os.environ/ANTHROPIC_API_KEY}
litellm_settings: {drop_params: true, modify_params: true, num_retries: 2, request_timeout: 60, callbacks: [langfuse], fallbacks: [{gpt-4o: [claude]}], context_window_fallbacks: [{gpt-4o: [claude, nope]}], content_policy_fallbacks: [{claude: [local]}]}
router_settings: {routing_strategy: least-busy, redis_host: os.environ/REDIS, allowed_fails: 3, cooldown_time: 30, model_group_alias: {gpt-4: gpt-4o}}
general_settings: {master_key: os.environ/MASTER, database_url: "postgres://u:p@h/db"}
environment_variables: {FOO_API_KEY: abcdefghijklmnop, PLAIN: hunter2}
mystery: 1
"""  # noqa: E501

LAZYROUTER = """
serve: {host: 0.0.0.0, port: 1234, api_key: "${SERVE_KEY}", show_model_prefix: true}
providers:
  openai: {api_key: "${OPENAI_API_KEY}", base_url: "https://api.openai.com/v1"}
  proxy: {api_key: k, base_url: "https://proxy.example", api_style: openai-completions}
  claude: {api_key: "${ANTHROPIC_API_KEY}", base_url: "https://api.anthropic.com/v1", api_style: anthropic}
  gem: {api_key: g, base_url: "https://proxy.example/v1beta", api_style: gemini}
llms:
  small: {provider: openai, model: gpt-5-mini, description: quick, coding_elo: 1200, writing_elo: 1300, cache_ttl: 5}
  middle: {provider: claude, model: claude-sonnet-4-5, description: good, coding_elo: 1400, writing_elo: 1400}
  large: {provider: gem, model: gemini-3-pro, coding_elo: 1500, writing_elo: 1450}
router: {provider: openai, model: gpt-5-nano, provider_fallback: claude, model_fallback: x, temperature: 0.0, context_messages: 5, prompt: "{model_descriptions} {context} {current_request}", skip_router_on_tool_results: true}
routes: {coding: [small, large]}
context_compression: {history_trimming: true, enabled: false, max_history_tokens: 10000, keep_recent_exchanges: 8, keep_recent_user_turns_in_chained_tool_calls: 1, old_message_max_tokens: 9}
health_check: {interval: 300, max_latency_ms: 10000, idle_after_seconds: 300}
"""  # noqa: E501

NNP = {
    "providers.yaml": """
providers:
  openrouter:
    type: openrouter
    base_url: https://openrouter.ai/api/v1
    api_key_env: OPENROUTER_API_KEY
    stream_format: sse
    strict_validation: true
    sanitize_messages: true
    headers: {HTTP-Referer: "https://example.org", X-Title: demo}
  local: {type: openai, base_url: "http://localhost:8080/v1", colour: blue}
""",
    "models.yaml": """
models:
  deep: {provider: openrouter, provider_model_name: deepseek/deepseek-chat, options: {provider: {order: [a]}}}
  tiny: {provider: local, provider_model_name: qwen, is_hidden: true}
""",
    "user_keys.yaml": """
user_keys:
  anna: {api_key: nnp-v1-0123456789abcdef, allowed_models: [deep], allowed_endpoints: ["/v1/chat/completions"]}
  bert: {api_key: nnp-v1-fedcba9876543210, allowed_models: []}
  carl: {allowed_models: [deep]}
""",
}

PROFILES = frozenset(
    [
        "openai",
        "openai-responses",
        "openai-compatible",
        "anthropic",
        "anthropic-compatible",
        "gemini",
        "gemini-compatible",
        "gemini-native-compatible",
        "azure-openai",
        "openrouter",
    ]
)


def good(imported: Imported) -> Config:
    """What we read of what was written."""
    text = render_yaml(imported, "a test")
    return parse(text, known=KnownNames(profiles=PROFILES), variables=Environment({})).config


def noted(imported: Imported) -> str:
    return "\n".join(map(str, imported.notes))


def test_litellm_is_carried_over() -> None:
    imported = import_litellm(yaml.safe_load(LITELLM), {"MASTER": "sk-master"})
    config = good(imported)
    assert imported.config["providers"]["azure"]["api_key"] == "${AZURE_API_KEY}"
    shared = config.routes["gpt-4o"]
    assert (shared.models, shared.strategy) == (("gpt-4o-1", "gpt-4o-2"), "least_busy")
    assert config.models["gpt-4o-1"].target == "azure/my-dep"
    assert config.models["gpt-4o-1"].fallbacks == ("gpt-4o-2", "claude")
    assert config.models["gpt-4o-2"].options == {"temperature": 0}
    assert (config.models["gpt-4o-2"].context_window, config.models["gpt-4o-2"].hidden) == (128000, True)
    assert config.models["gpt-4o-2"].fallbacks_on.context_length == ("claude",)
    assert config.models["claude"].fallbacks_on.content_filter == ("local",)
    assert config.routes["gpt-4"] == shared
    assert config.models["anthropic/*"].target == "anthropic-2/*"  # with other headers than "claude"
    limits = config.models["gpt-4o-1"].rate_limits
    assert limits is not None
    assert limits.requests_per_minute == 6
    local = config.providers["openai-2"]
    assert (local.profile, local.base_url) == ("openai-compatible", "http://localhost:9000/v1")
    assert (config.models["local"].options, config.models["local"].omit) == ({"top_k": 3}, ("top_p",))
    assert config.providers["openai"].retries.attempts == 1
    assert config.providers["anthropic"].retries.attempts == 3
    assert (config.providers["anthropic"].timeouts.total, local.timeouts.total) == (5.0, 60.0)
    assert (local.cooldown.failures, local.cooldown.seconds) == (4, 30.0)
    assert config.keys["master"].sha256 == sha256_of("sk-master")
    assert config.keys["master"].admin


DEPLOYED = """
model_list:
  - model_name: team
    litellm_params: {model: azure/prod-2, api_base: "https://b.openai.azure.com", api_key: k, order: 2}
    model_info: {base_model: azure/gpt-5, mode: chat, supports_vision: true}
  - model_name: team
    litellm_params: {model: azure/prod-1, litellm_credential_name: west, order: 1}
    model_info: {base_model: gpt-5}
  - model_name: cached
    litellm_params: {model: anthropic/claude-sonnet-4-5, cache_control_injection_points: [{location: message, role: system}]}
  - model_name: lost
    litellm_params: {model: openai/gpt-4o, litellm_credential_name: nowhere}
credential_list:
  - credential_name: west
    credential_values: {api_key: os.environ/WEST_KEY, api_base: "https://a.openai.azure.com"}
    credential_info: {description: the west}
litellm_settings: {num_retries: 5, request_timeout: 600, default_fallbacks: [cached], fallbacks: [{team: [lost]}], model_alias_map: {crew: team}}
router_settings: {num_retries: 2, timeout: 30, routing_strategy: simple-shuffle}
general_settings: {max_request_size_mb: 2, background_health_checks: true, health_check_interval: 60, infer_model_from_keys: true}
"""  # noqa: E501


def test_litellms_deployments_keep_their_model_their_credentials_and_their_order() -> None:
    imported = import_litellm(yaml.safe_load(DEPLOYED), {})
    config = good(imported)
    assert (config.routes["team"].models, config.routes["team"].strategy) == (("team-2", "team-1"), "order")
    assert config.routes["crew"] == config.routes["team"]
    assert [config.models[name].base_model for name in ("team-1", "team-2")] == ["gpt-5", "gpt-5"]
    west = imported.config["providers"][config.models["team-2"].target.partition("/")[0]]
    assert (west["api_key"], west["base_url"]) == ("${WEST_KEY}", "https://a.openai.azure.com")
    assert config.models["cached"].cache == "auto"
    assert '"nowhere" is not in credential_list' in noted(imported)
    assert "infer_model_from_keys: True has no counterpart" in noted(imported)


def test_litellms_router_settings_win_and_a_deployment_is_followed_by_its_siblings() -> None:
    config = good(import_litellm(yaml.safe_load(DEPLOYED), {}))
    assert {provider.retries.attempts for provider in config.providers.values()} == {3}
    assert {provider.timeouts.total for provider in config.providers.values()} == {30.0}
    assert config.models["team-2"].fallbacks == ("team-1", "lost")
    assert config.models["lost"].fallbacks == ("cached",)
    assert (config.server.max_body, config.health_checks.interval) == (2 << 20, 60)


LITELLM_LEFT = [
    "model_info.id",
    "model_list[1]",
    "drop_params",
    "modify_params: is not needed",
    "callbacks",
    "redis_host",
    "database_url",
    "FOO_API_KEY",
    "mystery",
    "nope",
    "plain",
]


@pytest.mark.parametrize("name", LITELLM_LEFT)
def test_litellm_leftovers_are_named(name: str) -> None:
    assert name in noted(import_litellm(yaml.safe_load(LITELLM), {}))


def test_notes_hold_no_secret() -> None:
    imported = import_litellm(yaml.safe_load(LITELLM), {})
    for secret in ("abcdefghijklmnop", "mnop", "hunter2", "sk-plain-123456", "u:p@h"):
        assert secret not in noted(imported)
    assert "general_settings.master_key: is in the variable MASTER" in noted(imported)
    assert "set it and import again, or clients need no key" in noted(imported)


def test_a_misspelt_key_is_told_from_one_without_a_counterpart() -> None:
    params = {"model": "openai/gpt-4o", "api_kye": "sk-0123456789abcdef", "rpm_limit": 5}
    document = {"model_list": [{"model_name": "a", "litellm_params": params}, {"litelm_params": params}]}
    notes = [str(note) for note in import_litellm(document, {}).notes]
    assert notes == [
        'model_list[0].litellm_params.api_kye: ****cdef is not imported. Did you mean "api_key"?',
        "model_list[0].litellm_params.rpm_limit: 5 has no counterpart; not imported",
        "model_list[1]: names no model; not imported",
        'model_list[1].litelm_params: (a section) is not imported. Did you mean "litellm_params"?',
    ]


def test_C31_C36_lazyrouters_trimming_is_carried_over() -> None:
    trim = good(import_lazyrouter(yaml.safe_load(LAZYROUTER), {})).history.trim
    assert trim is not None
    assert (trim.max_history_tokens, trim.keep_recent_exchanges, trim.old_message_max_tokens) == (10000, 8, 9)
    for section, on in (
        ({"enabled": True}, True),
        ({"enabled": True, "history_trimming": False}, False),
        ({"max_history_tokens": 5}, False),
    ):
        assert (good(import_lazyrouter({"context_compression": section}, {})).history.trim is not None) is on
    gone = import_lazyrouter({"context_compression": {"enabled": True, "compress_on_tool_results": True}}, {})
    assert "compress_on_tool_results" in noted(gone)


def test_C25_to_C30_lazyrouter_is_carried_over_and_the_rest_named() -> None:
    imported = import_lazyrouter(yaml.safe_load(LAZYROUTER), {"SERVE_KEY": "hunter2"})
    config = good(imported)
    assert config.server.port == 1234
    assert config.keys["serve"].sha256 == sha256_of("hunter2")
    assert config.models["small"].description == "quick"
    assert config.models["small"].cache_ttl == 5
    assert config.models["small"].ratings == {"coding": 1200, "writing": 1300}
    assert config.router is not None
    assert (config.router.model, config.router.fallback) == ("openai/gpt-5-nano", "claude/x")
    assert (config.router.context_messages, config.router.temperature) == (5, 0.0)
    assert config.routes["coding"].models == ("small", "large")
    assert config.routes["coding"].strategy == "model"
    assert config.health_checks is not None
    assert config.health_checks.interval == 300
    assert "coding_elo and writing_elo" in noted(imported)


@pytest.mark.parametrize(
    ("name", "profile", "base_url"),
    [
        ("openai", "openai", "https://api.openai.com/v1"),
        ("proxy", "openai-compatible", "https://proxy.example/v1"),
        ("claude", "anthropic", "https://api.anthropic.com"),
        ("gem", "gemini-native-compatible", "https://proxy.example/v1beta"),
    ],
)
def test_C43_api_styles_become_profiles_and_base_urls(name: str, profile: str, base_url: str) -> None:
    provider = good(import_lazyrouter(yaml.safe_load(LAZYROUTER), {})).providers[name]
    assert (provider.profile, provider.base_url, provider.auth) == (profile, base_url, None)


def test_C6_the_flattening_for_gemini_proxies_is_imported() -> None:
    providers = good(import_lazyrouter(yaml.safe_load(LAZYROUTER), {})).providers
    assert providers["gem"].facts == {"flat_tools": True, "thought_in_id": "refuses"}
    assert providers["proxy"].facts == {}
    own = {"providers": {"g": {"api_style": "gemini", "api_key": "k"}}}
    assert good(import_lazyrouter(own, {})).providers["g"].facts == {}


def test_C30_closeness_of_elo_becomes_fallbacks() -> None:
    models = good(import_lazyrouter(yaml.safe_load(LAZYROUTER), {})).models
    assert models["small"].fallbacks == ("middle", "large")
    assert models["large"].fallbacks == ("middle", "small")


def test_C23_pins_that_are_switched_off_stay_off() -> None:
    assert good(import_lazyrouter({"router": {"skip_router_on_tool_results": False}}, {})).pin_tool_results is False
    assert good(import_lazyrouter({"router": {"skip_router_on_tool_results": True}}, {})).pin_tool_results is True
    beside_trimming = import_lazyrouter({"context_compression": {"skip_router_on_tool_results": False}}, {})
    assert good(beside_trimming).pin_tool_results is False
    assert not beside_trimming.notes


BASES = [
    ("https://openrouter.ai/api", "https://openrouter.ai/api/v1"),
    ("https://openrouter.ai/api/v1/", "https://openrouter.ai/api/v1"),
    ("https://gw.example", "https://gw.example/v1"),
    ("https://gw.example/openai", "https://gw.example/openai/v1"),
    ("https://gw.example/v1beta/openai", "https://gw.example/v1beta/openai"),
]


@pytest.mark.parametrize(("given", "url"), BASES)
def test_C43_lazyrouters_addresses_get_the_version_that_it_adds(given: str, url: str) -> None:
    provider = {"api_key": "k", "base_url": given, "api_style": "openai-completions"}
    assert good(import_lazyrouter({"providers": {"p": provider}}, {})).providers["p"].base_url == url


def test_C42_lazyrouters_switch_for_debugging_is_the_level_of_the_log() -> None:
    assert good(import_lazyrouter({"serve": {"debug": True}}, {})).log.level == "debug"
    assert not import_lazyrouter({"serve": {"debug": False}}, {}).notes


def test_C26_the_name_by_which_agents_ask_lazyrouter_is_a_route_of_all_models() -> None:
    document = {"providers": {"p": {"api_key": "k"}}, "llms": {"m": {"provider": "p", "model": "x"}}}
    config = good(import_lazyrouter({**document, "router": {"provider": "p", "model": "r"}}, {}))
    assert (config.routes["lazyrouter/auto"].models, config.routes["lazyrouter/auto"].strategy) == ((), "model")


@pytest.mark.parametrize("models", [["m"], {"models": ["m"]}])
def test_C26_routes_of_lazyrouter_are_lists_or_sections(models: object) -> None:
    document = {"providers": {"p": {"api_key": "k"}}, "llms": {"m": {"provider": "p", "model": "x"}}}
    assert good(import_lazyrouter({**document, "routes": {"r": models}}, {})).routes["r"].models == ("m",)


@pytest.mark.parametrize("alone", ["provider_fallback", "model_fallback"])
def test_C25_half_a_fallback_of_the_router_is_named(alone: str) -> None:
    imported = import_lazyrouter({"router": {"provider": "p", "model": "m", alone: "x"}}, {})
    assert "fallback" not in imported.config["router"]
    assert f"router.{alone}: provider_fallback and model_fallback must be set together" in noted(imported)


def test_C28_prices_are_carried_over() -> None:
    model = {"provider": "p", "model": "x"}
    whole = import_lazyrouter({"llms": {"m": {**model, "input_price": 1, "output_price": 2.5}}}, {})
    assert whole.config["models"]["m"]["price"] == {"input": 1.0, "output": 2.5}
    half = import_lazyrouter({"llms": {"m": {**model, "input_price": 1}}}, {})
    assert "price" not in half.config["models"]["m"]
    assert "input_price and output_price must both be numbers" in noted(half)


def test_a_public_host_without_a_key_is_not_carried_over() -> None:
    imported = import_lazyrouter({"serve": {"host": "0.0.0.0", "port": 1}}, {})
    assert "host" not in imported.config["server"]
    assert "the default, loopback" in noted(imported)


def documents(*names: str) -> dict[str, Any]:
    return {name: yaml.safe_load(NNP[name]) for name in names or NNP}


@pytest.mark.parametrize(
    ("strict", "facts"), [(True, {"unknown_fields": "refuses"}), (False, {"unknown_fields": "accepts"}), (None, None)]
)
def test_E8_strictness_is_carried_over_either_way(strict: bool | None, facts: dict[str, str] | None) -> None:
    provider = {"type": "openai", "base_url": "http://127.0.0.1:1/v1", "strict_validation": strict}
    imported = import_nnp({"providers.yaml": {"providers": {"p": provider}}}, {})
    assert imported.config["providers"]["p"].get("facts") == facts
    profile = imported.config["providers"]["p"]["profile"]
    assert profile == ("openai-compatible-strict" if strict else "openai-compatible")


def test_E8_E9_E15_nnp_is_carried_over() -> None:
    imported = import_nnp(documents(), {})
    config = good(imported)
    router = config.providers["openrouter"]
    assert imported.config["providers"]["openrouter"]["api_key"] == "${OPENROUTER_API_KEY}"
    assert (router.profile, router.facts) == ("openrouter", {"unknown_fields": "refuses"})
    assert router.headers == {"HTTP-Referer": "https://example.org", "X-Title": "demo"}
    assert config.providers["local"].profile == "openai-compatible"
    assert config.models["deep"].options == {"provider": {"order": ["a"]}}
    assert (config.models["tiny"].hidden, config.models["tiny"].target) == (True, "local/qwen")
    assert config.keys["anna"].sha256 == sha256_of("nnp-v1-0123456789abcdef")
    assert config.keys["anna"].allowed_endpoints == ("/v1/chat/completions",)
    assert config.keys["bert"].allowed_models == ()
    said = noted(imported)
    assert [name for name in ("sanitize_messages", "colour", "user_keys.carl") if name not in said] == []


def test_E15_a_part_that_is_missing_is_refused_or_named() -> None:
    with pytest.raises(InvalidConfig, match="no file contains providers"):
        import_nnp(documents("models.yaml", "user_keys.yaml"), {})
    assert "clients ask for PROVIDER/MODEL" in noted(import_nnp(documents("providers.yaml", "user_keys.yaml"), {}))
    with pytest.raises(InvalidConfig, match="another file also contains"):
        import_nnp({"a": {"models": {}}, "b": {"models": {}}}, {})
    with pytest.raises(InvalidConfig, match="contains none of"):
        import_nnp({"a": {"other": {}}}, {})
    assert "listens on loopback" in noted(import_nnp(documents("providers.yaml", "models.yaml"), {}))


HOSTILE: list[Any] = [
    None, [], "text", {"model_list": {}}, {"model_list": [1]}, {"providers": []}, {"providers": {"a": 1}},
    {"llms": [{"name": "a"}]}, {"serve": {"host": "x\n# y: z"}}, {"router_settings": {"fallbacks": ["a"]}},
    {"litellm_settings": {"num_retries": "many"}},
]  # fmt: skip


@pytest.mark.parametrize("document", HOSTILE, ids=range(len(HOSTILE)))
def test_a_wrong_file_is_refused_or_noted_never_a_crash(document: Any) -> None:
    for translate in (import_litellm, import_lazyrouter, lambda d, p: import_nnp({"f": d}, p)):
        with suppress(InvalidConfig):
            assert yaml.safe_load(render_yaml(translate(document, {}), "x\ny: z")) is not None


@pytest.mark.parametrize(
    ("sigrid", "ours"),
    [(False, "separate"), (True, {"join": "\n\n---\n\n"}), ("\n", {"join": "\n"}), ("", {"join": ""})],
)
def test_D1_consolidation_becomes_a_choice(sigrid: bool | str, ours: Any) -> None:
    assert many_systems(sigrid) == ours


def test_the_command_writes_a_file_that_can_be_used(tmp_path: Path) -> None:
    files = []
    for name, text in NNP.items():
        (tmp_path / name).write_text(text)
        files.append(str(tmp_path / name))
    output = tmp_path / "dragoman.yaml"
    run = CliRunner().invoke
    done = run(import_, ["nnp", *files, "-o", str(output)], obj=KnownNames(profiles=PROFILES))
    assert done.exit_code == 0, done.output
    assert "note: providers.local.colour: blue has no counterpart; not imported" in done.stderr
    assert "# - providers.local.colour: blue has no counterpart" in output.read_text()
    assert run(import_, ["nnp", *files, "-o", str(output)]).exit_code == 1
    (tmp_path / "litellm.yaml").write_text(LITELLM)
    assert run(import_, ["litellm", str(tmp_path / "litellm.yaml")]).exit_code == 0
    (tmp_path / "lazy.yaml").write_text("providers: {p: {api_style: gemini, base_url: 'nowhere'}}")
    assert run(import_, ["lazyrouter", str(tmp_path / "lazy.yaml")]).exit_code == 1


OLLAMAS = """
model_list:
- model_name: small
  litellm_params: {model: ollama/llama3.1, api_base: "http://box:11434", num_ctx: 8192, max_tokens: 50}
- model_name: thinker
  litellm_params: {model: ollama_chat/qwen3, api_base: "http://box:11434/api/chat", think: true, keep_alive: 5m}
- model_name: here
  litellm_params: {model: ollama/gemma3}
- model_name: compatible
  litellm_params: {model: ollama/mistral, api_base: "http://box:11434/v1", max_tokens: 50}
"""


def test_a_file_that_is_no_configuration_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"model": "x", "messages": []}')
    for gateway in ("litellm", "lazyrouter", "claude-code-router"):
        done = CliRunner().invoke(import_, [gateway, str(file)])
        assert (done.exit_code, done.stdout) == (1, "")
        assert "request.json: there are no providers, models or keys as" in done.stderr


def test_ollama_of_litellm_is_its_own_api_at_the_root_of_the_server() -> None:
    imported = import_litellm(yaml.safe_load(OLLAMAS), {})
    assert imported.notes == ()
    providers, models = imported.config["providers"], imported.config["models"]
    assert [(one["profile"], one.get("base_url")) for one in providers.values()] == [
        ("ollama", "http://box:11434"),
        ("ollama", None),
        ("ollama-openai", "http://box:11434/v1"),
    ]
    assert models["small"]["target"].partition("/")[0] == models["thinker"]["target"].partition("/")[0]
    assert models["small"]["options"] == {"options": {"num_predict": 50, "num_ctx": 8192}}
    assert models["thinker"]["options"] == {"think": True, "keep_alive": "5m"}
    assert models["compatible"]["options"] == {"max_tokens": 50}


def test_options_of_nnp_stand_where_ollamas_own_api_has_them() -> None:
    providers = {"providers": {"o": {"type": "ollama", "base_url": "http://box:11434"}}}
    models = {"models": {"m": {"provider": "o", "model": "z", "options": {"num_predict": 7, "think": True}}}}
    config = import_nnp({"providers.yaml": providers, "models.yaml": models}, {}).config
    assert config["providers"]["o"]["profile"] == "ollama"
    assert config["models"]["m"]["options"] == {"think": True, "options": {"num_predict": 7}}


def test_E16_nnps_own_files_are_carried_over() -> None:
    server = {"type": "openai", "base_url": "http://10.0.0.2:5010/v1", "api_key_env": "K"}
    imported = import_nnp(
        {
            "providers.yaml": {"providers": {"orange": {**server, "max_concurrent": 3, "proxy": "http://proxy:3128"}}},
            "models.yaml": {
                "models": {
                    "kimi": {"provider": "orange", "provider_model_name": "k", "options": {"stream": True, "top_k": 3}},
                    "stt/dummy": {"provider": "orange", "provider_model_name": "dummy", "is_hidden": True},
                }
            },
        },
        {},
    )
    config = good(imported)
    assert (config.providers["orange"].max_connections, config.default_audio_model) == (3, "stt/dummy")
    assert config.models["kimi"].options == {"top_k": 3}
    assert "HTTPS_PROXY" in noted(imported)
    assert "models.kimi.options.stream: is not needed" in noted(imported)
