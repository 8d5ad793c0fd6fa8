"""`many-thoughts`: thinking in several pieces."""

from __future__ import annotations

from typing import Any

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.shape.many_thoughts import many_thoughts

ONE_FIELD = facts(reasoning_field="reasoning_content")


def test_the_pieces_become_one() -> None:
    done = run(many_thoughts, "user: Hi\n~ A\n~ B\nassistant: C\ncall f(a) {}\n+ ~ D", ONE_FIELD)
    assert done.script == "user: Hi\n~ A\\nB\\nD\nassistant: C\ncall f(a) {}"
    assert [change[1:] for change in done.changes] == [("nothing", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_the_same_words_are_not_said_twice() -> None:
    assert run(many_thoughts, "~ A\n~ B\n~ A\nassistant: C", ONE_FIELD).script == "~ A\\nB\nassistant: C"


PROOF = '{"is":"Opaque","kind":"k","json":1,"origin":{"is":"Origin","dialect":"openai-chat"}}'
PROVEN = f'[part {{"is":"Reasoning","text":{{"is":"Text","literal":"A"}},"state":{PROOF}}}]'
IN_FIELDS = "+ ".join(
    f'[part {{"is":"Reasoning","text":{{"is":"Text","literal":"A"}},"field":"{field}"}}]\n'
    for field in ("reasoning", "reasoning_content")
)
UNTOUCHED = {
    "one piece": ("~ A\nassistant: C", ONE_FIELD),
    "pieces with proofs": (f"assistant: {PROVEN}\n+ {PROVEN}\n+ C", ONE_FIELD),
    "pieces in fields of their own": (f"assistant: {IN_FIELDS}+ C", ONE_FIELD),
    "a target without such a field": ("~ A\n~ B\nassistant: C", facts(reasoning_field="")),
}


test_untouched = leaves_alone(many_thoughts, UNTOUCHED)


def test_adapt_for_a_real_provider() -> None:
    def thought(text: str) -> dict[str, Any]:
        return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}

    hi = {"role": "user", "content": "Hi"}
    said = {"role": "assistant", "content": "C"}
    done = sent(
        {"input": [hi, thought("A"), thought("B"), said, hi]}, "deepseek/deepseek-reasoner", source="openai-responses"
    )
    assert done.json["messages"][1] == {"role": "assistant", "content": "C", "reasoning_content": "A\nB"}
    assert ("many-thoughts", "/input/2", "nothing", False) in done.changes
