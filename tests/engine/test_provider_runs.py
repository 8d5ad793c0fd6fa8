"""Tools that the target's provider ran, in an answer for a client of another dialect."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.corpus import recorded_in
from tests.event_streams import read_events, stream_message, write_events

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.envelope import unseal
from dragoman.conversation.parts import Origin
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.engine.answer.reasoning_capture import text_key
from dragoman.engine.answer.translation import Translation

CALL = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sky"}}
PAGE = {"type": "web_search_result", "title": "Sky", "url": "https://sky.example", "encrypted_content": "Eqgf"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
CITED = {
    "type": "web_search_result_location",
    "url": "https://sky.example",
    "title": "Sky",
    "cited_text": "It is blue.",
    "encrypted_index": "Eo8B",
}


def claude(*blocks: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 7, "server_tool_use": {"web_search_requests": 1}}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn"}
    return {**head, "content": list(blocks), "usage": usage}


def gpt(*items: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    return {"id": "resp_1", "object": "response", "status": "completed", "output": list(items), "usage": usage}


SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "sky", "sources": [{"type": "url", "url": "https://sky.example"}]},
}
ANNOTATION = {"type": "url_citation", "url": "https://sky.example", "title": "Sky", "start_index": 0, "end_index": 4}
WORDS = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Blue", "annotations": [ANNOTATION]}],
}
GROUNDED = {
    "candidates": [
        {
            "content": {"parts": [{"text": "Blue"}], "role": "model"},
            "finishReason": "STOP",
            "index": 0,
            "groundingMetadata": {
                "webSearchQueries": ["sky"],
                "groundingChunks": [{"web": {"uri": "https://sky.example", "title": "Sky"}}],
            },
        }
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12},
}


def whole(answer: dict[str, Any], upstream: str, client: str, tools: tuple[Tool, ...] = ()) -> dict[str, Any]:
    translation = Translation(upstream, client, prompt=Conversation((), tools))
    return dict(orjson.loads(translation.whole(orjson.dumps(answer))))


def test_claude_to_responses() -> None:
    text = {"type": "text", "text": "Blue", "citations": [CITED]}
    out = whole(claude(CALL, FOUND, text), "anthropic", "openai-responses")["output"]
    assert [item["type"] for item in out] == ["web_search_call", "message"]
    assert out[0]["action"] == {
        "type": "search",
        "query": "sky",
        "queries": ["sky"],
        "sources": [{"type": "url", "url": "https://sky.example"}],
    }
    assert out[0]["id"].startswith("ws_")
    assert out[1]["content"][0]["annotations"][0]["url"] == "https://sky.example"
    assert "Eqgf" not in str(out)
    assert "Eo8B" not in str(out)


def test_responses_to_claude() -> None:
    answer = whole(gpt(SEARCH, WORDS), "openai-responses", "anthropic")
    call, found, text = answer["content"]
    assert (call["type"], call["name"], call["input"]) == ("server_tool_use", "web_search", {"query": "sky"})
    assert (found["type"], found["tool_use_id"]) == ("web_search_tool_result", call["id"])
    (page,) = found["content"]
    assert page["url"] == "https://sky.example"
    own = unseal(page["encrypted_content"])
    assert own is not None
    assert (own.kind, orjson.loads(own.json)) == ("web_search_call", SEARCH)
    assert text["citations"][0]["url"] == "https://sky.example"
    assert answer["usage"]["server_tool_use"] == {"web_search_requests": 1, "web_fetch_requests": 0}


@pytest.mark.parametrize("client", ["anthropic", "openai-responses"])
def test_grounding_of_gemini(client: str) -> None:
    answer = whole(GROUNDED, "gemini", client)
    parts = answer.get("content") or answer["output"]
    kinds = [part["type"] for part in parts]
    if client == "anthropic":
        assert kinds == ["server_tool_use", "web_search_tool_result", "text"]
        assert parts[0]["input"] == {"query": "sky"}
        assert parts[1]["content"][0]["url"] == "https://sky.example"
        assert parts[2]["citations"][0]["url"] == "https://sky.example"
    else:
        assert kinds == ["message", "web_search_call"]
        assert parts[0]["content"][0]["annotations"][0]["title"] == "Sky"


def chat(message: dict[str, Any], **beside: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **beside}


SONAR = {"citations": ["https://sky.example"], "search_results": [{"title": "Sky", "url": "https://sky.example"}]}


@pytest.mark.parametrize("beside", [SONAR, {"citations": SONAR["citations"]}], ids=["pages", "addresses"])
def test_pages_beside_an_answer_are_cited(beside: dict[str, Any]) -> None:
    """As Perplexity lists them, in each chunk; a service that cites in the text as well is not doubled."""
    answer = chat({"role": "assistant", "content": "Blue [1]"}, **beside)
    (text,) = whole(answer, "openai-chat", "anthropic")["content"]
    assert [one["url"] for one in text["citations"]] == ["https://sky.example"]
    (message,) = whole(answer, "openai-chat", "openai-responses")["output"]
    assert [one["url"] for one in message["content"][0]["annotations"]] == ["https://sky.example"]
    note = {"type": "url_citation", "url_citation": {"url": "https://own.example", "title": "", "end_index": 4}}
    noted = chat({"role": "assistant", "content": "Blue", "annotations": [note]}, **beside)
    (text,) = whole(noted, "openai-chat", "anthropic")["content"]
    assert [one["url"] for one in text["citations"]] == ["https://own.example"]
    streaming = Translation("openai-chat", "anthropic", prompt=Conversation((), ()))
    chunk = {"choices": [{"index": 0, "delta": {"content": "Blue [1]"}, "finish_reason": "stop"}], **beside}
    out = read_events(streaming.feed(b"data: " + orjson.dumps(chunk) + b"\n\n") + streaming.close())
    deltas = [event["delta"] for event in out if event["type"] == "content_block_delta"]
    assert [delta["citation"]["url"] for delta in deltas if "citation" in delta] == ["https://sky.example"]


def test_what_a_service_ran_is_told_from_its_message() -> None:
    """As Groq's compound systems list it."""
    page = {"title": "Sky", "url": "https://sky.example", "content": "Blue."}
    run = {"type": "search", "index": 0, "arguments": '{"query": "sky"}', "search_results": {"results": [page]}}
    answer = chat({"role": "assistant", "content": "Blue", "executed_tools": [run]})
    call, found, _ = whole(answer, "openai-chat", "anthropic")["content"]
    assert (call["input"], found["content"][0]["url"]) == ({"query": "sky"}, "https://sky.example")
    asked = Conversation((), (NativeTool("web_search_20250305", b"{}", Origin("anthropic")),))
    streaming = Translation("openai-chat", "anthropic", prompt=asked)
    pieces = [{"executed_tools": [run | {"search_results": None}]}, {"executed_tools": [run]}, {"content": "Blue"}]
    chunks = [{"choices": [{"index": 0, "delta": piece}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    data = b"".join([b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks]) + b"data: [DONE]\n\n"
    out = read_events(streaming.feed(data) + streaming.close())
    blocks = [event["content_block"] for event in out if event["type"] == "content_block_start"]
    assert [block["type"] for block in blocks] == ["server_tool_use", "web_search_tool_result", "text"]
    assert blocks[1]["content"][0]["url"] == "https://sky.example"


def test_code_that_failed_shows_claudes_client_what_it_printed() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1/0"}}
    failed = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}
    parts = [code, failed, {"text": "Oh"}]
    body = {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]}
    content = whole(body, "gemini", "anthropic")["content"][1]["content"]
    assert (content["type"], content["stderr"], content["return_code"]) == (
        "code_execution_result",
        "ZeroDivisionError",
        1,
    )


def test_a_picture_of_gemini_stands_behind_the_search_for_it() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    candidate = {**GROUNDED["candidates"][0], "content": {"parts": [picture], "role": "model"}}
    parts = whole({**GROUNDED, "candidates": [candidate]}, "gemini", "anthropic")["content"]
    assert [part["type"] for part in parts] == ["server_tool_use", "web_search_tool_result", "text"]


def test_a_stream_of_gemini_waits_for_its_runs_only_if_a_search_was_asked_for() -> None:
    """Blocks of runs stand before the text, since some agents take the last block for the answer."""
    first = {"candidates": [{"content": {"parts": [{"text": "It is "}], "role": "model"}, "index": 0}]}
    data = b"".join([b"data: " + orjson.dumps(chunk) + b"\r\n\r\n" for chunk in (first, GROUNDED)])
    search = NativeTool("web_search_20250305", b"{}", Origin("anthropic"))
    for tools, kinds in (((search,), ["server_tool_use", "web_search_tool_result", "text"]), ((), ["text"])):
        translation = Translation("gemini", "anthropic", prompt=Conversation((), tools))
        out = read_events(translation.feed(data[:60]) + translation.feed(data[60:]) + translation.close())
        starts = [event["content_block"]["type"] for event in out if event["type"] == "content_block_start"]
        assert starts == kinds
        deltas = [event["delta"] for event in out if event["type"] == "content_block_delta"]
        assert "".join([delta.get("text", "") for delta in deltas]) == "It is Blue"
        assert deltas[-1]["citation"]["url"] == "https://sky.example"
        (end,) = [event for event in out if event["type"] == "message_delta"]
        assert end["usage"]["server_tool_use"]["web_search_requests"] == 1


SEARCHED = [
    (claude(CALL, FOUND, {"type": "text", "text": "Blue"}), "anthropic"),
    (gpt(SEARCH, WORDS), "openai-responses"),
]


@pytest.mark.parametrize(("answer", "upstream"), SEARCHED)
def test_grounding_for_gemini(answer: dict[str, Any], upstream: str) -> None:
    (candidate,) = whole(answer, upstream, "gemini")["candidates"]
    metadata = candidate["groundingMetadata"]
    assert metadata["webSearchQueries"] == ["sky"]
    assert metadata["groundingChunks"] == [{"web": {"uri": "https://sky.example", "title": "Sky"}}]


MCP = {
    "type": "mcp_call",
    "id": "mcp_1",
    "status": "completed",
    "server_label": "wiki",
    "name": "ask",
    "arguments": '{"q":"sky"}',
    "output": "Blue.",
    "error": None,
    "approval_request_id": None,
}
USE = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {"q": "sky"}}
DONE = {
    "type": "mcp_tool_result",
    "tool_use_id": "mcptoolu_1",
    "is_error": False,
    "content": [{"type": "text", "text": "Blue."}],
}


