"""`dragoman demo`: every conversation is refused directly and answered through the gateway."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.child_processes import dies_with_us

from dragoman.cli.commands.providers.demo import OTHERS
from dragoman.cli.demo_conversations import DEMO_CONVERSATIONS, DemoConversation
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.emulation.emulator_verdict import judge_request

COMMAND = (sys.executable, "-c", "from dragoman.cli import main; main()", "demo", "--port", "0")
README = Path(__file__).resolve().parents[2] / "README.md"
IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh", *COMMAND)


@pytest.mark.parametrize(
    "demo_conversation", DEMO_CONVERSATIONS, ids=lambda demo_conversation: demo_conversation.dialect
)
def test_each_conversation_is_really_refused(demo_conversation: DemoConversation) -> None:
    path, body = demo_conversation.request(demo_conversation.model)
    verdict = judge_request(demo_conversation.provider, path, {"anthropic-version": "2023-06-01"}, body)
    assert not verdict.accepted
    assert verdict.message


def test_every_dialect_is_shown() -> None:
    assert [demo_conversation.dialect for demo_conversation in DEMO_CONVERSATIONS] == list(DIALECT_NAMES), (
        "cli/demo_conversations.json has one of each dialect, in the order of the names"
    )


@pytest.mark.slow
def test_in_a_pipe_it_shows_and_ends() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(re.findall(r"^  directly +4\d\d  \S", done.stdout, re.MULTILINE)) == len(DEMO_CONVERSATIONS)
    assert len(re.findall(r"^  through Dragoman 200  received:", done.stdout, re.MULTILINE)) == len(DEMO_CONVERSATIONS)
    assert "orphan-result" in done.stdout
    matrix = done.stdout.partition("on every provider")[2]
    assert len(re.findall(r"\b200\b", matrix)) == len(OTHERS) * len(DEMO_CONVERSATIONS)
    assert "\x1b[" not in done.stdout
    shown = [line.rstrip() for line in done.stdout.splitlines()]
    assert "\n".join(excerpt_of_the_readme()) in "\n".join(shown)
    assert re.search(r"open http://127\.0\.0\.1:\d+/$", done.stdout.strip())


def excerpt_of_the_readme() -> list[str]:
    """What the README says that the demo shows."""
    [text] = re.findall(r"```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return text.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_on_a_terminal_it_keeps_serving(number: signal.Signals) -> None:
    """Until it is told to end, even as a shell's background job, which starts with SIGINT ignored."""
    master, slave = pty.openpty()
    process = subprocess.Popen(IN_BACKGROUND, stdout=slave, stderr=slave, preexec_fn=dies_with_us())
    os.close(slave)
    try:
        seen = ""
        deadline = time.monotonic() + 60
        while "what was changed in it: " not in seen and time.monotonic() < deadline:
            seen += os.read(master, 65536).decode("utf-8", "replace")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
        for words in ("ANTHROPIC_BASE_URL=http://", "wire_api", "GOOGLE_GEMINI_BASE_URL=http://", "OpenAI(base_url="):
            assert words in plain
        [url] = re.findall(r"Serving at (http://\S+)", plain)
        page = urllib.request.Request(f"{url}/", headers={"accept": "text/html"})
        assert "<title>Dragoman</title>" in urllib.request.urlopen(page).read().decode()
        process.send_signal(number)
        assert process.wait(60) == 0
    finally:
        process.kill()
        os.close(master)
