"""`dragoman chat`, driven as a user drives it: lines in, answers out, everything else beside them."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.free_ports import stop_listening

from dragoman.cli import cli
from dragoman.cli.chat_turns import AnswerPiece, TurnEvent
from dragoman.cli.commands.providers import chat

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN")) or name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)


def talk(*lines: str, args: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(cli, ["chat", *args], input="\n".join(lines) + "\n", prog_name="dragoman")


def test_answers_go_to_stdout_and_all_else_to_stderr() -> None:
    done = talk('Reply with "Good morning".', args=("claude-sonnet-4-5", "--system", "Be brief."))
    assert done.exit_code == 0, done.output
    assert done.stdout == "Good morning\n"
    assert "using the strict emulators; their answers are made up" in done.stderr
    assert "required-setting: set the token limit to 8192 (at /max_tokens)" in done.stderr
    assert "anthropic/claude-sonnet-4-5 is emulated" in done.stderr
    assert " tokens in, " in done.stderr


def test_another_model_goes_on_with_the_conversation() -> None:
    lines = ("My cat is called Tom", "/model gemini-2.5-flash", "My cat?", "/model gpt-4o", "How is my cat called?")
    done = talk(*lines, args=("claude-sonnet-4-5",))
    assert done.exit_code == 0, done.output
    first, second, third = done.stdout.splitlines()
    assert first.startswith('You say: "My cat is called Tom".')
    assert second.startswith('You say: "My cat?". It was said before: "')
    assert third.startswith('You say: "How is my cat called?". It was said before: "')
    assert "Tom" in third


def test_an_unknown_model_is_told_and_the_old_one_stays() -> None:
    done = talk("/model claud-sonnet-4-6", "Hi", args=("gpt-4o",))
    assert 'Did you mean "claude-sonnet-4-6"' in done.stderr
    assert "GET" not in done.stderr
    assert "openai/gpt-4o is emulated" in done.stderr
    refused = talk(args=("nope",))
    assert refused.exit_code == 2
    assert "/model in `dragoman chat` lists what there is" in refused.stderr


def test_pictures_saving_and_clearing(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    done = talk(
        "/image dot.png",
        "What is it?",
        "/save talk.json",
        "/clear",
        "/system Be brief.",
        "Count to 3",
        "/save talk.json",
    )
    assert "/image" not in done.stdout
    saved = json.loads((tmp_path / "talk.json").read_text())
    picture, text = saved["messages"][0]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert text == {"type": "text", "text": "What is it?"}
    assert [message["role"] for message in saved["messages"]] == ["user", "assistant"]
    asked, counted = done.stdout.splitlines()
    assert "There is a picture of 1 by 1 pixels: image/png" in asked
    assert counted == "1, 2, 3"
    assert "talk.json: is there already" in done.stderr
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/image", "/image: names no picture"),
        ("/image none.png", "none.png: cannot be read: No such file"),
        ("/image text.png", "text.png: is no picture"),
        ("/save", "/save: names no file"),
        ("/save none/talk.json", "cannot be written"),
        ("/wat", "/wat is no command; /help lists them"),
    ],
)
def test_mistakes(line: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no")
    done = talk(line)
    assert words in done.stderr
    assert done.exit_code == 1


def test_help_quit_continued_lines_and_blank_ones() -> None:
    done = talk("", "/help", "One \\", "two", "/quit", "never")
    assert "/model NAME" in done.stderr
    assert done.stdout.startswith('You say: "One two".')


class OneChunk:
    """A Chat server that begins an answer and then goes silent, or refuses everything."""

    def __init__(self, status: str, body: bytes) -> None:
        self._head = f"HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\n\r\n".encode() + body
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.interrupts = False
        self.printed = threading.Event()
        self.wakes = False
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.recv(1 << 16)
            connection.sendall(self._head)
            if not self.interrupts:
                connection.close()
                continue
            assert self.printed.wait(60)
            os.kill(os.getpid(), signal.SIGINT)

    def close(self) -> None:
        stop_listening(self._socket)


CHUNK = b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Once\\u001b[2J"}}]}\n\n'  # noqa: E501


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[OneChunk]:
    """It interrupts the program as soon as the first words are printed."""
    server, print_event = OneChunk("200 OK", CHUNK), chat._print_event
    server.interrupts = True

    def printed(event: TurnEvent, answering: bool) -> None:
        print_event(event, answering)
        if isinstance(event, AnswerPiece):
            signal.set_wakeup_fd(woken := signal.set_wakeup_fd(-1))
            server.wakes = woken >= 0
            server.printed.set()

    monkeypatch.setattr(chat, "_print_event", printed)
    yield server
    server.close()


def config(tmp_path: Path, **urls: str) -> tuple[str, ...]:
    lines = [
        f"  {name}: {{profile: openai-compatible-strict, base_url: '{url}', api_key: x}}" for name, url in urls.items()
    ]
    names = [f"{name}/m" for name in urls]
    text = (
        "providers:\n"
        + "\n".join(lines)
        + f"\nmodels:\n  m: {{target: {names[0]}, fallbacks: [{', '.join(names[1:])}]}}\n"
    )
    (tmp_path / "chat.yaml").write_text(text)
    return ("-c", "chat.yaml", "m")


def test_ctrl_c_ends_the_answer_and_not_the_program(silent: OneChunk, tmp_path: Path) -> None:
    done = talk("Tell me", "/save talk.json", args=config(tmp_path, a=silent.url))
    assert silent.wakes, "a signal in the moment before the program waits is heard all the same"
    assert done.exit_code == 0, done.output
    assert done.stdout == "Once\\u001b[2J\n"
    assert "you ended the answer" in done.stderr
    saved = json.loads((tmp_path / "talk.json").read_text())
    assert saved["messages"][-1] == {"role": "assistant", "content": "Once\x1b[2J"}


def test_a_refusal_names_its_reason_and_takes_the_message_back(tmp_path: Path) -> None:
    server = OneChunk("401 Unauthorized", b'{"error":{"message":"bad key"}}')
    done = talk("Hi", "/save talk.json", args=config(tmp_path, a=server.url))
    server.close()
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "a/m answered 401: bad key" in done.stderr
    assert "dragoman: " in done.stderr
    assert json.loads((tmp_path / "talk.json").read_text())["messages"] == []


def test_a_provider_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    provider = f"{{profile: openai-compatible-strict, base_url: 'http://127.0.0.1:{port}', retries: {{attempts: 1}}}}"
    (tmp_path / "chat.yaml").write_text(f"providers: {{a: {provider}}}\n")
    done = talk("Hi", args=("-c", "chat.yaml", "a/m"))
    assert "a/m did not answer: " in done.stderr
    assert done.exit_code == 1


def test_a_wrong_configuration(tmp_path: Path) -> None:
    (tmp_path / "chat.yaml").write_text("providrs: {}\n")
    done = talk("Hi", args=("-c", "chat.yaml"))
    assert done.exit_code == 1
    assert "providrs" in done.stderr
