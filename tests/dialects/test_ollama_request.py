"""Ollama's requests: read, written anew, amended, and read for what is meant."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.judges import judge
from tests.shapes.words import PIXEL, SOUND

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import NO_ID, Call, Inline, Media, MediaKind, Part, Reasoning, Result, Text
from dragoman.conversation.settings import Effort, FormatKind, Settings, Thinking
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.ollama.message_parse import media_type_of
from dragoman.dialects.registry import dialect
from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest, Unrepresentable

OLLAMA = dialect("ollama")
USER = {"role": "user", "content": "Hi"}


def parse(*messages: Any, **more: Any) -> Ask:
    return OLLAMA.requests.parse(msgspec.json.encode({"model": "qwen3", "messages": list(messages), **more}))


def render(conversation: Conversation) -> Any:
    return msgspec.json.decode(OLLAMA.requests.render(conversation, RenderOptions("m", False)))


def test_the_parts_of_a_message_stand_in_the_order_in_which_the_model_sees_them() -> None:
    seen = parse({"role": "user", "content": "What?", "images": [PIXEL, SOUND]}).conversation.messages[0]
    assert [type(part) for part in seen.parts] == [Media, Media, Text]
    kinds = [(part.kind, part.source.media_type) for part in seen.parts if isinstance(part, Media)]  # type: ignore[union-attr]
    assert kinds == [(MediaKind.IMAGE, "image/png"), (MediaKind.AUDIO, "audio/wav")]


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PIXEL, "image/png"),
        (SOUND, "audio/wav"),
        ("/9j/4AAQSkZJRgABAQAAAQ", "image/jpeg"),
        ("R0lGODlhAQABAIAAAAAA", "image/gif"),
        ("UklGRhoAAABXRUJQVlA4TA", "image/webp"),
        ("SUQzBAAAAAAAI1RTU0U", "audio/mpeg"),
        ("", "image/png"),
        ("????", "image/png"),
    ],
)
def test_the_bytes_say_what_they_are(data: str, media_type: str) -> None:
    assert media_type_of(quote(data)) == media_type


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def tool(name: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_name": name, "content": content}


def test_results_without_ids_answer_the_first_waiting_call_of_their_name() -> None:
    turn = {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [call("a", x=1), call("b"), call("a")]}
    ask = parse(USER, turn, tool("a", "1"), tool("a", "2"), tool("b", "3"))
    _, said, answered = ask.conversation.messages
    calls = [part for part in said.parts if isinstance(part, Call)]
    results = [part for part in answered.parts if isinstance(part, Result)]
    assert isinstance(said.parts[0], Reasoning)
    assert [one.call_id for one in results] == [calls[0].id, calls[2].id, calls[1].id]
    assert {one.wire_form for one in (*calls, *results)} == {NO_ID}
    assert len({one.id for one in calls}) == 3
    assert (answered.at, answered.span) == (2, 3)
    assert parse(USER, turn, tool("a", "1")).conversation.messages[1] == said, "the same ids on every turn"


def test_ids_that_are_there_are_kept() -> None:
    turn = {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", **call("a")}]}
    ask = parse(USER, turn, {**tool("a", "1"), "tool_call_id": "call_1"})
    written = render(ask.conversation)["messages"]
    assert written[1]["tool_calls"][0]["id"] == written[2]["tool_call_id"] == "call_1"
    assert (
        "id"
        not in render(parse(USER, {**turn, "tool_calls": [call("a")]}).conversation)["messages"][1]["tool_calls"][0]
    )


def settings(**more: Any) -> Settings:
    return parse(USER, **more).conversation.settings


@pytest.mark.parametrize(
    ("think", "meant"),
    [(True, Thinking(on=True)), (False, Thinking(on=False)), ("high", Thinking(effort=Effort.HIGH)), (None, None)],
)
def test_think(think: Any, meant: Thinking | None) -> None:
    ask = parse(USER, think=think)
    assert ask.conversation.settings.thinking == meant
    assert render(ask.conversation).get("think") == think


def test_options_are_settings_and_the_rest_is_kept_with_them() -> None:
    options = {"num_predict": 50, "temperature": 0, "stop": ["END"], "num_ctx": 8192, "min_p": 0.1}
    ask = parse(USER, options=options, keep_alive="5m")
    found = ask.conversation.settings
    assert (found.max_tokens, found.temperature, found.min_p, found.stop) == (50, 0, 0.1, (b'"END"',))
    assert ask.conversation.extras is not None
    assert ask.conversation.extras.fields == {"options.num_ctx": b"8192", "keep_alive": b'"5m"'}
    assert render(ask.conversation)["options"] == options


def test_minus_one_is_no_limit_and_any_seed() -> None:
    found = settings(options={"num_predict": -1, "seed": -1})
    assert (found.max_tokens, found.seed) == (None, None)
    body = {"model": "m", "messages": [USER], "options": {"num_predict": -1}}
    assert "max_tokens" not in adapt(body, source="ollama", target="openai/gpt-4o").json
    assert adapt(body, source="ollama", target="ollama/m").changes == ()


@pytest.mark.parametrize(
    ("form", "kind"), [("json", FormatKind.JSON), ({"type": "object"}, FormatKind.SCHEMA), ("", None), (None, None)]
)
def test_format(form: Any, kind: FormatKind | None) -> None:
    found = settings(format=form).response_format
    assert (found.kind if found is not None else None) is kind


@pytest.mark.parametrize(("more", "stream"), [({}, True), ({"stream": None}, True), ({"stream": False}, False)])
def test_a_stream_is_meant_unless_the_request_says_otherwise(more: Any, stream: bool) -> None:
    ask = parse(USER, **more)
    assert ask.stream is stream
    assert OLLAMA.requests.render(ask.conversation, RenderOptions("qwen3", stream), ask) == ask.source


@pytest.mark.parametrize(
    ("more", "at"),
    [
        ({"think": "huge"}, "/think"),
        ({"format": "yaml"}, "/format"),
        ({"options": 7}, "/options"),
        ({"options": {"temperature": {}}}, "/options/temperature"),
        ({"options": {"stop": [7]}}, "/options/stop"),
        ({"stream": "yes"}, "/stream"),
        ({"messages": [{"role": "user", "content": "Hi", "images": [7]}]}, "/messages/0/images/0"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(more: dict[str, Any], at: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        OLLAMA.requests.parse(msgspec.json.encode({"model": "m", "messages": [USER], **more}))
    assert refused.value.at == at


def _message(*parts: Part, role: Role = Role.USER) -> Conversation:
    return Conversation((Message(role, parts),))


A_TEXT = Text(b'"A"')
A_CALL = Call("c", "f", b"{}")
UNSAYABLE = {
    "text before media": _message(A_TEXT, Media(MediaKind.IMAGE, Inline("image/png", b'"AA"'))),
    "two texts": _message(A_TEXT, A_TEXT),
    "a document": _message(Media(MediaKind.DOCUMENT, Inline("application/pdf", b'"AA"'))),
    "arguments that are no object": _message(Call("c", "f", b'"x"'), role=Role.ASSISTANT),
    "an error": _message(Result("c", (A_TEXT,), True), role=Role.TOOL),
    "two thoughts": _message(Reasoning(text=A_TEXT), Reasoning(text=A_TEXT), role=Role.ASSISTANT),
    "a user": replace(_message(A_TEXT), settings=Settings(user="u")),
    "a little effort": replace(_message(A_TEXT), settings=Settings(thinking=Thinking(effort=Effort.MINIMAL))),
}


@pytest.mark.parametrize("name", UNSAYABLE)
def test_a_codec_never_repairs(name: str) -> None:
    with pytest.raises(Unrepresentable):
        render(UNSAYABLE[name])


# What is meant.

CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city":"Paris"}'}}
MEANT = {
    "content as a list": ({"role": "user", "content": [{"type": "text", "text": "Hi"}]}, USER, Miss.CONTENT),
    "an image in the content": (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
        {"role": "user", "content": "", "images": [PIXEL]},
        Miss.PART,
    ),
    "arguments as text": (
        {"role": "assistant", "content": "", "tool_calls": [CHAT_CALL]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", **call("f", city="Paris")}]},
        Miss.ARGUMENTS,
    ),
    "a role of another library": ({"role": "human", "content": "Hi"}, USER, Miss.ROLE),
    "a bare text": ("Hi", USER, Miss.TURN),
    "a number": ({"role": "user", "content": 7}, {"role": "user", "content": "7"}, Miss.CONTENT),
}


@pytest.mark.parametrize("name", MEANT)
def test_a_message_is_read_for_what_it_means(name: str) -> None:
    odd, own, kind = MEANT[name]
    ask = parse(odd)
    assert ask.conversation == parse(own).conversation
    assert kind in {miss.kind for miss in ask.conversation.near_misses}
    done = adapt({"model": "m", "messages": [odd], "stream": False}, source="ollama", target="ollama/m")
    assert judge("ollama", "m", done.path, done.headers, done.body) is None
    assert {change.rule for change in done.changes} == {"off-schema"}
    again = adapt(done.body, source="ollama", target="ollama/m")
    assert (again.body, again.changes) == (done.body, ())


@pytest.mark.parametrize(
    ("odd", "own"),
    [
        ({"temperature": "0.5"}, {"temperature": 0.5}),
        ({"num_predict": "50"}, {"num_predict": 50}),
        ({"num_predict": 50.0}, {"num_predict": 50}),
        ({"stop": "END"}, {"stop": ["END"]}),
    ],
)
def test_options_in_another_type_are_read_and_written_in_theirs(odd: Any, own: Any) -> None:
    assert settings(options=odd) == settings(options=own)
    done = adapt({"model": "m", "messages": [USER], "options": odd}, source="ollama", target="ollama/m")
    assert done.json["options"] == own
    assert [change.rule for change in done.changes] == ["off-schema"]


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "f", "input_schema": {"type": "object"}},
        {"functionDeclarations": [{"name": "f", "parameters": {"type": "object"}}]},
        {"name": "f", "parameters": {"type": "object"}},
    ],
)
def test_tools_of_other_dialects_are_read(tool: Any) -> None:
    (found,) = parse(USER, tools=[tool]).conversation.tools
    assert getattr(found, "name", "") == "f"
    done = adapt({"model": "m", "messages": [USER], "tools": [tool]}, source="ollama", target="ollama/m")
    assert done.json["tools"][0]["function"]["name"] == "f"


def test_what_the_server_drops_of_a_schema_is_said_in_words_unless_its_own_client_wrote_it() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    body = {"model": "m", "messages": [USER], "tools": [tool]}
    own = adapt(body, source="ollama", target="ollama/llama3.1")
    assert own.json["tools"] == [tool]
    assert own.changes == ()
    foreign = adapt(body, source="openai-chat", target="ollama/llama3.1").json["tools"][0]["function"]["parameters"]
    assert foreign["properties"]["n"] == {"type": "integer", "description": "At least 3."}
    assert "additionalProperties" not in foreign


def test_an_id_of_a_later_turn_is_not_that_of_an_earlier_call() -> None:
    called = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
    again = {**called, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]}
    answers = [{"role": "tool", "tool_name": "f", "tool_call_id": given, "content": "1"} for given in ("a", "stranger")]
    seen = parse(USER, called, {"role": "tool", "tool_name": "f", "content": "0"}, again, *answers).conversation
    parts = [part for message in seen.messages for part in message.parts]
    ids = [part.id for part in parts if isinstance(part, Call)]
    assert [part.call_id for part in parts if isinstance(part, Result)] == [*ids, "stranger"]
    assert "stranger" not in ids
