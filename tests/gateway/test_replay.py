"""`dragoman replay`: a refusal in the file is compiled, judged, shrunk, sent and made a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.gateway.serving import TIMEOUT, clean_environment, serving

from dragoman.cli import cli
from dragoman.testing import emulator

ORPHAN = {
    "model": "smart",
    "temperature": 0.5,
    "messages": [
        {"role": "system", "content": "You are helpful and you never say no."},
        {"role": "user", "content": "Hello there, how are you today?"},
        {"role": "assistant", "content": "Fine."},
        {"role": "tool", "tool_call_id": "call_nobody", "content": "42"},
        {"role": "user", "content": "So?"},
    ],
}


def line(**more: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-03-01T10:00:00.000Z",
        "provider": "deepseek",
        "stage": "request",
        "status_code": 400,
        "error_type": "bad_request",
        "error": "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "request_id": "req_1",
        "target": "deepseek/deepseek-chat",
        "client_dialect": "openai-chat",
        "upstream_dialect": "openai-chat",
        "input_request": ORPHAN,
        "sent_request": None,
    } | more


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "provider_errors.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def replay(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *arguments])


def test_C39_a_file_is_compiled_again_and_judged(tmp_path: Path) -> None:
    path = written(tmp_path, line(), line(target="mistral/mistral-small-latest"))
    done = replay(str(path))
    assert done.exit_code == 0, done.output
    assert "Messages with role 'tool' must be a response" in done.output
    assert "orphan-result" in done.output
    assert "deepseek accepts it" in done.output
    assert "mistral accepts it" in done.output


CALL = {"id": "call_1__thought__abc", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLED = {
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1__thought__abc", "content": "ok"},
    ],
    "tools": [{"functionDeclarations": [{"name": "look"}]}],
}


def test_C40_roles_shapes_of_tools_and_ids_are_compared(tmp_path: Path) -> None:
    """As the client wrote them, and as they are sent; once if they are the same."""
    path = str(written(tmp_path, line(input_request=CALLED)))
    native = replay(path, "--to", "gemini/gemini-2.5-flash").output
    assert "  roles       user system assistant tool → user user assistant tool\n" in native
    assert "  tools       look\n" in native
    assert "  shapes      functionDeclarations\n" in native
    assert "  ids         call_1__thought__abc → call_1\n" in native
    proxy = replay(path, "--to", "gemini-compatible/gemini-2.5-flash").output
    assert "  shapes      functionDeclarations → function+type\n" in proxy
    assert "  ids         call_1__thought__abc → none\n" in proxy
    told = json.loads(replay(path, "--to", "gemini/gemini-2.5-flash", "--json").output)["outline"]
    assert told["ids"] == {"asked": "call_1__thought__abc", "sent": "call_1"}


def test_a_line_as_text_and_another_target() -> None:
    done = replay(json.dumps(line()), "--to", "anthropic/claude-sonnet-4-5", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["emulator"], told["accepted"], told["target"]) == ("anthropic", True, "anthropic/claude-sonnet-4-5")
    assert {change["rule"] for change in told["changes"]} >= {"orphan-result"}


def test_what_is_refused_without_repairs(tmp_path: Path) -> None:
    done = replay(str(written(tmp_path, line())), "--direct")
    assert done.exit_code == 1
    assert "deepseek refuses the client's own request: 400" in done.output


def test_it_shrinks_to_what_matters(tmp_path: Path) -> None:
    done = replay(str(written(tmp_path, line())), "--direct", "--minimise", "--json")
    assert done.exit_code == 1, done.output
    smallest = json.loads(done.output)["request"]
    assert [turn["role"] for turn in smallest["messages"]] in (["tool"], ["tool", "user"], ["user", "tool"])
    assert "temperature" not in smallest


def test_what_is_accepted_is_not_shrunk(tmp_path: Path) -> None:
    done = replay(str(written(tmp_path, line())), "--minimise")
    assert done.exit_code == 1
    assert "there is nothing to shrink" in done.output


def test_the_body_of_then_is_compared(tmp_path: Path) -> None:
    now = json.loads(replay(json.dumps(line()), "--json").output)["body"]
    masked = json.loads(json.dumps(now).replace("Hello there", "xxxxx xxxxx"))
    assert json.loads(replay(json.dumps(line(sent_request=masked)), "--json").output)["differs"] == []
    other = {**now, "messages": now["messages"][:-1]}
    assert json.loads(replay(json.dumps(line(sent_request=other)), "--json").output)["differs"] == ["/messages"]


@pytest.mark.slow
@pytest.mark.parametrize("minimise", [(), ("--direct", "--minimise")])
def test_the_written_test_passes(tmp_path: Path, minimise: tuple[str, ...]) -> None:
    path = tmp_path / "test_refused.py"
    replay(str(written(tmp_path, line())), "--as-test", str(path), *minimise)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


WRONG = [
    (["nothing.jsonl"], "is no file and no id of a request"),
    (["{}"], "the text: is no line of provider_errors.jsonl"),
    ([json.dumps(line()), "--to", "mine/model"], "--config"),
    ([json.dumps(line(input_request="[LEFT OUT: the line had 9 bytes]"))], "contains no request"),
    ([json.dumps(line()), "--against", "opnai"], "openai"),
    ([json.dumps(line()), "--against", "gemini"], "does not serve"),
]


def test_a_provider_that_is_not_known_here_is_taken_for_any_of_its_dialect() -> None:
    done = replay(json.dumps(line(target="mine/model")))
    assert done.exit_code == 0
    assert "--config" in done.output
    assert "it is taken for openai-compatible\n" in done.output


def test_a_provider_with_an_own_profile_is_known(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(
        '[house]\ntitle = "House"\nlike = "openai"\n[house.facts]\norphan_result = "accepts"\n'
    )
    config = tmp_path / "dragoman.yaml"
    config.write_text(
        "profiles: [house.toml]\nproviders: {mine: {profile: house, base_url: 'http://127.0.0.1:9/v1'}}\n"
    )
    done = replay(json.dumps(line(target="mine/model")), "--config", str(config))
    assert "taken for" not in done.output
    assert "orphan-result  " not in done.output


@pytest.mark.parametrize(("arguments", "says"), WRONG)
def test_mistakes_are_named(arguments: list[str], says: str) -> None:
    done = replay(*arguments)
    told = done.output + str(done.exception or "")
    assert done.exit_code != 0
    assert says in told


@pytest.mark.slow
def test_from_a_refusal_at_the_gateway_to_an_answer(tmp_path: Path) -> None:
    """The gateway writes the line; replay sends it again."""
    with emulator("deepseek", fault="413;times=1") as one:
        (tmp_path / "dragoman.yaml").write_text(
            f"providers: {{mine: {{profile: deepseek, base_url: '{one.base_url}', api_key: k-secret-123456}}}}\n"
            "models: {smart: {target: mine/deepseek-chat}}\n"
        )
        with serving(tmp_path) as served:
            assert served.chat("smart").status_code == 413
        path = tmp_path / "logs" / "provider_errors.jsonl"
        text = path.read_text()
        assert "k-secret" not in text
        assert json.loads(text)["target"] == "mine/deepseek-chat"
        done = subprocess.run(
            [sys.executable, "-c", "from dragoman.cli import main; main()", "replay", str(path), "--send"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            cwd=tmp_path,
            env=clean_environment(),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "provider    answers:" in done.stdout
        assert one.requests[-1].verdict == "accepted"
