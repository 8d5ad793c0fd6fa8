"""Pictures and sounds of a server's tool reach the model that takes them, and are reported if it takes none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider
from tests.gateway.tools.scripted_mcp import Json, ScriptedMcp, scripted_mcp
from tests.shapes.words import PIXEL, SOUND

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.engine.tool_runs.run_functions import server_function_name
from dragoman.testing import emulator

TARGETS = {
    "gpt": ("openai", "gpt-4o"),
    "responses": ("openai-responses", "gpt-5.6"),
    "claude": ("anthropic", "claude-sonnet-4-6"),
    "gemini": ("gemini", "gemini-3-pro-preview"),
    "text": ("deepseek", "deepseek-chat"),
}
PICTURE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
SPOKEN = {"type": "audio", "data": SOUND, "mimeType": "audio/wav"}
CALL = {"calls": [{"name": server_function_name("camera", "find"), "arguments": {"what": "fox"}}]}


def shot(*content: Json) -> Json:
    return {"content": [{"type": "text", "text": "Taken at noon."}, *content]}


@pytest.fixture
def mcp() -> Iterator[ScriptedMcp]:
    with scripted_mcp(on_call=lambda params: shot(PICTURE)) as one:
        yield one


class Studio:
    """A gateway with a camera, and a model of each kind behind it."""

    def __init__(self, running: Running, behind: dict[str, RunningEmulator], mcp: ScriptedMcp) -> None:
        self.running = running
        self.behind = behind
        self.mcp = mcp

    def ask(self, model: str, *turns: Any) -> Any:
        given: Any = {"model": model, "input": [*turns, {"role": "user", "content": "Look."}]}
        return self.running.openai().responses.with_raw_response.create(**given)

    def changes(self, answer: Any) -> dict[str, str]:
        """What was done, by the rule."""
        found = json.loads(self.running.entry(answer).changes)
        return {change["rule"]: change["did"] for change in found}

    def asked(self, model: str) -> list[str]:
        return [json.dumps(one.body) for one in self.behind[model].requests]


@pytest.fixture
def studio(mcp: ScriptedMcp, tmp_path: Path) -> Iterator[Studio]:
    with ExitStack() as stack:
        behind = {name: stack.enter_context(emulator(kind)) for name, (kind, _) in TARGETS.items()}
        config = {
            "providers": {name: provider(kind, behind[name].base_url) for name, (kind, _) in TARGETS.items()},
            "models": {
                name: {"target": f"{name}/{model}", "tool_servers": ["camera"]} for name, (_, model) in TARGETS.items()
            },
            "tool_servers": {"camera": {"url": mcp.url}},
            "tools": {"limits": {"media_bytes": 4096}},
        }
        yield Studio(stack.enter_context(gateway(config, tmp_path)), behind, mcp)


FORMS = {
    "gpt": r'"role": "user", "content": \[.*data:image/png;base64,',
    "responses": r'"function_call_output".*"input_image".*data:image/png;base64,',
    "claude": r'"tool_result".*"type": "image", "source": \{"type": "base64", "media_type": "image/png"',
    "gemini": r'"functionResponse".*"inlineData"',
}


@pytest.mark.parametrize("model", FORMS)
def test_a_picture_stands_in_the_targets_form(studio: Studio, model: str) -> None:
    studio.behind[model].script(CALL, "A fox.")
    answer = studio.ask(model)
    made = answer.parse()
    assert made.output_text == "A fox."
    sent = studio.asked(model)[1]
    assert PIXEL in sent
    assert re.search(FORMS[model], sent), sent
    run = next(item for item in made.output if item.type == "mcp_call")
    assert run.output.startswith("Taken at noon.\n[image: image/png, ")
    assert PIXEL not in run.output


def test_a_picture_that_no_model_sees_is_reported(studio: Studio) -> None:
    studio.behind["text"].script(CALL, "I cannot see.")
    answer = studio.ask("text")
    assert answer.parse().output_text == "I cannot see."
    sent = studio.asked("text")[1]
    assert PIXEL not in sent
    assert "[image" in sent
    assert "refused-part" in answer.headers["x-dragoman-changes"]


def test_a_sound_reaches_a_model_that_hears(studio: Studio) -> None:
    studio.mcp.on_call = lambda params: shot(SPOKEN)
    for model in ("gemini", "claude"):
        studio.behind[model].script(CALL, "A bark.")
        answer = studio.ask(model)
        assert (SOUND in studio.asked(model)[1]) is (model == "gemini")
        assert "refused-part" in answer.headers["x-dragoman-changes"], "it was moved out of the result, or named"


def test_what_is_too_large_is_left_out_and_reported(studio: Studio) -> None:
    large = "A" * 4096
    studio.mcp.on_call = lambda params: shot({**PICTURE, "data": large}, PICTURE)
    studio.behind["claude"].script(CALL, "A fox.")
    answer = studio.ask("claude")
    sent = studio.asked("claude")[1]
    assert large not in sent
    assert PIXEL in sent, "the small one fits"
    assert studio.changes(answer)["tool-run"].endswith("and left out 1 of its media, too large")


def test_the_next_turn_has_the_picture_again(studio: Studio) -> None:
    studio.behind["claude"].script(CALL, "A fox.", "Red.")
    made = studio.ask("claude").parse()
    before = [{"role": "user", "content": "Look."}, *made.to_dict()["output"]]
    assert studio.ask("claude", *before).parse().output_text == "Red."
    second, third = studio.behind["claude"].requests[1:3]
    assert third.body["messages"][: len(second.body["messages"])] == second.body["messages"]