def test_calls_of_a_servers_tools_both_ways() -> None:
    (item,) = whole(claude(USE, DONE), "anthropic", "openai-responses")["output"]
    assert {**item, "id": "mcp_1"} == MCP
    use, done = whole(gpt(MCP), "openai-responses", "anthropic")["content"]
    assert {**use, "id": "mcptoolu_1"} == USE
    assert {**done, "tool_use_id": "mcptoolu_1"} == DONE


def test_code_for_gemini() -> None:
    run = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "print(1)"}}
    printed = {"type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0, "content": []}
    result = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": printed}
    parts = whole(claude(run, result), "anthropic", "gemini")["candidates"][0]["content"]["parts"]
    assert parts == [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]


def test_found_tools_are_whole_for_responses() -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "rate"}}
    references = [{"type": "tool_reference", "tool_name": "get_rate"}]
    content = {"type": "tool_search_tool_search_result", "tool_references": references}
    found = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    tools = (Tool("get_rate", b'"Rates."', b'{"type":"object"}'),)
    asked, output = whole(claude(call, found), "anthropic", "openai-responses", tools)["output"]
    assert (asked["type"], asked["arguments"]) == ("tool_search_call", {"query": "rate"})
    assert output["tools"][0]["parameters"] == {"type": "object"}


