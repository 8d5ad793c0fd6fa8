"""Every lesson: a refusal in the provider's words, the fact that it corrects, and what is sent after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.compile.plan import serving_target
from dragoman.engine.exchange.lessons import LESSONS, Learnt, learn
from dragoman.engine.library.adapt import read
from dragoman.profiles.profile import Layer, Profiles, Target, patch_target

PROFILES = Profiles()
CHAT = "openai-compatible-lenient/any-model"
SKIP = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
TOOL_TYPE = "* GenerateContentRequest.tools[0].tool_type: required one_of 'tool_type' must have one initialized field"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
HELLO: dict[str, Any] = {"role": "assistant", "content": "Hello"}
LATE: dict[str, Any] = {"role": "system", "content": "L"}
PLAIN: dict[str, Any] = {"messages": [HI]}


def called(identity: str = "c1", **more: Any) -> list[dict[str, Any]]:
    """A turn of one call and its answer."""
    call = {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "x", "tool_calls": [call], **more},
        {"role": "tool", "tool_call_id": identity, "content": "ok"},
    ]


ANSWERED: dict[str, Any] = {"tools": TOOLS, "messages": [HI, *called()]}


class Case(msgspec.Struct, frozen=True):
    """`says`: sentences that teach the same. `facts`: what is corrected. `look`: what of the body shows it, `before`
    the correction and `after`. `knows`: what else the target is known to be like."""

    says: tuple[str, ...]
    facts: dict[str, Any]
    request: dict[str, Any]
    look: Callable[[Any], Any]
    before: Any
    after: Any
    target: str = CHAT
    source: str = "openai-chat"
    knows: dict[str, Any] = {}
    lasting: bool = True
    status: int = 400
    headers: dict[str, str] = {}


STRICT_TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f", "strict": True}}
DATED = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-b]+$"}}}
LIMITED = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
UNTYPED: dict[str, Any] = {"type": "object", "properties": {"source": {"enum": ["a", "b"]}}}
CUT: dict[str, Any] = {
    "role": "assistant",
    "content": "x",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": "'}}],
}
BOTH: dict[str, Any] = {**CUT, "tool_calls": [called(one)[0]["tool_calls"][0] for one in ("c1", "c2")]}


def turns(body: Any) -> list[tuple[str, Any]]:
    return [(turn["role"], turn["content"]) for turn in body["messages"]]


def roles(body: Any) -> list[str]:
    return [turn["role"] for turn in body["messages"]]


def names(body: Any) -> set[str]:
    return set(body) - {"model", "messages", "tools", "max_tokens"}


def fields(body: Any) -> set[str]:
    return {name for turn in body["messages"] for name in turn}


def claude(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"max_tokens": 20000, "messages": [HI, {"role": "assistant", "content": list(content)}, HI], **more}


def levelled(**config: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"thinkingConfig": config}}


def thoughts(body: Any) -> Any:
    return body["generationConfig"]["thinkingConfig"]


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": list(parts)}]}


FUNCTION_CALL = {"functionCall": {"name": "f", "args": {}, "id": "c"}}
THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "c2lnbmVkc2lnbmVkc2lnbmVk"}

SEEN = {
    "role": "user",
    "content": [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "https://e.example/a.png"}},
    ],
}
SHAPED = {
    "type": "json_schema",
    "json_schema": {"name": "a", "schema": {"type": "object", "properties": {"x": {"type": "string"}}}},
}
UNDECRYPTED = (
    "Could not decrypt the provided encrypted_content. "
    "Ensure the value is the unmodified encrypted_content from a previous response."
)
SEALED = "c2VhbGVkIGFuZCBzZWFsZWQgYWdhaW4gYmUgc2VhbGVk"
COMPACTED = {"type": "compaction", "id": "cmp_1", "encrypted_content": SEALED}
THINKING_ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z0FBQUFnZ2dnZ2dnZ2dnZ2c="}

SEARCHED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://e.example", "title": "t", "encrypted_content": SEALED}],
}

TAILED = {"id": "c1__thought__c2ln", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TAILED_RESULT = {"role": "tool", "tool_call_id": "c1__thought__c2ln", "content": "x"}

ANSWER_ONE = {"role": "tool", "tool_call_id": "c1", "content": "a lake"}
CALL_ONE = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RENAMED = "data:image/png;base64,/9j/4AAQSkZJRgABAQAAAQABAAD="

CASES: dict[str, Case] = {
    "tool-wrapper": Case(
        (TOOL_TYPE, "tools[0]: tool_type is a oneof field that was not set"),
        {"tool_wrapper": "function_declarations", "tool_wrappers": []},
        {**PLAIN, "tools": TOOLS},
        lambda body: sorted(body["tools"][0]),
        ["function", "type"],
        ["function_declarations"],
    ),
    "tools-dropped": Case(
        (TOOL_TYPE,),
        {"tools": "refuses", "choice_without_tools": "accepts"},
        ANSWERED,
        lambda body: ("tools" in body, body.get("tool_choice")),
        (True, None),
        (False, "none"),
        target="gemini-compatible/gemini-3-pro",
        knows={"tool_wrapper": "functionDeclarations"},
        lasting=False,
    ),
    "turn-unsigned": Case(
        (
            "Image part is missing a thought_signature in content position 2, part position 1.",
            "Text part is missing a thought_signature in content position 2, part position 1.",
        ),
        {"turn_signature": "refuses", "signature_skip": SKIP},
        gemini({"text": "Hello"}),
        lambda body: body["contents"][1]["parts"][0].get("thoughtSignature"),
        None,
        SKIP,
        target="gemini/gemini-2.5-flash",
        source="gemini",
    ),
    "signature-entry": Case(
        (
            "Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our"
            " docs: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens. Upstream"
            " error: Function call is missing a thought_signature in functionCall parts.",
        ),
        {
            "call_signature": "refuses",
            "signature_skip": "skip_thought_signature_validator",
            "state_format": "google-gemini-v1",
        },
        {"messages": [HI, {"role": "assistant", "content": "", "tool_calls": [CALL_ONE]}, ANSWER_ONE]},
        lambda body: [entry["data"] for entry in body["messages"][1].get("reasoning_details", ())],
        [],
        ["skip_thought_signature_validator"],
        target="openai-compatible/some-model",
    ),
    "missing-signature": Case(
        ("Function call is missing a thought_signature in functionCall parts.", "missing a `thought_signature`"),
        {"call_signature": "refuses", "signature_skip": SKIP},
        gemini(FUNCTION_CALL),
        lambda body: body["contents"][1]["parts"][0].get("thoughtSignature"),
        None,
        SKIP,
        target="gemini/gemini-2.5-flash",
        source="gemini",
    ),
    "block-unread": Case(
        ("The encrypted content c2Vh...bGVk could not be verified.", UNDECRYPTED),
        {"refused_blocks": ["ghost_snapshot", "other", "custom_tool_call", "compaction"]},
        {"input": [COMPACTED, HI]},
        lambda body: [item.get("type") for item in body["input"]],
        ["compaction", None],
        [None],
        target="openai-responses/gpt-5",
        source="openai-responses",
        lasting=False,
    ),
    "block-unknown": Case(
        (
            "Invalid value: 'agent_message'. Supported values are: 'message', 'function_call', and 'reasoning'.",
            "input.1: Input tag 'agent_message' found using 'type' does not match any of the expected tags: 'message'",
            "failed to convert tool result content: unsupported content type in ContentBlockParamUnion: agent_message",
        ),
        {"refused_blocks": ["ghost_snapshot", "other", "custom_tool_call", "agent_message"]},
        {"input": [HI, {"type": "agent_message", "author": "a", "content": [{"type": "input_text", "text": "Go"}]}]},
        lambda body: body["input"][1]["type"],
        "agent_message",
        "message",
        target="openai-responses/gpt-5",
        source="openai-responses",
    ),
    "item-parted": Case(
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        ),
        {"kept_items": "refuses"},
        {"input": [HI, {"type": "message", "id": "msg_1", "role": "assistant", "content": "Hello"}, HI]},
        lambda body: body["input"][1].get("id"),
        "msg_1",
        None,
        target="openai-responses/gpt-5",
        source="openai-responses",
        lasting=False,
    ),
    "item-not-found": Case(
        (
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with "
            "`store` set to true, or remove this item from your input.",
            "Item with id 'rs_1' not found. Items are not persisted for Zero Data Retention organizations.",
            "Invalid 'input[3].id': 'msg_0a8c478399f5fce9'. Expected an ID that begins with 'fc'.",
            "Invalid 'input[2].id': ''. Expected an ID that contains letters, numbers, underscores, or dashes.",
        ),
        {"kept_items": "refuses"},
        {"input": [HI, {"type": "item_reference", "id": "rs_1"}, {"role": "assistant", "content": "Hello"}, HI]},
        lambda body: [item.get("type", item.get("role")) for item in body["input"]],
        ["user", "item_reference", "assistant", "user"],
        ["user", "assistant", "user"],
        target="openai-responses/gpt-5",
        source="openai-responses",
        lasting=False,
        status=404,
    ),
    "tool-unknown": Case(
        (
            "tools[5].type: unknown variant `namespace`, expected one of `function`, `web_search`, `mcp`",
            "Invalid value: 'namespace'. Supported values are: 'code_interpreter', 'function', and 'web_search'.",
        ),
        {"native_tools": ["*", "!namespace"]},
        {
            "input": [HI],
            "tools": [
                {"type": "namespace", "name": "n", "description": "N.", "tools": [{"type": "function", "name": "f"}]}
            ],
        },
        lambda body: body["tools"][0]["name"],
        "n",
        "n__f",
        target="openai-responses/gpt-5",
        source="openai-responses",
        status=422,
    ),
    "signature-refused": Case(
        (
            "Unable to submit request because Thought signature is not valid",
            "Corrupted thought signature.",
            "Invalid thought signature",
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "The encrypted content for item rs_1 could not be verified.",
            UNDECRYPTED,
            "messages.3: `thinking` blocks in the latest assistant message cannot be modified.",
            "Unable to submit request because thought_signature is invalid.",
            "The signature in the reasoningContent block at messages.1.content.0 is invalid",
            "This model doesn't support the reasoningContent.reasoningText.signature field. Remove it and try again.",
            "Your request contains encrypted reasoning or compaction content that was produced under a different model."
            " Encrypted payloads can only be replayed to the endpoint that created them.",
            "[invalid_request_error] reasoning `encrypted_content` was not issued to this caller",
            "encrypted content missing recognized prefix (expected `rsn_` or `smry_`)",
            "encrypted reasoning was created for a different account or model",
        ),
        {"reasoning_trusted": False},
        claude(THOUGHT, {"type": "text", "text": "Hello"}),
        lambda body: [block["type"] for block in body["messages"][1]["content"]],
        ["thinking", "text"],
        ["text"],
        target="anthropic/claude-opus-4-8",
        source="anthropic",
        lasting=False,
    ),
    "found-refused": Case(
        ("messages.1.content.1: Invalid encrypted_content in search_result block",),
        {"native_blocks": "refuses"},
        claude(SEARCHED, FOUND, {"type": "text", "text": "Hello"}),
        lambda body: [block["type"] for block in body["messages"][1]["content"]],
        ["server_tool_use", "web_search_tool_result", "text"],
        ["text", "text"],
        target="anthropic/claude-opus-4-8",
        source="anthropic",
        lasting=False,
    ),
    "signature-ladder": Case(
        (
            "Unable to submit request because Thought signature is not valid",
            "Corrupted thought signature.",
            "Invalid thought signature",
        ),
        {"call_signature": "refuses", "signature_skip": SKIP, "thought_in_id": "refuses"},
        {"messages": [HI, {"role": "assistant", "content": None, "tool_calls": [TAILED]}, TAILED_RESULT]},
        lambda body: (
            body["messages"][1]["tool_calls"][0]["id"],
            "extra_content" in body["messages"][1]["tool_calls"][0],
        ),
        ("c1__thought__c2ln", False),
        ("c1", True),
        knows={"reasoning_trusted": False},
        lasting=False,
    ),
    "reasoning-demanded": Case(
        (
            "The reasoning_content in the thinking mode must be passed back to the API.",
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
            "Missing `reasoning_content` field in the assistant message at message index 2. For more information,"
            " please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
        ),
        {"reasoning_required": "tool-turns", "reasoning_default": True, "reasoning_field": "reasoning_content"},
        ANSWERED,
        lambda body: body["messages"][1].get("reasoning_content"),
        None,
        " ",
    ),
    "system-opening": Case(
        (
            "System message must be at the beginning.",
            "invalid params, invalid chat setting (2013)",
            "invalid params, chat content has invalid message role: system (2013)",
        ),
        {"system_place": "opening", "system_count": "one"},
        {"messages": [LATE, LATE, HI, LATE]},
        turns,
        [("system", "L"), ("system", "L"), ("user", "Hi"), ("system", "L")],
        [("system", "L\n\nL"), ("user", "Hi"), ("user", "[System] L")],
    ),
    "system-placement": Case(
        (
            "Unexpected role 'system' after role 'assistant'",
            "messages.1: role 'system' must precede an 'assistant' message or end the array",
            "messages.2: role 'system' must follow a 'user' message",
        ),
        {"system_place": "opening"},
        {"messages": [HI, HELLO, LATE]},
        roles,
        ["user", "assistant", "system"],
        ["user", "assistant", "user"],
    ),
    "system-top-level": Case(
        ("messages.1: role 'system' is not supported on this model",),
        {"system_place": "top-level"},
        {"max_tokens": 9, "messages": [HI, LATE]},
        roles,
        ["user", "system"],
        ["user", "user"],
        target="anthropic/claude-opus-4-8",
        source="anthropic",
    ),
    "role-unknown": Case(
        ("Please use a valid role: user, model",),
        {"system_place": "opening"},
        {"messages": [HI, LATE]},
        roles,
        ["user", "system"],
        ["user", "user"],
    ),
    "system-refused": Case(
        (
            "System role not supported",
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "Unexpected role 'system'",
        ),
        {"system_count": "none"},
        {"messages": [LATE, HI]},
        roles,
        ["system", "user"],
        ["user", "user"],
    ),
    "developer-refused": Case(
        (
            "messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
            "messages: Unexpected role 'developer'",
            "Unsupported value: 'messages[0].role' does not support 'developer' with this model.",
            "Unexpected message role: developer",
            "Unexpected message role.",
            "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[0].role'",
            "Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', 'function', and 'tool'.",
            "Input tag 'developer' found using 'role' does not match any of the expected tags: 'system', 'user'",
            "Input should be 'system', 'user', 'assistant', or 'tool'",
            "Value error, 'role' must be one of 'system', 'assistant', 'tool', or 'function' (case-insensitive).",
            "Upstream request failed: [1214] Incorrect role information",
        ),
        {"developer_role": "refuses"},
        {"messages": [{"role": "developer", "content": "L"}, HI]},
        roles,
        ["developer", "user"],
        ["system", "user"],
    ),
    "alternation-demanded": Case(
        (
            "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
            "The messages should alternate with assistant messages",
            "After the (optional) system message(s), user and assistant roles should be alternating.",
            "Please ensure that multiturn requests alternate between user and model.",
            "Unexpected role 'user' after role 'tool'",
        ),
        {"repeated_roles": "refuses", "user_after_tool": "refuses", "first_turn": "user"},
        {"messages": [HI, HI]},
        turns,
        [("user", "Hi"), ("user", "Hi")],
        [("user", "Hi\n\nHi")],
    ),
    "systems-break-alternation": Case(
        ("conversation roles must alternate user/assistant/user/assistant/...",),
        {"system_place": "opening"},
        {"messages": [HI, LATE, HELLO]},
        roles,
        ["user", "system", "assistant"],
        ["user", "assistant"],
        knows={"repeated_roles": "refuses", "user_after_tool": "refuses", "first_turn": "user"},
    ),
    "first-turn-demanded": Case(
        (
            "Please ensure that function call turn comes immediately after a user turn or a function response.",
            "messages: first message must use the `user` role",
            "A conversation must start with a user message. Try again with a conversation that starts with one.",
        ),
        {"first_turn": "user"},
        {"messages": called()},
        roles,
        ["assistant", "tool"],
        ["user", "assistant", "tool"],
    ),
    "user-demanded": Case(
        ("No user query found in messages.", "Jinja Exception: No user query found in messages"),
        {"system_only": "refuses", "no_user": "refuses"},
        {"tools": TOOLS, "messages": called()},
        roles,
        ["assistant", "tool"],
        ["assistant", "tool", "user"],
        knows={"system_only": "accepts"},
    ),
    "prefill-refused": Case(
        (
            "This model does not support assistant message prefill.",
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            "Please ensure that the conversation will end with a user role.",
            "The conversation must end with a user message.",
            "Last message must have role `user`.",
            "Last message must have role `user` or `tool`.",
            "The model that you are using requires the last turn in the conversation to be a user message.",
            "Assistant response prefill is incompatible with enable_thinking.",
        ),
        {"last_turn": "user"},
        {"messages": [HI, HELLO]},
        roles,
        ["user", "assistant"],
        ["user", "assistant", "user"],
    ),
    "last-turns-counted": Case(
        ("Cannot have 2 or more assistant messages at the end of the list.",),
        {"repeated_last": "refuses"},
        {"messages": [HI, HELLO, HELLO]},
        turns,
        [("user", "Hi"), ("assistant", "Hello"), ("assistant", "Hello")],
        [("user", "Hi"), ("assistant", "Hello\n\nHello")],
    ),
    "pairs-demanded": Case(
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. (insufficient tool messages following tool_calls message)",
            '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool'
            ' messages responding to each "tool_call_id".',
            "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            "Not the same number of function calls and responses",
            "Unexpected role 'tool' after role 'user'",
            "Duplicate tool call id c1 in tool results",
            "Unexpected tool call id c9 in tool results",
            "invalid params, tool result's tool id(call_function_g094w5htkglv_1) not found (2013)",
            "invalid params, tool call and result not match (2013)",
            "No tool output found for function call call_U80UaBc1YfQVSXfZiKGqTvN7.",
            "No tool call found for function call output with call_id call_uelfkqtHfJDC4Btqeoozq82e.",
            "invalid params, tool call result does not follow tool call (2013)",
            "Invalid request: tool_call_id  is not found",
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
        ),
        {
            "orphan_result": "refuses",
            "missing_result": "refuses",
            "late_result": "refuses",
            "repeated_result": "refuses",
        },
        {"tools": TOOLS, "messages": [HI, *called()[1:], HELLO, called("c2")[0], HI]},
        roles,
        ["user", "tool", "assistant", "assistant", "user"],
        ["user", "user", "assistant", "assistant", "tool", "user"],
        knows=dict.fromkeys(("orphan_result", "missing_result", "late_result", "repeated_result"), "accepts"),
    ),
    "calls-counted": Case(
        ("This model only supports single tool-calls at once!",),
        {"parallel_calls": "refuses"},
        {"tools": TOOLS, "messages": [HI, BOTH, *(called(one)[1] for one in ("c1", "c2"))]},
        roles,
        ["user", "assistant", "tool", "tool"],
        ["user", "assistant", "tool", "assistant", "tool"],
    ),
    "arguments-demanded": Case(
        (
            '<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be '
            "in JSON format.",
            "invalid params, invalid function arguments json string, tool_call_id: call_function_abraty2ssz2_1 (2013)",
            "invalid tool call arguments",
            "Invalid request: messages.7.tool_calls.0.function.arguments: arguments must be a valid JSON object string",
            "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error",
            "TypeError: Can only get item pairs from a mapping.",
            "Unterminated string starting at: line 1 column 14 (char 13)",
            "Expecting ',' delimiter: line 1 column 21 (char 20)",
        ),
        {"bad_arguments": "refuses"},
        {"tools": TOOLS, "messages": [HI, CUT, called()[1]]},
        lambda body: body["messages"][1]["tool_calls"][0]["function"]["arguments"],
        '{"x": "',
        '{"arguments":"{\\"x\\": \\""}',
        knows={"bad_arguments": "accepts"},
    ),
    "limit-range": Case(
        (
            "max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for m",
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens.",
            "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
            "The maximum tokens you requested exceeds the model limit of 4096. Try again.",
            "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum "
            "value, expected a value <= 4096, but got 9000 instead. Request id: 0217",
            "`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens`",
        ),
        {"output_limit": 4096, "above_output_limit": "refuses"},
        {**PLAIN, "max_tokens": 9000},
        lambda body: body.get("max_tokens"),
        9000,
        4096,
    ),
    "limit-name": Case(
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",),
        {"limit_name": "max_completion_tokens"},
        {**PLAIN, "max_tokens": 9},
        lambda body: (body.get("max_tokens"), body.get("max_completion_tokens")),
        (9, None),
        (None, 9),
    ),
    "call-id-form": Case(
        (
            "Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9.",
            "Tool call IDs should be alphanumeric strings with length 9!",
        ),
        {"call_id_pattern": "[a-zA-Z0-9]{9}", "call_id_length": 9, "odd_call_id": "refuses"},
        {"messages": [HI, *called("turn1_0")]},
        lambda body: len(body["messages"][2]["tool_call_id"]),
        7,
        9,
    ),
    "call-id-alphabet": Case(
        ("messages.5.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",),
        {"call_id_pattern": "[a-zA-Z0-9_-]+", "odd_call_id": "refuses"},
        {"messages": [HI, *called("functions.f:0")]},
        lambda body: "." in body["messages"][2]["tool_call_id"],
        True,
        False,
    ),
    "call-id-length": Case(
        ("Invalid 'messages[10].tool_calls[0].id': string too long. Expected a string with maximum length 40.",),
        {"call_id_pattern": ".{1,40}", "odd_call_id": "refuses"},
        {"messages": [HI, *called("x" * 50)]},
        lambda body: len(body["messages"][2]["tool_call_id"]),
        50,
        24,
        knows={"odd_call_id": "accepts"},
    ),
    "empty-content": Case(
        (
            "messages: text content blocks must be non-empty",
            "messages.1: all messages must have non-empty content except for the optional final assistant message",
            "Unable to submit request because it has an empty text parameter.",
            "Unable to submit request because it must include at least one parts field",
            "messages must have at least one content element",
            "Invalid request: the message at position 4 with role 'assistant' must not be empty",
            "invalid params, chat content is empty (2013)",
            "The text field in the ContentBlock object at messages.15.content.0 is blank. Add text to the text field",
        ),
        {"empty_user": "refuses", "empty_assistant": "refuses", "empty_beside": "refuses", "blank_text": "refuses"},
        {"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": " "}, HI]},
        turns,
        [("user", ""), ("assistant", " "), ("user", "Hi")],
        [("user", "(empty)"), ("user", "Hi")],
    ),
    "null-refused": Case(
        (
            "Invalid value for 'content': expected a string, got null.",
            "invalid message content type: <nil>",
            "Failed to deserialize the JSON body into the target type: messages[1]: missing field `content` at line 8",
            "messages.1.ChatCompletionMessageGenericParam.content Field required [type=missing]",
        ),
        {"call_content": "empty", "no_parts": "refuses", "no_user_parts": "refuses"},
        {"messages": [HI, {**called()[0], "content": None}, called()[1], {"role": "assistant", "content": None}, HI]},
        turns,
        [("user", "Hi"), ("assistant", None), ("tool", "ok"), ("assistant", None), ("user", "Hi")],
        [("user", "Hi"), ("assistant", ""), ("tool", "ok"), ("user", "Hi")],
        knows={"no_parts": "accepts", "no_user_parts": "accepts"},
    ),
    "text-demanded": Case(
        (
            "message[4].content must be a string",
            "Failed to deserialize the JSON body into the target type: messages[5]: invalid type: sequence, expected a "
            "string at line 1 column 33928",
            "messages.1.content: Input should be a valid string",
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
        ),
        {"list_content": "refuses", "system_parts": "refuses"},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
        turns,
        [("user", [{"type": "text", "text": "Hi"}])],
        [("user", "Hi")],
    ),
    "schema-keyword": Case(
        (
            "Invalid JSON payload received. Unknown name \"const\" at 'tools[0].function_declarations[0].parameters'",
            "Unknown name \"parametersJsonSchema\" at 'tools[0]': Cannot find field.",
            "Unable to submit request because `browser_console_messages` functionDeclaration `parameters.level` schema "
            "didn't specify the schema type field.",
            "* GenerateContentRequest.tools[0].function_declarations[9].parameters.properties[source_uuids].items: "
            "missing field.",
            "Invalid value at 'request.tools[0].function_declarations[53].parameters.properties[6].value' "
            '(type.googleapis.com/google.cloud.aiplatform.master.Schema), "object"',
        ),
        {"schema_form": "gemini-proto", "schema_as": "parameters"},
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
        },
        lambda body: sorted(body["tools"][0]["functionDeclarations"][0]),
        ["name", "parametersJsonSchema"],
        ["name", "parameters"],
        target="gemini/gemini-2.5-flash",
        source="gemini",
    ),
    "forced-choice": Case(
        (
            "Thinking mode does not support this tool_choice",
            "deepseek-reasoner does not support this tool_choice",
            "tool_choice forces tool use is not compatible with thinking",
            "Thinking may not be enabled when tool_choice forces tool use.",
            "tool_choice 'specified' is incompatible with thinking enabled",
            "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to "
            "required or object in thinking mode",
        ),
        {"forced_choice_thinking": "refuses"},
        {**PLAIN, "tools": TOOLS, "tool_choice": "required", "reasoning_effort": "high"},
        lambda body: body["reasoning_effort"],
        "high",
        "none",
    ),
    "thinks-unasked": Case(
        (
            "Thinking mode does not support this tool_choice",
            "tool_choice 'required' is incompatible with thinking enabled",
        ),
        {"reasoning_default": True, "thinking_off": "refuses"},
        {**PLAIN, "tools": TOOLS, "tool_choice": "required"},
        lambda body: body["tool_choice"],
        "required",
        "auto",
        knows={"forced_choice_thinking": "refuses"},
    ),
    "choice-refused": Case(
        (
            "Tool choice must be auto",
            "No endpoints found that support the provided 'tool_choice' value.",
            "Only 'auto' or 'none' tool_choice is supported in response API with Harmony",
        ),
        {"tool_choices": ["auto"]},
        {**PLAIN, "tools": TOOLS, "tool_choice": "required"},
        lambda body: body["tool_choice"],
        "required",
        "auto",
    ),
    "choice-named": Case(
        (
            "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
            "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and "
            "try again.",
        ),
        {"tool_choices": ["auto", "none", "required"]},
        {**PLAIN, "tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "f"}}},
        lambda body: body["tool_choice"],
        {"type": "function", "function": {"name": "f"}},
        "required",
    ),
    "format-refused": Case(
        (
            "This model does not support response format `json_schema`.",
            "This response_format type is unavailable now",
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
        ),
        {"response_formats": ["text", "json"]},
        {**PLAIN, "response_format": SHAPED},
        lambda body: body.get("response_format", {}).get("type"),
        "json_schema",
        None,
    ),
    "format-beside-tools": Case(
        ("json mode cannot be combined with tool/function calling", '"tools" is incompatible with "response_format"'),
        {"format_with_tools": "refuses"},
        {**PLAIN, "tools": TOOLS, "response_format": {"type": "json_object"}},
        lambda body: "response_format" in body,
        True,
        False,
    ),
    "schema-refused": Case(
        (
            "Invalid schema for function 'f': [] is not of type 'object'.",
            "invalid JSON schema for tool f, tools[0].function.parameters: additionalProperties:false must be set on "
            "every object",
            "'additionalProperties' is required to be supplied and set to false.",
            "Invalid JSON schema: regex lookaround is not supported. Found at $.properties.email.pattern.",
        ),
        {"schema_form": "openai", "format_schema_form": "openai"},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]},
        lambda body: "properties" in body["tools"][0]["function"]["parameters"],
        False,
        True,
    ),
    "tool-name-form": Case(
        (
            "* GenerateContentRequest.tools[0].function_declarations[37].name: Invalid function name. Must start with "
            "a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-).",
            "function name is invalid, must start with a letter and can contain letters, numbers, underscores, and "
            "dashes",
            "Invalid 'tools[1].function.name': string does not match pattern. Expected a string that matches the "
            "pattern '^[a-zA-Z0-9_-]+$'.",
        ),
        {"tool_name_pattern": "[a-zA-Z_][a-zA-Z0-9_-]*"},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": "3d-view"}}]},
        lambda body: body["tools"][0]["function"]["name"],
        "3d-view",
        "_3d-view",
    ),
    "strict-mixed": Case(
        ("Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or …",),
        {"mixed_strict": "refuses"},
        {**PLAIN, "tools": [STRICT_TOOL, {"type": "function", "function": {"name": "g"}}]},
        lambda body: [tool["function"].get("strict") for tool in body["tools"]],
        [True, None],
        [None, None],
    ),
    "strict-refused": Case(
        (
            "Tools with strict=True are not supported by this model",
            "2 validation errors for ChatCompletionRequest\ntools.0.function.strict\n  Extra inputs are not permitted "
            "[type=extra_forbidden, input_value=False, input_type=bool]",
            "tools.1.custom: For 'integer' type, properties maximum, minimum are not supported",
        ),
        {"strict_tools": "refuses"},
        {**PLAIN, "tools": [STRICT_TOOL]},
        lambda body: body["tools"][0]["function"].get("strict"),
        True,
        None,
    ),
    "schema-flavored": Case(
        (
            "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: "
            "<At path 'properties.source': type is not defined>",
        ),
        {"schema_form": "moonshot", "format_schema_form": "moonshot"},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": "f", "parameters": UNTYPED}}]},
        lambda body: body["tools"][0]["function"]["parameters"]["properties"]["source"].get("type"),
        None,
        "string",
    ),
    "schema-grammar": Case(
        (
            "Failed to initialize samplers: failed to parse grammar",
            'Engine protocol predict request returned 400: {"error":{"code":400,"message":"Failed to initialize '
            'samplers: failed to parse grammar","type":"invalid_request_error"}}',
            "error parsing grammar: unknown escape at",
        ),
        {"schema_form": "grammar-words", "format_schema_form": "grammar-words"},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": "f", "parameters": DATED}}]},
        lambda body: body["tools"][0]["function"]["parameters"]["properties"]["a"],
        {"type": "string", "pattern": "^[a-b]+$"},
        {"type": "string", "description": "Must match pattern ^[a-b]+$."},
    ),
    "schema-limits": Case(
        (
            "output_config.format.schema: For 'number' type, properties maximum, minimum are not supported",
            "output_config.format.schema: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
        ),
        {"format_schema_form": "anthropic-answer"},
        {**PLAIN, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": LIMITED}}},
        lambda body: body["response_format"]["json_schema"]["schema"]["properties"]["a"],
        {"type": "integer", "minimum": 1},
        {"type": "integer", "description": "At least 1."},
    ),
    "tools-counted": Case(
        (
            "'tools' : maximum number of items is 2",
            "Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length 3",
        ),
        {"tools_max": 2},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": name}} for name in "abc"]},
        lambda body: len(body["tools"]),
        3,
        2,
    ),
    "turn-counted": Case(
        ("Invalid 'messages[1].tool_calls': array too long. Expected an array with maximum length 1, but got",),
        {"calls_max": 1},
        {
            "messages": [
                HI,
                {"role": "assistant", "content": "", "tool_calls": [CALL_ONE, {**CALL_ONE, "id": "c2"}]},
                ANSWER_ONE,
                {**ANSWER_ONE, "tool_call_id": "c2"},
            ]
        },
        lambda body: [len(message.get("tool_calls", ())) for message in body["messages"]],
        [0, 2, 0, 0],
        [0, 1, 0, 1, 0],
    ),
    "stops-counted": Case(
        (
            "Invalid 'stop': array too long. Expected an array with maximum length 1, but got an array with length 2",
            "* GenerateContentRequest.generation_config.stop_sequences: the number of stop_sequences must not exceed 1",
        ),
        {"stop_max": 1},
        {**PLAIN, "stop": ["a", "b"]},
        lambda body: body["stop"],
        ["a", "b"],
        ["a"],
    ),
    "stops-in-range": Case(
        (
            "Unable to submit request because it has a stopSequences value of 10 but the supported range is from 1 "
            "(inclusive) to 6 (exclusive). Update the value and try again.",
        ),
        {"stop_max": 5},
        {**PLAIN, "stop": ["a", "b", "c", "d", "e", "f"]},
        lambda body: len(body["stop"]),
        6,
        5,
    ),
    "tools-unique": Case(
        ("Tool names must be unique.", "Duplicate function declaration found: f"),
        {"duplicate_tools": "refuses"},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": "f"}}] * 2},
        lambda body: len(body["tools"]),
        2,
        1,
    ),
    "reference-lost": Case(
        (
            "Tool reference 'gone' not found in available tools",
            "Tool reference 'gone' has no corresponding tool definition",
        ),
        {"tool_references": {"tool_reference": "tool_name"}},
        {
            "max_tokens": 9,
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
            "messages": [
                HI,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": [{"type": "tool_reference", "tool_name": "gone"}],
                        }
                    ],
                },
            ],
        },
        lambda body: body["messages"][2]["content"][0]["content"][0]["type"],
        "tool_reference",
        "text",
        "anthropic-compatible/m",
        "anthropic",
    ),
    "setting-length": Case(
        ("Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 70",),
        {"settings": {"user": {"length": 64}}},
        {**PLAIN, "user": "u" * 70},
        lambda body: len(body["user"]) > 64,
        True,
        False,
    ),
    "tier-unknown": Case(
        (
            "Invalid value: 'standard_only'. Supported values are: 'auto', 'default', and 'flex'.",
            "'service_tier' : value must be one of 'auto', 'default', 'flex'",
        ),
        {"settings": {"service_tier": {"values": ["auto", "default", "flex"]}}},
        {**PLAIN, "service_tier": "standard_only"},
        names,
        {"service_tier"},
        set(),
    ),
    "logprobs-refused": Case(
        ("Logprobs are not enabled for this model",),
        {"settings": {"logprobs": {"support": "refuses"}, "top_logprobs": {"support": "refuses"}}},
        {**PLAIN, "logprobs": True, "top_logprobs": 2},
        names,
        {"logprobs", "top_logprobs"},
        set(),
    ),
    "penalties-refused": Case(
        ("Penalty is not enabled for this model", "Penalty is not enabled for models/gemini-2.5-flash"),
        {"settings": {name: {"support": "refuses"} for name in ("frequency_penalty", "presence_penalty")}},
        {**PLAIN, "presence_penalty": 0.5},
        names,
        {"presence_penalty"},
        set(),
    ),
    "image-unreachable": Case(
        (
            "Error while downloading https://e.example/a.png. Upstream status code: 404.",
            "Failed to download image from https://e.example/a.png. Image size: 0. Status: 403.",
            "Timeout while downloading https://e.example/a.png.",
        ),
        {"media": {"image": {"url": "refuses"}}},
        {"messages": [{**HI, "content": [{"type": "image_url", "image_url": {"url": "https://e.example/a.png"}}]}]},
        lambda body: body["messages"][0]["content"],
        [{"type": "image_url", "image_url": {"url": "https://e.example/a.png"}}],
        [{"type": "text", "text": "[image: https://e.example/a.png]"}],
        target="openai/gpt-4o",
        lasting=False,
    ),
    "image-unreadable": Case(
        (
            "The image data you provided does not represent a valid image. Please check your input and try again.",
            "You uploaded an unsupported image. Please make sure your image is valid.",
            "messages.0.content.1.image.source.base64.data: Could not process image",
            "messages.11.content.8.image.source.base64.data: Image format image/png not supported",
            "Invalid request: unsupported image format: text/plain; charset=utf-8",
            "The request failed because the image format is not supported by the API. Request id: 0217",
        ),
        {"media": {"image": {"inline": "refuses", "url": "refuses"}}},
        {"messages": [{**HI, "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]},
        lambda body: body["messages"][0]["content"],
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
        [{"type": "text", "text": "[image: image/png]"}],
        target="openai/gpt-4o",
        lasting=False,
    ),
    "image-url-refused": Case(
        ("image URLs are not currently supported, please use base64 encoded data instead",),
        {"media": {"image": {"url": "refuses"}}},
        {"messages": [SEEN]},
        lambda body: body["messages"][0]["content"][1]["type"],
        "image_url",
        "text",
    ),
    "name-form": Case(
        ("Invalid 'messages[0].name': string does not match pattern. Expected a string that matches '^[a-z]+$'.",),
        {"message_name_pattern": "[a-zA-Z0-9_-]+"},
        {"messages": [{**HI, "name": "Ann Lee"}]},
        lambda body: body["messages"][0].get("name"),
        "Ann Lee",
        "Ann_Lee",
    ),
    "medium-refused": Case(
        (
            "messages[0]: unknown variant `image_url`, expected `text` at line 1 column 650",
            "the message at position 1 with role 'user' contains an invalid part type: image_url",
        ),
        {"media": {"image": {"inline": "refuses", "url": "refuses"}}},
        {"messages": [SEEN]},
        lambda body: body["messages"][0]["content"][1]["type"],
        "image_url",
        "text",
    ),
    "picture-mistyped": Case(
        (
            "image.source.base64: The image was specified using the image/png media type, but the image appears to be "
            "a image/jpeg image",
            "messages.0.content.0.image.source.base64.data: Image does not match the provided media type image/png",
        ),
        {"mistyped_media": "refuses"},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": RENAMED}}]}]},
        lambda body: body["messages"][0]["content"][0]["image_url"]["url"].partition(";")[0],
        "data:image/png",
        "data:image/jpeg",
        target="openrouter/anthropic/claude-sonnet-4.5",
    ),
    "result-picture": Case(
        (
            "This model doesn't support the image field for user messages. Remove image and try again.",
            "Only text tool_result blocks are supported when tool_result.content is an array.",
        ),
        {"media": {"image": {"result": "refuses"}}},
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "tool_calls": [CALL_ONE]},
                {
                    "role": "tool",
                    "tool_call_id": "c1",
                    "content": [{"type": "image_url", "image_url": {"url": RENAMED}}],
                },
            ],
            "tools": TOOLS,
        },
        lambda body: "image" in body["messages"][2]["content"][0]["toolResult"]["content"][0],
        True,
        False,
        target="bedrock/new.model-v1:0",
    ),
    "images-refused": Case(
        (
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            "This model does not support image input",
            "my-model is not a multimodal model",
            'model "claude-opus-4.6" not supported for vision',
            "No endpoints found that support image input",
            "Image input not supported for model moonshot-v1-8k",
            "Invalid request content: Image inputs are not supported by this model.",
            "Image input is not enabled for this model",
            "Cannot preprocess image len(combined_imgs) = 1, len(image_ranges) = 0, please provide valid images",
            "Invalid content type. image_url is only supported by certain models.",
        ),
        {"media": {"image": {"inline": "refuses", "url": "refuses"}}},
        {"messages": [SEEN]},
        lambda body: "image_url" in str(body),
        True,
        False,
    ),
    "images-counted": Case(
        (
            "Model 'moonshotai/kimi-k2.6' supports at most 1 image per prompt.",
            "At most 1 image(s) may be provided in one request.",
            "The model returned the following errors: messages: too many images: image_count > 1",
        ),
        {"media": {"image": {"most": 1}}},
        {"messages": [SEEN, SEEN]},
        lambda body: str(body).count("'image_url':"),
        2,
        1,
    ),
    "json-word-demanded": Case(
        (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            "<400> InternalError.Algo.InvalidParameter: 'messages' must contain the word 'json' in some form",
        ),
        {"json_word": "refuses"},
        {**PLAIN, "response_format": {"type": "json_object"}},
        lambda body: "JSON" in str(body["messages"]),
        False,
        True,
    ),
    "tools-with-effort": Case(
        ("Function tools with reasoning_effort are not supported for this model in /v1/chat/completions.",),
        {"tools_with_effort": "refuses", "thinking": "accepts"},
        {**PLAIN, "tools": TOOLS, "reasoning_effort": "high"},
        lambda body: body.get("reasoning_effort"),
        "high",
        None,
    ),
    "reasoning-refused": Case(
        (
            "`messages[1].reasoning`: reasoning is not supported with this model",
            "Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message "
            "in one or the other, but not both.",
        ),
        {"reasoning_text": "refuses"},
        {"messages": [HI, {**HELLO, "reasoning": "A greeting."}, HI]},
        lambda body: "reasoning" in body["messages"][1],
        True,
        False,
        knows={"reasoning_text": "accepts"},
    ),
    "levels-refused": Case(
        ('think value "high" is not supported for this model',),
        {"efforts": ["none"]},
        {**PLAIN, "reasoning_effort": "high"},
        lambda body: body["think"],
        "high",
        True,
        target="ollama/gpt-oss:20b",
        source="openai-chat",
    ),
    "thinking-refused": Case(
        (
            '"gemma3" does not support thinking',
            "Unable to submit request because thinking is not supported by this model.",
            "reasoning_effort is not supported with this model",
        ),
        {"thinking_form": "none"},
        {**PLAIN, "reasoning_effort": "high"},
        names,
        {"reasoning_effort"},
        set(),
    ),
    "thinking-without-level": Case(
        ("Thinking level is not supported for this model.",),
        {"thinking_form": "budget"},
        levelled(thinkingLevel="LOW"),
        thoughts,
        {"thinkingLevel": "LOW"},
        {"thinkingBudget": 2048},
        target="gemini/some-model",
        source="gemini",
    ),
    "level-refused": Case(
        ("Thinking level MEDIUM is not supported for this model. Please retry with other thinking level.",),
        {"efforts": ["minimal", "low", "high"]},
        levelled(thinkingLevel="MEDIUM"),
        thoughts,
        {"thinkingLevel": "MEDIUM"},
        {"thinkingLevel": "HIGH"},
        target="gemini/some-model",
        source="gemini",
    ),
    "budget-range": Case(
        ("The thinking budget (52428) is invalid. Please choose a value between 512 and 24576.",),
        {"thinking_form": "budget", "budget_min": 512, "budget_max": 24576},
        levelled(thinkingBudget=52428),
        thoughts,
        {"thinkingBudget": 52428},
        {"thinkingBudget": 24576},
        target="gemini/some-model",
        source="gemini",
    ),
    "budget-positive": Case(
        (
            "<400> InternalError.Algo.InvalidParameter: The thinking_budget parameter must be a positive integer and"
            " not greater than 38912",
        ),
        {"budget_min": 1, "budget_max": 38912},
        {**PLAIN, "enable_thinking": True, "thinking_budget": 60000},
        lambda body: body["thinking_budget"],
        60000,
        38912,
        target="qwen/qwen3.5-plus",
    ),
    "thinking-by-budget": Case(
        ("adaptive thinking is not supported on this model",),
        {"thinking_form": "budget"},
        claude({"type": "text", "text": "Hello"}, thinking={"type": "adaptive"}),
        lambda body: body["thinking"]["type"],
        "adaptive",
        "enabled",
        target="anthropic/claude-opus-4-8",
        source="anthropic",
    ),
    "thinking-adaptive": Case(
        (
            "thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and "
            "output_config.effort",
            'invalid params, invalid thinking.type: "enabled" (allowed: adaptive, disabled) (2013)',
        ),
        {"thinking_form": "adaptive"},
        claude({"type": "text", "text": "Hello"}, thinking={"type": "enabled", "budget_tokens": 2000}),
        lambda body: body["thinking"]["type"],
        "enabled",
        "adaptive",
        target="anthropic/claude-sonnet-4-5",
        source="anthropic",
    ),
    "efforts-known": Case(
        ("This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",),
        {"efforts": ["low", "medium", "high", "max"]},
        claude({"type": "text", "text": "Hello"}, thinking={"type": "adaptive"}, output_config={"effort": "xhigh"}),
        lambda body: body["output_config"]["effort"],
        "xhigh",
        "high",
        target="anthropic/claude-opus-4-8",
        source="anthropic",
    ),
    "effort-unknown": Case(
        (
            "Unsupported value: 'minimal' is not supported with the 'o4-mini' model. "
            "Supported values are: 'low', 'medium', and 'high'.",
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
            "Supported values are: 'low', 'medium', 'high'.",
            "reasoning_effort='minimal' is not supported for this model. Must be one of (low, medium, high)",
            "`reasoning_effort` must be one of `low`, `medium` or `high`",
        ),
        {"efforts": ["low", "medium", "high"]},
        {**PLAIN, "reasoning_effort": "minimal"},
        lambda body: body["reasoning_effort"],
        "minimal",
        "low",
    ),
    "value-refused": Case(
        ("Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium'.",),
        {"settings": {"verbosity": {"support": "refuses"}}},
        {**PLAIN, "verbosity": "low"},
        names,
        {"verbosity"},
        set(),
    ),
    "stream-refused": Case(
        (
            "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings",
        ),
        {"streams": "refuses"},
        {**PLAIN, "stream": True},
        lambda body: body.get("stream"),
        True,
        None,
    ),
    "summary-refused": Case(
        (
            "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com",
        ),
        {"thinking_summary": "refuses", "thoughts_on_request": "none"},
        {"input": "Hi", "reasoning": {"effort": "low", "summary": "auto"}},
        lambda body: body["reasoning"],
        {"effort": "low", "summary": "auto"},
        {"effort": "low"},
        target="openai-responses/gpt-5",
        source="openai-responses",
    ),
    "state-refused": Case(
        ("Encrypted content is not supported with this model.",),
        {"settings": {"reasoning_state": {"support": "refuses"}}, "state_on_request": False},
        {"input": "Hi", "include": ["reasoning.encrypted_content", "message.output_text.logprobs"]},
        lambda body: body.get("include"),
        ["reasoning.encrypted_content", "message.output_text.logprobs"],
        ["message.output_text.logprobs"],
        target="openai-responses/gpt-4.1",
        source="openai-responses",
    ),
    "thinking-mandatory": Case(
        ("Reasoning is mandatory for this endpoint and cannot be disabled.",),
        {"thinking_off": "refuses"},
        {**PLAIN, "reasoning": {"enabled": False}},
        lambda body: body.get("reasoning"),
        {"enabled": False},
        {"effort": "low"},
        target="openrouter/some-lab/some-model",
    ),
    "effort-with-tools": Case(
        ("The following tools cannot be used with reasoning.effort 'minimal': web_search.",),
        {"efforts": ["low", "medium", "high"]},
        {"input": "Hi", "tools": [{"type": "web_search"}], "reasoning": {"effort": "minimal"}},
        lambda body: body["reasoning"]["effort"],
        "minimal",
        "low",
        target="openai-responses/gpt-5",
        source="openai-responses",
        lasting=False,
    ),
    "api-wrong": Case(
        (
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
            "The chatCompletion operation does not work with the specified model, gpt-5.1-codex.",
            "model gpt-5.3-codex is not accessible via the /chat/completions endpoint",
        ),
        {"served_here": False},
        PLAIN,
        lambda body: "messages" in body,
        True,
        False,
        target="openai/gpt-9",
        status=404,
    ),
    "hints-unserved": Case(
        ("No endpoints found that support cache control",),
        {"cache_hints": "refuses"},
        {"messages": [{**HI, "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}]},
        lambda body: "cache_control" in body["messages"][0]["content"][0],
        True,
        False,
        target="openrouter/openai/gpt-5",
        status=404,
    ),
    "thinking-whole": Case(
        (
            "parameter.enable_thinking must be set to false for non-streaming calls",
            "enable thinking can not be support when `stream=False`.",
        ),
        {"thinking_whole": "refuses", "reasoning_default": True},
        PLAIN,
        lambda body: body.get("stream"),
        None,
        True,
    ),
    "tools-streamed": Case(
        ("This model doesn't support tool use in streaming mode.",),
        {"tools_streamed": "refuses"},
        {**PLAIN, "tools": TOOLS},
        lambda body: "toolConfig" in body,
        True,
        True,
        target="bedrock/new.model-v1:0",
    ),
    "tools-refused": Case(
        (
            "registry.ollama.ai/library/x does not support tools",
            "Tool calling is not supported for this model",
            "Function call is not supported for this model.",
            "model features function calling not support",
            "moonshotai/Kimi-K2-Instruct on chutes does not currently support: ['tools']",
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "No endpoints found that support tool use.",
            "tools is not supported in this model. For a list of supported models, refer to https://go.microsoft.com",
        ),
        {"tools": "refuses"},
        {**PLAIN, "tools": TOOLS},
        lambda body: "tools" in body,
        True,
        False,
    ),
    "parameters-demanded": Case(
        ("invalid params, function parameters is empty (2013)",),
        {"tools_without_schema": "refuses"},
        {**PLAIN, "tools": [{"type": "function", "function": {"name": "f"}}]},
        lambda body: "parameters" in body["tools"][0]["function"],
        False,
        True,
        knows={"tools_without_schema": "accepts"},
    ),
    "header-word": Case(
        (
            "Unexpected value(s) `a-2026-01-05`, `b-2025-12-15` for the `anthropic-beta` header. Please consult our "
            "documentation at docs.anthropic.com or try again without the header.",
        ),
        {"refused_words": {"anthropic-beta": ["a-2026-01-05", "b-2025-12-15"]}},
        {**PLAIN, "max_tokens": 9},
        lambda body: body.get("anthropic_beta"),
        ["a-2026-01-05", "c-2026-01-05", "b-2025-12-15"],
        ["c-2026-01-05"],
        "bedrock-anthropic/us.anthropic.claude-sonnet-4-5",
        "anthropic",
        knows={"refused_words": {"anthropic-beta": []}},
        headers={"anthropic-beta": "a-2026-01-05, c-2026-01-05,b-2025-12-15"},
    ),
    "beta-refused": Case(
        ("The model returned the following errors: invalid beta flag", "invalid beta flag"),
        {"refused_words": {"anthropic-beta": ["*"]}},
        {**PLAIN, "max_tokens": 9},
        lambda body: body.get("anthropic_beta"),
        ["a-2026-01-05"],
        None,
        "bedrock-anthropic/us.anthropic.claude-sonnet-4-5",
        "anthropic",
        lasting=False,
        headers={"anthropic-beta": "a-2026-01-05"},
    ),
    "sampling-refused": Case(
        (
            "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) is supported.",
            "`temperature` is deprecated for this model",
            "temperature may only be set to 1 when thinking is enabled",
            "temperature must be unset when thinking is enabled",
            "invalid temperature: only 1 is allowed for this model",
        ),
        {"settings": {"temperature": {"support": "refuses"}}},
        {**PLAIN, "temperature": 0.5, "top_p": 0.5},
        names,
        {"temperature", "top_p"},
        {"top_p"},
    ),
    "sampling-both": Case(
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.",),
        {"settings": {"top_p": {"without": "temperature"}}},
        {**PLAIN, "temperature": 0.5, "top_p": 0.5},
        names,
        {"temperature", "top_p"},
        {"temperature"},
    ),
    "fields-refused": Case(
        (
            "litellm.UnsupportedParamsError: bedrock does not support parameters: ['stop', 'frobnicate'], for model=x. "
            "To drop these, set `litellm.drop_params=True`",
            "Unrecognized request arguments supplied: stop, frobnicate",
        ),
        {"refused_settings": ["stop", "frobnicate"], "settings": {"stop": {"support": "refuses"}}},
        {**PLAIN, "stop": ["x"], "frobnicate": 1, "seed": 1},
        names,
        {"stop", "frobnicate", "seed"},
        {"seed"},
    ),
    "ids-refused": Case(
        (
            "Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field.",
            "Unknown name \"id\" at 'contents[2].parts[0].function_response': Cannot find field.",
        ),
        {"call_ids": "refuses"},
        {
            "messages": [HI, {"role": "assistant", "tool_calls": [CALL_ONE]}, {**ANSWER_ONE}],
            "tools": TOOLS,
        },
        lambda body: [
            "id" in body["contents"][1]["parts"][0]["functionCall"],
            "id" in body["contents"][2]["parts"][0]["functionResponse"],
        ],
        [True, True],
        [False, False],
        target="vertex/gemini-2.5-flash",
    ),
    "field-refused": Case(
        (
            "Unsupported parameter: 'stop' is not supported with this model.",
            "Unknown parameter: 'stop'.",
            "Unrecognized request argument supplied: stop",
            'Invalid JSON payload received. Unknown name "stop": Cannot find field.',
            "property 'stop' is unsupported",
            "Argument not supported on this model: stop",
            "Model grok-build does not support parameter stop.",
            "Failed to deserialize the JSON body into the target type: stop: unknown field `stop`, expected one of "
            "`messages`, `model`",
            'json: unknown field "stop"',
            "This model doesn't support the stop field. Remove stop and try again.",
        ),
        {"refused_settings": ["stop"], "settings": {"stop": {"support": "refuses"}}},
        {**PLAIN, "stop": ["x"], "seed": 1},
        names,
        {"stop", "seed"},
        {"seed"},
    ),
    "field-unexpected": Case(
        ("Additional properties are not allowed ('frobnicate' was unexpected)",),
        {"refused_settings": ["frobnicate"]},
        {**PLAIN, "frobnicate": 1, "seed": 1},
        names,
        {"frobnicate", "seed"},
        {"seed"},
    ),
    "one-answer": Case(
        (
            "Invalid n value (currently only n = 1 is supported)",
            "Multiple candidates is not enabled for this model",
            "Only one candidate can be specified",
            "Unable to submit request because candidateCount must be 1 but the entered value was 3.",
            "Only one completion choice is allowed",
            "'n' : number must be at most 1",
        ),
        {"settings": {"n": {"support": "refuses"}}},
        {**PLAIN, "n": 2},
        names,
        {"n"},
        set(),
    ),
    "extra-input": Case(
        (
            "frobnicate: Extra inputs are not permitted",
            "1 validation error for ChatCompletionRequest\nfrobnicate\n  Extra inputs are not permitted [type=x]",
        ),
        {"refused_settings": ["frobnicate"]},
        {**PLAIN, "frobnicate": 1, "seed": 1},
        names,
        {"frobnicate", "seed"},
        {"seed"},
    ),
    "extra-field": Case(
        (
            "Extra inputs are not permitted, field: 'frobnicate', value: 1",
            "[{'type': 'extra_forbidden', 'loc': ('body', 'frobnicate'), 'msg': 'Extra inputs are not permitted', "
            "'input': 800}]",
        ),
        {"refused_settings": ["frobnicate"]},
        {**PLAIN, "frobnicate": 1, "seed": 1},
        names,
        {"frobnicate", "seed"},
        {"seed"},
    ),
    "limit-refused": Case(
        ("max_tokens must be less than or equal to 4096", "max_completion_tokens: too large"),
        {"settings": {"max_tokens": {"support": "refuses"}}},
        {**PLAIN, "max_tokens": 9000},
        lambda body: body.get("max_tokens"),
        9000,
        None,
        lasting=False,
        status=422,
    ),
}


def neutral(name: str, **knows: Any) -> Target:
    """A target that has not heard of it yet."""
    target = PROFILES.target(name)
    if name == CHAT:
        doubtful = {"unknown_fields": "unknown", "developer_role": "unknown", "system_place": "anywhere"}
        target = patch_target(target, Layer("test", {**doubtful, "efforts": [], "reasoning_default": False}))
    return patch_target(target, Layer("test", knows)) if knows else target


def refused(
    says: str, target: Target, request: dict[str, Any] = PLAIN, status: int = 400, source: str = "openai-chat"
) -> Learnt | None:
    ask = read(request, source=source)
    return learn(Failure(FailureKind.BAD_REQUEST, says, status), target.facts, ask.conversation)


def body(case: Case, target: Target) -> Any:
    ask = read(case.request, source=case.source, headers=case.headers)
    return msgspec.json.decode(compile_ask(ask, serving_target(ask, target), Options(answer=0)).body)


def test_every_lesson_has_a_case() -> None:
    names = [lesson.name for lesson in LESSONS]
    assert len(names) == len(set(names))
    assert list(CASES) == names, "CASES has one of each lesson, in the order of LESSONS"


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_corrects_a_fact_and_the_next_body(name: str) -> None:
    case = CASES[name]
    target = neutral(case.target, **case.knows)
    for says in case.says:
        learnt = refused(says, target, case.request, case.status, case.source)
        assert learnt == Learnt(name, case.facts, case.lasting), says
    assert case.look(body(case, target)) == case.before
    corrected = patch_target(target, Layer("lesson", case.facts))
    assert case.look(body(case, corrected)) == case.after


@pytest.mark.parametrize("name", CASES)
def test_the_same_refusal_teaches_each_thing_once(name: str) -> None:
    case = CASES[name]
    for says in case.says:
        target = neutral(case.target, **case.knows)
        seen: list[dict[str, Any]] = []
        while (learnt := refused(says, target, case.request, case.status, case.source)) is not None:
            assert learnt.facts not in seen
            seen.append(learnt.facts)
            target = patch_target(target, Layer("lesson", learnt.facts))
        assert 1 <= len(seen) <= 4


@pytest.mark.parametrize("status", [200, 401, 402, 403, 408, 413, 429, 503])
def test_other_statuses_teach_nothing(status: int) -> None:
    taught = {
        name: says
        for name, case in CASES.items()
        for says in case.says
        if refused(says, neutral(case.target, **case.knows), case.request, status, case.source) is not None
    }
    assert taught == {}


@pytest.mark.parametrize(
    ("name", "wire", "facts"),
    [
        ("frequencyPenalty", {"frequency_penalty": 0.5}, {"settings": {"frequency_penalty": {"support": "refuses"}}}),
        ("presencePenalty", {"presence_penalty": 0.5}, {"settings": {"presence_penalty": {"support": "refuses"}}}),
        ("reasoningEffort", {"reasoning_effort": "high"}, {"thinking_form": "none"}),
    ],
)
def test_a_setting_under_the_providers_own_name(name: str, wire: dict[str, Any], facts: dict[str, Any]) -> None:
    learnt = refused(f"Argument not supported on this model: {name}", neutral(CHAT), {**PLAIN, **wire})
    assert learnt == Learnt("field-refused", {"refused_settings": [name], **facts})
    ask = read({**PLAIN, **wire}, source="openai-chat")
    sent = msgspec.json.decode(compile_ask(ask, patch_target(neutral(CHAT), Layer("lesson", learnt.facts))).body)
    assert names(sent) == set()


@pytest.mark.parametrize(
    ("says", "status"), [("image input is not supported", 500), ("No endpoints found that support image input", 404)]
)
def test_pictures_are_refused_with_any_status(says: str, status: int) -> None:
    learnt = refused(says, neutral(CHAT), {"messages": [SEEN]}, status)
    assert learnt is not None
    assert learnt.lesson == "images-refused"


def test_a_refused_hint_for_the_whole_request_goes_to_the_last_part() -> None:
    request = {"max_tokens": 9, "messages": [HI], "cache_control": {"type": "ephemeral"}}
    target = PROFILES.target("anthropic-compatible/some-model")
    learnt = refused("cache_control: Extra inputs are not permitted", target, request, source="anthropic")
    assert learnt == Learnt("extra-input", {"cache_hint_whole": False})
    ask = read(request, source="anthropic")
    sent = msgspec.json.decode(compile_ask(ask, patch_target(target, Layer("lesson", learnt.facts))).body)
    assert "cache_control" not in sent
    assert sent["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_a_field_of_messages_that_only_newer_models_have_is_left_out() -> None:
    said = {"type": "message", "role": "assistant", "content": "x", "phase": "commentary"}
    request = {"input": [{"role": "user", "content": "Hi"}, said, {"role": "user", "content": "Go on"}]}
    ask, target = read(request, source="openai-responses"), PROFILES.target("openai-responses/gpt-4.1")
    learnt = refused("Unknown parameter: 'input[1].phase'.", target, request, source="openai-responses")
    assert learnt is not None
    assert b"phase" in compile_ask(ask, target).body
    taught = patch_target(target, Layer("lesson", learnt.facts))
    assert b"phase" not in compile_ask(ask, taught).body
    assert refused("Unknown parameter: 'input[1].phase'.", taught, request, source="openai-responses") is None


INSIDE_MESSAGES = [
    "Unknown parameter: 'messages[0].tool_calls'.",
    "Additional properties are not allowed ('mood' was unexpected) - 'messages.2'",
    "Extra inputs are not permitted, field: 'messages[1].done', value: True",
    "messages.0.bogus: Extra inputs are not permitted",
]


@pytest.mark.parametrize("says", INSIDE_MESSAGES)
def test_a_field_inside_a_message_is_a_stray_one(says: str) -> None:
    learnt = refused(says, neutral(CHAT))
    assert learnt is not None
    assert learnt.facts == {"unknown_fields": "refuses"}
    target = patch_target(neutral(CHAT), Layer("lesson", learnt.facts))
    ask = read({"messages": [{**HI, "mood": "calm"}]}, source="openai-chat")
    assert fields(msgspec.json.decode(compile_ask(ask, neutral(CHAT)).body)) == {"role", "content", "mood"}
    assert fields(msgspec.json.decode(compile_ask(ask, target).body)) == {"role", "content"}


THINKING_INSIDE_MESSAGES = [
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
    "'reasoning_content' is unsupported)]",
    "Unknown parameter: 'messages[1].reasoning_content'.",
    "Additional properties are not allowed ('reasoning' was unexpected) - 'messages.2'",
    "body.messages.1.assistant.reasoning_content: Extra inputs are not permitted",
]


@pytest.mark.parametrize("says", THINKING_INSIDE_MESSAGES)
def test_a_field_of_thinking_inside_a_message_is_thinking_that_is_refused(says: str) -> None:
    learnt = refused(says, neutral(CHAT))
    assert learnt is not None
    assert learnt.facts == {"unknown_fields": "refuses", "reasoning_text": "refuses"}
    known = patch_target(neutral(CHAT), Layer("lesson", {"unknown_fields": "refuses"}))
    again = refused(says, known)
    assert again is not None
    assert again.facts == {"reasoning_text": "refuses"}


def test_thinking_is_demanded_of_more_turns_if_those_with_calls_are_not_enough() -> None:
    says = "The reasoning_content in the thinking mode must be passed back to the API."
    first = refused(says, neutral(CHAT))
    assert first is not None
    second = refused(says, patch_target(neutral(CHAT), Layer("lesson", first.facts)))
    assert second is not None
    assert second.facts == {"reasoning_required": "tool-exchanges"}
    both = patch_target(neutral(CHAT), Layer("lesson", first.facts | second.facts))
    assert refused(says, both) is None


NAMED: list[tuple[str, dict[str, Any]]] = [
    ("body.frobnicate: Extra inputs are not permitted", {"refused_settings": ["frobnicate"]}),
    ("Unknown parameter: 'stream_options.include_usage'.", {"stream_usage": "refuses"}),
    (
        """invalid reasoning value: 'minimal' (must be "high", "medium", "low", or "none")""",
        {"efforts": ["none", "low", "medium", "high"]},
    ),
    ("Unsupported parameter: 'reasoning_effort'", {"refused_settings": ["reasoning_effort"], "thinking_form": "none"}),
    (
        "Unknown parameter: 'random_seed'",
        {"refused_settings": ["random_seed"], "settings": {"seed": {"support": "refuses"}}},
    ),
    (
        "maxOutputTokens: Extra inputs are not permitted",
        {"refused_settings": ["maxOutputTokens"], "settings": {"max_tokens": {"support": "refuses"}}},
    ),
]


@pytest.mark.parametrize(("says", "facts"), NAMED)
def test_the_name_on_the_wire_finds_its_setting(says: str, facts: dict[str, Any]) -> None:
    learnt = refused(says, neutral(CHAT))
    assert learnt is not None
    assert learnt.facts == facts


@pytest.mark.parametrize(
    ("says", "tool", "facts"),
    [
        ("The local_shell tool is no longer supported.", "local_shell", {"native_tools": ["*", "!local_shell"]}),
        (
            "Hosted tool 'web_search_preview' is not supported with gpt-5-2025-08-07.",
            "web_search_preview",
            {"native_tools": ["*", "!web_search_preview"]},
        ),
        ("tools[1].type: unknown variant `custom`, expected `function`", "custom", {"custom_tools": "refuses"}),
        (
            "2 request validation errors:\n- Input should be 'function', 'web_search_preview' or 'code_interpreter', "
            "field: 'tools[8].type', value: 'web_search'\n- Extra inputs are not permitted, field: 'tools[8].name'",
            "web_search",
            {"native_tools": ["*", "!web_search"]},
        ),
        ("Invalid value: 'fast'. Supported values are: 'auto'.", "web_search", None),
    ],
)
def test_a_tool_that_the_provider_has_no_more(says: str, tool: str, facts: dict[str, Any] | None) -> None:
    given = {"type": tool, "name": "run"} if tool == "custom" else {"type": tool}
    ask = read({"input": [HI], "tools": [given]}, source="openai-responses")
    target = PROFILES.target("openai-responses/gpt-5")
    learnt = learn(Failure(FailureKind.BAD_REQUEST, says, status=400), target.facts, ask.conversation)
    assert (learnt and learnt.facts) == facts


def test_a_tool_that_an_item_declares() -> None:
    function = {"type": "function", "name": "spawn", "parameters": {"type": "object", "properties": {}}}
    space = {"type": "namespace", "name": "crew", "description": "Others.", "tools": [function]}
    asked = {"input": [{"type": "additional_tools", "role": "developer", "tools": [space]}, HI]}
    ask = read(asked, source="openai-responses")
    target = PROFILES.target("azure-openai-responses/gpt-5.6")
    says = "Invalid value: 'namespace'. Supported values are: 'function', 'custom', and 'tool_search'."
    learnt = learn(Failure(FailureKind.BAD_REQUEST, says, status=400), target.facts, ask.conversation)
    assert learnt is not None
    made = msgspec.json.decode(compile_ask(ask, patch_target(target, Layer("lesson", learnt.facts)), Options()).body)
    assert [tool["name"] for tool in made["tools"]] == ["crew__spawn"]
    assert made["input"] == [HI]


def test_an_item_of_a_run_without_its_thought_is_told_in_words() -> None:
    run = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
    ask = read({"input": [HI, run, HELLO, HI]}, source="openai-responses")
    says = "Item 'ws_1' of type 'web_search_call' was provided without its required 'reasoning' item: 'rs_1'."
    target = PROFILES.target("openai-responses/gpt-5")
    learnt = learn(Failure(FailureKind.BAD_REQUEST, says, status=400), target.facts, ask.conversation)
    assert learnt is not None
    assert learnt.facts["refused_blocks"][-1] == "web_search_call"


def test_a_refusal_that_stands_where_a_field_is_named() -> None:
    """Xiaomi's form."""
    ask, facts = read(ANSWERED, source="openai-chat"), neutral(CHAT).facts
    for param, lesson in (
        ("The reasoning_content in the thinking mode must be passed back to the API.", "reasoning-demanded"),
        ("max_tokens is too large: 1048576. This model supports at most 131072 completion tokens", "limit-range"),
        ("`text` is not set", "result-picture"),
    ):
        learnt = learn(Failure(FailureKind.BAD_REQUEST, "Param Incorrect", 400, param=param), facts, ask.conversation)
        assert learnt is not None
        assert learnt.lesson == lesson
    assert learn(Failure(FailureKind.BAD_REQUEST, "Param Incorrect", 400), facts, ask.conversation) is None


