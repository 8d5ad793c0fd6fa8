"""`lint` and `adapt` over files of many requests and over transcripts: tables, details, processes, limits, repairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.cli import cli
from dragoman.cli.inputs import request_files
from dragoman.cli.json_splice import splice

USER = {"role": "user", "content": "Hi"}
LATE = {"model": "m", "messages": [USER, {"role": "system", "content": "Be brief."}]}
NAMED = {"model": "m", "messages": [{"role": "user", "content": "Hi", "name": "ann"}]}
PLAIN = {"model": "m", "messages": [USER]}
GEMINI = "gemini/gemini-2.5-flash"
CLAUDE = "anthropic/claude-sonnet-4-5"


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, [*args], input=stdin, prog_name="dragoman")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(map(json.dumps, [PLAIN, LATE] * 3 + [NAMED])) + "\n")
    return file


def test_a_table_ends_the_file(many: Path) -> None:
    done = run("lint", str(many), "--to", GEMINI)
    head, columns, *rows = done.stdout.splitlines()
    assert done.exit_code == 1
    assert head == (
        f"4 of 7 would be refused by {GEMINI}, 2 reasons; 4 would be changed; repairs lose: 3 authority, 1 metadata"
    )
    assert columns.split()[:4] == ["requests", "severity", "rule", "loses"]
    assert [row.split()[:4] for row in rows] == [
        ["3", "error", "late-system", "authority"],
        ["1", "error", "refused-name", "metadata"],
    ]
    assert rows[0].endswith(f"{many}:2")
    assert "Please use a valid role" in rows[0]


def test_long_sentences_keep_the_columns_straight(many: Path) -> None:
    _, columns, *rows = run("lint", str(many), "--to", "anthropic/claude-sonnet-4-6").stdout.splitlines()
    limit = next(row for row in rows if "required-setting" in row)
    assert limit.index("set the token limit") == columns.index("repair")


def test_details_show_every_line(many: Path) -> None:
    done = run("lint", str(many), "--to", GEMINI, "--details")
    assert done.stdout.count(f" → {GEMINI}\n") == 4
    assert f"{many}:4 → {GEMINI}" in done.stdout


def test_many_targets_have_a_row_each(many: Path) -> None:
    head, *rows = run("lint", str(many), "--to", "all").stdout.splitlines()
    assert head.split() == ["target", "refused", "changed", "loses", "reasons"]
    [gemini] = [row.split() for row in rows if row.startswith("gemini/latest ")]
    assert gemini[:3] == ["gemini/latest", "4", "4"]
    assert "late-system" in gemini


@pytest.mark.slow
def test_processes_give_the_same(many: Path) -> None:
    for command in (("lint", "--details"), ("lint", "--format", "json"), ("adapt",), ("adapt", "--json")):
        args = (*command, str(many), "--to", GEMINI)
        alone, together = run(*args), run(*args, "--jobs", "2")
        assert (alone.exit_code, alone.stdout, alone.stderr) == (together.exit_code, together.stdout, together.stderr)


def test_adapt_ends_with_a_table(many: Path) -> None:
    done = run("adapt", str(many), "--to", GEMINI)
    assert len(done.stdout.splitlines()) == 7
    summary, columns, *rows = done.stderr.splitlines()
    assert summary == f"7 requests for {GEMINI}: 4 changed, 0 refused"
    assert columns.split() == ["requests", "changes", "rule", "loses", "change", "first"]
    assert [row.split()[:4] for row in rows] == [
        ["3", "3", "late-system", "authority"],
        ["1", "1", "refused-name", "metadata"],
    ]
    details = run("adapt", str(many), "--to", GEMINI, "--details").stderr
    assert f"{many}:2: late-system" in details


@pytest.mark.parametrize("command", ["lint", "adapt"])
def test_lines_that_cannot_be_used_are_told_and_the_rest_goes_on(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_files, "MAX_BYTES", 1000)
    file = tmp_path / "bad.jsonl"
    long = json.dumps({"messages": [{"role": "user", "content": "x" * 3000}]})
    file.write_text("\n".join([json.dumps(PLAIN), "{oops", "[]", long, "5", json.dumps(LATE)]))
    done = run(command, str(file), "--to", GEMINI)
    assert done.exit_code == 1
    told = [line for line in done.stderr.splitlines() if line.startswith("dragoman: ")]
    assert [line.split(": ")[1] for line in told] == [f"{file}:{number}" for number in (2, 3, 4, 5)]
    assert [part in line for part, line in zip(("not JSON", "object", "longer", "object"), told, strict=True)] == [
        True
    ] * 4
    assert "late-system" in done.output


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("{oops\n" * 30 + json.dumps(PLAIN))
    done = run("lint", str(file), "--to", GEMINI)
    assert done.stderr.count("not JSON") == 10
    assert "… and 20 more requests that cannot be used (--details shows all)" in done.stderr
    assert run("lint", str(file), "--to", GEMINI, "--details").stderr.count("not JSON") == 30


# Transcripts

SESSION = [
    {"type": "summary", "summary": "s", "leafUuid": "9"},
    {"uuid": "1", "parentUuid": None, "type": "user", "sessionId": "s", "message": {"role": "user", "content": "Hi"}},
    {
        "uuid": "2",
        "parentUuid": "1",
        "type": "assistant",
        "sessionId": "s",
        "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
    },
]
ROLLOUT = [
    {"type": "session_meta", "payload": {"id": "s", "instructions": "Be brief."}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    },
]
CLI_SESSION = {
    "sessionId": "s",
    "projectHash": "p",
    "messages": [{"id": "1", "type": "user", "content": [{"text": "Hi"}]}],
}


def lines(*values: Any) -> str:
    return "\n".join(map(json.dumps, values))


FILES = {
    "claude-code": ("s.jsonl", lines(*SESSION)),
    "codex": ("r.jsonl", lines(*ROLLOUT)),
    "gemini-cli": ("session.json", json.dumps(CLI_SESSION, indent=2)),
    "gemini-checkpoint": ("c.json", json.dumps([{"role": "user", "parts": [{"text": "Hi"}]}])),
    "batch": ("b.jsonl", lines({"custom_id": "1", "url": "/v1/chat/completions", "body": PLAIN})),
    "fine-tuning": ("f.jsonl", lines({"messages": [USER, {"role": "assistant", "content": "Hello"}]})),
    "langchain": ("l.json", json.dumps([{"type": "human", "data": {"content": "Hi"}}], indent=1)),
    "vercel-ai": ("v.json", json.dumps([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}])),
    "messages": ("m.json", json.dumps([USER])),
}


@pytest.mark.parametrize("form", FILES)
def test_transcripts_are_known_by_their_content(form: str, tmp_path: Path) -> None:
    name, text = FILES[form]
    file = tmp_path / name
    file.write_text(text)
    done = run("adapt", str(file), "--to", CLAUDE)
    assert done.exit_code == 0, done.output
    assert f"{file}: read as " in done.stderr
    assert f"(--from {form})" in done.stderr
    sent = json.loads(done.stdout)["messages"]
    assert [(turn["role"], "Hi" in json.dumps(turn)) for turn in sent] == [("user", True)]
    quiet = run("adapt", str(file), "--to", CLAUDE, "--from", form)
    assert "read as" not in quiet.stderr
    assert quiet.stdout == done.stdout
    assert run("lint", str(file), "--to", GEMINI).exit_code == 0


def test_a_bad_line_in_a_session_is_told(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(lines(*SESSION) + '\n{"cut": ')
    done = run("adapt", str(file), "--to", CLAUDE)
    assert done.exit_code == 1
    assert f"{file}:4: not JSON" in done.stderr
    assert json.loads(done.stdout)["messages"]


def test_a_session_without_a_message(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(ROLLOUT[0]))
    done = run("lint", str(file), "--to", CLAUDE)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "holds no conversation, if it is a session of Codex" in done.stderr


def test_transcripts_are_not_rewritten(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(lines(*SESSION))
    done = run("lint", str(file), "--to", CLAUDE, "--fix")
    assert done.exit_code == 1
    assert "--fix cannot write a session of Claude Code" in done.stderr
    assert file.read_text() == lines(*SESSION)


# --fix


def test_fix_tells_what_it_changed_and_keeps_the_old_file(many: Path) -> None:
    before = many.read_bytes()
    done = run("lint", str(many), "--to", GEMINI, "--fix")
    assert done.exit_code == 0, done.output
    backup = many.with_name("many.jsonl.bak")
    assert backup.read_bytes() == before
    assert f"{many}: 4 requests repaired: late-system ×3, refused-name; the old file is {backup}" in done.stderr
    old, new = before.splitlines(), many.read_bytes().splitlines()
    assert [one == two for one, two in zip(old, new, strict=True)] == [True, False] * 3 + [False]
    assert run("lint", str(many), "--to", GEMINI).exit_code == 0


def test_fix_overwrites_no_backup(many: Path) -> None:
    first = many.with_name("many.jsonl.bak")
    first.write_text("mine")
    run("lint", str(many), "--to", GEMINI, "--fix", "--details")
    assert first.read_text() == "mine"
    assert many.with_name("many.jsonl.bak.2").exists()


def test_fix_without_backup(many: Path) -> None:
    run("lint", str(many), "--to", GEMINI, "--fix", "--no-backup")
    assert [file.name for file in many.parent.iterdir()] == [many.name]


def test_fix_does_not_touch_the_text_of_what_is_fine(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    text = (
        '{ "model":"m",\n  "temperature": 1.0,   "stop":["a" ,"\\u00e9"],\n'
        '\t"messages": [\n    {"content": "Hi",   "role": "user"},\n'
        '    {"role": "system", "content": "Be brief."}\n  ]\n}\n'
    )
    file.write_text(text)
    done = run("lint", str(file), "--to", GEMINI, "--fix")
    assert done.exit_code == 0, done.output
    assert f"{file}: late-system at /messages/1: turned into a user turn (loses authority)" in done.stderr
    assert file.read_text() == text.replace(
        '{"role": "system", "content": "Be brief."}', '{"role": "user", "content": "[System] Be brief."}'
    )


texts = st.text(max_size=4) | st.sampled_from(["a", '"', "\\", 'a": ', ", "])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd") | texts, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(deadline=None)
@given(values, values, st.sampled_from([None, 1, 2, 4]), st.booleans())
def test_splicing_gives_the_new_value_and_keeps_the_old_text(
    old: Any, new: Any, indent: int | None, plain: bool
) -> None:
    text = json.dumps(old, indent=indent, ensure_ascii=plain).encode()
    assert json.loads(splice(b" " + text + b"\n", json.dumps(new).encode())) == new
    assert splice(text, json.dumps(old).encode()) == text
