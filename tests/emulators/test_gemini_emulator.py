"""Gemini's judge in both manners: every refusal in Google's words, every neighbour of it accepted."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from judged import false_refusals, misjudged, received, sentence_of, verdict

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import FaultKind, ModelCall, ModelTurn, Operation, ReceivedRequest

FLASH, PRO3 = "gemini-2.5-flash", "gemini-3-pro-preview"
PLACE = "projects/p/locations/global/publishers/google/models"
UNKNOWN = "Invalid JSON payload received. Unknown name"
RESPONSE_TURN = "Please ensure that function response turn comes immediately after a function call turn."
CALL_TURN = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
NUMBER = "Please ensure that the number of function response parts is equal to the number of function call parts"
ROLE = "Please use a valid role: user, model."
SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()


def path(model: str, verb: str = "generateContent") -> str:
    return f"/v1beta/models/{model}:{verb}"


def vertex_path(model: str, verb: str = "generateContent") -> str:
    return f"/v1beta1/{PLACE}/{model}:{verb}"


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return {**user(*parts), "role": "model"}


def call(name: str = "look", signature: str | None = None, **args: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": args}}
    return {**part, "thoughtSignature": signature} if signature else part


def answer(name: str = "look") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": 1}}}


def body(*contents: Any, **more: Any) -> dict[str, Any]:
    return {"contents": list(contents), **more}


def declared(**parameters: Any) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": [{"name": "look", "parameters": {"type": "OBJECT", **parameters}}]}]}


def property_(**schema: Any) -> dict[str, Any]:
    return declared(properties={"a": schema})


PARAMETERS = "tools[0].function_declarations[0].parameters"
BOTH: list[tuple[str, dict[str, Any], str]] = [
    # the reader
    ("unknown field", body(user("Hi"), frobnicate=1), f'{UNKNOWN} "frobnicate": Cannot find field.'),
    (
        "unknown part key",
        body({**user({"text": "Hi", "x": 1})}),
        f"{UNKNOWN} \"x\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    ("message key", body({**user("Hi"), "name": "Bob"}), f"{UNKNOWN} \"name\" at 'contents[0]': Cannot find field."),
    ("chat body", {"messages": []}, f'{UNKNOWN} "messages": Cannot find field.'),
    (
        "openai tool",
        body(user("Hi"), tools=[{"type": "function"}]),
        f"{UNKNOWN} \"type\" at 'tools[0]': Cannot find field.",
    ),
    ("text number", body(user({"text": 1})), "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1"),
    (
        "args text",
        body(user("Hi"), model({"functionCall": {"name": "a", "args": "{}"}})),
        "Invalid value at 'contents[1].pa",
    ),
    (
        "bad base64",
        body(user({"inlineData": {"mimeType": "image/png", "data": "a*b"}})),
        "Invalid value at 'contents[0]",
    ),
    (
        "type list",
        body(user("Hi"), **property_(type=["STRING", "NULL"])),
        f'{UNKNOWN} "type" at \'{PARAMETERS}.properties[0]',
    ),
    (
        "const",
        body(user("Hi"), **property_(const=1)),
        f"{UNKNOWN} \"const\" at '{PARAMETERS}.properties[0].value': Cannot",
    ),
    ("$ref", body(user("Hi"), **property_(**{"$ref": "#/x"})), f'{UNKNOWN} "$ref" at '),
    (
        "integer enum",
        body(user("Hi"), **property_(type="STRING", enum=[1])),
        "Invalid value at 'tools[0].function_decl",
    ),
    ("empty type", body(user("Hi"), **property_(type="")), "Invalid value at 'tools[0].function_declarations[0].param"),
    # turns
    ("call first", body(model(call()), user(answer())), CALL_TURN),
    ("system role", body(user("Hi"), model("Hello"), {"role": "system", "parts": [{"text": "x"}]}, user("Go")), ROLE),
    ("assistant role", body(user("Hi"), {"role": "assistant", "parts": [{"text": "x"}]}), ROLE),
    ("lone model", body(model("Hi")), "Please ensure that single turn requests end with a user role or the role field"),
    ("orphan", body(user(answer())), RESPONSE_TURN),
    ("text between", body(user("Hi"), model(call()), user("wait"), user(answer())), RESPONSE_TURN),
    ("unanswered", body(user("Hi"), model(call()), user("wait")), NUMBER),
    ("dangling call", body(user("Hi"), model(call())), NUMBER),
    ("half answered", body(user("Hi"), model(call(), call()), user(answer())), NUMBER),
    # tools
    (
        "any without tools",
        body(user("Hi"), toolConfig={"functionCallingConfig": {"mode": "ANY"}}),
        "Function calling config",
    ),
    (
        "declared twice",
        body(user("Hi"), tools=[{"functionDeclarations": [{"name": "a"}, {"name": "a"}]}]),
        "Duplicate function declaration found: a",
    ),
]
STUDIO: list[tuple[str, dict[str, Any], str]] = [
    ("no contents", {}, "* GenerateContentRequest.contents: contents is not specified"),
    (
        "no parts",
        body(user("Hi"), model()),
        "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.",
    ),
    ("hollow part", body(user({})), "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data'"),
    ("hollow tool", body(user("Hi"), tools=[{}]), "* GenerateContentRequest.tools[0].tool_type: required one_of"),
    (
        "odd name",
        body(user("Hi"), tools=[{"functionDeclarations": [{"name": "1"}]}]),
        "* GenerateContentRequest.tools[0].fun",
    ),
    (
        "additionalProperties",
        body(user("Hi"), **declared(additionalProperties=False)),
        f'{UNKNOWN} "additionalProperties"',
    ),
    ("labels", body(user("Hi"), labels={"a": "b"}), f'{UNKNOWN} "labels": Cannot find field.'),
    (
        "no items",
        body(user("Hi"), **property_(type="ARRAY")),
        f"* GenerateContentRequest.{PARAMETERS}.properties[a].items: m",
    ),
    (
        "number enum",
        body(user("Hi"), **property_(type="NUMBER", enum=["1"])),
        f"* GenerateContentRequest.{PARAMETERS}.prop",
    ),
    (
        "required unknown",
        body(user("Hi"), **declared(required=["b"])),
        f"* GenerateContentRequest.{PARAMETERS}.required[0]: p",
    ),
    (
        "stops",
        body(user("Hi"), generationConfig={"stopSequences": list("abcdef")}),
        "* GenerateContentRequest.generation_config.stop_sequences: the number of stop_sequences must not exceed 5",
    ),
    (
        "hot",
        body(user("Hi"), generationConfig={"temperature": 3}),
        "* GenerateContentRequest.generation_config.temperature",
    ),
]
VERTEX: list[tuple[str, dict[str, Any], str]] = [
    ("no role", body({"parts": [{"text": "Hi"}]}), ROLE),
    (
        "no parts",
        body(user()),
        "Unable to submit request because it must include at least one parts field, which describes",
    ),
    ("empty text", body(user("")), "Unable to submit request because it has an empty text parameter. Add a value"),
    (
        "hot",
        body(user("Hi"), generationConfig={"temperature": 1000}),
        "Unable to submit request because it has a temperature value of 1000 but the supported range is from 0 "
        "(inclusive) to 2.0001 (exclusive). Update the value and try again.",
    ),
    (
        "a flag of AI Studio's",
        body(user("Hi"), toolConfig={"includeServerSideToolInvocations": True}),
        f"{UNKNOWN} \"includeServerSideToolInvocations\" at 'tool_config': Cannot find field.",
    ),
]


def cases(table: list[tuple[str, dict[str, Any], str]]) -> Any:
    return pytest.mark.parametrize(("asked", "sentence"), [case[1:] for case in table], ids=[case[0] for case in table])


@cases(BOTH + STUDIO)
def test_ai_studio_refuses_in_its_words(asked: dict[str, Any], sentence: str) -> None:
    said = verdict(provider("gemini"), path(FLASH), asked)
    assert sentence_of(said).startswith(sentence)
    assert said is not None
    assert (said.status, said.body["error"]["code"], said.body["error"]["status"]) == (400, 400, "INVALID_ARGUMENT")


@cases(BOTH + VERTEX)
def test_vertex_refuses_in_its_words(asked: dict[str, Any], sentence: str) -> None:
    assert sentence_of(verdict(provider("vertex"), vertex_path(FLASH), asked)).startswith(sentence)


def test_all_unknown_names_are_listed_at_once() -> None:
    said = verdict(provider("gemini"), path(FLASH), body({**user({"text": "Hi", "a": 1}), "b": 2}, c=3))
    assert sentence_of(said).split("\n") == [
        f"{UNKNOWN} \"a\" at 'contents[0].parts[0]': Cannot find field.",
        f"{UNKNOWN} \"b\" at 'contents[0]': Cannot find field.",
        f'{UNKNOWN} "c": Cannot find field.',
    ]
    assert said is not None
    violations = said.body["error"]["details"][0]["fieldViolations"]
    assert [violation["field"] for violation in violations] == ["contents[0].parts[0]", "contents[0]", ""]


SIGNED = call(signature="c29tZXRoaW5n")
ACCEPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "nulls": (FLASH, body(user("Hi"), tools=None, systemInstruction=None, safetySettings=None, generationConfig=None)),
    "one object for a list": (
        FLASH,
        body(user("Hi"), systemInstruction={"parts": {"text": "x"}}, tools={"codeExecution": {}}),
    ),
    "snake case": (FLASH, {"contents": [user("Hi")], "system_instruction": {"parts": [{"text": "x"}]}}),
    "lower-case enums": (
        FLASH,
        body(user("Hi"), **declared(type="object"), toolConfig={"functionCallingConfig": {"mode": "any"}}),
    ),
    "role left out": (FLASH, body({"parts": [{"text": "Hi"}]})),
    "empty text": (FLASH, body(user(""))),
    "two users, two models": (FLASH, body(user("a"), user("b"), model("c"), model("d"), user("e"))),
    "model last": (FLASH, body(user("a"), model("b"))),
    "model text first": (FLASH, body(model("a"), user("b"))),
    "history without tools": (FLASH, body(user("a"), model(call()), user(answer()))),
    "text after responses": (FLASH, body(user("a"), model(call()), user(answer(), "and?"))),
    "responses apart": (FLASH, body(user("a"), model(call(), call()), user(answer()), user(answer()))),
    "old role": (FLASH, body(user("a"), model(call()), {"role": "function", "parts": [answer()]})),
    "free schema": (
        FLASH,
        body(
            user("a"),
            tools=[
                {
                    "functionDeclarations": [
                        {"name": "a", "parametersJsonSchema": {"type": "object", "additionalProperties": False}}
                    ]
                }
            ],
        ),
    ),
    "unsigned on 2.5": (FLASH, body(user("a"), model(call()), user(answer()))),
    "signed on 3": (PRO3, body(user("a"), model(SIGNED, call()), user(answer(), answer()))),
    "unsigned in a past turn": (PRO3, body(user("a"), model(call()), user(answer()), model("b"), user("c"))),
    "skip value": (PRO3, body(user("a"), model(call(signature=SKIP)), user(answer()))),
    "unsigned on an image model": ("gemini-3-pro-image", body(user("a"), model(call()), user(answer()))),
    "signature alone": (
        "gemini-3-flash-preview",
        body(user("a"), model("b", {"thought": True, "thoughtSignature": SKIP}), user("c")),
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(name: str) -> None:
    named, asked = ACCEPTED[name]
    assert sentence_of(verdict(provider("gemini"), path(named), asked)) == ""


MIXED = body(user("Hi"), tools=[{"functionDeclarations": [{"name": "a"}]}, {"google_search": {}, "urlContext": {}}])
APART = (
    "Built-in tools ({google_search, url_context}) and Custom tools (Function Calling) cannot be combined in the same"
)
FLAG = "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."


@pytest.mark.parametrize(
    ("named", "more", "refusal"),
    [
        (FLASH, {}, APART),
        (FLASH, {"toolConfig": {"includeServerSideToolInvocations": True}}, APART),
        (PRO3, {}, FLAG),
        (PRO3, {"toolConfig": {"includeServerSideToolInvocations": True}}, ""),
        (FLASH, {"tools": [{"functionDeclarations": [{"name": "a"}]}, {"codeExecution": {}}]}, ""),
        (FLASH, {"tools": [{"google_search": {}}, {"url_context": {}}]}, ""),
    ],
)
def test_its_own_tools_beside_functions(named: str, more: dict[str, Any], refusal: str) -> None:
    found = sentence_of(verdict(provider("gemini"), path(named), {**MIXED, **more}))
    assert found.startswith(refusal)
    assert bool(found) is bool(refusal)


MISSING = body(
    user("a"), model("b"), user("c"), model(SIGNED), user(answer()), model(call("bash")), user(answer("bash"))
)


def test_gemini_3_wants_a_signature_on_each_step_of_the_current_turn() -> None:
    studio, vertex = provider("gemini"), provider("vertex")
    assert sentence_of(verdict(studio, path(PRO3), MISSING)).startswith(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
    )
    assert "`default_api:bash` , position 6." in sentence_of(verdict(studio, path(PRO3), MISSING))
    assert sentence_of(verdict(vertex, vertex_path(PRO3), MISSING)) == (
        "Unable to submit request because function call `bash` in the 6. content block is missing a "
        "`thought_signature`."
    )
    assert verdict(studio, path(FLASH), MISSING) is None


def test_vertex_has_no_ids_of_calls_in_its_older_version() -> None:
    asked = body(user("a"), model({"functionCall": {"name": "f", "args": {}, "id": "c1"}}), user(answer("f")))
    judge, path_of = provider("vertex"), vertex_path(FLASH)
    assert verdict(judge, path_of, asked) is None
    assert sentence_of(verdict(judge, path_of.replace("/v1beta1/", "/v1/"), asked)) == (
        "Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field."
    )


def test_gemini_3_wants_a_signature_on_calls_that_stand_in_contents_of_their_own() -> None:
    apart = body(user("a"), model(SIGNED), model(call("bash")), user(answer(), answer("bash")))
    assert sentence_of(verdict(provider("gemini"), path(PRO3), apart)).startswith("Function call is missing")


PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
HELD = {"text": "b", "thoughtSignature": SKIP}
TURNS = {
    "Text part is missing a thought_signature in content position 2, part position 1.": ({"text": "b"}, PICTURE),
    "Image part is missing a thought_signature in content position 2, part position 2.": (HELD, PICTURE),
    "Image part is missing a thought_signature in content position 2, part position 3.": (
        {"text": "Hm", "thought": True},
        HELD,
        PICTURE,
    ),
    "": (HELD, {**PICTURE, "thoughtSignature": SKIP}, {"text": "c"}),
}


@pytest.mark.parametrize("sentence", TURNS)
def test_image_models_want_a_signature_on_the_first_part_and_on_each_image(sentence: str) -> None:
    said = body(user("a"), model(*TURNS[sentence]), user("c"))
    refusal = sentence_of(verdict(provider("gemini"), path("gemini-3-pro-image-preview"), said))
    assert refusal.startswith(sentence)
    assert bool(refusal) is bool(sentence)
    assert verdict(provider("gemini"), path(PRO3), said) is None


def read(model_name: str, asked: dict[str, Any], verb: str = "generateContent", query: str = "") -> ReceivedRequest:
    got = received(provider("gemini"), path(model_name, verb) + query, asked)
    assert isinstance(got, ReceivedRequest)
    return got


TURN = ModelTurn(text="Let me see.", reasoning="Hm…", calls=(ModelCall("look", {"q": "ü"}), ModelCall("look", {})))


@pytest.mark.parametrize("change", ["none", "signature", "model", "route"])
def test_signatures_are_verified_on_return(change: str) -> None:
    """K3."""
    judge = provider("gemini", signatures="strict")
    said = judge.render_answer(read(PRO3, body(user("Hi"))), TURN)["candidates"][0]["content"]
    bearers = [part for part in said["parts"] if "thoughtSignature" in part]
    assert len(bearers) == 1
    assert "functionCall" in bearers[0]
    if change == "signature":
        bearers[0]["thoughtSignature"] = "AAAA" + bearers[0]["thoughtSignature"][4:]
    back = body(user("Hi"), said, user(answer(), answer()))
    if change == "route":
        other = verdict(provider("vertex", signatures="strict"), vertex_path(PRO3), back)
        assert sentence_of(other) == "Unable to submit request because Thought signature is not valid"
        return
    model_name = "gemini-3-flash-preview" if change == "model" else PRO3
    expected = "" if change == "none" else "Corrupted thought signature."
    assert sentence_of(verdict(judge, path(model_name), back)) == expected


def test_a_signature_rides_on_text_too() -> None:
    parts = provider("gemini").render_answer(read(PRO3, body(user("Hi"))), ModelTurn(text="Hello"))["candidates"][0][
        "content"
    ]["parts"]
    assert parts[0]["text"] == "Hello"
    assert parts[0]["thoughtSignature"]


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (TURN, "STOP"),
        (ModelTurn(text="Hello"), "STOP"),
        (ModelTurn(text="Hel", stop="length"), "MAX_TOKENS"),
        (ModelTurn(refusal="No."), "SAFETY"),
        (ModelTurn(json={"a": 1}), "STOP"),
        (ModelTurn(), "STOP"),
        (ModelTurn(calls=(ModelCall("look", '{"q": '),)), "MALFORMED_FUNCTION_CALL"),
    ],
)
def test_stream_and_whole_say_the_same(turn: ModelTurn, reason: str) -> None:
    judge = provider("gemini")
    asked = read(PRO3, body(user("Hi")), "streamGenerateContent", "?alt=sse")
    frames = list(judge.render_stream(asked, turn))
    assert all(frame.startswith(b"data: {") and frame.endswith(b"\r\n\r\n") for frame in frames)
    chunks = [json.loads(frame[6:]) for frame in frames]
    whole = judge.render_answer(asked, turn)
    assert whole["candidates"][0]["finishReason"] == chunks[-1]["candidates"][0]["finishReason"] == reason
    assert all("finishReason" not in chunk["candidates"][0] for chunk in chunks[:-1])
    assert chunks[-1]["usageMetadata"] == whole["usageMetadata"]
    assert _folded(chunks) == _folded([whole])


def _folded(chunks: list[dict[str, Any]]) -> tuple[str, str, list[Any], list[str]]:
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    return (
        "".join(part["text"] for part in parts if part.get("thought")),
        "".join(part["text"] for part in parts if "text" in part and not part.get("thought")),
        [part["functionCall"] for part in parts if "functionCall" in part],
        [part["thoughtSignature"] for part in parts if "thoughtSignature" in part],
    )


def test_without_sse_a_stream_is_one_array() -> None:
    asked = read(FLASH, body(user("Hi")), "streamGenerateContent")
    chunks = json.loads(b"".join(provider("gemini").render_stream(asked, ModelTurn(text="Hello there"))))
    assert "".join(chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks) == "Hello there"


def test_usage_adds_up() -> None:
    usage = provider("gemini").render_answer(read(FLASH, body(user("x" * 400))), TURN)["usageMetadata"]
    assert usage["totalTokenCount"] == (
        usage["promptTokenCount"] + usage["candidatesTokenCount"] + usage["thoughtsTokenCount"]
    )


@pytest.mark.parametrize(
    ("emulator", "kind", "status", "word"),
    [
        ("gemini", FaultKind.AUTH, 400, "INVALID_ARGUMENT"),
        ("vertex", FaultKind.AUTH, 401, "UNAUTHENTICATED"),
        ("gemini", FaultKind.MODEL, 404, "NOT_FOUND"),
        ("vertex", FaultKind.MODEL, 404, "NOT_FOUND"),
        ("gemini", FaultKind.RATE, 429, "RESOURCE_EXHAUSTED"),
        ("gemini", FaultKind.SERVER, 500, "INTERNAL"),
        ("gemini", FaultKind.OVERLOADED, 503, "UNAVAILABLE"),
        ("gemini", FaultKind.CONTEXT, 400, "INVALID_ARGUMENT"),
    ],
)
def test_faults_in_its_words(emulator: str, kind: FaultKind, status: int, word: str) -> None:
    judge = provider(emulator)
    asked = received(judge, judge.example[0], judge.example[1])
    assert isinstance(asked, ReceivedRequest)
    refused = judge.render_fault(kind, asked)
    assert (refused.status, refused.body["error"]["status"]) == (status, word)
    if kind is FaultKind.RATE:
        assert refused.body["error"]["details"][-1]["retryDelay"] == "1s"


def test_count_and_models() -> None:
    judge = provider("gemini", models=(FLASH,))
    counting = read(
        FLASH, {"generateContentRequest": {"model": f"models/{FLASH}", "contents": [user("Hi")]}}, "countTokens"
    )
    assert counting.operation is Operation.COUNT
    assert judge.judge(counting) is None
    assert judge.count_tokens(counting)["totalTokens"] > 0
    assert judge.list_models()["models"][0]["name"] == f"models/{FLASH}"
    assert sentence_of(verdict(judge, path("gemini-x"), body(user("Hi")))).startswith(
        "models/gemini-x is not found for API version v1beta, or is not supported for generateContent."
    )


def test_recorded_refusals_are_repeated() -> None:
    for emulator in ("gemini", "vertex"):
        same, wrong = misjudged(emulator, (emulator, "gemini"), (emulator, "gemini-count"))
        assert wrong == []
        assert same > 0


@pytest.mark.parametrize(("emulator", "least"), [("gemini", 500), ("vertex", 90)])
def test_recorded_successes_are_accepted(emulator: str, least: int) -> None:
    count, wrong = false_refusals(emulator, f"{emulator}.gemini.jsonl", f"{emulator}.gemini-count.jsonl")
    assert wrong == []
    assert count > least
