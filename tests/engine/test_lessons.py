"""Refusals in the providers' own words, and the fact that each of them corrects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.adapt import compile_ask, read
from dragoman.engine.lessons import LESSONS, Learnt, learn
from dragoman.profiles.profile import Layer, Profiles, Target, patched

PROFILES = Profiles()
CHAT = "openai-compatible-lenient/any-model"
TOOL_TYPE = "* GenerateContentRequest.tools[0].tool_type: required one_of 'tool_type' must have one initialized field"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
PLAIN: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
ANSWERED: dict[str, Any] = {
    "tools": TOOLS,
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ],
}


def refused(says: str, target: Target, request: dict[str, Any] = PLAIN, status: int = 400) -> Learnt | None:
    ask = read(request, source="openai-chat")
    return learn(Failure(FailureKind.BAD_REQUEST, says, status), target.facts, ask.conversation)


# the provider's sentence, the target, the lesson, what it corrects
SAID: list[tuple[str, str, str, dict[str, Any]]] = [
    (TOOL_TYPE, CHAT, "tool-wrapper", {"tool_wrapper": "function_declarations"}),
    (
        "Unable to submit request because Thought signature is not valid",
        "gemini/gemini-3-pro",
        "signature-refused",
        {"reasoning_trusted": False},
    ),
    ("Corrupted thought signature.", "gemini/gemini-3-pro", "signature-refused", {"reasoning_trusted": False}),
    ("Please use a valid role: user, model", CHAT, "system-unknown", {"system_place": "opening"}),
    ("System message must be at the beginning.", CHAT, "system-opening", {"system_place": "opening"}),
    ("Unexpected role 'system' after role 'assistant'", CHAT, "system-placement", {"system_place": "opening"}),
    (
        "messages.1: role 'system' must precede an 'assistant' message or end the array",
        CHAT,
        "system-placement",
        {"system_place": "opening"},
    ),
    ("System role not supported", CHAT, "system-refused", {"system_count": "none"}),
    (
        "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, "
        "expected one of `system`, `user`, `assistant`, `tool` at line 1 column 40",
        CHAT,
        "developer-refused",
        {"developer_role": "refuses"},
    ),
    (
        "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
        CHAT,
        "alternation-demanded",
        {"repeated_roles": "refuses", "user_after_tool": "refuses", "first_turn": "user"},
    ),
    (
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        CHAT,
        "prefill-refused",
        {"last_turn": "user"},
    ),
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        CHAT,
        "limit-name",
        {"limit_name": "max_completion_tokens"},
    ),
    (
        "Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9.",
        CHAT,
        "call-id-form",
        {"call_id_pattern": "[a-zA-Z0-9]{9}", "call_id_length": 9, "odd_call_id": "refuses"},
    ),
    (
        "Invalid 'messages[10].tool_calls[0].id': string too long. Expected a string with maximum length 40...",
        CHAT,
        "call-id-length",
        {"call_id_pattern": ".{1,40}", "odd_call_id": "refuses"},
    ),
    (
        "The reasoning_content in the thinking mode must be passed back to the API.",
        CHAT,
        "reasoning-demanded",
        {"reasoning_required": "tool-turns", "reasoning_default": True, "reasoning_field": "reasoning_content"},
    ),
    ("registry.ollama.ai/library/x does not support tools", CHAT, "tools-refused", {"tools": "refuses"}),
    ('"gemma3" does not support thinking', CHAT, "thinking-refused", {"thinking_form": "none"}),
    (
        "adaptive thinking is not supported on this model",
        "anthropic/claude-opus-4-8",
        "thinking-by-budget",
        {"thinking_form": "budget"},
    ),
    (
        "thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and output_config.effort",
        "anthropic/claude-sonnet-4-5",
        "thinking-adaptive",
        {"thinking_form": "adaptive"},
    ),
    (
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        "anthropic/claude-opus-4-8",
        "efforts-known",
        {"efforts": ["low", "medium", "high", "max"]},
    ),
    (
        "Unsupported value: 'minimal' is not supported with the 'o4-mini' model. "
        "Supported values are: 'low', 'medium', and 'high'.",
        CHAT,
        "effort-unknown",
        {"efforts": ["low", "medium", "high"]},
    ),
    (
        "Unsupported value: 'temperature' does not support 0.5 with this model. "
        "Only the default (1) value is supported.",
        CHAT,
        "sampling-refused",
        {"settings": {"temperature": {"support": "refuses"}}},
    ),
    (
        "temperature is deprecated for this model",
        CHAT,
        "sampling-refused",
        {"settings": {"temperature": {"support": "refuses"}}},
    ),
    (
        "Unsupported parameter: 'stop' is not supported with this model.",
        CHAT,
        "field-refused",
        {"refused_settings": ["stop"], "settings": {"stop": {"support": "refuses"}}},
    ),
    ("Unrecognized request argument supplied: frobnicate", CHAT, "field-refused", {"refused_settings": ["frobnicate"]}),
    ("frobnicate: Extra inputs are not permitted", CHAT, "extra-input", {"refused_settings": ["frobnicate"]}),
    ("Unknown parameter: 'messages[0].tool_calls'.", CHAT, "field-refused", {"unknown_fields": "refuses"}),
    (
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
        "'reasoning_content' is unsupported)]",
        CHAT,
        "field-refused",
        {"unknown_fields": "refuses"},
    ),
    (
        "Additional properties are not allowed ('reasoning' was unexpected) - 'messages.2'",
        CHAT,
        "field-unexpected",
        {"unknown_fields": "refuses"},
    ),
    (
        "Extra inputs are not permitted, field: 'messages[1].done', value: True",
        CHAT,
        "extra-field",
        {"unknown_fields": "refuses"},
    ),
]


@pytest.mark.parametrize(("says", "name", "lesson", "facts"), SAID, ids=[f"{row[2]}: {row[0][:40]}" for row in SAID])
def test_a_refusal_corrects_a_fact(says: str, name: str, lesson: str, facts: dict[str, Any]) -> None:
    target = neutral(name)
    learnt = refused(says, target)
    assert learnt is not None
    assert (learnt.lesson, learnt.facts) == (lesson, facts)
    corrected = patched(target, Layer("lesson", learnt.facts))
    told = msgspec.json.decode(msgspec.json.encode(corrected.facts))
    assert all(told[fact] == value for fact, value in facts.items() if fact != "settings")


@pytest.mark.parametrize("says", [row[0] for row in SAID], ids=[row[0][:40] for row in SAID])
def test_the_same_refusal_teaches_each_thing_once(says: str) -> None:
    target = neutral(CHAT)
    seen: list[dict[str, Any]] = []
    while (learnt := refused(says, target)) is not None:
        assert learnt.facts not in seen
        seen.append(learnt.facts)
        target = patched(target, Layer("lesson", learnt.facts))
    assert len(seen) <= 3


def neutral(name: str) -> Target:
    """A target that has not heard of it yet."""
    target = PROFILES.target(name)
    if name != CHAT:
        return target
    doubtful = {"unknown_fields": "unknown", "developer_role": "unknown", "system_place": "anywhere"}
    return patched(target, Layer("test", {**doubtful, "efforts": [], "reasoning_default": False}))


def test_C22_a_422_about_max_tokens_is_a_lesson_for_this_request_alone() -> None:
    learnt = refused("max_tokens must be less than or equal to 4096", neutral(CHAT), status=422)
    assert learnt == Learnt("limit-refused", {"settings": {"max_tokens": {"support": "refuses"}}}, lasting=False)
    assert refused("max_tokens must be less than or equal to 4096", neutral(CHAT), status=400) is None


def test_C1_C14_C15_C16_the_ladder_of_tool_shapes() -> None:
    target = PROFILES.target("gemini-compatible/gemini-3-pro")
    rungs: list[tuple[str, bool]] = []
    shapes: list[Any] = []
    while True:
        body = msgspec.json.decode(compile_ask(read(ANSWERED, source="openai-chat"), target).body)
        shapes.append(next(iter(tool for tool in body["tools"][0] if tool != "type")) if "tools" in body else None)
        learnt = refused(TOOL_TYPE, target, ANSWERED)
        if learnt is None:
            break
        rungs.append((learnt.lesson, learnt.lasting))
        target = patched(target, Layer("lesson", learnt.facts))
    assert shapes == ["function", "function_declarations", "functionDeclarations", None]
    assert rungs == [("tool-wrapper", True), ("tool-wrapper", True), ("tools-dropped", False)]


def test_X10_tools_are_never_dropped_where_they_may_be_needed() -> None:
    shaped = {"tool_wrapper": "functionDeclarations"}
    target = patched(PROFILES.target("gemini-compatible/gemini-3-pro"), Layer("test", shaped))
    assert refused(TOOL_TYPE, target, {**PLAIN, "tools": TOOLS}) is None
    assert refused(TOOL_TYPE, target, {**ANSWERED, "tool_choice": "auto"}) is None
    assert refused(TOOL_TYPE, PROFILES.target("gemini/gemini-3-pro"), ANSWERED) is None


UNTAUGHT = [
    "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    "Missing required parameter: 'messages'.",
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
    "The requested model 'x' does not exist.",
    "Invalid type for 'n': expected an integer, but got a string instead.",
    "max_tokens: Field required",
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
    "",
]


@pytest.mark.parametrize("says", UNTAUGHT)
def test_other_refusals_teach_nothing(says: str) -> None:
    assert refused(says, neutral(CHAT)) is None


def test_names_are_told_apart() -> None:
    names = [lesson.name for lesson in LESSONS]
    assert len(names) == len(set(names))
