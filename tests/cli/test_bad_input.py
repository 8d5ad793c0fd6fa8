"""Whatever is in a file: one clear line that says what, where and what to do; never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.offenders import offenders

from dragoman.cli import cli

DEEP = 20_000
"""Levels that no version of Python follows: the limit is 1,000 in 3.11, and about 10,000 later."""


def chat(*messages: Any, **more: Any) -> bytes:
    return json.dumps({"model": "m", "messages": list(messages), **more}).encode()


USER = {"role": "user", "content": "Hi"}
PARAMETERS = b'{"properties":{"a":' * DEEP + b"{}" + b"}}" * DEEP
TOOL = b'{"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":%b}}]}'

REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "no request found"),
    "blanks": (b" \n\n ", "no request found"),
    "text": (b"hello", "not JSON"),
    "list": (b"[]", "expected `object`, got `array`"),
    "number": (b"5", "expected `object`"),
    "cut off": (b'{"messages":[', "not JSON"),
    "NaN": (b'{"temperature":NaN,"messages":[]}', "not JSON"),
    "infinity": (b'{"messages":[{"role":"user","content":"a"}],"temperature":1e999}', "/temperature"),
    "no messages": (b"{}", "/messages"),
    "messages null": (b'{"messages":null}', "/messages"),
    "message null": (b'{"messages":[null]}', "/messages/0"),
    "role a number": (chat({"role": 5, "content": "a"}), "/messages/0/role"),
    "part a number": (chat({"role": "user", "content": [5]}), "/messages/0/content/0"),
    "calls an object": (chat({"role": "assistant", "tool_calls": {}}), "/messages/0/tool_calls"),
    "tools text": (chat(USER, tools="x"), "/tools"),
    "limit text": (chat(USER, max_tokens="x"), "/max_tokens"),
    "model a number": (b'{"model":5,"messages":[]}', "/model"),
    "latin-1": (b'{"messages":[{"role":"user","content":"\xe9"}]}', "not UTF-8"),
    "utf-16": ('{"messages":[]}'.encode("utf-16"), "not UTF-8"),
    "key twice": (b'{"model":"a","model":"b","messages":[]}', "/model"),
    "deep content": (b'{"messages":[{"role":"user","content":%b}]}' % (b"[" * DEEP + b"]" * DEEP), "too deep"),
    "deep schema": (TOOL % PARAMETERS, "too deep"),
    "deep and cut off": (b'{"messages":' + b"[" * 100_000, "too deep"),
}

TAKEN: dict[str, bytes] = {
    "messages text": b'{"messages":"hi"}',
    "no role": chat(USER, {"content": "a"}),
    "content a number": chat({"role": "user", "content": 5}),
    "byte order mark": b"\xef\xbb\xbf" + chat(USER),
    "lone surrogate": b'{"messages":[{"role":"user","content":"a\\ud800b"}]}',
    "nul": b'{"messages":[{"role":"user","content":"a\\u0000b"}]}',
    "arguments no JSON": chat(
        USER,
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ),
    "a huge number": b'{"messages":[{"role":"user","content":"a"}],"seed":%b}' % (b"9" * 300),
    "ten thousand messages": chat(*([USER, {"role": "assistant", "content": "Hello"}] * 5000), USER),
    "fifty megabytes": chat({"role": "user", "content": "x" * 50_000_000}),
}

TARGETS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(
    "command",
    [("adapt", "--to", TARGETS[1]), ("adapt", "--to", TARGETS[2]), ("adapt", "--to", TARGETS[0])],
    ids=TARGETS,
)
def test_refused_input(name: str, command: tuple[str, ...], tmp_path: Path) -> None:
    body, said = REFUSED[name]
    file = tmp_path / "bad.json"
    file.write_bytes(body)
    done = CliRunner().invoke(cli, [*command, "--from", "openai-chat", str(file)], prog_name="dragoman")
    assert done.exit_code == 1, done.exception
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(f"dragoman: {file}: ")
    assert said in line


@pytest.mark.parametrize("name", sorted(REFUSED.keys() - {"key twice"}))
def test_lint_refuses_the_same(name: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(REFUSED[name][0])
    done = CliRunner().invoke(cli, ["lint", str(file), "--from", "openai-chat", "--to", TARGETS[0]])
    assert done.exit_code == 1, done.exception
    assert f"dragoman: {file}: " in done.stderr


@pytest.mark.slow
def test_no_dialect_lets_a_fault_through(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"

    def check(name: str, source: str, target: str) -> None:
        file.write_bytes(REFUSED[name][0])
        done = CliRunner().invoke(cli, ["adapt", str(file), "--from", source, "--to", target, "-q"])
        assert done.exit_code in (0, 1), done.exception
        assert done.exception is None or isinstance(done.exception, SystemExit)

    sources = ("anthropic", "gemini", "openai-responses", "auto")
    assert not offenders(check, product(REFUSED, sources, TARGETS[1:]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TAKEN)
def test_odd_input_that_is_taken(name: str, target: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(TAKEN[name])
    done = CliRunner().invoke(cli, ["adapt", str(file), "--from", "openai-chat", "--to", target])
    assert done.exit_code == 0, (done.stderr, done.exception)
    assert json.loads(done.stdout)
    assert done.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["{dir}", "--to", "openai/x"], 1, "cannot be read: Is a directory"),
        (["{dir}/none.json", "--to", "openai/x"], 1, "none.json: cannot be read: No such file or directory"),
        (
            ["{file}", "--to", "openai/x", "--from", "opnai"],
            2,
            'no dialect is called "opnai". Did you mean "openai-chat"? Known:',
        ),
        (["{file}", "--to", "openai/x", "--profiles", "{dir}/none.toml"], 1, "none.toml: cannot be read"),
        (["{file}", "--to", "openai/x", "--profiles", "{file}"], 1, "{file}: "),
        (["{file}", "--to", "openai/x", "--config", "{dir}/none.yaml"], 1, "none.yaml"),
    ],
)
def test_bad_files_and_names(args: list[str], code: int, said: str, tmp_path: Path) -> None:
    file = tmp_path / "plain.json"
    file.write_bytes(chat(USER))
    names = {"dir": str(tmp_path), "file": str(file)}
    done = CliRunner().invoke(cli, ["adapt", *(arg.format(**names) for arg in args)], prog_name="dragoman")
    assert done.exit_code == code, (done.stderr, done.exception)
    [line] = done.stderr.splitlines()
    assert said.format(**names) in line


def test_nothing_in_a_request_can_move_the_cursor(tmp_path: Path) -> None:
    file = tmp_path / "esc.json"
    file.write_bytes(b'{"messages":[{"role":"user","content":"x","\\u001b[2J\\n\\u009b":1}],"\\u001b[2J":1}')
    for target in ("mistral/x", "gemini/x"):
        done = CliRunner().invoke(cli, ["adapt", str(file), "--from", "openai-chat", "--to", target])
        assert "\x1b" not in done.output
        assert "\x9b" not in done.output
        assert "\\u001b[2J" in done.stderr


# The real program


def program(*args: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    code = "from dragoman.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, check=False, **how)


def test_the_program_ends_with_one_line_and_no_traceback(tmp_path: Path) -> None:
    done = program("adapt", "--to", "openai/x", input=b"{")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"dragoman: standard input: not JSON")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_bytes((chat(USER) + b"\n") * 3000)
    code = f"{sys.executable} -c 'from dragoman.cli import main; main()' adapt -q {file} --to openai/x | head -n 1"
    done = subprocess.run(["bash", "-c", code], capture_output=True, check=False)
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


def test_a_fault_of_our_own_is_one_line_too() -> None:
    code = "import dragoman.cli as c\nc.cli.main = lambda: 1 / 0\nc.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("dragoman: internal error: ZeroDivisionError")
    assert "Traceback" not in done.stderr
