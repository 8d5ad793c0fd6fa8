"""Items that Codex has among its messages and that are no part of the published types."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import AdaptedRequest, adapt
from dragoman.errors import MalformedRequest

OPENAI, AZURE, CLAUDE, GEMINI = (
    "openai-responses/gpt-5.4",
    "azure-openai-responses/gpt-5.4",
    "anthropic/claude-opus-4-8",
    "gemini/gemini-3-pro-preview",
)
HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
SNAPSHOT = {"type": "ghost_snapshot", "ghost_commit": {"id": "0a1b", "parent": None}}
SEALED = "gAAAAAB" + "a" * 91
COMPACTED = {"type": "compaction_summary", "encrypted_content": SEALED}


def sent(target: str, *items: dict[str, Any]) -> AdaptedRequest:
    return adapt({"model": "m", "input": list(items)}, target=target, source="openai-responses")


@pytest.mark.parametrize("target", [OPENAI, AZURE, CLAUDE, GEMINI])
def test_what_no_model_reads_is_left_out_and_reported(target: str) -> None:
    done = sent(target, HI, SNAPSHOT, HI)
    assert b"ghost" not in done.body
    assert [(change.rule, change.at) for change in done.changes if change.kind == "repair"] == [
        ("refused-part", "/input/1")
    ]


@pytest.mark.parametrize("target", [OPENAI, AZURE])
def test_a_compaction_under_its_old_name_is_one(target: str) -> None:
    done = sent(target, HI, COMPACTED, HI)
    assert done.json["input"] == [HI, {"type": "compaction", "encrypted_content": SEALED}, HI]
    assert [(change.rule, change.at, change.loses) for change in done.changes] == [
        ("off-schema", "/input/1", "nothing")
    ]


def test_a_compaction_of_openai_is_left_out_elsewhere() -> None:
    assert ("refused-part", "/input/1") in [(change.rule, change.at) for change in sent(CLAUDE, HI, COMPACTED).changes]


def test_an_item_that_is_newer_than_this_program_goes_to_openai_as_it_is() -> None:
    newer = {"type": "agent_message", "author": "scout", "content": "Found it."}
    assert sent(OPENAI, HI, newer, HI).json["input"] == [HI, newer, HI]
    with pytest.raises(MalformedRequest, match='no part of the kind "agent_message" is known'):
        sent(OPENAI, newer)
    with pytest.raises(MalformedRequest, match='no part of the kind "mystery" is known'):
        sent(OPENAI, HI, {**HI, "content": [{"type": "mystery"}]})


def test_a_compaction_that_is_too_short_to_be_sealed_is_left_out_at_once() -> None:
    done = sent("openai-responses/gpt-5.4", HI, {"type": "compaction", "encrypted_content": "eHh4eHg="}, HI)
    assert done.json["input"] == [HI, HI]
    assert ("refused-part", "/input/1", "content") in [(one.rule, one.at, one.loses) for one in done.changes]


def test_turns_in_the_form_of_chat_reach_xai_as_items() -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [made]}
    done = sent("xai-responses/grok-4.3", HI, calling, {"role": "tool", "tool_call_id": "c1", "content": "ok"})
    assert [item["type"] for item in done.json["input"]] == ["message", "function_call", "function_call_output"]


SEARCH = {"type": "web_search"}
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.mark.parametrize(
    ("target", "tools", "listed", "lost"),
    [
        (CLAUDE, [SEARCH], ["web_search"], []),
        (CLAUDE, [SEARCH, LOOK], ["web_search", "look"], []),
        (
            GEMINI.replace("3-pro-preview", "2.5-flash"),
            [SEARCH, LOOK],
            ["look"],
            ["web_search"],
        ),  # not beside functions
        ("mistral/mistral-large-latest", [SEARCH, LOOK], ["look"], ["web_search"]),
        ("mistral/mistral-large-latest", [SEARCH], [], ["web_search"]),
    ],
)
def test_a_tool_that_the_provider_runs_may_be_declared_among_the_messages(
    target: str, tools: list[dict[str, Any]], listed: list[str], lost: list[str]
) -> None:
    done = sent(target, HI, {"type": "additional_tools", "role": "developer", "tools": tools}, HI)
    found = done.json.get("tools", [])
    functions = [one for tool in found for one in tool.get("functionDeclarations", [tool.get("function", tool)])]
    assert [one["name"] for one in functions] == listed
    gone = [change for change in done.changes if change.loses == "content"]
    assert [(change.rule, change.at) for change in gone] == [("client-tool", "/input/1") for _ in lost]
    assert all(name in change.did for name, change in zip(lost, gone, strict=True))


def test_a_search_of_the_list_leaves_it_for_functions_among_the_messages() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [LOOK]}
    body = {"model": "m", "input": [HI, later, HI], "tools": [SEARCH]}
    done = adapt(body, target="gemini/gemini-2.5-flash", source="openai-responses")
    assert [list(tool) for tool in done.json["tools"]] == [["functionDeclarations"]]
    assert ("client-tool", "/tools/0", "content") in [(one.rule, one.at, one.loses) for one in done.changes]


def test_gemini_is_asked_for_both_kinds_of_tools_among_the_messages() -> None:
    done = sent(GEMINI, HI, {"type": "additional_tools", "role": "developer", "tools": [SEARCH, LOOK]}, HI)
    assert [list(tool) for tool in done.json["tools"]] == [["googleSearch"], ["functionDeclarations"]]
    assert done.json["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert adapt(done.body, target=GEMINI, source="gemini").changes == ()


def test_a_search_among_the_messages_for_a_provider_that_searches_always() -> None:
    done = sent("perplexity/sonar", HI, {"type": "additional_tools", "role": "developer", "tools": [SEARCH]}, HI)
    assert "tools" not in done.json


def told(payload: str) -> dict[str, Any]:
    envelope = {"type": "input_text", "text": "Message Type: NEW_TASK\nSender: /root\nPayload:\n"}
    content = [envelope, {"type": "encrypted_content", "encrypted_content": payload}]
    return {"type": "agent_message", "author": "/root", "recipient": "/root/worker", "content": content}


RULES = {"type": "message", "role": "developer", "content": "You work for /root."}


@pytest.mark.parametrize("target", [CLAUDE, GEMINI, "openai-compatible/m", "xai-responses/grok-4.5"])
def test_the_task_of_an_agent_is_what_the_user_says(target: str) -> None:
    """Codex calls it encrypted even if the agent that gave it asks a provider that encrypts nothing."""
    done = sent(target, RULES, told("List the files."))
    body = done.json
    last = (body.get("messages") or body.get("contents") or body["input"])[-1]
    assert last["role"] == "user"
    assert "List the files." in str(last)
    assert "author: /root" in str(last)
    assert [(one.at, one.loses) for one in done.changes if one.rule == "refused-part"] == [
        ("/input/1/content", "metadata")
    ]
    assert not [one for one in done.changes if one.kind == "synthetic"]


@pytest.mark.parametrize("target", [CLAUDE, "xai-responses/grok-4.5"])
def test_a_task_that_is_encrypted_indeed_is_reported_as_lost(target: str) -> None:
    done = sent(target, RULES, told(SEALED))
    assert SEALED not in done.body.decode()
    assert ("refused-part", "content") in [(one.rule, one.loses) for one in done.changes]


def test_the_task_of_an_agent_goes_to_openai_as_it_is_if_it_is_encrypted() -> None:
    items = [RULES, HI, told(SEALED)]
    assert sent(OPENAI, *items).json["input"] == items
    late = {"type": "function_call_output", "call_id": "none", "output": "late"}
    assert sent(OPENAI, *items, late).json["input"][:3] == items
    opened = sent(OPENAI, RULES, HI, told("List the files.")).json["input"][-1]
    assert (opened["role"], opened["content"][-1]) == ("user", {"type": "input_text", "text": "List the files."})


SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "other"}}
OPENED = {**SEARCHED, "id": "ws_2", "action": {"type": "open_page", "url": "https://a.example"}}


@pytest.mark.parametrize("target", [OPENAI, AZURE, CLAUDE, GEMINI])
def test_a_search_whose_action_codex_did_not_know_is_left_out(target: str) -> None:
    """https://github.com/openai/codex/issues/7073"""
    done = sent(target, HI, SEARCHED, HI)
    assert b"web_search" not in done.body
    assert b"web search" not in done.body
    assert [(change.rule, change.at, change.loses) for change in done.changes if change.at == "/input/1"] == [
        ("provider-run", "/input/1", "metadata")
    ]


