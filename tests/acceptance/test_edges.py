"""Edges of the acceptance list: what its words imply beside the usual case."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.asking import CLAUDE, NATIVE, OPENAI, PROXY, rules, says, sent
from tests.acceptance.asking import ask as request
from tests.acceptance.through_gateway import DONE, SAYS, ask, served, streamed

from dragoman.config.load import load
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Provider
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.gateway.config_names import collect_names
from dragoman.profiles.profile import Profiles
from dragoman.upstream.destinations import Routes

UNREADABLE = "Unable to read error response from provider"


def test_E3_marks_of_streams_do_not_reach_a_client_in_a_whole_answer_either(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "done", "__internal__": {"a": 1}}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "__stream_end__": True}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice], "done": True}
    with served(tmp_path, lambda seen: (200, json.dumps(answer).encode())) as (running, _):
        got = ask(running).json()
    assert "done" not in got
    assert "__stream_end__" not in got["choices"][0]
    assert got["choices"][0]["message"]["content"] == "done"
    assert "__internal__" not in got["choices"][0]["message"]


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00\x01" * 10, b"\x1f\x8b\x08\x00\x00\x00"])
def test_E5_what_is_no_text_has_the_fixed_words(tmp_path: Path, body: bytes) -> None:
    with served(tmp_path, lambda seen: (400, body)) as (running, _):
        assert ask(running).json()["error"]["message"] == UNREADABLE


FAILURES: dict[str, Any] = {
    "in place of an answer": lambda seen: (200, b'{"error":{"message":"No.","code":402}}'),
    "in a stream": streamed(SAYS, b'data: {"error":{"message":"No.","code":502}}\n\n', DONE),
    "without words": lambda seen: (500, b""),
}


@pytest.mark.parametrize("profile", ["openai-compatible", "openrouter"])
def test_E14_a_stream_that_breaks_off_names_its_provider(tmp_path: Path, profile: str) -> None:
    with served(tmp_path, streamed(*[SAYS] * 200), profile=profile) as (running, _):
        told = ask(running, stream=True).text
    last = json.loads(told.partition('data: {"error"')[2].join(['{"error"', ""]).partition("\n")[0])
    assert last["error"]["metadata"]["provider_name"] == "p"


@pytest.mark.parametrize("name", FAILURES)
def test_E14_every_error_names_its_provider(tmp_path: Path, name: str) -> None:
    with served(tmp_path, FAILURES[name], retries={"attempts": 1}) as (running, _):
        error = ask(running, stream=name == "in a stream").json()["error"]
    assert error["metadata"]["provider_name"] == "p"


NAMELESS = [
    {"function_declarations": [{"name": "c"}, {"description": "no name"}]},
    {"functionDeclarations": [{"name": "c"}, {"name": ""}]},
]


@pytest.mark.parametrize("tool", NAMELESS)
@pytest.mark.parametrize("target", [OPENAI, PROXY, NATIVE, CLAUDE])
def test_C13_a_declaration_without_a_name_is_left_out(target: str, tool: Any) -> None:
    done = sent(request(says("user", "Hi"), tools=[tool]), target)
    assert "off-schema" in rules(done)
    assert json.dumps(done.json["tools"]).count('"name"') == 1


FILE = f"data:text/plain;base64,{b64encode('Grüße'.encode()).decode()}"
NOTE = says("user", [{"type": "file", "file": {"filename": "n.txt", "file_data": FILE}}])


def test_D6_a_file_of_text_arrives_as_its_text() -> None:
    block = sent(request(NOTE), CLAUDE).json["messages"][0]["content"][0]
    assert block["source"] == {"type": "text", "media_type": "text/plain", "data": "Grüße"}
    assert block["title"] == "n.txt"
    assert "Grüße" in json.dumps(sent(request(NOTE), "deepseek/deepseek-chat").json, ensure_ascii=False)


def test_D6_a_file_that_only_says_that_it_is_text_is_named() -> None:
    picture = FILE.partition(",")[0] + "," + b64encode(b"\xff\xfe\x00").decode()
    note = says("user", [{"type": "file", "file": {"filename": "n.txt", "file_data": picture}}])
    assert "[document: n.txt]" in json.dumps(sent(request(note), CLAUDE).json)


def test_C34_limits_that_are_configured_hold_however_small() -> None:
    turns = [says(role, "word " * 400) for _ in range(30) for role in ("user", "assistant")]
    policy = TrimPolicy(max_history_tokens=9000, keep_recent_exchanges=1, old_message_max_tokens=10)
    done = adapt(
        request(*turns, says("user", "Now?")), source="openai-chat", target=OPENAI, policy=Policy(history=policy)
    )
    assert min(len(message["content"]) for message in done.json["messages"][:-1]) < 80


def test_C42_a_header_whose_variable_is_not_set_is_not_sent_and_warned_about(tmp_path: Path) -> None:
    file = tmp_path / "dragoman.yaml"
    file.write_text("providers: {p: {profile: openai, headers: {X-A: '${NOT_SET_HERE}', X-B: b}}}")
    loaded = load(file, known=collect_names(), process={})
    assert loaded.config.providers["p"].headers == {"X-B": "b"}
    assert any("NOT_SET_HERE" in warning for warning in loaded.warnings)


@pytest.mark.parametrize("base", ["", "/v1", "/v1beta", "/v1beta/models"])
def test_C43_any_version_in_the_address_of_a_gemini_proxy_is_put_right(base: str) -> None:
    provider = Provider(profile="gemini-native-compatible-strict", base_url=f"http://proxy.example{base}")
    route = Routes(Config(providers={"p": provider}), Profiles()).find("p/gemini-2.5-pro")
    assert route is not None
    assert route.first.base_url == "http://proxy.example"
