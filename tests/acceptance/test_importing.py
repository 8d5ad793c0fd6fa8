"""Configurations of the five systems, imported and then used: the gateway is started with the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.gateway.asking import PLAIN, body, path
from tests.gateway.running import Running, gateway
from tests.gateway.upstream import upstream

from dragoman.cli import cli
from dragoman.config.importers.lazyrouter import import_lazyrouter
from dragoman.config.importers.litellm import import_litellm
from dragoman.config.importers.nnp import import_nnp

SNIPPET = """
openrouter:
  type: openai
  base_url: https://openrouter.ai/api/v1
  api_key_env: OPENROUTER_API_KEY
  stream_format: sse
  strict_validation: true
  headers:
    HTTP-Referer: "https://example.org"
    X-Title: "NNP AI Router"
"""


@pytest.mark.parametrize("text", [SNIPPET, "providers:\n" + SNIPPET.replace("\n", "\n  ")])
def test_E9_the_snippet_of_the_analysis_is_imported(tmp_path: Path, text: str) -> None:
    (tmp_path / "providers.yaml").write_text(text)
    output = tmp_path / "dragoman.yaml"
    done = CliRunner().invoke(cli, ["import", "nnp", str(tmp_path / "providers.yaml"), "-o", str(output)])
    assert done.exit_code == 0, done.output
    written = yaml.safe_load(output.read_text())["providers"]["openrouter"]
    assert (written["profile"], written["api_key"]) == ("openrouter", "${OPENROUTER_API_KEY}")
    assert written["headers"] == {"HTTP-Referer": "https://example.org", "X-Title": "NNP AI Router"}
    assert written["facts"] == {"unknown_fields": "refuses"}
    with upstream() as behind:
        config = yaml.safe_load(output.read_text())
        config["providers"]["openrouter"]["base_url"] = behind.url
        with gateway(config, tmp_path) as running:
            asked = [*PLAIN, {"role": "assistant", "content": "x", "done": True, "mood": 1}, *PLAIN]
            sent = running.post("/v1/chat/completions", {"model": "openrouter/any/model", "messages": asked})
            assert sent.status_code == 200
            assert behind.seen[-1].body["messages"][len(PLAIN)] == {"role": "assistant", "content": "x"}
            assert behind.seen[-1].headers["x-title"] == "NNP AI Router"


HOSTS = [
    ("https://openrouter.ai/api/v1", "openrouter"),
    ("https://api.deepseek.com", "deepseek"),
    ("https://api.groq.com/openai/v1", "groq"),
    ("https://api.mistral.ai/v1", "mistral"),
    ("https://api.z.ai/api/paas/v4", "zai"),
    ("https://open.bigmodel.cn/api/paas/v4", "zai"),
    ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen"),
    ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-openai"),
    ("https://api.openai.com/v1", "openai"),
    ("https://company.example/v1", "openai-compatible"),
    ("http://localhost:8000/v1", "openai-compatible"),
]


@pytest.mark.parametrize(("url", "profile"), HOSTS)
def test_E9_a_known_host_becomes_its_profile_in_every_importer(url: str, profile: str) -> None:
    ours = {"p": {"type": "openai", "base_url": url}}
    theirs = {"model_name": "m", "litellm_params": {"model": "openai/x", "api_base": url}}
    imported = [
        import_nnp({"providers.yaml": {"providers": ours}}, {}),
        import_lazyrouter({"providers": {"p": {"api_style": "openai", "base_url": url}}}, {}),
        import_litellm({"model_list": [theirs]}, {}),
    ]
    assert [next(iter(one.config["providers"].values()))["profile"] for one in imported] == [profile] * 3


NNP = {
    "providers.yaml": {
        "local": {"type": "openai", "base_url": "URL", "api_key_env": "LOCAL_KEY"},
        "ollama": {"type": "ollama", "base_url": "URL"},
    },
    "models.yaml": {
        "open": {"provider": "local", "provider_model_name": "x", "options": {"logit_bias": {"1": 1}}},
        "secret": {"provider": "local", "provider_model_name": "y", "is_hidden": True},
        "small": {"provider": "ollama", "provider_model_name": "z", "options": {"num_predict": 7, "temperature": 0}},
    },
    "user_keys.yaml": {
        "anna": {"api_key": "nnp-v1-0123456789abcdef", "allowed_models": ["open", "small"]},
        "bert": {"api_key": "nnp-v1-fedcba9876543210", "allowed_models": []},
    },
}


@pytest.mark.parametrize("rooted", [True, False])
def test_E15_E16_three_files_become_a_gateway(tmp_path: Path, rooted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_KEY", "pk-local")
    with upstream() as behind:
        files = []
        for name, content in NNP.items():
            document = {name.removesuffix(".yaml"): content} if rooted else content
            (tmp_path / name).write_text(yaml.safe_dump(document).replace("URL", behind.url))
            files.append(str(tmp_path / name))
        output = tmp_path / "dragoman.yaml"
        done = CliRunner().invoke(cli, ["import", "nnp", *files, "-o", str(output)])
        assert done.exit_code == 0, done.output
        running = Running(yaml.safe_load(output.read_text()), tmp_path).start()
        try:
            nnp_gateway(running, behind)
        finally:
            running.stop()


def nnp_gateway(running: Running, behind: Any) -> None:
    def ask(model: str, key: str, **more: Any) -> Any:
        return running.post("/v1/chat/completions", {"model": model, "messages": PLAIN, **more}, key)

    anna, bert = "nnp-v1-0123456789abcdef", "nnp-v1-fedcba9876543210"
    listed = [model["id"] for model in running.get("/v1/models", bert).json()["data"]]
    assert listed == ["open", "small", "auto"], "hidden models are usable and not listed"
    assert ask("secret", bert).status_code == 200
    assert ask("secret", anna).status_code == 403
    assert ask("secret", "nnp-v1-0000").status_code == 401
    ask("open", anna, logit_bias={"2": 2})
    assert behind.seen[-1].body["logit_bias"] == {"1": 1, "2": 2}
    assert behind.seen[-1].headers["authorization"] == "Bearer pk-local", "the client's own key stays here"
    ask("small", anna)
    assert (behind.seen[-1].body["max_tokens"], behind.seen[-1].body["temperature"]) == (7, 0)
    assert "num_predict" not in behind.seen[-1].body


STYLES = [
    ("openai", "", "/v1/chat/completions", "openai-compatible"),
    ("openai", "/v1", "/v1/chat/completions", "openai-compatible"),
    ("openai-completions", "/api/v1", "/api/v1/chat/completions", "openai-compatible"),
    ("openai-responses", "/v1", "/v1/responses", "openai-responses"),
    ("anthropic", "", "/v1/messages", "anthropic-compatible"),
    ("anthropic", "/v1", "/v1/messages", "anthropic-compatible"),
    ("gemini", "", "/v1beta/models/x:generateContent", "gemini-native-compatible"),
    ("gemini", "/v1beta", "/v1beta/models/x:generateContent", "gemini-native-compatible"),
    ("gemini", "/google/v1beta/", "/google/v1beta/models/x:generateContent", "gemini-native-compatible"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("style", "base", "sent", "profile"), STYLES)
def test_C43_every_style_reaches_its_endpoint(tmp_path: Path, style: str, base: str, sent: str, profile: str) -> None:
    with upstream() as behind:
        url = behind.url.removesuffix("/v1") + base
        providers = {"p": {"api_style": style, "base_url": url, "api_key": "k"}}
        document = {"providers": providers, "llms": {"m": {"provider": "p", "model": "x"}}}
        config = import_lazyrouter(document, {}).config
        assert config["providers"]["p"]["profile"] == profile
        with gateway(config, tmp_path) as running:
            running.post("/v1/chat/completions", {"model": "m", "messages": PLAIN})
        assert behind.seen[0].path == sent
        if style == "gemini":
            assert behind.seen[0].headers["authorization"] == "Bearer k"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "base", "dialect", "sent"),
    [
        ("gemini", "/v1beta", "gemini", "/v1beta/models/x:generateContent"),
        ("anthropic", "/v1", "anthropic", "/v1/messages"),
        ("openai-compatible", "/v1/chat/completions", "openai-chat", "/v1/chat/completions"),
    ],
)
def test_C43_a_version_in_the_base_url_is_not_repeated(
    tmp_path: Path, profile: str, base: str, dialect: str, sent: str
) -> None:
    with upstream() as behind:
        url = behind.url.removesuffix("/v1") + base
        config = {"providers": {"p": {"profile": profile, "base_url": url, "api_key": "k"}}}
        with gateway({**config, "models": {"m": {"target": "p/x"}}}, tmp_path) as running:
            running.post(path(dialect, "m"), body(dialect, "m"))
        assert behind.seen[0].path == sent