@pytest.mark.parametrize("target", [OPENAI, AZURE])
@pytest.mark.parametrize("item", [OPENED, {**SEARCHED, "action": None}, {"type": "web_search_call", "id": "ws_3"}])
def test_other_searches_go_back_to_openai_as_they_are(target: str, item: dict[str, Any]) -> None:
    done = sent(target, HI, item, HI)
    assert (done.json["input"][1], done.changes) == (item, ())


def test_openai_refuses_such_an_action() -> None:
    wire = orjson.dumps({"model": "gpt-5.4", "input": [HI, SEARCHED, HI]})
    refusal = judge("openai-responses", "gpt-5.4", "/responses", {}, wire)
    assert refusal is not None
    assert "'search', 'open_page', and 'find_in_page'" in refusal.body["error"]["message"]
    assert judge("openai-responses", "gpt-5.4", "/responses", {}, sent(OPENAI, HI, SEARCHED, HI).body) is None


APPROVED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
ASKED = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize("target", [CLAUDE, "openai-compatible/m"])
def test_what_the_user_allows_is_a_turn_of_the_user(target: str) -> None:
    done = sent(target, HI, ASKED, APPROVED)
    assert [turn["role"] for turn in done.json["messages"]] == ["user", "assistant", "user"]
    assert [change.at for change in done.changes if change.rule == "refused-part"] == ["/input/1", "/input/2"]
    assert sent(OPENAI, HI, ASKED, APPROVED).json["input"] == [HI, ASKED, APPROVED]