def test_a_call_without_its_result_is_not_told_by_half() -> None:
    (item,) = whole(claude(CALL), "anthropic", "openai-responses")["output"]
    assert (item["type"], item["status"]) == ("web_search_call", "failed")


def streamed(events: list[dict[str, Any]], upstream: str, client: str) -> list[dict[str, Any]]:
    translation = Translation(upstream, client)
    data = b"".join(write_events(events))
    return read_events(
        b"".join([translation.feed(data[at : at + 7]) for at in range(0, len(data), 7)]) + translation.close()
    )


def test_the_order_of_events_for_responses() -> None:
    blocks: list[dict[str, Any]] = [CALL, FOUND, {"type": "text", "text": ""}]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**claude(), "stop_reason": None}}]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        if block["type"] == "text":
            for delta in ({"type": "citations_delta", "citation": CITED}, {"type": "text_delta", "text": "Blue"}):
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}})
    events.append({"type": "message_stop"})
    out = streamed(events, "anthropic", "openai-responses")
    assert [event["type"] for event in out][2:8] == [
        "response.output_item.added",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        "response.output_item.done",
        "response.output_item.added",
    ]
    assert (out[2]["item"]["status"], out[2]["item"]["action"]) == ("in_progress", {"type": "search"})
    assert out[6]["item"]["action"]["query"] == "sky"
    assert "response.output_text.annotation.added" in [event["type"] for event in out]


