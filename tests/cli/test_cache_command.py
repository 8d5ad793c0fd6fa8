"""`dragoman cache`: which request of a recorded session broke the prompt cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.shapes.agent_loops import chat_agent, claude_code

from dragoman.cli import cli


def run(folder: Path, lines: list[Any], *more: str) -> Result:
    file = folder / "session.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return CliRunner().invoke(cli, ["cache", str(file), *more], prog_name="dragoman")


def test_a_loop_that_only_grows_breaks_nothing(tmp_path: Path) -> None:
    report = json.loads(run(tmp_path, claude_code(12), "--json").output)
    assert report["total"]["breaks"] == 0
    assert report["total"]["read"] > 0.75
    assert report["total"]["saved"] > 0


def test_the_request_that_changed_its_system_text_is_named(tmp_path: Path) -> None:
    loop = chat_agent(12)
    said = [{**loop[7]["messages"][0], "content": "It is noon."}, *loop[7]["messages"][1:]]
    loop = [*loop[:7], {**loop[7], "messages": said}]
    shown = run(tmp_path, loop, "--to", "openai/gpt-4o")
    assert shown.exit_code == 0, shown.output
    assert "session.jsonl:8" in shown.output
    assert "the client changed message 1" in shown.output


def test_counts_and_times_of_recorded_lines_are_believed(tmp_path: Path) -> None:
    counts = [(9_000, 0), (9_500, 9_000), (9_900, 0)]
    times = ["10:00:00", "10:01:00", "10:31:00"]
    lines = [
        {
            "id": f"req_{at}",
            "timestamp": f"2026-11-01T{time}+00:00",
            "client_dialect": "openai-chat",
            "asked": "fast",
            "target": "mine/gpt-4o",
            "upstream_model": "gpt-4o",
            "input_tokens": tokens,
            "cached_tokens": cached,
            "request": body,
        }
        for at, (time, (tokens, cached), body) in enumerate(zip(times, counts, chat_agent(3), strict=True))
    ]
    report = json.loads(run(tmp_path, lines, "--json").output)
    (session,) = report["sessions"]
    assert (session["worst"]["id"], session["resent_tokens"], session["model"]) == ("req_2", 9_500, "fast")
    assert session["worst"]["why"] == "30 minutes had passed since the turn before"
    assert session["lost"] > 0


def test_what_is_no_request_is_named(tmp_path: Path) -> None:
    shown = run(tmp_path, [*chat_agent(1), []])
    assert shown.exit_code == 1
    assert "session.jsonl:2" in shown.output