def test_an_invalid_value_is_an_effort_only_if_its_field_is_named() -> None:
    """A choice of tools may be `none`, too."""
    says, facts = "Invalid value: 'none'. Supported values are: 'low', 'medium', and 'high'.", neutral(CHAT).facts
    ask = read({**PLAIN, "reasoning_effort": "none"}, source="openai-chat")
    failure = Failure(FailureKind.BAD_REQUEST, says, 400, param="reasoning_effort")
    assert learn(failure, facts, ask.conversation) == Learnt("effort-unknown", {"efforts": ["low", "medium", "high"]})
    for param in ("", "tool_choice"):
        assert learn(Failure(FailureKind.BAD_REQUEST, says, 400, param=param), facts, ask.conversation) is None


TOOL_FIELDS: list[tuple[str, str, dict[str, Any]]] = [
    ("anthropic-compatible/m", "tools.0.custom.defer_loading", {"unknown_fields": "refuses"}),
    ("anthropic-compatible/m", "tools.3.custom.input_examples", {"unknown_fields": "refuses"}),
    ("anthropic-compatible/m", "system.1.cache_control.ephemeral.scope", {"cache_scope": "refuses"}),
]


@pytest.mark.parametrize(("name", "field", "facts"), TOOL_FIELDS)
def test_a_refused_field_of_a_tool_or_a_hint(name: str, field: str, facts: dict[str, Any]) -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}, "defer_loading": True, "input_examples": [{}]}
    hint = {"type": "ephemeral", "scope": "global"}
    asked = {"max_tokens": 9, "system": [{"type": "text", "text": "S", "cache_control": hint}], "messages": [HI]}
    request, target = {**asked, "tools": [tool]}, PROFILES.target(name)
    learnt = refused(f"{field}: Extra inputs are not permitted", target, request, source="anthropic")
    assert learnt is not None
    assert learnt.facts == facts
    ask, corrected = read(request, source="anthropic"), patch_target(target, Layer("lesson", learnt.facts))
    assert field.rpartition(".")[2] in compile_ask(ask, target).body.decode()
    assert field.rpartition(".")[2] not in compile_ask(ask, corrected).body.decode()