def test_the_order_of_events_for_claude() -> None:
    text = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**gpt(), "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**SEARCH, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": SEARCH},
        {"type": "response.output_item.added", "output_index": 1, "item": {**WORDS, "content": []}},
        {**text, "delta": "Blue"},
        {**text, "type": "response.output_text.annotation.added", "annotation_index": 0, "annotation": ANNOTATION},
        {"type": "response.output_item.done", "output_index": 1, "item": WORDS},
        {"type": "response.completed", "response": gpt(SEARCH, WORDS)},
    ]
    out = streamed(events, "openai-responses", "anthropic")
    starts = [event["content_block"] for event in out if event["type"] == "content_block_start"]
    assert [block["type"] for block in starts] == ["server_tool_use", "web_search_tool_result", "text"]
    assert starts[0]["input"] == {}
    assert starts[1]["content"][0]["url"] == "https://sky.example"
    deltas = [event["delta"] for event in out if event["type"] == "content_block_delta"]
    assert [delta["type"] for delta in deltas] == ["input_json_delta", "text_delta", "citations_delta"]
    assert orjson.loads(deltas[0]["partial_json"]) == {"query": "sky"}
    (end,) = [event for event in out if event["type"] == "message_delta"]
    assert end["usage"]["server_tool_use"]["web_search_requests"] == 1


CLIENTS = {
    "anthropic": ("server_tool_use", "mcp_tool_use"),
    "openai-responses": (
        "web_search_call",
        "code_interpreter_call",
        "mcp_call",
        "file_search_call",
        "tool_search_call",
    ),
    "gemini": ("groundingMetadata", "urlContextMetadata", "executableCode"),
}
SHOWN = (
    *(b'"web_search_tool_result"', b'code_execution_tool_result"', b'"web_search_call"', b'"code_interpreter_call"'),
    *(b'"webSearchQueries"', b'"executableCode"', b'"nova_code_interpreter_result"'),
)
"""What tells of runs that every one of these clients has a form for."""


@pytest.mark.parametrize("upstream", ["anthropic", "openai-responses", "gemini", "bedrock"])
def test_recorded_runs_are_told_in_every_form(upstream: str) -> None:
    """Each recorded answer with a run shows one to clients of other vendors, whole as it was recorded."""
    seen = 0
    for exchange in recorded_in(upstream):
        response = exchange["response"]
        if response is None or response.get("kind") != "json" or response.get("status") != 200:
            continue
        body = orjson.dumps(response["body"])
        if not any(mark in body for mark in SHOWN):
            continue
        for client, kinds in CLIENTS.items():
            if client == upstream:
                continue
            translation = Translation(upstream, client)
            answer = translation.whole(body)
            assert translation.failure is None
            assert any(f'"{kind}"'.encode() in answer for kind in kinds), exchange["id"]
            assert b"encrypted_content_REDACTED" not in answer
            seen += 1
    assert seen > 2


SEARCHED_BY_GEMINI = {"id": "jv1", "toolType": "GOOGLE_SEARCH_WEB"}
INVOKED = [
    {"toolCall": {**SEARCHED_BY_GEMINI, "args": {"queries": ["sky"]}}, "thoughtSignature": "EqMB"},
    {
        "toolResponse": {**SEARCHED_BY_GEMINI, "response": {"search_suggestions": "<style></style>"}},
        "thoughtSignature": "EqMC",
    },
]


