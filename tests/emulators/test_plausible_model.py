"""The plausible model: it calls what it is asked to call, answers from results, and keeps to the request's limits."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from jsonschema import Draft202012Validator

from dragoman.conversation.notation.script import parse
from dragoman.dialects.dialect import Dialect, RenderOptions
from dragoman.dialects.registry import list_dialects
from dragoman.emulators.catalogue import provider
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.emulators.plausible import asked_tools
from dragoman.emulators.plausible.model import answer_plausibly
from dragoman.emulators.plausible.request_view import view_request
from dragoman.emulators.provider import ModelTurn, Operation, ReceivedRequest
from dragoman.emulators.schema_sample import sample
from dragoman.testing import emulator

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x02\0\0\0"
WAV = b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data\0\0\0\0" + b"\0" * 32000
PDF = b"%PDF-1.4\n1 0 obj\nBT (The harvest of 1912) Tj ET"


def function(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


WEATHER = function("get_weather", "The current weather of a city", city={"type": "string"})
READ = function("Read", "Reads a file", file_path={"type": "string"})
BASH = function("Bash", "Executes a command in a shell", command={"type": "string"})
TOOLS = [WEATHER, READ, BASH]


def ask(body: dict[str, Any]) -> ModelTurn:
    return answer_plausibly(ReceivedRequest("POST", "/", {}, {}, b"", Operation.GENERATE, body, "m"))


def asked(text: str, **body: Any) -> ModelTurn:
    return ask({"messages": [{"role": "user", "content": text}], **body})


def calls(turn: ModelTurn) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in turn.calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the weather in Paris?", [("get_weather", {"city": "Paris"})]),
        (
            "What is the weather in Paris and in New York?",
            [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "New York"})],
        ),
        (
            "Read the file src/a.py and run `ls -la` in bash.",
            [("Read", {"file_path": "src/a.py"}), ("Bash", {"command": "ls -la"})],
        ),
        ('Use get_weather for "Ulan Bator".', [("get_weather", {"city": "Ulan Bator"})]),
        ("Hello, how are you?", []),
        ("Tell me about the weather in Paris, without tools.", []),
    ],
)
def test_it_calls_the_tools_that_it_is_asked_for(text: str, expected: list[tuple[str, Any]]) -> None:
    assert calls(asked(text, tools=TOOLS)) == expected


def test_a_choice_of_none_forbids_calls_and_a_name_demands_one() -> None:
    text = "What is the weather in Paris?"
    assert not asked(text, tools=TOOLS, tool_choice="none").calls
    named = {"type": "function", "function": {"name": "Bash"}}
    assert [name for name, _ in calls(asked(text, tools=TOOLS, tool_choice=named))] == ["Bash"]
    assert [name for name, _ in calls(asked("Hello", tools=TOOLS, tool_choice="required"))] == ["get_weather"]


@pytest.mark.parametrize(
    "choice",
    [
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [READ]}}},
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "Read"}]}},
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["Read"]}}},
    ],
)
def test_of_allowed_tools_one_is_called(choice: dict[str, Any]) -> None:
    assert [name for name, _ in calls(asked("What is the weather in Paris?", tools=TOOLS, **choice))] == ["Read"]


def test_keys_in_quotes_are_the_keys_of_an_answer_in_json() -> None:
    turn = asked(
        "A joke. Return it as JSON with 'setup' and \"punchline\" keys.", response_format={"type": "json_object"}
    )
    assert isinstance(turn.json, dict)
    assert turn.json.keys() == {"setup", "punchline"}


def test_calls_come_one_by_one_if_parallel_ones_are_forbidden() -> None:
    text = "What is the weather in Paris and in Rome?"
    turn = asked(text, tools=TOOLS, parallel_tool_calls=False)
    assert calls(turn) == [("get_weather", {"city": "Paris"})]


@pytest.mark.parametrize(
    ("instruction", "several"),
    [
        ("Call at most one tool at a time.", False),
        ("Use only one function per turn, please.", False),
        ("Make a single tool call in each step.", False),
        ("Never call tools in parallel.", False),
        ("Don't use parallel tool calls.", False),
        ("Call tools one by one.", False),
        ("Be brief. At most one sentence.", True),
        ("Feel free to call tools in parallel.", True),
    ],
)
def test_an_instruction_may_forbid_parallel_calls(instruction: str, several: bool) -> None:
    text = "What is the weather in Paris and in Rome?"
    messages = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
    assert len(ask({"messages": messages, "tools": TOOLS}).calls) == (2 if several else 1)


def test_numbered_steps_are_done_one_by_one_and_then_told() -> None:
    task = "Do this:\n1. Read notes.txt\n2. Execute the command `echo a and b`\n3. Get the weather in Rome"
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    made = []
    while (turn := ask({"messages": messages, "tools": TOOLS})).calls:
        (call,) = turn.calls
        made.append((call.name, call.arguments))
        id_ = f"call_{len(made)}"
        function_ = {"name": call.name, "arguments": call.arguments_text}
        messages += [
            {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function_}]},
            {"role": "tool", "tool_call_id": id_, "content": f"result {len(made)}"},
            {"role": "user", "content": "<system-reminder>Be brief. 1. Read it. 2. Read on.</system-reminder>"},
        ]
    assert made == [
        ("Read", {"file_path": "notes.txt"}),
        ("Bash", {"command": "echo a and b"}),
        ("get_weather", {"city": "Rome"}),
    ]
    expected = "1. Read says: result 1\n2. Bash says: result 2\n3. get_weather says: result 3"
    assert turn.text == expected


CONVERSATIONS: dict[str, dict[str, Any]] = {
    "openai": {
        "messages": [
            {"role": "user", "content": "What is the weather in Paris?"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        ]
    },
    "anthropic": {
        "messages": [
            {"role": "user", "content": "What is the weather in Paris?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}]},
        ]
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "What is the weather in Paris?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"result": "rain"}}}]},
        ]
    },
    "responses": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "What is the weather in Paris?"}]},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        ]
    },
    "bedrock": {
        "messages": [
            {"role": "user", "content": [{"text": "What is the weather in Paris?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "rain"}]}}]},
        ]
    },
    "ollama": {
        "messages": [
            {"role": "user", "content": "What is the weather in Paris?"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "weather", "arguments": {}}}]},
            {"role": "tool", "tool_name": "weather", "content": "rain"},
        ]
    },
}


@pytest.mark.parametrize("dialect", CONVERSATIONS)
def test_it_answers_from_results_in_every_dialect(dialect: str) -> None:
    assert ask(CONVERSATIONS[dialect]).text == "weather says: rain"


def _encoded(data: bytes) -> str:
    return b64encode(data).decode()


ATTACHED: dict[str, tuple[dict[str, Any], str]] = {
    "a picture for Anthropic": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _encoded(PNG)}},
        "a picture of 640 by 480 pixels: image/png",
    ),
    "a picture for Chat": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_encoded(PNG)}"}},
        "a picture of 640 by 480 pixels: image/png",
    ),
    "a picture for Gemini": (
        {"inlineData": {"mimeType": "image/png", "data": _encoded(PNG)}},
        "a picture of 640 by 480 pixels: image/png",
    ),
    "a picture for Bedrock": (
        {"image": {"format": "png", "source": {"bytes": _encoded(PNG)}}},
        "a picture of 640 by 480 pixels: image/png",
    ),
    "a document": (
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": _encoded(PDF)}},
        "beginning with: The harvest of 1912",
    ),
    "a document in plain text": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Ulan Bator"}},
        "The document begins with: Ulan Bator",
    ),
    "a recording": ({"type": "input_audio", "input_audio": {"data": _encoded(WAV), "format": "wav"}}, "of 2.0 seconds"),
    "an address": (
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        "https://example.com/a.png",
    ),
}


@pytest.mark.parametrize("what", ATTACHED)
def test_it_says_a_word_of_what_is_attached(what: str) -> None:
    part, expected = ATTACHED[what]
    key = "contents" if "inlineData" in part else "messages"
    turn = ask({key: [{"role": "user", "parts" if key == "contents" else "content": [part]}]})
    assert expected in turn.visible_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Reply with exactly "blue sky".', "blue sky"),
        ("Answer with one word: pong", "pong"),
        ("Count from 3 to 6.", "3, 4, 5, 6"),
        ("What is 3 * 4?", "3 * 4 = 12"),
        ("What is 3 / 0?", "3 / 0 has no value."),
    ],
)
def test_it_says_what_it_is_told_to(text: str, expected: str) -> None:
    assert asked(text).text == expected


def test_an_instruction_in_the_users_turn_is_not_what_he_asks_for() -> None:
    """Models without late system messages get them as marked turns of the user."""
    late = {"role": "user", "content": "[System] Tools: get_weather tells the weather of a city, Read reads a file."}
    turn = ask({"messages": [{"role": "user", "content": "Run `ls` in bash."}, late], "tools": TOOLS})
    assert calls(turn) == [("Bash", {"command": "ls"})]


def test_it_remembers_what_was_said() -> None:
    told = {"role": "user", "content": "My dog is called Rex. I like tea."}
    answered = {"role": "assistant", "content": "Good."}
    turn = ask({"messages": [told, answered, {"role": "user", "content": "How is my dog called?"}]})
    assert "Rex" in turn.visible_text
    brief = {"role": "user", "content": "How is my dog called? Reply with just the name."}
    assert ask({"messages": [told, answered, brief]}).visible_text == "My dog is called Rex."
    turn = ask({"system": "The password is swordfish.", "messages": [{"role": "user", "content": "The password?"}]})
    assert "swordfish" in turn.visible_text


def test_limits_cut_the_answer() -> None:
    turn = asked("Tell me a story of the sea.", max_tokens=8)
    assert turn.stop == "length"
    assert len((turn.visible_text + (turn.reasoning or "")).encode()) <= 8 * 4
    turn = asked("Count to 9", stop=["6", "4"])
    assert (turn.visible_text, turn.stopped_by) == ("1, 2, 3, ", "4")


DEEP: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "a/b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]},
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 3, "maxLength": 8},
                "child": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["name", "child"],
        },
    },
    "properties": {
        "tree": {"$ref": "#/$defs/a~1b"},
        "state": {"enum": [None, "open", "closed"]},
        "day": {"type": "string", "format": "date"},
        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "even": {"type": "integer", "minimum": 3, "multipleOf": 2},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False},
        "ids": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
        "both": {
            "allOf": [
                {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
                {"properties": {"y": {"type": "string"}}, "required": ["y"]},
            ]
        },
        "maybe": {"type": ["null", "string"]},
    },
    "required": ["tree", "state", "day", "share", "even", "code", "pair", "ids", "both", "maybe"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("only_required", [True, False])
def test_values_fit_their_schema(only_required: bool) -> None:
    Draft202012Validator(DEEP).validate(sample(DEEP, only_required=only_required))


def test_arguments_and_structured_answers_fit_their_schema() -> None:
    tool = {"type": "function", "function": {"name": "file_report", "description": "Files it", "parameters": DEEP}}
    (call,) = asked("Please file_report: the door is closed.", tools=[tool]).calls
    Draft202012Validator(DEEP).validate(call.arguments)
    assert call.arguments["state"] == "closed"
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": DEEP}}
    Draft202012Validator(DEEP).validate(asked("The door is open.", response_format=wanted).json)


def test_a_schema_that_is_told_in_words_is_kept_to() -> None:
    schema = '{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}'
    told = {"role": "system", "content": f"Answer with JSON that follows this JSON schema:\n{schema}"}
    for question in ("Who is it?", "Return the JSON object that the schema requires."):
        asked_for = {"role": "user", "content": question}
        turn = ask({"messages": [told, asked_for], "response_format": {"type": "json_object"}})
        assert list(turn.json) == ["name"]


def _count(value: Any) -> int:
    return 1 + sum(map(_count, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def test_a_schema_that_refers_to_itself_again_and_again_has_an_end() -> None:
    names = [f"p{number}" for number in range(60)]
    node = {"type": "object", "properties": {name: {"$ref": "#/$defs/node"} for name in names}, "required": names}
    assert 1_000 < _count(sample({"$defs": {"node": node}, "$ref": "#/$defs/node"})) <= 20_001


def test_the_words_of_tools_are_read_once_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(asked_tools, "word_set", lambda text: read.append(text) or {text})
    steps = "\n".join(f"{number}. go on, {'and so on, ' * 50}" for number in range(1, 200))
    asked(steps, tools=[function(f"tool_{number}", "does it") for number in range(40)])
    assert len(read) <= 2 * 40 + 50 * 5 + 100


def test_the_same_request_gets_the_same_answer() -> None:
    core = EmulatorCore(provider("openai"), model=answer_plausibly)
    body = b'{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}],"logprobs":true,"top_logprobs":2}'
    first, second = (core.respond("POST", "/v1/chat/completions", {}, {}, body) for _ in range(2))
    assert first.body == second.body


def test_openais_client_gets_choices_and_probabilities() -> None:
    with emulator("openai") as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="x")
        answer = client.chat.completions.create(
            model="gpt-4o",
            messages=[{"role": "user", "content": "Count to 3"}],
            n=2,
            logprobs=True,
            top_logprobs=3,
        )
    assert [choice.message.content for choice in answer.choices] == ["1, 2, 3"] * 2
    probable = answer.choices[0].logprobs
    assert probable is not None
    assert probable.content is not None
    assert "".join(one.token for one in probable.content) == "1, 2, 3"
    assert {len(one.top_logprobs) for one in probable.content} == {3}


@pytest.mark.parametrize(
    ("name", "model", "streamed"),
    [
        ("openai", "gpt-4o", {}),
        ("openai", "gpt-4o", {"stream": True, "stream_options": {"include_usage": True}}),
        ("mistral", "mistral-large-latest", {}),
        ("mistral", "mistral-large-latest", {"stream": True}),
    ],
)
def test_every_answer_of_several_is_counted(name: str, model: str, streamed: dict[str, Any]) -> None:
    """As OpenAI does in every recording of several answers."""
    used = []
    with emulator(name) as running:
        for count in (1, 3):
            body = {"model": model, "messages": [{"role": "user", "content": "Count to 30"}], "n": count}
            text = httpx.post(f"{running.base_url}/chat/completions", json=body | streamed).text
            frames = [line.removeprefix("data: ") for line in text.splitlines() if "completion_tokens" in line]
            used.append(json.loads(frames[-1])["usage"])
    assert used[1]["completion_tokens"] == 3 * used[0]["completion_tokens"] > 0
    assert used[1]["prompt_tokens"] == used[0]["prompt_tokens"]


def test_ollamas_answers_have_the_same_probabilities_whole_and_streamed() -> None:
    body = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Count from 1 to 20."}], "think": False}
    found = []
    with emulator("ollama") as running:
        for stream in (False, True):
            asked_for = {**body, "stream": stream, "logprobs": True, "top_logprobs": 2}
            lines = httpx.post(f"{running.base_url}/api/chat", json=asked_for).text.splitlines()
            found.append([token for line in lines for token in json.loads(line).get("logprobs", ())])
    assert "".join(token["token"] for token in found[0]).endswith("19, 20")
    assert {len(token["top_logprobs"]) for token in found[0]} == {2}
    assert found[0] == found[1]


def test_anthropics_client_gets_the_stop_text_and_signed_thoughts() -> None:
    with emulator("anthropic") as running:
        client = anthropic.Anthropic(base_url=running.base_url, api_key="x")
        answer = client.messages.create(
            model="claude-sonnet-4-6",
            max_tokens=4000,
            thinking={"type": "enabled", "budget_tokens": 1024},
            stop_sequences=["3"],
            messages=[{"role": "user", "content": "Count to 5"}],
        )
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "3")
    thought, said = answer.content
    assert thought.type == "thinking"
    assert thought.signature
    assert said.type == "text"
    assert said.text == "1, 2, "
    assert answer.usage.output_tokens > 2


def test_googles_client_gets_candidates_and_probabilities() -> None:
    with emulator("gemini") as running:
        client = genai.Client(api_key="x", http_options={"base_url": running.url})
        answer = client.models.generate_content(
            model="gemini-2.5-flash",
            contents="Count to 3",
            config={"candidate_count": 2, "response_logprobs": True, "logprobs": 2},
        )
        alone = client.models.generate_content(model="gemini-2.5-flash", contents="Count to 3")
    assert answer.candidates is not None
    assert len(answer.candidates) == 2
    counted = [one.usage_metadata.candidates_token_count for one in (alone, answer) if one.usage_metadata is not None]
    assert counted[1] == 2 * (counted[0] or 0) > 0
    result = answer.candidates[1].logprobs_result
    assert result is not None
    assert "".join(one.token or "" for one in result.chosen_candidates or []) == "1, 2, 3"


@pytest.mark.parametrize("dialect", list_dialects(), ids=lambda dialect: dialect.name)
def test_a_request_of_every_dialect_is_read(dialect: Dialect) -> None:
    asked = parse("system: Be brief.\nuser: Look it up.\ncall look(c1) {}\nresult c1: 12 degrees")
    body = json.loads(dialect.requests.render(asked, RenderOptions("m", False)))
    seen = [(saying.speaker.name, saying.text or saying.name) for saying in view_request(body).sayings]
    wanted = [("SYSTEM", "Be brief."), ("USER", "Look it up."), ("CALL", "look"), ("RESULT", "12 degrees")]
    assert seen == wanted, "emulators/plausible/request_view.py knows its members by their names"
