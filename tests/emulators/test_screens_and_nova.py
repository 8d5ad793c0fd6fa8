"""The plausible model with a screen that the client shows, and with the tools that Nova runs, as official clients see
them."""

from __future__ import annotations

from typing import Any

import anthropic
import boto3
import openai
import pytest
from botocore.config import Config
from google import genai
from google.genai import types
from tests.shapes.words import PIXEL

from dragoman.emulators.plausible.hosted_tools import reference_number
from dragoman.testing import emulator

SCREEN: Any = {"type": "computer_20250124", "name": "computer", "display_width_px": 800, "display_height_px": 600}
ACTIONS = {
    "Take a screenshot.": ({"action": "screenshot"}, {"type": "screenshot"}),
    "Click at 40, 50": (
        {"action": "left_click", "coordinate": [40, 50]},
        {"type": "click", "x": 40, "y": 50, "button": "left"},
    ),
    'Type "hello" into the field': ({"action": "type", "text": "hello"}, {"type": "type", "text": "hello"}),
    "Press ctrl+s": ({"action": "key", "text": "ctrl+s"}, {"type": "keypress", "keys": ["ctrl", "s"]}),
    "Scroll down": (
        {"action": "scroll", "coordinate": [400, 300], "scroll_direction": "down", "scroll_amount": 3},
        {"type": "scroll", "x": 400, "y": 300, "scroll_x": 0, "scroll_y": 300},
    ),
}


def claude(url: str) -> Any:
    return anthropic.Anthropic(base_url=url, api_key="k", max_retries=0).beta.messages


@pytest.mark.parametrize("task", ACTIONS)
def test_an_action_has_the_form_of_each_vendor(task: str) -> None:
    for_claude, for_gpt = ACTIONS[task]
    turn: Any = {"role": "user", "content": task}
    with emulator("anthropic") as server:
        given = {"model": "claude-sonnet-4-5", "max_tokens": 500, "betas": ["computer-use-2025-01-24"]}
        (used,) = claude(server.url).create(messages=[turn], tools=[SCREEN], **given).content
        toolset: Any = [{"type": "computer_toolset_20260801"}]
        (called,) = claude(server.url).create(messages=[turn], tools=toolset, **given).content
    assert (used.name, used.input) == ("computer", for_claude)
    assert called.to_dict()["toolset_name"] == "computer"
    assert {"action": called.name, **called.input}["action"] == for_claude["action"]
    with emulator("openai-responses") as server:
        screen: Any = {
            "type": "computer_use_preview",
            "display_width": 800,
            "display_height": 600,
            "environment": "mac",
        }
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0).responses
        seen = [
            client.create(model="computer-use-preview", input=task, tools=[tool]).output[-1].to_dict()
            for tool in (screen, {"type": "computer"})
        ]
    assert [one["type"] for one in seen] == ["computer_call"] * 2
    assert seen[0]["action"] == for_gpt
    assert seen[1]["actions"][0]["type"] == for_gpt["type"]


def test_steps_are_done_one_by_one_and_screenshots_are_read() -> None:
    task = '1. Take a screenshot.\n2. Click at 10, 20.\n3. Type "boat".'
    shot: Any = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PIXEL}"}
    with emulator("openai-responses", signatures="strict") as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0).responses
        given: list[Any] = [{"role": "user", "content": task}]
        kinds = []
        while (answer := client.create(model="gpt-5.4", input=given, tools=[{"type": "computer"}])).output:
            items = [item.to_dict() for item in answer.output]
            given += items
            if items[-1]["type"] != "computer_call":
                break
            kinds.append(items[-1]["actions"][0]["type"])
            given.append({"type": "computer_call_output", "call_id": items[-1]["call_id"], "output": shot})
    assert kinds == ["screenshot", "click", "type"]
    assert "image/png" in answer.output_text or "PNG" in answer.output_text


def nova(url: str) -> Any:
    named = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client("bedrock-runtime", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}), **named)


def test_nova_searches_and_cites() -> None:
    turn = {"role": "user", "content": [{"text": "Search the web for the tallest tower of Lisbon."}]}
    tools = {"tools": [{"systemTool": {"name": "nova_grounding"}}]}
    given: Any = {"modelId": "us.amazon.nova-2-lite-v1:0", "messages": [turn], "toolConfig": tools}
    with emulator("bedrock") as server:
        whole = nova(server.url).converse(**given)["output"]["message"]
        events = list(nova(server.url).converse_stream(**given)["stream"])
        again = [turn, whole, {"role": "user", "content": [{"text": "Thanks."}]}]
        nova(server.url).converse(**{**given, "messages": again})
    call, result, text, cited = whole["content"]
    assert (call["toolUse"]["name"], call["toolUse"]["type"]) == ("nova_grounding", "server_tool_use")
    assert result["toolResult"]["type"] == "nova_grounding_result"
    assert result["toolResult"]["content"] == [{"text": "[HIDDEN]"}]
    assert str(reference_number("the tallest tower of Lisbon")) in text["text"]
    (place,) = cited["citationsContent"]["citations"]
    assert place["location"]["web"]["domain"] == "news.example.com"
    starts = [one["contentBlockStart"]["start"] for one in events if "contentBlockStart" in one]
    assert [next(iter(one)) for one in starts] == ["toolUse", "toolResult"]
    deltas = [one["contentBlockDelta"]["delta"] for one in events if "contentBlockDelta" in one]
    assert [one["citation"] for one in deltas if "citation" in one] == [place]