@pytest.mark.parametrize("grounded", [True, False])
@pytest.mark.parametrize("client", ["anthropic", "openai-responses"])
def test_a_search_that_gemini_shows_has_the_pages_of_the_metadata(client: str, grounded: bool) -> None:
    (candidate,) = GROUNDED["candidates"]  # type: ignore[misc]
    parts = [*INVOKED, {"text": "Blue"}]
    shown = {**candidate, "content": {"parts": parts, "role": "model"}}
    if not grounded:
        del shown["groundingMetadata"]
    search = NativeTool("web_search", b"{}", Origin(client))
    translation = Translation("gemini", client, prompt=Conversation((), (search,)))
    answer = orjson.loads(translation.whole(orjson.dumps({**GROUNDED, "candidates": [shown]})))
    urls = ["https://sky.example"] if grounded else []
    if client == "anthropic":
        call, found, _ = answer["content"]
        assert (call["name"], call["input"]) == ("web_search", {"query": "sky"})
        assert [page["url"] for page in found["content"]] == urls
    else:
        (call,) = [item for item in answer["output"] if item["type"] == "web_search_call"]
        assert call["action"]["query"] == "sky"
        assert [source["url"] for source in call["action"]["sources"] or ()] == urls


# Where the text of an answer cites a page

SEARCHING = NativeTool("web_search", b"{}", Origin("dragoman"))
BEGINNING, CLAIM = "Schön: ", "Überall blau."
BLOCKS = claude(
    CALL,
    FOUND,
    {"type": "text", "text": BEGINNING},
    {"type": "text", "text": CLAIM, "citations": [CITED]},
)
RANGE = {"start_index": len(BEGINNING), "end_index": len(BEGINNING) + len(CLAIM)}
ITEMS = gpt(
    SEARCH,
    {
        **WORDS,
        "content": [{"type": "output_text", "text": BEGINNING + CLAIM, "annotations": [{**ANNOTATION, **RANGE}]}],
    },
)
SEGMENT = {
    "startIndex": len(BEGINNING.encode()),
    "endIndex": len((BEGINNING + CLAIM).encode()),
    "text": CLAIM,
}
METADATA = {
    "webSearchQueries": ["sky"],
    "groundingChunks": [{"web": {"uri": "https://sky.example", "title": "Sky"}}],
    "groundingSupports": [{"segment": SEGMENT, "groundingChunkIndices": [0]}],
}
CANDIDATE = {
    **GROUNDED["candidates"][0],  # type: ignore[index]
    "content": {"parts": [{"text": BEGINNING + CLAIM}], "role": "model"},
    "groundingMetadata": METADATA,
}
GROUNDED_CLAIM = {**GROUNDED, "candidates": [CANDIDATE]}
ANSWERS = {"anthropic": BLOCKS, "openai-responses": ITEMS, "gemini": GROUNDED_CLAIM}


def cited_claim(answer: dict[str, Any], client: str) -> str:
    """What the answer says that its citation covers."""
    if client == "gemini":
        text = "".join([part["text"] for part in answer["candidates"][0]["content"]["parts"]])
        metadata = answer["candidates"][0]["groundingMetadata"]
        (support,) = metadata["groundingSupports"]
        assert metadata["groundingChunks"][support["groundingChunkIndices"][0]]["web"]["uri"] == "https://sky.example"
        segment = support["segment"]
        covered = text.encode()[segment["startIndex"] : segment["endIndex"]].decode()
        assert covered == segment["text"]
        return covered
    if client == "openai-chat":
        message = answer["choices"][0]["message"]
        (note,) = message["annotations"]
        return str(message["content"][note["url_citation"]["start_index"] : note["url_citation"]["end_index"]])
    (content,) = [
        one for item in answer["output"] if item["type"] == "message" for one in item["content"] if one["annotations"]
    ]
    (note,) = content["annotations"]
    return str(content["text"][note["start_index"] : note["end_index"]])


CROSSED = [(one, two) for one in ANSWERS for two in ("openai-chat", "openai-responses", "gemini") if one != two]


@pytest.mark.parametrize(("upstream", "client"), CROSSED)
def test_a_citation_covers_what_it_is_about(upstream: str, client: str) -> None:
    translation = Translation(upstream, client, prompt=Conversation((), (SEARCHING,)))
    answer = orjson.loads(translation.whole(orjson.dumps(ANSWERS[upstream])))
    assert cited_claim(answer, client) == CLAIM


def test_a_citation_that_comes_before_its_text_waits_for_it() -> None:
    data = b"".join(write_events(stream_message(claude({"type": "text", "text": CLAIM, "citations": [CITED]}))))
    translation = Translation("anthropic", "openai-responses", prompt=Conversation((), (SEARCHING,)))
    out = read_events(translation.feed(data) + translation.close())
    (note,) = [event["annotation"] for event in out if event["type"] == "response.output_text.annotation.added"]
    assert (note["start_index"], note["end_index"]) == (0, len(CLAIM))