def test_deepseek_demands_thinking_in_the_words_of_messages() -> None:
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
    request = {"max_tokens": 9, "messages": [HI, use, result], "thinking": {"type": "enabled", "budget_tokens": 2000}}
    target = PROFILES.target("anthropic-compatible/m")
    says = "The content[].thinking in the thinking mode must be passed back to the API."
    learnt = refused(says, target, request, source="anthropic")
    assert learnt is not None
    made = compile_ask(read(request, source="anthropic"), patch_target(target, Layer("lesson", learnt.facts))).body
    assert [block["type"] for block in msgspec.json.decode(made)["messages"][1]["content"]] == ["thinking", "tool_use"]


@pytest.mark.parametrize(
    ("param", "facts"),
    [
        ("text.verbosity", {"settings": {"verbosity": {"support": "refuses"}}}),
        ("reasoning.summary", {"thinking_summary": "refuses", "thoughts_on_request": "none"}),
        ("reasoning.effort", {"efforts": ["medium"]}),
        ("service_tier", {"settings": {"service_tier": {"support": "refuses"}}}),
    ],
)
def test_a_value_is_told_from_others_by_its_field(param: str, facts: dict[str, Any]) -> None:
    """OpenAI has one sentence for all of them."""
    asked = {"input": "Hi", "text": {"verbosity": "low"}, "reasoning": {"effort": "low", "summary": "auto"}}
    ask = read({**asked, "service_tier": "flex"}, source="openai-responses")
    says = "Unsupported value: 'low' is not supported with the 'gpt-5' model. Supported values are: 'medium'."
    failure = Failure(FailureKind.BAD_REQUEST, says, 400, param=param)
    learnt = learn(failure, PROFILES.target("openai-responses/gpt-5").facts, ask.conversation)
    assert learnt is not None
    assert learnt.facts == facts


