"""Tools that the client runs, in loops of three turns: every target calls them as functions, every client gets its own
form back, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.event_streams import read_events
from tests.judges import judge_of, served_path

import dragoman
from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Event, OpaqueBlock, Stopped
from dragoman.conversation.parts import Call
from dragoman.conversation.replies import Stop
from dragoman.conversation.tools import CallForm
from dragoman.dialects.registry import dialect
from dragoman.emulators.provider import ErrorResponse, ModelCall, ModelTurn
from dragoman.engine.answer.client_calls import ClientCalls

Body = dict[str, Any]
TARGETS = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "chat": "openai/gpt-4o",
    "responses": "openai-responses/gpt-4.1",
    "gemini": "gemini/gemini-2.5-pro",
    "bedrock": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "ollama": "ollama/llama3.1",
    "cohere": "cohere/command-a-03-2025",
}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def asked(body: Body, source: str, target: str, call: ModelCall | None, stream: bool) -> Any:
    """One turn: the request judged by the target's emulator, and its answer as the client gets it."""
    profile, _, model = TARGETS[target].partition("/")
    adapted = dragoman.adapt({**body, "stream": stream}, source=source, target=TARGETS[target])
    one = judge_of(profile, False)
    path, query = served_path(one, adapted.path, model)
    request = one.parse_request("POST", path, query, {k.lower(): v for k, v in adapted.headers.items()}, adapted.body)
    assert not isinstance(request, ErrorResponse)
    refusal = one.judge(request)
    assert refusal is None, (refusal, adapted.json)
    turn = ModelTurn(text="Done.") if call is None else ModelTurn(calls=(called(adapted, call),))
    if not stream:
        return adapted.answer(json.dumps(one.render_answer(request, turn)).encode()).json
    answer = adapted.stream()
    return b"".join([answer.feed(frame) for frame in one.render_stream(request, turn)]) + answer.finish()


def called(adapted: dragoman.AdaptedRequest, call: ModelCall) -> ModelCall:
    """The call under the name that the target was told."""
    forms = {(form.name, *form.fields.values()): name for name, form in adapted.undo.calls.items()}
    name, _, space = call.name.partition("@")
    told = forms.get((name, f'"{space}"'.encode()) if space else (name,), name)
    assert told in names_of(adapted.json), (told, adapted.json)
    return ModelCall(told, call.arguments, call.id)


def names_of(body: Body) -> list[str]:
    """The names of all functions that a request declares, in any dialect."""
    if "toolConfig" in body and "tools" in body["toolConfig"]:
        return [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]]
    found = [one for tool in body["tools"] for one in tool.get("functionDeclarations", [tool])]
    return [(tool.get("function") or tool.get("custom") or tool)["name"] for tool in found]


def text_of(answer: Any) -> str:
    """The words of an answer of Responses or Messages, whole or streamed."""
    if isinstance(answer, bytes):
        deltas = [event.get("delta", "") for event in read_events(answer) if event["type"] in DELTAS]
        return "".join([delta if isinstance(delta, str) else delta["text"] for delta in deltas])
    parts = answer.get("content") or answer["output"][0]["content"]
    return "".join([part["text"] for part in parts])


DELTAS = ("response.output_text.delta", "content_block_delta")


# A client of Responses

RESPONSE_EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
"""It takes longer to make than a conversation with all its events takes to check."""


def item_of(answer: Any, kind: str) -> Body:
    """The one item of a kind, checked by the SDK's types; of a stream, as it was when it was done."""
    if isinstance(answer, bytes):
        events = read_events(answer)
        for event in events:
            RESPONSE_EVENTS.validate_python(event)
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        response = next(event["response"] for event in events if event["type"] == "response.completed")
        assert response["output"] == done
    else:
        response = answer
    Response.model_validate(response)
    (item,) = [item for item in response["output"] if item["type"] == kind]
    assert isinstance(item, dict)
    return item


def plain(value: Any) -> Any:
    """A value, and the JSON in a string that holds an object."""
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


SHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}
RAN = [{"stdout": "a.txt\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
SPACE = {
    "type": "namespace",
    "name": "files",
    "description": "Files.",
    "tools": [
        {"type": "function", "name": "read", "parameters": SCHEMA},
        {"type": "custom", "name": "note", "description": "Takes text."},
    ],
}
RESPONSES: Mapping[str, tuple[list[Body], ModelCall, Body, Body]] = {
    "shell": (
        [{"type": "shell"}],
        ModelCall("shell", {"commands": ["ls"], "timeout_ms": 1000}),
        {"type": "shell_call", "action": {"commands": ["ls"], "timeout_ms": 1000}},
        {"type": "shell_call_output", "output": RAN},
    ),
    "local shell": (
        [{"type": "local_shell"}],
        ModelCall("local_shell", {"command": ["ls", "-l"]}),
        {"type": "local_shell_call", "action": {"type": "exec", "env": {}, "command": ["ls", "-l"]}},
        {"type": "local_shell_call_output", "output": "a.txt"},
    ),
    "patch": (
        [{"type": "apply_patch"}],
        ModelCall("apply_patch", {"type": "create_file", "path": "a", "diff": '+say "hi"\n+\u00e9'}),
        {
            "type": "apply_patch_call",
            "operation": {"type": "create_file", "path": "a", "diff": '+say "hi"\n+\u00e9'},
        },
        {"type": "apply_patch_call_output", "status": "completed", "output": "Created a"},
    ),
    "screen": (
        [{"type": "computer"}],
        ModelCall("computer", {"actions": [{"type": "click", "x": 1, "y": 2, "button": "left"}]}),
        {
            "type": "computer_call",
            "actions": [{"type": "click", "x": 1, "y": 2, "button": "left"}],
            "pending_safety_checks": [],
        },
        {"type": "computer_call_output", "output": SHOT},
    ),
    "screen, preview": (
        [{"type": "computer_use_preview", "display_width": 9, "display_height": 9, "environment": "linux"}],
        ModelCall("computer", {"action": {"type": "screenshot"}}),
        {"type": "computer_call", "action": {"type": "screenshot"}, "pending_safety_checks": []},
        {"type": "computer_call_output", "output": SHOT},
    ),
    "search": (
        [{"type": "tool_search", "execution": "client", "description": "Find tools.", "parameters": SCHEMA}],
        ModelCall("tool_search", {"path": "rate"}),
        {"type": "tool_search_call", "execution": "client", "arguments": {"path": "rate"}},
        {"type": "tool_search_output", "execution": "client", "tools": [SPACE], "status": "completed"},
    ),
    "plain text": (
        [{"type": "custom", "name": "exec", "format": {"type": "text"}}],
        ModelCall("exec", {"input": 'say "hi"\n'}),
        {"type": "custom_tool_call", "name": "exec", "input": 'say "hi"\n'},
        {"type": "custom_tool_call_output", "output": "hi"},
    ),
    "namespace": (
        [SPACE],
        ModelCall("read@files", {"path": "a"}),
        {"type": "function_call", "name": "read", "namespace": "files", "arguments": {"path": "a"}},
        {"type": "function_call_output", "output": "hello"},
    ),
    "plain text in a namespace": (
        [SPACE],
        ModelCall("note@files", {"input": "x"}),
        {"type": "custom_tool_call", "name": "note", "namespace": "files", "input": "x"},
        {"type": "custom_tool_call_output", "output": "ok"},
    ),
}
STREAMED = ("anthropic", "chat", "responses", "gemini")
"""Targets whose streams are tried too."""
PAIRS = [
    (name, target, stream)
    for name in RESPONSES
    for target in ("anthropic", "chat", "gemini", "bedrock", "ollama", "cohere")
    for stream in (False, True)
    if (target in STREAMED or not stream)
    and ("plain text" not in name or target != "chat")  # Chat takes plain text as it is
]


@pytest.mark.parametrize(("name", "target", "stream"), PAIRS)
def test_a_client_of_responses_gets_its_own_items(name: str, target: str, stream: bool) -> None:
    tools, call, expected, output = RESPONSES[name]
    said: list[Body] = [{"role": "user", "content": "Go."}]
    for _ in range(2):
        answer = asked({"model": "m", "input": said, "tools": tools}, "openai-responses", target, call, stream)
        item = item_of(answer, expected["type"])
        assert {key: plain(item.get(key)) for key in expected} == expected
        assert item["call_id"] not in [one.get("call_id") for one in said]
        key = "id" if output["type"] == "local_shell_call_output" else "call_id"
        said = [*said, item, {**output, key: item["call_id"]}]
    last = asked({"model": "m", "input": said, "tools": tools}, "openai-responses", target, None, stream)
    assert text_of(last) == "Done."


@pytest.mark.parametrize("target", ["anthropic", "chat", "gemini"])
def test_tools_that_come_late_are_tools(target: str) -> None:
    late = {"type": "additional_tools", "role": "developer", "tools": [SPACE, {"type": "shell"}]}
    said: list[Body] = [{"role": "user", "content": "Go."}, late]
    answer = asked(
        {"model": "m", "input": said}, "openai-responses", target, ModelCall("read@files", {"path": "a"}), False
    )
    item = item_of(answer, "function_call")
    assert (item["name"], item["namespace"]) == ("read", "files")
    said = [*said, item, {"type": "function_call_output", "call_id": item["call_id"], "output": "hello"}]
    answer = asked(
        {"model": "m", "input": said}, "openai-responses", target, ModelCall("shell", {"commands": []}), True
    )
    assert item_of(answer, "shell_call")["action"] == {"commands": []}


def test_arguments_that_are_no_object_come_as_a_function_call() -> None:
    call = ModelCall("shell", '{"commands": ["l')
    answer = asked({"model": "m", "input": "Go.", "tools": [{"type": "shell"}]}, "openai-responses", "chat", call, True)
    item = item_of(answer, "function_call")
    assert (item["name"], item["arguments"]) == ("shell", '{"commands": ["l')


# A client of Messages


EDIT = {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y\n"}
ANTHROPIC: Mapping[str, tuple[Body, str, Body, Body]] = {
    "bash": ({"type": "bash_20250124", "name": "bash"}, "bash", {"command": "ls"}, {}),
    "editor": (
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 100},
        "str_replace_based_edit_tool",
        EDIT,
        {},
    ),
    "old editor": ({"type": "text_editor_20250124", "name": "str_replace_editor"}, "str_replace_editor", EDIT, {}),
    "memory": ({"type": "memory_20250818", "name": "memory"}, "memory", {"command": "view", "path": "/memories"}, {}),
    "screen": (
        {"type": "computer_20250124", "name": "computer", "display_width_px": 800, "display_height_px": 600},
        "computer",
        {"action": "left_click", "coordinate": [1, 2]},
        {},
    ),
    "screen, set": (
        {"type": "computer_toolset_20260801"},
        "left_click@computer",
        {"coordinate": [1, 2]},
        {"toolset_name": "computer"},
    ),
    "browser, set": (
        {"type": "browser_toolset_20260801"},
        "navigate@browser",
        {"url": "https://example.com"},
        {"toolset_name": "browser"},
    ),
}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def block_of(answer: Any) -> Body:
    """The one call in an answer, checked by the SDK's types; of a stream, put together."""
    if isinstance(answer, bytes):
        events = read_events(answer)
        start = next(e["content_block"] for e in events if e.get("content_block", {}).get("type") == "tool_use")
        given = "".join(e["delta"].get("partial_json", "") for e in events if e["type"] == "content_block_delta")
        return {**start, "input": json.loads(given)}
    AnthropicMessage.model_validate(answer)
    (block,) = [block for block in answer["content"] if block["type"] == "tool_use"]
    assert isinstance(block, dict)
    return block


TRIALS = [
    (name, target, stream)
    for name in ANTHROPIC
    for target in ("chat", "responses", "gemini", "bedrock", "ollama", "cohere")
    for stream in (False, True)
    if target in STREAMED or not stream
]


@pytest.mark.parametrize(("name", "target", "stream"), TRIALS)
def test_a_client_of_messages_gets_its_own_calls(name: str, target: str, stream: bool) -> None:
    tool, called_as, given, fields = ANTHROPIC[name]
    said: list[Body] = [{"role": "user", "content": "Go."}]
    for _ in range(2):
        body = {"model": "m", "max_tokens": 99, "messages": said, "tools": [tool]}
        block = block_of(asked(body, "anthropic", target, ModelCall(called_as, given), stream))
        assert (block["name"], block["input"]) == (called_as.partition("@")[0], given)
        assert {key: block.get(key) for key in fields} == fields
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": [PICTURE]}
        said = [*said, {"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
    body = {"model": "m", "max_tokens": 99, "messages": said, "tools": [tool]}
    assert text_of(asked(body, "anthropic", target, None, stream)) == "Done."


# What is held, and until when


STARTED, ENDED = CallStarted(0, 0, "c1", "shell"), CallEnded(0, 0)
PIECES: list[Event] = [CallDelta(0, 0, b'"{\\"commands\\""'), CallDelta(0, 0, b'":[\\"ls\\"]}"')]


def put(*events: Event, form: CallForm) -> list[Event]:
    """The events one by one, as a stream brings them."""
    calls = ClientCalls("openai-responses", dialect("openai-responses").answers.render_client_call)
    out: list[Event] = []
    for event in events:
        out += calls.put([calls.begin(event, form) if isinstance(event, CallStarted) else event])
    return out


def test_an_item_comes_whole_with_the_call_that_it_means() -> None:
    (block,) = put(STARTED, *PIECES, ENDED, form=CallForm("shell", "shell"))
    assert isinstance(block, OpaqueBlock)
    assert block.opaque.meant == (Call("c1", "shell", b'{"commands":["ls"]}'),)
    assert json.loads(block.opaque.json)["action"] == {"commands": ["ls"]}


def test_a_call_that_never_ends_comes_before_the_stop() -> None:
    stop = Stopped(0, Stop.LENGTH)
    first, second = put(STARTED, *PIECES, stop, form=CallForm("shell", "shell"))
    assert (type(first), second) == (OpaqueBlock, stop)


INPUTS = {'{"input": "ls"}': "ls", '{"patch": "x"}': "x", '{"a": "x", "b": "y"}': '{"a": "x", "b": "y"}', "ls": "ls"}


@pytest.mark.parametrize("given", INPUTS)
def test_the_text_of_a_tool_that_takes_plain_text(given: str) -> None:
    delta = CallDelta(0, 0, msgspec.json.encode(given))
    started, text, end = put(STARTED, delta, ENDED, form=CallForm("shell", custom=True))
    assert isinstance(started, CallStarted)
    assert isinstance(text, CallDelta)
    assert (started.custom, text.text, end) == (True, INPUTS[given], ENDED)
