"""Requests with one defect so many times, spread over the messages or crowded into one: what a rule repairs in numbers.

Each builder takes the number and gives the request's body as plain data.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

Wire = dict[str, Any]
Build = Callable[[int], Wire]

CACHED = {"cache_control": {"type": "ephemeral"}}
USER: Wire = {"role": "user", "content": "Hi"}
IMAGE: Wire = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
CLAUDE_SIGNATURE = "EuYBCkQYAiJAabcdEuYBCkQYAiJAabcd"
GEMINI_SIGNATURE = "AAAAAAAAAAAAAAAAAAAAAAAA"


class Crowd(msgspec.Struct, frozen=True):
    """A defect in numbers: the rule that repairs it, for which target, and what the caller chose."""

    rule: str
    name: str
    dialect: str
    target: str
    build: Build
    options: dict[str, Any] = {}
    share: float = 0.9
    """Changes of the rule for each defect, at least."""
    facts: dict[str, Any] = {}
    """What is known of the target besides: for a rule that no built-in profile calls for."""

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.name}"


def chat(messages: Iterable[Wire], **more: Any) -> Wire:
    return {"model": "m", "messages": [*messages, USER], **more}


def call(identity: str, name: str = "f", arguments: Any = "{}") -> Wire:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Wire) -> Wire:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(identity: str, content: Any = "ok") -> Wire:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def said(content: Any, **more: Any) -> Wire:
    return {"role": "assistant", "content": content, **more}


def _billed(number: int) -> Wire:
    lines = [{"type": "text", "text": f"x-anthropic-billing-header: cc_version={n}"} for n in range(number)]
    return {"model": "m", "max_tokens": 9, "system": lines, "messages": [USER]}


def instructed(number: int) -> Wire:
    return {"role": "system", "content": f"Rule {number}"}


def turns(turn: Callable[[int], Iterable[Wire]]) -> Build:
    """A Chat conversation of so many turns."""
    return lambda count: chat([USER, *(message for number in range(count) for message in turn(number))])


def one_turn(made: Callable[[int], Wire], answered: Callable[[int], Wire] | None = None) -> Build:
    """One assistant's turn of so many calls, and their results if any."""

    def build(count: int) -> Wire:
        results = [] if answered is None else [answered(number) for number in range(count)]
        return chat([USER, calling(*[made(number) for number in range(count)]), *results])

    return build


def parts(made: Callable[[int], Wire], role: str = "user") -> Build:
    """One message of so many parts."""
    return lambda count: chat([USER, {"role": role, "content": [made(number) for number in range(count)]}])


def tools(made: Callable[[int], Wire]) -> Build:
    return lambda count: chat([], tools=[made(number) for number in range(count)])


def function(name: str, schema: Wire, **more: Any) -> Wire:
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}


IMAGE: Wire = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SCHEMA: Wire = {"type": "object", "properties": {"a": {"type": "string", "format": "zip", "const": "x"}}}


def claude(messages: Iterable[Wire], **more: Any) -> Wire:
    return {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": [*messages, USER], **more}


def claude_use(number: int) -> Wire:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {}}


def claude_result(number: int, **more: Any) -> Wire:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok", **more}


def claude_thought(number: int) -> Wire:
    return {"type": "thinking", "thinking": f"Hm {number}", "signature": CLAUDE_SIGNATURE}


def text(words: str, **more: Any) -> Wire:
    return {"type": "text", "text": words, **more}


def interleaved(count: int) -> Wire:
    """A user's turn in which results and words take turns: many messages of ours from one of the wire."""
    uses = [claude_use(number) for number in range(count)]
    blocks = [block for number in range(count) for block in (claude_result(number), text("Go on.", **CACHED))]
    return claude([USER, {"role": "assistant", "content": uses}, {"role": "user", "content": blocks}])


def responses(items: Iterable[Wire], **more: Any) -> Wire:
    return {"model": "gpt-5", "input": [USER, *items, USER], **more}


