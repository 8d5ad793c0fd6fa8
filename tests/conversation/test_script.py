"""The script notation: what each line means, and that showing and reading are each other's inverse."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.corpus import recorded_in, sampled

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.notation.script import parse, show
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Citation,
    Extras,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Part,
    Plain,
    Reasoning,
    Refusal,
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.conversation.settings import Effort, FormatKind, ResponseFormat, Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.engine.library.adapt import read
from dragoman.errors import MalformedRequest


def text(words: str) -> Text:
    return Text(quote(words))


LINES: list[tuple[str, list[Message]]] = [
    ("user: Hi", [Message(Role.USER, (text("Hi"),))]),
    ("assistant:", [Message(Role.ASSISTANT, (text(""),))]),
    ("assistant: []", [Message(Role.ASSISTANT, ())]),
    (r"user: a\nb\\n \"q\" “é”", [Message(Role.USER, (text('a\nb\\n "q" “é”'),))]),
    ("user (bob): Hi", [Message(Role.USER, (text("Hi"),), name="bob")]),
    ("narrator: Once", [Message(Role.USER, (text("Once"),), role_text="narrator")]),
    ("user: [System] Be brief.", [Message(Role.USER, (text("[System] Be brief."),))]),
    (
        'assistant: Hello {"done": true}',
        [Message(Role.ASSISTANT, (text("Hello"),), extras=Extras("openai-chat", {"done": b"true"}))],
    ),
    (
        "~ Look.\nassistant: One moment.\ncall look(c1) {}",
        [
            Message(
                Role.ASSISTANT,
                (Reasoning(text=text("Look.")), text("One moment."), Call(id="c1", name="look", arguments=b"{}")),
            )
        ],
    ),
    (
        "user: Hi\ncall look(c1) {}",
        [Message(Role.USER, (text("Hi"),)), Message(Role.ASSISTANT, (Call(id="c1", name="look", arguments=b"{}"),))],
    ),
    (
        "result c1: 12\nresult c2 !error: no",
        [
            Message(
                Role.TOOL,
                (
                    Result(call_id="c1", parts=(text("12"),)),
                    Result(call_id="c2", parts=(text("no"),), is_error=True),
                ),
            )
        ],
    ),
    (
        "result c1: 12\n| [image https://a.example/x.png]\n\nresult c2: []",
        [
            Message(
                Role.TOOL,
                (
                    Result(
                        call_id="c1",
                        parts=(text("12"), Media(kind=MediaKind.IMAGE, source=Remote("https://a.example/x.png"))),
                    ),
                ),
            ),
            Message(Role.TOOL, (Result(call_id="c2", parts=()),)),
        ],
    ),
    (
        "user: See\n[image https://a.example/x.png]\n+ and this",
        [
            Message(
                Role.USER,
                (text("See"), Media(kind=MediaKind.IMAGE, source=Remote("https://a.example/x.png")), text("and this")),
            )
        ],
    ),
    (
        'call "my tool"("id (1)") "no object"',
        [Message(Role.ASSISTANT, (Call(id="id (1)", name="my tool", arguments=b'"no object"'),))],
    ),
]


@pytest.mark.parametrize(("script", "messages"), LINES, ids=[script for script, _ in LINES])
def test_lines_mean_what_they_say(script: str, messages: list[Message]) -> None:
    assert list(parse(script).messages) == messages
    assert parse(show(parse(script))) == parse(script)


def test_settings_and_tools() -> None:
    script = '@max_tokens 100\n@stop ["a"]\n@tool_choice auto\n@thinking high\n@tool look {"type":"object"}\nuser: Hi'
    found = parse(script)
    assert found.settings == Settings(
        max_tokens=100,
        stop=(b'"a"',),
        tool_choice=ToolChoice(ChoiceMode.AUTO),
        thinking=Thinking(effort=Effort.HIGH),
    )
    assert found.tools == (Tool("look", schema=b'{"type":"object"}'),)


def test_messages_know_their_place() -> None:
    assert [message.at for message in parse("user: a\nassistant: b\nuser: c").messages] == [0, 1, 2]


def test_a_common_conversation_is_shown_as_a_person_would_write_it() -> None:
    script = "\n".join(
        (
            "@max_tokens 100",
            "system: Be brief.",
            "user: What is the weather?",
            "[image https://example.com/sky.png]",
            "~ I had better look.",
            "assistant: One moment.",
            'call look(c1) {"where":"outside"}',
            "result c1: 12 degrees",
            'assistant: Cold. {"done":true}',
            "",
            "call look(c2) {}",
        )
    )
    assert show(parse(script)) == script


BAD = [
    ("Hello", "line 1"),
    ("user: a\n+", "line 2"),
    ("+ more", "line 1"),
    ("user: a\n| inside", "line 2"),
    ("user: a\n\n+ more", "line 3"),
    (r"user: \q", "line 1"),
    ("@max_tokens", "line 1"),
    ("@max_token 5", "line 1"),
    ("@max_tokens many", "line 1"),
    ("@tool_choice perhaps", "line 1"),
    ("call look(c1) {", "line 1"),
    ("[part 5]", "line 1"),
    ('[part {"is":"Nothing"}]', "line 1"),
    ('[message {"is":"Message"}]', "line 1"),
]


@pytest.mark.parametrize(("script", "line"), BAD)
def test_a_bad_line_is_named(script: str, line: str) -> None:
    with pytest.raises(MalformedRequest) as caught:
        parse(script)
    assert caught.value.at == line


# Everything that a conversation can hold.

words = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "",
        " ",
        "[]",
        "~ a",
        "a}",
        '{"a":1}',
        'x {"a":1}',
        "call a(b) {}",
        "result a: b",
        "[image u]",
        "+ a",
        "\n",
        "\\n",
        '"',
    ]
)
names = st.text(min_size=1, max_size=6) | st.sampled_from(["look", "c1", "a b", "(x)", '"', "é"])
json = st.sampled_from([b"{}", b'{"a":1}', b'"text"', b"[1,2]", b"null", b'{"is":"Text"}'])
origins = st.builds(Origin, st.sampled_from(["anthropic", "gemini"]), names)
extras = st.none() | st.builds(
    Extras, st.sampled_from(["openai-chat", "gemini"]), st.dictionaries(names, json, min_size=1, max_size=2)
)
hints = st.sampled_from([None, None, CacheHint(), CacheHint(b'{"type":"ephemeral","ttl":"1h"}')])
opaque = st.builds(Opaque, kind=names, json=json, origin=origins)
texts = st.builds(lambda text, signature, hint, more: Text(quote(text), signature=signature, hint=hint, extras=more),
    words, st.none() | opaque, hints, extras)  # fmt: skip
plain_texts = words.map(text)
sources = (
    st.builds(Inline, names, words.map(quote))
    | st.builds(Remote, names)
    | st.builds(Stored, names)
    | st.builds(Plain, words.map(quote))
)
media = st.builds(Media, kind=st.sampled_from(MediaKind), source=sources, title=st.none() | names, hint=hints)
reasoning = st.builds(Reasoning, text=st.none() | texts, state=st.none() | opaque, redacted=st.booleans())
calls = st.builds(Call, id=names, name=names, arguments=json, signature=st.none() | opaque, custom=st.booleans())
others = st.builds(Refusal, literal=words.map(quote)) | st.builds(Citation, json=json, origin=origins) | opaque
results = st.builds(
    Result,
    call_id=names,
    parts=st.lists(plain_texts | texts | media | others, max_size=3).map(tuple),
    is_error=st.booleans(),
    custom=st.booleans(),
    extras=extras,
)
parts: st.SearchStrategy[Part] = st.one_of(plain_texts, texts, media, reasoning, calls, results, others)
messages = st.builds(
    Message,
    st.sampled_from(Role),
    st.lists(parts, max_size=4).map(tuple),
    name=st.none() | names,
    hint=hints,
    extras=extras,
    role_text=st.sampled_from(["", "", "", "narrator", "odd role", "user"]),
)
settings = st.builds(
    Settings,
    max_tokens=st.none() | st.integers(1, 9999),
    temperature=st.none() | st.floats(0, 2),
    stop=st.lists(words.map(quote), max_size=2).map(tuple),
    user=st.none() | words,
    verbosity=st.none() | names,
    metadata=st.none() | json,
    thinking=st.none() | st.builds(Thinking, on=st.booleans(), effort=st.none() | st.sampled_from(Effort)),
    tool_choice=st.none() | st.builds(ToolChoice, st.sampled_from(ChoiceMode), st.lists(names, max_size=2).map(tuple)),
    response_format=st.none() | st.builds(ResponseFormat, st.sampled_from(FormatKind), st.none() | json),
)
tools = st.builds(Tool, names, st.none() | words.map(quote), st.none() | json) | st.builds(
    NativeTool, names, json, origins
)
conversations = st.builds(
    Conversation,
    st.lists(messages, max_size=4).map(tuple),
    st.lists(tools, max_size=2).map(tuple),
    settings,
    extras,
    hints,
)


@pytest.mark.slow
@hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversations)
def test_what_is_shown_reads_back_the_same(conversation: Conversation) -> None:
    assert parse(show(conversation)) == conversation


@pytest.mark.slow
@hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=40))
def test_any_text_is_a_script_or_a_clear_error(script: str) -> None:
    fault = None
    try:
        parse(script)
    except MalformedRequest as error:
        fault = error
    assert fault is None or fault.at.startswith("line ")


def test_recorded_requests_read_back_the_same() -> None:
    """Real conversations of all four dialects, a sample by default."""
    seen = 0
    for dialect in DIALECT_NAMES:
        for exchange in recorded_in(dialect):
            body = exchange["request"]
            if not sampled(exchange["id"], 25) or not isinstance(body, dict):
                continue
            wire = body.get("body", body)
            if not isinstance(wire, dict):
                continue  # recorded as bytes that are no JSON
            conversation = read(wire, source=dialect).conversation
            assert parse(show(conversation)) == conversation, exchange["id"]
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("value", [b'"text"', b"{}"])
def test_a_field_may_be_called_as_the_tag_of_values(value: bytes) -> None:
    told = Conversation((), extras=Extras("openai-chat", {"is": value}))
    assert parse(show(told)) == told
