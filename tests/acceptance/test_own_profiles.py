"""A12: a transcript policy of one's own is a profile in a file; and E16: a model for recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.acceptance.asking import ask, says
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import upstream

from dragoman.cli import cli
from dragoman.config.errors import InvalidConfig
from dragoman.config.load import load
from dragoman.engine.library.adapt import adapt
from dragoman.gateway.config_names import collect_names, own_profiles
from dragoman.gateway.http.server import ServedFile, ServeOptions

PROFILE = """
[strict-local]
dialect = "openai-chat"
title = "our own server"

[strict-local.facts]
system_count = "one"
repeated_roles = "refuses"
first_turn = "user"
"""
ASKED = ask(says("system", "1"), says("system", "2"), says("user", "a"), says("user", "b"))
SENT = [says("system", "1\n\n2"), says("user", "a\n\nb")]


def test_A12_an_own_profile_in_library_and_command_line(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PROFILE)
    profiles = own_profiles([tmp_path / "own.toml"])
    assert adapt(ASKED, target="strict-local/x", profiles=profiles).json["messages"] == SENT
    options = ["--to", "strict-local/x", "--profiles", str(tmp_path / "own.toml")]
    done = CliRunner().invoke(cli, ["adapt", "-", *options], input=json.dumps(ASKED))
    assert json.loads(done.stdout)["messages"] == SENT


def test_A12_an_own_profile_in_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PROFILE)
    with upstream() as behind:
        config: dict[str, Any] = {"profiles": ["own.toml"], "providers": {"p": provider("strict-local", behind.url)}}
        with gateway({**config, "models": {"m": {"target": "p/x"}}}, tmp_path) as running:
            answered = running.post("/v1/chat/completions", ASKED)
            assert answered.status_code == 200
            assert behind.seen[-1].body["messages"] == SENT
            done = CliRunner().invoke(
                cli, ["adapt", "-", "--to", "m", "--config", str(running.file)], input=json.dumps(ASKED)
            )
            assert json.loads(done.stdout)["messages"] == SENT


def test_A12_serve_takes_profiles_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PROFILE)
    file = tmp_path / "dragoman.yaml"
    file.write_text("providers: {p: {profile: strict-local, base_url: 'http://127.0.0.1:1/v1'}}\n")
    with pytest.raises(InvalidConfig, match='"strict-local"'):
        load(file, known=collect_names(), process={})
    plan = ServeOptions(file, profiles=(tmp_path / "own.toml",))
    assert "p" in ServedFile(plan, own_profiles(plan.profiles)).load().config.providers
    assert "--profiles" in CliRunner().invoke(cli, ["serve", "--help"]).output


def test_A12_a_bad_profile_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "dragoman.yaml"
    file.write_text("profiles: [missing.toml]\n")
    with pytest.raises(InvalidConfig, match=r"missing\.toml"):
        load(file, known=collect_names(), process={})


def test_E16_a_recording_without_a_model_gets_the_default_one(tmp_path: Path) -> None:
    with upstream(lambda seen: (200, {"text": "hello"})) as behind:
        models = {"chat": {"target": "p/talks"}, "ears": {"target": "p/whisper-1"}}
        config = {"providers": {"p": provider("openai", behind.url)}, "models": models, "default_model": "chat"}
        with gateway({**config, "default_audio_model": "ears"}, tmp_path) as running:
            for fields in ({}, {"model": "ears"}):
                answered = posted(running, fields)
                assert answered.json() == {"text": "hello"}
                assert answered.headers["x-dragoman-model"] == "p/whisper-1"
                assert behind.seen[-1].raw.count(b'name="model"') == 1
                assert b"\r\n\r\nwhisper-1\r\n" in behind.seen[-1].raw


def posted(running: Running, fields: dict[str, str]) -> Any:
    files = {"file": ("a.wav", b"RIFF", "audio/wav")}
    return running.http.post(f"{running.url}/v1/audio/transcriptions", data=fields, files=files)


ENTRY = {"id": "x", "context_length": 131072, "pricing": {"prompt": "0.1"}}


def test_E16_models_with_what_their_provider_says_about_them(tmp_path: Path) -> None:
    with upstream(lambda seen: (200, {"data": [ENTRY, {"id": "other"}]})) as behind:
        models = {"m": {"target": "p/x"}, "unknown": {"target": "p/z"}}
        with gateway({"providers": {"p": provider("openrouter", behind.url)}, "models": models}, tmp_path) as running:
            plain = running.get("/v1/models").json()["data"]
            assert (behind.seen, [set(one) for one in plain]) == ([], [{"id", "object", "created", "owned_by"}] * 3)
            live, other, _ = running.get("/v1/models?live=true").json()["data"]
            assert (live["id"], live["context_length"], live["metadata"]) == ("m", 131072, ENTRY)
            assert "metadata" not in other
            assert running.get("/v1/models/m?live=true").json()["metadata"] == ENTRY
            assert [one.path for one in behind.seen] == ["/v1/models"], "asked once, and kept"


def test_E16_a_provider_that_does_not_answer_hides_no_model(tmp_path: Path) -> None:
    with upstream(lambda seen: (500, b"oh")) as behind:
        config = {"providers": {"p": provider("anthropic", behind.url)}, "models": {"m": {"target": "p/x"}}}
        with gateway(config, tmp_path) as running:
            assert [one["id"] for one in running.get("/v1/models?live=1").json()["data"]] == ["m", "auto"]
