"""The judge of OpenAI Responses: every refusal in its words, with `param` and `code`; every neighbour accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judged import false_refusals, misjudged, received, sentence_of, verdict

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelCall, ModelTurn, Operation, ReceivedRequest

PATH = "/v1/responses"
USER = {"role": "user", "content": "Hi"}
MINI, GPT5, GPT56 = "gpt-4o-mini", "gpt-5-mini", "gpt-5.6"


def body(*items: Any, model: str = MINI, **more: Any) -> dict[str, Any]:
    return {"model": model, "input": list(items), **more}


def call(call_id: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}", **more}


def output(call_id: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok", **more}


def thought(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABn", **more}


def tool(**more: Any) -> dict[str, Any]:
    return {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, **more}


def strict(**schema: Any) -> dict[str, Any]:
    return tool(strict=True, parameters={"type": "object", **schema})


def patch(**more: Any) -> dict[str, Any]:
    operation = {"type": "delete_file", "path": "a"}
    return {"type": "apply_patch_call", "call_id": "c", "status": "completed", "operation": operation, **more}


SHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}
RAN = {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
OPEN = {"additionalProperties": False, "properties": {"a": {"type": "object", "properties": {}}}, "required": ["a"]}
SCHEMA = "invalid_function_parameters"
LISTED = "'assistant', 'system', 'developer', and 'user'."
FORMAT = {"type": "json_schema", "name": "f", "strict": True, "schema": {"type": "object", "properties": {"a": {}}}}
# name, body, leading words, param, code
REFUSED: list[tuple[str, dict[str, Any], str, str | None, str | None]] = [
    ("no model", {"input": "Hi"}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    ("no input", {"model": MINI}, "Missing required parameter: 'input'.", "input", "missing_required_parameter"),
    (
        "messages",
        {"model": MINI, "messages": []},
        "Unsupported parameter: 'messages'. In the Responses API, this",
        None,
        "unsupported_parameter",
    ),
    ("empty list", body(), 'One of "input" or "previous_response_id" or ', None, "missing_required_parameter"),
    (
        "empty text",
        {"model": MINI, "input": ""},
        'One of "input" or "previous_response_id" or',
        None,
        "missing_required_parameter",
    ),
    *(
        (name, body(USER, **{name: 1}), f"Unknown parameter: '{name}'.", name, "unknown_parameter")
        for name in ("n", "stop", "seed", "logprobs", "max_tokens", "frobnicate")
    ),
    (
        "include_usage",
        body(USER, stream_options={"include_usage": True}),
        "Unknown parameter: 'stream_options.include_usage'.",
        "stream_options.include_usage",
        "unknown_parameter",
    ),
    (
        "role",
        body({"role": "bogus", "content": "x"}),
        f"Invalid value: 'bogus'. Supported values are: {LISTED}",
        "input[0]",
        "invalid_value",
    ),
    (
        "tool role",
        body(USER, {"role": "tool", "content": "x"}),
        f"Invalid value: 'tool'. Supported values are: {LISTED}",
        "input[1]",
        "invalid_value",
    ),
    (
        "no content",
        body({"role": "user"}),
        "Missing required parameter: 'input[0].content'.",
        "input[0].content",
        "missing_required_parameter",
    ),
    (
        "stray key",
        body({**USER, "bogus": 1}),
        "Unknown parameter: 'input[0].bogus'.",
        "input[0].bogus",
        "unknown_parameter",
    ),
    (
        "phase of user",
        body({**USER, "phase": "commentary"}),
        "Unknown parameter: 'input[0].phase'.",
        "input[0].phase",
        "unknown_parameter",
    ),
    (
        "asked by assistant",
        body({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        "input[0].content[0]",
        "invalid_value",
    ),
    (
        "chat part",
        body({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        "Invalid value: 'text'. Supported values are: 'input_text', ",
        "input[0].content[0]",
        "invalid_value",
    ),
    (
        "chat image",
        body({"role": "user", "content": [{"type": "input_image", "image_url": {"url": "u"}}]}),
        "Invalid type for 'input[0].content[0].image_url': expected an image URL, but got an object",
        "input[0].content[0].image_url",
        "invalid_type",
    ),
    (
        "stray part key",
        body({"role": "user", "content": [{"type": "input_text", "text": "x", "cache_control": {}}]}),
        "Unknown parameter: 'input[0].content[0].cache_control'.",
        "input[0].content[0].cache_control",
        "unknown_parameter",
    ),
    (
        "unknown item",
        body({"type": "tool_result"}),
        "Invalid value: 'tool_result'. Supported values are: 'message', ",
        "input[0]",
        "invalid_value",
    ),
    (
        "chat tool",
        body(USER, tools=[{"type": "function", "function": {"name": "a"}}]),
        "Missing required parameter: 'tools[0].name'.",
        "tools[0].name",
        "missing_required_parameter",
    ),
    (
        "chat choice",
        body(USER, tools=[tool()], tool_choice={"type": "function", "function": {"name": "a"}}),
        "Missing required parameter: 'tool_choice.name'.",
        "tool_choice.name",
        "missing_required_parameter",
    ),
    (
        "choice",
        body(USER, tool_choice="any"),
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
    ),
    (
        "list of properties",
        body(USER, tools=[tool(parameters={"type": "object", "properties": []})]),
        "Invalid schema for function 'look': [] is not of type 'object'",
        "tools[0].parameters",
        SCHEMA,
    ),
    (
        "open strict",
        body(USER, tools=[strict(properties={})]),
        "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to ",
        "tools[0].parameters",
        SCHEMA,
    ),
    (
        "nested open",
        body(USER, tools=[strict(**OPEN)]),
        "Invalid schema for function 'look': In context=('properties', 'a'), 'additionalProperties'",
        "tools[0].parameters",
        SCHEMA,
    ),
    (
        "open format",
        body(USER, text={"format": FORMAT}),
        "Invalid schema for response_format 'f': In context=(), 'additionalProperties'",
        "text.format.schema",
        "invalid_json_schema",
    ),
    (
        "orphan",
        body(USER, output("call_x")),
        "No tool call found for function call output with call_id call_x.",
        "input",
        None,
    ),
    ("unanswered", body(USER, call("call_x"), USER), "No tool output found for function call call_x.", "input", None),
    (
        "output first",
        body(USER, output(), call()),
        "No tool call found for function call output with call_id call_1.",
        "input",
        None,
    ),
    (
        "foreign item id",
        body(USER, call(id="call_1"), output()),
        "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
        "input[1].id",
        "invalid_value",
    ),
    (
        "foreign message id",
        body(USER, {"role": "assistant", "content": "x", "id": "1"}),
        "Invalid 'input[1].id': '1'. Expected an ID that begins with 'msg'.",
        "input[1].id",
        "invalid_value",
    ),
    (
        "long call id",
        body(USER, call("c" * 65), output("c" * 65)),
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64",
        "input[1].call_id",
        "string_above_max_length",
    ),
    (
        "no summary",
        body(USER, {"type": "reasoning", "id": "rs_1"}),
        "Missing required parameter: 'input[1].summary'.",
        "input[1].summary",
        "missing_required_parameter",
    ),
    (
        "reasoning alone",
        body(USER, thought(id="rs_1"), {"role": "assistant", "content": "x"}),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "input",
        None,
    ),
    (
        "same item twice",
        body(USER, call(id="fc_1"), output(), call("b", id="fc_1"), output("b")),
        "Duplicate item found with id fc_1.",
        "input",
        None,
    ),
    (
        "empty seal",
        body(USER, thought(encrypted_content=""), USER),
        "The encrypted content ... could not be verified.",
        None,
        "invalid_encrypted_content",
    ),
    (
        "tokens",
        body(USER, max_output_tokens=15),
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16",
        "max_output_tokens",
        "integer_below_min_value",
    ),
    (
        "hot",
        body(USER, temperature=3),
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2",
        "temperature",
        "decimal_above_max_value",
    ),
    (
        "effort on gpt-4o",
        body(USER, reasoning={"effort": "low"}),
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "reasoning.effort",
        "unsupported_parameter",
    ),
    (
        "sampling on gpt-5",
        body(USER, temperature=0, model=GPT5),
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "temperature",
        None,
    ),
    (
        "sampling on 5.6",
        body(USER, top_p=0.5, model=GPT56),
        "Unsupported parameter: 'top_p' is not supported with this model.",
        "top_p",
        None,
    ),
    (
        "penalty on o4",
        body(USER, presence_penalty=1, model="o4-mini"),
        "Unsupported parameter: 'presence_penalty' is not supp",
        "presence_penalty",
        None,
    ),
    (
        "logprobs",
        body(USER, top_logprobs=2, model=GPT5),
        "logprobs are not supported with reasoning models.",
        "include",
        None,
    ),
    (
        "verbosity",
        body(USER, text={"verbosity": "low"}),
        "Unsupported value: 'low' is not supported with the 'gpt-4o-mini' model.",
        "text.verbosity",
        "unsupported_value",
    ),
    (
        "audio file",
        body({"role": "user", "content": [{"type": "input_file", "file_data": "data:audio/mpeg;base64,AA=="}]}),
        "Invalid file data: 'input[0].content[0].file_data'. Expected a base64-encoded data URL",
        "input[0].content[0].file_data",
        "invalid_value",
    ),
    (
        "a shell call without commands",
        body(USER, {"type": "shell_call", "call_id": "c", "action": {}}),
        "Missing required parameter: 'input[1].action.commands'.",
        "input[1].action.commands",
        "missing_required_parameter",
    ),
    (
        "a patch of an unknown kind",
        body(USER, patch(operation={"type": "rename_file", "path": "a"})),
        "Invalid value: 'rename_file'. Supported values are: 'create_file', 'update_file', and 'delete_file'.",
        "input[1].operation",
        "invalid_value",
    ),
    (
        "a patch without its output",
        body(USER, patch()),
        "No tool output found for apply patch call c.",
        "input",
        None,
    ),
    (
        "a screenshot without its call",
        body(USER, {"type": "computer_call_output", "call_id": "c", "output": SHOT}),
        "No tool call found for computer call output with call_id c.",
        "input",
        None,
    ),
    (
        "tools of the user's",
        body(USER, {"type": "additional_tools", "role": "user", "tools": []}),
        "Invalid value: 'user'. Supported values are: 'developer'.",
        "input[1].role",
        "invalid_value",
    ),
    (
        "a namespace without a description",
        body(USER, tools=[{"type": "namespace", "name": "n", "tools": []}]),
        "Missing required parameter: 'tools[0].description'.",
        "tools[0].description",
        "missing_required_parameter",
    ),
]


@pytest.mark.parametrize(("asked", "sentence", "param", "code"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_refuses_in_its_own_words(asked: dict[str, Any], sentence: str, param: str | None, code: str | None) -> None:
    said = verdict(provider("openai-responses"), PATH, asked)
    assert sentence_of(said).startswith(sentence)
    assert said is not None
    assert said.status == 400
    error = said.body["error"]
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")


ACCEPTED: dict[str, dict[str, Any]] = {
    "plain text": {"model": MINI, "input": "Hi"},
    "assistant first": body({"role": "assistant", "content": "x"}, USER),
    "late system": body(USER, {"role": "system", "content": "x"}, {"role": "developer", "content": "y"}),
    "empty texts": body({"role": "user", "content": ""}, {"role": "assistant", "content": ""}),
    "nulls": body(USER, tool_choice=None, previous_response_id=None, temperature=None),
    "no tools": body(USER, tools=[], tool_choice="auto"),
    "text between": body(USER, call(), USER, output()),
    "foreign call id": body(USER, call("toolu_1"), output("toolu_1")),
    "arguments that are no object": body(USER, call(arguments="[]"), output()),
    "parts of an output": body(USER, call(), output(output=[{"type": "input_text", "text": "x"}])),
    "reasoning and its call": body(USER, thought(id="rs_1"), call(id="fc_1"), output(), model=GPT5),
    "reasoning without id": body(USER, thought(), {"role": "assistant", "content": "x"}, USER, model=GPT5),
    "unstored reasoning": body(
        USER, thought(id="rs_1"), {"role": "assistant", "content": "x"}, USER, store=False, model=GPT5
    ),
    "output under a stored call": body(output(), previous_response_id="resp_1"),
    "sampling at rest": body(USER, temperature=0, model="gpt-5.4-nano"),
    "sampling at effort none": body(USER, temperature=0.5, reasoning={"effort": "none"}, model="gpt-5.6-sol"),
    "effort with tools": body(USER, reasoning={"effort": "high"}, tools=[tool()], model=GPT56),
    "tools that the client runs": body(
        USER,
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"], "timeout_ms": None}},
        {"type": "shell_call_output", "call_id": "c1", "output": [RAN]},
        patch(),
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed"},
        {"type": "computer_call", "call_id": "c2", "actions": [{"type": "wait"}], "pending_safety_checks": []},
        {"type": "computer_call_output", "call_id": "c2", "output": SHOT},
        {"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "local_shell_call_output", "id": "c3", "output": "a"},
        tools=[{"type": "shell"}, {"type": "apply_patch"}, {"type": "computer"}, {"type": "local_shell"}],
    ),
    "additional tools": body(USER, {"type": "additional_tools", "role": "developer", "tools": [tool()]}),
    "strict": body(
        USER, tools=[strict(properties={"a": {"type": "string"}}, required=["a"], additionalProperties=False)]
    ),
    "as returned": body(
        USER,
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "", "annotations": [], "logprobs": []}],
        },
        USER,
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(name: str) -> None:
    assert sentence_of(verdict(provider("openai-responses"), PATH, ACCEPTED[name])) == ""


def read(asked: dict[str, Any], path: str = PATH) -> ReceivedRequest:
    got = received(provider("openai-responses"), path, asked)
    assert isinstance(got, ReceivedRequest)
    return got


TURN = ModelTurn(
    text="Let me see.", reasoning="Hm…", calls=(ModelCall("look", {"q": "ü"}), ModelCall("look", {}, id="mine"))
)


@pytest.mark.parametrize("change", ["none", "seal", "emulator"])
def test_encrypted_reasoning_is_verified_on_return(change: str) -> None:
    """K3."""
    judge = provider("openai-responses", signatures="strict")
    said = judge.render_answer(read(body(USER, model=GPT5, include=["reasoning.encrypted_content"])), TURN)["output"]
    if change == "seal":
        said[0]["encrypted_content"] = said[0]["encrypted_content"][:-9] + "A" + said[0]["encrypted_content"][-8:]
    elif change == "emulator":
        claude = provider("anthropic")
        path, example = claude.example
        asked = received(claude, path, {**example, "thinking": {"type": "adaptive"}})
        assert isinstance(asked, ReceivedRequest)
        said[0]["encrypted_content"] = claude.render_answer(asked, TURN)["content"][0]["signature"]
    outputs = [output(item["call_id"]) for item in said if item["type"] == "function_call"]
    sentence = sentence_of(verdict(judge, PATH, body(USER, *said, *outputs, model=GPT5)))
    assert ("could not be verified" in sentence) == (change != "none")


def events_of(frames: Any) -> list[dict[str, Any]]:
    pairs = [frame.split("\n") for frame in b"".join(frames).decode().split("\n\n") if frame]
    events = [json.loads(second.removeprefix("data: ")) for _, second in pairs]
    assert [first.removeprefix("event: ") for first, _ in pairs] == [event["type"] for event in events]
    return events


@pytest.mark.parametrize(
    ("turn", "status", "reason"),
    [
        (TURN, "completed", None),
        (ModelTurn(calls=TURN.calls, interleave=True), "completed", None),
        (ModelTurn(text="Hello"), "completed", None),
        (ModelTurn(text="Hel", stop="length"), "incomplete", "max_output_tokens"),
        (ModelTurn(text="Hel", stop="filter"), "incomplete", "content_filter"),
        (ModelTurn(refusal="No."), "completed", None),
        (ModelTurn(json={"a": 1}), "completed", None),
        (ModelTurn(), "completed", None),
        (ModelTurn(calls=(ModelCall("look", '{"q": '),)), "completed", None),
    ],
)
def test_stream_and_whole_say_the_same(turn: ModelTurn, status: str, reason: str | None) -> None:
    judge, asked = provider("openai-responses"), read(body(USER))
    whole, events = judge.render_answer(asked, turn), events_of(judge.render_stream(asked, turn))
    assert whole["status"] == status
    assert (whole["incomplete_details"] or {}).get("reason") == reason
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1]["type"] == f"response.{status}"
    assert events[-1]["response"] == whole
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == whole["output"]
    spelled = "".join(e["delta"] for e in events if e["type"] == "response.function_call_arguments.delta")
    written = "".join(item["arguments"] for item in whole["output"] if item["type"] == "function_call")
    assert sorted(spelled) == sorted(written)


def test_interleaved_calls_stream_by_turns() -> None:
    calls = (ModelCall("a", {"x": "abcdefgh" * 4}), ModelCall("b", {"y": "ijklmnop" * 4}))
    events = events_of(
        provider("openai-responses").render_stream(read(body(USER)), ModelTurn(calls=calls, interleave=True))
    )
    order = [e["output_index"] for e in events if e["type"] == "response.function_call_arguments.delta"]
    assert order[:4] == [0, 1, 0, 1]


def test_usage_adds_up() -> None:
    usage = provider("openai-responses").render_answer(read(body(USER, model=GPT5)), TURN)["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert 0 < usage["output_tokens_details"]["reasoning_tokens"] < usage["output_tokens"]


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        (FaultKind.AUTH, 401, "invalid_api_key"),
        (FaultKind.MODEL, 400, "model_not_found"),
        (FaultKind.RATE, 429, "rate_limit_exceeded"),
        (FaultKind.SERVER, 500, "server_error"),
        (FaultKind.OVERLOADED, 503, "server_is_overloaded"),
        (FaultKind.CONTEXT, 400, "context_length_exceeded"),
    ],
)
def test_faults_in_its_words(kind: FaultKind, status: int, code: str) -> None:
    judge, asked = provider("openai-responses"), read(body(USER))
    refused = judge.render_fault(kind, asked)
    assert (refused.status, refused.body["error"]["code"]) == (status, code)
    assert events_of([judge.render_stream_error(kind, asked)])[-1]["type"] == "response.failed"


def test_count_compact_and_models() -> None:
    judge = provider("openai-responses", models=(MINI,))
    counting = read(body(USER), f"{PATH}/input_tokens")
    assert counting.operation is Operation.COUNT
    assert judge.judge(counting) is None
    assert judge.count_tokens(counting)["input_tokens"] > 0
    for given in ("Hi", [{"role": "user", "content": "Hi"}], [USER]):
        compacted = judge.render_answer(read({**body(USER), "input": given}, f"{PATH}/compact"), ModelTurn())
        kept, compaction = compacted["output"]
        assert (kept["type"], kept["content"][0]["type"], compaction["type"]) == ("message", "input_text", "compaction")
    assert judge.list_models()["data"][0]["id"] == MINI
    assert sentence_of(verdict(judge, PATH, body(USER, model="gpt-x"))) == "The requested model 'gpt-x' does not exist."


def test_a_trigger_and_a_threshold_give_one_compaction_item() -> None:
    judge = provider("openai-responses", models=(MINI,))
    trigger: Any = {"type": "compaction_trigger"}
    asked = read(body(USER, trigger))
    assert judge.judge(asked) is None
    assert [item["type"] for item in judge.render_answer(asked, ModelTurn(text="Hi"))["output"]] == ["compaction"]
    kinds = [event["type"] for event in events_of(judge.render_stream(asked, ModelTurn(text="Hi")))]
    assert kinds.count("response.output_item.done") == kinds.count("response.compaction.compacting") == 1
    for threshold, output in ((1, ["compaction", "message"]), (100_000, ["message"])):
        managed = read(body(USER, context_management=[{"type": "compaction", "compact_threshold": threshold}]))
        assert judge.judge(managed) is None
        assert [item["type"] for item in judge.render_answer(managed, ModelTurn(text="Hi"))["output"]] == output
    assert "must be the last item" in sentence_of(verdict(judge, PATH, body(trigger, USER)))
    assert "Supported values are: 'compaction'" in sentence_of(
        verdict(judge, PATH, body(USER, context_management=[{"type": "x"}]))
    )


def test_answers_are_kept_for_their_key_unless_they_are_not_to_be_stored() -> None:
    for strict in ("lenient", "strict"):
        judge = provider("openai-responses", signatures=strict)

        def ask(key: str, judge: Any = judge, **more: Any) -> Any:
            sent = read(body(USER, **more))
            sent.headers["authorization"] = key
            return judge.judge(sent) or judge.render_answer(sent, ModelTurn(text=f"Hi {key} {more}"))

        first = ask("ann")
        assert ask("ann", previous_response_id=first["id"])["status"] == "completed"
        unkept = ask("ann", store=False, user="x")
        for key, id in (("bob", first["id"]), ("ann", unkept["id"])):
            assert ask(key, previous_response_id=id).body["error"]["code"] == "previous_response_not_found"
        unknown = ask("ann", previous_response_id="resp_of_a_recording")
        assert isinstance(unknown, ErrorResponse) is (strict == "strict")


def test_recorded_refusals_are_repeated() -> None:
    hosts = ("openai", "azure-openai", "chatgpt")
    same, wrong = misjudged("openai-responses", *((host, "openai-responses") for host in hosts))
    assert wrong == []
    assert same > 5


def test_recorded_successes_are_accepted() -> None:
    hosts = ("openai", "azure-openai", "azure-foundry", "chatgpt")
    files = [f"{host}.openai-responses.jsonl" for host in hosts]
    more = ("openai.openai-responses-count.jsonl", "openai.openai-responses-compact.jsonl")
    count, wrong = false_refusals("openai-responses", *files, *more)
    assert wrong == []
    assert count > 600