def test_nova_runs_code() -> None:
    turn = {"role": "user", "content": [{"text": "Compute 1234 * 5678 with code"}]}
    tools = {"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]}
    with emulator("bedrock") as server:
        given: Any = {"modelId": "us.amazon.nova-2-lite-v1:0", "messages": [turn], "toolConfig": tools}
        call, result, _ = nova(server.url).converse(**given)["output"]["message"]["content"]
    assert call["toolUse"]["input"] == {"snippet": "print(1234 * 5678)"}
    assert result["toolResult"]["content"][0]["json"]["stdOut"] == "7006652"


FOR_GEMINI: dict[str, tuple[str, dict[str, Any]]] = {
    "Click at 40, 50": ("click_at", {"x": 40, "y": 50}),
    'Type "hello" into the field': (
        "type_text_at",
        {"x": 500, "y": 500, "text": "hello", "press_enter": False, "clear_before_typing": False},
    ),
    "Press ctrl+s": ("key_combination", {"keys": "ctrl+s"}),
    "Scroll down": ("scroll_document", {"direction": "down"}),
}


@pytest.mark.parametrize("task", FOR_GEMINI)
def test_gemini_uses_a_screen_by_its_own_functions(task: str) -> None:
    tool = types.Tool(computer_use=types.ComputerUse(environment=types.Environment.ENVIRONMENT_BROWSER))
    with emulator("gemini") as server:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url))
        config = types.GenerateContentConfig(tools=[tool])
        model = "gemini-2.5-computer-use-preview-10-2025"
        first = client.models.generate_content(model=model, contents=task, config=config)
        assert first.candidates
        content = first.candidates[0].content
        assert content is not None
        called = first.function_calls
        assert called
        assert (called[0].name, called[0].args) == FOR_GEMINI[task]
        seen = types.FunctionResponse(name=called[0].name, id=called[0].id, response={"url": "https://example.org"})
        turns: Any = [
            types.Content(role="user", parts=[types.Part(text=task)]),
            content,
            types.Content(role="user", parts=[types.Part(function_response=seen)]),
        ]
        second = client.models.generate_content(model=model, contents=turns, config=config)
    assert "example.org" in (second.text or "")


def test_functions_of_a_screen_that_are_excluded_are_not_called() -> None:
    excluded = types.ComputerUse(
        environment=types.Environment.ENVIRONMENT_BROWSER, excluded_predefined_functions=["scroll_document"]
    )
    with emulator("gemini") as server:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url))
        config = types.GenerateContentConfig(tools=[types.Tool(computer_use=excluded)])
        answer = client.models.generate_content(model="gemini-2.5-flash", contents="Scroll down", config=config)
    assert not answer.function_calls


WORK: dict[str, tuple[str, dict[str, Any]]] = {
    "Run `ls -la` in the shell": (
        "shell",
        {"action": {"commands": ["ls -la"], "max_output_length": None, "timeout_ms": None}},
    ),
    "Run make test.": (
        "shell",
        {"action": {"commands": ["make test"], "max_output_length": None, "timeout_ms": None}},
    ),
    "Execute the command `pwd`": (
        "local_shell",
        {"action": {"type": "exec", "command": ["bash", "-lc", "pwd"], "env": {}}},
    ),
    'Create the file a.txt with "hello"': (
        "apply_patch",
        {"operation": {"type": "create_file", "path": "a.txt", "diff": "+hello"}},
    ),
    'Update the file src/a.py: replace "x" by "y"': (
        "apply_patch",
        {"operation": {"type": "update_file", "path": "src/a.py", "diff": "@@\n-x\n+y"}},
    ),
    "Delete the file a.txt": ("apply_patch", {"operation": {"type": "delete_file", "path": "a.txt"}}),
}
OUTPUTS: dict[str, Any] = {
    "shell": {"output": [{"stdout": "boats", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
    "local_shell": {"output": '{"output": "boats"}'},
    "apply_patch": {"status": "completed", "output": "boats"},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("task", WORK)
def test_gpt_works_with_a_shell_and_patches(task: str, stream: bool) -> None:
    kind, members = WORK[task]
    tools: Any = [{"type": kind}]
    with emulator("openai-responses", signatures="strict") as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0).responses
        if stream:
            with client.stream(model="gpt-5.1", input=task, tools=tools) as events:
                for _ in events:
                    pass
                answer: Any = events.get_final_response()
        else:
            answer = client.create(model="gpt-5.1", input=task, tools=tools)
        item = answer.output[-1].to_dict()
        assert item["type"] == f"{kind}_call"
        assert {name: item[name] for name in members} == members
        output = {"type": f"{kind}_call_output", "call_id": item["call_id"], **OUTPUTS[kind]}
        given: list[Any] = [{"role": "user", "content": task}, *[one.to_dict() for one in answer.output], output]
        told = client.create(model="gpt-5.1", input=given, tools=tools)
    assert "boats" in told.output_text


def test_a_shell_of_the_provider_s_is_not_the_client_s() -> None:
    tools: Any = [{"type": "shell", "environment": {"type": "container_auto"}}]
    with emulator("openai-responses") as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0).responses
        answer = client.create(model="gpt-5.1", input="Run `ls` in the shell", tools=tools)
    assert [item.type for item in answer.output] == ["message"]