def test_a_second_refused_field_joins_the_first() -> None:
    target = patch_target(neutral(CHAT), Layer("lesson", {"refused_settings": ["one"]}))
    learnt = refused("Unknown parameter: 'two'.", target)
    assert learnt is not None
    assert learnt.facts == {"refused_settings": ["one", "two"]}
    assert refused("Unknown parameter: 'one'.", target) is None


def test_a_system_message_that_may_stand_nowhere() -> None:
    opening = patch_target(neutral(CHAT), Layer("lesson", {"system_place": "opening"}))
    learnt = refused("Please use a valid role: user, model", opening)
    assert learnt is not None
    assert learnt.facts == {"system_count": "none"}


def test_C22_a_422_about_max_tokens_is_a_lesson_for_this_request_alone() -> None:
    learnt = refused("max_tokens must be less than or equal to 4096", neutral(CHAT), status=422)
    assert learnt == Learnt("limit-refused", {"settings": {"max_tokens": {"support": "refuses"}}}, lasting=False)
    assert refused("max_tokens must be less than or equal to 4096", neutral(CHAT), status=400) is None


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("refused_name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize(
    "says",
    [
        "Unrecognized request argument supplied: {}",
        "Unsupported parameter: '{}'",
        "body.{}: extra inputs are not permitted",
    ],
)
def test_C22_a_limit_whose_name_is_refused_gets_its_other_name(says: str, refused_name: str, status: int) -> None:
    """And if that is refused too, it is left out."""
    other = ({"max_tokens", "max_completion_tokens"} - {refused_name}).pop()
    target = neutral(CHAT, two_limits="unknown")
    asked = {**PLAIN, "max_tokens": 9, "max_completion_tokens": 9}
    for name, left in ((refused_name, {other}), (other, set())):
        learnt = refused(says.format(name), target, asked, status)
        assert learnt is not None
        assert learnt.lasting
        target = patch_target(target, Layer("lesson", learnt.facts))
        sent = msgspec.json.decode(compile_ask(read(asked, source="openai-chat"), target).body)
        assert {"max_tokens", "max_completion_tokens"} & sent.keys() == left


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
        target = patch_target(target, Layer("lesson", learnt.facts))
    assert shapes == ["function", "function_declarations", "functionDeclarations", None]
    assert rungs == [("tool-wrapper", True), ("tool-wrapper", True), ("tools-dropped", False)]


