"""`dragoman adapt` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import cli

LATE = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "A"},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Be brief."},
    ],
}
PLAIN = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
OWN = """
[mine]
dialect = "openai-chat"
[mine.facts]
system_place = "opening"
"""


def run(*args: str, stdin: object = None) -> Result:
    text = stdin if isinstance(stdin, (str, bytes)) else json.dumps(stdin)
    return CliRunner().invoke(cli, args, input=text, prog_name="dragoman")


def test_the_body_goes_to_stdout_and_the_report_to_stderr() -> None:
    done = run("adapt", "--from", "openai-chat", "--to", "gemini/gemini-2.5-flash", stdin=LATE)
    assert done.exit_code == 0
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["contents"][-1] == {"role": "user", "parts": [{"text": "[System] Be brief."}]}
    [line] = done.stderr.splitlines()
    assert line.split()[:2] == ["late-system", "/messages/2"]
    assert line.endswith("authority")


def test_the_report_says_where_nothing_changed() -> None:
    done = run("adapt", "--to", "openai/gpt-4o", stdin=PLAIN)
    assert done.stderr == "openai/gpt-4o: nothing changed\n"


def test_quiet_has_no_report() -> None:
    assert run("adapt", "-q", "--to", "gemini/gemini-2.5-flash", stdin=LATE).stderr == ""


def test_json_is_one_object() -> None:
    done = run("adapt", "--json", "--to", "gemini/gemini-2.5-flash", "--stream", stdin=LATE)
    found = json.loads(done.stdout)
    assert list(found) == ["target", "path", "body", "changes", "summary"]
    assert found["target"] == "gemini/gemini-2.5-flash"
    assert "streamGenerateContent" in found["path"]
    [change] = found["changes"]
    assert (change["rule"], change["at"], change["loses"]) == ("late-system", "/messages/2", "authority")
    assert done.stderr == ""


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(PLAIN, indent=2))
    done = run("adapt", str(file), "--to", "anthropic/claude-sonnet-4-5")
    assert json.loads(done.stdout)["messages"] == [{"role": "user", "content": "Hi"}]


def test_the_same_dialect_and_model_keep_the_bytes() -> None:
    body = '{"model":"gpt-4o", "messages":[{"content":"Hi","role":"user"}]}'
    assert run("adapt", "--to", "openai/gpt-4o", stdin=body).stdout == body + "\n"


def test_max_loss_refuses_a_heavier_repair() -> None:
    done = run("adapt", "--to", "gemini/gemini-2.5-flash", "--max-loss", "order", stdin=LATE)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("dragoman: standard input: /messages/2: late-system is needed")


def test_rules_can_be_chosen() -> None:
    done = run("adapt", "--to", "gemini/gemini-2.5-flash", "--rule", "late-system=opening", stdin=LATE)
    assert json.loads(done.stdout)["systemInstruction"]["parts"] == [{"text": "A\n\nBe brief."}]


def test_stop_after_runs_the_rules_up_to_one() -> None:
    args = ("adapt", "--to", "anthropic/claude-sonnet-4-5", "--json")
    request = {**PLAIN, "messages": [*PLAIN["messages"], {"role": "user", "content": "  "}]}
    rules = [change["rule"] for change in json.loads(run(*args, stdin=request).stdout)["changes"]]
    stopped = json.loads(run(*args, "--stop-after", "empty-content", stdin=request).stdout)["changes"]
    assert rules == ["empty-content", "required-setting"]
    assert [change["rule"] for change in stopped] == ["empty-content"]


def test_stopping_too_early_says_so() -> None:
    args = ("adapt", "--to", "gemini/gemini-2.5-flash", "--rule", "late-system=opening", "--stop-after", "late-system")
    done = run(*args, stdin=LATE)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "the rules after late-system would have repaired it" in done.stderr


def test_own_profiles(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    done = run("adapt", "--profiles", str(file), "--to", "mine/x", stdin=LATE)
    assert json.loads(done.stdout)["messages"][-1] == {"role": "user", "content": "[System] Be brief."}


def test_a_configuration_gives_names_rules_and_options(tmp_path: Path) -> None:
    file = tmp_path / "dragoman.yaml"
    file.write_text(
        "providers:\n  near: {profile: gemini, api_key: x}\n"
        "models:\n  smart: {target: near/gemini-2.5-flash, rules: {late-system: opening}}\n"
    )
    done = run("adapt", "--config", str(file), "--to", "smart", "--json", stdin=LATE)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["target"] == "near/gemini-2.5-flash"
    assert found["body"]["systemInstruction"]["parts"] == [{"text": "A\n\nBe brief."}]
    wrong = run("adapt", "--config", str(file), "--to", "smrt", stdin=LATE)
    assert (wrong.exit_code, "Did you mean" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("gemini/gemini-2.5-flash", ["-system: Be brief.", "+user: [System] Be brief."]),
        ("strict-template/x", ["+", "-"]),
    ],
)
def test_diff_shows_before_and_after(target: str, expected: list[str]) -> None:
    done = run("adapt", "--diff", "-q", "--to", target, stdin=LATE)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- before", "+++ after"]
    for wanted in expected:
        assert any(line.startswith(wanted) for line in lines[2:])


# JSON Lines


def test_lines_are_adapted_one_by_one_past_a_bad_one(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join([json.dumps(PLAIN), "oops", "", json.dumps(LATE)]))
    done = run("adapt", str(file), "--to", "gemini/gemini-2.5-flash")
    assert done.exit_code == 1
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 2
    bad, summary, _, changed = done.stderr.splitlines()
    assert bad.startswith(f"dragoman: {file}:2: not JSON")
    assert changed.endswith(f"{file}:4")
    assert summary == "3 requests for gemini/gemini-2.5-flash: 1 changed, 1 refused"


def test_lines_are_known_by_their_shape() -> None:
    done = run("adapt", "--json", "--to", "openai/gpt-4o", stdin=f"{json.dumps(PLAIN)}\n{json.dumps(PLAIN)}\n")
    assert [json.loads(line)["line"] for line in done.stdout.splitlines()] == [1, 2]


def test_one_object_over_lines_is_one_request() -> None:
    done = run("adapt", "--to", "openai/gpt-4o", stdin=json.dumps(LATE, indent=1))
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["messages"] == LATE["messages"]


def test_a_line_that_is_too_long_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.cli.inputs.request_files.MAX_BYTES", 1000)
    file = tmp_path / "many.jsonl"
    long = {"model": "m", "messages": [{"role": "user", "content": "x" * 5000}]}
    file.write_text("\n".join(map(json.dumps, (PLAIN, long, PLAIN))))
    done = run("adapt", str(file), "--to", "openai/gpt-4o")
    assert done.stdout.count("\n") == 2
    assert f"{file}:2: longer than" in done.stderr
