"""`string-content`: text content written as a string."""

from __future__ import annotations

from tests.rules.runs import facts, run, sent

from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules.shape.string_content import string_content

REFUSES = facts(string_content="refuses")
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TALK = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Soon.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ],
}


def listed(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def test_every_text_becomes_a_list() -> None:
    done = run(string_content, TALK, REFUSES)
    said = done.json["messages"]
    assert [said[0]["content"], said[1]["content"], said[2]["content"]] == [
        listed("Be brief."),
        listed("Hi"),
        listed("Soon."),
    ]
    assert said[3] == TALK["messages"][3]
    assert done.changes == [(f"/messages/{index}", "nothing", False) for index in range(3)]
    assert set(done.did) == {"wrote its text as a list of parts"}
    assert run(string_content, done.json, REFUSES).untouched


def test_untouched() -> None:
    assert run(string_content, TALK, facts()).untouched
    assert run(string_content, {"messages": [{"role": "user", "content": listed("Hi")}]}, REFUSES).untouched
    bare = [{"role": "user", "content": listed("Hi")}, {"role": "assistant", "tool_calls": [CALL]}, TALK["messages"][3]]
    assert run(string_content, {"messages": bare}, REFUSES).untouched


def test_adapt_for_a_template_that_reads_lists() -> None:
    profiles = Profiles(layers=(Layer("test", {"string_content": "refuses"}),))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    done = sent(body, "openai-compatible-lenient/m", profiles=profiles)
    assert done.json["messages"] == [{"role": "user", "content": listed("Hi")}]
    assert done.changes == [("string-content", "/messages/0", "nothing", False)]
    claude = sent({**body, "max_tokens": 9}, "openai-compatible-lenient/m", source="anthropic", profiles=profiles)
    assert claude.json["messages"] == [{"role": "user", "content": listed("Hi")}]
    assert claude.changes == []