def test_C16_results_with_a_note_behind_them_are_a_continuation_too() -> None:
    """A system message after the results, and the reminder that an agent writes into the item of its results. A new
    question after them is none."""
    shaped = {"tool_wrapper": "functionDeclarations"}
    target = patch_target(PROFILES.target("gemini-compatible/gemini-3-pro"), Layer("test", shaped))
    results = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    reminded = {"role": "user", "content": [results, {"type": "text", "text": "Be brief."}]}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]}
    tools = [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]
    spoken = {"max_tokens": 9, "tools": tools, "messages": [HI, use, reminded]}
    noted = {**ANSWERED, "messages": [*ANSWERED["messages"], {"role": "system", "content": "Be brief."}]}
    for learnt in (refused(TOOL_TYPE, target, noted), refused(TOOL_TYPE, target, spoken, source="anthropic")):
        assert learnt is not None
        assert learnt.lesson == "tools-dropped"
    assert refused(TOOL_TYPE, target, {**ANSWERED, "messages": [*ANSWERED["messages"], HI]}) is None


def test_tools_are_never_dropped_if_they_may_be_needed() -> None:
    """X10."""
    shaped = {"tool_wrapper": "functionDeclarations"}
    target = patch_target(PROFILES.target("gemini-compatible/gemini-3-pro"), Layer("test", shaped))
    assert refused(TOOL_TYPE, target, {**PLAIN, "tools": TOOLS}) is None
    assert refused(TOOL_TYPE, target, {**ANSWERED, "tool_choice": "auto"}) is None
    for name in ("gemini/gemini-3-pro", "openai/gpt-4o", "openai-compatible-strict/x"):  # no profile of theirs says so
        assert refused(TOOL_TYPE, patch_target(PROFILES.target(name), Layer("test", shaped)), ANSWERED) is None


