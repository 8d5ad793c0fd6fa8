"""Converse requests: blocks, cache points, tools and settings, to and from the other dialects."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman import adapt
from dragoman.dialects.registry import dialect
from dragoman.errors import DuplicateKey, MalformedRequest

USER: dict[str, Any] = {"role": "user", "content": [{"text": "Rain in Paris?"}]}
CALL = {"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {"city": "Paris"}}}
RESULT = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "It pours."}], "status": "success"}}
CALLED: dict[str, Any] = {"role": "assistant", "content": [{"text": "I will look."}, CALL]}
ANSWERED: dict[str, Any] = {"role": "user", "content": [RESULT]}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}
ID = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CONVERSE, CLAUDE, GPT, NOVA = (
    f"bedrock/{ID}",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-4o",
    "bedrock/amazon.nova-pro-v1:0",
)
GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def sent(body: dict[str, Any], target: str, source: str = "bedrock") -> Any:
    return adapt(orjson.dumps(body), source=source, target=target)


def test_a_tool_loop_is_the_same_there_and_back() -> None:
    body = asked(USER, CALLED, ANSWERED, toolConfig={"tools": [TOOL]}, inferenceConfig={"maxTokens": 500})
    claude = sent(body, CLAUDE)
    assert claude.changes == ()
    assert claude.json["messages"][1]["content"][1] == {
        "type": "tool_use", "id": "tooluse_1", "name": "weather", "input": {"city": "Paris"}
    }  # fmt: skip
    assert claude.json["max_tokens"] == 500
    back = sent(claude.json, CONVERSE, "anthropic")
    assert back.json["messages"][:2] == [USER, CALLED]
    assert back.json["messages"][2]["content"][0]["toolResult"]["content"] == [{"text": "It pours."}]
    assert back.json["toolConfig"] == {"tools": [TOOL]}
    chat = sent(body, GPT)
    assert chat.json["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"city":"Paris"}'
    assert chat.json["messages"][2] == {"role": "tool", "tool_call_id": "tooluse_1", "content": "It pours."}


PICTURE = {"format": "gif", "source": {"bytes": GIF}}
NULLS: dict[str, tuple[Any, Any]] = {
    "no place": ({"image": {**PICTURE, "source": {"bytes": GIF, "s3Location": None}}}, {"image": PICTURE}),
    "no lifetime": ({"cachePoint": {"type": "default", "ttl": None}}, {"cachePoint": {"type": "default"}}),
    "no cache point": ({"cachePoint": None}, None),
    "no guarded content": ({"guardContent": None}, None),
    "no guarded picture": (
        {"guardContent": {"text": {"text": "x", "qualifiers": None}, "image": None}},
        {"guardContent": {"text": {"text": "x"}}},
    ),
    "no context": (
        {"document": {"name": "a", "format": "txt", "source": {"text": "x"}, "context": None, "citations": None}},
        {"document": {"name": "a", "format": "txt", "source": {"text": "x"}}},
    ),
}


@pytest.mark.parametrize("target", [CONVERSE, CLAUDE, GPT])
@pytest.mark.parametrize("name", NULLS)
def test_a_null_in_a_block_is_as_if_it_were_not_there(name: str, target: str) -> None:
    given, meant = NULLS[name]
    done = sent(asked({"role": "user", "content": [{"text": "x"}, given]}), target)
    plain = sent(asked({"role": "user", "content": [{"text": "x"}, *([meant] if meant else [])]}), target)
    assert done.json == plain.json
    assert {change.rule for change in done.changes} - {change.rule for change in plain.changes} == {"off-schema"}


def test_the_path_names_the_model_and_asks_for_a_stream() -> None:
    whole = adapt(orjson.dumps(asked(USER)), source="bedrock", target=CONVERSE, stream=False)
    stream = adapt(orjson.dumps(asked(USER)), source="bedrock", target=CONVERSE, stream=True)
    assert whole.path.endswith("/converse")
    assert stream.path.endswith("/converse-stream")
    assert whole.body == stream.body == orjson.dumps(asked(USER))


def test_a_cache_point_is_the_hint_of_the_block_before_it() -> None:
    point = {"cachePoint": {"type": "default"}}
    body = asked(
        {"role": "user", "content": [{"text": "Long."}, point, {"text": "Short."}]}, system=[{"text": "Be."}, point]
    )
    claude = sent(body, CLAUDE)
    assert claude.json["messages"][0]["content"][0]["cache_control"]["type"] == "ephemeral"
    assert "cache_control" not in claude.json["messages"][0]["content"][1]
    assert claude.json["system"][0]["cache_control"]["type"] == "ephemeral"
    back = sent(claude.json, CONVERSE, "anthropic")
    assert back.json["messages"][0]["content"][1]["cachePoint"]["type"] == "default"
    assert sent(body, CONVERSE).changes == ()


def test_pictures_and_documents_are_bytes() -> None:
    image = {"image": {"format": "gif", "source": {"bytes": GIF}}}
    document = {"document": {"name": "Report", "format": "pdf", "source": {"bytes": "JVBERi0xLjQK"}}}
    body = asked({"role": "user", "content": [{"text": "See."}, image, document]}, inferenceConfig={"maxTokens": 9})
    blocks = sent(body, CLAUDE).json["messages"][0]["content"]
    assert blocks[1]["source"] == {"type": "base64", "media_type": "image/gif", "data": GIF}
    assert (blocks[2]["title"], blocks[2]["source"]["media_type"]) == ("Report", "application/pdf")
    back = sent(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]}, CONVERSE, "anthropic"
    )
    assert back.json["messages"][0]["content"] == [{"text": "See."}, image, document]


@pytest.mark.parametrize(
    ("source", "arrives"),
    [
        ({"bytes": "JVBERi0xLjQK"}, {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}),
        ({"bytes": "SGVsbG8="}, {"type": "text", "media_type": "text/plain", "data": "Hello"}),
        ({"text": "Hello"}, {"type": "text", "media_type": "text/plain", "data": "Hello"}),
    ],
)
def test_a_document_without_a_format_is_what_its_bytes_show(source: dict[str, str], arrives: dict[str, str]) -> None:
    document = {"document": {"name": "Report", "source": source}}
    body = asked({"role": "user", "content": [{"text": "See."}, document]}, inferenceConfig={"maxTokens": 9})
    assert sent(body, CLAUDE).json["messages"][0]["content"][1]["source"] == arrives


@pytest.mark.parametrize(
    ("choice", "chat"),
    [
        ({"auto": {}}, "auto"),
        ({"any": {}}, "required"),
        ({"tool": {"name": "weather"}}, {"type": "function", "function": {"name": "weather"}}),
    ],
)
def test_tool_choices(choice: dict[str, Any], chat: Any) -> None:
    body = asked(USER, toolConfig={"tools": [TOOL], "toolChoice": choice})
    assert sent(body, GPT).json["tool_choice"] == chat
    back = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tool_choice": chat}
    back["tools"] = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    assert sent(back, CONVERSE, "openai-chat").json["toolConfig"].get("toolChoice", {"auto": {}}) == choice


def test_no_tool_at_all_cannot_be_said_so_the_tools_stay_home_or_it_is_reported() -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tool_choice": "none"}
    chat["tools"] = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    done = sent(chat, CONVERSE, "openai-chat")
    assert "toolChoice" not in done.json.get("toolConfig", {})
    assert done.changes


def test_settings_have_their_places() -> None:
    chat = {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5, "stop": ["END"], "max_tokens": 7}
    done = sent(chat, NOVA, "openai-chat")
    assert done.json["inferenceConfig"] == {"maxTokens": 7, "temperature": 0.5, "stopSequences": ["END"]}
    claude = {"model": "m", "max_tokens": 2000, "top_k": 9, "messages": [{"role": "user", "content": "Hi"}]}
    assert sent(claude, CONVERSE, "anthropic").json["additionalModelRequestFields"] == {"top_k": 9}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    body = asked(USER, additionalModelRequestFields=thinking, inferenceConfig={"maxTokens": 2000})
    assert sent(body, CLAUDE).json["thinking"] == thinking["thinking"]


def test_thinking_goes_back_with_its_signature_and_nowhere_else() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "RXFRQkNrWUlBeGdDS2tCd3F3PT0="}}}
    turn = {"role": "assistant", "content": [thought, {"text": "Yes."}]}
    body = asked(USER, turn, USER, inferenceConfig={"maxTokens": 99})
    same = sent(body, CONVERSE)
    assert (same.changes, same.json["messages"][1]) == ((), turn)
    assert "Hm." not in sent(body, GPT).body.decode()


def test_blocks_that_only_bedrock_has_stay_there_and_are_reported_elsewhere() -> None:
    guarded = {"guardContent": {"text": {"text": "Is it safe?"}}}
    body = asked({"role": "user", "content": [{"text": "Hi."}, guarded]}, inferenceConfig={"maxTokens": 9})
    assert sent(body, CONVERSE).changes == ()
    assert sent(body, CLAUDE).changes


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (b'{"messages": 7}', "/messages"),
        (b'{"messages": [{"role": "user", "content": [7]}]}', "/messages/0"),
        (b"{}", "/messages"),
        (b"[]", ""),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(body: bytes, at: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        dialect("bedrock").requests.parse(body)
    assert refused.value.at.startswith(at)


def test_a_member_twice_is_refused() -> None:
    with pytest.raises(DuplicateKey):
        dialect("bedrock").requests.parse(b'{"messages":[],"system":[],"messages":[]}')


FILM = {"video": {"format": "video/mp4", "source": {"bytes": "AAAAIGZ0eXBpc29t"}}}
IN_S3 = {"document": {"name": "Report", "format": "pdf", "source": {"s3Location": {"uri": "s3://bucket/report.pdf"}}}}
NOVAS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a film, its format as a media type": (
        asked({"role": "user", "content": [{"text": "See."}, FILM]}),
        "refused-part",
        "video",
    ),
    "a document in S3": (asked({"role": "user", "content": [{"text": "See."}, IN_S3]}), "refused-part", "s3Location"),
    "a setting of Nova's own": (
        asked(USER, additionalModelRequestFields={"inferenceConfig": {"topK": 5}}),
        "refused-setting",
        "topK",
    ),
}


@pytest.mark.parametrize("name", NOVAS)
def test_what_nova_takes_and_claude_does_not(name: str) -> None:
    body, rule, word = NOVAS[name]
    assert sent(body, NOVA).body == orjson.dumps(body)
    done = sent(body, CONVERSE)
    assert [change.rule for change in done.changes] == [rule]
    assert f'"{word}"'.encode() not in done.body


def test_a_strict_tool_without_a_schema_takes_no_arguments() -> None:
    tool = {"type": "function", "function": {"name": "look", "strict": True}}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    done = adapt(asked, source="openai-chat", target="bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    (sent,) = done.json["toolConfig"]["tools"]
    assert sent["toolSpec"]["inputSchema"]["json"]["additionalProperties"] is False


def test_a_whole_number_for_claude_and_no_more_strict_tools_than_it_compiles() -> None:
    gemini = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"topK": 40.0}}
    assert b'"top_k":40}' in sent(gemini, CONVERSE, "gemini").body
    tools = [{"toolSpec": {"name": f"t{n}", "inputSchema": {"json": SCHEMA}, "strict": True}} for n in range(21)]
    done = sent(asked(USER, toolConfig={"tools": tools}), CONVERSE)
    assert [change.at for change in done.changes if change.rule == "many-strict"] == ["/toolConfig/tools/20/toolSpec"]


def test_a_document_in_s3_inside_a_result_stays() -> None:
    result = {"toolResult": {"toolUseId": "tooluse_1", "content": [IN_S3]}}
    body = asked(USER, CALLED, {"role": "user", "content": [result]}, toolConfig={"tools": [TOOL]})
    assert sent(body, CONVERSE).body == orjson.dumps(body)


def test_a_format_with_a_description_is_understood() -> None:
    inner = {"schema": orjson.dumps(SCHEMA).decode(), "name": "city", "description": "A city."}
    form = {"type": "json_schema", "structure": {"jsonSchema": inner}}
    done = orjson.loads(sent(asked(USER, outputConfig={"textFormat": form}), GPT).body)
    assert done["response_format"]["json_schema"]["description"] == "A city."


def test_null_in_the_inference_config_is_no_setting() -> None:
    body = asked(USER, inferenceConfig={"maxTokens": 50, "temperature": None})
    own = sent(body, NOVA)
    assert own.json["inferenceConfig"] == {"maxTokens": 50}
    assert [(one.rule, one.at) for one in own.changes] == [("off-schema", "/inferenceConfig/temperature")]
    done = orjson.loads(sent(body, GPT).body)
    assert done["max_tokens"] == 50
    assert "temperature" not in done


def test_thinking_of_another_form_stays_beside_settings_that_are_understood() -> None:
    fields = {"thinking": {"type": "enabled", "budget_tokens": "many"}, "top_k": 20}
    settings = (
        dialect("bedrock")
        .requests.parse(orjson.dumps(asked(USER, additionalModelRequestFields=fields)))
        .conversation.settings
    )
    assert (settings.top_k, settings.thinking) == (20, None)


def test_a_limit_beside_the_config_is_refused_at_its_own_place() -> None:
    with pytest.raises(MalformedRequest, match="a limit of -5 tokens") as refused:
        dialect("bedrock").requests.parse(orjson.dumps(asked(USER, max_tokens=-5)))
    assert refused.value.at == "/max_tokens"


def test_top_k_beside_top_p_goes_to_the_model() -> None:
    done = sent(asked(USER, inferenceConfig={"topP": 0.5, "topK": 5}), CONVERSE)
    assert done.json["inferenceConfig"] == {"topP": 0.5}
    assert done.json["additionalModelRequestFields"] == {"top_k": 5}
    assert [(one.rule, one.at) for one in done.changes] == [("off-schema", "/inferenceConfig/topK")]


@pytest.mark.parametrize(
    ("choice", "own", "chat"),
    [
        ("any", {"any": {}}, "required"),
        ({"type": "tool", "name": "weather"}, {"tool": {"name": "weather"}}, None),
        ({"none": {}}, None, "none"),
    ],
    ids=["a word", "Claude's form", "none"],
)
def test_a_tool_choice_in_other_words_is_understood(choice: Any, own: Any, chat: Any) -> None:
    body = asked(USER, toolConfig={"tools": [TOOL], "toolChoice": choice})
    done = sent(body, CONVERSE)
    assert done.json.get("toolConfig", {}).get("toolChoice") == own
    assert "/toolConfig/toolChoice" in [one.at for one in done.changes]
    if chat is not None:
        assert sent(body, GPT).json["tool_choice"] == chat


def test_a_picture_by_url_goes_if_it_is_taken() -> None:
    picture = {"image": {"format": "png", "source": {"url": "https://example.com/a.png"}}}
    body = asked({"role": "user", "content": [{"text": "Look."}, picture]})
    assert sent(body, GPT).json["messages"][0]["content"][1]["image_url"]["url"] == "https://example.com/a.png"
    done = sent(body, CONVERSE)
    assert done.json["messages"][0]["content"][1] == {"text": "[image: https://example.com/a.png]"}
    assert [one.rule for one in done.changes] == ["refused-part"]
    assert done.media_to_fetch
