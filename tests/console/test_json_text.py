"""The console's modules that need no page, run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.gateway.console.static_files import static_files

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")

_RUN = """
import { readFileSync } from "node:fs";
const { source, calls } = JSON.parse(readFileSync(0, "utf8"));
const module = await import("data:text/javascript;base64," + Buffer.from(source).toString("base64"));
console.log(JSON.stringify(calls.map(([name, ...given]) => module[name](...given))));
"""


def called(file: str, *calls: tuple[Any, ...]) -> list[Any]:
    """What functions of a module return."""
    source = static_files()[file].content.decode()
    given = json.dumps({"source": source, "calls": calls})
    command = [str(NODE), "--input-type=module", "--eval", _RUN]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=300)
    found: list[Any] = json.loads(done.stdout)
    return found


def sse(*events: dict[str, Any]) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


WORDS = [f"word{number} " for number in range(40)]
STREAMS = {
    "openai-chat": sse(*({"choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS)),
    "anthropic": sse(
        {"type": "message_start", "message": {"content": []}},
        *({"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}} for word in WORDS),
        {"type": "message_stop"},
    ),
    "openai-responses": sse(
        *({"type": "response.output_text.delta", "delta": word} for word in WORDS),
        {"type": "response.completed", "response": {"output": [{"content": [{"text": "all of it"}]}]}},
    ),
    "gemini": sse(*({"candidates": [{"content": {"parts": [{"text": word}]}}]} for word in WORDS)),
    "ollama": "".join(json.dumps({"message": {"role": "assistant", "content": word}}) + "\n" for word in WORDS),
}


@pytest.mark.parametrize("dialect", STREAMS)
def test_a_streamed_answer_is_shown_to_its_end(dialect: str) -> None:
    assert called("json_text.js", ("answerText", STREAMS[dialect])) == ["".join(WORDS)]


def test_money_has_two_decimals_or_two_digits() -> None:
    shown = {0: "0", 0.3: "0.30", 0.25: "0.25", 0.00126: "0.0013", 2.5: "2.50", 12: "12.00"}
    assert called("format.js", *(("money", amount) for amount in shown)) == list(shown.values())


HOSTILE_NAMES = ("up/x", "../../../dragoman/config/undo?", "a#b", "$&$`", "x%2e%2e", "né", '"+x+"')


@pytest.mark.slow
@example(HOSTILE_NAMES)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=50).map(tuple))
@settings(deadline=None, max_examples=10)
def test_a_name_stays_one_segment_of_its_path(names: tuple[str, ...]) -> None:
    template = "/v1beta/models/{model}:generateContent?alt=sse"
    paths = called("json_text.js", *(("pathWithModel", template, name) for name in names))
    for name, path in zip(names, paths, strict=True):
        parts = urlsplit(path)
        assert unquote(parts.path) == f"/v1beta/models/{name}:generateContent"
        assert parts.path.count("/") == 3
        assert (parts.query, parts.fragment) == ("alt=sse", "")


def test_only_who_may_save_is_told_what_saving_does() -> None:
    cases = {
        (True, True): "own.yaml",
        (True, False): "own.yaml",
        (False, True): "own.yaml does not exist yet: saving creates it",
        (False, False): "own.yaml does not exist",
    }
    calls = [("describeFile", {"file": "own.yaml", "exists": there, "editable": may}) for there, may in cases]
    assert called("format.js", *calls) == list(cases.values())