UNTAUGHT = [
    "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    "Missing required parameter: 'messages'.",
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
    "The requested model 'x' does not exist.",
    "Invalid type for 'n': expected an integer, but got a string instead.",
    "max_tokens: Field required",
    "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    "Missing required parameter: 'tools[0].function'.",
    "invalid params, invalid tool type: (2013)",
    "Input should be <ChatMessageRole.TOOL: 'tool'>",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
    "",
]


@pytest.mark.parametrize("says", UNTAUGHT)
def test_other_refusals_teach_nothing(says: str) -> None:
    assert refused(says, neutral(CHAT)) is None


@pytest.mark.parametrize(
    ("says", "taught"),
    [
        (UNDECRYPTED, {"reasoning_trusted": False}),
        ("The encrypted content Z0FB...dnZ2c= could not be verified.", {"reasoning_trusted": False}),
        (
            "The encrypted content c2Vh...bGVk could not be verified.",
            {"refused_blocks": ["ghost_snapshot", "other", "custom_tool_call", "compaction"]},
        ),
    ],
)
def test_a_summary_stays_while_a_thought_may_be_what_was_refused(says: str, taught: dict[str, Any]) -> None:
    """A summary is all that is left of its turns. It goes only if the refusal means it."""
    ask = read({"model": "m", "input": [COMPACTED, THINKING_ITEM, HI]}, source="openai-responses")
    target = PROFILES.target("openai-responses/gpt-5")
    learnt = learn(Failure(FailureKind.BAD_REQUEST, says, 400), target.facts, ask.conversation)
    assert learnt is not None
    assert learnt.facts == taught