def response_call(number: int, identity: str = "", **more: Any) -> Wire:
    call_id = identity or f"call_{number}"
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **more}


def response_output(number: int, identity: str = "") -> Wire:
    return {"type": "function_call_output", "call_id": identity or f"call_{number}", "output": "ok"}


def response_thought(number: int) -> Wire:
    """Its state has the form of a real one: a token of whole blocks."""
    token = urlsafe_b64encode(b"\x80" + number.to_bytes(72, "big")).decode()
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": token}


def custom(number: int) -> list[Wire]:
    called = {"type": "custom_tool_call", "call_id": f"c{number}", "name": "f", "input": "x"}
    return [called, {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": "y"}]


def gemini(contents: Iterable[Wire], **more: Any) -> Wire:
    words = {"role": "user", "parts": [{"text": "Hi"}]}
    return {"contents": [words, *contents, words], **more}


def model(*made: Wire) -> Wire:
    return {"role": "model", "parts": list(made)}


def user(*made: Wire) -> Wire:
    return {"role": "user", "parts": list(made)}


def gemini_call(number: int, **more: Any) -> Wire:
    return {"functionCall": {"name": f"f{number}", "args": {}}, **more}


def gemini_result(number: int) -> Wire:
    return {"functionResponse": {"name": f"f{number}", "response": {"a": 1}}}


def spread(made: Callable[[int], Iterable[Wire]], around: Callable[[Iterable[Wire]], Wire]) -> Build:
    return lambda count: around([one for number in range(count) for one in made(number)])


_CLAUDE = "anthropic/claude-sonnet-4-5"
_GEMINI_3 = "gemini/gemini-3-pro-preview"
_OPENAI = "openai/gpt-4o"
_RESPONSES = "openai-responses/gpt-5"
_MISTRAL = "mistral/mistral-large-latest"
_TEMPLATE = "strict-template/some-model"
_LLAMA = "bedrock/meta.llama3-3-70b-instruct-v1:0"
_FLAT = "gemini-compatible/gemini-2.5-flash"
_CHAT = "openai-chat"


def _searching(number: int) -> Wire:
    call = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search"}
    return {**call, "input": {"query": f"q{number}"}}


def _searched(number: int) -> Wire:
    page = {"type": "web_search_result", "title": "A", "url": f"https://a.example/{number}", "encrypted_content": "x"}
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": [page]}


def _naming(number: int) -> Wire:
    return {"type": "tool_reference", "tool_name": f"gone_{number}"}


def _odd(number: int) -> str:
    return f"odd id {number}!"


CROWDS: tuple[Crowd, ...] = (
    Crowd(
        "null-field",
        "on calls",
        _CHAT,
        _MISTRAL,
        one_turn(lambda n: call(f"c{n}") | {"x": None}, lambda n: result(f"c{n}")),
    ),
    Crowd("stray-field", "on messages", _CHAT, _CLAUDE, turns(lambda n: [said("a", done=True), USER])),
    Crowd("stray-field", "on parts", _CHAT, _MISTRAL, parts(lambda n: text("a", x=n))),
    Crowd(
        "stray-field",
        "on calls of one message",
        _CHAT,
        _GEMINI_3,
        one_turn(lambda n: call(f"c{n}") | {"x": 1}, lambda n: result(f"c{n}")),
    ),
    Crowd(
        "off-schema",
        "unknown keys in parts of Gemini",
        "gemini",
        _OPENAI,
        lambda n: gemini([user(*[{"text": "x", "foo": 1}] * n)]),
    ),
    Crowd(
        "off-schema",
        "arguments as an object",
        _CHAT,
        _OPENAI,
        one_turn(lambda n: call(f"c{n}", arguments={}), lambda n: result(f"c{n}")),
    ),
    Crowd(
        "lone-reasoning",
        "each",
        "openai-responses",
        _RESPONSES,
        spread(lambda n: [USER, response_thought(n)], responses),
    ),
    Crowd("unknown-role", "each", _CHAT, _CLAUDE, turns(lambda n: [{"role": "critic", "content": f"c{n}"}])),
    Crowd(
        "legacy-function-call",
        "each",
        _CHAT,
        "cerebras/some-model",
        turns(
            lambda n: [
                said(None, function_call={"name": "f", "arguments": "{}"}),
                {"role": "function", "name": "f", "content": "ok"},
            ]
        ),
    ),
    Crowd("custom-tool", "each", "openai-responses", _CLAUDE, spread(custom, responses)),
    Crowd(
        "bad-arguments",
        "in one turn",
        _CHAT,
        _GEMINI_3,
        one_turn(lambda n: call(f"c{n}", "f", "?"), lambda n: result(f"c{n}")),
    ),
    Crowd("refused-hint", "in one message", _CHAT, _OPENAI, parts(lambda n: text("a", **CACHED))),
    Crowd("vendor-header", "in one system text", "anthropic", _OPENAI, _billed),
    Crowd("refused-hint", "among results", "anthropic", _GEMINI_3, interleaved),
    Crowd("refused-hint", "in its own dialect", "anthropic", _CLAUDE, interleaved),
    Crowd(
        "model-prefix",
        "each",
        _CHAT,
        _OPENAI,
        turns(lambda n: [said(f"[some/model] {n}"), USER]),
        {"model-prefix": "strip"},
    ),
    Crowd(
        "volatile-ids",
        "each",
        _CHAT,
        _OPENAI,
        turns(lambda n: [{"role": "system", "content": f"[message_id: {n}]"}, USER]),
        {"volatile-ids": "fix"},
    ),
    Crowd("empty-content", "messages", _CHAT, _CLAUDE, turns(lambda n: [said(""), USER])),
    Crowd("empty-content", "parts beside others", _CHAT, _CLAUDE, turns(lambda n: [said([text("a"), text("")]), USER])),
    Crowd("null-content", "each", _CHAT, _CLAUDE, turns(lambda n: [said(None), USER])),
    Crowd(
        "thought-in-id",
        "each",
        _CHAT,
        _CLAUDE,
        turns(lambda n: [calling(call(f"c{n}__thought__abc")), result(f"c{n}__thought__abc")]),
    ),
    Crowd("duplicate-call-id", "in one turn", _CHAT, _GEMINI_3, one_turn(lambda n: call("x"), lambda n: result("x"))),
    Crowd("duplicate-call-id", "never answered", _CHAT, _CLAUDE, one_turn(lambda n: call("x"))),
    Crowd("duplicate-call-id", "in many turns", _CHAT, _RESPONSES, turns(lambda n: [calling(call("x")), result("x")])),
    Crowd(
        "duplicate-call-id",
        "of Responses",
        "openai-responses",
        _CLAUDE,
        lambda n: responses([*[response_call(i, "x") for i in range(n)], *[response_output(i, "x") for i in range(n)]]),
    ),
    Crowd(
        "repeated-result", "of one call", _CHAT, _CLAUDE, lambda n: chat([USER, calling(call("x")), *[result("x")] * n])
    ),
    Crowd("orphan-result", "in a row", _CHAT, _CLAUDE, turns(lambda n: [result(f"c{n}")])),
    Crowd("orphan-result", "apart", _CHAT, _GEMINI_3, turns(lambda n: [result(f"c{n}"), USER])),
    Crowd("missing-result", "in one turn", _CHAT, _GEMINI_3, one_turn(lambda n: call(f"c{n}"))),
    Crowd("missing-result", "apart", _CHAT, _CLAUDE, turns(lambda n: [calling(call(f"c{n}")), USER])),
    Crowd(
        "misnamed-result",
        "in rounds",
        "gemini",
        _GEMINI_3,
        spread(lambda n: [model(gemini_call(n)), user(gemini_result(n + 1))], gemini),
    ),
    Crowd(
        "missing-result",
        "of Gemini",
        "gemini",
        _OPENAI,
        lambda n: gemini([model(*[gemini_call(i) for i in range(n)])]),
    ),
    Crowd(
        "late-result",
        "all at the end",
        _CHAT,
        _CLAUDE,
        lambda n: chat(
            [*[m for i in range(n) for m in (USER, calling(call(f"c{i}")))], USER, *[result(f"c{i}") for i in range(n)]]
        ),
    ),
    Crowd(
        "late-result",
        "swapped in each turn",
        _CHAT,
        _CLAUDE,
        turns(lambda n: [calling(call(f"a{n}"), call(f"b{n}")), result(f"b{n}"), result(f"a{n}")]),
    ),
    Crowd(
        "late-result",
        "reversed in one turn",
        _CHAT,
        _CLAUDE,
        lambda n: chat(
            [USER, calling(*[call(f"c{i}") for i in range(n)]), *[result(f"c{i}") for i in reversed(range(n))]]
        ),
    ),
    Crowd(
        "item-id-form",
        "thinking in a row",
        "openai-responses",
        "openai-responses/gpt-4o",
        lambda n: responses([*[response_thought(i) for i in range(n)], {"role": "assistant", "content": "a"}]),
    ),
    Crowd(
        "item-id-form",
        "calls in a row",
        "openai-responses",
        _RESPONSES,
        lambda n: responses(
            [*[response_call(i, id=f"bad_{i}") for i in range(n)], *[response_output(i) for i in range(n)]]
        ),
    ),
    Crowd(
        "foreign-reasoning",
        "signed calls",
        "gemini",
        _OPENAI,
        spread(lambda n: [model(gemini_call(n, thoughtSignature=GEMINI_SIGNATURE)), user(gemini_result(n))], gemini),
    ),
    Crowd(
        "foreign-reasoning",
        "in one message",
        "anthropic",
        _OPENAI,
        lambda n: claude([USER, said([*[claude_thought(i) for i in range(n)], text("a")])]),
    ),
    Crowd("refused-reasoning", "each", _CHAT, _CLAUDE, turns(lambda n: [said("a", reasoning_content=f"Hm {n}"), USER])),
    Crowd("missing-signature", "each", _CHAT, _GEMINI_3, turns(lambda n: [calling(call(f"c{n}")), result(f"c{n}")])),
    Crowd("inline-system", "leading", "anthropic", _CLAUDE, lambda n: claude([instructed(i) for i in range(n)])),
    Crowd("developer-role", "each", _CHAT, _CLAUDE, turns(lambda n: [{"role": "developer", "content": "b"}, USER])),
    Crowd("refused-system", "each", _CHAT, "openai/o1-mini", turns(lambda n: [instructed(n), USER])),
    Crowd(
        "mixed-system",
        "in one message",
        _CHAT,
        _OPENAI,
        lambda n: chat(
            [{"role": "system", "content": [text("a"), *({"type": "refusal", "refusal": "No."} for _ in range(n))]}]
        ),
    ),
    Crowd("late-system", "apart", _CHAT, _CLAUDE, turns(lambda n: [instructed(n), USER])),
    Crowd("late-system", "in a row", _CHAT, _CLAUDE, turns(lambda n: [instructed(n)])),
    Crowd("late-system", "hoisted", _CHAT, _CLAUDE, turns(lambda n: [instructed(n), USER]), {"late-system": "opening"}),
    Crowd("many-systems", "leading", _CHAT, _CLAUDE, lambda n: chat([instructed(i) for i in range(n)])),
    Crowd(
        "system-parts",
        "each",
        _CHAT,
        _TEMPLATE,
        turns(lambda n: [{"role": "system", "content": [text("a"), text("b")]}, USER]),
        {"late-system": "keep", "many-systems": "separate"},
    ),
    Crowd(
        "remote-media",
        "each",
        _CHAT,
        "deepseek/deepseek-chat",
        parts(lambda n: {"type": "image_url", "image_url": {"url": f"https://pictures.test/{n}.png"}}),
    ),
    Crowd(
        "refused-part",
        "by URL",
        _CHAT,
        "anthropic-compatible-strict/claude-sonnet-4-5",
        parts(lambda n: {"type": "image_url", "image_url": {"url": f"https://pictures.test/{n}.png"}}),
    ),
    Crowd("refused-part", "of the assistant", _CHAT, _OPENAI, parts(lambda n: IMAGE, "assistant")),
    Crowd(
        "refused-part",
        "in one result",
        _CHAT,
        "gemini/gemini-2.5-flash",
        lambda n: chat([USER, calling(call("x")), result("x", [IMAGE] * n)]),
    ),
    Crowd(
        "media-form",
        "each",
        _CHAT,
        _OPENAI,
        parts(lambda n: {"type": "image_url", "image_url": "data:image/png;base64,AA"}),
    ),
    Crowd(
        "error-mark",
        "each",
        "anthropic",
        _OPENAI,
        spread(
            lambda n: [said([claude_use(n)]), {"role": "user", "content": [claude_result(n, is_error=True)]}], claude
        ),
    ),
    Crowd("flat-tools", "each", _CHAT, _FLAT, turns(lambda n: [calling(call(f"c{n}")), result(f"c{n}")])),
    Crowd(
        "blank-remainder",
        "beside thinking that went",
        "anthropic",
        _MISTRAL,
        spread(lambda n: [USER, said([claude_thought(n), text(" ")])], claude),
    ),
    Crowd(
        "user-after-tool", "each", _CHAT, _TEMPLATE, turns(lambda n: [calling(call(f"c{n}")), result(f"c{n}"), USER])
    ),
    Crowd(
        "text-beside-calls",
        "each",
        _CHAT,
        _LLAMA,
        turns(lambda n: [USER, {**calling(call(f"c{n}")), "content": "One moment."}, result(f"c{n}")]),
    ),
    Crowd(
        "document-title",
        "each",
        _CHAT,
        _LLAMA,
        parts(
            lambda n: {
                "type": "file",
                "file": {"filename": f"report{n}.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
            }
        ),
        facts={"media": {"document": {"most": 0}}},
    ),
    Crowd(
        "lone-document",
        "each",
        _CHAT,
        _LLAMA,
        turns(
            lambda n: [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "file",
                            "file": {"filename": f"r{n}", "file_data": "data:application/pdf;base64,JVBERi0="},
                        }
                    ],
                },
                {"role": "assistant", "content": "Yes."},
            ]
        ),
        facts={"media": {"document": {"most": 0}}},
    ),
    Crowd(
        "duplicate-document-id",
        "each",
        "cohere",
        "cohere/command-a-03-2025",
        lambda count: {
            "messages": [USER],
            "documents": [{"id": "a", "data": {"text": f"{n}."}} for n in range(count)],
        },
    ),
    Crowd(
        "lost-reference",
        "each",
        "anthropic",
        _CLAUDE,
        lambda n: claude(
            [
                USER,
                {"role": "assistant", "content": [claude_use(i) for i in range(n)]},
                {"role": "user", "content": [claude_result(i, content=[_naming(i)]) for i in range(n)]},
            ],
            tools=[{"name": "f", "input_schema": {"type": "object"}}],
        ),
    ),
    Crowd(
        "empty-description",
        "each",
        _CHAT,
        _LLAMA,
        tools(lambda n: function(f"t{n}", {"type": "object", "properties": {}}, description="")),
    ),
    Crowd("repeated-role", "users", _CHAT, _TEMPLATE, turns(lambda n: [USER])),
    Crowd(
        "repeated-role",
        "calls",
        _CHAT,
        "anthropic-compatible-strict/claude-sonnet-4-5",
        lambda n: chat([USER, *[calling(call(f"c{i}")) for i in range(n)], *[result(f"c{i}") for i in range(n)]]),
    ),
    Crowd(
        "mixed-parts",
        "each",
        "gemini",
        _OPENAI,
        spread(lambda n: [model(gemini_call(n), {"text": "so"}), user(gemini_result(n))], gemini),
    ),
    Crowd(
        "many-thoughts",
        "each",
        "gemini",
        "deepseek/deepseek-reasoner",
        spread(
            lambda n: [
                model({"text": "a", "thought": True}, gemini_call(n), {"text": "b", "thought": True}),
                user(gemini_result(n)),
            ],
            gemini,
        ),
    ),
    Crowd(
        "media-apart",
        "each",
        _CHAT,
        "ollama/gemma3",
        turns(lambda n: [{"role": "user", "content": [text("a"), IMAGE]}, said("b")]),
    ),
    Crowd(
        "parallel-calls",
        "each",
        _CHAT,
        _TEMPLATE,
        turns(lambda n: [USER, calling(call(f"c{n}"), call(f"d{n}")), result(f"c{n}"), result(f"d{n}")]),
        facts={"parallel_calls": "refuses"},
    ),
    Crowd(
        "missing-content",
        "each",
        _CHAT,
        _TEMPLATE,
        turns(lambda n: [USER, calling(call(f"c{n}")), result(f"c{n}")]),
        facts={"call_content": "empty"},
    ),
    Crowd(
        "string-content",
        "each",
        _CHAT,
        "openai-compatible-lenient/some-model",
        turns(lambda n: [USER, said("a")]),
        facts={"string_content": "refuses"},
    ),
    Crowd(
        "missing-description",
        "each",
        _CHAT,
        _TEMPLATE,
        tools(lambda n: function(f"t{n}", {"type": "object", "properties": {}})),
        facts={"tools_without_description": "refuses"},
    ),
    Crowd("list-content", "each", _CHAT, _TEMPLATE, turns(lambda n: [said([text("a"), text("b")]), USER])),
    Crowd(
        "missing-reasoning",
        "each",
        _CHAT,
        "deepseek/deepseek-v4",
        turns(lambda n: [calling(call(f"c{n}")), result(f"c{n}")]),
    ),
    Crowd("refused-name", "each", _CHAT, _CLAUDE, turns(lambda n: [said("a", name="b"), USER])),
    Crowd("call-id-form", "each", _CHAT, _CLAUDE, turns(lambda n: [calling(call(_odd(n))), result(_odd(n))])),
    Crowd("call-id-form", "in one turn", _CHAT, _CLAUDE, one_turn(lambda n: call(_odd(n)), lambda n: result(_odd(n)))),
    Crowd(
        "tool-name-form",
        "calls",
        _CHAT,
        _CLAUDE,
        turns(lambda n: [calling(call(f"c{n}", f"a.b {n}")), result(f"c{n}")]),
    ),
    Crowd("tool-name-form", "tools", _CHAT, _CLAUDE, tools(lambda n: function("a" * 80 + f".{n}", {"type": "object"}))),
    Crowd(
        "native-tool",
        "each",
        "anthropic",
        _OPENAI,
        lambda n: claude([], tools=[{"type": "web_search_20250305", "name": f"web_{i}"} for i in range(n)]),
    ),
    Crowd(
        "provider-run",
        "each",
        "anthropic",
        _OPENAI,
        lambda n: claude(
            [
                USER,
                {"role": "assistant", "content": [one(i) for one in (_searching, _searched) for i in range(n // 2)]},
            ]
        ),
        share=0.45,
    ),
    Crowd(
        "client-tool",
        "each",
        "openai-responses",
        _OPENAI,
        lambda n: {
            "model": "m",
            "input": "Hi",
            "tools": [
                {
                    "type": "namespace",
                    "name": f"files_{i}",
                    "description": "Files.",
                    "tools": [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}],
                }
                for i in range(n)
            ],
        },
    ),
    Crowd(
        "tool-wrapper",
        "each",
        _CHAT,
        _OPENAI,
        tools(lambda n: {"name": f"t{n}", "parameters": {"type": "object"}}),
        facts={"tools_max": 0},
    ),
    Crowd("schema-keyword", "tools", _CHAT, _FLAT, tools(lambda n: function(f"t{n}", SCHEMA | {"title": str(n)}))),
    Crowd(
        "many-media",
        "each",
        _CHAT,
        _FLAT,
        parts(lambda n: {"type": "image_url", "image_url": {"url": f"https://pictures.test/{n}.png"}}),
        facts={"media": {"image": {"most": 1}}},
    ),
    Crowd(
        "many-tools",
        "each",
        _CHAT,
        _FLAT,
        tools(lambda n: function(f"t{n}", {"type": "object"})),
        facts={"tools_max": 1},
    ),
    Crowd(
        "many-strict",
        "each",
        _CHAT,
        _CLAUDE,
        tools(
            lambda n: function(
                f"t{n}", {"type": "object", "properties": {}, "additionalProperties": False}, strict=True
            )
        ),
        share=0.5,
    ),
    Crowd(
        "refused-setting", "unknown fields", _CHAT, _CLAUDE, lambda n: chat([], **{f"field_{i}": i for i in range(n)})
    ),
)

ONCE = frozenset(
    {
        "cache-marks",
        "duplicate-tool",
        "empty-tools",
        "endless-loop",
        "forced-loop",
        "forced-tool",
        "foreign-field",
        "json-word",
        "leading-assistant",
        "no-user-turn",
        "null-setting",
        "reasoning-asked",
        "refused-format",
        "refused-prefill",
        "refused-tools",
        "required-setting",
        "schema-label",
        "several-answers",
        "setting-name",
        "setting-range",
        "single-call",
        "thinking-form",
        "thinking-switch",
        "tool-choice-form",
        "trailing-assistant",
        "trailing-space",
        "undeclared-tools",
        "user-alias",
    }
)
"""Rules that repair one place of a request, or as many as it has settings."""

BURDENS: dict[str, tuple[str, str, Build]] = {
    "unknown fields in one message": (_CHAT, _CLAUDE, lambda n: chat([USER | {f"f{i}": i for i in range(n)}])),
    "unknown fields in one part": (
        "anthropic",
        _OPENAI,
        lambda n: claude([{"role": "user", "content": [text("a", **{f"f{i}": 1 for i in range(n)})]}]),
    ),
    "null members": (_CHAT, _OPENAI, lambda n: chat([], **{f"field_{i}": None for i in range(n)})),
    "leading systems kept apart": (_CHAT, _OPENAI, lambda n: chat([instructed(i) for i in range(n)])),
    "late systems that may stay": (
        _CHAT,
        "anthropic/claude-opus-4-8",
        turns(lambda n: [instructed(n), said("a"), USER]),
    ),
    "responses of Gemini in reverse": (
        "gemini",
        _OPENAI,
        lambda n: gemini(
            [model(*[gemini_call(i) for i in range(n)]), user(*[gemini_result(i) for i in reversed(range(n))])]
        ),
    ),
    "responses of Gemini apart from their calls": (
        "gemini",
        _GEMINI_3,
        lambda n: gemini([model(*[gemini_call(i) for i in range(n)]), *[user(gemini_result(i)) for i in range(n)]]),
    ),
    "one schema": (
        _CHAT,
        _GEMINI_3,
        lambda n: chat(
            [], tools=[function("t", {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(n)}})]
        ),
    ),
    "one namespace": (
        "openai-responses",
        _CLAUDE,
        lambda n: responses(
            [],
            tools=[
                {"type": "namespace", "name": "s", "tools": [{"type": "function", "name": f"t{i}"} for i in range(n)]}
            ],
        ),
    ),
}
"""What no rule has to repair, and what a careless reader or writer takes the square of its number for."""
