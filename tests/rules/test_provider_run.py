"""`provider-run`: blocks of tools that another provider ran."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.conversation.envelope import holds_sealed, seal
from dragoman.conversation.parts import Opaque, Origin
from dragoman.rules.clean.provider_run import provider_run

USER: dict[str, Any] = {"role": "user", "content": "Hi"}
CALL: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sky"}}
PAGE: dict[str, Any] = {
    "type": "web_search_result",
    "title": "Sky",
    "url": "https://sky.example",
    "encrypted_content": "EqgfCioIARgB",
}
RESULT: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
CITATION: dict[str, Any] = {
    "type": "web_search_result_location",
    "url": "https://sky.example",
    "title": "Sky",
    "cited_text": "It scatters blue light. ",
    "encrypted_index": "Eo8BCioIAxgC",
}


def claude(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"max_tokens": 9, "messages": [USER, {"role": "assistant", "content": list(blocks)}, USER]}


def test_a_call_and_its_result_become_one_text_with_what_is_cited() -> None:
    text = {"type": "text", "text": "Blue.", "citations": [CITATION]}
    done = sent(claude(CALL, RESULT, text), "openai/gpt-4o", source="anthropic")
    assert done.json["messages"][1]["content"].startswith(
        '[web search: sky]\n1. Sky - https://sky.example\n"It scatters blue light."'
    )
    assert "EqgfCioIARgB" not in str(done.json)
    assert ("provider-run", "/messages/1/content/0", "metadata", False) in done.changes


def test_a_citation_without_words_adds_nothing() -> None:
    text = {"type": "text", "text": "Blue.", "citations": [{**CITATION, "cited_text": ""}]}
    done = sent(claude(CALL, RESULT, text), "openai/gpt-4o", source="anthropic")
    assert '"' not in done.json["messages"][1]["content"]


def test_its_own_vendor_gets_it_back() -> None:
    assert run(provider_run, claude(CALL, RESULT), facts("anthropic"), source="anthropic").untouched


def test_state_that_is_too_short_for_anybodys_is_not_sent_to_a_vendor_that_checks() -> None:
    done = sent(claude(CALL, RESULT), "anthropic/claude-opus-4-8")
    assert done.json["messages"][1]["content"] == [
        {"type": "text", "text": "[web search: sky]\n1. Sky - https://sky.example"}
    ]
    assert ("provider-run", "/messages/1/content/0", "metadata", False) in done.changes
    real = {**RESULT, "content": [{**PAGE, "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5"}]}
    assert sent(claude(CALL, real), "anthropic/claude-opus-4-8").changes == []


USED = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {"q": "sky"}}
ANSWERED = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False}
ANSWERED["content"] = [{"type": "text", "text": "Blue."}]
CALLED = {"type": "mcp_call", "id": "mcp_1", "server_label": "wiki", "name": "ask", "arguments": '{"q":"sky"}'}
CALLED |= {"output": "Blue.", "error": None, "status": "completed"}


def test_a_call_of_a_server_is_written_for_a_target_that_calls_it_too() -> None:
    wiki = {"type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example", "require_approval": "never"}
    asked = {"input": [USER, CALLED, USER], "tools": [wiki]}
    done = sent(asked, "anthropic/claude-opus-4-8", source="openai-responses")
    used, answered = done.json["messages"][1]["content"]
    assert used["id"] == answered["tool_use_id"] != "mcp_1"
    assert ({**used, "id": USED["id"]}, {**answered, "tool_use_id": USED["id"]}) == (USED, ANSWERED)
    assert ("provider-run", "/input/1", "nothing", False) in done.changes
    failed = {**CALLED, "output": None, "error": {"type": "mcp_tool_execution_error", "content": [{"text": "No."}]}}
    failing = sent({**asked, "input": [USER, failed, USER]}, "anthropic/claude-opus-4-8", source="openai-responses")
    assert failing.json["messages"][1]["content"][1]["is_error"] is True
    servers = [{"type": "url", "name": "wiki", "url": "https://wiki.example"}]
    declared = {"mcp_servers": servers, "tools": [{"type": "mcp_toolset", "mcp_server_name": "wiki"}]}
    back = sent({**claude(USED, ANSWERED), **declared}, "openai-responses/gpt-4.1", source="anthropic").json["input"]
    assert {name: back[1].get(name) for name in CALLED} == {**CALLED, "id": back[1]["id"]}


def test_what_ai_studio_ran_is_told_to_vertex_in_words() -> None:
    usual = {"id": "a", "toolType": "GOOGLE_SEARCH_WEB"}
    call, result = {"toolCall": {**usual, "args": {"queries": ["sky"]}}}, {"toolResponse": {**usual, "response": {}}}
    hi = {"role": "user", "parts": [{"text": "Hi"}]}
    asked = {"contents": [hi, {"role": "model", "parts": [call, result, {"text": "Blue."}]}, hi]}
    assert sent(asked, "gemini/gemini-3-pro-preview", source="gemini").json == asked
    told = sent(asked, "vertex/gemini-3-pro-preview", source="gemini").json["contents"][1]["parts"]
    assert told == [{"text": "[web search: sky]"}, {"text": "Blue."}]


def test_a_call_of_a_server_that_nobody_declares_is_told_in_words() -> None:
    for target in ("openai-responses/gpt-4.1", "gemini/gemini-2.5-flash"):
        assert "[wiki: ask: sky]\\nBlue." in str(sent(claude(USED, ANSWERED), target, source="anthropic").json)


def told(item: dict[str, Any]) -> str:
    asked = {"input": [{"role": "user", "content": "Hi"}, item, {"role": "user", "content": "So?"}]}
    done = sent(asked, "anthropic/claude-opus-4-8", source="openai-responses")
    content = done.json["messages"][1]["content"]
    return content if isinstance(content, str) else "".join([block["text"] for block in content])


TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "a search": (
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "sky"}},
        "[web search: sky]",
    ),
    "code": (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "print(1)",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "1"}],
        },
        "[code run: print(1)]\n1",
    ),
    "a server's tool": (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "wiki",
            "name": "ask",
            "arguments": '{"q":"sky","n":1}',
            "output": "Blue.",
        },
        '[wiki: ask: {"q":"sky","n":1}]\nBlue.',
    ),
    "a failure": (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "wiki",
            "name": "ask",
            "arguments": "{}",
            "output": None,
            "error": {"type": "http_error", "code": 502, "message": "gone"},
        },
        "[wiki: ask]\ngone\nIt failed: http_error",
    ),
    "files": (
        {
            "type": "file_search_call",
            "id": "fs_1",
            "status": "completed",
            "queries": ["who", "why"],
            "results": [{"filename": "a.txt", "text": "Me."}],
        },
        "[file search: who; why]\n1. a.txt\nMe.",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_was_asked_and_found_is_told(name: str) -> None:
    item, text = TOLD[name]
    assert told(item) == text


STATE = seal(
    Opaque(
        kind="web_search_call",
        json=b'{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"sky"}}',
        origin=Origin("openai-responses"),
    )
)
OURS: dict[str, Any] = {**RESULT, "content": [{**PAGE, "encrypted_content": STATE}]}


def test_a_block_that_stands_for_the_targets_own_is_put_back() -> None:
    done = sent(claude(CALL, OURS), "openai-responses/gpt-4.1", source="anthropic")
    assert done.json["input"][1] == {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "sky"},
    }
    assert len(done.json["input"]) == 3


def test_what_we_sealed_reaches_no_vendor() -> None:
    cited = {"type": "text", "text": "Blue.", "citations": [{**CITATION, "encrypted_index": STATE}, CITATION]}
    done = sent(claude(CALL, OURS, cited), "anthropic/claude-opus-4-8", source="anthropic")
    assert [block["type"] for block in done.json["messages"][1]["content"]] == ["text", "text"]
    assert done.json["messages"][1]["content"][1]["citations"] == [CITATION]
    assert not holds_sealed(str(done.json).encode())
    assert STATE not in str(done.json)
    elsewhere = sent(claude(CALL, OURS), "gemini/gemini-2.5-flash", source="anthropic")
    assert STATE not in str(elsewhere.json)


def test_a_half_without_its_other_half_is_told_too() -> None:
    done = sent(claude(RESULT), "openai/gpt-4o", source="anthropic")
    assert done.json["messages"][1]["content"] == "[web search]\n1. Sky - https://sky.example"


ADVICE: dict[str, Any] = {
    "type": "advisor_tool_result",
    "tool_use_id": "srvtoolu_2",
    "content": {"type": "advisor_result", "text": "Look up."},
}
LONE = {"of a search": (RESULT, "https://sky.example"), "of a kind that nobody else has": (ADVICE, "Look up.")}


@pytest.mark.parametrize("name", LONE)
def test_a_result_that_its_vendor_takes_in_pairs_alone(name: str) -> None:
    result, words = LONE[name]
    asked = {**CALL, "id": result["tool_use_id"]}
    known = facts("anthropic", paired_blocks=["*_tool_result"])
    whole = claude(asked, result)
    assert run(provider_run, whole, known, source="anthropic").untouched
    paused = [*claude(asked)["messages"], {"role": "assistant", "content": [result]}]
    assert run(provider_run, {**whole, "messages": paused}, known, source="anthropic").untouched
    assert run(provider_run, claude(CALL, {**result, "tool_use_id": "other"}), known, source="anthropic").untouched
    body = claude({"type": "text", "text": "Well."}, result)
    done = run(provider_run, body, known, source="anthropic")
    said, told = done.json["messages"][1]["content"]
    assert (said["text"], told["type"], words in told["text"]) == ("Well.", "text", True)
    assert done.changes == [("/messages/1/content/1", "metadata", False)]
    assert run(provider_run, body, facts("anthropic"), source="anthropic").untouched


NOVA: dict[str, Any] = {
    "toolUse": {"toolUseId": "s1", "name": "nova_grounding", "input": {"query": "sky"}, "type": "server_tool_use"}
}
FOUND: dict[str, Any] = {
    "toolResult": {"toolUseId": "s1", "content": [{"json": {"summary": "blue"}}], "type": "nova_grounding_result"}
}


@pytest.mark.parametrize("target", ["bedrock/meta.llama3-3-70b-instruct-v1:0", "openai/gpt-4o"])
def test_what_nova_found_is_told_to_others(target: str) -> None:
    turns = [{"role": "user", "content": [{"text": "Hi"}]}, {"role": "assistant", "content": [NOVA, FOUND]}]
    done = sent({"messages": [*turns, turns[0]]}, target, source="bedrock")
    content = done.json["messages"][1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert text == '[web search: sky]\n{"summary":"blue"}'


PICTURE = "iVBORw0KGgoAAAANSUhEUg=="
DRAWN: dict[str, Any] = {
    "type": "image_generation_call",
    "id": "ig_1",
    "status": "completed",
    "result": PICTURE,
    "revised_prompt": "A sky.",
}


@pytest.mark.parametrize("target", ["anthropic/claude-opus-4-8", "gemini/gemini-2.5-flash", "openai/gpt-4o"])
def test_a_picture_that_was_made_stays_one(target: str) -> None:
    asked = {"input": [{"role": "user", "content": "Draw."}, DRAWN, {"role": "user", "content": "Bluer."}]}
    done = sent(asked, target, source="openai-responses")
    wire = json.dumps(done.json)
    assert PICTURE in wire
    assert "[picture: A sky.]" in wire


def test_a_model_that_sees_nothing_is_told_of_the_picture() -> None:
    asked = {"input": [{"role": "user", "content": "Draw."}, DRAWN, {"role": "user", "content": "Bluer."}]}
    done = sent(asked, "deepseek/deepseek-chat", source="openai-responses")
    assert done.json["messages"][1]["content"] == "[picture: A sky.]\n[image: image/png]"
