"""`flat-tools`: calls and results as text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.conversation.parts import Text
from dragoman.rules.media.flat_tools import flat_tools

FLAT = facts(flat_tools=True)


def texts(done: Any) -> list[tuple[str, list[str]]]:
    return [
        (message.role.value, [part.text if isinstance(part, Text) else type(part).__name__ for part in message.parts])
        for message in done.conversation.messages
    ]


def test_a_call_and_its_result_become_text_together() -> None:
    done = run(
        flat_tools, 'user: Hi\nassistant: One\ncall f(a) {"x":1}\ncall g(b) "y"\nresult a: 1\nresult b: 2\n| 3', FLAT
    )
    assert texts(done) == [
        ("user", ["Hi"]),
        ("assistant", ['One\n[tool_call name=f id=a]\n{"x":1}\n[tool_call name=g id=b]\ny']),
        ("user", ["[tool_result name=f id=a]\n1", "[tool_result name=g id=b]\n2\n3"]),
    ]
    assert done.changes == [
        ("/messages/1/tool_calls/0", "metadata", False),
        ("/messages/1/tool_calls/1", "metadata", False),
        ("/messages/2", "metadata", False),
        ("/messages/3", "metadata", False),
    ]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_media_of_a_result_stays_beside_its_text() -> None:
    done = run(flat_tools, "call f(a) {}\nresult a: 1\n| [image https://a/b.png]", FLAT)
    assert texts(done)[1] == ("user", ["[tool_result name=f id=a]\n1", "Media"])


def test_a_result_whose_call_is_not_known_has_no_name() -> None:
    assert texts(run(flat_tools, "user: Hi\nresult a: 1", FLAT))[1] == ("user", ["[tool_result id=a]\n1"])


def test_thinking_is_left_out() -> None:
    done = run(flat_tools, "user: Hi\n~ Hm\nassistant: Hello", FLAT)
    assert texts(done) == [("user", ["Hi"]), ("assistant", ["Hello"])]
    assert [change[1:] for change in done.changes] == [("metadata", False)]
    assert done.did == ["left out a part of kind reasoning"]


@pytest.mark.parametrize(("role", "loses"), [("assistant", "content"), ("system", "metadata")])
def test_a_part_that_is_no_text_is_left_out(role: str, loses: str) -> None:
    done = run(flat_tools, f"{role}: Hello\n[image https://a/b.png]\n+ there", FLAT)
    assert texts(done) == [(role, ["Hello\nthere"])]
    assert [change[1:] for change in done.changes] == [(loses, False)]


def test_a_turn_of_nothing_else_goes() -> None:
    assert texts(run(flat_tools, "user: Hi\n~ Hm\nuser: More", FLAT)) == [("user", ["Hi"]), ("user", ["More"])]


def test_listed_texts_become_one() -> None:
    listed = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    body = {"messages": [{"role": "system", "content": listed}, {"role": "user", "content": listed}]}
    done = run(flat_tools, body, FLAT)
    assert done.json["messages"] == [{"role": "system", "content": "A\nB"}, {"role": "user", "content": listed}]
    assert done.changes == [("/messages/0", "metadata", False)]


UNTOUCHED = {
    "plain texts": ("system: S\nuser: Hi\nassistant: Hello", FLAT),
    "the user's parts": ("user: Hi\n[image https://a/b.png]", FLAT),
    "a target with tools": ("user: Hi\ncall f(a) {}\nresult a: 1", facts()),
}


test_untouched = leaves_alone(flat_tools, UNTOUCHED)


def test_C6_C11_adapt_for_a_real_proxy() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    ]
    done = sent({"messages": messages}, "gemini-compatible/gemini-2.5-flash")
    assert done.json["messages"] == [
        messages[0],
        {"role": "assistant", "content": "[tool_call name=f id=a]\n{}"},
        {"role": "user", "content": "[tool_result name=f id=a]\nok"},
    ]
    assert done.changes == [
        ("flat-tools", "/messages/1/tool_calls/0", "metadata", False),
        ("flat-tools", "/messages/2", "metadata", False),
    ]


def test_a_list_of_one_text_in_another_dialect_is_no_change() -> None:
    asked = {"system": [{"text": "Be brief."}], "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    done = sent(asked, "gemini-compatible/gemini-2.5-flash", source="bedrock")
    assert done.json["messages"][0] == {"role": "system", "content": "Be brief."}
    assert done.changes == []
