"""Operations by id: names in answers, prefixes, files of exchanges, replay, settings by family."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import strict_readers
from tests.acceptance.through_gateway import DONE, LENIENT, PATH, SAYS, STOP, ask, served
from tests.gateway.asking import PLAIN, body, path
from tests.gateway.upstream import GOOD, Answer, Seen, refusal
from tests.targets import MODELS

from dragoman.cli import cli
from dragoman.config.importers.lazyrouter import import_lazyrouter
from dragoman.profiles.profile import Profiles

NAMED = {**GOOD, "model": "upstream-x"}
STREAM = (SAYS + STOP).replace(b'"model": "x"', b'"model": "upstream-x"') + DONE


def named(seen: Seen) -> Answer:
    return (200, STREAM) if seen.body.get("stream") else (200, NAMED)


def models_in(text: str, dialect: str) -> set[str]:
    """Every name of a model that an answer holds."""
    found: set[str] = set()
    for line in text.splitlines():
        data = line.removeprefix("data: ")
        if data.startswith("{"):
            chunk = json.loads(data)
            inner = chunk.get("message") or chunk.get("response") or chunk
            found |= {inner["model"]} if "model" in inner else set()
    return found


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic", "openai-responses"])
@pytest.mark.parametrize(
    ("choice", "relayed", "translated"),
    [(None, "upstream-x", "m"), ("alias", "m", "m"), ("upstream", "upstream-x", "upstream-x")],
)
def test_the_model_that_an_answer_names(
    tmp_path: Path, dialect: str, stream: bool, choice: str | None, relayed: str, translated: str
) -> None:
    """K23."""
    models = {"m": {"target": "p/x", **({"answer_model": choice} if choice else {})}}
    with served(tmp_path, named, models=models) as (running, _):
        told = running.post(path(dialect, "m"), body(dialect, "m", stream=stream))
        assert "Hello" in told.text or "Good." in told.text
        assert models_in(told.text, dialect) == {relayed if dialect == "openai-chat" else translated}


LACKING = {
    "id": "a1",
    "object": "chat.completion.chunk",
    "created": 5,
    "model": "x",
    "choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


@pytest.mark.parametrize("answers", ["whole", "complete"])
def test_streams_are_completed_if_that_is_configured(tmp_path: Path, answers: str) -> None:
    """Another vendor's stream in the client's own dialect: relayed as it is, unless the model says otherwise (K23)."""
    sent = f"data: {json.dumps(LACKING)}\n\ndata: [DONE]\n\n".encode()
    models = {"m": {"target": "p/x", "answers": answers}}
    asked = {**body("openai-chat", "m", stream=True), "stream_options": {"include_usage": True}}
    with served(tmp_path, lambda _: (200, sent), models=models) as (running, _):
        told = running.post(PATH, asked).content
    assert (told == sent) is (answers == "whole")
    if answers == "complete":
        assert strict_readers.read("openai-chat", told, True).text == "Hello"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_C45_a_prefix_is_shown_and_taken_off_again(tmp_path: Path, dialect: str, stream: bool) -> None:
    models = {"m": {"target": "p/x", "show_model_prefix": True}}
    with served(tmp_path, named, models=models) as (running, behind):
        told = running.post(path(dialect, "m"), body(dialect, "m", stream=stream)).text
        assert told.count("[p/x] ") == 1
        assert "[p/x] Hello" in told or "[p/x] Good." in told
        history = [*PLAIN, {"role": "assistant", "content": "[p/x] [p/x] Good."}, *PLAIN]
        answered = running.post(PATH, {"model": "m", "messages": history})
        assert behind.seen[-1].body["messages"][len(PLAIN)]["content"] == "Good."
        assert "model-prefix" in answered.headers["x-dragoman-changes"]


def test_C45_it_is_taken_off_when_the_conversation_moves_to_another_model(tmp_path: Path) -> None:
    models = {"m": {"target": "p/x", "show_model_prefix": True}, "plain": {"target": "p/y"}}
    with served(tmp_path, named, models=models) as (running, behind):
        history = [*PLAIN, {"role": "assistant", "content": "[p/x] Good."}, *PLAIN]
        for name in ("plain", "p/z"):
            assert "[p/" not in running.post(PATH, {"model": name, "messages": history}).text
            assert behind.seen[-1].body["messages"][len(PLAIN)]["content"] == "Good."


def test_C45_it_is_imported() -> None:
    document = {"serve": {"show_model_prefix": True}, "llms": {"m": {"provider": "p", "model": "x"}}}
    imported = import_lazyrouter({**document, "providers": {"p": {}}}, {})
    assert imported.config["models"]["m"]["show_model_prefix"] is True


def test_C46_the_report_says_who_was_tried_and_why_it_went_on(tmp_path: Path) -> None:
    def judge(seen: Seen) -> Answer | None:
        return (503, refusal("down")) if seen.body["model"] == "x" else None

    models = {"m": {"target": "p/x", "fallbacks": ["p/y"]}}
    retries = {"attempts": 1}
    with served(tmp_path, judge, models=models, retries=retries) as (running, _):
        answered = ask(running)
        report = running.get(f"/dragoman/requests/{answered.headers['x-dragoman-request-id']}").json()
        assert (report["asked"], report["target"]) == ("m", "p/y")
        assert report["tried"] == [{"target": "p/x", "failed": "overloaded", "status": 503}]


def test_C46_the_report_says_what_a_route_chose_and_why(tmp_path: Path) -> None:
    with served(tmp_path, models={"m": {"target": "p/x"}, "n": {"target": "p/y"}}) as (running, _):
        routed = ask(running, model="auto", session_id="chat 7")
        report = running.get(f"/dragoman/requests/{routed.headers['x-dragoman-request-id']}").json()
        reason = "the first of the route"
        assert report["route"] == {"model": "m", "reason": reason, "skipped": "", "session": "chat 7"}
        assert (report["profile"], report["messages_read"], report["messages_written"]) == (LENIENT, 1, 1)
        named = ask(running)
        report = running.get(f"/dragoman/requests/{named.headers['x-dragoman-request-id']}").json()
        assert report["route"] is None


ASKED = {"messages": [{"role": "user", "content": "a secret plan"}], "max_tokens": 5}


def today() -> str:
    return datetime.now(UTC).date().isoformat()


@pytest.mark.parametrize("content", [True, False])
def test_C41_a_file_a_day_with_the_request_as_asked_and_as_sent(tmp_path: Path, content: bool) -> None:
    folder, began = tmp_path / "exchanges", today()
    log = {"exchanges": {"folder": str(folder), "content": content}}
    with served(tmp_path, log=log) as (running, _):
        answered = running.post("/v1/messages", {"model": "m", "system": "Be brief.", **ASKED})
    (file,) = folder.iterdir()
    assert file.stem in {began, today()}
    assert file.suffix == ".jsonl"
    line = json.loads(file.read_text())
    assert line["id"] == answered.headers["x-dragoman-request-id"]
    assert (line["asked"], line["target"], line["status"]) == ("m", "p/x", 200)
    assert set(line["request"]) == {"model", "system", "messages", "max_tokens"}
    assert [one["role"] for one in line["request_effective"]["messages"]] == ["system", "user"]
    assert ("a secret plan" in file.read_text()) is content
    assert "answer" not in line


@pytest.mark.parametrize("stream", [False, True])
def test_C47_a_file_for_each_dialect_captures_what_clients_say(tmp_path: Path, stream: bool) -> None:
    folder = tmp_path / "captured"
    log = {"exchanges": {"folder": str(folder), "split": "dialect", "answers": True}}
    with served(tmp_path, named, log=log) as (running, _):
        for dialect in ("openai-chat", "openai-responses", "anthropic"):
            running.post(path(dialect, "m"), body(dialect, "m", stream=stream))
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        running.post(f"/v1beta/models/m:{method}", body("gemini", "m"))
    captured = {file.stem: json.loads(file.read_text()) for file in folder.iterdir()}
    assert set(captured) == {"openai-chat", "openai-responses", "anthropic", "gemini"}
    for dialect, one in captured.items():
        answer = one["answer"].encode() if stream else json.dumps(one["answer"]).encode()
        assert strict_readers.read(dialect, answer, stream, used=False).text == ("Hello" if stream else "Good.")
    assert captured["gemini"]["request"]["contents"]


def test_C41_C47_are_off_unless_asked_for(tmp_path: Path) -> None:
    with served(tmp_path) as (running, _):
        ask(running)
        assert not running.services.records.exchanges.is_wanted


LINE = {"timestamp": "2026-11-15T00:00:00Z", "stage": "request", "status_code": 400, "error": "no"}
CHAT = {"model": "m", "messages": PLAIN}


@pytest.mark.parametrize("profile", Profiles().names())
def test_C40_a_line_of_any_profile_is_replayed(profile: str) -> None:
    for dialect, asked in (("openai-chat", CHAT), ("anthropic", {**CHAT, "max_tokens": 5})):
        line = {
            **LINE,
            "provider": profile,
            "target": f"{profile}/{MODELS.get(profile, ('m',))[0]}",
            "client_dialect": dialect,
            "input_request": asked,
        }
        done = CliRunner().invoke(cli, ["replay", json.dumps(line)])
        assert (done.exit_code, "accepts it" in done.output) == (0, True), done.output


@pytest.mark.parametrize(
    ("more", "judge"),
    [
        ({"provider": "gemini", "params": {"model": "gemini-2.5-pro"}}, "gemini"),
        ({"provider": "ours"}, "compatible-lenient"),
        ({"provider": "ours", "target": "ours/x", "upstream_dialect": "anthropic"}, "anthropic-compatible"),
    ],
)
def test_C40_a_line_that_names_little_is_replayed_too(more: dict[str, Any], judge: str) -> None:
    line = {**LINE, "input_request": CHAT, **more}
    done = CliRunner().invoke(cli, ["replay", json.dumps(line)])
    assert done.exit_code == 0, done.output
    assert f"{judge} accepts it" in done.output


OVERRIDES: list[dict[str, Any]] = [
    {"match": "Opus", "options": {"temperature": 1}, "omit": ["top_p"], "cache_control": False, "strict_tools": False},
    {"match": "opus-4", "options": {"temperature": 2}},
    {"match": "deepseek", "reasoning": "disable", "options": {"provider": {"order": ["a"], "allow_fallbacks": False}}},
    {"match": "qwen", "reasoning": "omit"},
    {"match": "glm", "reasoning": "enable"},
]
TOOL = {"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "object"}}}
HINTED = [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]


def test_A19_settings_by_a_part_of_the_models_name(tmp_path: Path) -> None:
    models = {"special": {"target": "p/anthropic/claude-opus-4-6", "options": {"temperature": 0.5}}}
    with served(tmp_path, profile="openrouter", models=models, overrides=OVERRIDES) as (running, behind):

        def sent(model: str, **more: Any) -> Any:
            assert running.post(PATH, {"model": model, "messages": PLAIN, **more}).status_code == 200
            return behind.seen[-1].body

        first = sent(
            "p/anthropic/claude-opus-4-6",
            temperature=0,
            top_p=0.5,
            tools=[TOOL],
            messages=[{"role": "user", "content": HINTED}],
        )
        assert (first["temperature"], "top_p" in first) == (1, False), (
            "forced, left out; the first that matches is taken"
        )
        assert "cache_control" not in json.dumps(first)
        assert "strict" not in first["tools"][0]["function"]
        assert sent("special", top_p=0.5)["temperature"] == 0.5, "what a model of the file says wins"
        deep = sent("p/deepseek/deepseek-chat", reasoning={"effort": "high"})
        assert (deep["reasoning"], deep["provider"]["order"]) == ({"enabled": False}, ["a"])
        assert "reasoning" not in sent("p/qwen/qwen3", reasoning={"effort": "high"})
        assert sent("p/z-ai/glm-5")["reasoning"] == {"enabled": True}
        assert sent("p/other/model", top_p=0.5)["top_p"] == 0.5


@pytest.mark.parametrize(
    ("mode", "told"),
    [("enable", {"type": "enabled", "budget_tokens": 16384}), ("disable", {"type": "disabled"}), ("omit", None)],
)
def test_A19_thinking_is_switched_in_the_form_of_every_target(tmp_path: Path, mode: str, told: Any) -> None:
    overrides = [{"match": "claude", "reasoning": mode}]
    with served(tmp_path, profile="anthropic", overrides=overrides) as (running, behind):
        running.post(PATH, {"model": "p/claude-sonnet-4-5", "messages": PLAIN, "reasoning_effort": "high"})
        assert behind.seen[-1].body.get("thinking") == told