@pytest.mark.parametrize("client", ["openai-responses", "anthropic"])
def test_code_without_an_id_gets_one(client: str) -> None:
    parts = [{"executableCode": {"language": "PYTHON", "code": "print(1)"}}]
    parts += [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}]
    told = {"parts": [*parts, *parts, {"text": "1"}], "role": "model"}
    answer = {"candidates": [{"content": told, "finishReason": "STOP"}], "responseId": "abc"}
    found = whole(answer, "gemini", client)
    kinds = ("code_interpreter_call", "server_tool_use")
    ids = [one["id"] for one in found.get("output") or found["content"] if one["type"] in kinds]
    assert len({*ids}) == 2
    assert all(len(one) > 10 for one in ids), ids


def text_for(client: str, out: dict[str, Any]) -> str:
    """The text as the client reads it."""
    match client:
        case "openai-chat":
            return str(out["choices"][0]["message"]["content"])
        case "gemini":
            return "".join([part.get("text", "") for part in out["candidates"][0]["content"]["parts"]])
        case "ollama":
            return str(out["message"]["content"])
    return "".join([one["text"] for one in out["message"]["content"] if one["type"] == "text"])


def text_block(text: str, *citations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"citations": list(citations)} if citations else {})}


APART: dict[str, tuple[list[dict[str, Any]], str]] = {
    "around a search": ([text_block("I look."), CALL, FOUND, text_block("It is blue.")], "I look.\n\nIt is blue."),
    "around two": ([text_block("I look."), CALL, FOUND, CALL, FOUND, text_block("Blue.")], "I look.\n\nBlue."),
    "cut by citations": (
        [CALL, FOUND, text_block("The sky "), text_block("is blue", CITED), text_block(".")],
        "The sky is blue.",
    ),
    "with a break": (
        [text_block("I look.\n"), CALL, FOUND, text_block("Blue."), CALL, FOUND, text_block("\nOr so.")],
        "I look.\nBlue.\nOr so.",
    ),
    "around advice, of which no other dialect tells": (
        [
            text_block("I ask."),
            {"type": "server_tool_use", "id": "srvtoolu_9", "name": "advisor", "input": {}},
            {
                "type": "advisor_tool_result",
                "tool_use_id": "srvtoolu_9",
                "content": {"type": "advisor_result", "text": "Blue.", "stop_reason": "end_turn"},
            },
            text_block("Blue."),
        ],
        "I ask.\n\nBlue.",
    ),
    "and nothing more": ([text_block("I look."), CALL, FOUND], "I look."),
}


@pytest.mark.parametrize("client", ["openai-chat", "gemini", "ollama", "cohere"])
@pytest.mark.parametrize("case", APART)
def test_texts_around_a_run_that_is_not_shown_are_set_off(case: str, client: str) -> None:
    blocks, text = APART[case]
    assert text_for(client, whole(claude(*blocks), "anthropic", client)) == text


def test_a_call_between_stays_before_the_blank_line() -> None:
    """As in a stream, in which it has been told by then."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    blocks = claude(text_block("I look."), CALL, FOUND, call, text_block("Blue."))
    parts = whole(blocks, "anthropic", "gemini")["candidates"][0]["content"]["parts"]
    assert [part.get("text", "call") for part in parts] == ["I look.", "call", "\n\nBlue."]


def test_a_citation_behind_a_blank_line_covers_what_it_is_about() -> None:
    message = whole(claude(text_block("I look."), CALL, FOUND, text_block("Blue.", CITED)), "anthropic", "openai-chat")[
        "choices"
    ][0]["message"]
    (cited,) = message["annotations"]
    place = cited["url_citation"]
    assert message["content"][place["start_index"] : place["end_index"]] == "Blue."


def test_what_is_kept_is_found_by_the_words_that_the_client_has() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "EqgfSig"}
    blocks = [thought, text_block("I look."), CALL, FOUND, text_block("Blue.")]
    translation = Translation("anthropic", "openai-chat", prompt=Conversation((), ()), keep=True)
    text = text_for("openai-chat", orjson.loads(translation.whole(orjson.dumps(claude(*blocks)))))
    assert list(translation.kept) == [text_key(text)]
